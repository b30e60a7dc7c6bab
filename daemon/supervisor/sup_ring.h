/* SPDX-License-Identifier: BSD-2-Clause
 * The rings that fill a stream's feeds. They belong to an engine and end with it; the data that the
 * engine writes into them is not trusted. Loop thread only. */
#ifndef HALO_SUP_RING_H
#define HALO_SUP_RING_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "config/base/error.h"

struct sv_packet_feed;
struct sv_stream;

struct sv_ring {
    uv_poll_t poll; /* data: this */
    struct sv_packet_feed *packet_feed;
    struct halo_packet_reader *reader;
    int64_t size; /* size of the ring's memory in bytes; never changes */
    bool more;    /* the ring still contains packets, which wait while other rings are read */
    bool starves; /* the supervisor had too little memory to read the next packet */
};

/* Opens the ring of an packet feed (one encoding of a stream) that has no ring yet. Takes ownership
 * of both descriptors, even on failure. on_ring is called while the ring has packets to read.
 * Returns 0, or -errno with err filled (-EPROTO if the ring is malformed). */
int sv_ring_open(struct sv_packet_feed *packet_feed, const int *fds, uv_poll_cb on_ring,
                 struct halo_error *err);
/* Passes packets to the feed until the ring is empty or a limit is reached: `most` packets or
 * most_bytes bytes. Returns 0, -EPROTO if the ring is malformed, or -ENOMEM, in which case the
 * packet remains in the ring. */
int sv_ring_read(struct sv_ring *ring, int most, int64_t most_bytes);
/* Reads the remaining packets, but no more than the ring can hold, because its writer may still be
 * writing. */
void sv_ring_empty(struct sv_packet_feed *packet_feed);
void sv_ring_close(struct sv_packet_feed *packet_feed);
void sv_ring_close_all(struct sv_stream *stream, bool drain);

#endif
