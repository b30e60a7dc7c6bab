/* SPDX-License-Identifier: BSD-2-Clause
 * A viewer with a muxer, which writes MPEG-TS, Matroska or NUT into a queue of bytes. */
#include <errno.h>
#include <libavutil/buffer.h>
#include <libavutil/imgutils.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "daemon/view/feed_mux.h"
#include "daemon/view/viewer.h"

/* ---- bytes that wait ---- */

/* A queue of bytes to be sent to a socket. Large pieces are kept as references, so several queues
 * can share them. Only one thread at a time may use a queue. */

/* A zeroed queue is empty. */
struct halo_bytes {
    struct halo_bytes_chunk *first, *last;
    size_t count; /* bytes in the queue */
};

enum { HALO_BYTES_TURN = 4 << 20 };

enum {
    LEAST_REFERENCE = 64 << 10, /* smaller pieces are copied, so that chunks are well filled */
    CHUNK = 16 << 10,
    MAX_PARTS = 16,
};

struct halo_bytes_chunk {
    struct halo_bytes_chunk *next;
    AVBufferRef *ref; /* or NULL: the bytes are in own */
    const uint8_t *data;
    size_t size, room; /* room: unused bytes in own */
    uint8_t own[];
};

static struct halo_bytes_chunk *add_chunk(struct halo_bytes *bytes, size_t room)
{
    struct halo_bytes_chunk *chunk = malloc(sizeof *chunk + room);
    if (!chunk)
        return NULL;
    *chunk = (struct halo_bytes_chunk){.data = chunk->own, .room = room};
    if (bytes->last)
        bytes->last->next = chunk;
    else
        bytes->first = chunk;
    bytes->last = chunk;
    return chunk;
}

static void drop_first(struct halo_bytes *bytes)
{
    struct halo_bytes_chunk *chunk = bytes->first;
    bytes->first = chunk->next;
    if (!bytes->first)
        bytes->last = NULL;
    av_buffer_unref(&chunk->ref);
    free(chunk);
}

static int put_reference(struct halo_bytes *bytes, const uint8_t *data, size_t size,
                         const AVBufferRef *ref)
{
    AVBufferRef *own = av_buffer_ref(ref);
    struct halo_bytes_chunk *chunk = own ? add_chunk(bytes, 0) : NULL;
    if (!chunk) {
        av_buffer_unref(&own);
        return -ENOMEM;
    }
    chunk->ref = own;
    chunk->data = data;
    chunk->size = size;
    bytes->count += size;
    return 0;
}

/* Appends data. Small pieces are copied. For a large piece, the queue keeps a reference to ref, the
 * buffer that contains data; if ref is NULL, large pieces are copied, too. Returns 0 or -ENOMEM. */
static int bytes_put(struct halo_bytes *bytes, const uint8_t *data, size_t size,
                     const AVBufferRef *ref)
{
    if (ref && size >= LEAST_REFERENCE)
        return put_reference(bytes, data, size, ref);
    while (size > 0) {
        struct halo_bytes_chunk *chunk = bytes->last;
        if (!chunk || chunk->room == 0)
            chunk = add_chunk(bytes, CHUNK);
        if (!chunk)
            return -ENOMEM;
        const size_t part = size < chunk->room ? size : chunk->room;
        /* If the chunk was sent in part, data has advanced, but the end of own has not. */
        memcpy(chunk->own + CHUNK - chunk->room, data, part);
        chunk->room -= part;
        chunk->size += part;
        bytes->count += part;
        data += part;
        size -= part;
    }
    return 0;
}

static void advance(struct halo_bytes *bytes, size_t sent)
{
    bytes->count -= sent;
    while (sent > 0) {
        struct halo_bytes_chunk *chunk = bytes->first;
        const size_t part = sent < chunk->size ? sent : chunk->size;
        chunk->data += part;
        chunk->size -= part;
        sent -= part;
        if (chunk->size == 0)
            drop_first(bytes);
    }
}

static ssize_t send_some(const struct halo_bytes *bytes, int fd)
{
    struct iovec parts[MAX_PARTS];
    struct msghdr message = {.msg_iov = parts};
    for (const struct halo_bytes_chunk *chunk = bytes->first;
         chunk && message.msg_iovlen < MAX_PARTS; chunk = chunk->next)
        parts[message.msg_iovlen++] =
            (struct iovec){.iov_base = (void *)chunk->data, .iov_len = chunk->size};
    return sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* Writes as much as the socket accepts now, but stops after HALO_BYTES_TURN bytes. Returns the
 * number of bytes written, or -errno if the socket has failed. */
static int bytes_send(struct halo_bytes *bytes, int fd)
{
    int sent = 0;
    while (bytes->count > 0 && sent < HALO_BYTES_TURN) {
        const ssize_t part = send_some(bytes, fd);
        if (part < 0 && errno == EINTR)
            continue;
        if (part < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS))
            break;
        if (part < 0)
            return -errno;
        advance(bytes, (size_t)part);
        sent += (int)part;
    }
    return sent;
}

/* ---- the muxer ---- */

enum {
    LEAST_LIMIT = 4 << 20, /* bytes that may be queued */
    FRAMES = 3,            /* unencoded frames that may be queued, if that is more */
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
    return bytes_put(&queue->bytes, data, size, ref);
}

static int mux_flush(struct halo_viewer *viewer, struct halo_error *err)
{
    struct queue *queue = viewer->own;
    const int sent = bytes_send(&queue->bytes, viewer->fd);
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

static int mux_begin(struct halo_viewer *viewer, const struct halo_encoding_parameters *begin,
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
    const int frame = video->codec_id == AV_CODEC_ID_RAWVIDEO
                          ? av_image_get_buffer_size(video->format, video->width, video->height, 1)
                          : 0;
    queue->limit = LEAST_LIMIT;
    if (frame > LEAST_LIMIT / FRAMES)
        queue->limit = (size_t)frame * FRAMES + LEAST_LIMIT / FRAMES;
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
    bytes_send(&queue->bytes, viewer->fd);
}

static void mux_close(struct halo_viewer *viewer)
{
    struct queue *queue = viewer->own;
    if (!queue)
        return;
    halo_feed_mux_destroy(queue->mux);
    while (queue->bytes.first)
        drop_first(&queue->bytes);
    queue->bytes.count = 0;
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
