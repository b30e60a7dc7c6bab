/* SPDX-License-Identifier: BSD-2-Clause
 * The source thread of a live stream: from the start of the device to the end of the last
 * thread. */
#include "pipeline/stream/live_source.h"

#include <errno.h>
#include <libavutil/mem.h>
#include <stdio.h>
#include <string.h>

#include "config/base/log.h"
#include "config/base/thread.h"
#include "kernels/clock.h"
#include "pipeline/gate/queue.h"
#include "pipeline/gate/ring.h"
#include "pipeline/stream/live.h"
#include "pipeline/stream/live_worker.h"
#include "pipeline/stream/graph.h"
#include "pipeline/stream/live_cards.h"
#include "pipeline/stream/live_clock.h"
#include "pipeline/stream/live_encodings.h"
#include "pipeline/stream/live_counters.h"
#include "pipeline/stream/live_format.h"
#include "pipeline/stream/live_input.h"
#include "pipeline/stream/live_loop.h"
#include "pipeline/stream/live_sound.h"
#include "pipeline/stream/stages.h"
#include "pipeline/stream/live_stalls.h"
#include "pipeline/stream/live_status.h"
#include "pipeline/stream/live_stream.h"
#include "pipeline/stream/source_ops.h"
#include "pipeline/frame/raw_frame.h"

enum {
    HELD = 256,     /* audio packets before the first frame */
    DESCRIBE_S = 5, /* how long frames wait until all encoders are described */
};

static const double FIRST_PAUSE = 0.25, LAST_PAUSE = 5; /* seconds */

struct halo_live_reader *halo_live_reader_create(const atomic_int *stop)
{
    struct halo_live_reader *reader = av_mallocz(sizeof *reader);
    if (!reader)
        return NULL;
    reader->limits.stop = stop;
    reader->damage.keep_going = true;
    return reader;
}

void halo_live_reader_destroy(struct halo_live_reader *reader)
{
    av_free(reader);
}

static int open_ring(struct halo_live *live, struct halo_error *err)
{
    struct halo_ring_settings ring = halo_ring_settings_of(&live->settings.device);
    ring.live = live->live;
    if (!halo_live_stalls_begin_ring(live->stalls))
        return halo_fail(err, -ECANCELED, "the stream was stopped before it started");
    const int code = halo_ring_create(&live->ring, &ring, err);
    halo_live_stalls_end_ring(live->stalls);
    atomic_store(&live->ready, code >= 0);
    return code;
}

/* Lets everything out that was decoded, and joins the threads after this one. */
static void end_stages(struct halo_live *live)
{
    halo_stages_end(live->stages);
    halo_live_encodings_end(live->encodings);
}

static void end_all(struct halo_live *live)
{
    halo_live_cards_end(live->cards);
    end_stages(live);
    halo_live_worker_end(live);
    halo_stages_close(live->stages);
}

/* ---- the format, and the stages that depend on it ---- */

/* Whether the format must be kept. Under `forming`. */
static bool is_bound(struct halo_live *live)
{
    if (!live->format || !live->format->made_up)
        return true;
    return halo_live_encodings_are_bound(live->encodings);
}

/* Removes the format and everything made for it, except the chains, and resets the encodings. */
static void take_down(struct halo_live *live)
{
    /* requests wait from now on, while older frames are output */
    halo_graphs_turn(live->graphs);
    end_stages(live);
    halo_graphs_keep(live->graphs);
    halo_live_encodings_reset(live->encodings, halo_live_cards_drop(live->cards));
    halo_live_format_destroy(live->format);
    live->format = NULL;
    halo_graphs_turned(live->graphs);
    live->post(live, HALO_LIVE_FORM, 0);
}

/* If there is no format yet, or the format was assumed and can be replaced, sets the format and
 * starts the threads. in NULL: nothing is known about the source. Sets *ret_fatal if the failure
 * occurred after a format had been set, because a retry would then fail again. Source and card
 * thread. */
static int begin_stages(struct halo_live *live, const struct halo_live_input *in, bool *ret_fatal,
                        struct halo_error *err)
{
    halo_lock(&live->forming);
    if (in && !is_bound(live))
        take_down(live);
    const bool needed = !live->format;
    int code = needed ? halo_live_make_graph(live, in, err) : 0;
    if (code >= 0 && needed)
        code = halo_live_encodings_start(live->encodings, err);
    if (code >= 0 && needed)
        code = halo_stages_start(live->stages, err);
    *ret_fatal = code < 0 && live->format;
    halo_unlock(&live->forming);
    return code;
}

