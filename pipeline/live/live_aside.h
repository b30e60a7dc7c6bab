/* SPDX-License-Identifier: BSD-2-Clause
 * The thread beside a live stream, for work that takes time and must not delay pictures. It builds
 * the gates of new chains, writes snapshots (live_snapshots.h), and answers every request.
 *
 * The loop adds changes (halo_live_set()), the thread handles them. The lock guards the changes
 * that wait. It is known to live_aside.c alone, is taken under no other lock, and no lock is taken
 * under it. Changes that are built but not yet confirmed belong to the thread. */
#ifndef HALO_LIVE_ASIDE_H
#define HALO_LIVE_ASIDE_H

#include "config/error.h"

struct halo_live;
struct halo_live_aside;

int halo_live_aside_create(struct halo_live_aside **ret);    /* 0 or -ENOMEM */
void halo_live_aside_destroy(struct halo_live_aside *aside); /* NULL is nothing to do */

/* Source thread: the thread begins; it ends when all is answered, and nothing more is taken. */
int halo_live_aside_start(struct halo_live *live, struct halo_error *err);
void halo_live_aside_end(struct halo_live *live);

/* Something may have changed for it: the shape, a stop. Any thread. */
void halo_live_aside_wake(struct halo_live_aside *aside);
/* Likewise for changes that are to be confirmed: a picture has gone on. */
void halo_live_aside_went_on(struct halo_live_aside *aside);

#endif
