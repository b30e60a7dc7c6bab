/* SPDX-License-Identifier: BSD-2-Clause
 * Records where the time of a stream is spent (stats.h). */
#include "pipeline/base/stats.h"

#include <errno.h>
#include <libavutil/imgutils.h>
#include <libavutil/mem.h>
#include <string.h>

#include "config/base/thread.h"
#include "kernels/clock.h"
#include "kernels/ranges.h"
#include "pipeline/base/stats_private.h"

#define SOURCE(name, kind, ...)                                                                    \
    {                                                                                              \
        name, HALO_TRACK_SOURCE, HALO_KIND_##kind, __VA_ARGS__                                     \
    }
#define FILTER(name, kind, ...)                                                                    \
    {                                                                                              \
        name, HALO_TRACK_FILTER, HALO_KIND_##kind, __VA_ARGS__                                     \
    }
#define DEVICE(name, kind, ...)                                                                    \
    {                                                                                              \
        name, HALO_TRACK_LANES, HALO_KIND_##kind, __VA_ARGS__                                      \
    }
#define COLLECT(name, kind, ...)                                                                   \
    {                                                                                              \
        name, HALO_TRACK_COLLECT, HALO_KIND_##kind, __VA_ARGS__                                    \
    }
#define ENCODE(name, kind, ...)                                                                    \
    {                                                                                              \
        name, HALO_TRACK_ENCODE, HALO_KIND_##kind, __VA_ARGS__                                     \
    }

const struct halo_stage_row halo_stage_table[HALO_STAGES] = {
    [HALO_STAGE_OPEN_INPUT] = SOURCE("open_input", ONCE, false, NULL),
    /* Runs in its own thread, at the same time as open_input; it is drawn on the filter thread's
     * track, which is still empty. */
    [HALO_STAGE_OPEN_DEVICE] = FILTER("open_device", ONCE, false, NULL),
    [HALO_STAGE_OPEN_STREAMS] = SOURCE("open_streams", ONCE, false, NULL),
    [HALO_STAGE_OPEN_OUTPUT] = SOURCE("open_output", ONCE, false, NULL),
    [HALO_STAGE_READ] = SOURCE("read", WORK, false, "source"),
    [HALO_STAGE_DECODE] = SOURCE("decode", WORK, true, "decode"),
    [HALO_STAGE_DECODED_WAIT] = SOURCE("wait_room", WAIT, false, NULL),
    [HALO_STAGE_FACES] = {"detect", HALO_TRACK_FACES, HALO_KIND_WORK, false, "detector of faces"},
    [HALO_STAGE_PEOPLE] = {"detect", HALO_TRACK_PEOPLE, HALO_KIND_WORK, false,
                           "detector of people"},
    [HALO_STAGE_FILTER_WAIT] = FILTER("wait_decode", WAIT, false, NULL),
    [HALO_STAGE_DETECT_WAIT] = FILTER("wait_detect", WAIT, false, NULL),
    [HALO_STAGE_CONVERT] = FILTER("convert", WORK, false, "convert"),
    [HALO_STAGE_LANE_WAIT] = FILTER("wait_lane", WAIT, false, NULL),
    [HALO_STAGE_MEMORY] = FILTER("memory", WORK, false, "memory"),
    [HALO_STAGE_SUBMIT] = FILTER("submit", WORK, false, "submit"),
    [HALO_STAGE_FILTERED_WAIT] = FILTER("wait_room", WAIT, false, NULL),
    [HALO_STAGE_UPLOAD] = DEVICE("upload", WORK, false, "upload"),
    [HALO_STAGE_KERNELS] = DEVICE("kernels", WORK, false, "kernels"),
    [HALO_STAGE_DOWNLOAD] = DEVICE("download", WORK, false, "download"),
    [HALO_STAGE_COLLECT_WAIT] = COLLECT("wait_filter", WAIT, false, NULL),
    [HALO_STAGE_DEVICE_WAIT] = COLLECT("wait_device", WAIT, false, NULL),
    [HALO_STAGE_COLLECTED_WAIT] = COLLECT("wait_room", WAIT, false, NULL),
    [HALO_STAGE_ENCODE_WAIT] = ENCODE("wait_collect", WAIT, false, NULL),
    [HALO_STAGE_ENCODE] = ENCODE("encode", WORK, true, "encode"),
    [HALO_STAGE_AUDIO] = ENCODE("audio", WORK, false, "audio"),
    [HALO_STAGE_WRITE] = ENCODE("write", WORK, false, "sink"),
    [HALO_STAGE_FINISH] = SOURCE("finish", ONCE, false, NULL),
};

