/* SPDX-License-Identifier: BSD-2-Clause
 * The functions of a live stream (live.h); the other files contain the work of its threads. */
#include "pipeline/stream/live.h"

#include <errno.h>
#include <libavutil/mem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/error.h"
#include "config/base/secrets.h"
#include "config/source_kinds.h"
#include "kernels/clock.h"
#include "pipeline/base/av.h"
#include "pipeline/base/turn.h"
#include "pipeline/gate/ring.h"
#include "pipeline/output/audio.h"
#include "pipeline/output/encode.h"
#include "pipeline/output/encode_choose.h"
#include "pipeline/stream/graph.h"
#include "pipeline/stream/live_worker.h"
#include "pipeline/stream/live_camera.h"
#include "pipeline/stream/live_cards.h"
#include "pipeline/stream/live_codec.h"
#include "pipeline/stream/live_detect.h"
#include "pipeline/stream/live_encodings.h"
#include "pipeline/stream/live_counters.h"
#include "pipeline/stream/live_format.h"
#include "pipeline/stream/live_listener.h"
#include "pipeline/stream/live_snapshots.h"
#include "pipeline/stream/live_source.h"
#include "pipeline/stream/live_stalls.h"
#include "pipeline/stream/live_status.h"
#include "pipeline/stream/live_stream.h"
#include "pipeline/stream/source_ops.h"
#include "pipeline/stream/stages.h"

/* ---- settings ---- */

static int check_encoding(const struct halo_encoding *e, struct halo_error *err)
{
    int width, height;
    if (e->view)
        return 0; /* a view that cannot be encoded fails by itself */
    if (e->rendition < 0)
        return halo_fail_usage(err,
                               "an output refers to a rendition that the stream does not have");
    if (e->video && e->video->size && halo_live_size(e->video->size, 2, 2, &width, &height) < 0)
        return halo_fail_usage(err, "size %.80s: must be a size such as 640x480, 640x-1 or hd720",
                               e->video->size);
    if (e->audio && strcmp(e->audio, "copy") != 0 && !halo_audio_find(e->audio, err))
        return -EINVAL;
    if (e->kind != HALO_ENCODING_CODED)
        return 0;
    const AVCodec *codec =
        halo_av_find_encoder("codec", halo_video_codec(e->video), AVMEDIA_TYPE_VIDEO, err);
    return codec ? halo_encode_check_preset(codec, e->video->preset, err) : -EINVAL;
}

/* Whether this encoding allows frames, without audio, before the source is known. Files and URLs
 * could not change to the source's format later; viewers over HTTP can. */
static bool fits_any_source(const struct halo_encoding *e)
{
    return !e->writes && (!e->audio || e->view);
}

/* Checks all settings that can be checked without opening anything, and sets live->live and other
 * constant fields. Returns 0 or a usage error. Called by the event loop's thread before the stream
 * is started. */
static int check_settings(struct halo_live *live, struct halo_error *err)
{
    const struct halo_stream_settings *set = &live->settings;
    if (!set->source.input)
        return halo_fail_usage(err, "the stream has no input");
    const struct halo_source_row *row = halo_source_row(set->source.input);
    if (row->refused)
        return halo_fail_usage(err, "input %s: %s", set->source.input, row->refused);
    live->ops = halo_source_ops[row->kind];
    live->live = row->live || set->realtime;
    live->paced = row->pace == HALO_PACE_ALWAYS || (row->pace == HALO_PACE_ASKED && set->realtime);
    live->local = row->place != HALO_FROM_NETWORK;
    live->may_make_up = live->live && row->fails && set->on_error != HALO_ON_ERROR_STOP;
    for (int i = 0; i < live->encodings->count && !row->captures; i++)
        live->may_make_up &= fits_any_source(&live->encodings->what[i]);
    int code = live->ops->check(set->source.input, err);
    for (int i = 0; i < live->encodings->count && code >= 0; i++)
        code = check_encoding(&live->encodings->what[i], err);
    return code;
}

/* ---- what parts post ---- */

/* ---- what parts post ---- */

