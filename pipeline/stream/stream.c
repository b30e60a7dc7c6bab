/* SPDX-License-Identifier: BSD-2-Clause
 * The life of a stream: opening, threads, the end (stage_*.c contain the work of the threads). */
#include "pipeline/stream/stream.h"

#include <errno.h>
#include <libavutil/mem.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "config/base/log.h"
#include "config/base/thread.h"
#include "kernels/clock.h"
#include "pipeline/base/av.h"
#include "pipeline/base/stats.h"
#include "pipeline/input/raw_input.h"
#include "pipeline/output/container.h"
#include "pipeline/stream/stream_private.h"
#include "pipeline/stream/workload.h"

enum {
    QUEUE_PACKETS = 512,
    MEBIBYTE = 1 << 20,
};

static void fail(struct halo_stream *s, const struct halo_error *err)
{
    halo_lock(&s->lock);
    if (!s->error.code)
        s->error = *err;
    halo_unlock(&s->lock);
    atomic_fetch_or(&s->stop, HALO_STOP_FAILED);
    halo_stages_abort(s->stages);
    if (s->to_encode) /* NULL once the stages have ended */
        halo_queue_abort(s->to_encode);
    if (s->ring)
        halo_ring_abort(s->ring);
    s->notify(s->arg); /* the loop wakes threads that are blocked in a read or a write */
}

/* A run ends with the first frame that cannot be filtered. */
static void fail_to_filter(void *arg, int code, struct halo_error *err)
{
    halo_fail(err, code, "the filter stage failed: %s", strerror(-code));
    fail(arg, err);
}

static int lose_frame(void *arg, int code, struct halo_error *err)
{
    fail_to_filter(arg, code, err);
    return -ECANCELED;
}

int halo_stream_create(struct halo_stream **ret, const struct halo_run_settings *settings,
                       const struct halo_chain *chain, void (*notify)(void *arg), void *arg,
                       struct halo_error *err)
{
    struct halo_stream *s = av_mallocz(sizeof *s);
    if (!s)
        return halo_fail(err, -ENOMEM, "out of memory");
    s->fail = fail;
    s->ends = &halo_ends_whole;
    s->settings = settings;
    s->limits.stop = &s->stop;
    s->damage.keep_going = settings->keep_going;
    s->chain = chain;
    s->notify = notify;
    s->arg = arg;
    atomic_store(&s->duration_us, -1);
    s->stages = halo_stages_create();
    s->to_encode = halo_queue_create(HALO_QUEUE_FRAMES, QUEUE_PACKETS);
    int code = 0;
    s->detect_settings = (struct halo_detect_settings){.stream = settings->source.input,
                                                       .detector = settings->detector,
                                                       .calls = &s->detect_calls};
    if (!s->stages || !s->to_encode || halo_graphs_create(&s->graphs) < 0 ||
        halo_detect_create(&s->detect, &s->detect_settings) < 0)
        code = halo_fail(err, -ENOMEM, "out of memory");
    if (code >= 0)
        code = halo_raw_input_check(&settings->source, err);
    if (code >= 0)
        code = halo_sink_create(&s->sink, settings, &s->stop, err);
    if (code >= 0 && !halo_sink_discards(s->sink) &&
        !halo_container_encoder(halo_sink_format(s->sink)->oformat, settings, err))
        code = -EINVAL;
    if (code >= 0 && halo_audio_is_coded(settings) && !halo_audio_find(settings->audio_codec, err))
        code = -EINVAL;
    if (code >= 0)
        code = halo_stats_create(&s->stats, settings, err);
    s->detect_settings.stats = s->stats;
    if (code < 0) {
        halo_stream_destroy(s);
        return code;
    }
    s->stages->set = (struct halo_stages_settings){.detect = s->detect,
                                                   .graphs = s->graphs,
                                                   .stats = s->stats,
                                                   .to_encode = s->to_encode,
                                                   .lose = lose_frame,
                                                   .fail = fail_to_filter,
                                                   .arg = s};
    *ret = s;
    return 0;
}

/* For progress: the number of frames that the container declares, otherwise length times rate. */
static void expect_total(struct halo_stream *s)
{
    const double length = halo_source_duration(s->source);
    const bool cut = s->settings->part.seek > 0 || s->settings->part.duration >= 0;
    if (length > 0)
        atomic_store(&s->duration_us, (long long)(length * 1e6));
    for (int i = 0; i < s->tracks.count; i++) {
        const struct halo_track *t = &s->tracks.track[i];
        if (t->role < HALO_ROLE_FILTER)
            continue;
        if (t->in->nb_frames > 0 && !cut)
            atomic_fetch_add(&s->total, t->in->nb_frames);
        else if (length > 0 && t->in->avg_frame_rate.num > 0)
            atomic_fetch_add(&s->total, (long long)(length * av_q2d(t->in->avg_frame_rate) + 0.5));
    }
}

