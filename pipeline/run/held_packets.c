/* SPDX-License-Identifier: BSD-2-Clause
 * Packets that wait for frames (held_packets.h). */
#include "pipeline/run/held_packets.h"

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

bool halo_held_take(struct halo_held_packets *held, int64_t until, struct halo_item *ret)
{
    struct halo_held_packet *one = held->first;
    if (!one || (until != INT64_MAX && one->time != INT64_MIN && one->time > until + EARLY_US))
        return false;
    *ret = one->item;
    held->first = one->next;
    if (!held->first)
        held->last = NULL;
    av_free(one);
    return true;
}

void halo_held_clear(struct halo_held_packets *held)
{
    struct halo_item item;
    while (halo_held_take(held, INT64_MAX, &item))
        halo_item_finish(&item);
}
