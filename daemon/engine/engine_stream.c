/* SPDX-License-Identifier: BSD-2-Clause
 * A stream of the engine, from its settings to its end. Folders of outputs may be on a disk that
 * hangs, and finishing files takes time: both are done on worker threads. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>

#include "config/base/log.h"
#include "config/base/thread.h"
#include "daemon/engine/engine_private.h"
#include "daemon/engine/engine_probe.h"
#include "kernels/fault.h"

/* ---- statistics ---- */

static struct halo_link_stage stage_of(const struct halo_histogram *h)
{
    struct halo_link_stage ret = {
        .count = h->count,
        .sum = (double)h->sum / 1e6,
        .p50 = (double)halo_histogram_percentile(h, 0.5) / 1e6,
        .p95 = (double)halo_histogram_percentile(h, 0.95) / 1e6,
        .p99 = (double)halo_histogram_percentile(h, 0.99) / 1e6,
        .most = (double)h->most / 1e6,
    };
    halo_histogram_below(h, ret.below);
    return ret;
}

static void copy_regions(struct halo_link_regions *ret, const struct halo_live_stats *live)
{
    const struct halo_region_feed_stats *feed = &live->region_feed;
    ret->known = live->has_region_feed;
    ret->updates = feed->updates;
    ret->refused = feed->refused;
    ret->frames = feed->frames;
    ret->whole = feed->whole;
    ret->regions = feed->regions;
    ret->age = feed->age;
    snprintf(ret->why, sizeof ret->why, "%s", feed->why ? feed->why : "");
}

static void copy_live(struct halo_link_stats *ret, const struct halo_live_stats *live)
{
    ret->decoded = live->decoded;
    ret->filtered = live->filtered;
    ret->encoded = live->encoded;
    ret->bytes = live->bytes;
    ret->cards = live->cards;
    ret->opened = live->opened;
    ret->damaged = live->damaged;
    ret->epoch = live->epoch;
    ret->turn = live->turn;
    ret->width = live->width;
    ret->height = live->height;
    ret->rate = live->rate;
    memcpy(ret->dropped, live->dropped, sizeof ret->dropped);
    memcpy(ret->degradation, live->degradation, sizeof ret->degradation);
    memcpy(ret->coverage, live->coverage, sizeof ret->coverage);
    ret->hidden = live->hidden;
    snprintf(ret->backend, sizeof ret->backend, "%s", live->backend);
    snprintf(ret->camera, sizeof ret->camera, "%s", live->camera);
    ret->capture = live->capture;
    copy_regions(&ret->region_feed, live);
    memcpy(ret->detector, live->detector, sizeof ret->detector);
    for (int i = 0; i < HALO_LIVE_STAGES; i++)
        ret->stage[i] = stage_of(&live->stage[i]);
}

static void copy_output(struct halo_link_output *ret, struct halo_output *output)
{
    struct halo_output_stats stats;
    halo_output_stats(output, &stats);
    *ret = (struct halo_link_output){
        .state = stats.state,
        .packets = stats.packets,
        .bytes = stats.bytes,
        .dropped = stats.dropped,
        .segments = stats.segments,
        .failures = stats.failures,
    };
    snprintf(ret->why, sizeof ret->why, "%s", stats.why);
    snprintf(ret->path, sizeof ret->path, "%s", stats.path);
    halo_sanitise(ret->why);
    halo_sanitise(ret->path);
}

static int64_t ring_dropped(struct engine_stream *stream)
{
    int64_t sum = 0;
    halo_lock(&stream->rings);
    for (int i = 0; i < stream->encodings; i++) {
        const struct engine_ring *ring = &stream->ring[i];
        sum += ring->dropped + (ring->writer ? halo_packet_writer_dropped(ring->writer) : 0);
    }
    halo_unlock(&stream->rings);
    return sum;
}

/* Too large for the stack. Loop thread only. */
static struct {
    struct halo_live_stats live;
    struct halo_link_stats link;
} numbers;

void engine_stream_report_stats(struct engine_stream *stream)
{
    if ((stream->phase != ENGINE_RUNNING && stream->phase != ENGINE_STOPPING) || !stream->live)
        return; /* phase first: until the stream is created, another thread owns the pointer */
    memset(&numbers, 0, sizeof numbers);
    halo_live_stats(stream->live, &numbers.live);
    copy_live(&numbers.link, &numbers.live);
    stream->gpu = numbers.live.gpu;
    numbers.link.ring_dropped = ring_dropped(stream);
    numbers.link.outputs = stream->settings.outputs;
    for (int i = 0; i < stream->settings.outputs; i++)
        if (stream->output[i])
            copy_output(&numbers.link.output[i], stream->output[i]);
        else if (stream->refused[i]) {
            struct halo_link_output *output = &numbers.link.output[i];
            output->state = HALO_OUTPUT_FAILED;
            snprintf(output->why, sizeof output->why, "%s", stream->refused[i]);
        }
    halo_link_send(stream->engine->link,
                   json_pack("{s:s, s:{s:o}}", "tell", "stats", "streams", stream->name,
                             halo_link_stats_write(&numbers.link)),
                   NULL, 0);
}

