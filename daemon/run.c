/* SPDX-License-Identifier: BSD-2-Clause
 * halod run: one stream in the foreground, on a libuv loop that has the signals and the clock. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "config/log.h"
#include "config/run.h"
#include "daemon/commands.h"
#include "daemon/progress.h"
#include "pipeline/av.h"
#include "pipeline/filter.h"
#include "pipeline/stream.h"

enum {
    TICK_MS = 500,
    ECHO_MS = 1000,
};

static const int stop_signals[] = {SIGINT, SIGTERM, SIGHUP};

/* All of it belongs to the loop thread. */
struct run {
    struct halo_run_settings settings;
    struct halo_chain *chain;
    struct halo_stream *stream;
    struct halo_progress *progress;
    uv_loop_t loop;
    uv_async_t look;
    uv_timer_t tick;
    uv_signal_t signals[sizeof stop_signals / sizeof *stop_signals];
    int stopped_by;      /* signal number, 0 while none came */
    uint64_t stopped_at; /* ns, monotonic */
};

static void close_handle(uv_handle_t *handle, void *arg)
{
    (void)arg;
    if (!uv_is_closing(handle))
        uv_close(handle, NULL);
}

static void on_look(uv_async_t *async)
{
    struct run *run = async->data;
    if (halo_stream_done(run->stream))
        uv_walk(&run->loop, close_handle, NULL);
    else
        halo_stream_wake(run->stream);
}

/* From a stream thread: the only libuv call that may come from there. */
static void wake_loop(void *arg)
{
    struct run *run = arg;
    uv_async_send(&run->look);
}

/* A device that is silent may still write into our memory, and the driver's own end would wait for
 * it: the process ends here and now. */
static void end_if_stuck(struct run *run)
{
    struct halo_error err = {0};
    if (!halo_stream_is_stuck(run->stream, &err))
        return;
    halo_log_set_status(NULL);
    halo_log(HALO_LOG_ERROR, "%s", err.text);
    halo_stream_abandon(run->stream);
    _exit(HALO_EXIT_TRY_AGAIN);
}

static void on_tick(uv_timer_t *timer)
{
    struct run *run = timer->data;
    end_if_stuck(run);
    struct halo_stream_stats stats;
    halo_stream_stats(run->stream, &stats);
    halo_progress_show(run->progress, &stats, false);
    halo_stream_wake(run->stream); /* again: it may have begun to wait since */
}

static void on_signal(uv_signal_t *handle, int number)
{
    struct run *run = handle->data;
    if (run->stopped_by) {
        /* timeout(1) signals its child and then the child's group: two signals, one wish. */
        if (uv_hrtime() - run->stopped_at < ECHO_MS * UINT64_C(1000000))
            return;
        halo_log_set_status(NULL);
        halo_stream_abandon(run->stream);
        _exit(128 + number);
    }
    run->stopped_by = number;
    run->stopped_at = uv_hrtime();
    halo_log(HALO_LOG_INFO, "%s: finishing what there is (once more ends at once)",
             number == SIGINT   ? "interrupted"
             : number == SIGHUP ? "hung up"
                                : "terminated");
    halo_stream_stop(run->stream);
}

/* nohup(1) asks that a hang-up means nothing. */
static bool is_wanted(int number)
{
    struct sigaction now;
    return number != SIGHUP || sigaction(number, NULL, &now) < 0 || now.sa_handler != SIG_IGN;
}

static int watch_signals(struct run *run)
{
    int ret = 0;
    for (size_t i = 0; i < sizeof stop_signals / sizeof *stop_signals && ret >= 0; i++) {
        if (!is_wanted(stop_signals[i]))
            continue;
        ret = uv_signal_init(&run->loop, &run->signals[i]);
        run->signals[i].data = run;
        if (ret >= 0)
            ret = uv_signal_start(&run->signals[i], on_signal, stop_signals[i]);
    }
    return ret;
}

static int start_loop(struct run *run, struct halo_error *err)
{
    int ret = uv_loop_init(&run->loop);
    if (ret >= 0)
        ret = uv_async_init(&run->loop, &run->look, on_look);
    run->look.data = run;
    if (ret >= 0)
        ret = watch_signals(run);
    if (ret >= 0)
        ret = uv_timer_init(&run->loop, &run->tick);
    run->tick.data = run;
    if (ret >= 0)
        ret = uv_timer_start(&run->tick, on_tick, TICK_MS, TICK_MS);
    return ret < 0 ? halo_fail(err, ret, "the event loop does not start: %s", uv_strerror(ret)) : 0;
}

