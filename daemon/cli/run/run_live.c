/* SPDX-License-Identifier: BSD-2-Clause
 * halod run with a camera (run_live.h). */
#include "daemon/cli/run/run_live.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/base/log.h"
#include "config/base/thread.h"
#include "config/encoding.h"
#include "kernels/backend.h"
#include "kernels/clock.h"
#include <stdatomic.h>
#include <uv.h>
#include "daemon/cli/run/progress.h"
#include "daemon/cli/run/run_detectors.h"
#include "daemon/cli/run/run_end.h"
#include "daemon/cli/run/run_loop.h"
#include "daemon/view/virtual_camera.h"
#include "pipeline/stream/live.h"
#include "pipeline/base/av_version.h"
#include "pipeline/output/parameters_wire.h"
#include "pipeline/output/container.h"
#include "pipeline/output/sink_file.h"

struct run_live {
    const struct halo_run_settings *settings;
    struct halo_stream_settings stream;
    struct halo_live *live;
    struct halo_sink *sink; /* NULL: a virtual camera */
    /* What the packets for the sink are; NULL: none was begun. This and `origin` are used by the
     * encoding's thread. */
    AVCodecParameters *like;
    int64_t
        origin; /* us: time of the first packet, which is 0 in the output; INT64_MIN: none yet */
    struct halo_virtual *shown; /* NULL: OUT is not a virtual camera */
    struct halo_progress *progress;
    struct halo_run_detectors *detectors;
    struct halo_run_loop loop;
    unsigned ticks;
    struct halo_run_end end;
    /* Number of the first encoding for OUT, and of the one that is passed on; -1: nothing is
     * encoded. Only the loop changes them, the second one under the lock. */
    int first_encoding;
    atomic_int encoding;
    bool running, writing, closing, watched;
    int64_t began; /* ns */
    /* ns from capture to writing; for a virtual camera, filled in when it is closed */
    struct halo_histogram delay;
    struct halo_live_stats numbers; /* the statistics that were read last; loop thread only */
    atomic_int stop;
    atomic_llong first; /* timestamp of the first frame in us; 0: none yet */

    struct halo_mutex lock; /* guards the fields below */
    struct halo_error error;
    /* why no frames arrive; code 0: frames arrive, or the reason is unknown */
    struct halo_error away;
    AVPacket *frame, *card;
    int64_t taken; /* time in us at which `frame` was captured; 0: it is a card */
    bool has_frame, has_card;
};

/* ---- reports ---- */

static void read_stats(struct run_live *run, struct halo_stream_stats *ret)
{
    const int64_t first = atomic_load(&run->first);
    halo_live_stats(run->live, &run->numbers);
    *ret = (struct halo_stream_stats){
        .frames = run->sink && run->encoding >= 0 ? run->numbers.encoded : run->numbers.filtered,
        .time = first ? (double)(run->numbers.moved_at / 1000 - first) / 1e6 : 0,
        .duration = run->settings->part.duration,
        .bytes = run->sink ? halo_sink_bytes(run->sink) : 0,
        .damaged = run->numbers.damaged,
        .running = run->running && run->numbers.filtered > 0,
    };
}

static void print_times(const char *name, const struct halo_histogram *h)
{
    if (h->count)
        fprintf(stderr, "  %-8s %8lld  %8.2f  %8.2f  %8.2f\n", name, (long long)h->count,
                (double)halo_histogram_percentile(h, 0.5) / 1e6,
                (double)halo_histogram_percentile(h, 0.99) / 1e6, (double)h->most / 1e6);
}

/* -stats */
static void report(struct run_live *run)
{
    int64_t dropped = 0;
    for (int i = 0; i < HALO_DROPS; i++)
        dropped += run->numbers.dropped[i];
    fprintf(stderr, "frames: %lld from the camera, %lld filtered, %lld dropped\n",
            (long long)run->numbers.decoded, (long long)run->numbers.filtered, (long long)dropped);
    fprintf(stderr, "  %-8s %8s  %8s  %8s  %8s\n", "ms", "count", "p50", "p99", "most");
    for (int i = 0; i < HALO_LIVE_TOTAL; i++)
        print_times(halo_live_stage_names[i], &run->numbers.stage[i]);
    print_times("packet", &run->numbers.stage[HALO_LIVE_TOTAL]); /* from the time of capture */
    print_times("written", &run->delay);
}

/* Shows the progress for the last time, the result if the run had no error, and the statistics if
 * -stats is set. */
