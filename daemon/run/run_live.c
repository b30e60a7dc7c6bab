/* SPDX-License-Identifier: BSD-2-Clause
 * halod run with a camera (run_live.h). */
#include "daemon/run/run_live.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/encoding.h"
#include "config/log.h"
#include "daemon/run/run_live_private.h"
#include "kernels/backend.h"
#include "kernels/clock.h"
#include "pipeline/base/thread.h"

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
        halo_live_sink_wake(run->sink);
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

static bool has_failed(struct run_live *run)
{
    halo_lock(&run->lock);
    const bool ret = run->error.code != 0;
    halo_unlock(&run->lock);
    return ret;
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
        run_live_fail(run, &err);
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
        run_live_fail(run, &err);
    } else {
        halo_fail_device(&err, "%s", why);
        run_live_fail(run, &err);
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
    run->has_picture &= encoding == run->encoding;
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
    const bool has_picture = run->has_picture, has_card = run->has_card;
    const int64_t taken = run->taken;
    if (has_picture)
        av_packet_move_ref(&pkt, run->picture);
    if (has_card)
        av_packet_move_ref(&card, run->card);
    run->has_picture = run->has_card = false;
    halo_unlock(&run->lock);
    if (has_card)
        halo_virtual_card(run->shown, &card);
    if (has_picture && run->watched)
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
        halo_live_sink_abandon(run->sink);
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
    run_live_fail(run, &err);
}

static void on_tick(uv_timer_t *timer)
{
    struct run_live *run = timer->data;
    struct halo_stream_stats stats;
    end_if_stuck(run);
    if (run->ticks++ % SHOW_TICKS == 0 && run->running) {
        run_live_stats(run, &stats);
        /* no packet reports the first frame */
        const bool unseen = run->encoding < 0 || (!run->sink && !run->watched);
        if (unseen && run->numbers.moved_at && !atomic_load(&run->first))
            atomic_store(&run->first, run->numbers.moved_at / 1000);
        halo_progress_show(run->progress, &stats, false);
    }
    end_in_time(run);
    if (run->sink && atomic_load(&run->stop))
        halo_live_sink_wake(run->sink); /* again: it may have begun to wait since */
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
        halo_live_sink_abandon(run->sink);
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
    run->picture = av_packet_alloc();
    run->card = av_packet_alloc();
    if (!run->picture || !run->card)
        return halo_fail(err, -ENOMEM, "out of memory");
    int code = halo_run_live_check(set, chain, err);
    if (code >= 0 && !shows)
        code = halo_live_sink_create(&run->sink, set, &run->stop, err);
    if (code >= 0)
        code = halo_run_live_settings(&run->stream, set, chain,
                                      run->sink ? halo_live_sink_codec(run->sink) : NULL,
                                      run->sink && halo_live_sink_is_file(run->sink), err);
    if (code >= 0)
        code = halo_live_create(&run->live, &run->stream, &run_live_events, run, err);
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
    halo_live_sink_destroy(run->sink);
    halo_progress_close(run->progress);
    halo_stream_settings_finish(&run->stream);
    av_packet_free(&run->picture);
    av_packet_free(&run->card);
    free(run);
}

/* Finishes the file of a stream that has ended; returns the exit status. */
static int conclude(struct run_live *run, struct halo_error *err)
{
    if (!err->code)
        *err = run->error; /* its threads have ended */
    if (run->sink)
        halo_live_sink_finish(run->sink, err);
    if (run->running)
        run_live_report(run, err);
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
