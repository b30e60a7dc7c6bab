/* SPDX-License-Identifier: BSD-2-Clause
 * halod run with a camera (run_live.h). */
#include "daemon/run_live.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "config/encoding.h"
#include "config/log.h"
#include "daemon/progress.h"
#include "daemon/run_end.h"
#include "daemon/virtual_camera.h"
#include "kernels/clock.h"
#include "pipeline/live.h"
#include "pipeline/live_sink.h"

enum {
    TICK_MS = 50,
    SHOW_TICKS = 10, /* between two looks at the progress */
};

static const int64_t FIRST_PATIENCE = INT64_C(10000000000); /* ns, beside -t, for a first picture */

struct run {
    const struct halo_run_settings *settings;
    struct halo_stream_settings stream;
    struct halo_live *live;
    struct halo_live_sink *sink; /* NULL: a virtual camera */
    struct halo_virtual *shown;  /* NULL: none */
    struct halo_progress *progress;
    uv_loop_t loop;
    uv_async_t wake;
    uv_timer_t tick;
    unsigned ticks;
    struct halo_run_end end;
    int encoding; /* of OUT; -1: nothing is encoded */
    bool looped, running, writing, closing, looked;
    int64_t began;               /* ns */
    struct halo_histogram delay; /* ns, to when it was written; of OUT, once that is closed */
    atomic_int stop;
    atomic_llong first; /* us: the first picture's time; 0: none came */

    pthread_mutex_t lock; /* of what follows */
    struct halo_error error;
    struct halo_error away; /* code 0: pictures pass, or nothing is known */
    AVPacket *picture, *card;
    int64_t taken; /* us: of picture; 0: it is a card */
    bool has_picture, has_card;
};

/* ---- from the stream's threads ---- */

static void fail(struct run *run, const struct halo_error *err)
{
    pthread_mutex_lock(&run->lock);
    if (!run->error.code)
        run->error = *err;
    pthread_mutex_unlock(&run->lock);
    uv_async_send(&run->wake);
}

static void on_state(void *arg, enum halo_live_state state, const struct halo_error *err)
{
    struct run *run = arg;
    const bool waits = state == HALO_LIVE_WAITING;
    pthread_mutex_lock(&run->lock);
    const bool was = run->away.code != 0;
    run->away = waits ? *err : (struct halo_error){0};
    pthread_mutex_unlock(&run->lock);
    if (state == HALO_LIVE_FAILED)
        fail(run, err);
    else if (waits)
        halo_log(HALO_LOG_WARNING, "%s", halo_log_skip_number(err->text));
    else if (was && state == HALO_LIVE_RUNNING)
        halo_log(HALO_LOG_INFO, "%s: pictures again", run->settings->input);
    uv_async_send(&run->wake);
}

/* Keeps it for the loop, which is told. */
static void hand_over(struct run *run, AVPacket *to, bool *has, const AVPacket *pkt, int64_t taken)
{
    pthread_mutex_lock(&run->lock);
    av_packet_unref(to);
    *has = av_packet_ref(to, pkt) >= 0;
    if (to == run->picture)
        run->taken = taken;
    pthread_mutex_unlock(&run->lock);
    uv_async_send(&run->wake);
}

static void on_begin(void *arg, int encoding, const struct halo_live_begin *begin)
{
    struct run *run = arg;
    struct halo_error err = {0};
    if (encoding != run->encoding)
        return;
    if (!run->sink)
        hand_over(run, run->card, &run->has_card, begin->card, 0);
    else if (halo_live_sink_begin(run->sink, begin, &err) < 0)
        fail(run, &err);
}

static bool is_past_the_end(const struct run *run, int64_t pts)
{
    const double limit = run->settings->duration;
    return limit >= 0 && (double)(pts - atomic_load(&run->first)) >= limit * 1e6;
}

static void write_packet(struct run *run, const AVPacket *pkt)
{
    struct halo_error err = {0};
    if (halo_live_sink_packet(run->sink, pkt, &err) < 0)
        fail(run, &err);
    else if (run->settings->stats)
        halo_histogram_add(&run->delay, halo_now_ns() - pkt->pts * 1000);
}

