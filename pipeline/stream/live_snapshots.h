/* SPDX-License-Identifier: BSD-2-Clause
 * Requested snapshots of a live stream. Each waits for the next filtered frame, and is answered
 * within two seconds, unless its own filters take longer.
 *
 * The loop adds them (halo_live_snapshot()); the collect thread adds their frames; the worker
 * encodes and answers them. They have their own lock, which only live_snapshots.c uses. It is
 * acquired under no other lock, and only the lock of the graphs is acquired under it. */
#ifndef HALO_LIVE_SNAPSHOTS_H
#define HALO_LIVE_SNAPSHOTS_H

#include <stdbool.h>

struct halo_live;
struct halo_live_snapshots;
struct halo_output_frame;

struct halo_live_snapshots *halo_live_snapshots_create(void);    /* returns NULL if out of memory */
void halo_live_snapshots_destroy(struct halo_live_snapshots *s); /* NULL: does nothing */

/* Returns whether any requested snapshot is still waiting. Any thread. */
bool halo_live_snapshots_wait(struct halo_live_snapshots *s);
/* Gives a filtered frame to all snapshots that have no frame yet. From then on, each of these
 * snapshots counts as a user of the format (graph.h) until the snapshot has been encoded.
 * Collect thread. */
void halo_live_snapshots_give(struct halo_live *live, const struct halo_output_frame *frame);
/* Makes all further requests for snapshots fail. Source thread. */
void halo_live_snapshots_close(struct halo_live_snapshots *s);
/* Answers one snapshot request: if `all` is false, the first one whose frame has arrived or that
 * has waited too long; if `all` is true, the first one of all, even if its frame has not arrived.
 * Returns false if no request was answered. Worker. */
bool halo_live_snapshots_answer(struct halo_live *live, bool all);

#endif
