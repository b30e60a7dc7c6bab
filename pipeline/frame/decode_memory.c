/* SPDX-License-Identifier: BSD-2-Clause
 * Page-locked memory for decoders (decode_memory.h). */
#include "pipeline/frame/decode_memory.h"

#include <libavutil/buffer.h>
#include <libavutil/imgutils.h>
#include <libavutil/mem.h>

#include "config/base/thread.h"
#include "pipeline/frame/format.h"

enum {
    ALIGNMENT = 128, /* of rows and planes: more than the vectors of any decoder need */
    MARGIN = 128,    /* bytes after a plane that decoders may access */
};

struct halo_decode_memory {
    struct halo_memory *memory;
    struct halo_mutex lock;
    AVBufferPool *pool; /* of buffers with `size` bytes; under lock */
    size_t size;
    bool early; /* the buffers are from before the memory was ready */
};

struct layout {
    int linesize[4];
    size_t plane[4], total;
};

static AVBufferRef *allocate(void *opaque, size_t size)
{
    const struct halo_decode_memory *m = opaque;
    return halo_memory_buffer(m->memory, size);
}

struct halo_decode_memory *halo_decode_memory_create(struct halo_memory *memory)
{
    struct halo_decode_memory *m = av_mallocz(sizeof *m);
    if (!m)
        return NULL;
    m->memory = memory;
    return m;
}

void halo_decode_memory_destroy(struct halo_decode_memory *m)
{
    if (!m)
        return;
    av_buffer_pool_uninit(&m->pool); /* buffers in use are freed when released */
    av_free(m);
}

/* Strides of luma and chroma are enlarged together, because decoders rely on their ratio. */
static int lay_out(AVCodecContext *c, const AVFrame *frame, struct layout *ret)
{
    int width = frame->width, height = frame->height, align[AV_NUM_DATA_POINTERS], uneven = 1;
    ptrdiff_t wide[4];
    *ret = (struct layout){.total = 0};
    avcodec_align_dimensions2(c, &width, &height, align);
    for (int step = ALIGNMENT; uneven && step <= 16 * ALIGNMENT; step *= 2) {
        const int code =
            av_image_fill_linesizes(ret->linesize, frame->format, FFALIGN(width, step));
        if (code < 0)
            return code;
        uneven = 0;
        for (int p = 0; p < 4; p++)
            uneven |= ret->linesize[p] % ALIGNMENT;
    }
    for (int p = 0; p < 4; p++)
        wide[p] = ret->linesize[p];
    const int code = av_image_fill_plane_sizes(ret->plane, frame->format, height, wide);
    for (int p = 0; p < 4 && ret->plane[p]; p++)
        ret->total += ret->plane[p] = FFALIGN(ret->plane[p] + MARGIN, ALIGNMENT);
    return uneven ? AVERROR(EINVAL) : code;
}

/* Returns a buffer of this size. The pool is replaced if the size differs from before, or if memory
 * can be page-locked now. */
static AVBufferRef *take(struct halo_decode_memory *m, size_t size)
{
    halo_lock(&m->lock);
    if (m->size != size || (m->early && halo_memory_is_ready(m->memory))) {
        m->early = !halo_memory_is_ready(m->memory);
        av_buffer_pool_uninit(&m->pool);
        m->pool = av_buffer_pool_init2(size, m, allocate, NULL);
        m->size = m->pool ? size : 0;
    }
    AVBufferRef *ref = m->pool ? av_buffer_pool_get(m->pool) : NULL;
    halo_unlock(&m->lock);
    return ref;
}

int halo_decode_memory_get(struct halo_decode_memory *m, AVCodecContext *c, AVFrame *frame,
                           int flags)
{
    struct layout layout;
    if (!halo_format_is_native(frame->format) || lay_out(c, frame, &layout) < 0 ||
        !(frame->buf[0] = take(m, layout.total)))
        return avcodec_default_get_buffer2(c, frame, flags);
    uint8_t *at = frame->buf[0]->data;
    for (int p = 0; p < 4 && layout.plane[p]; p++) {
        frame->data[p] = at;
        frame->linesize[p] = layout.linesize[p];
        at += layout.plane[p];
    }
    frame->extended_data = frame->data;
    return 0;
}
