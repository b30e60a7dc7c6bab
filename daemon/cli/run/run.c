/* SPDX-License-Identifier: BSD-2-Clause
 * halod run: one stream in the foreground; a libuv loop handles signals and time. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "config/base/log.h"
#include "config/run.h"
#include "config/source_kinds.h"
#include "daemon/cli/run/progress.h"
#include "daemon/cli/run/run.h"
#include "daemon/cli/run/run_confine.h"
#include "daemon/cli/run/run_detectors.h"
#include "daemon/cli/run/run_end.h"
#include "daemon/cli/run/run_live.h"
#include "daemon/cli/run/run_loop.h"
#include "daemon/cli/run/run_segments.h"
#include "daemon/engine/hide.h"
#include "kernels/backend.h"
#include "pipeline/base/av.h"
#include "pipeline/filter/filter.h"
#include "pipeline/filter/disclosure.h"
#include "pipeline/segment/cut_list.h"
#include "pipeline/stream/stream.h"

enum {
    TICK_MS = 500,
    TRIAL_TICKS = 5, /* of processing frames, for halod plan */
};

/* Owned by the loop thread. */
struct run {
    bool plans; /* halod plan */
    int ticks;  /* since frames are being processed */
    struct halo_run_settings settings;
    struct halo_chain *chain;
    struct halo_stream *stream;
    struct halo_progress *progress;
    struct halo_run_detectors *detectors;
    struct halo_run_loop loop;
    struct halo_run_end end;
};

/* ---- halod plan ---- */

/* The trial has no steady state at its beginning and end, so this is rough. */
static void print_length(const struct halo_stream_stats *stats, double rate)
{
    char clock[32];
    if (stats->total <= 0 || rate <= 0)
        return;
    printf("expected: %lld frames in about %s\n", (long long)stats->total,
           halo_av_clock((double)stats->total / rate, clock, sizeof clock));
}

/* Prints what the trial showed, after halo_stream_join(). stopped: it ended before the input. */
static void print_plan(const struct halo_stream *stream, const struct halo_run_settings *settings,
                       bool stopped)
{
    struct halo_stream_stats stats;
    halo_stream_stats(stream, &stats);
    printf("for %s, halod run would do this (measured by a trial of %s):\n", settings->source.input,
           stopped ? "its first seconds" : "all of it");
    halo_stream_report(stream, stdout);
    print_length(&stats, halo_stream_rate(stream));
    if (settings->filters)
        (void)halo_disclosure_print(settings->filters, "what is left of ", stdout, NULL);
    if (settings->segments)
        puts("-segments processes several segments at the same time; the trial processed one.");
}

struct cuts {
    int count;
    double shortest, longest, before;
};

static int count_cut(void *arg, const struct halo_segment *segment, struct halo_error *err)
{
    struct cuts *cuts = arg;
    const double length = segment->time - cuts->before;
    (void)err;
    if (cuts->count > 0) { /* the length of the one before */
        cuts->longest = length > cuts->longest ? length : cuts->longest;
        cuts->shortest = cuts->count == 1 || length < cuts->shortest ? length : cuts->shortest;
    }
    cuts->before = segment->time;
    cuts->count++;
    return 0;
}

/* Prints where -segments cuts the input. Returns the errors of halo_cut_list_read(). */
static int print_cuts(const struct halo_run_settings *settings, struct halo_error *err)
{
    const atomic_int stop = 0;
    struct halo_cut_input input;
    struct cuts cuts = {0};
    const int code = halo_cut_list_read(&input, settings, &stop, count_cut, &cuts, err);
    if (code < 0)
        return code;
    printf("%s: %d segment%s", settings->source.input, cuts.count, cuts.count == 1 ? "" : "s");
    if (cuts.count > 1)
        printf(" of %.2f to %.2f s, besides the last", cuts.shortest, cuts.longest);
    putchar('\n');
    return 0;
}

/* ---- the run ---- */

