/* SPDX-License-Identifier: BSD-2-Clause
 * The worker of a live stream, a thread that does slow work which must not delay frames: it builds
 * the gates of new chains, encodes snapshots (live_snapshots.h), and answers every request.
 *
 * The loop adds changes (halo_live_set()); the thread processes them. The lock guards the waiting
 * changes. Only live_worker.c uses it; it is never held together with another lock. Changes that
 * are built but not yet confirmed belong to the thread. */
#ifndef HALO_LIVE_WORKER_H
#define HALO_LIVE_WORKER_H

#include "config/base/error.h"

struct halo_live;
struct halo_live_worker;

int halo_live_worker_create(struct halo_live_worker **ret);     /* 0 or -ENOMEM */
void halo_live_worker_destroy(struct halo_live_worker *worker); /* NULL: does nothing */

/* These functions start and end the worker. Only the source thread calls these functions.
 * Before the worker ends, it answers all requests and stops accepting new ones. */
int halo_live_worker_start(struct halo_live *live, struct halo_error *err);
void halo_live_worker_end(struct halo_live *live);

/* Wakes the worker. Called when the format may have changed or the stream was stopped. Any
 * thread. */
void halo_live_worker_wake(struct halo_live_worker *worker);
/* Wakes the worker if changes are waiting for confirmation. Called by any thread after a
 * frame has left a stage. */
void halo_live_worker_went_on(struct halo_live_worker *worker);

#endif
