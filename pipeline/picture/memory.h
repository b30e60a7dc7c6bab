/* SPDX-License-Identifier: BSD-2-Clause
 * Memory for the pictures of a stream: page-locked, so that the device copies without a detour, as
 * long as there is some, and no more of it than the stream may have. What goes beyond is ordinary
 * memory: slower, and said once.
 *
 * One account for a stream; buffers may outlive it. Any thread. */
#ifndef HALO_MEMORY_H
#define HALO_MEMORY_H

#include <libavutil/buffer.h>

#include "kernels/frame.h"

struct halo_memory;

/* most: bytes that may be page-locked at once; negative: a quarter of the machine's memory, at most
 * 2 GiB. NULL: out of memory. */
struct halo_memory *halo_memory_create(const struct halo_backend_ops *ops, int64_t most);
void halo_memory_destroy(struct halo_memory *m); /* NULL is nothing to do */

/* size bytes, aligned to 256; NULL: there is no memory of any kind. */
AVBufferRef *halo_memory_buffer(struct halo_memory *m, size_t size);

#endif