/* ---- a session ---- */

/* Audio that arrives before the first frame cannot be given a timestamp of the stream yet. */
struct held {
    AVPacket *packet[HELD];
    int count;
};

static void drop_held(struct held *held)
{
    for (int i = 0; i < held->count; i++)
        av_packet_free(&held->packet[i]);
    held->count = 0;
}

static void take_sound(struct halo_live *live, struct halo_live_input *in, struct held *held,
                       AVPacket *pkt)
{
    if (live->reader->clock.set)
        halo_live_sound_spread(live, in, pkt);
    else if (held->count < HELD)
        held->packet[held->count++] = pkt;
    else
        av_packet_free(&pkt);
}

static int take_frame(struct halo_live *live, struct halo_live_input *in, struct held *held,
                      struct halo_raw_frame *raw)
{
    halo_live_clock_pass(live, in, raw);
    for (int i = 0; i < held->count; i++)
        halo_live_sound_spread(live, in, held->packet[i]);
    held->count = 0;
    halo_live_count(live->counters, HALO_COUNT_DECODED, 1);
    const struct halo_item item = {
        .kind = HALO_ITEM_RAW,
        .raw = raw,
        .decoded = in->absolute ? halo_raw_frame_pts(raw) * 1000 : halo_now_ns(),
    };
    const int code = halo_stages_give(live->stages, item);
    halo_live_drop(live->counters, HALO_DROP_LATE, code);
    return code;
}

/* Passes on frames and audio until the end: 0, -ECANCELED, or -errno with err filled. */
static int run_session(struct halo_live *live, struct halo_live_input *in, struct halo_error *err)
{
    struct held held = {.count = 0};
    struct halo_raw_frame *raw;
    AVPacket *sound;
    int code = 0;
    while (!halo_live_stopped(live) &&
           (code = halo_live_input_read(live, in, &raw, &sound, err)) > 0) {
        if (sound)
            take_sound(live, in, &held, sound);
        if (raw && (code = take_frame(live, in, &held, raw)) < 0)
            break;
    }
    drop_held(&held);
    return FFMIN(code, 0);
}

/* Files that loop continue without being reopened, as long as that is possible. */
static int run_turns(struct halo_live *live, struct halo_live_input *in, struct halo_error *err)
{
    int code;
    do {
        live->reader->clock.set = false;
        code = run_session(live, in, err);
        live->reader->clock.joined = true;
    } while (code == 0 && halo_live_loop_again(live, in));
    return code;
}

/* Explains why a session without an error of its own ended, if that is not the regular end. */
static int say_end(const struct halo_live *live, int64_t frames, struct halo_error *err)
{
    const char *name = live->name;
    if (halo_live_is_late(live))
        return halo_live_fail_late(live, err);
    if (frames == 0 && !live->ops->endless)
        return halo_fail(err, -ENODATA, "%s: no frame could be decoded", name);
    if (!live->local && !live->settings.loop)
        return halo_fail(err, -EPIPE, "%s: the sender ended the stream", name);
    return 0;
}

/* Text for the card. */
static const char *words_of(const struct halo_live *live)
{
    if (live->ops->words)
        return live->ops->words(live);
    return live->reader->clock.last ? "no signal" : "connecting";
}

/* 0: the regular end; -errno with err filled: retry, unless *ret_fatal is set. The caller closes
 * in. */
static int hold_session(struct halo_live *live, struct halo_live_input *in, double *pause,
                        bool *ret_fatal, struct halo_error *err)
{
    int code = halo_live_input_open(live, in, err);
    if (code >= 0) {
        halo_live_count(live->counters, HALO_COUNT_OPENED, 1);
        code = begin_stages(live, in, ret_fatal, err);
    }
    if (code >= 0) {
        /* Viewers get cards even if the first frame crashes the process. */
        halo_live_encodings_wait(live, halo_now_ns() + DESCRIBE_S * INT64_C(1000000000));
        code = run_turns(live, in, err);
    }
    if (code == 0)
        code = say_end(live, in->frames, err);
    if (in->frames > 0)
        *pause = 0;
    live->reader->clock.joined = code == 0 && !live->ops->endless;
    if (live->ops->end)
        live->ops->end(live, code < 0);
    return code;
}

