/* SPDX-License-Identifier: BSD-2-Clause
 * The extra thread of a live stream (called "aside" in the code) does slow work that must not delay
 * frames: it builds the gates of new chains, encodes snapshots (live_snapshots.h), and answers
 * every request.
 *
 * The loop adds changes (halo_live_set()); the thread processes them. The lock guards the waiting
 * changes. Only live_aside.c uses it; it is never held together with another lock. Changes that are
 * built but not yet confirmed belong to the thread. */
#ifndef HALO_LIVE_ASIDE_H
#define HALO_LIVE_ASIDE_H

#include "config/base/error.h"

struct halo_live;
struct halo_live_aside;

int halo_live_aside_create(struct halo_live_aside **ret);    /* 0 or -ENOMEM */
void halo_live_aside_destroy(struct halo_live_aside *aside); /* NULL: does nothing */

/* These functions start and end the extra thread. Only the source thread calls these functions.
 * Before the extra thread ends, it answers all requests and stops accepting new ones. */
int halo_live_aside_start(struct halo_live *live, struct halo_error *err);
void halo_live_aside_end(struct halo_live *live);

/* Wakes the extra thread. Called when the format may have changed or the stream was stopped. Any
 * thread. */
void halo_live_aside_wake(struct halo_live_aside *aside);
/* Wakes the extra thread if changes are waiting for confirmation. Called by any thread after a
 * frame has left a stage. */
void halo_live_aside_went_on(struct halo_live_aside *aside);

#endif
