/* SPDX-License-Identifier: BSD-2-Clause
 * Maps the memory of a packet ring (packet_memory.h). */
#include "pipeline/output/packet_memory.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

int halo_packet_memory_map(struct halo_packet_memory *m)
{
    void *at = mmap(NULL, HALO_PACKET_PAGE + m->size, PROT_READ | PROT_WRITE, MAP_SHARED, m->fd, 0);
    if (at == MAP_FAILED)
        return -errno;
    m->shared = at;
    m->bytes = (uint8_t *)at + HALO_PACKET_PAGE;
    return 0;
}

void halo_packet_memory_finish(struct halo_packet_memory *m)
{
    if (m->shared)
        munmap(m->shared, HALO_PACKET_PAGE + m->size);
    if (m->fd >= 0)
        close(m->fd);
    if (m->event >= 0)
        close(m->event);
}