static bool is_over(const struct halo_live *live, int ret)
{
    return halo_live_stopped(live) || (ret == 0 && !live->settings.loop && !live->ops->endless);
}

/* Makes a format for a source that is still away, because cards need one. */
static int make_early(struct halo_live *live, bool *ret_fatal, struct halo_error *err)
{
    struct halo_live_input in;
    int code = live->ops->describe(live, &in, err);
    if (code >= 0)
        code = begin_stages(live, &in, ret_fatal, err);
    halo_live_input_close(&in);
    return code;
}

/* Assumes a format, according to the settings, if there is no format yet. Card thread. */
static void make_up(struct halo_live *live)
{
    struct halo_error err = {0};
    bool fatal = false;
    const int code = live->ops->describe ? make_early(live, &fatal, &err)
                                         : begin_stages(live, NULL, &fatal, &err);
    if (code < 0 && fatal)
        live->fail(live, &err);
}

/* Waits until the next attempt; true: a stop. */
static bool wait_again(struct halo_live *live, double *pause)
{
    double first = FIRST_PAUSE, last = LAST_PAUSE;
    if (live->ops->pauses)
        first = live->ops->pauses(live, &last);
    const double seconds = FFMIN(FFMAX(*pause, first), last);
    const int64_t until = halo_now_ns() + (int64_t)(seconds * 1e9);
    *pause = 2 * seconds;
    return live->ops->wait ? live->ops->wait(live, until) : halo_live_wait(live->status, until);
}

/* Called before a session; true: a stop, or the end. */
static bool rest(struct halo_live *live)
{
    struct halo_error err = {0};
    bool fatal = false;
    if (!live->ops->rests || !live->ops->rests(live))
        return false;
    if (make_early(live, &fatal, &err) < 0 && fatal) {
        live->fail(live, &err);
        return true;
    }
    return live->ops->rest(live);
}

/* Reports a failed session; true: the stream has failed for good. */
static bool lose(struct halo_live *live, int code, bool fatal, struct halo_error *err)
{
    const char *words = words_of(live);
    struct halo_error why = {0};
    halo_fail(err, code, "%s: %s", live->name, strerror(-code));
    if (!fatal && live->ops->describe && make_early(live, &fatal, &why) < 0 && fatal)
        *err = why;
    if (fatal || halo_error_is_lost(err))
        live->fail(live, err);
    else
        halo_live_report_away(live->status, words, err);
    return fatal || halo_error_is_lost(err);
}

/* Runs sessions until the stream ends. */
static void live_on(struct halo_live *live)
{
    double pause = 0;
    while (!rest(live)) {
        struct halo_live_input in;
        struct halo_error err = {0};
        bool fatal = false;
        const int code = hold_session(live, &in, &pause, &fatal, &err);
        const bool ends = is_over(live, code) || (code != 0 && lose(live, code, fatal, &err));
        halo_live_input_close(&in); /* only now: drivers may be slow, and cards must not wait */
        if (ends || (code != 0 && wait_again(live, &pause)))
            return;
    }
}

static void *run(void *arg)
{
    struct halo_live *live = arg;
    struct halo_error err = {0};
    halo_log_set_stream(live->settings.name);
    const int code = halo_live_worker_start(live, &err);
    if (code >= 0 && open_ring(live, &err) >= 0 && halo_live_cards_start(live, make_up, &err) >= 0)
        live_on(live);
    else if (!halo_live_stopped(live))
        live->fail(live, &err);
    end_all(live);
    if (atomic_load(&live->stop) != 2)
        halo_live_report(live->status, HALO_LIVE_ENDED, NULL);
    atomic_store(&live->done, true);
    return NULL;
}

/* ---- the loop ---- */

int halo_live_source_start(struct halo_live *live, struct halo_error *err)
{
    const int code = halo_thread_start(&live->reader->thread, "source", run, live, err);
    live->reader->started = code == 0;
    return code;
}

/* If a read began after the first signal, the next signal interrupts it. */
void halo_live_source_wake(struct halo_live *live)
{
    if (live->reader->started && halo_live_stopped(live) && !atomic_load(&live->done))
        halo_thread_wake(live->reader->thread);
}

void halo_live_source_join(struct halo_live *live)
{
    if (live->reader->started)
        halo_thread_join(live->reader->thread);
}
