/* SPDX-License-Identifier: BSD-2-Clause
 * halod run -segments (run_segments.h). */
#include "daemon/cli/run/run_segments.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "config/base/log.h"
#include "config/base/thread.h"
#include "daemon/cli/run/progress.h"
#include "daemon/cli/run/run_detectors.h"
#include "daemon/cli/run/run_end.h"
#include "daemon/cli/run/run_loop.h"
#include "pipeline/base/av.h"
#include "pipeline/gate/frozen.h"
#include "pipeline/frame/memory.h"
#include "pipeline/stream/stream.h"

enum {
    TICK_MS = 500,
    MAX_WORKERS = 256,
    WORKER_FRAMES = 120, /* frames in memory for each worker: most are in the encoder */
    PIXEL_BYTES = 3,
    JOB_END_MS = 600, /* for the streams to end after a signal */
};
static const double job_limit = 0.9; /* seconds, if the loop hangs */

/* Owned by the loop thread, unless a comment says otherwise. */
struct run {
    const struct halo_run_settings *settings;
    const struct halo_chain *chain;
    struct halo_run_settings encode, join; /* share the strings of *settings */
    struct halo_segments *segments;
    struct halo_stream *worker[MAX_WORKERS]; /* NULL: idle */
    int workers;                             /* 0: not chosen yet */
    struct halo_stream *joining;
    struct halo_stream_result result; /* of `joining`, when it has ended */
    bool joins;                       /* `joining` was started and has not ended */
    bool closing, device;
    bool in_job, only_encodes;            /* part of a job */
    struct halo_run_detectors *detectors; /* NULL: the segments are encoded */
    struct halo_progress *progress;       /* NULL: not shown */
    struct halo_run_loop loop;
    struct halo_run_end end;
    struct halo_error error; /* the first error of a worker or of the reader */
    struct halo_thread reader;
    bool reads;                     /* the thread was started and not joined */
    atomic_bool listed;             /* the thread has ended */
    struct halo_error reader_error; /* the thread's, until then */
};

static void wake_loop(void *arg)
{
    struct run *run = arg;
    uv_async_send(&run->loop.wake);
}

/* ---- segments ---- */

/* Nothing is encoded: detectors look at the frames, or values of objects are taken from them. */
static bool only_looks(const struct halo_segments *segments)
{
    const struct halo_frozen *frozen = halo_segments_frozen(segments);
    return halo_segments_detects(segments) || (frozen && frozen->mode == HALO_FROZEN_TAKE);
}

/* All encoders of x265 in a process fill the same tables of costs, and read what is not filled yet:
 * with several, the bytes depend on when each begins. One uses all processors by itself. */
static bool encodes_alone(const struct halo_run_settings *settings)
{
    struct halo_error ignored = {0};
    const char *name = settings->video_codec;
    const AVCodec *codec =
        name ? halo_av_find_encoder("-c:v", name, AVMEDIA_TYPE_VIDEO, &ignored) : NULL;
    if (!codec || strcmp(codec->name, "libx265") != 0)
        return false;
    if (settings->workers > 1)
        halo_log(HALO_LOG_INFO, "-workers %d: with libx265, one segment is encoded at a time",
                 settings->workers);
    return true;
}

/* The software encoder keeps frames, so memory limits the number of workers, too. */
static int choose_workers(const struct run *run)
{
    struct halo_segments_count count;
    if (only_looks(run->segments) || halo_segments_frozen(run->segments)) /* one thread at a time */
        return 1;
    if (encodes_alone(run->settings))
        return 1;
    if (run->settings->workers)
        return run->settings->workers;
    if (run->in_job)
        return 1;
    halo_segments_count(run->segments, &count);
    const int processors = (int)sysconf(_SC_NPROCESSORS_ONLN);
    const int64_t each = count.pixels * PIXEL_BYTES * WORKER_FRAMES;
    const int64_t fit = halo_memory_of_machine() / 2 / (each > 0 ? each : 1);
    int most = processors / 2 > 2 ? processors / 2 : 2;
    most = fit < most ? (int)fit : most;
    return most < 1 ? 1 : most > MAX_WORKERS ? MAX_WORKERS : most;
}

/* The workers share the processors and the memory that may be page-locked. */
static void share(struct run *run)
{
    const int processors = (int)sysconf(_SC_NPROCESSORS_ONLN);
    struct halo_run_settings *p = &run->encode;
    p->workers = run->workers;
    if (!p->device.threads)
        p->device.threads = processors / run->workers > 1 ? processors / run->workers : 1;
    if (p->pinned_memory > 0)
        p->pinned_memory =
            p->pinned_memory / run->workers > 0 ? p->pinned_memory / run->workers : 1;
}