static void print_end(struct run_live *run, const struct halo_error *err)
{
    char bytes[24];
    struct halo_stream_stats stats;
    read_stats(run, &stats);
    halo_progress_show(run->progress, &stats, true);
    if (run->settings->stats)
        report(run);
    if (err->code)
        return;
    halo_log(HALO_LOG_INFO, "%s: %lld frame%s at %.1f fps%s%s", run->settings->output,
             (long long)stats.frames, stats.frames == 1 ? "" : "s",
             halo_progress_rate(run->progress, &stats), run->sink ? ", " : "",
             run->sink ? halo_progress_size(stats.bytes, bytes, sizeof bytes) : "");
}

/* ---- events ---- */

/* Called by the threads of the stream, with a struct run_live: packets are written into the file or
 * pipe, or kept for the loop. */

static void fail(struct run_live *run, const struct halo_error *err)
{
    halo_lock(&run->lock);
    if (!run->error.code)
        run->error = *err;
    halo_unlock(&run->lock);
    uv_async_send(&run->loop.wake);
}

static bool has_failed(struct run_live *run)
{
    halo_lock(&run->lock);
    const bool ret = run->error.code != 0;
    halo_unlock(&run->lock);
    return ret;
}

static void on_state(void *arg, enum halo_live_state state, const struct halo_error *err)
{
    struct run_live *run = arg;
    const bool waits = state == HALO_LIVE_WAITING;
    halo_lock(&run->lock);
    const bool was = run->away.code != 0;
    run->away = waits ? *err : (struct halo_error){0};
    halo_unlock(&run->lock);
    if (state == HALO_LIVE_FAILED)
        fail(run, err);
    else if (waits)
        halo_log(HALO_LOG_WARNING, "%s", halo_log_skip_number(err->text));
    else if (was && state == HALO_LIVE_RUNNING)
        halo_log(HALO_LOG_INFO, "%s: frames are arriving again", run->settings->source.input);
    uv_async_send(&run->loop.wake);
}

/* Keeps the packet for the loop, and wakes it. */
static void hand_over(struct run_live *run, int encoding, AVPacket *to, const AVPacket *pkt,
                      int64_t taken)
{
    bool *has = to == run->frame ? &run->has_frame : &run->has_card;
    halo_lock(&run->lock);
    if (encoding == run->encoding) {
        av_packet_unref(to);
        *has = av_packet_ref(to, pkt) >= 0;
        if (to == run->frame)
            run->taken = taken;
    }
    halo_unlock(&run->lock);
    uv_async_send(&run->loop.wake);
}

/* The sink has one track of video, and the encoder must go on as it began. */
static int begin_sink(struct run_live *run, const struct halo_encoding_parameters *begin,
                      struct halo_error *err)
{
    AVFormatContext *format = halo_sink_format(run->sink);
    if (run->like)
        return halo_parameters_are_same(run->like, begin->video)
                   ? 0
                   : halo_fail(err, -EIO, "the encoder changed its output format");
    AVStream *st = halo_parameters_add_stream(format, begin, begin->video);
    run->like = avcodec_parameters_alloc();
    if (!st || !run->like || halo_av_parameters_copy(run->like, begin->video) < 0)
        return halo_fail(err, -ENOMEM, "out of memory");
    st->time_base = AV_TIME_BASE_Q;
    if (!halo_sink_is_file(run->sink)) /* its reader gets frames as they arrive */
        format->flags |= AVFMT_FLAG_FLUSH_PACKETS;
    return halo_sink_start(run->sink, err);
}

static void on_begin(void *arg, int encoding, const struct halo_encoding_parameters *begin)
{
    struct run_live *run = arg;
    struct halo_error err = {0};
    if (encoding != run->encoding)
        return;
    if (!run->sink)
        hand_over(run, encoding, run->card, begin->card, 0);
    else if (begin_sink(run, begin, &err) < 0)
        fail(run, &err);
}

static bool is_past_the_end(const struct run_live *run, int64_t pts)
{
    const double limit = run->settings->part.duration;
    return limit >= 0 && (double)(pts - atomic_load(&run->first)) >= limit * 1e6;
}

