/* SPDX-License-Identifier: BSD-2-Clause
 * The bounded queue in front of an output's thread: it drops packets instead of waiting. The caller
 * holds one lock for all calls; none blocks. */
#ifndef HALO_OUTPUT_QUEUE_H
#define HALO_OUTPUT_QUEUE_H

#include <libavcodec/avcodec.h>
#include <stdbool.h>
#include <stdint.h>

#include "pipeline/output/begin_wire.h"

struct halo_output_item {
    struct halo_output_item *next;
    AVPacket *pkt;                /* or NULL; then `begin` is set */
    struct halo_begin_copy begin; /* without cards */
};
void halo_output_item_free(struct halo_output_item *item); /* accepts NULL */

/* An empty queue is all zero, except `waiting`, which is true. */
struct halo_output_queue {
    struct halo_output_item *head, *tail;
    int packets;
    int64_t bytes;
    bool waiting; /* for a keyframe */
};
void halo_output_queue_finish(struct halo_output_queue *q);

bool halo_output_is_key(const AVPacket *pkt);

/* 0, or -ENOMEM. Of two without a packet between them, only the later is kept, so the queue stays
 * bounded. */
int halo_output_queue_begin(struct halo_output_queue *q, const struct halo_live_begin *begin);
/* References the packet. false: it was dropped, and so will be frames after it up to a keyframe. */
bool halo_output_queue_put(struct halo_output_queue *q, const AVPacket *pkt);
/* The oldest item, owned by the caller. NULL: the queue is empty. */
struct halo_output_item *halo_output_queue_take(struct halo_output_queue *q);

/* If more than a second of packets is queued before the last keyframe, drops everything before that
 * keyframe. Returns how many packets were dropped; 0: nothing was old. */
int halo_output_queue_leave_out(struct halo_output_queue *q);

#endif
