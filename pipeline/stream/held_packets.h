/* SPDX-License-Identifier: BSD-2-Clause
 * Packets of copied streams that wait for the frames before which they were read. If several
 * decoders work on a stream (decoders.h), packets are read many seconds before its frames; without
 * this, audio would arrive at the muxer so early that it would no longer be interleaved with the
 * video. Used by the source thread. */
#ifndef HALO_HELD_PACKETS_H
#define HALO_HELD_PACKETS_H

#include <stdbool.h>
#include <stdint.h>

#include "pipeline/gate/queue.h"

struct halo_held_packet;

struct halo_held_packets {
    struct halo_held_packet *first, *last;
};

/* Adds an item, which belongs to the list from now on, with its time in microseconds (INT64_MIN:
 * that of the item before it). Returns 0, or -ENOMEM after freeing the item. */
int halo_held_add(struct halo_held_packets *held, struct halo_item item, int64_t time);

/* Removes the first item that may follow frames up to the time `until` (INT64_MAX: in any case),
 * with some allowance for codecs that store their packets early. Items of one track stay in order.
 * Returns whether there is one. */
bool halo_held_take(struct halo_held_packets *held, int64_t until, struct halo_item *ret);

void halo_held_clear(struct halo_held_packets *held); /* frees all items */

#endif
