/* SPDX-License-Identifier: BSD-2-Clause
 * Memory for pictures of one format and size, from the backend (page-locked where that makes copies
 * overlap), used again and again. Pictures may outlive the pool. */
#ifndef HALO_PICTURE_POOL_H
#define HALO_PICTURE_POOL_H

#include <libavutil/frame.h>
#include <stdbool.h>

#include "kernels/frame.h"

/* size bytes of the backend's memory as a buffer, freed with its last reference; NULL: none left.
 * Any thread. */
AVBufferRef *halo_backend_buffer(const struct halo_backend_ops *ops, size_t size);

struct halo_picture_pool;

/* NULL: out of memory, or a format without planes. */
struct halo_picture_pool *halo_picture_pool_create(const struct halo_backend_ops *ops,
                                                   enum AVPixelFormat format, int width,
                                                   int height);
void halo_picture_pool_destroy(struct halo_picture_pool *pool); /* NULL is nothing to do */

/* A picture without content. gray: its samples are gray, so that what nobody writes shows no older
 * picture; what lies between rows always is gray, or older content of this pool. NULL: out of
 * memory. The caller frees it; any thread. */
AVFrame *halo_picture_pool_get(struct halo_picture_pool *pool, bool gray);

#endif
