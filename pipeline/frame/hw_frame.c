/* SPDX-License-Identifier: BSD-2-Clause
 * Decoded frames in a GPU's memory (hw_frame.h). */
#include "pipeline/frame/hw_frame.h"

#include <errno.h>
#include <libavutil/hwcontext.h>
#include <libavutil/imgutils.h>
#include <libavutil/mem.h>
#include <libavutil/pixdesc.h>

#include "kernels/gather.h"
#include "pipeline/frame/format.h"
#include "pipeline/frame/hw_device.h"
#include "pipeline/frame/frame_pool.h"

enum { MAX_FORMATS = 3, WORD_BITS = 16 };

/* The formats that NVDEC writes, and those of software decoders for the same video, the most usual
 * one first. */
static const struct {
    enum AVPixelFormat hardware, software[MAX_FORMATS + 1];
} forms[] = {
    {AV_PIX_FMT_NV12, {AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUVJ420P, AV_PIX_FMT_GRAY8, AV_PIX_FMT_NONE}},
    {AV_PIX_FMT_P010, {AV_PIX_FMT_YUV420P10, AV_PIX_FMT_GRAY10, AV_PIX_FMT_NONE}},
    {AV_PIX_FMT_P016, {AV_PIX_FMT_YUV420P12, AV_PIX_FMT_GRAY12, AV_PIX_FMT_NONE}},
    {AV_PIX_FMT_YUV444P, {AV_PIX_FMT_YUV444P, AV_PIX_FMT_YUVJ444P, AV_PIX_FMT_NONE}},
    {AV_PIX_FMT_YUV444P16, {AV_PIX_FMT_YUV444P10, AV_PIX_FMT_YUV444P12, AV_PIX_FMT_NONE}},
};
enum { FORMS = sizeof forms / sizeof *forms };

static bool lists(const enum AVPixelFormat *list, enum AVPixelFormat format)
{
    for (; *list != AV_PIX_FMT_NONE; list++)
        if (*list == format)
            return true;
    return false;
}

static const AVHWFramesContext *frames_of(const AVFrame *frame)
{
    return (const AVHWFramesContext *)frame->hw_frames_ctx->data;
}

bool halo_hw_frame_is(const AVFrame *frame)
{
    return frame->format == AV_PIX_FMT_CUDA && frame->hw_frames_ctx;
}

bool halo_hw_format_known(enum AVPixelFormat format)
{
    for (int i = 0; i < FORMS; i++)
        if (lists(forms[i].software, format))
            return true;
    return false;
}

enum AVPixelFormat halo_hw_frame_format(const AVFrame *frame, enum AVPixelFormat wanted)
{
    for (int i = 0; i < FORMS; i++)
        if (forms[i].hardware == frames_of(frame)->sw_format)
            return lists(forms[i].software, wanted) ? wanted : forms[i].software[0];
    return AV_PIX_FMT_NONE;
}

/* For such frames, FFmpeg leaves cropping at the left and top to the reader. */
int halo_hw_frame_width(const AVFrame *frame)
{
    return frame->width - (int)frame->crop_left;
}

int halo_hw_frame_height(const AVFrame *frame)
{
    return frame->height - (int)frame->crop_top;
}

/* Bytes from the first plane to plane number index. FFmpeg's own pointers to the other planes are
 * wrong if the height is odd, because the hardware rounds it up to even. */
static size_t plane_offset(const AVFrame *frame, int index)
{
    return (size_t)frame->linesize[0] * (size_t)frames_of(frame)->height * (size_t)index;
}

/* Bytes of all planes, exactly up to the last sample: there may be no memory after it. */
static size_t bytes_of(const AVFrame *frame)
{
    const AVHWFramesContext *frames = frames_of(frame);
    const AVPixFmtDescriptor *layout = av_pix_fmt_desc_get(frames->sw_format);
    const int planes = av_pix_fmt_count_planes(frames->sw_format);
    const int rows = AV_CEIL_RSHIFT(frame->height, layout->log2_chroma_h);
    const int row = av_image_get_linesize(frames->sw_format, frame->width, planes - 1);
    return plane_offset(frame, planes - 1) + (size_t)frame->linesize[0] * (size_t)(rows - 1) +
           (size_t)row;
}

/* Describes a plane of the hardware's frame, whose samples begin at first. */
static void find_plane(const AVFrame *frame, uint8_t *first, enum AVPixelFormat format, int index,
                       struct halo_frame_plane *ret)
{
    const AVPixFmtDescriptor *d = av_pix_fmt_desc_get(frames_of(frame)->sw_format);
    const AVComponentDescriptor *c = &d->comp[index];
    uint8_t *plane = first + plane_offset(frame, c->plane);
    const struct halo_plane_info info = halo_format_plane_info(format, halo_hw_frame_width(frame),
                                                               halo_hw_frame_height(frame), index);
    const int depth = info.target.depth;
    const int down = (int)frame->crop_top >> info.log2_sub_y;
    const int right = (int)frame->crop_left >> info.log2_sub_x;
    ret->src = (struct halo_plane){
        .data = plane + down * (ptrdiff_t)frame->linesize[0] + right * c->step + c->offset,
        .stride = frame->linesize[0],
        .width = info.width,
        .height = info.height,
        .channels = 1,
        .depth = depth,
        .shift = depth > 8 ? WORD_BITS - depth : 0,
    };
    ret->gather = c->step / halo_plane_sample_bytes(&ret->src);
    if (ret->gather == 1 && ret->src.shift == 0)
        ret->gather = 0;
}

