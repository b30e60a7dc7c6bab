/* SPDX-License-Identifier: BSD-2-Clause
 * What the time of a stream goes into: how long each stage works and waits, when each lane of the
 * device copies and computes, and what is copied.
 *
 * A stage records spans; the device's come with each frame. Memory is fixed, whatever the number of
 * frames. Without -stats, -stats_json and -trace there is no struct halo_stats: NULL is taken by
 * every call and costs a branch, and the range that profilers see (kernels/ranges.h). Threads: each
 * stage is recorded by any, under a lock of its own; reports come when all is over. */
#ifndef HALO_STATS_H
#define HALO_STATS_H

#include <libavutil/frame.h>
#include <stdbool.h>
#include <stdint.h>

#include "config/error.h"
#include "config/run.h"
#include "kernels/frame.h"

struct halo_stats;

/* In the order of the report; rows of halo_stage_table. WAITs are no work. */
enum halo_stage {
    HALO_STAGE_OPEN_INPUT,
    HALO_STAGE_OPEN_DEVICE, /* backend, lanes: the driver starts here */
    HALO_STAGE_OPEN_STREAMS,
    HALO_STAGE_OPEN_OUTPUT,
    HALO_STAGE_READ, /* demux */
    HALO_STAGE_DECODE,
    HALO_STAGE_DECODED_WAIT, /* for room in the queue to the filter thread */
    HALO_STAGE_FILTER_WAIT,  /* for pictures */
    HALO_STAGE_CONVERT,      /* to the native format, on the host */
    HALO_STAGE_LANE_WAIT,
    HALO_STAGE_MEMORY, /* an output picture; the first ones are allocated */
    HALO_STAGE_SUBMIT, /* putting a frame onto the device's stream */
    HALO_STAGE_FILTERED_WAIT,
    HALO_STAGE_UPLOAD,
    HALO_STAGE_KERNELS, /* of the device, or on the CPU */
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

/* NULL in *ret where settings ask for nothing. Checks the files that they name, or opens them
 * (report_file.h): their names have been checked against IN and OUT. 0 or -errno with err filled.
 * The caller owns *ret. */
int halo_stats_create(struct halo_stats **ret, const struct halo_run_settings *settings,
                      struct halo_error *err);
void halo_stats_destroy(struct halo_stats *s);

/* A span of work or waiting; begin returns what end wants. Spans of a thread nest. */
int64_t halo_stats_begin(struct halo_stats *s, enum halo_stage stage);
void halo_stats_end(struct halo_stats *s, enum halo_stage stage, int64_t begin);

/* All spans of decode, or encode, since the last call were for one frame. */
void halo_stats_frame(struct halo_stats *s, enum halo_stage stage);

/* What a frame did on the device. Lanes of one ring share the copy engines and the processors: time
 * in which an earlier frame had them is waiting, and left out. One thread. */
void halo_stats_device(struct halo_stats *s, int lane, const struct halo_frame_times *times);

/* A picture was copied or converted on the host, into one like this. */
void halo_stats_copied(struct halo_stats *s, const AVFrame *picture);

/* The stages run (true), or are over. */
void halo_stats_running(struct halo_stats *s, bool running);

/* What a report says of the stream. */
struct halo_stats_about {
    const char *backend; /* NULL: none was opened */
    int depth;           /* lanes */
    int64_t frames, bytes;
};

/* After the end: the table to stderr, and the files, as asked. */
void halo_stats_report(struct halo_stats *s, const struct halo_stats_about *about);

#endif