static void stop_segments(struct run *run, enum halo_segments_end end)
{
    halo_segments_stop(run->segments, end);
    for (int i = 0; i < run->workers; i++)
        if (run->worker[i])
            halo_stream_stop(run->worker[i]);
}

static void fail(struct run *run, const struct halo_error *err)
{
    if (!run->error.code)
        run->error = *err;
    stop_segments(run, HALO_SEGMENTS_FAIL);
}

static int start_stream(struct run *run, struct halo_stream **ret,
                        const struct halo_run_settings *settings,
                        const struct halo_segment *segment, struct halo_error *err)
{
    int code = halo_stream_create(ret, settings, run->chain, wake_loop, run, err);
    if (code < 0)
        return code;
    halo_stream_set_segment(*ret, run->segments, segment);
    if (run->detectors)
        halo_stream_set_detectors(*ret, &halo_run_detector_calls, run->detectors);
    code = halo_stream_start(*ret, err);
    if (code < 0) {
        halo_stream_destroy(*ret);
        *ret = NULL;
    }
    return code;
}

static void end_worker(struct run *run, struct halo_stream **worker)
{
    struct halo_stream_result result;
    halo_stream_join(*worker, &result);
    run->device |= halo_stream_has_device(*worker);
    if (result.error.code)
        fail(run, &result.error);
    halo_stream_destroy(*worker);
    *worker = NULL;
    if (run->detectors)
        halo_run_detectors_leave(run->detectors);
}

static void connect_worker(void *arg, enum halo_find find, int fd, const char *why)
{
    struct run *run = arg;
    if (run->worker[0])
        halo_stream_connect(run->worker[0], find, fd, why);
    else if (fd >= 0)
        close(fd);
}

static void start_workers(struct run *run)
{
    struct halo_error err = {0};
    struct halo_segment segment;
    for (int i = 0; i < MAX_WORKERS && !run->error.code && !run->end.by; i++) {
        if ((run->workers && i >= run->workers) || run->worker[i])
            continue;
        if (!halo_segments_take(run->segments, &segment))
            break;
        if (!run->workers) {
            run->workers = choose_workers(run);
            share(run);
        }
        if (start_stream(run, &run->worker[i], &run->encode, &segment, &err) < 0)
            fail(run, &err);
    }
}

static void *read_input(void *arg)
{
    struct run *run = arg;
    halo_segments_read_input(run->segments, &run->reader_error);
    atomic_store(&run->listed, true);
    wake_loop(run);
    return NULL;
}

/* ---- the loop ---- */

static bool is_busy(const struct run *run)
{
    for (int i = 0; i < run->workers; i++)
        if (run->worker[i])
            return true;
    return run->reads || run->joins;
}

static void update(struct run *run)
{
    if (run->reads && atomic_load(&run->listed)) {
        halo_thread_join(run->reader);
        run->reads = false;
        if (run->reader_error.code)
            fail(run, &run->reader_error);
    }
    for (int i = 0; i < run->workers; i++)
        if (run->worker[i] && halo_stream_done(run->worker[i]))
            end_worker(run, &run->worker[i]);
    if (run->joins && halo_stream_done(run->joining)) {
        halo_stream_join(run->joining, &run->result);
        run->joins = false;
        if (run->result.error.code)
            fail(run, &run->result.error);
    }
    start_workers(run);
    if (!run->closing && !is_busy(run)) {
        run->closing = true;
        halo_run_detectors_close(run->detectors);
        halo_run_loop_close_handles(&run->loop);
    }
}

static void wake_streams(struct run *run)
{
    for (int i = 0; i < run->workers; i++)
        if (run->worker[i])
            halo_stream_wake(run->worker[i]);
    if (run->joins)
        halo_stream_wake(run->joining);
}

static void on_wake(uv_async_t *async)
{
    struct run *run = async->data;
    wake_streams(run);
    update(run);
}

static void abandon(void *arg)
{
    struct run *run = arg;
    if (run->joining)
        halo_stream_abandon(run->joining);
    if (run->in_job)
        halo_segments_give_up(run->segments);
    if (!run->settings->resume && !run->in_job)
        halo_segments_abandon(run->segments);
}

static void end_if_stuck(struct run *run)
{
    struct halo_error err = {0};
    bool stuck = false;
    for (int i = 0; i < run->workers && !stuck; i++)
        stuck = run->worker[i] && halo_stream_is_stuck(run->worker[i], &err);
    if (!stuck)
        return;
    halo_log_set_status(NULL);
    halo_log(HALO_LOG_ERROR, "%s", err.text);
    abandon(run);
    _exit(HALO_EXIT_TRY_AGAIN);
}