static void on_wake(uv_async_t *async)
{
    struct run *run = async->data;
    if (halo_stream_done(run->stream)) {
        halo_run_detectors_close(run->detectors);
        halo_run_loop_close_handles(&run->loop);
    } else {
        halo_stream_wake(run->stream);
    }
}

static void connect_stream(void *arg, enum halo_find find, int fd, const char *why)
{
    struct run *run = arg;
    halo_stream_connect(run->stream, find, fd, why);
}

/* Called by stream threads: uv_async_send is the only libuv call that they may make. */
static void wake_loop(void *arg)
{
    struct run *run = arg;
    uv_async_send(&run->loop.wake);
}

/* A device that is silent may still write into our memory, and the driver's own cleanup would wait
 * for it: the process ends at once. */
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
    if (!run->plans)
        halo_progress_show(run->progress, &stats, false);
    else if (stats.running && ++run->ticks == TRIAL_TICKS)
        halo_stream_stop(run->stream);
    halo_stream_wake(run->stream); /* again: the stream may have begun to wait since */
}

static void stop(void *arg)
{
    struct run *run = arg;
    halo_stream_stop(run->stream);
}

static void abandon(void *arg)
{
    struct run *run = arg;
    halo_stream_abandon(run->stream);
}

static int start_loop(struct run *run, struct halo_error *err)
{
    const struct halo_run_loop_calls calls = {on_wake, on_tick, TICK_MS, run};
    int code = halo_run_loop_open(&run->loop, &calls, &run->end, err);
    if (code >= 0)
        code =
            halo_run_detectors_create(&run->detectors, &run->loop.loop, connect_stream, run, err);
    if (code >= 0)
        halo_stream_set_detectors(run->stream, &halo_run_detector_calls, run->detectors);
    return code;
}

static void say_done(const struct run *run, const struct halo_stream_result *result)
{
    char bytes[24], damaged[64] = "";
    struct halo_stream_stats stats;
    halo_stream_stats(run->stream, &stats);
    halo_progress_show(run->progress, &stats, true);
    if (stats.damaged)
        snprintf(damaged, sizeof damaged, ", %lld damaged place%s in the input skipped",
                 (long long)stats.damaged, stats.damaged == 1 ? "" : "s");
    if (result->error.code)
        return;
    const char *name = !result->interrupted ? run->settings.output : result->path;
    halo_log(HALO_LOG_INFO, "%s: %lld frame%s at %.1f fps, %s%s%s", name ? name : "interrupted",
             (long long)stats.frames, stats.frames == 1 ? "" : "s",
             halo_progress_rate(run->progress, &stats),
             halo_progress_size(stats.bytes, bytes, sizeof bytes),
             result->interrupted && result->path ? ", until interrupted" : "", damaged);
}

static int run_stream(struct run *run, struct halo_error *err)
{
    if (start_loop(run, err) < 0 || halo_stream_start(run->stream, err) < 0)
        return halo_run_end_code(err);
    halo_run_loop_run(&run->loop);
    struct halo_stream_result result;
    halo_stream_join(run->stream, &result);
    if (run->plans && !run->end.by && !result.error.code)
        print_plan(run->stream, &run->settings, result.interrupted);
    if (!run->plans) {
        say_done(run, &result);
        halo_stream_report(run->stream, stderr);
    }
    if (run->end.by && result.error.code == -EINTR)
        halo_log(HALO_LOG_WARNING, "%s", result.error.text);
    else if (result.error.code) {
        *err = result.error;
        return halo_run_end_code(err);
    }
    return run->end.by ? 128 + run->end.by : HALO_EXIT_OK;
}

