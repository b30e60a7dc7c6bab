/* SPDX-License-Identifier: BSD-2-Clause
 * The bounded queue in front of an output's thread; it drops packets instead of blocking. The
 * caller holds the same lock for all calls; none blocks. */
#ifndef HALO_OUTPUT_QUEUE_H
#define HALO_OUTPUT_QUEUE_H

#include <libavcodec/avcodec.h>
#include <stdbool.h>
#include <stdint.h>

#include "pipeline/output/parameters_wire.h"

struct halo_output_item {
    struct halo_output_item *next;
    AVPacket *pkt;                     /* a packet; if NULL, `begin` is set */
    struct halo_parameters_copy begin; /* without cards */
};
void halo_output_item_free(struct halo_output_item *item); /* accepts NULL */

/* In a new, empty queue, `waiting` must be true and all other fields must be zero. */
struct halo_output_queue {
    struct halo_output_item *head, *tail;
    int packets;
    int64_t bytes;
    bool waiting; /* all video packets are dropped until a keyframe arrives */
};
void halo_output_queue_finish(struct halo_output_queue *q);

bool halo_output_is_key(const AVPacket *pkt);

/* Queues a description. If there is no packet between two descriptions, only the later one is kept,
 * so that the queue stays bounded. Returns 0 or -ENOMEM. */
int halo_output_queue_begin(struct halo_output_queue *q,
                            const struct halo_encoding_parameters *begin);
/* Queues a reference to the packet. Returns false if the packet was dropped. If the dropped packet
 * was a video packet, all further video packets are dropped, too, until a keyframe arrives. */
bool halo_output_queue_put(struct halo_output_queue *q, const AVPacket *pkt);
/* Removes the oldest item and returns it. The caller then owns the item. Returns NULL if the queue
 * is empty. */
struct halo_output_item *halo_output_queue_take(struct halo_output_queue *q);

/* If the packets before the last keyframe in the queue cover more than a second, drops everything
 * before that keyframe. Returns the number of dropped packets, which may be 0. */
int halo_output_queue_leave_out(struct halo_output_queue *q);

#endif