static void on_news(struct halo_live *live, enum halo_live_news what, int64_t pts)
{
    switch (what) {
    case HALO_LIVE_FORM:
        halo_live_worker_wake(live->worker);
        halo_live_cards_wake(live->cards);
        break;
    case HALO_LIVE_LEFT:
        halo_live_cards_note(live->cards, pts);
        break;
    case HALO_LIVE_WENT_ON:
        halo_live_worker_went_on(live->worker);
        break;
    case HALO_LIVE_CARD:
        halo_live_encodings_wake_for_cards(live->encodings);
        break;
    case HALO_LIVE_WATCHED:
        halo_live_cards_want(live->cards);
        halo_live_camera_wake(live->camera);
        break;
    case HALO_LIVE_ALONE:
        halo_live_camera_wake(live->camera);
        break;
    case HALO_LIVE_ASKED:
        halo_live_worker_wake(live->worker);
        halo_live_camera_wake(live->camera);
        break;
    }
}

static void on_state(void *arg)
{
    const struct halo_live *live = arg;
    halo_live_cards_wake(live->cards);
}

static bool is_needed(struct halo_live *live)
{
    return halo_live_encodings_run(live->encodings) || halo_live_snapshots_wait(live->snapshots);
}

/* Makes every waiting thread notice a stop. */
static void wake_all(struct halo_live *live)
{
    halo_live_status_wake(live->status);
    halo_live_encodings_wake(live->encodings);
    halo_live_cards_wake(live->cards);
    halo_turns_wake();
    halo_live_camera_wake(live->camera);
    halo_live_detect_wake(live->detect);
}

/* Ends every thread that is not in a call that never returns. */
static void break_off(struct halo_live *live)
{
    atomic_store(&live->stop, 2);
    halo_stages_abort(live->stages);
    if (atomic_load(&live->ready))
        halo_ring_abort(live->ring);
    halo_live_encodings_abort(live->encodings);
    wake_all(live);
}

static void fail(struct halo_live *live, const struct halo_error *err)
{
    halo_live_report(live->status, HALO_LIVE_FAILED, err);
    break_off(live);
}

/* ---- frames that cannot be filtered ---- */

/* A frame that was not completely filtered is not output. One failure may be an accident, but an
 * error of the device is final. */
static int lose_frame(void *arg, int code, struct halo_error *err)
{
    struct halo_live *live = arg;
    halo_fail(err, code, "a filter failed, so no frame is shown: %s", strerror(-code));
    halo_live_drop(live->counters, HALO_DROP_FILTER, 1);
    if (halo_error_is_lost(err))
        live->fail(live, err);
    else
        halo_live_report_away(live->status, err->scarce ? "out of GPU memory" : "filter failed",
                              err);
    return 0;
}

static void fail_to_filter(void *arg, int code, struct halo_error *err)
{
    (void)code;
    fail(arg, err);
}

/* ---- creation ---- */

static int create_parts(struct halo_live *live, const struct halo_live_events *events, void *arg)
{
    live->listener = halo_live_listener_create(events, arg);
    live->counters = halo_live_counters_create();
    live->stalls = halo_live_stalls_create(&live->stop);
    live->controls = halo_live_controls_create();
    live->reader = halo_live_reader_create(&live->stop);
    live->snapshots = halo_live_snapshots_create();
    live->stages = halo_stages_create();
    const bool all = live->reader && live->listener && live->counters && live->stalls &&
                     live->controls && live->snapshots && live->stages;
    int code = all ? halo_graphs_create(&live->graphs) : -ENOMEM;
    if (code >= 0)
        code = halo_live_worker_create(&live->worker);
    if (code >= 0)
        code = halo_live_status_create(&live->status, live->listener, &live->stop, on_state, live);
    if (code >= 0)
        code = halo_live_cards_create(&live->cards);
    return code;
}

