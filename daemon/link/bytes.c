/* SPDX-License-Identifier: BSD-2-Clause
 * A queue of bytes, in chunks. */
#include "daemon/link/bytes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

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

int halo_bytes_put(struct halo_bytes *bytes, const uint8_t *data, size_t size,
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

int halo_bytes_send(struct halo_bytes *bytes, int fd)
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

void halo_bytes_clear(struct halo_bytes *bytes)
{
    while (bytes->first)
        drop_first(bytes);
    bytes->count = 0;
}