/* Frames are counted when they are encoded, not when they are joined. */
static void collect_stats(const struct run *run, struct halo_stream_stats *ret)
{
    struct halo_segments_count count;
    struct halo_stream_stats one;
    *ret = (struct halo_stream_stats){.duration = -1};
    if (run->joining)
        halo_stream_stats(run->joining, ret);
    halo_segments_count(run->segments, &count);
    ret->frames = count.frames; /* first: a part that is completed meanwhile is not counted twice */
    for (int i = 0; i < run->workers; i++) {
        if (!run->worker[i])
            continue;
        halo_stream_stats(run->worker[i], &one);
        ret->frames += one.frames;
        ret->running |= one.running;
    }
    if (ret->total > 0 && ret->duration > 0)
        ret->time = ret->duration * (double)ret->frames / (double)ret->total;
}

static void on_tick(uv_timer_t *timer)
{
    struct run *run = timer->data;
    struct halo_stream_stats stats;
    end_if_stuck(run);
    collect_stats(run, &stats);
    halo_progress_show(run->progress, &stats, false);
    wake_streams(run);
    update(run);
}

/* An encoder that returns its last frames may take long. */
static void on_job_end(uv_timer_t *timer)
{
    struct run *run = timer->data;
    abandon(run);
    _exit(128 + run->end.by);
}

/* Without -resume, the output is completed with the segments that are done. */
static void stop(void *arg)
{
    struct run *run = arg;
    const bool keep = run->settings->resume || run->in_job;
    if (run->in_job && run->joins) /* nothing is lost: the parts are kept */
        on_job_end(&run->loop.tick);
    if (run->in_job) {
        halo_run_end_limit(job_limit, 128 + run->end.by);
        uv_timer_start(&run->loop.tick, on_job_end, JOB_END_MS, 0);
    }
    stop_segments(run, keep ? HALO_SEGMENTS_FAIL : HALO_SEGMENTS_SHORT);
    if (!keep && run->joins)
        halo_stream_stop(run->joining);
    wake_loop(run);
}

static int start(struct run *run, struct halo_error *err)
{
    const struct halo_run_loop_calls calls = {on_wake, on_tick, TICK_MS, run};
    int code = halo_run_loop_open(&run->loop, &calls, &run->end, err);
    if (code < 0)
        return code;
    if (halo_segments_detects(run->segments))
        code =
            halo_run_detectors_create(&run->detectors, &run->loop.loop, connect_worker, run, err);
    if (code >= 0 && !run->only_encodes) {
        code = start_stream(run, &run->joining, &run->join, NULL, err);
        run->joins = code >= 0;
    }
    if (run->in_job)
        wake_loop(run);
    else if (code >= 0)
        code = halo_thread_start(&run->reader, "reader", read_input, run, err);
    run->reads = code >= 0 && !run->in_job;
    return code;
}

/* ---- the run ---- */

/* The output has its name, although a signal may have come when it was nearly done. */
static bool is_complete(const struct run *run)
{
    return run->result.path && !run->result.interrupted && !run->error.code;
}

static void say_kept(const struct run *run)
{
    struct halo_segments_count count;
    halo_segments_count(run->segments, &count);
    if (count.done > 0)
        halo_log(HALO_LOG_INFO, "%s: %d segment%s finished: run the same command again to continue",
                 halo_segments_folder(run->segments), count.done,
                 count.done == 1 ? " is" : "s are");
}

static void say_done(struct run *run)
{
    char bytes[24];
    struct halo_segments_count count;
    struct halo_stream_stats stats, joined;
    collect_stats(run, &stats);
    halo_progress_show(run->progress, &stats, true);
    if (!is_complete(run) && run->settings->resume)
        say_kept(run);
    else if (run->end.by && !run->error.code && !run->result.path)
        halo_log(HALO_LOG_INFO, "interrupted: no segment is finished");
    if (run->error.code || !run->result.path)
        return;
    halo_segments_count(run->segments, &count);
    halo_stream_stats(run->joining, &joined);
    const char *name = is_complete(run) ? run->settings->output : run->result.path;
    halo_log(HALO_LOG_INFO, "%s: %lld frame%s at %.1f fps in %d segment%s, %s%s", name,
             (long long)joined.frames, joined.frames == 1 ? "" : "s",
             halo_progress_rate(run->progress, &stats), count.done, count.done == 1 ? "" : "s",
             halo_progress_size(stats.bytes, bytes, sizeof bytes),
             is_complete(run) ? "" : ", until interrupted");
}