/* A thread of its own creates the ring, so that the driver starts while the input is probed. */
struct ring_start {
    struct halo_stream *stream;
    struct halo_error err;
    struct halo_thread thread;
    bool begun, in_background;
    bool cpu_first; /* until the GPU has started */
    int ret;
};

static void *ring_main(void *arg)
{
    struct ring_start *start = arg;
    struct halo_stream *s = start->stream;
    struct halo_ring_settings ring = halo_ring_settings_of(&s->settings->device);
    ring.locked = (int64_t)s->settings->pinned_memory * MEBIBYTE;
    ring.stats = s->stats;
    ring.in_background = start->cpu_first;
    if (s->place == HALO_WORKLOAD_CPU)
        ring.backend = "cpu";
    const int64_t begin = halo_stats_begin(s->stats, HALO_STAGE_OPEN_DEVICE);
    atomic_store(&s->opening, halo_now_ns());
    start->ret = halo_ring_create(&s->ring, &ring, &start->err);
    atomic_store(&s->opening, 0);
    halo_stats_end(s->stats, HALO_STAGE_OPEN_DEVICE, begin);
    return NULL;
}

static void begin_ring(struct ring_start *start)
{
    start->begun = true;
    start->in_background = halo_thread_start(&start->thread, "ring", ring_main, start, NULL) == 0;
}

static int end_ring(struct ring_start *start, struct halo_error *err)
{
    if (!start->begun)
        return 0; /* the input could not be opened */
    if (start->in_background)
        halo_thread_join(start->thread);
    else
        ring_main(start);
    if (start->ret < 0 && !err->code)
        *err = start->err;
    return start->ret;
}

/* Whether the settings leave it open where frames are filtered, and there may be a GPU. */
static bool is_open_choice(const struct halo_run_settings *set)
{
    const char *codec = set->video_codec;
    return set->device.backend == HALO_RUN_AUTO && set->device.hwaccel == HALO_HWACCEL_AUTO &&
           set->device.gpu < 0 && !(codec && strstr(codec, "nvenc")) && halo_backend_find("cuda") &&
           access("/dev/nvidiactl", F_OK) == 0;
}

/* Whether frames are filtered on the CPU first, and on a GPU when it has started. That pays only
 * if the CPU decodes in any case: while it decodes a group of frames in place of a GPU, the GPU
 * could start and decode several. Trials measure one of both, and segments are short. */
static bool begins_on_cpu(const struct halo_stream *s, const AVFormatContext *input)
{
    if (s->trial || s->ends->in_segments ||
        (s->place != HALO_WORKLOAD_FILTER && halo_workload_gpu_decodes(input)))
        return false;
    for (int i = 0; i < s->chain->count; i++) {
        const char *strategy = s->chain->filter[i].common.strategy;
        if (strategy && strcmp(strategy, "auto") != 0)
            return false;
    }
    return true;
}

/* A run that ends before a GPU has started does not use it. */
static void choose_ring(void *arg, const AVFormatContext *input)
{
    static const char *const names[] = {"filtering on the GPU",
                                        "decoding on the CPU, filtering on the GPU",
                                        "decoding and filtering on the CPU"};
    struct ring_start *ring = arg;
    struct halo_stream *s = ring->stream;
    const struct halo_run_settings *set = s->settings;
    struct halo_workload w = {.encodes = strcmp(set->output, "null:") != 0,
                              .processors = (int)sysconf(_SC_NPROCESSORS_ONLN)};
    if (halo_workload_of(&w, input, &set->part, s->chain)) {
        s->place = halo_workload_choose(&w, s->estimates);
        for (int i = 0; i < HALO_WORKLOAD_PLACES; i++)
            halo_log(HALO_LOG_DEBUG, "%s: about %.2g s%s", names[i], s->estimates[i],
                     i == (int)s->place ? ": chosen" : "");
    }
    ring->cpu_first = s->place != HALO_WORKLOAD_CPU && begins_on_cpu(s, input);
    begin_ring(ring);
}

static int open_input_and_ring(struct halo_stream *s, struct halo_error *err)
{
    struct ring_start ring = {.stream = s};
    if (is_open_choice(s->settings))
        s->limits.header = (struct halo_source_header){choose_ring, &ring};
    else
        begin_ring(&ring);
    const int64_t begin = halo_stats_begin(s->stats, HALO_STAGE_OPEN_INPUT);
    const int code = halo_source_open(&s->source, &s->settings->source, &s->settings->part,
                                      &s->damage, &s->limits, err);
    s->limits.header = (struct halo_source_header){NULL, NULL};
    halo_stats_end(s->stats, HALO_STAGE_OPEN_INPUT, begin);
    const int ring_ret = end_ring(&ring, err);
    return code < 0 ? code : ring_ret;
}

