/* SPDX-License-Identifier: BSD-2-Clause
 * The thread beside a live stream, for work that takes time and must not delay pictures. It builds
 * the gates of new chains, writes snapshots, and answers every request.
 *
 * The loop adds requests (halo_live_set(), halo_live_snapshot()), the collect thread adds pictures
 * to snapshots, the thread aside handles both. The lock guards the waiting requests. It is known to
 * live_aside.c alone, is taken under no other lock, and only that of the lineups is taken under
 * it. Changes that are built but not yet confirmed belong to the thread. */
#ifndef HALO_LIVE_ASIDE_H
#define HALO_LIVE_ASIDE_H

#include <stdbool.h>

#include "config/error.h"

struct halo_live;
struct halo_live_aside;
struct halo_output_picture;

int halo_live_aside_create(struct halo_live_aside **ret);    /* 0 or -ENOMEM */
void halo_live_aside_destroy(struct halo_live_aside *aside); /* NULL is nothing to do */

/* Source thread: the thread begins; it ends when all is answered, and nothing more is taken. */
int halo_live_aside_start(struct halo_live *live, struct halo_error *err);
void halo_live_aside_end(struct halo_live_aside *aside);

/* Something may have changed for it: the shape, a stop. Any thread. */
void halo_live_aside_look(struct halo_live_aside *aside);
/* Likewise for changes that are to be confirmed: a picture has gone on. */
void halo_live_aside_went_on(struct halo_live_aside *aside);

/* Whether a snapshot is asked for; any thread. */
bool halo_live_aside_has_snapshots(struct halo_live_aside *aside);
/* A filtered picture for all snapshots that have none yet. Collect thread. */
void halo_live_aside_give(struct halo_live *live, const struct halo_output_picture *picture);

#endif