/* Nothing is written after an error. */
static void write_packet(struct run_live *run, const AVPacket *pkt)
{
    struct halo_error err = {0};
    if (has_failed(run))
        return;
    AVPacket *copy = av_packet_clone(pkt);
    if (!copy) {
        halo_fail(&err, -ENOMEM, "out of memory");
        fail(run, &err);
        return;
    }
    if (run->origin == INT64_MIN)
        run->origin = pkt->dts;
    copy->stream_index = 0;
    copy->pts -= run->origin;
    copy->dts -= run->origin;
    if (halo_sink_write(run->sink, copy, AV_TIME_BASE_Q, &err) < 0)
        fail(run, &err);
    else if (run->settings->stats)
        halo_histogram_add(&run->delay, halo_now_ns() - pkt->pts * 1000);
    av_packet_free(&copy);
}

static void on_packet(void *arg, int encoding, const AVPacket *pkt)
{
    struct run_live *run = arg;
    long long none = 0;
    if (encoding != run->encoding || pkt->stream_index != 0)
        return;
    atomic_compare_exchange_strong(&run->first, &none, pkt->pts);
    if (is_past_the_end(run, pkt->pts))
        return;
    if (run->sink)
        write_packet(run, pkt);
    else
        hand_over(run, encoding, run->frame, pkt, pkt->pts);
}

/* A file leaves cards out and continues with the next frame; viewers of a pipe or camera see the
 * card. */
static void on_card(void *arg, int encoding, const AVPacket *pkt)
{
    struct run_live *run = arg;
    if (encoding != run->encoding)
        return;
    if (!run->sink)
        hand_over(run, encoding, run->frame, pkt, 0);
    else if (!halo_sink_is_file(run->sink))
        write_packet(run, pkt);
}

static void on_failed(void *arg, int encoding, const struct halo_error *err)
{
    if (encoding == ((struct run_live *)arg)->encoding)
        fail(arg, err);
}

static void on_want(void *arg, enum halo_find find)
{
    halo_run_detector_calls.want(((struct run_live *)arg)->detectors, find);
}

static void on_broken(void *arg, enum halo_find find, const char *why)
{
    halo_run_detector_calls.broken(((struct run_live *)arg)->detectors, find, why);
}

static void on_unwanted(void *arg, enum halo_find find)
{
    halo_run_detector_calls.unwanted(((struct run_live *)arg)->detectors, find);
}

static const struct halo_live_events events = {
    .state = on_state,
    .begin = on_begin,
    .packet = on_packet,
    .card = on_card,
    .failed = on_failed,
    .detector = {on_want, on_broken, on_unwanted},
};

/* ---- the run ---- */

enum {
    TICK_MS = 50,
    SHOW_TICKS = 10, /* between updates of the progress */
};

/* ns, in addition to -t, for a first frame */
static const int64_t FIRST_PATIENCE = INT64_C(10000000000);

/* ---- the loop ---- */

static void ask_to_stop(struct run_live *run)
{
    atomic_store(&run->stop, 1);
    if (run->running)
        halo_live_stop(run->live);
    if (run->sink)
        halo_sink_wake(run->sink);
}

static void close_all(struct run_live *run)
{
    run->closing = true;
    if (run->shown)
        run->delay = *halo_virtual_delay(run->shown);
    halo_virtual_destroy(run->shown);
    halo_run_detectors_close(run->detectors);
    halo_run_loop_close_handles(&run->loop);
}

/* Ends the loop if the stream was stopped and has ended, or was not started. */
static void update(struct run_live *run)
{
    if (has_failed(run) && !atomic_load(&run->stop))
        ask_to_stop(run);
    if (!run->closing && atomic_load(&run->stop) && (!run->running || halo_live_done(run->live)))
        close_all(run);
}

static void start_live(struct run_live *run)
{
    struct halo_error err = {0};
    if (run->running || atomic_load(&run->stop))
        return;
    if (halo_live_start(run->live, &err) < 0) {
        fail(run, &err);
        return;
    }
    run->began = halo_now_ns();
    run->running = true;
}

static void reported(void *arg, const char *state, const char *why)
{
    struct run_live *run = arg;
    struct halo_error err = {0};
    if (!strcmp(state, "writing")) {
        halo_log(HALO_LOG_INFO, "%s: frames are being written again", run->settings->output);
    } else if (run->writing) {
        halo_log(HALO_LOG_WARNING, "%s", why);
    } else if (halo_virtual_trouble(run->shown) == HALO_V4L2_UNFIT) {
        halo_fail_usage(&err, "%s", why);
        fail(run, &err);
    } else {
        halo_fail_device(&err, "%s", why);
        fail(run, &err);
    }
}

static void stop_watching(struct run_live *run)
{
    halo_live_watch(run->live, run->encoding, false);
    halo_virtual_clear(run->shown);
}