static int open_tracks(struct halo_stream *s, struct halo_error *err)
{
    struct halo_graph *graph = av_mallocz(sizeof *graph);
    if (!graph)
        return halo_fail(err, -ENOMEM, "out of memory");
    halo_graphs_want(s->graphs, graph);
    if (!s->ends->joins)
        halo_chain_add_needs(s->chain, &graph->needs);
    const struct halo_route route = {.settings = s->settings,
                                     .source = s->source,
                                     .damage = &s->damage,
                                     .chain = s->chain,
                                     .ring = s->ring,
                                     .graph = graph,
                                     .sink = s->sink,
                                     .ends = s->ends,
                                     .cpu_decodes = s->place == HALO_WORKLOAD_FILTER,
                                     .frozen = s->segment.frozen};
    int code = halo_tracks_open(&s->tracks, &route, err);
    halo_graphs_make(s->graphs, 0, 0, false);
    if (code >= 0)
        expect_total(s);
    return code < 0 || !s->ends->begin ? code : s->ends->begin(s, err);
}

/* Begins to start detectors, which takes them a second or so. */
static int start_detectors(struct halo_stream *s, struct halo_error *err)
{
    struct halo_chain_needs needs;
    halo_graphs_needs(s->graphs, &needs);
    for (int i = 0; i < s->tracks.count; i++) {
        const struct halo_track *t = &s->tracks.track[i];
        if (t->role != HALO_ROLE_FILTER)
            continue;
        s->detect_settings.time_base = t->in->time_base;
        const AVRational rate = t->in->avg_frame_rate;
        s->detect_settings.rate = rate.num > 0 && rate.den > 0 ? av_q2d(rate) : 0;
    }
    return halo_detect_need(s->detect, &needs) < 0 ? halo_fail(err, -ENOMEM, "out of memory") : 0;
}

static int start_output(struct halo_stream *s, struct halo_error *err)
{
    return s->ends->start ? s->ends->start(s, err) : 0;
}

static int open_parts(struct halo_stream *s, struct halo_error *err)
{
    static const struct {
        enum halo_stage stage;
        int (*open)(struct halo_stream *s, struct halo_error *err);
    } parts[] = {
        {HALO_STAGE_OPEN_STREAMS, open_tracks},
        {HALO_STAGE_OPEN_STREAMS, start_detectors},
        {HALO_STAGE_OPEN_OUTPUT, start_output},
    };
    int code = open_input_and_ring(s, err);
    for (size_t i = 0; i < sizeof parts / sizeof *parts && code >= 0; i++) {
        const int64_t begin = halo_stats_begin(s->stats, parts[i].stage);
        code = parts[i].open(s, err);
        halo_stats_end(s->stats, parts[i].stage, begin);
    }
    return code;
}

static int open_all(struct halo_stream *s, struct halo_error *err)
{
    halo_log_hush(s->ends->alone);
    const int code = open_parts(s, err);
    halo_log_hush(false);
    return code;
}

/* Runs the stages; the source stage runs on this thread. */
static void run_stages(struct halo_stream *s)
{
    struct halo_error err = {0};
    halo_stats_running(s->stats, true); /* before any stage records a span of the run */
    int code = halo_thread_start(&s->encode_thread, "encode", halo_stream_encode_main, s, &err);
    const bool encodes = code >= 0;
    if (code >= 0)
        code = halo_stages_start(s->stages, &err);
    atomic_store(&s->running, code >= 0);
    if (code >= 0)
        code = halo_stream_demux(s, &err);
    if (code < 0 && code != -ECANCELED)
        halo_fail(&err, code, "the source stage failed: %s", strerror(-code));
    if (code < 0)
        fail(s, &err); /* a stage that was cancelled has no error of its own */
    halo_stages_end(s->stages);
    if (encodes)
        halo_thread_join(s->encode_thread);
    halo_stats_running(s->stats, false);
}

static void *source_main(void *arg)
{
    struct halo_stream *s = arg;
    struct halo_error err = {0};
    if (open_all(s, &err) >= 0) {
        if (!s->only_opens)
            run_stages(s);
    } else if (!(atomic_load(&s->stop) &
                 HALO_STOP_ASKED)) { /* an error caused by a stop is not the input's fault */
        fail(s, &err);
    }
    halo_stages_close(s->stages);
    halo_queue_destroy(s->to_encode);
    s->to_encode = NULL;
    atomic_store(&s->running, false);
    if (!s->error.code && s->ends->finish(s, &err) < 0)
        fail(s, &err);
    atomic_store(&s->done, true);
    s->notify(s->arg);
    return NULL;
}

