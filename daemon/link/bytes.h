/* SPDX-License-Identifier: BSD-2-Clause
 * A queue of bytes to be sent to a socket. Large pieces are kept as references, so several queues
 * can share them. One thread at a time. */
#ifndef HALO_BYTES_H
#define HALO_BYTES_H

#include <libavutil/buffer.h>
#include <stddef.h>
#include <stdint.h>

struct halo_bytes_chunk;

/* Zeroed: empty. */
struct halo_bytes {
    struct halo_bytes_chunk *first, *last;
    size_t count; /* bytes in the queue */
};

/* Appends data. 0 or -ENOMEM. ref: the buffer that contains data; large pieces keep a reference to
 * it. NULL: data is copied. */
int halo_bytes_put(struct halo_bytes *bytes, const uint8_t *data, size_t size,
                   const AVBufferRef *ref);

/* Writes as much as the socket accepts now, and stops after HALO_BYTES_TURN. Returns the number of
 * bytes written, or -errno if the socket has failed. */
enum { HALO_BYTES_TURN = 4 << 20 };
int halo_bytes_send(struct halo_bytes *bytes, int fd);

void halo_bytes_clear(struct halo_bytes *bytes);

#endif
