/* SPDX-License-Identifier: BSD-2-Clause
 * What travels between stage threads, and the bounded queue that it travels in. */
#ifndef HALO_QUEUE_H
#define HALO_QUEUE_H

#include <libavcodec/packet.h>

enum { HALO_QUEUE_PICTURES = 4 }; /* that wait between two stages */

struct halo_raw_picture;
struct halo_pending;
struct halo_output_picture;
struct halo_lineup;

enum halo_item_kind {
    HALO_ITEM_PACKET,  /* copied: audio, subtitles; NULL: only to wake who waits */
    HALO_ITEM_RAW,     /* decoded picture, on its way to the gate */
    HALO_ITEM_PENDING, /* in the gate: being filtered */
    HALO_ITEM_OUTPUT,  /* filtered picture, on its way to the encoder */
    HALO_ITEM_END,     /* the stream of input is over */
};

/* Owns what it points to. */
struct halo_item {
    enum halo_item_kind kind;
    int track; /* index into the stream's tracks; of a live stream, into its gates or sounds */
    union {
        AVPacket *packet;
        struct halo_raw_picture *raw;
        struct halo_pending *pending;
        struct halo_output_picture *output;
    };
    /* Of live streams: */
    struct halo_lineup *lineup; /* PENDING: whose gate it is in; not owned */
    int64_t epoch;              /* OUTPUT: of the lineup that filtered it */
    int64_t decoded, entered;   /* halo_now_ns() when it was so */
};

void halo_item_finish(struct halo_item *item); /* frees what it owns */

/* One producer thread, one consumer thread; halo_queue_abort() from any. Items keep their order.
 * Back-pressure: a put blocks while `pictures` pictures or `packets` packets wait; as one FIFO
 * holds both kinds, the consumer always drains what the producer waits for. */
struct halo_queue;

struct halo_queue *halo_queue_create(int pictures, int packets); /* NULL: out of memory */
void halo_queue_destroy(struct halo_queue *q);                   /* with all items left in it */

/* Takes the item over, on failure too (it is freed then). 0, or -ECANCELED after an abort.
 * Blocks. */
int halo_queue_put(struct halo_queue *q, struct halo_item item);
/* Does not block: where there is no room for it, the oldest of its kind goes. Returns how many went
 * (0 or 1), or as halo_queue_put(). */
int halo_queue_put_newest(struct halo_queue *q, struct halo_item item);
/* 0, or -ECANCELED after an abort; the item is then the caller's. Blocks. */
int halo_queue_get(struct halo_queue *q, struct halo_item *ret);
/* Wakes both sides for good. */
void halo_queue_abort(struct halo_queue *q);

#endif
