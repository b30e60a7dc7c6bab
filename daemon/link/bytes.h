/* SPDX-License-Identifier: BSD-2-Clause
 * A queue of bytes to be sent to a socket. Large pieces are kept as references, so several queues
 * can share them. Only one thread at a time may use a queue. */
#ifndef HALO_BYTES_H
#define HALO_BYTES_H

#include <libavutil/buffer.h>
#include <stddef.h>
#include <stdint.h>

struct halo_bytes_chunk;

/* A zeroed queue is empty. */
struct halo_bytes {
    struct halo_bytes_chunk *first, *last;
    size_t count; /* bytes in the queue */
};

/* Appends data. Small pieces are copied. For a large piece, the queue keeps a reference to ref, the
 * buffer that contains data; if ref is NULL, large pieces are copied, too. Returns 0 or -ENOMEM. */
int halo_bytes_put(struct halo_bytes *bytes, const uint8_t *data, size_t size,
                   const AVBufferRef *ref);

enum { HALO_BYTES_TURN = 4 << 20 };
/* Writes as much as the socket accepts now, but stops after HALO_BYTES_TURN bytes. Returns the
 * number of bytes written, or -errno if the socket has failed. */
int halo_bytes_send(struct halo_bytes *bytes, int fd);

void halo_bytes_clear(struct halo_bytes *bytes);

#endif