/* Passes on frames of this encoding from now on, and none of another one. */
static void start_watching(struct run_live *run, int encoding)
{
    halo_lock(&run->lock);
    run->has_frame &= encoding == run->encoding;
    run->has_card &= encoding == run->encoding;
    atomic_store(&run->encoding, encoding);
    halo_unlock(&run->lock);
    halo_live_watch(run->live, encoding, true);
}

/* The camera is not opened before the output is. */
static void watched(void *arg, int format)
{
    struct run_live *run = arg;
    const bool somebody = format >= 0;
    const int wanted = run->first_encoding + (somebody ? format : 0);
    if (!run->writing && halo_virtual_is_open(run->shown)) {
        run->writing = true;
        start_live(run);
    }
    if (somebody == run->watched && (!somebody || wanted == run->encoding))
        return;
    if (run->watched)
        stop_watching(run);
    if (somebody)
        start_watching(run, wanted);
    run->watched = somebody;
}

static const struct halo_virtual_events virtual_events = {.reported = reported, .watched = watched};

static void show(struct run_live *run)
{
    AVPacket pkt = {.data = NULL}, card = {.data = NULL};
    halo_lock(&run->lock);
    const bool has_frame = run->has_frame, has_card = run->has_card;
    const int64_t taken = run->taken;
    if (has_frame)
        av_packet_move_ref(&pkt, run->frame);
    if (has_card)
        av_packet_move_ref(&card, run->card);
    run->has_frame = run->has_card = false;
    halo_unlock(&run->lock);
    if (has_card)
        halo_virtual_card(run->shown, &card);
    if (has_frame && run->watched)
        halo_virtual_put(run->shown, &pkt, taken);
    av_packet_unref(&pkt);
    av_packet_unref(&card);
}

static void on_wake(uv_async_t *async)
{
    struct run_live *run = async->data;
    if (run->shown && !run->closing)
        show(run);
    update(run);
}

/* A device that is silent may still write into our memory: the process ends at once. */
static void end_if_stuck(struct run_live *run)
{
    struct halo_error err = {0};
    if (!run->running || !halo_live_is_stuck(run->live, &err))
        return;
    halo_log_set_status(NULL);
    halo_log(HALO_LOG_ERROR, "%s", err.text);
    if (run->sink)
        halo_sink_abandon(run->sink);
    _exit(HALO_EXIT_TRY_AGAIN);
}

/* Applies -t, measured from the first frame; if no frame arrives, the run fails. */
static void end_in_time(struct run_live *run)
{
    struct halo_error err = {0};
    const int64_t now = halo_now_ns(), first = atomic_load(&run->first) * 1000;
    const int64_t limit = (int64_t)(run->settings->part.duration * 1e9);
    if (run->settings->part.duration < 0 || !run->running || atomic_load(&run->stop))
        return;
    if (first && now - first >= limit)
        ask_to_stop(run);
    if (run->shown && !run->watched)
        run->began = now; /* the camera may be closed meanwhile */
    if (first || now - run->began < limit + FIRST_PATIENCE)
        return;
    halo_lock(&run->lock);
    halo_fail_device(&err, "%s",
                     run->away.code ? halo_log_skip_number(run->away.text) : "no frame arrived");
    halo_unlock(&run->lock);
    fail(run, &err);
}

static void on_tick(uv_timer_t *timer)
{
    struct run_live *run = timer->data;
    struct halo_stream_stats stats;
    end_if_stuck(run);
    if (run->ticks++ % SHOW_TICKS == 0 && run->running) {
        read_stats(run, &stats);
        /* no packet reports the first frame */
        const bool unseen = run->encoding < 0 || (!run->sink && !run->watched);
        if (unseen && run->numbers.moved_at && !atomic_load(&run->first))
            atomic_store(&run->first, run->numbers.moved_at / 1000);
        halo_progress_show(run->progress, &stats, false);
    }
    end_in_time(run);
    if (run->sink && atomic_load(&run->stop))
        halo_sink_wake(run->sink); /* again: it may have begun to wait since */
    update(run);
}

/* ---- start ---- */

static void stop(void *arg)
{
    ask_to_stop(arg);
    uv_async_send(&((struct run_live *)arg)->loop.wake);
}

static void abandon(void *arg)
{
    struct run_live *run = arg;
    if (run->sink)
        halo_sink_abandon(run->sink);
}