void engine_stream_set(struct engine_stream *stream, json_t *message)
{
    if (stream->phase == ENGINE_MAKING && !stream->late_set) {
        stream->late_set = json_incref(message);
        return;
    }
    const json_t *list = json_object_get(message, "chains");
    const uint64_t id = (uint64_t)halo_json_integer(message, "id", 0, INT64_MAX, 0);
    const char *chains[HALO_MAX_RENDITIONS + 1];
    struct halo_error err = {0};
    const int count = stream->settings.renditions + 1;
    int code = engine_stream_runs(stream) && json_array_size(list) == (size_t)count ? 0 : -EAGAIN;
    for (int i = 0; i < count && code == 0; i++)
        if (!(chains[i] = json_string_value(json_array_get(list, (size_t)i))))
            code = -EINVAL;
    if (code == 0)
        code = halo_live_set(stream->live, id, chains, &err);
    if (code < 0) { /* err may already be set */
        if (!engine_stream_runs(stream) && stream->phase != ENGINE_MAKING)
            halo_fail(&err, -ECANCELED, "the stream has ended");
        halo_fail(&err, -EAGAIN, "the stream has just started");
        engine_events.set(stream, id, &err);
    }
}

/* ---- start ---- */

static void make(uv_work_t *work)
{
    struct engine_stream *stream = work->data;
    halo_log_set_stream(stream->name);
    for (int i = 0; i < stream->settings.outputs; i++) {
        const struct halo_output_settings *output = &stream->settings.output[i];
        if (halo_output_row(output)->writer != HALO_WRITER_ENGINE)
            continue;
        struct halo_error err = {0};
        if (halo_output_create(&stream->output[i], stream->name, output, &err) == 0) {
            stream->finished[i] = (struct engine_finished){stream, i};
            if (output->hook)
                halo_output_listen(stream->output[i], engine_report_finished, &stream->finished[i]);
            continue;
        }
        stream->refused[i] = strdup(err.text);
        halo_log(HALO_LOG_ERROR, "stream %s: %s", stream->name, err.text);
    }
    halo_live_create(&stream->live, &stream->settings, &engine_events, stream, &stream->error);
    halo_log_set_stream(NULL);
}

static void made(uv_work_t *work, int status)
{
    struct engine_stream *stream = work->data;
    (void)status;
    stream->phase = ENGINE_RUNNING;
    if (!stream->error.code) {
        engine_stream_record(stream, stream->record);
        for (int i = 0; i < stream->encodings; i++)
            halo_live_watch(stream->live, i, stream->watched[i]);
        if (stream->camera)
            halo_live_know_camera(stream->live, stream->camera);
        halo_live_start(stream->live, &stream->error);
    }
    if (stream->error.code) {
        engine_report_state(stream, HALO_LIVE_FAILED, &stream->error);
        engine_send_notes(stream->engine); /* before `gone` */
        stream->phase = ENGINE_STOPPING;
    }
    if (stream->late_set)
        engine_stream_set(stream, stream->late_set);
    if (stream->stop)
        engine_stream_stop(stream);
}

void engine_stream_start(struct engine *engine, const char *name, const char *settings,
                         const char *camera)
{
    struct halo_error err = {0};
    if (halo_fault("engine", "call"))
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
    if (halo_fault("engine", "probe"))
        engine_probe();
    struct engine_stream *stream = calloc(1, sizeof *stream);
    if (!stream || halo_stream_settings_read(&stream->settings, settings, &err) < 0) {
        json_t *message = engine_message("state", name);
        json_object_set_new(message, "state", json_string(halo_live_state_names[HALO_LIVE_FAILED]));
        json_object_set_new(message, "why", json_string(err.code ? err.text : "out of memory"));
        halo_link_send(engine->link, message, NULL, 0);
        free(stream);
        return;
    }
    stream->engine = engine;
    stream->record = true;
    stream->gpu = -1;
    stream->camera = camera ? strdup(camera) : NULL;
    snprintf(stream->name, sizeof stream->name, "%s", name);
    stream->encodings = halo_encodings(&stream->settings, stream->encoding, stream->of);
    stream->work.data = stream;
    stream->next = engine->streams;
    engine->streams = stream;
    uv_queue_work(&engine->loop, &stream->work, make, made);
}