static int parse_own(struct halo_live *live, struct halo_error *err)
{
    const char *chains[HALO_GRAPH_CHAINS] = {live->settings.filters};
    for (int i = 0; i < live->settings.renditions; i++)
        chains[i + 1] = live->settings.rendition[i].filters;
    for (int i = 0; i <= live->settings.renditions; i++)
        if (!chains[i])
            return halo_fail_usage(err, "the stream has no filters");
    struct halo_graph *wanted;
    const int code = halo_graph_parse(&wanted, chains, live->settings.renditions + 1,
                                      (enum halo_privacy)live->settings.privacy, err);
    if (code < 0)
        return code;
    halo_graphs_want(live->graphs, wanted);
    return halo_graph_load(wanted, live->region_feed, err);
}

int halo_live_create(struct halo_live **ret, const struct halo_stream_settings *settings,
                     const struct halo_live_events *events, void *arg, struct halo_error *err)
{
    struct halo_live *live = av_mallocz(sizeof *live);
    if (!live)
        return halo_fail(err, -ENOMEM, "out of memory");
    live->post = on_news;
    live->fail = fail;
    live->needed = is_needed;
    int code = create_parts(live, events, arg);
    if (code >= 0)
        code = halo_stream_settings_copy(&live->settings, settings);
    if (code >= 0)
        code = halo_live_encodings_create(&live->encodings, live);
    if (code >= 0 && settings->region_feed.on)
        code = halo_region_feed_create(&live->region_feed, &settings->region_feed);
    if (code >= 0 && settings->source.input &&
        !(live->name = halo_hide_secrets(settings->source.input)))
        code = -ENOMEM;
    if (code < 0) {
        halo_fail(err, code, "out of memory");
    } else {
        live->source = live->settings.source;
        live->source.input = live->name;
        live->source.url = live->settings.source.input;
        live->source.alone = settings->source.input && !settings->source.format &&
                             halo_source_row(settings->source.input)->place == HALO_FROM_FILE;
        code = parse_own(live, err);
    }
    if (code >= 0 && settings->source.input && halo_source_row(settings->source.input)->captures)
        code = halo_live_camera_create(&live->camera, settings->source.input, err);
    if (code >= 0)
        code = check_settings(live, err);
    if (code >= 0 && halo_live_detect_create(&live->detect, live) < 0)
        code = halo_fail(err, -ENOMEM, "out of memory");
    if (code < 0) {
        halo_live_destroy(live);
        return code;
    }
    live->stages->set = (struct halo_stages_settings){.name = live->settings.name,
                                                      .drops = live->live,
                                                      .detect = halo_live_detector(live->detect),
                                                      .graphs = live->graphs,
                                                      .live = live,
                                                      .lose = lose_frame,
                                                      .fail = fail_to_filter,
                                                      .arg = live};
    *ret = live;
    return 0;
}

int halo_live_start(struct halo_live *live, struct halo_error *err)
{
    const int code = halo_live_source_start(live, err);
    if (code < 0)
        atomic_store(&live->done, true);
    return code;
}

/* ---- statistics ---- */

const char *const halo_drop_names[HALO_DROPS + 1] = {"late", "encoder", "damaged",
                                                     "rate", "filter",  NULL};
const char *const halo_live_stage_names[HALO_LIVE_STAGES + 1] = {"decode", "filter", "encode",
                                                                 "total", NULL};

/* A lane that has left the GPU does not return to it. */
static void check_ring(struct halo_ring *ring, struct halo_live_stats *ret)
{
    char why[HALO_DEGRADATION_WORDS];
    bool memory;
    halo_ring_where(ring, ret->backend, sizeof ret->backend);
    if (!halo_ring_fell_back(ring, &memory, why, sizeof why))
        return;
    const enum halo_degradation degradation = memory ? HALO_DEGRADED_GPU_MEMORY : HALO_DEGRADED_GPU;
    snprintf(ret->degradation[degradation], sizeof ret->degradation[degradation],
             "filters on the CPU: %.150s", why);
    halo_sanitise(ret->degradation[degradation]);
}