void halo_hw_frame_plane(const AVFrame *frame, enum AVPixelFormat format, int index,
                         struct halo_frame_plane *ret)
{
    find_plane(frame, frame->data[0], format, index, ret);
}

void *halo_hw_frame_stream(const AVFrame *frame)
{
    return halo_hw_device_stream(frames_of(frame)->device_ctx);
}

struct halo_hw_keep {
    AVBufferPool *pool;
    size_t size; /* of the pool's buffers */
};

struct halo_hw_keep *halo_hw_keep_create(void)
{
    return av_mallocz(sizeof(struct halo_hw_keep));
}

void halo_hw_keep_destroy(struct halo_hw_keep *k)
{
    if (!k)
        return;
    av_buffer_pool_uninit(&k->pool);
    av_free(k);
}

int halo_hw_keep_frame(struct halo_hw_keep *k, AVFrame *frame, struct halo_error *err)
{
    const AVHWFramesContext *frames = frames_of(frame);
    const size_t size = bytes_of(frame);
    if (k->size != size)
        av_buffer_pool_uninit(&k->pool);
    k->size = size;
    if (!k->pool)
        k->pool = halo_hw_device_pool(frames->device_ref, size);
    AVBufferRef *to = k->pool ? av_buffer_pool_get(k->pool) : NULL;
    if (!to)
        return halo_fail(err, -ENOMEM, "out of the GPU's memory for a frame");
    const int code = halo_hw_device_copy(frames->device_ctx, to->data, frame->data[0], size, err);
    if (code < 0) {
        av_buffer_unref(&to);
        return code;
    }
    for (int i = 1; i < AV_NUM_DATA_POINTERS; i++)
        frame->data[i] = frame->data[i] ? to->data + (frame->data[i] - frame->data[0]) : NULL;
    frame->data[0] = to->data;
    for (int i = 0; i < AV_NUM_DATA_POINTERS; i++)
        av_buffer_unref(&frame->buf[i]);
    frame->buf[0] = to;
    return 0;
}

struct halo_hw_download {
    struct halo_memory *memory;
    struct halo_frame_pool *pool; /* of the format and size below */
    enum AVPixelFormat format;
    int width, height;
    uint8_t *planes; /* as copied from the device */
    unsigned size;
};

struct halo_hw_download *halo_hw_download_create(struct halo_memory *memory)
{
    struct halo_hw_download *d = av_mallocz(sizeof *d);
    if (d)
        d->memory = memory;
    return d;
}

void halo_hw_download_destroy(struct halo_hw_download *d)
{
    if (!d)
        return;
    halo_frame_pool_destroy(d->pool);
    av_free(d->planes);
    av_free(d);
}

/* Copies all planes as they are. NULL with err filled on failure. */
static uint8_t *read_planes(struct halo_hw_download *d, const AVFrame *frame,
                            struct halo_error *err)
{
    const AVHWFramesContext *frames = frames_of(frame);
    const size_t size = bytes_of(frame);
    av_fast_malloc(&d->planes, &d->size, size);
    if (!d->planes) {
        halo_fail(err, -ENOMEM, "out of memory for a frame");
        return NULL;
    }
    return halo_hw_device_read(frames->device_ctx, d->planes, frame->data[0], size, err) < 0
               ? NULL
               : d->planes;
}

static AVFrame *make_frame(struct halo_hw_download *d, const AVFrame *like,
                           enum AVPixelFormat format)
{
    const int width = halo_hw_frame_width(like), height = halo_hw_frame_height(like);
    if (d->format != format || d->width != width || d->height != height) {
        halo_frame_pool_destroy(d->pool);
        d->pool = NULL;
    }
    if (!d->pool)
        d->pool = halo_frame_pool_create(d->memory, format, width, height);
    d->format = format;
    d->width = width;
    d->height = height;
    AVFrame *ret = d->pool ? halo_frame_pool_get(d->pool, false) : NULL;
    if (ret && av_frame_copy_props(ret, like) < 0)
        av_frame_free(&ret);
    if (ret)
        ret->crop_left = ret->crop_top = 0;
    return ret;
}

int halo_hw_download(struct halo_hw_download *d, const AVFrame *frame, enum AVPixelFormat format,
                     AVFrame **ret, struct halo_error *err)
{
    AVFrame *to = make_frame(d, frame, format);
    if (!to)
        return halo_fail(err, -ENOMEM, "out of memory for a frame");
    uint8_t *first = read_planes(d, frame, err);
    if (!first) {
        av_frame_free(&to);
        return err->code;
    }
    for (int p = 0; p < halo_format_planes(format); p++) {
        struct halo_frame_plane from;
        const struct halo_plane dst = halo_format_plane(to, p);
        find_plane(frame, first, format, p, &from);
        halo_gather(&dst, &from.src, from.gather ? from.gather : 1);
    }
    *ret = to;
    return 0;
}
