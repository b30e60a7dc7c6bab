/* SPDX-License-Identifier: BSD-2-Clause
 * A viewer with a muxer, which writes MPEG-TS, Matroska or NUT into a queue of bytes. */
#include <errno.h>
#include <libavutil/imgutils.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/link/bytes.h"
#include "daemon/view/feed_mux.h"
#include "daemon/view/viewer.h"

enum {
    LEAST_LIMIT = 4 << 20, /* bytes that may be queued */
    PICTURES = 3,          /* unencoded frames that may be queued, if that is more */
};

struct queue {
    struct halo_feed_mux *mux;
    struct halo_bytes bytes;
    size_t limit;
    bool skips; /* drops packets up to the next keyframe */
};

static int put_bytes(void *arg, const uint8_t *data, size_t size, const AVBufferRef *ref)
{
    struct queue *queue = arg;
    return halo_bytes_put(&queue->bytes, data, size, ref);
}

static int mux_flush(struct halo_viewer *viewer, struct halo_error *err)
{
    struct queue *queue = viewer->own;
    const int sent = halo_bytes_send(&queue->bytes, viewer->fd);
    if (sent < 0)
        return halo_fail(err, sent, "%s", strerror(-sent));
    viewer->shared->sent += sent;
    viewer->wants_write = queue->bytes.count > 0;
    halo_viewer_waits(viewer, viewer->wants_write, sent > 0);
    return 0;
}

/* ---- from the feed ---- */

/* Whether viewers of this socket get anything, and why not. */
static void remember(struct halo_viewer *viewer, int code, const struct halo_error *err)
{
    snprintf(viewer->shared->why, sizeof viewer->shared->why, "%s", code < 0 ? err->text : "");
}

static int mux_begin(struct halo_viewer *viewer, const struct halo_live_begin *begin,
                     struct halo_error *err)
{
    struct queue *queue = viewer->own;
    const AVCodecParameters *video = begin->video;
    const int code = halo_feed_mux_begin(queue->mux, begin, err);
    if (code < 0) {
        if (code != -EPIPE) /* otherwise another header is needed: the viewer may reconnect */
            remember(viewer, code, err);
        return code;
    }
    const int picture =
        video->codec_id == AV_CODEC_ID_RAWVIDEO
            ? av_image_get_buffer_size(video->format, video->width, video->height, 1)
            : 0;
    queue->limit = LEAST_LIMIT;
    if (picture > LEAST_LIMIT / PICTURES)
        queue->limit = (size_t)picture * PICTURES + LEAST_LIMIT / PICTURES;
    return 0;
}

/* Whether the queue has room for pkt. After a packet without room, everything up to the next
 * keyframe is dropped. */
static bool has_room(struct queue *queue, const AVPacket *pkt)
{
    const bool key = pkt->stream_index == 0 && (pkt->flags & AV_PKT_FLAG_KEY);
    const size_t count = queue->bytes.count;
    queue->skips =
        (queue->skips && !key) || (count > 0 && count + (size_t)pkt->size > queue->limit);
    return !queue->skips;
}

static int mux_packet(struct halo_viewer *viewer, const AVPacket *pkt, struct halo_error *err)
{
    struct queue *queue = viewer->own;
    if (!has_room(queue, pkt)) {
        viewer->shared->dropped++;
        return 0; /* the socket is full and is being polled */
    }
    const int code = halo_feed_mux_packet(queue->mux, pkt, err);
    remember(viewer, code, err);
    if (code < 0)
        return code;
    return viewer->wants_write ? 0 : mux_flush(viewer, err);
}

/* ---- life ---- */

static int mux_receive(struct halo_viewer *viewer, const uint8_t *data, size_t size,
                       struct halo_error *err)
{
    (void)viewer, (void)data, (void)size, (void)err;
    return 0; /* data from players is ignored */
}

static void mux_end(struct halo_viewer *viewer)
{
    struct queue *queue = viewer->own;
    if (!queue->skips)
        halo_feed_mux_end(queue->mux);
    halo_bytes_send(&queue->bytes, viewer->fd);
}

static void mux_close(struct halo_viewer *viewer)
{
    struct queue *queue = viewer->own;
    if (!queue)
        return;
    halo_feed_mux_destroy(queue->mux);
    halo_bytes_clear(&queue->bytes);
    free(queue);
}

static int mux_open(struct halo_viewer *viewer)
{
    struct queue *queue = calloc(1, sizeof *queue);
    const struct halo_viewer_format *format = viewer->shared->format;
    const struct halo_feed_mux_settings settings = {format->muxer, format->rigid, INT64_MIN};
    viewer->own = queue;
    return queue ? halo_feed_mux_create(&queue->mux, &settings, put_bytes, queue) : -ENOMEM;
}

const struct halo_viewer_ops halo_viewer_mux = {
    .open = mux_open,
    .begin = mux_begin,
    .packet = mux_packet,
    .flush = mux_flush,
    .receive = mux_receive,
    .end = mux_end,
    .close = mux_close,
};