static void on_packet(void *arg, int encoding, const AVPacket *pkt)
{
    struct run *run = arg;
    long long none = 0;
    if (encoding != run->encoding || pkt->stream_index != 0)
        return;
    atomic_compare_exchange_strong(&run->first, &none, pkt->pts);
    if (is_past_the_end(run, pkt->pts))
        return;
    if (run->sink)
        write_packet(run, pkt);
    else
        hand_over(run, run->picture, &run->has_picture, pkt, pkt->pts);
}

/* A file goes on where pictures do; who looks now is told. */
static void on_card(void *arg, int encoding, const AVPacket *pkt)
{
    struct run *run = arg;
    if (encoding != run->encoding)
        return;
    if (!run->sink)
        hand_over(run, run->picture, &run->has_picture, pkt, 0);
    else if (!halo_live_sink_is_file(run->sink))
        write_packet(run, pkt);
}

static void on_failed(void *arg, int encoding, const struct halo_error *err)
{
    if (encoding == ((struct run *)arg)->encoding)
        fail(arg, err);
}

static const struct halo_live_events live_events = {
    .state = on_state,
    .begin = on_begin,
    .packet = on_packet,
    .card = on_card,
    .failed = on_failed,
};

/* ---- the loop ---- */

static void ask_to_stop(struct run *run)
{
    atomic_store(&run->stop, 1);
    if (run->running)
        halo_live_stop(run->live);
    if (run->sink)
        halo_live_sink_wake(run->sink);
}

static void close_handle(uv_handle_t *handle, void *arg)
{
    (void)arg;
    if (!uv_is_closing(handle))
        uv_close(handle, NULL);
}

static void close_all(struct run *run)
{
    run->closing = true;
    if (run->shown)
        run->delay = *halo_virtual_delay(run->shown);
    halo_virtual_destroy(run->shown);
    uv_walk(&run->loop, close_handle, NULL);
}

static bool has_failed(struct run *run)
{
    pthread_mutex_lock(&run->lock);
    const bool ret = run->error.code != 0;
    pthread_mutex_unlock(&run->lock);
    return ret;
}

/* Stopped and done, or not begun: the loop ends. */
static void look(struct run *run)
{
    if (has_failed(run) && !atomic_load(&run->stop))
        ask_to_stop(run);
    if (!run->closing && atomic_load(&run->stop) && (!run->running || halo_live_done(run->live)))
        close_all(run);
}

static void start_live(struct run *run)
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