void engine_stream_record(struct engine_stream *stream, bool on)
{
    stream->record = on;
    for (int i = 0; i < stream->settings.outputs && stream->phase == ENGINE_RUNNING; i++)
        if (stream->output[i] && halo_output_row(&stream->settings.output[i])->records)
            halo_output_switch(stream->output[i], on);
}

/* ---- end ---- */

void engine_stream_stop(struct engine_stream *stream)
{
    stream->stop = true;
    if (stream->phase == ENGINE_RUNNING) {
        stream->phase = ENGINE_STOPPING;
        halo_live_stop(stream->live);
    }
    engine_stream_tick(stream);
}

/* Its live stream sends no more events. */
static void finish_outputs(uv_work_t *work)
{
    struct engine_stream *stream = work->data;
    for (int i = 0; i < stream->settings.outputs; i++) {
        halo_output_destroy(stream->output[i]);
        stream->output[i] = NULL;
    }
}

static void finish(uv_work_t *work)
{
    struct engine_stream *stream = work->data;
    halo_log_set_stream(stream->name);
    halo_live_destroy(stream->live);
    finish_outputs(work);
    halo_log_set_stream(NULL);
}

static void unlink_from(struct engine_stream **at, const struct engine_stream *stream)
{
    while (*at != stream)
        at = &(*at)->next;
    *at = stream->next;
}

static void end_rings(struct engine_stream *stream)
{
    for (int i = 0; i < stream->encodings; i++) {
        halo_packet_writer_destroy(stream->ring[i].writer);
        stream->ring[i].writer = NULL;
    }
}

static void report_gone(const struct engine_stream *stream)
{
    struct engine *engine = stream->engine;
    engine_send_notes(engine); /* its last messages are sent first */
    if (engine->link)
        halo_link_send(engine->link, engine_message("gone", stream->name), NULL, 0);
}

static void free_stream(struct engine_stream *stream)
{
    end_rings(stream);
    for (int i = 0; i < stream->settings.outputs; i++)
        free(stream->refused[i]);
    json_decref(stream->late_set);
    free(stream->camera);
    halo_stream_settings_finish(&stream->settings);
    free(stream);
}

static void finished(uv_work_t *work, int status)
{
    struct engine_stream *stream = work->data;
    (void)status;
    unlink_from(&stream->engine->streams, stream);
    report_gone(stream);
    free_stream(stream);
}

static void finish_later(struct engine_stream *stream)
{
    stream->phase = ENGINE_FINISHING;
    uv_queue_work(&stream->engine->loop, &stream->work, finish, finished);
}

/* A stream of the same name can be started from now on. */
static void leave(uv_work_t *work, int status)
{
    struct engine_stream *stream = work->data;
    struct engine *engine = stream->engine;
    (void)status;
    unlink_from(&engine->streams, stream);
    end_rings(stream);
    stream->next = engine->left;
    engine->left = stream;
    if (stream->stop)
        report_gone(stream); /* otherwise the supervisor has yet to request it */
}

void engine_stream_tick(struct engine_stream *stream)
{
    /* A stream that could not be created stays until the supervisor stops it. */
    if (stream->phase == ENGINE_STOPPING && stream->stop &&
        (!stream->live || halo_live_done(stream->live)))
        finish_later(stream);
    if (stream->phase == ENGINE_ABANDONED && halo_live_abandon(stream->live)) {
        stream->phase = ENGINE_FINISHING;
        uv_queue_work(&stream->engine->loop, &stream->work, finish_outputs, leave);
    }
}

/* ---- streams that are stuck ---- */

void engine_stream_abandon(struct engine_stream *stream, const struct halo_error *why)
{
    stream->phase = ENGINE_ABANDONED;
    stream->abandoned = true;
    engine_report_stalled_source(stream, why);
    engine_stream_tick(stream);
}

static void freed(uv_work_t *work, int status)
{
    (void)status;
    free_stream(work->data);
}

void engine_stream_free_left(struct engine *engine)
{
    for (struct engine_stream *s = engine->left, *next; s; s = next) {
        next = s->next;
        halo_live_abandon(s->live);
        if (!halo_live_done(s->live))
            continue;
        unlink_from(&engine->left, s);
        halo_log(HALO_LOG_INFO,
                 "stream %s: the stuck threads have returned; their memory was freed", s->name);
        uv_queue_work(&engine->loop, &s->work, finish, freed);
    }
}
