/* SPDX-License-Identifier: BSD-2-Clause
 * The rings that fill a stream's feeds. They belong to an engine and end with it; what it writes
 * there is not trusted. Loop thread only. */
#ifndef HALO_SUP_RING_H
#define HALO_SUP_RING_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "config/error.h"

struct sv_outlet;
struct sv_stream;

struct sv_ring {
    uv_poll_t poll; /* data: this */
    struct sv_outlet *outlet;
    struct halo_packet_reader *reader;
    int64_t size; /* of its memory, which cannot change */
    bool more;    /* has packets that had to wait for the others' turn */
    bool starves; /* there was no memory for the next one */
};

/* For an outlet without a ring. Takes both descriptors over, also on failure. on_ring is called as
 * long as there is something to read. -errno with err filled; -EPROTO: it is malformed. */
int sv_ring_open(struct sv_outlet *outlet, const int *fds, uv_poll_cb on_ring,
                 struct halo_error *err);
/* Reads into the feed until it is empty or has read as much as given. -EPROTO: it is malformed;
 * -ENOMEM: the packet stays in it. */
int sv_ring_read(struct sv_ring *ring, int most, int64_t most_bytes);
/* Reads what it still has; no more than it can hold, because its writer may go on writing. */
void sv_ring_empty(struct sv_outlet *outlet);
void sv_ring_close(struct sv_outlet *outlet);
void sv_ring_close_all(struct sv_stream *stream, bool drain);

#endif
