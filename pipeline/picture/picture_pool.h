/* SPDX-License-Identifier: BSD-2-Clause
 * Memory for pictures of one format and size, page-locked where that makes copies
 * overlap, used again and again. Pictures may outlive the pool. */
#ifndef HALO_PICTURE_POOL_H
#define HALO_PICTURE_POOL_H

#include <libavutil/frame.h>
#include <stdbool.h>

#include "pipeline/picture/memory.h"

struct halo_picture_pool;

/* memory must outlive the pool. NULL: out of memory, or a format without planes. */
struct halo_picture_pool *halo_picture_pool_create(struct halo_memory *memory,
                                                   enum AVPixelFormat format, int width,
                                                   int height);

/* Pictures in memory of an FFmpeg device instead, as a hardware encoder takes them: some are there
 * from the start, and more come when they are needed, so that an encoder which holds many back
 * never stops the stream. ret_frames is the pool as FFmpeg knows it (AVHWFramesContext), valid as
 * long as the pool. NULL: out of memory, or a format that the device does not have. */
struct halo_picture_pool *halo_picture_pool_create_on(AVBufferRef *device,
                                                      enum AVPixelFormat format, int width,
                                                      int height, AVBufferRef **ret_frames);
void halo_picture_pool_destroy(struct halo_picture_pool *pool); /* NULL is nothing to do */

/* A picture without content. gray: its samples are gray, so that what nobody writes shows no older
 * picture; what lies between rows always is gray, or older content of this pool. On a device it is
 * for the writer to gray it. NULL: out of memory. The caller frees it; any thread. */
AVFrame *halo_picture_pool_get(struct halo_picture_pool *pool, bool gray);

#endif
