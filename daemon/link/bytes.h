/* SPDX-License-Identifier: BSD-2-Clause
 * Bytes that wait for a socket. Large pieces are references, shared by all who wait with them. One
 * thread at a time. */
#ifndef HALO_BYTES_H
#define HALO_BYTES_H

#include <libavutil/buffer.h>
#include <stddef.h>
#include <stdint.h>

struct halo_bytes_chunk;

/* Zeroed: empty. */
struct halo_bytes {
    struct halo_bytes_chunk *first, *last;
    size_t count; /* bytes that wait */
};

/* 0, -ENOMEM. ref: the memory that data lies in, of which a reference is kept; NULL: a copy is. */
int halo_bytes_put(struct halo_bytes *bytes, const uint8_t *data, size_t size,
                   const AVBufferRef *ref);

/* Writes what the socket takes now, at most HALO_BYTES_TURN. Returns how much that was, or the
 * negative errno of a socket that is of no more use. */
enum { HALO_BYTES_TURN = 4 << 20 };
int halo_bytes_send(struct halo_bytes *bytes, int fd);

void halo_bytes_clear(struct halo_bytes *bytes);

#endif
