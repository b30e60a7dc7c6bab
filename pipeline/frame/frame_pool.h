/* SPDX-License-Identifier: BSD-2-Clause
 * Pools of reusable memory for frames of one format and size, page-locked if that makes copies
 * overlap. Frames may outlive the pool. */
#ifndef HALO_FRAME_POOL_H
#define HALO_FRAME_POOL_H

#include <libavutil/frame.h>
#include <stdbool.h>

#include "pipeline/frame/memory.h"

struct halo_frame_pool;

/* Creates a pool of frames in host memory. `memory` must outlive the pool. Returns NULL if memory
 * runs out or the format has no planes. */
struct halo_frame_pool *halo_frame_pool_create(struct halo_memory *memory,
                                               enum AVPixelFormat format, int width, int height);

/* Creates a pool of frames in the memory of an FFmpeg device, for a hardware encoder. Some frames
 * are allocated immediately, and more when they are needed, so an encoder that holds back many
 * frames never stops the stream. *ret_frames is the pool's AVHWFramesContext, valid as long as the
 * pool. Returns NULL if memory runs out or the device does not support the format. */
struct halo_frame_pool *halo_frame_pool_create_on(AVBufferRef *device, enum AVPixelFormat format,
                                                  int width, int height, AVBufferRef **ret_frames);
void halo_frame_pool_destroy(struct halo_frame_pool *pool); /* NULL is ignored */

/* Returns a frame with undefined content, or NULL if memory runs out. If gray is true, all samples
 * are gray, so samples that are never written do not show an older frame. In host memory, the
 * padding between rows contains either gray or older content from this pool, never anything else.
 * On a device, gray has no effect: the writer must fill the frame. The caller frees the frame. Any
 * thread. */
AVFrame *halo_frame_pool_get(struct halo_frame_pool *pool, bool gray);

#endif
