/* SPDX-License-Identifier: BSD-2-Clause
 * The takers of a feed: a list that any of them may leave while it is walked over. Loop thread
 * only. */
#ifndef HALO_TAKERS_H
#define HALO_TAKERS_H

#include "daemon/view/feed.h"

struct halo_takers_walk;

/* Zeroed: empty. */
struct halo_takers {
    struct halo_feed_taker *first;
    struct halo_takers_walk *walks; /* under way */
    int count;
};

void halo_takers_add(struct halo_takers *takers, struct halo_feed_taker *taker);
void halo_takers_remove(struct halo_takers *takers, struct halo_feed_taker *taker);

void halo_takers_begin(struct halo_takers *takers, const struct halo_live_begin *begin);

/* Gives pkt to all, or to one, who can use it: after begin the first packet is a key frame of the
 * video. Returns how many wait for such a one. */
int halo_takers_give(struct halo_takers *takers, const AVPacket *pkt);
/* To those alone that began at `since` (us of the clock) or later. */
void halo_takers_give_new(struct halo_takers *takers, int64_t since, const AVPacket *pkt);
void halo_taker_give(struct halo_feed_taker *taker, const AVPacket *pkt);

/* Makes them leave, all or those that have got something, and tells them. */
void halo_takers_end(struct halo_takers *takers, bool keyed_only, const char *why);

#endif
