/* SPDX-License-Identifier: BSD-2-Clause
 * A trace of what ran when, for chrome://tracing and ui.perfetto.dev (the JSON trace-event format):
 * one track for each stage thread, one for each lane of the device.
 *
 * Events are kept in memory up to a fixed number for each track and written at the end; what came
 * after that is counted and left out. Any thread may add. */
#ifndef HALO_TRACE_H
#define HALO_TRACE_H

#include <stdint.h>

#include "config/error.h"

enum halo_track_of {
    HALO_TRACK_SOURCE,
    HALO_TRACK_FILTER,
    HALO_TRACK_COLLECT,
    HALO_TRACK_ENCODE,
    HALO_TRACK_LANES, /* the first lane; the others follow */
    HALO_TRACKS = HALO_TRACK_LANES + 16,
};

enum {
    HALO_TRACE_MAX = 1 << 17,   /* events of a track: 4 MB where it has so many */
    HALO_TRACE_LEAST_NS = 2000, /* shorter spans of threads are not drawn */
};

struct halo_trace_event {
    const char *name;   /* static */
    int64_t begin, end; /* ns of CLOCK_MONOTONIC */
    int64_t frame;      /* number of the frame, or packet */
};

struct halo_trace;

/* path: where it will be written; see halo_report_open. zero: the trace's time 0. 0 or
 * -errno with err filled. The caller owns *ret; path stays the caller's. */
int halo_trace_create(struct halo_trace **ret, const char *path, int64_t zero,
                      struct halo_error *err);
void halo_trace_destroy(struct halo_trace *trace); /* NULL is nothing to do */

/* Neither blocks nor allocates. NULL is nothing to do. */
void halo_trace_add(struct halo_trace *trace, int track, const struct halo_trace_event *event);

/* Once, when nothing is added any more; says what was left out and what cannot be written.
 * backend: of the lanes, or NULL. */
void halo_trace_write(struct halo_trace *trace, const char *backend);

#endif
