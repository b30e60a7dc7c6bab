/* SPDX-License-Identifier: BSD-2-Clause
 * The source thread of a live stream, from the start of the device to the end of the last thread,
 * session after session.
 *
 * Owner: that thread, except for the fields with which the loop starts and joins it. No lock. */
#ifndef HALO_LIVE_SOURCE_H
#define HALO_LIVE_SOURCE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "pipeline/base/damage.h"
#include "pipeline/input/source_file.h"
#include "pipeline/live/live_clock.h"

struct halo_live;

/* What outlives sessions. */
struct halo_live_reader {
    pthread_t thread; /* these two: the loop's */
    bool started;     /* the thread is to be joined */
    struct halo_source_limits limits;
    struct halo_damage damage; /* its count: any thread */
    struct halo_live_clock clock;
    bool rewinds_badly; /* a file that has to be opened again for each turn */
};

/* stop ends its reads. NULL: out of memory. */
struct halo_live_reader *halo_live_reader_create(const atomic_int *stop);
void halo_live_reader_destroy(struct halo_live_reader *reader); /* NULL is nothing to do */

/* The loop's: begins the thread; wakes a read of it that a stop shall end; joins it. */
int halo_live_source_start(struct halo_live *live, struct halo_error *err);
void halo_live_source_wake(struct halo_live *live);
void halo_live_source_join(struct halo_live *live);

/* The shape as far as settings say what it is, where there is none yet. Card thread. */
void halo_live_make_up(struct halo_live *live);

#endif
