/* SPDX-License-Identifier: BSD-2-Clause
 * The subscribers of a feed. */
#include "daemon/view/subscribers.h"

#include "kernels/clock.h"

/* An iteration that remains valid while subscribers leave. */
struct halo_subscribers_walk {
    struct halo_feed_subscriber *next;
    struct halo_subscribers_walk *outer;
};

static void walk_begin(struct halo_subscribers *subscribers, struct halo_subscribers_walk *walk)
{
    *walk = (struct halo_subscribers_walk){.next = subscribers->first, .outer = subscribers->walks};
    subscribers->walks = walk;
}

/* Returns the next subscriber; must be called until it returns NULL. */
static struct halo_feed_subscriber *walk_next(struct halo_subscribers *subscribers,
                                              struct halo_subscribers_walk *walk)
{
    struct halo_feed_subscriber *subscriber = walk->next;
    if (subscriber)
        walk->next = subscriber->next;
    else
        subscribers->walks = walk->outer;
    return subscriber;
}

void halo_subscribers_add(struct halo_subscribers *subscribers,
                          struct halo_feed_subscriber *subscriber)
{
    subscriber->next = subscribers->first;
    subscribers->first = subscriber;
    subscribers->count++;
}

void halo_subscribers_remove(struct halo_subscribers *subscribers,
                             struct halo_feed_subscriber *subscriber)
{
    struct halo_feed_subscriber **at = &subscribers->first;
    while (*at != subscriber)
        at = &(*at)->next;
    *at = subscriber->next;
    for (struct halo_subscribers_walk *walk = subscribers->walks; walk; walk = walk->outer)
        if (walk->next == subscriber)
            walk->next = subscriber->next;
    subscriber->next = NULL;
    subscribers->count--;
}

void halo_subscribers_begin(struct halo_subscribers *subscribers,
                            const struct halo_encoding_parameters *begin)
{
    struct halo_subscribers_walk walk;
    struct halo_feed_subscriber *subscriber;
    walk_begin(subscribers, &walk);
    while ((subscriber = walk_next(subscribers, &walk))) {
        subscriber->begun = true;
        subscriber->keyed = false;
        subscriber->since = halo_now_us();
        subscriber->begin(subscriber, begin);
    }
}

void halo_subscriber_give(struct halo_feed_subscriber *subscriber, const AVPacket *pkt)
{
    subscriber->keyed |= pkt->stream_index == 0 && (pkt->flags & AV_PKT_FLAG_KEY);
    if (subscriber->keyed)
        subscriber->packet(subscriber, pkt);
}

int halo_subscribers_give(struct halo_subscribers *subscribers, const AVPacket *pkt)
{
    struct halo_subscribers_walk walk;
    struct halo_feed_subscriber *subscriber;
    int waiting = 0;
    walk_begin(subscribers, &walk);
    while ((subscriber = walk_next(subscribers, &walk)))
        halo_subscriber_give(subscriber, pkt);
    /* Counted after the calls, because a subscriber that left in its call may no longer exist. */
    for (subscriber = subscribers->first; subscriber; subscriber = subscriber->next)
        waiting += !subscriber->keyed;
    return waiting;
}

void halo_subscribers_give_new(struct halo_subscribers *subscribers, int64_t since,
                               const AVPacket *pkt)
{
    struct halo_subscribers_walk walk;
    struct halo_feed_subscriber *subscriber;
    walk_begin(subscribers, &walk);
    while ((subscriber = walk_next(subscribers, &walk)))
        if (subscriber->since >= since)
            halo_subscriber_give(subscriber, pkt);
}

void halo_subscribers_end(struct halo_subscribers *subscribers, bool keyed_only,
                          void (*leave)(struct halo_feed_subscriber *subscriber), const char *why)
{
    struct halo_subscribers_walk walk;
    struct halo_feed_subscriber *subscriber;
    walk_begin(subscribers, &walk);
    while ((subscriber = walk_next(subscribers, &walk))) {
        if (keyed_only && !subscriber->keyed)
            continue;
        leave(subscriber);
        subscriber->end(subscriber, why);
    }
}
