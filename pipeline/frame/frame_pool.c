/* SPDX-License-Identifier: BSD-2-Clause
 * Pools of memory for frames (frame_pool.h). */
#include "pipeline/frame/frame_pool.h"

#include <libavutil/buffer.h>
#include <libavutil/hwcontext.h>
#include <libavutil/imgutils.h>
#include <libavutil/mem.h>
#include <string.h>

#include "config/base/thread.h"

enum {
    ROW_ALIGNMENT = 128, /* two cache lines, and whole memory transactions of a GPU */
    PLANE_ALIGNMENT = 256,
    MORE_ROWS = 16, /* encoders read whole macroblocks, beyond the frame's last row */
    GRAY = 0x80,
    ON_DEVICE = 8, /* frames allocated at once: as many as lanes, queue and encoder hold together */
};

struct halo_frame_pool {
    struct halo_memory *memory;
    struct halo_mutex lock;
    AVBufferPool *buffers; /* NULL on a device, which uses frames instead; under lock */
    bool early;            /* the buffers are from before the memory was ready; under lock */
    size_t size;           /* of a buffer */
    AVBufferRef *frames;
    enum AVPixelFormat format;
    int width, height;
    int linesize[4];
    size_t plane_size[4];
};

static AVBufferRef *allocate(void *opaque, size_t size)
{
    const struct halo_frame_pool *pool = opaque;
    AVBufferRef *ref = halo_memory_buffer(pool->memory, size);
    if (ref)
        memset(ref->data, GRAY, size);
    return ref;
}

static size_t lay_out(struct halo_frame_pool *pool)
{
    ptrdiff_t wide[4];
    size_t total = 0;
    if (av_image_fill_linesizes(pool->linesize, pool->format, pool->width) < 0)
        return 0;
    for (int p = 0; p < 4; p++)
        wide[p] = pool->linesize[p] = FFALIGN(pool->linesize[p], ROW_ALIGNMENT);
    if (av_image_fill_plane_sizes(pool->plane_size, pool->format,
                                  FFALIGN(pool->height, 32) + MORE_ROWS, wide) < 0)
        return 0;
    for (int p = 0; p < 4; p++)
        total += pool->plane_size[p] = FFALIGN(pool->plane_size[p], PLANE_ALIGNMENT);
    return total;
}

struct halo_frame_pool *halo_frame_pool_create(struct halo_memory *memory,
                                               enum AVPixelFormat format, int width, int height)
{
    struct halo_frame_pool *pool = av_mallocz(sizeof *pool);
    if (!pool)
        return NULL;
    *pool = (struct halo_frame_pool){
        .memory = memory, .format = format, .width = width, .height = height};
    pool->size = lay_out(pool);
    pool->early = !halo_memory_is_ready(memory);
    if (pool->size > 0)
        pool->buffers = av_buffer_pool_init2(pool->size, pool, allocate, NULL);
    if (!pool->buffers) {
        halo_frame_pool_destroy(pool);
        return NULL;
    }
    return pool;
}

struct halo_frame_pool *halo_frame_pool_create_on(AVBufferRef *device, enum AVPixelFormat format,
                                                  int width, int height, AVBufferRef **ret_frames)
{
    struct halo_frame_pool *pool = av_mallocz(sizeof *pool);
    if (!pool)
        return NULL;
    pool->frames = av_hwframe_ctx_alloc(device);
    if (pool->frames) {
        AVHWFramesContext *frames = (AVHWFramesContext *)pool->frames->data;
        frames->format = AV_PIX_FMT_CUDA;
        frames->sw_format = format;
        frames->width = width;
        frames->height = height;
        frames->initial_pool_size = ON_DEVICE;
    }
    if (!pool->frames || av_hwframe_ctx_init(pool->frames) < 0) {
        halo_frame_pool_destroy(pool);
        return NULL;
    }
    *ret_frames = pool->frames;
    return pool;
}

void halo_frame_pool_destroy(struct halo_frame_pool *pool)
{
    if (!pool)
        return;
    av_buffer_unref(&pool->frames);
    av_buffer_pool_uninit(&pool->buffers); /* buffers in use are freed when released */
    av_free(pool);
}

/* Once memory can be page-locked, ordinary buffers are no longer reused. */
static AVBufferRef *take(struct halo_frame_pool *pool)
{
    halo_lock(&pool->lock);
    if (pool->early && halo_memory_is_ready(pool->memory)) {
        AVBufferPool *fresh = av_buffer_pool_init2(pool->size, pool, allocate, NULL);
        pool->early = !fresh;
        if (fresh) {
            av_buffer_pool_uninit(&pool->buffers);
            pool->buffers = fresh;
        }
    }
    AVBufferRef *ret = av_buffer_pool_get(pool->buffers);
    halo_unlock(&pool->lock);
    return ret;
}

AVFrame *halo_frame_pool_get(struct halo_frame_pool *pool, bool gray)
{
    AVFrame *frame = av_frame_alloc();
    if (!frame)
        return NULL;
    if (pool->frames) {
        if (av_hwframe_get_buffer(pool->frames, frame, 0) < 0)
            av_frame_free(&frame);
        return frame;
    }
    frame->buf[0] = take(pool);
    if (!frame->buf[0]) {
        av_frame_free(&frame);
        return NULL;
    }
    frame->format = pool->format;
    frame->width = pool->width;
    frame->height = pool->height;
    uint8_t *at = frame->buf[0]->data;
    for (int p = 0; p < 4 && pool->plane_size[p]; p++) {
        frame->data[p] = at;
        frame->linesize[p] = pool->linesize[p];
        if (gray)
            memset(at, GRAY, pool->plane_size[p]);
        at += pool->plane_size[p];
    }
    return frame;
}
