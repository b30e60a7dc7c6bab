/* SPDX-License-Identifier: BSD-2-Clause
 * The subscribers (receivers) of a feed, in a list from which subscribers may be removed during an
 * iteration. Loop thread only. */
#ifndef HALO_SUBSCRIBERS_H
#define HALO_SUBSCRIBERS_H

#include "daemon/view/feed.h"

struct halo_subscribers_walk;

/* Zeroed: empty. */
struct halo_subscribers {
    struct halo_feed_subscriber *first;
    struct halo_subscribers_walk *walks; /* iterations in progress */
    int count;
};

void halo_subscribers_add(struct halo_subscribers *subscribers,
                          struct halo_feed_subscriber *subscriber);
void halo_subscribers_remove(struct halo_subscribers *subscribers,
                             struct halo_feed_subscriber *subscriber);

void halo_subscribers_begin(struct halo_subscribers *subscribers,
                            const struct halo_encoding_parameters *begin);

/* Gives pkt to each subscriber that has received a video keyframe since halo_subscribers_begin(),
 * or to all subscribers if pkt is a video keyframe. Returns the number of subscribers that are
 * still waiting for a keyframe. */
int halo_subscribers_give(struct halo_subscribers *subscribers, const AVPacket *pkt);
/* Gives pkt only to those subscribers that began at `since` (us of CLOCK_MONOTONIC) or later. */
void halo_subscribers_give_new(struct halo_subscribers *subscribers, int64_t since,
                               const AVPacket *pkt);
/* Gives pkt to one subscriber, under the same condition as halo_subscribers_give(). */
void halo_subscriber_give(struct halo_feed_subscriber *subscriber, const AVPacket *pkt);

/* Has all subscribers (with keyed_only, only those that have received a keyframe) removed by
 * leave(), and calls their end(). */
void halo_subscribers_end(struct halo_subscribers *subscribers, bool keyed_only,
                          void (*leave)(struct halo_feed_subscriber *subscriber), const char *why);

#endif
