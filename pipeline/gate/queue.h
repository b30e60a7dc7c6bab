/* SPDX-License-Identifier: BSD-2-Clause
 * The bounded queue between two stage threads, and its items. */
#ifndef HALO_QUEUE_H
#define HALO_QUEUE_H

#include <libavcodec/packet.h>

enum { HALO_QUEUE_FRAMES = 4 }; /* frames that may wait between two stages */

struct halo_raw_frame;
struct halo_pending;
struct halo_output_frame;
struct halo_graph;

enum halo_item_kind {
    HALO_ITEM_PACKET,  /* packet of copied audio or subtitles; NULL: only wakes the consumer */
    HALO_ITEM_RAW,     /* unfiltered frame, on its way to the gate */
    HALO_ITEM_PENDING, /* frame in the gate: being filtered */
    HALO_ITEM_OUTPUT,  /* filtered frame, on its way to the encoder */
    HALO_ITEM_END,     /* the input stream has ended */
};

/* An item owns the object to which it points. */
struct halo_item {
    enum halo_item_kind kind;
    int track; /* index of the track; PENDING: of the gate in its graph */
    union {
        AVPacket *packet;
        struct halo_raw_frame *raw;
        struct halo_pending *pending;
        struct halo_output_frame *output;
    };
    struct halo_graph *graph; /* PENDING: graph (graph.h) of the frame's gate; not owned */
    /* The fields below are used only in live streams. */
    int64_t epoch; /* OUTPUT: epoch of the graph that filtered the frame */
    /* halo_now_ns() when the frame was decoded, and when it entered the gate. */
    int64_t decoded, entered;
};

void halo_item_finish(struct halo_item *item); /* frees the object that the item owns */

/* A queue has one producer thread and one consumer thread; any thread may call halo_queue_abort().
 * Items keep their order. The queue applies backpressure: halo_queue_put() blocks if it is called
 * with a frame while `frames` frames are queued, or with a packet while `packets` packets are
 * queued. Frames and packets are in one FIFO, so a consumer that keeps removing items always makes
 * room for a blocked producer. */
struct halo_queue;

struct halo_queue *halo_queue_create(int frames, int packets); /* NULL if memory runs out */
void halo_queue_destroy(struct halo_queue *q);                 /* also frees the queue's items */

/* Appends an item and takes ownership of it; on failure the item is freed. Blocks while the queue
 * has no room. Returns 0, or -ECANCELED after an abort. */
int halo_queue_put(struct halo_queue *q, struct halo_item item);
/* Appends an item without blocking: if the queue has no room, the oldest item of the same kind is
 * dropped. Returns the number of dropped items (0 or 1), or -ECANCELED as halo_queue_put() does. */
int halo_queue_put_newest(struct halo_queue *q, struct halo_item item);
/* Removes the first item, which the caller then owns. Blocks while the queue is empty. Returns 0,
 * or -ECANCELED after an abort. */
int halo_queue_get(struct halo_queue *q, struct halo_item *ret);
/* Works like halo_queue_get(), but does not block. Returns 1 if it removed an item, 0 if the queue
 * is empty, or -ECANCELED after an abort. */
int halo_queue_try(struct halo_queue *q, struct halo_item *ret);
/* Makes the queue write to this eventfd after every put and after an abort, for a consumer that
 * polls; -1 (the initial state): to none. Call this before the producer's thread starts, or under
 * the same condition as halo_queue_destroy(). The caller keeps the descriptor. */
void halo_queue_tell(struct halo_queue *q, int eventfd);
/* Makes all blocked and all later calls, on both sides, return -ECANCELED. */
void halo_queue_abort(struct halo_queue *q);

#endif
