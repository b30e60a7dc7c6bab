/* SPDX-License-Identifier: BSD-2-Clause
 * The extra thread of a live stream, called "aside" in the code, for slow work that must not delay
 * frames. It builds the gates of new chains, writes snapshots (live_snapshots.h), and answers every
 * request.
 *
 * The loop adds changes (halo_live_set()); the thread processes them. The lock guards the changes
 * that wait. Only live_aside.c knows it; it is acquired under no other lock, and no other lock is
 * acquired under it. Changes that are built but not yet confirmed belong to the thread. */
#ifndef HALO_LIVE_ASIDE_H
#define HALO_LIVE_ASIDE_H

#include "config/error.h"

struct halo_live;
struct halo_live_aside;

int halo_live_aside_create(struct halo_live_aside **ret);    /* 0 or -ENOMEM */
void halo_live_aside_destroy(struct halo_live_aside *aside); /* NULL: does nothing */

/* Start and end the thread, from the source thread. Before it ends, it answers all requests and
 * accepts no more. */
int halo_live_aside_start(struct halo_live *live, struct halo_error *err);
void halo_live_aside_end(struct halo_live *live);

/* Wakes the thread because the format may have changed or the stream was stopped. Any thread. */
void halo_live_aside_wake(struct halo_live_aside *aside);
/* Wakes the thread if changes wait to be confirmed, because a frame has moved on. Any thread. */
void halo_live_aside_went_on(struct halo_live_aside *aside);

#endif
