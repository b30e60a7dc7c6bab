/* SPDX-License-Identifier: BSD-2-Clause
 * The memory of a packet ring (packet_ring.h), as both sides see it.
 *
 *   memfd: | head, tail, padding to a page | size bytes of records, used in a circle |
 *   record: | kind, size of the rest | struct halo_packet_fields, data   or   parameters_wire.h |
 *
 * head and tail count bytes since the beginning. Both, and the sizes of records, are multiples of
 * 8. */
#ifndef HALO_PACKET_MEMORY_H
#define HALO_PACKET_MEMORY_H

#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "pipeline/output/parameters_wire.h"

enum {
    HALO_PACKET_PAGE = 4096,
    HALO_PACKET_LEAST = 65536, /* smallest space for records, in bytes */
    HALO_PACKET_MAX = 1 << 30,
    HALO_PACKET_SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL,
};

struct halo_packet_shared {
    _Alignas(64) _Atomic uint64_t head; /* set by the writer */
    _Alignas(64) _Atomic uint64_t tail; /* set by the reader */
};

struct halo_packet_header {
    uint32_t kind; /* enum halo_packet_kind */
    uint32_t size;
};
_Static_assert(sizeof(struct halo_packet_header) == 8 && sizeof(struct halo_packet_fields) == 32,
               "no holes");

struct halo_packet_memory {
    int fd, event;
    size_t size; /* space for records, in bytes */
    struct halo_packet_shared *shared;
    uint8_t *bytes; /* the records, which begin HALO_PACKET_PAGE bytes after shared */
};

static inline size_t halo_packet_padded(size_t size)
{
    return (size + 7) & ~(size_t)7;
}

/* Maps the memory; fd and size must be set. Returns 0 or -errno. */
int halo_packet_memory_map(struct halo_packet_memory *m);
/* Unmaps the memory and closes both descriptors, unless they are negative. */
void halo_packet_memory_finish(struct halo_packet_memory *m);

#endif