int halo_stats_create(struct halo_stats **ret, const struct halo_run_settings *settings,
                      struct halo_error *err)
{
    *ret = NULL;
    if (!settings->stats && !settings->stats_json && !settings->trace)
        return 0;
    struct halo_stats *s = av_mallocz(sizeof *s);
    if (!s)
        return halo_fail(err, -ENOMEM, "out of memory");
    s->settings = settings;
    s->created = halo_now_ns();
    int code = 0;
    if (settings->stats_json)
        code = halo_report_open(&s->json, "-stats_json", settings->stats_json, err);
    if (code >= 0 && settings->trace)
        code = halo_trace_create(&s->trace, settings->trace, s->created, err);
    if (code < 0) {
        halo_stats_destroy(s);
        return code;
    }
    *ret = s;
    return 0;
}

void halo_stats_destroy(struct halo_stats *s)
{
    if (!s)
        return;
    halo_report_destroy(s->json);
    halo_trace_destroy(s->trace);
    av_free(s);
}

int64_t halo_stats_begin(struct halo_stats *s, enum halo_stage stage)
{
    halo_range_begin(halo_stage_table[stage].name);
    return s ? halo_now_ns() : 0;
}

/* Adds a span. Returns the number of the frame in this stage to which it belongs. */
static int64_t record(struct halo_stage_record *r, bool by_frame, int64_t ns)
{
    halo_lock(&r->lock);
    const int64_t frame = r->times.count;
    r->busy += ns;
    if (by_frame)
        r->pending += ns;
    else
        halo_histogram_add(&r->times, ns);
    halo_unlock(&r->lock);
    return frame;
}

void halo_stats_end(struct halo_stats *s, enum halo_stage stage, int64_t begin)
{
    halo_range_end();
    if (s)
        halo_stats_span(s, stage, begin, halo_now_ns());
}

void halo_stats_span(struct halo_stats *s, enum halo_stage stage, int64_t begin, int64_t end)
{
    const struct halo_stage_row *row = &halo_stage_table[stage];
    if (!s)
        return;
    const int64_t frame = record(&s->stage[stage], row->by_frame, end - begin);
    const int track = row->thread == HALO_TRACK_LANES ? HALO_TRACK_FILTER : (int)row->thread;
    halo_trace_add(s->trace, track, &(struct halo_trace_event){row->name, begin, end, frame});
}

void halo_stats_frame(struct halo_stats *s, enum halo_stage stage)
{
    if (!s)
        return;
    struct halo_stage_record *r = &s->stage[stage];
    halo_lock(&r->lock);
    halo_histogram_add(&r->times, r->pending);
    r->pending = 0;
    halo_unlock(&r->lock);
}

static void add_copies(struct halo_copies *sum, const struct halo_copies *more)
{
    sum->count += more->count;
    sum->pageable += more->pageable;
    sum->bytes += more->bytes;
}

static void record_device(struct halo_stats *s, enum halo_stage stage, int lane,
                          struct halo_span span)
{
    struct halo_stage_record *r = &s->stage[stage];
    if (span.end <= span.begin)
        return;
    span.begin = FFMAX(span.begin, r->until);
    span.end = r->until = FFMAX(span.end, span.begin); /* planes of two lanes may alternate */
    record(r, false, span.end - span.begin);
    halo_trace_add(s->trace, HALO_TRACK_LANES + lane,
                   &(struct halo_trace_event){halo_stage_table[stage].name, span.begin, span.end,
                                              s->device_frames});
}

void halo_stats_device(struct halo_stats *s, int lane, const struct halo_frame_times *times)
{
    if (!s)
        return;
    if (times->up.count)
        record_device(s, HALO_STAGE_UPLOAD, lane, times->upload);
    record_device(s, HALO_STAGE_KERNELS, lane, times->kernels);
    if (times->down.count)
        record_device(s, HALO_STAGE_DOWNLOAD, lane, times->download);
    add_copies(&s->up, &times->up);
    add_copies(&s->down, &times->down);
    add_copies(&s->inside, &times->inside);
    s->device_frames++;
}

void halo_stats_copied(struct halo_stats *s, const AVFrame *frame)
{
    if (!s)
        return;
    const int bytes = av_image_get_buffer_size(frame->format, frame->width, frame->height, 1);
    halo_lock(&s->copied_lock);
    s->host_copies++;
    s->host_bytes += bytes > 0 ? bytes : 0;
    halo_unlock(&s->copied_lock);
}

double halo_stats_seconds(const struct halo_stats *s)
{
    return s && s->run_end ? (double)(s->run_end - s->run_begin) / 1e9 : 0;
}

void halo_stats_running(struct halo_stats *s, bool running)
{
    if (s && running)
        s->run_begin = halo_now_ns();
    else if (s)
        s->run_end = halo_now_ns();
}