static int exit_code(const struct halo_error *err)
{
    return err->usage ? HALO_EXIT_USAGE : err->device ? HALO_EXIT_TRY_AGAIN : HALO_EXIT_FAILED;
}

static void say_done(const struct run *run, const struct halo_stream_result *result)
{
    char bytes[24], damaged[64] = "";
    struct halo_stream_stats stats;
    halo_stream_stats(run->stream, &stats);
    halo_progress_show(run->progress, &stats, true);
    if (stats.damaged)
        snprintf(damaged, sizeof damaged, ", %lld damaged place%s in the input passed over",
                 (long long)stats.damaged, stats.damaged == 1 ? "" : "s");
    if (result->error.code)
        return;
    const char *name = !result->interrupted ? run->settings.output : result->path;
    halo_log(HALO_LOG_INFO, "%s: %lld frame%s at %.1f fps, %s%s%s", name ? name : "interrupted",
             (long long)stats.frames, stats.frames == 1 ? "" : "s",
             halo_progress_rate(run->progress, &stats),
             halo_progress_size(stats.bytes, bytes, sizeof bytes),
             result->interrupted && result->path ? ", up to the interruption" : "", damaged);
}

static int run_stream(struct run *run, struct halo_error *err)
{
    if (start_loop(run, err) < 0 || halo_stream_start(run->stream, err) < 0)
        return exit_code(err);
    uv_run(&run->loop, UV_RUN_DEFAULT);
    uv_loop_close(&run->loop);
    struct halo_stream_result result;
    halo_stream_join(run->stream, &result);
    say_done(run, &result);
    halo_stream_report(run->stream);
    if (run->stopped_by && result.error.code == -EINTR)
        halo_log(HALO_LOG_WARNING, "%s", result.error.text);
    else if (result.error.code) {
        *err = result.error;
        return exit_code(err);
    }
    return run->stopped_by ? 128 + run->stopped_by : HALO_EXIT_OK;
}

static int prepare(struct run *run, int argc, char **argv, struct halo_error *err)
{
    int ret = halo_run_parse(&run->settings, argc, argv, err);
    if (ret < 0) {
        err->usage = true;
        return ret;
    }
    halo_log_set_level(run->settings.log_level);
    halo_av_init_log();
    struct halo_error inner = {0};
    ret = halo_chain_parse(&run->chain, run->settings.filters, &inner);
    if (ret < 0)
        return halo_fail_usage(err, "-vf, %s", inner.text);
    ret = halo_stream_create(&run->stream, &run->settings, run->chain, wake_loop, run, err);
    if (ret < 0)
        return ret;
    return halo_progress_open(&run->progress, run->settings.progress, err);
}

static volatile sig_atomic_t code_when_late;

static void end_late(int number)
{
    (void)number;
    _exit(code_when_late);
}

/* To close what is on a device may take for ever, too, and nobody watches any more. */
static void limit_the_end(struct run *run, int code)
{
    halo_stream_abandon(run->stream); /* what is finished stays */
    code_when_late = code;
    signal(SIGALRM, end_late);
    alarm((unsigned)run->settings.gpu_timeout + 1);
}

/* All that is ours is finished. The driver's handlers at exit take their time, and with a lost
 * device might wait for ever: the kernel ends it as well. */
static void end_with_device(int code)
{
    fflush(NULL);
    _exit(code);
}

int halo_command_run(int argc, char **argv)
{
    for (int i = 0; i < argc; i++)
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
            halo_run_print_help();
            return halo_end_print();
        }
    struct run *run = calloc(1, sizeof *run);
    struct halo_error err = {0};
    if (!run) {
        halo_log(HALO_LOG_ERROR, "out of memory");
        return HALO_EXIT_FAILED;
    }
    int code = prepare(run, argc, argv, &err) < 0 ? exit_code(&err) : run_stream(run, &err);
    if (err.code)
        halo_log(HALO_LOG_ERROR, "%s", err.text);
    const bool device = halo_stream_has_device(run->stream);
    if (device)
        limit_the_end(run, code);
    halo_stream_destroy(run->stream);
    halo_progress_close(run->progress);
    halo_chain_destroy(run->chain);
    halo_run_finish(&run->settings);
    free(run);
    if (device)
        end_with_device(code);
    return code;
}