static void connect_stream(void *arg, enum halo_find find, int fd, const char *why)
{
    struct run_live *run = arg;
    halo_live_connect(run->live, find, fd, why);
}

static int start_loop(struct run_live *run, struct halo_error *err)
{
    const struct halo_run_loop_calls calls = {on_wake, on_tick, TICK_MS, run};
    run->end = (struct halo_run_end){.stop = stop, .abandon = abandon, .arg = run};
    const int code = halo_run_loop_open(&run->loop, &calls, &run->end, err);
    return code < 0 ? code
                    : halo_run_detectors_create(&run->detectors, &run->loop.loop, connect_stream,
                                                run, err);
}

static int prepare(struct run_live *run, const struct halo_chain *chain, struct halo_error *err)
{
    const struct halo_run_settings *set = run->settings;
    struct halo_encoding encoding[HALO_MAX_ENCODINGS];
    int of[HALO_MAX_OUTPUTS];
    const bool shows = halo_run_live_shows(set);
    run->frame = av_packet_alloc();
    run->card = av_packet_alloc();
    if (!run->frame || !run->card)
        return halo_fail(err, -ENOMEM, "out of memory");
    int code = halo_run_live_check(set, chain, err);
    const AVCodec *codec = NULL;
    if (code >= 0 && !shows)
        code = halo_sink_create(&run->sink, set, &run->stop, err);
    if (code >= 0 && run->sink && !halo_sink_discards(run->sink)) {
        codec = halo_container_encoder(halo_sink_format(run->sink)->oformat, set, err);
        code = codec ? 0 : -EINVAL;
    }
    if (code >= 0)
        code = halo_run_live_settings(&run->stream, set, chain, codec ? codec->name : NULL,
                                      run->sink && halo_sink_is_file(run->sink), err);
    if (code >= 0)
        code = halo_live_create(&run->live, &run->stream, &events, run, err);
    if (code < 0)
        return code;
    halo_encodings(&run->stream, encoding, of);
    run->encoding = run->first_encoding = of[0];
    code = halo_progress_open(&run->progress, set->progress, err);
    if (code >= 0)
        code = start_loop(run, err);
    if (code >= 0 && shows)
        return halo_virtual_create(&run->shown, &run->loop.loop, &run->stream.output[0],
                                   &virtual_events, run, err);
    if (code >= 0)
        start_live(run);
    return code;
}

/* ---- the end ---- */

static void finish(struct run_live *run)
{
    halo_live_destroy(run->live);
    halo_run_detectors_destroy(run->detectors);
    halo_sink_destroy(run->sink);
    halo_progress_close(run->progress);
    halo_stream_settings_finish(&run->stream);
    avcodec_parameters_free(&run->like);
    av_packet_free(&run->frame);
    av_packet_free(&run->card);
    free(run);
}

/* Finishes the file of a stream that has ended; returns the exit status. */
static int conclude(struct run_live *run, struct halo_error *err)
{
    if (!err->code)
        *err = run->error; /* its threads have ended */
    const char *ignored;
    const bool whole = run->origin != INT64_MIN && !err->code;
    if (run->sink)
        halo_sink_finish(run->sink, whole ? HALO_SINK_WHOLE : HALO_SINK_DISCARD, &ignored, err);
    if (run->running)
        print_end(run, err);
    if (run->end.by && (!err->code || err->code == -EINTR))
        return 128 + run->end.by;
    return err->code ? halo_run_end_code(err) : HALO_EXIT_OK;
}

int halo_run_live(const struct halo_run_settings *settings, const struct halo_chain *chain)
{
    struct run_live *run = calloc(1, sizeof *run);
    struct halo_error err = {0};
    if (!run) {
        halo_log(HALO_LOG_ERROR, "out of memory");
        return HALO_EXIT_FAILED;
    }
    run->settings = settings;
    run->origin = INT64_MIN;
    run->encoding = run->first_encoding = -1;
    if (prepare(run, chain, &err) < 0 && run->loop.open)
        close_all(run);
    if (run->loop.open)
        halo_run_loop_run(&run->loop);
    const int code = conclude(run, &err);
    if (err.code)
        halo_log(HALO_LOG_ERROR, "%s", err.text);
    const bool device = run->running && run->numbers.gpu >= 0;
    if (device) {
        halo_backend_leave();
        halo_run_end_limit(settings->device.gpu_timeout + 1, code);
    }
    finish(run);
    if (device)
        halo_run_end_now(code);
    return code;
}