static void told(void *arg, const char *state, const char *why)
{
    struct run *run = arg;
    struct halo_error err = {0};
    if (!strcmp(state, "writing")) {
        halo_log(HALO_LOG_INFO, "%s: written again", run->settings->output);
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

/* The camera is not touched before there is somewhere to show it. */
static void looked(void *arg, bool somebody)
{
    struct run *run = arg;
    if (!run->writing && halo_virtual_is_open(run->shown)) {
        run->writing = true;
        start_live(run);
    }
    if (somebody == run->looked)
        return;
    run->looked = somebody;
    halo_live_watch(run->live, run->encoding, somebody);
    if (!somebody)
        halo_virtual_clear(run->shown);
}

static const struct halo_virtual_events virtual_events = {.told = told, .looked = looked};

static void show(struct run *run)
{
    AVPacket pkt = {.data = NULL}, card = {.data = NULL};
    pthread_mutex_lock(&run->lock);
    const bool has_picture = run->has_picture, has_card = run->has_card;
    const int64_t taken = run->taken;
    if (has_picture)
        av_packet_move_ref(&pkt, run->picture);
    if (has_card)
        av_packet_move_ref(&card, run->card);
    run->has_picture = run->has_card = false;
    pthread_mutex_unlock(&run->lock);
    if (has_card)
        halo_virtual_card(run->shown, &card);
    if (has_picture && run->looked)
        halo_virtual_put(run->shown, &pkt, taken);
    av_packet_unref(&pkt);
    av_packet_unref(&card);
}

static void on_wake(uv_async_t *async)
{
    struct run *run = async->data;
    if (run->shown && !run->closing)
        show(run);
    look(run);
}

/* A device that is silent may still write into our memory: the process ends here and now. */
static void end_if_stuck(struct run *run)
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

/* -t, from the first picture on; where none comes something is wrong. */
static void end_in_time(struct run *run)
{
    struct halo_error err = {0};
    const int64_t now = halo_now_ns(), first = atomic_load(&run->first) * 1000;
    const int64_t limit = (int64_t)(run->settings->duration * 1e9);
    if (run->settings->duration < 0 || !run->running || atomic_load(&run->stop))
        return;
    if (first && now - first >= limit)
        ask_to_stop(run);
    if (first || now - run->began < limit + FIRST_PATIENCE)
        return;
    pthread_mutex_lock(&run->lock);
    halo_fail_device(&err, "%s",
                     run->away.code ? halo_log_skip_number(run->away.text) : "no picture came");
    pthread_mutex_unlock(&run->lock);
    fail(run, &err);
}

/* Large for a stack. Loop thread only. */
static struct halo_live_stats numbers;

static void read_stats(struct run *run, struct halo_stream_stats *ret)
{
    const int64_t first = atomic_load(&run->first);
    halo_live_stats(run->live, &numbers);
    *ret = (struct halo_stream_stats){
        .frames = run->sink && run->encoding >= 0 ? numbers.encoded : numbers.filtered,
        .time = first ? (double)(numbers.moved_at / 1000 - first) / 1e6 : 0,
        .duration = run->settings->duration,
        .bytes = run->sink ? halo_live_sink_bytes(run->sink) : 0,
        .damaged = numbers.damaged,
        .running = run->running && numbers.filtered > 0,
    };
}

static void on_tick(uv_timer_t *timer)
{
    struct run *run = timer->data;
    struct halo_stream_stats stats;
    end_if_stuck(run);
    if (run->ticks++ % SHOW_TICKS == 0 && run->running) {
        read_stats(run, &stats);
        const bool unseen = run->encoding < 0 || !run->looked; /* no packet says so */
        if (unseen && numbers.moved_at && !atomic_load(&run->first))
            atomic_store(&run->first, numbers.moved_at / 1000);
        halo_progress_show(run->progress, &stats, false);
    }
    end_in_time(run);
    if (run->sink && atomic_load(&run->stop))
        halo_live_sink_wake(run->sink); /* again: it may have begun to wait since */
    look(run);
}

/* ---- beginning ---- */

static void stop(void *arg)
{
    ask_to_stop(arg);
    uv_async_send(&((struct run *)arg)->wake);
}

static void abandon(void *arg)
{
    struct run *run = arg;
    if (run->sink)
        halo_live_sink_abandon(run->sink);
}

static int start_loop(struct run *run, struct halo_error *err)
{
    int ret = uv_loop_init(&run->loop);
    run->looped = ret >= 0;
    if (ret >= 0)
        ret = uv_async_init(&run->loop, &run->wake, on_wake);
    run->wake.data = run->tick.data = run;
    run->end = (struct halo_run_end){.stop = stop, .abandon = abandon, .arg = run};
    if (ret >= 0)
        ret = halo_run_end_watch(&run->end, &run->loop);
    if (ret >= 0)
        ret = uv_timer_init(&run->loop, &run->tick);
    if (ret >= 0)
        ret = uv_timer_start(&run->tick, on_tick, TICK_MS, TICK_MS);
    return ret < 0 ? halo_fail(err, ret, "the event loop does not start: %s", uv_strerror(ret)) : 0;
}

static int prepare(struct run *run, const struct halo_chain *chain, struct halo_error *err)
{
    const struct halo_run_settings *set = run->settings;
    struct halo_encoding encoding[HALO_MOST_ENCODINGS];
    int of[HALO_MOST_OUTPUTS];
    const bool shows = halo_run_live_shows(set);
    run->picture = av_packet_alloc();
    run->card = av_packet_alloc();
    if (!run->picture || !run->card)
        return halo_fail(err, -ENOMEM, "out of memory");
    int ret = halo_run_live_check(set, chain, err);
    if (ret >= 0 && !shows)
        ret = halo_live_sink_create(&run->sink, set, &run->stop, err);
    if (ret >= 0)
        ret = halo_run_live_settings(&run->stream, set, chain,
                                     run->sink ? halo_live_sink_codec(run->sink) : NULL,
                                     run->sink && halo_live_sink_is_file(run->sink), err);
    if (ret >= 0)
        ret = halo_live_create(&run->live, &run->stream, &live_events, run, err);
    if (ret < 0)
        return ret;
    halo_encodings(&run->stream, encoding, of);
    run->encoding = of[0];
    ret = halo_progress_open(&run->progress, set->progress, err);
    if (ret >= 0)
        ret = start_loop(run, err);
    if (ret >= 0 && shows)
        return halo_virtual_create(&run->shown, &run->loop, &run->stream.output[0], &virtual_events,
                                   run, err);
    if (ret >= 0)
        start_live(run);
    return ret;
}

/* ---- the end ---- */

static void print_times(const char *name, const struct halo_histogram *h)
{
    if (h->count)
        fprintf(stderr, "  %-8s %8lld  %8.2f  %8.2f  %8.2f\n", name, (long long)h->count,
                (double)halo_histogram_percentile(h, 0.5) / 1e6,
                (double)halo_histogram_percentile(h, 0.99) / 1e6, (double)h->most / 1e6);
}

/* -stats */
static void report(struct run *run)
{
    int64_t dropped = 0;
    for (int i = 0; i < HALO_DROPS; i++)
        dropped += numbers.dropped[i];
    fprintf(stderr, "pictures: %lld of the camera, %lld filtered, %lld dropped\n",
            (long long)numbers.decoded, (long long)numbers.filtered, (long long)dropped);
    fprintf(stderr, "  %-8s %8s  %8s  %8s  %8s\n", "ms", "count", "p50", "p99", "most");
    for (int i = 0; i < HALO_LIVE_TOTAL; i++)
        print_times(halo_live_stage_names[i], &numbers.stage[i]);
    print_times("packet", &numbers.stage[HALO_LIVE_TOTAL]); /* from the camera's time on */
    print_times("written", &run->delay);
}

static void say_done(struct run *run, const struct halo_error *err)
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

static void finish(struct run *run)
{
    halo_live_destroy(run->live);
    halo_live_sink_destroy(run->sink);
    halo_progress_close(run->progress);
    halo_stream_settings_finish(&run->stream);
    av_packet_free(&run->picture);
    av_packet_free(&run->card);
    pthread_mutex_destroy(&run->lock);
    free(run);
}

/* Of a stream that is over: the file, and the status. */
static int conclude(struct run *run, struct halo_error *err)
{
    if (!err->code)
        *err = run->error; /* its threads are over */
    if (run->sink)
        halo_live_sink_finish(run->sink, err);
    if (run->running)
        say_done(run, err);
    if (run->end.by && (!err->code || err->code == -EINTR))
        return 128 + run->end.by;
    return err->code ? halo_run_end_code(err) : HALO_EXIT_OK;
}

int halo_run_live(const struct halo_run_settings *settings, const struct halo_chain *chain)
{
    struct run *run = calloc(1, sizeof *run);
    struct halo_error err = {0};
    if (!run) {
        halo_log(HALO_LOG_ERROR, "out of memory");
        return HALO_EXIT_FAILED;
    }
    run->settings = settings;
    run->encoding = -1;
    pthread_mutex_init(&run->lock, NULL);
    if (prepare(run, chain, &err) < 0 && run->looped)
        close_all(run);
    if (run->looped) {
        uv_run(&run->loop, UV_RUN_DEFAULT);
        uv_loop_close(&run->loop);
    }
    const int code = conclude(run, &err);
    if (err.code)
        halo_log(HALO_LOG_ERROR, "%s", err.text);
    const bool device = run->running && numbers.gpu >= 0;
    if (device)
        halo_run_end_limit(settings->gpu_timeout, code);
    finish(run);
    if (device)
        halo_run_end_now(code);
    return code;
}
