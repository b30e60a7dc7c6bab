/* SPDX-License-Identifier: BSD-2-Clause
 * The source thread of a live stream. It starts the device, runs one session after the other, and
 * ends the other threads.
 *
 * Owner: the source thread, except for the fields with which the loop starts and joins it. No lock
 * is needed. */
#ifndef HALO_LIVE_SOURCE_H
#define HALO_LIVE_SOURCE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "config/base/thread.h"
#include "pipeline/base/damage.h"
#include "pipeline/input/source_file.h"
#include "pipeline/stream/live_clock.h"

struct halo_live;

/* The part of the source thread's state that outlives sessions. */
struct halo_live_reader {
    struct halo_thread thread; /* only the event loop uses this field and the next */
    bool started;              /* the thread must be joined */
    struct halo_source_limits limits;
    struct halo_damage damage; /* any thread may read its count */
    struct halo_live_clock clock;
    /* seeking does not work well: the file must be reopened for each repetition */
    bool rewinds_badly;
};

/* Creates a reader whose blocking reads end when *stop is set. Returns NULL if out of memory. */
struct halo_live_reader *halo_live_reader_create(const atomic_int *stop);
void halo_live_reader_destroy(struct halo_live_reader *reader); /* NULL: does nothing */

/* These functions start the source thread, interrupt its blocking read if the stream has been asked
 * to stop, and join the thread. The event loop's thread calls these functions. */
int halo_live_source_start(struct halo_live *live, struct halo_error *err);
void halo_live_source_wake(struct halo_live *live);
void halo_live_source_join(struct halo_live *live);

#endif
