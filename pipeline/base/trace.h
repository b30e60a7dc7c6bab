/* SPDX-License-Identifier: BSD-2-Clause
 * A trace of when each stage ran, for chrome://tracing and ui.perfetto.dev (the JSON trace-event
 * format): one track for each stage thread, for each detector, and for each lane of the device.
 *
 * Events are kept in memory and written at the end. Each track has a maximum number of events;
 * events beyond it are only counted. Any thread may add events. */
#ifndef HALO_TRACE_H
#define HALO_TRACE_H

#include <stdint.h>

#include "config/base/error.h"

enum halo_track_of {
    HALO_TRACK_SOURCE,
    HALO_TRACK_FILTER,
    HALO_TRACK_COLLECT,
    HALO_TRACK_ENCODE,
    HALO_TRACK_FACES, /* the detector of faces */
    HALO_TRACK_PEOPLE,
    HALO_TRACK_LANES, /* track of the first lane; the tracks of the other lanes follow */
    HALO_TRACKS = HALO_TRACK_LANES + 16,
};

enum {
    HALO_TRACE_MAX = 1 << 17,   /* maximum number of events in a track; they use 4 MB */
    HALO_TRACE_LEAST_NS = 2000, /* on the tracks of threads, spans shorter than this are not
                                   drawn */
};

struct halo_trace_event {
    const char *name;   /* static */
    int64_t begin, end; /* ns of CLOCK_MONOTONIC */
    int64_t frame;      /* number of the frame or packet */
};

struct halo_trace;

/* Creates a trace. path is the file that will be written (see halo_report_open()); it must remain
 * valid while the trace exists. zero is the time (ns of CLOCK_MONOTONIC) that is shown as 0.
 * Returns 0, or -errno with err filled. The caller owns *ret. */
int halo_trace_create(struct halo_trace **ret, const char *path, int64_t zero,
                      struct halo_error *err);
void halo_trace_destroy(struct halo_trace *trace); /* NULL is ignored */

/* Adds an event, without blocking or allocating memory. A NULL trace is ignored. */
void halo_trace_add(struct halo_trace *trace, int track, const struct halo_trace_event *event);

/* Writes the file. Call this once, when no more events will be added. Errors and the number of
 * missing events are logged. backend is the name of the lanes' backend, or NULL. */
void halo_trace_write(struct halo_trace *trace, const char *backend);

#endif
