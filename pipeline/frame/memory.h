/* SPDX-License-Identifier: BSD-2-Clause
 * Memory for the frames of a stream. It is page-locked, so that the device copies directly, up to a
 * limit for each stream and as long as the system provides such memory. Beyond that, ordinary
 * memory is used, which is slower; this is logged once.
 *
 * A struct halo_memory counts the memory of one stream; buffers may outlive it. Any thread. */
#ifndef HALO_MEMORY_H
#define HALO_MEMORY_H

#include <libavutil/buffer.h>

#include "kernels/frame.h"
#include "pipeline/base/arrival.h"

struct halo_memory;

/* `most` is the limit on page-locked memory, in bytes. If `most` is negative, a quarter of the
 * machine's memory, but at most 2 GiB, is used as the limit. Returns NULL if memory runs out. */
struct halo_memory *halo_memory_create(const struct halo_backend_ops *ops, int64_t most);
void halo_memory_destroy(struct halo_memory *m); /* NULL is ignored */

/* Makes the memory ordinary until the device has arrived. Call this before the first allocation;
 * the arrival must last until the last one. */
void halo_memory_expect(struct halo_memory *m, const struct halo_arrival *arrival);
/* Returns whether memory can be page-locked now. Pools that hold ordinary memory should then be
 * replaced. */
bool halo_memory_is_ready(const struct halo_memory *m);

/* Allocates size bytes, aligned to 256 bytes. Returns NULL if neither page-locked nor ordinary
 * memory is available. */
AVBufferRef *halo_memory_buffer(struct halo_memory *m, size_t size);

/* Returns the size of the machine's memory, in bytes. Any thread. */
int64_t halo_memory_of_machine(void);

#endif
