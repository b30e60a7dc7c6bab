/* SPDX-License-Identifier: BSD-2-Clause
 * The takers (receivers) of a feed, in a list from which takers may be removed during an iteration.
 * Loop thread only. */
#ifndef HALO_TAKERS_H
#define HALO_TAKERS_H

#include "daemon/view/feed.h"

struct halo_takers_walk;

/* Zeroed: empty. */
struct halo_takers {
    struct halo_feed_taker *first;
    struct halo_takers_walk *walks; /* iterations in progress */
    int count;
};

void halo_takers_add(struct halo_takers *takers, struct halo_feed_taker *taker);
void halo_takers_remove(struct halo_takers *takers, struct halo_feed_taker *taker);

void halo_takers_begin(struct halo_takers *takers, const struct halo_live_begin *begin);

/* Gives pkt to each taker that has received a video keyframe since halo_takers_begin(), or to all
 * takers if pkt is a video keyframe. Returns the number of takers that are still waiting for a
 * keyframe. */
int halo_takers_give(struct halo_takers *takers, const AVPacket *pkt);
/* Gives pkt only to those takers that began at `since` (us of CLOCK_MONOTONIC) or later. */
void halo_takers_give_new(struct halo_takers *takers, int64_t since, const AVPacket *pkt);
/* Gives pkt to one taker, under the same condition as halo_takers_give(). */
void halo_taker_give(struct halo_feed_taker *taker, const AVPacket *pkt);

/* Has all takers (with keyed_only, only those that have received a keyframe) removed by leave(),
 * and calls their end(). */
void halo_takers_end(struct halo_takers *takers, bool keyed_only,
                     void (*leave)(struct halo_feed_taker *taker), const char *why);

#endif
