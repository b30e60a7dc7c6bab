/* SPDX-License-Identifier: BSD-2-Clause
 * Where the time of a stream is spent: how long each stage works and waits, when each lane of the
 * device copies and computes, and how much is copied.
 *
 * Stages record spans of time; the device's spans are delivered with each frame. The amount of
 * memory does not depend on the number of frames. Without -stats, -stats_json and -trace, no struct
 * halo_stats exists. Every call accepts NULL, and then costs only a branch and the range that
 * profilers show (kernels/ranges.h). Any thread may record a stage, under the stage's own lock.
 * Reports are written after all stages have ended. */
#ifndef HALO_STATS_H
#define HALO_STATS_H

#include <libavutil/frame.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "config/base/error.h"
#include "config/run.h"
#include "kernels/frame.h"

struct halo_stats;

/* Rows of halo_stage_table, in the order of the report. A stage whose name ends in WAIT does no
 * work. */
enum halo_stage {
    HALO_STAGE_OPEN_INPUT,
    HALO_STAGE_OPEN_DEVICE, /* opening the backend and the lanes, which starts the driver */
    HALO_STAGE_OPEN_STREAMS,
    HALO_STAGE_OPEN_OUTPUT,
    HALO_STAGE_READ, /* demux */
    HALO_STAGE_DECODE,
    HALO_STAGE_DECODED_WAIT, /* waiting for room in the queue to the filter thread */
    HALO_STAGE_FACES,        /* one for each find; detectors have processes of their own */
    HALO_STAGE_PEOPLE,
    HALO_STAGE_FILTER_WAIT, /* waiting for decoded frames */
    HALO_STAGE_DETECT_WAIT, /* the same, if detectors judge them before */
    HALO_STAGE_CONVERT,     /* converting to the native format, on the host */
    HALO_STAGE_LANE_WAIT,
    HALO_STAGE_MEMORY, /* obtaining an output frame (allocated at first, then reused) */
    HALO_STAGE_SUBMIT, /* enqueueing the work for a frame on the device */
    HALO_STAGE_FILTERED_WAIT,
    HALO_STAGE_UPLOAD,
    HALO_STAGE_KERNELS, /* the filters, on the device or the CPU */
    HALO_STAGE_DOWNLOAD,
    HALO_STAGE_COLLECT_WAIT,
    HALO_STAGE_DEVICE_WAIT,
    HALO_STAGE_COLLECTED_WAIT,
    HALO_STAGE_ENCODE_WAIT,
    HALO_STAGE_ENCODE,
    HALO_STAGE_AUDIO,
    HALO_STAGE_WRITE, /* mux */
    HALO_STAGE_FINISH,
    HALO_STAGES,
};

/* Creates *ret, which is NULL if settings request no statistics. Opens each file that is named in
 * settings if it is a pipe, a device or a descriptor, and otherwise only checks that it can be
 * written (report_file.h). The caller must already have checked that none of the named files is the
 * run's input or output file. Returns 0, or -errno with err filled. The caller owns *ret. */
int halo_stats_create(struct halo_stats **ret, const struct halo_run_settings *settings,
                      struct halo_error *err);
void halo_stats_destroy(struct halo_stats *s);

/* These functions record a span of work or waiting. Pass the result of halo_stats_begin() to
 * halo_stats_end(). Spans of one thread may be nested. */
int64_t halo_stats_begin(struct halo_stats *s, enum halo_stage stage);
void halo_stats_end(struct halo_stats *s, enum halo_stage stage, int64_t begin);

/* Records a span of another process: from begin to end, in ns of CLOCK_MONOTONIC. */
void halo_stats_span(struct halo_stats *s, enum halo_stage stage, int64_t begin, int64_t end);

/* Records that all spans of the stage (decode or encode) since the previous call of this function
 * belong to one frame. */
void halo_stats_frame(struct halo_stats *s, enum halo_stage stage);

/* Records a frame's times on the device. The lanes of a ring share the copy engines and the
 * processors, so time in which an earlier frame used them is not included in the recorded times of
 * this frame. One thread. */
void halo_stats_device(struct halo_stats *s, int lane, const struct halo_frame_times *times);

/* Records that a frame was copied or converted on the host. frame is the resulting frame; the
 * number of bytes is computed from its size and format. */
void halo_stats_copied(struct halo_stats *s, const AVFrame *frame);

/* Records that the stages begin to run (true) or have ended (false). */
void halo_stats_running(struct halo_stats *s, bool running);

/* Returns how long the stages ran, in seconds; 0 if they did not. */
double halo_stats_seconds(const struct halo_stats *s);

/* Properties of the stream that the report shows. */
struct halo_stats_about {
    const char *backend; /* NULL: no backend was opened */
    int depth;           /* lanes */
    int64_t frames, bytes;
};

/* Prints the table to `to` and writes the files, as requested. Call this after all stages have
 * ended. */
void halo_stats_report(struct halo_stats *s, const struct halo_stats_about *about, FILE *to);

#endif
