/* SPDX-License-Identifier: BSD-2-Clause
 * What the files of a run with a camera (run_live.h) share, and nobody else. */
#ifndef HALO_RUN_LIVE_PRIVATE_H
#define HALO_RUN_LIVE_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <uv.h>

#include "daemon/run/progress.h"
#include "daemon/run/run_end.h"
#include "daemon/run/run_live.h"
#include "daemon/view/virtual_camera.h"
#include "pipeline/live/live.h"
#include "pipeline/output/live_sink.h"

struct run_live {
    const struct halo_run_settings *settings;
    struct halo_stream_settings stream;
    struct halo_live *live;
    struct halo_live_sink *sink; /* NULL: a virtual camera */
    struct halo_virtual *shown;  /* NULL: none */
    struct halo_progress *progress;
    uv_loop_t loop;
    uv_async_t wake;
    uv_timer_t tick;
    unsigned ticks;
    struct halo_run_end end;
    int encoding; /* of OUT; -1: nothing is encoded */
    bool looped, running, writing, closing, watched;
    int64_t began;                  /* ns */
    struct halo_histogram delay;    /* ns, to when it was written; of OUT, once that is closed */
    struct halo_live_stats numbers; /* loop thread: the last ones that were asked for */
    atomic_int stop;
    atomic_llong first; /* us: the first picture's time; 0: none came */

    pthread_mutex_t lock; /* of what follows */
    struct halo_error error;
    struct halo_error away; /* code 0: pictures pass, or nothing is known */
    AVPacket *picture, *card;
    int64_t taken; /* us: of picture; 0: it is a card */
    bool has_picture, has_card;
};

/* ---- run_live_events.c ---- */
extern const struct halo_live_events run_live_events; /* arg: struct run_live */
/* The first error is the run's: the loop ends it. Any thread. */
void run_live_fail(struct run_live *run, const struct halo_error *err);

/* ---- run_live_report.c; loop thread ---- */
/* Into run->numbers, too. */
void run_live_stats(struct run_live *run, struct halo_stream_stats *ret);
/* The last progress and, of a run without an error, what was made; -stats. */
void run_live_report(struct run_live *run, const struct halo_error *err);

#endif
