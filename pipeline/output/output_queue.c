/* SPDX-License-Identifier: BSD-2-Clause
 * The queue in front of an output's thread (output_queue.h). */
#include "pipeline/output/output_queue.h"

#include <errno.h>
#include <libavutil/mem.h>

enum {
    MAX_PACKETS = 2048,
    MAX_BYTES = 64 << 20, /* a single packet may be larger */
    STALE_US = 1000000,
};

void halo_output_item_free(struct halo_output_item *item)
{
    if (!item)
        return;
    av_packet_free(&item->pkt);
    halo_parameters_copy_finish(&item->begin);
    av_free(item);
}

void halo_output_queue_finish(struct halo_output_queue *q)
{
    while (q->head)
        halo_output_item_free(halo_output_queue_take(q));
}

static void append(struct halo_output_queue *q, struct halo_output_item *item)
{
    if (q->tail)
        q->tail->next = item;
    else
        q->head = item;
    q->tail = item;
    q->packets += item->pkt != NULL;
    q->bytes += item->pkt ? item->pkt->size : 0;
}

struct halo_output_item *halo_output_queue_take(struct halo_output_queue *q)
{
    struct halo_output_item *item = q->head;
    if (!item)
        return NULL;
    q->head = item->next;
    if (!q->head)
        q->tail = NULL;
    q->packets -= item->pkt != NULL;
    q->bytes -= item->pkt ? item->pkt->size : 0;
    return item;
}

bool halo_output_is_key(const AVPacket *pkt)
{
    return pkt->stream_index == 0 && pkt->flags & AV_PKT_FLAG_KEY;
}

int halo_output_queue_begin(struct halo_output_queue *q,
                            const struct halo_encoding_parameters *begin)
{
    struct halo_encoding_parameters wanted = *begin;
    wanted.card = wanted.solid = NULL;
    struct halo_output_item *item = av_mallocz(sizeof *item);
    if (!item || halo_parameters_copy_init(&item->begin, &wanted) < 0) {
        av_free(item);
        return -ENOMEM;
    }
    q->waiting = true;
    if (q->tail && !q->tail->pkt) {
        FFSWAP(struct halo_parameters_copy, q->tail->begin, item->begin);
        halo_output_item_free(item);
    } else {
        append(q, item);
    }
    return 0;
}

static bool has_room(const struct halo_output_queue *q, const AVPacket *pkt)
{
    return !q->packets || (q->packets < MAX_PACKETS && q->bytes + pkt->size <= MAX_BYTES);
}

static bool put(struct halo_output_queue *q, const AVPacket *pkt)
{
    struct halo_output_item *item = has_room(q, pkt) ? av_mallocz(sizeof *item) : NULL;
    if (item)
        item->pkt = av_packet_clone(pkt);
    if (!item || !item->pkt) {
        av_free(item);
        return false;
    }
    append(q, item);
    return true;
}

bool halo_output_queue_put(struct halo_output_queue *q, const AVPacket *pkt)
{
    const bool video = pkt->stream_index == 0;
    const bool taken = (!video || !q->waiting || halo_output_is_key(pkt)) && put(q, pkt);
    if (video)
        q->waiting = !taken;
    return taken;
}

int halo_output_queue_leave_out(struct halo_output_queue *q)
{
    const struct halo_output_item *newest = NULL;
    for (const struct halo_output_item *i = q->head; i && i->pkt; i = i->next)
        newest = halo_output_is_key(i->pkt) ? i : newest;
    int dropped = 0;
    if (!newest || newest->pkt->dts - q->head->pkt->dts <= STALE_US)
        return 0;
    for (; q->head != newest; dropped++)
        halo_output_item_free(halo_output_queue_take(q));
    return dropped;
}
