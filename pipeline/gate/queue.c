/* SPDX-License-Identifier: BSD-2-Clause
 * The bounded queue between two stage threads (queue.h). */
#include "pipeline/gate/queue.h"

#include <errno.h>
#include <libavutil/mem.h>
#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

#include "config/base/thread.h"
#include "pipeline/gate/gate.h"
#include "pipeline/frame/raw_frame.h"

struct node {
    struct halo_item item;
    struct node *next;
};

struct halo_queue {
    struct halo_mutex lock;
    struct halo_cond changed;
    struct node *head, **tail;
    struct node *nodes,
        *unused; /* all nodes are allocated at once, so that a put never runs out of memory */
    int count[2], limit[2]; /* of packets, of frames */
    bool aborted;
    int eventfd; /* negative: nobody polls */
};

static bool is_frame(const struct halo_item *item)
{
    return item->kind == HALO_ITEM_RAW || item->kind == HALO_ITEM_PENDING ||
           item->kind == HALO_ITEM_OUTPUT;
}

void halo_item_finish(struct halo_item *item)
{
    switch (item->kind) {
    case HALO_ITEM_PACKET:
        av_packet_free(&item->packet);
        break;
    case HALO_ITEM_RAW:
        halo_raw_frame_destroy(item->raw);
        break;
    case HALO_ITEM_PENDING:
        halo_pending_destroy(item->pending);
        break;
    case HALO_ITEM_OUTPUT:
        halo_output_frame_destroy(item->output);
        break;
    case HALO_ITEM_END:
        break;
    }
}

struct halo_queue *halo_queue_create(int frames, int packets)
{
    const size_t nodes = (size_t)frames + (size_t)packets;
    struct halo_queue *q = av_mallocz(sizeof *q);
    if (!q || !(q->nodes = av_calloc(nodes, sizeof *q->nodes))) {
        av_free(q);
        return NULL;
    }
    for (size_t i = 0; i < nodes; i++) {
        q->nodes[i].next = q->unused;
        q->unused = &q->nodes[i];
    }
    q->tail = &q->head;
    q->eventfd = -1;
    q->limit[0] = packets;
    q->limit[1] = frames;
    return q;
}

void halo_queue_destroy(struct halo_queue *q)
{
    if (!q)
        return;
    while (q->head) {
        struct node *n = q->head;
        q->head = n->next;
        halo_item_finish(&n->item);
    }
    av_free(q->nodes);
    av_free(q);
}

/* Marks a node that was removed from the queue as unused, and returns its item. */
static struct halo_item give_back(struct halo_queue *q, struct node *n)
{
    n->next = q->unused;
    q->unused = n;
    return n->item;
}

/* Removes the oldest item of a kind, of which there must be one; with the lock held. */
static struct halo_item take_oldest(struct halo_queue *q, bool kind)
{
    struct node **at = &q->head;
    while (is_frame(&(*at)->item) != kind)
        at = &(*at)->next;
    struct node *n = *at;
    *at = n->next;
    if (q->tail == &n->next)
        q->tail = at;
    q->count[kind]--;
    return give_back(q, n);
}

/* Wakes both sides; with the lock held. */
static void tell(struct halo_queue *q)
{
    const uint64_t one = 1;
    halo_cond_broadcast(&q->changed);
    if (q->eventfd >= 0 && write(q->eventfd, &one, sizeof one) < 0)
        return; /* its counter is not 0, so its reader wakes anyway */
}

static int put(struct halo_queue *q, struct halo_item item, bool newest)
{
    const bool kind = is_frame(&item);
    struct halo_item oldest;
    bool full = false;
    halo_lock(&q->lock);
    while (!q->aborted && !newest && q->count[kind] >= q->limit[kind])
        halo_cond_wait(&q->changed, &q->lock, INT64_MAX);
    const bool aborted = q->aborted;
    if (!aborted && q->count[kind] >= q->limit[kind]) {
        full = true;
        oldest = take_oldest(q, kind);
    }
    if (!aborted) {
        struct node *n = q->unused; /* as many as all limits together */
        q->unused = n->next;
        *n = (struct node){.item = item};
        *q->tail = n;
        q->tail = &n->next;
        q->count[kind]++;
        tell(q);
    }
    halo_unlock(&q->lock);
    if (full)
        halo_item_finish(&oldest);
    if (!aborted)
        return full;
    halo_item_finish(&item);
    return -ECANCELED;
}

int halo_queue_put(struct halo_queue *q, struct halo_item item)
{
    return put(q, item, false);
}

int halo_queue_put_newest(struct halo_queue *q, struct halo_item item)
{
    return put(q, item, true);
}

/* 1, 0 or -ECANCELED, as halo_queue_try(). */
static int get(struct halo_queue *q, struct halo_item *ret, bool wait)
{
    halo_lock(&q->lock);
    while (wait && !q->aborted && !q->head)
        halo_cond_wait(&q->changed, &q->lock, INT64_MAX);
    const bool aborted = q->aborted;
    struct node *n = q->aborted ? NULL : q->head;
    if (n) {
        q->head = n->next;
        if (!q->head)
            q->tail = &q->head;
        q->count[is_frame(&n->item)]--;
        *ret = give_back(q, n);
        halo_cond_broadcast(&q->changed);
    }
    halo_unlock(&q->lock);
    return aborted ? -ECANCELED : n != NULL;
}

int halo_queue_get(struct halo_queue *q, struct halo_item *ret)
{
    const int got = get(q, ret, true);
    return got < 0 ? got : 0;
}

int halo_queue_try(struct halo_queue *q, struct halo_item *ret)
{
    return get(q, ret, false);
}

void halo_queue_tell(struct halo_queue *q, int eventfd)
{
    halo_lock(&q->lock);
    q->eventfd = eventfd;
    halo_unlock(&q->lock);
}

void halo_queue_abort(struct halo_queue *q)
{
    halo_lock(&q->lock);
    q->aborted = true;
    tell(q);
    halo_unlock(&q->lock);
}