/* Filters that remember what earlier frames showed. */
static int run_segments_refuse(const struct halo_chain *chain, struct halo_error *err)
{
    struct halo_chain_needs needs = {0};
    halo_chain_add_needs(chain, &needs);
    if (halo_chain_has_cells(chain))
        return halo_fail_usage(
            err, "-segments cannot be used with the cells of hide, because an object has the cells "
                 "of the frame in which it appears, and each segment would use other ones");
    return needs.hidden || needs.shown
               ? halo_fail_usage(err,
                                 "-segments cannot be used with region=faces, people or "
                                 "background, because detections are followed from frame to frame")
               : 0;
}

static int run_loop(struct run *run, struct halo_error *err)
{
    const int code = start(run, err);
    if (!run->loop.open)
        return code;
    if (code < 0) {
        fail(run, err);
        update(run);
    }
    halo_run_loop_run(&run->loop);
    if (run->error.code)
        *err = run->error;
    if (!run->in_job)
        say_done(run);
    return err->code;
}

static int perform(struct run *run, struct halo_error *err)
{
    int code = run_segments_refuse(run->chain, err);
    if (code >= 0)
        code = halo_progress_open(&run->progress, run->settings->progress, err);
    if (code >= 0)
        code = halo_segments_open(&run->segments, run->settings, run->chain, err);
    if (code < 0)
        return halo_run_end_code(err);
    if (code > 0) {
        halo_log(HALO_LOG_INFO, "%s: is already complete", run->settings->output);
        return HALO_EXIT_OK;
    }
    halo_segments_listen(run->segments, wake_loop, run);
    code = run_loop(run, err);
    const bool complete = is_complete(run);
    const bool interrupted =
        !complete && run->end.by && (code == 0 || code == -ECANCELED || code == -EINTR);
    if (interrupted || complete)
        err->code = 0;
    halo_stream_destroy(run->joining);
    halo_segments_close(run->segments, complete || !run->settings->resume);
    run->segments = NULL;
    return interrupted ? 128 + run->end.by : err->code ? halo_run_end_code(err) : HALO_EXIT_OK;
}

static struct run *create(const struct halo_run_settings *settings, const struct halo_chain *chain)
{
    struct run *run = calloc(1, sizeof *run);
    if (!run)
        return NULL;
    run->settings = settings;
    run->chain = chain;
    run->encode = run->join = *settings;
    run->encode.decoders = run->join.decoders = 1;
    run->join.device.backend = HALO_RUN_CPU;
    run->join.device.hwaccel = HALO_HWACCEL_NONE;
    run->join.device.threads = 1;
    run->end = (struct halo_run_end){.stop = stop, .abandon = abandon, .arg = run};
    return run;
}

void halo_run_part(const struct halo_run_settings *settings, const struct halo_chain *chain,
                   struct halo_segments *segments, bool joins, struct halo_run_part_end *ret)
{
    struct halo_segments_count before, after;
    struct run *run = create(settings, chain);
    *ret = (struct halo_run_part_end){.error = {0}};
    if (!run) {
        halo_fail(&ret->error, -ENOMEM, "out of memory");
        return;
    }
    run->segments = segments;
    run->in_job = true;
    if (only_looks(segments)) /* it filters few frames, or none */
        run->encode.device = run->join.device;
    run->only_encodes = !joins;
    run->end.what = "discarding unfinished segments";
    halo_segments_count(segments, &before);
    if (halo_progress_open(&run->progress, settings->progress, &ret->error) >= 0) {
        halo_segments_listen(segments, wake_loop, run);
        run_loop(run, &ret->error);
    }
    halo_segments_count(segments, &after);
    ret->frames = after.frames - before.frames;
    ret->signal = run->end.by;
    ret->device = run->device;
    halo_stream_destroy(run->joining);
    halo_run_detectors_destroy(run->detectors);
    halo_progress_close(run->progress);
    free(run);
}

int halo_run_segments(const struct halo_run_settings *settings, const struct halo_chain *chain)
{
    struct halo_error err = {0};
    struct run *run = create(settings, chain);
    if (!run) {
        halo_log(HALO_LOG_ERROR, "out of memory");
        return HALO_EXIT_FAILED;
    }
    const int code = perform(run, &err);
    if (err.code)
        halo_log(HALO_LOG_ERROR, "%s", err.text);
    halo_progress_close(run->progress);
    const bool device = run->device;
    free(run);
    if (device)
        halo_run_end_now(code);
    return code;
}