static int read_command(struct run *run, int argc, char **argv, struct halo_error *err)
{
    int code = halo_run_parse(&run->settings, argc, argv, err);
    if (code < 0) {
        err->usage = true;
        return code;
    }
    halo_log_set_level(run->settings.log_level);
    halo_av_init_log();
    struct halo_error inner = {0};
    code = halo_chain_parse(&run->chain, run->settings.filters, &inner);
    if (code >= 0)
        code = halo_chain_refuse_feed(run->chain, &inner);
    if (code >= 0 &&
        (halo_hide_memory(err) < 0 ||
         halo_run_confine(&run->settings, run->chain, run->settings.segments, err) < 0))
        return err->code;
    if (code >= 0)
        code = halo_chain_load(run->chain, &inner);
    if (code < 0)
        return halo_fail_usage(err, "-vf, %s", inner.text);
    if (run->settings.capture_format && !halo_source_row(run->settings.source.input)->captures)
        return halo_fail_usage(err, "-input_format is for cameras: %s is not a camera",
                               run->settings.source.input);
    if (run->settings.segments && halo_run_live_is(&run->settings))
        return halo_fail_usage(
            err, "-segments cannot be used with a camera, whose frames arrive one by one");
    return 0;
}

static int prepare(struct run *run, struct halo_error *err)
{
    const int code =
        halo_stream_create(&run->stream, &run->settings, run->chain, wake_loop, run, err);
    return code < 0 ? code
                    : halo_progress_open(&run->progress, run->plans ? NULL : run->settings.progress,
                                         err);
}

static int plan_command(struct run *run, int argc, char **argv, struct halo_error *err)
{
    struct halo_run_settings *set = &run->settings;
    if (read_command(run, argc, argv, err) < 0)
        return halo_run_end_code(err);
    if (halo_run_live_is(set)) {
        halo_fail_usage(
            err,
            "halod plan cannot be used with a camera (%s): measure it with halod run -stats -t 10",
            set->source.input);
        return halo_run_end_code(err);
    }
    set->stats = set->overwrite = true; /* nothing is written */
    set->never_overwrite = false;
    int code = set->segments ? print_cuts(set, err) : 0;
    if (code >= 0)
        code = prepare(run, err);
    if (code < 0)
        return halo_run_end_code(err);
    halo_stream_set_trial(run->stream);
    code = run_stream(run, err);
    return code == HALO_EXIT_OK ? halo_end_print() : code;
}

static int run_command(struct run *run, int argc, char **argv, struct halo_error *err)
{
    if (read_command(run, argc, argv, err) < 0)
        return halo_run_end_code(err);
    if (halo_run_live_is(&run->settings))
        return halo_run_live(&run->settings, run->chain);
    if (run->settings.segments)
        return halo_run_segments(&run->settings, run->chain);
    return prepare(run, err) < 0 ? halo_run_end_code(err) : run_stream(run, err);
}

static int perform(bool plans, int argc, char **argv)
{
    for (int i = 0; i < argc; i++)
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
            halo_run_print_help(plans ? "plan" : "run");
            return halo_end_print();
        }
    struct run *run = calloc(1, sizeof *run);
    struct halo_error err = {0};
    if (!run) {
        halo_log(HALO_LOG_ERROR, "out of memory");
        return HALO_EXIT_FAILED;
    }
    run->end = (struct halo_run_end){.stop = stop, .abandon = abandon, .arg = run};
    run->plans = plans;
    const int code =
        plans ? plan_command(run, argc, argv, &err) : run_command(run, argc, argv, &err);
    if (err.code)
        halo_log(HALO_LOG_ERROR, "%s", err.text);
    const bool device = halo_stream_has_device(run->stream);
    if (device) {
        halo_stream_abandon(run->stream); /* finished output is kept */
        halo_backend_leave();
        halo_run_end_limit(run->settings.device.gpu_timeout + 1, code);
    }
    halo_stream_destroy(run->stream);
    halo_run_detectors_destroy(run->detectors);
    halo_progress_close(run->progress);
    halo_chain_destroy(run->chain);
    halo_run_finish(&run->settings);
    free(run);
    if (device)
        halo_run_end_now(code);
    return code;
}

int halo_command_run(int argc, char **argv)
{
    return perform(false, argc, argv);
}

int halo_command_plan(int argc, char **argv)
{
    return perform(true, argc, argv);
}
