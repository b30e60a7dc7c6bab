/* SPDX-License-Identifier: BSD-2-Clause
 * The bounded queue in front of an output's thread; it drops packets instead of blocking. The
 * caller holds the same lock for all calls; none blocks. */
#ifndef HALO_OUTPUT_QUEUE_H
#define HALO_OUTPUT_QUEUE_H

#include <libavcodec/avcodec.h>
#include <stdbool.h>
#include <stdint.h>

#include "pipeline/output/begin_wire.h"

struct halo_output_item {
    struct halo_output_item *next;
    AVPacket *pkt;                /* a packet; if NULL, `begin` is set */
    struct halo_begin_copy begin; /* without cards */
};
void halo_output_item_free(struct halo_output_item *item); /* accepts NULL */

/* An empty queue has zero in all fields except `waiting`, which is true at first. */
struct halo_output_queue {
    struct halo_output_item *head, *tail;
    int packets;
    int64_t bytes;
    bool waiting; /* whether it waits for a keyframe; video packets before that are dropped */
};
void halo_output_queue_finish(struct halo_output_queue *q);

bool halo_output_is_key(const AVPacket *pkt);

/* Queues a description. If there is no packet between two descriptions, only the later one is kept,
 * so that the queue stays bounded. Returns 0 or -ENOMEM. */
int halo_output_queue_begin(struct halo_output_queue *q, const struct halo_live_begin *begin);
/* Queues a reference to the packet. Returns false if the packet was dropped; frames after it are
 * then dropped, too, up to a keyframe. */
bool halo_output_queue_put(struct halo_output_queue *q, const AVPacket *pkt);
/* Removes the oldest item and returns it; the caller owns it. Returns NULL if the queue is
 * empty. */
struct halo_output_item *halo_output_queue_take(struct halo_output_queue *q);

/* If more than a second of packets is queued before the last keyframe, drops everything before that
 * keyframe. Returns the number of dropped packets, or 0 if there was nothing to drop. */
int halo_output_queue_leave_out(struct halo_output_queue *q);

#endif
