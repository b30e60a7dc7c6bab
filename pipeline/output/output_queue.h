/* SPDX-License-Identifier: BSD-2-Clause
 * What waits for an output's thread: a bounded queue that drops instead of waiting. One lock of the
 * caller's for all calls; none blocks. */
#ifndef HALO_OUTPUT_QUEUE_H
#define HALO_OUTPUT_QUEUE_H

#include <libavcodec/avcodec.h>
#include <stdbool.h>
#include <stdint.h>

#include "pipeline/output/begin_wire.h"

struct halo_output_item {
    struct halo_output_item *next;
    AVPacket *pkt;                /* or NULL, and: */
    struct halo_begin_copy begin; /* without cards */
};
void halo_output_item_free(struct halo_output_item *item); /* NULL is nothing to do */

/* Zeroed but for waiting, which is true, it is empty. */
struct halo_output_queue {
    struct halo_output_item *head, *tail;
    int packets;
    int64_t bytes;
    bool waiting; /* for a key frame */
};
void halo_output_queue_finish(struct halo_output_queue *q);

bool halo_output_is_key(const AVPacket *pkt);

/* 0, or -ENOMEM. Two with nothing between are one: the queue is bounded. */
int halo_output_queue_begin(struct halo_output_queue *q, const struct halo_live_begin *begin);
/* Refers to the packet. false: dropped, and pictures after it up to a key frame will be. */
bool halo_output_queue_put(struct halo_output_queue *q, const AVPacket *pkt);
/* The oldest; the caller's. NULL: none. */
struct halo_output_item *halo_output_queue_take(struct halo_output_queue *q);

/* Where what waits is more than a second long, all before its last key frame is dropped. How many
 * packets; 0: nothing was old. */
int halo_output_queue_leave_out(struct halo_output_queue *q);

#endif
