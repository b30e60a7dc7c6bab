/* SPDX-License-Identifier: BSD-2-Clause
 * Declarations shared only by the files of a run with a camera (run_live.h). */
#ifndef HALO_RUN_LIVE_PRIVATE_H
#define HALO_RUN_LIVE_PRIVATE_H

#include <stdatomic.h>
#include <uv.h>

#include "daemon/run/progress.h"
#include "daemon/run/run_detectors.h"
#include "daemon/run/run_end.h"
#include "daemon/run/run_live.h"
#include "daemon/run/run_loop.h"
#include "daemon/view/virtual_camera.h"
#include "pipeline/base/thread.h"
#include "pipeline/live/live.h"
#include "pipeline/output/live_sink.h"

struct run_live {
    const struct halo_run_settings *settings;
    struct halo_stream_settings stream;
    struct halo_live *live;
    struct halo_live_sink *sink; /* NULL: a virtual camera */
    struct halo_virtual *shown;  /* NULL: OUT is not a virtual camera */
    struct halo_progress *progress;
    struct halo_run_detectors *detectors;
    struct halo_run_loop loop;
    unsigned ticks;
    struct halo_run_end end;
    /* Number of the first encoding for OUT, and of the one that is passed on; -1: nothing is
     * encoded. Only the loop changes them, the second one under the lock. */
    int first_encoding;
    atomic_int encoding;
    bool running, writing, closing, watched;
    int64_t began; /* ns */
    /* ns from capture to writing; for a virtual camera, filled in when it is closed */
    struct halo_histogram delay;
    struct halo_live_stats numbers; /* the statistics that were read last; loop thread only */
    atomic_int stop;
    atomic_llong first; /* timestamp of the first frame in us; 0: none yet */

    struct halo_mutex lock; /* guards the fields below */
    struct halo_error error;
    /* why no frames arrive; code 0: frames arrive, or the reason is unknown */
    struct halo_error away;
    AVPacket *picture, *card;
    int64_t taken; /* time in us at which `picture` was captured; 0: it is a card */
    bool has_picture, has_card;
};

/* ---- run_live_events.c ---- */
extern const struct halo_live_events run_live_events; /* callbacks; arg is a struct run_live */
/* Stores an error, unless an earlier one is stored; the loop then ends the run with the stored
 * error. Any thread. */
void run_live_fail(struct run_live *run, const struct halo_error *err);

/* ---- run_live_report.c (loop thread only) ---- */
/* Fills *ret with the statistics, and updates run->numbers. */
void run_live_stats(struct run_live *run, struct halo_stream_stats *ret);
/* Shows the progress for the last time, the result if the run had no error, and the statistics if
 * -stats is set. */
void run_live_report(struct run_live *run, const struct halo_error *err);

#endif