void halo_live_stats(struct halo_live *live, struct halo_live_stats *ret)
{
    bool runs[HALO_MAX_ENCODINGS];
    halo_live_drop(live->counters, HALO_DROP_LATE, halo_live_detect_dropped(live->detect));
    for (int i = 0; i < live->encodings->count; i++)
        runs[i] = halo_live_encoding_runs(&live->encodings->at[i]);
    halo_live_counters_read(live->counters, runs, live->encodings->count, ret);
    ret->damaged = atomic_load(&live->reader->damage.places);
    ret->camera = halo_live_camera_state(live->camera);
    halo_live_detect_stats(live->detect, ret->detector);
    halo_live_detect_load(live->detect, halo_now_ns(), ret->degradation[HALO_DEGRADED_DETECTOR],
                          HALO_DEGRADATION_WORDS);
    if (ret->degradation[HALO_DEGRADED_DETECTOR][0]) /* which holds up what is before it, too */
        ret->degradation[HALO_DEGRADED_LATE_DECODER][0] = '\0';
    ret->has_region_feed = live->region_feed;
    if (live->region_feed)
        halo_region_feed_stats(live->region_feed, halo_now_ns(), &ret->region_feed);
    ret->turn = halo_live_stalls_turn(live->stalls);
    ret->gpu = -1;
    if (atomic_load(&live->ready) && halo_ring_ops(live->ring)->submit)
        ret->gpu = halo_ring_device(live->ring);
    if (atomic_load(&live->ready))
        check_ring(live->ring, ret);
    const struct halo_outline outline = halo_graphs_outline(live->graphs);
    ret->width = outline.width;
    ret->height = outline.height;
}

/* ---- functions for the loop ---- */

int halo_live_regions(struct halo_live *live, int64_t frame_us,
                      const struct halo_region_update *updates, int count, struct halo_error *err)
{
    if (!live->region_feed)
        return halo_fail(err, -ENOENT, "the stream has no region feed");
    return halo_region_feed_update(live->region_feed, frame_us, updates, count, halo_now_ns(), err);
}

void halo_live_connect(struct halo_live *live, enum halo_find find, int fd, const char *why)
{
    halo_live_detect_connect(live->detect, find, fd, why);
}

bool halo_live_is_stuck(struct halo_live *live, struct halo_error *err)
{
    halo_live_source_wake(live);
    struct halo_ring *ring = atomic_load(&live->ready) ? live->ring : NULL;
    return halo_live_stalls_is_stuck(live->stalls, ring, live->settings.device.gpu_timeout, err);
}

bool halo_live_stalls_alone(const struct halo_live *live)
{
    return halo_live_stalls_is_alone(live->stalls);
}

bool halo_live_abandon(struct halo_live *live)
{
    bool first;
    const bool silent = halo_live_listener_abandon(live->listener, &first);
    if (first)
        break_off(live);
    halo_live_source_wake(live);
    return silent;
}

void halo_live_stop(struct halo_live *live)
{
    int none = 0;
    atomic_compare_exchange_strong(&live->stop, &none, 1);
    wake_all(live);
    halo_live_source_wake(live);
}

bool halo_live_done(const struct halo_live *live)
{
    return atomic_load(&live->done);
}

void halo_live_destroy(struct halo_live *live)
{
    if (!live)
        return;
    if (live->reader && live->reader->started) {
        halo_live_stop(live);
        halo_live_source_join(live);
    }
    halo_live_encodings_destroy(live->encodings);
    halo_stages_destroy(live->stages);
    halo_live_detect_destroy(live->detect);
    halo_graphs_destroy(live->graphs);
    halo_live_worker_destroy(live->worker);
    halo_live_snapshots_destroy(live->snapshots);
    halo_live_cards_destroy(live->cards);
    halo_live_status_destroy(live->status);
    halo_live_format_destroy(live->format);
    halo_ring_destroy(live->ring);
    halo_region_feed_destroy(live->region_feed);
    halo_live_camera_destroy(live->camera);
    halo_live_controls_destroy(live->controls);
    halo_stream_settings_finish(&live->settings);
    free(live->name);
    halo_live_counters_destroy(live->counters);
    halo_live_listener_destroy(live->listener);
    halo_live_reader_destroy(live->reader);
    halo_live_stalls_destroy(live->stalls);
    av_free(live);
}
