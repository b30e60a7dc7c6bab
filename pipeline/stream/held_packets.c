/* SPDX-License-Identifier: BSD-2-Clause
 * Packets that wait for frames (held_packets.h). */
#include "pipeline/stream/held_packets.h"

#include <errno.h>
#include <libavutil/mem.h>

enum { EARLY_US = 500000 };

struct halo_held_packet {
    struct halo_item item;
    int64_t time;
    struct halo_held_packet *next;
};

int halo_held_add(struct halo_held_packets *held, struct halo_item item, int64_t time)
{
    struct halo_held_packet *one = av_mallocz(sizeof *one);
    if (!one) {
        halo_item_finish(&item);
        return -ENOMEM;
    }
    one->item = item;
    one->time = time;
    *(held->last ? &held->last->next : &held->first) = one;
    held->last = one;
    return 0;
}

static bool is_due(const struct halo_held_packet *one, int64_t until)
{
    return until == INT64_MAX || one->time == INT64_MIN || one->time <= until + EARLY_US;
}

/* Packets of one stream stay in their order. */
static bool follows_another(const struct halo_held_packets *held,
                            const struct halo_held_packet *one)
{
    const struct halo_held_packet *before = held->first;
    while (before != one && before->item.track != one->item.track)
        before = before->next;
    return before != one;
}

bool halo_held_take(struct halo_held_packets *held, int64_t until, struct halo_item *ret)
{
    struct halo_held_packet *before = NULL, *one = held->first;
    while (one && (!is_due(one, until) || follows_another(held, one))) {
        before = one;
        one = one->next;
    }
    if (!one)
        return false;
    *ret = one->item;
    *(before ? &before->next : &held->first) = one->next;
    if (held->last == one)
        held->last = before;
    av_free(one);
    return true;
}

void halo_held_clear(struct halo_held_packets *held)
{
    struct halo_item item;
    while (halo_held_take(held, INT64_MAX, &item))
        halo_item_finish(&item);
}
