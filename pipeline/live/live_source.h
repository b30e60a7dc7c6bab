/* SPDX-License-Identifier: BSD-2-Clause
 * The source thread of a live stream: starts the device, runs session after session, and ends the
 * other threads.
 *
 * Owner: the source thread, except for the fields with which the loop starts and joins it. No
 * lock. */
#ifndef HALO_LIVE_SOURCE_H
#define HALO_LIVE_SOURCE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "pipeline/base/damage.h"
#include "pipeline/input/source_file.h"
#include "pipeline/live/live_clock.h"

struct halo_live;

/* State that outlives sessions. */
struct halo_live_reader {
    pthread_t thread; /* this and the next field: the loop's */
    bool started;     /* the thread is to be joined */
    struct halo_source_limits limits;
    struct halo_damage damage; /* any thread may read its count */
    struct halo_live_clock clock;
    bool rewinds_badly; /* the file must be reopened for each turn */
};

/* stop ends its reads. NULL: out of memory. */
struct halo_live_reader *halo_live_reader_create(const atomic_int *stop);
void halo_live_reader_destroy(struct halo_live_reader *reader); /* NULL: does nothing */

/* Loop thread: starts the source thread; interrupts its blocking read after a stop; joins it. */
int halo_live_source_start(struct halo_live *live, struct halo_error *err);
void halo_live_source_wake(struct halo_live *live);
void halo_live_source_join(struct halo_live *live);

/* Assumes a format from the settings, if there is none yet. Card thread. */
void halo_live_make_up(struct halo_live *live);

#endif
