/* SPDX-License-Identifier: BSD-2-Clause
 * Snapshots of a live stream that were requested: each waits for the next filtered picture, and is
 * answered within two seconds.
 *
 * The loop adds them (halo_live_snapshot()), the collect thread adds their pictures, the thread
 * aside writes and answers them. They have a lock of their own, known to live_snapshots.c alone; it
 * is taken under no other lock, and only that of the lineups is taken under it. */
#ifndef HALO_LIVE_SNAPSHOTS_H
#define HALO_LIVE_SNAPSHOTS_H

#include <stdbool.h>

struct halo_live;
struct halo_live_snapshots;
struct halo_output_picture;

struct halo_live_snapshots *halo_live_snapshots_create(void);    /* NULL: out of memory */
void halo_live_snapshots_destroy(struct halo_live_snapshots *s); /* NULL is nothing to do */

/* Whether one waits. Any thread. */
bool halo_live_snapshots_wait(struct halo_live_snapshots *s);
/* A filtered picture for all that have none yet; each uses the shape until it is written. Collect
 * thread. */
void halo_live_snapshots_give(struct halo_live *live, const struct halo_output_picture *picture);
/* No more are accepted. Source thread. */
void halo_live_snapshots_close(struct halo_live_snapshots *s);
/* Answers the first one that has its picture or has waited too long; all: or any other. False:
 * there is none. Thread aside. */
bool halo_live_snapshots_answer(struct halo_live *live, bool all);

#endif