int halo_stream_start(struct halo_stream *s, struct halo_error *err)
{
    const int code = halo_thread_start(&s->source_thread, "source", source_main, s, err);
    s->started = code >= 0;
    return code;
}

void halo_stream_set_detectors(struct halo_stream *s, const struct halo_detect_calls *calls,
                               void *arg)
{
    s->detect_calls = *calls;
    s->detect_settings.arg = arg;
}

void halo_stream_connect(struct halo_stream *s, enum halo_find find, int fd, const char *why)
{
    halo_detect_connect(s->detect, find, fd, why);
}

void halo_stream_stop(struct halo_stream *s)
{
    atomic_fetch_or(&s->stop, HALO_STOP_ASKED);
    halo_stream_wake(s);
}

void halo_stream_wake(struct halo_stream *s)
{
    if (!atomic_load(&s->stop))
        return;
    if (s->started && !atomic_load(&s->done))
        halo_thread_wake(s->source_thread);
    halo_sink_wake(s->sink);
}

void halo_stream_abandon(struct halo_stream *s)
{
    halo_sink_abandon(s->sink);
}

bool halo_stream_has_device(const struct halo_stream *s)
{
    return s && s->ring && halo_ring_ops(s->ring)->submit;
}

/* While `running` is set, the ring exists. */
bool halo_stream_is_stuck(struct halo_stream *s, struct halo_error *err)
{
    struct halo_ring *ring = atomic_load(&s->running) ? s->ring : NULL;
    return halo_ring_watch_is_stuck(&s->watch, ring, atomic_load(&s->opening),
                                    s->settings->device.gpu_timeout, err);
}

bool halo_stream_done(const struct halo_stream *s)
{
    return atomic_load(&s->done);
}

/* Frames that were encoded; or judged, if that is all. */
static int64_t count_frames(const struct halo_stream *s)
{
    struct halo_detect_stats ignored[HALO_FINDS];
    struct halo_detect_counts counts;
    if (atomic_load(&s->segment.stored))
        return 0;
    if (!s->segment.segments || !halo_segments_detects(s->segment.segments))
        return atomic_load(&s->frames);
    halo_detect_stats(s->detect, ignored, &counts);
    return counts.judged + counts.hidden;
}

void halo_stream_stats(const struct halo_stream *s, struct halo_stream_stats *ret)
{
    *ret = (struct halo_stream_stats){
        .frames = count_frames(s),
        .total = atomic_load(&s->total),
        .time = atomic_load(&s->time_us) / 1e6,
        .duration = atomic_load(&s->duration_us) / 1e6,
        .bytes = halo_sink_bytes(s->sink),
        .damaged = atomic_load(&s->damage.places),
        .running = atomic_load(&s->running),
    };
}

void halo_stream_join(struct halo_stream *s, struct halo_stream_result *ret)
{
    if (s->started)
        halo_thread_join(s->source_thread);
    s->started = false;
    *ret = (struct halo_stream_result){
        .error = s->error, .path = s->path, .interrupted = atomic_load(&s->stop) & HALO_STOP_ASKED};
}

double halo_stream_rate(const struct halo_stream *s)
{
    const double seconds = halo_stats_seconds(s->stats);
    return seconds > 0 ? (double)atomic_load(&s->frames) / seconds : 0;
}

void halo_stream_set_trial(struct halo_stream *s)
{
    s->trial = true;
}

void halo_stream_set_check(struct halo_stream *s)
{
    s->only_opens = true;
}

void halo_stream_report(const struct halo_stream *s, FILE *to)
{
    char where[40];
    if (s->ring)
        halo_ring_where(s->ring, where, sizeof where);
    const struct halo_stats_about about = {
        .backend = s->ring ? where : NULL,
        .depth = s->ring ? halo_ring_depth(s->ring) : 0,
        .frames = atomic_load(&s->frames),
        .bytes = halo_sink_bytes(s->sink),
    };
    if (s->settings->stats)
        halo_stream_describe(s, to);
    halo_stats_report(s->stats, &about, to);
}

void halo_stream_destroy(struct halo_stream *s)
{
    if (!s)
        return;
    if (s->started) {
        halo_stream_stop(s);
        halo_thread_join(s->source_thread);
    }
    halo_stages_destroy(s->stages);
    halo_queue_destroy(s->to_encode);
    halo_held_clear(&s->held);
    halo_segment_ends_close(&s->segment);
    halo_tracks_close(&s->tracks);
    halo_graphs_destroy(s->graphs);
    halo_source_close(s->source);
    halo_sink_destroy(s->sink);
    halo_detect_destroy(s->detect);
    halo_ring_destroy(s->ring);
    halo_stats_destroy(s->stats);
    av_free(s);
}
