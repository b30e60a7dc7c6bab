/* SPDX-License-Identifier: BSD-2-Clause
 * The takers of a feed. */
#include "daemon/view/takers.h"

#include "kernels/clock.h"

/* An iteration that remains valid while takers leave. */
struct halo_takers_walk {
    struct halo_feed_taker *next;
    struct halo_takers_walk *outer;
};

static void walk_begin(struct halo_takers *takers, struct halo_takers_walk *walk)
{
    *walk = (struct halo_takers_walk){.next = takers->first, .outer = takers->walks};
    takers->walks = walk;
}

/* Returns the next taker; must be called until it returns NULL. */
static struct halo_feed_taker *walk_next(struct halo_takers *takers, struct halo_takers_walk *walk)
{
    struct halo_feed_taker *taker = walk->next;
    if (taker)
        walk->next = taker->next;
    else
        takers->walks = walk->outer;
    return taker;
}

void halo_takers_add(struct halo_takers *takers, struct halo_feed_taker *taker)
{
    taker->next = takers->first;
    takers->first = taker;
    takers->count++;
}

void halo_takers_remove(struct halo_takers *takers, struct halo_feed_taker *taker)
{
    struct halo_feed_taker **at = &takers->first;
    while (*at != taker)
        at = &(*at)->next;
    *at = taker->next;
    for (struct halo_takers_walk *walk = takers->walks; walk; walk = walk->outer)
        if (walk->next == taker)
            walk->next = taker->next;
    taker->next = NULL;
    takers->count--;
}

void halo_takers_begin(struct halo_takers *takers, const struct halo_live_begin *begin)
{
    struct halo_takers_walk walk;
    struct halo_feed_taker *taker;
    walk_begin(takers, &walk);
    while ((taker = walk_next(takers, &walk))) {
        taker->begun = true;
        taker->keyed = false;
        taker->since = halo_now_us();
        taker->begin(taker, begin);
    }
}

void halo_taker_give(struct halo_feed_taker *taker, const AVPacket *pkt)
{
    taker->keyed |= pkt->stream_index == 0 && (pkt->flags & AV_PKT_FLAG_KEY);
    if (taker->keyed)
        taker->packet(taker, pkt);
}

int halo_takers_give(struct halo_takers *takers, const AVPacket *pkt)
{
    struct halo_takers_walk walk;
    struct halo_feed_taker *taker;
    int waiting = 0;
    walk_begin(takers, &walk);
    while ((taker = walk_next(takers, &walk)))
        halo_taker_give(taker, pkt);
    /* Counted after the calls, because a taker that left in its call may no longer exist. */
    for (taker = takers->first; taker; taker = taker->next)
        waiting += !taker->keyed;
    return waiting;
}

void halo_takers_give_new(struct halo_takers *takers, int64_t since, const AVPacket *pkt)
{
    struct halo_takers_walk walk;
    struct halo_feed_taker *taker;
    walk_begin(takers, &walk);
    while ((taker = walk_next(takers, &walk)))
        if (taker->since >= since)
            halo_taker_give(taker, pkt);
}

void halo_takers_end(struct halo_takers *takers, bool keyed_only,
                     void (*leave)(struct halo_feed_taker *taker), const char *why)
{
    struct halo_takers_walk walk;
    struct halo_feed_taker *taker;
    walk_begin(takers, &walk);
    while ((taker = walk_next(takers, &walk))) {
        if (keyed_only && !taker->keyed)
            continue;
        leave(taker);
        taker->end(taker, why);
    }
}
