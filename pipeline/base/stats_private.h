/* SPDX-License-Identifier: BSD-2-Clause
 * What recording (stats.c) and reporting (stats_report.c) share; no other file includes this. */
#ifndef HALO_STATS_PRIVATE_H
#define HALO_STATS_PRIVATE_H

#include <stdio.h>

#include "config/base/thread.h"
#include "pipeline/base/histogram.h"
#include "pipeline/base/report_file.h"
#include "pipeline/base/stats.h"
#include "pipeline/base/trace.h"

enum halo_stage_kind {
    HALO_KIND_WORK,
    HALO_KIND_WAIT,
    HALO_KIND_ONCE, /* done once, before or after the frames */
};

struct halo_stage_row {
    const char *name;
    enum halo_track_of thread;
    enum halo_stage_kind kind;
    bool by_frame;        /* in this stage, halo_stats_frame() marks the end of each frame's
                             spans */
    const char *resource; /* the resource that the stage keeps busy, shown as "bound" in the report;
                             NULL: none */
};

extern const struct halo_stage_row halo_stage_table[HALO_STAGES];

struct halo_stage_record {
    struct halo_mutex lock;
    int64_t busy;                /* total length of all spans, in ns */
    int64_t pending;             /* total length, in ns, of the spans so far of the current frame,
                                    which is not complete yet */
    int64_t until;               /* for device stages: end of the previous span */
    struct halo_histogram times; /* time for each frame, in ns */
};

struct halo_stats {
    const struct halo_run_settings *settings;
    struct halo_stage_record stage[HALO_STAGES];
    struct halo_trace *trace;            /* NULL without -trace */
    struct halo_report_file *json;       /* NULL without -stats_json */
    int64_t created, run_begin, run_end; /* ns of CLOCK_MONOTONIC; 0: not yet */
    int64_t device_frames;               /* number of frames in the following sums */
    struct halo_copies up, down, inside; /* sums over device_frames frames */
    struct halo_mutex copied_lock;
    int64_t host_copies, host_bytes; /* under copied_lock */
};

#endif
