/* SPDX-License-Identifier: BSD-2-Clause
 * Rotates and mirrors unfiltered frames (orient.h). */
#include "pipeline/frame/orient.h"

#include <errno.h>
#include <libavutil/mem.h>
#include <libavutil/pixdesc.h>
#include <string.h>

#include "config/daemon.h"
#include "pipeline/base/av_version.h"
#include "pipeline/frame/format.h"
#include "pipeline/frame/frame_pool.h"
#include "pipeline/frame/raw_frame_private.h"

enum { TILE = 32 }; /* samples; columns are read, and a tile of this size stays in the cache */

struct halo_orient {
    struct halo_memory *memory;
    int quarters, mirror;
    struct halo_frame_pool *pool;
    enum AVPixelFormat format; /* of the pool */
    int width, height;
    uint8_t *half; /* a chroma plane with half its rows */
    size_t half_size;
};

/* A plane whose samples have one byte, or two if wide. */
struct part {
    uint8_t *data;
    ptrdiff_t stride;
    int width, height;
    bool wide;
};

int halo_orient_create(struct halo_orient **ret, struct halo_memory *memory, int quarters,
                       int mirror, struct halo_error *err)
{
    *ret = NULL;
    if (quarters == 0 && mirror == HALO_MIRROR_NONE)
        return 0;
    struct halo_orient *o = av_mallocz(sizeof *o);
    if (!o)
        return halo_fail(err, -ENOMEM, "out of memory");
    o->memory = memory;
    o->quarters = quarters;
    o->mirror = mirror;
    *ret = o;
    return 0;
}

void halo_orient_destroy(struct halo_orient *o)
{
    if (!o)
        return;
    halo_frame_pool_destroy(o->pool);
    av_free(o->half);
    av_free(o);
}

/* The format of the rotated frame; NONE: frames of this format cannot be rotated. */
static enum AVPixelFormat format_after(enum AVPixelFormat format, bool sideways)
{
    switch (format) {
    case AV_PIX_FMT_GRAY8:
    case AV_PIX_FMT_NV12:
    case AV_PIX_FMT_YUV420P:
    case AV_PIX_FMT_YUVJ420P:
    case AV_PIX_FMT_YUV444P:
    case AV_PIX_FMT_YUVJ444P:
        return format;
    case AV_PIX_FMT_YUV422P:
        return sideways ? AV_PIX_FMT_YUV420P : format;
    case AV_PIX_FMT_YUVJ422P:
        return sideways ? AV_PIX_FMT_YUVJ420P : format;
    default:
        return AV_PIX_FMT_NONE;
    }
}

int halo_orient_shape(const struct halo_orient *o, enum AVPixelFormat *format, int *width,
                      int *height)
{
    const bool sideways = o->quarters & 1;
    const enum AVPixelFormat after = format_after(*format, sideways);
    if (after == AV_PIX_FMT_NONE)
        return -ENOTSUP;
    const int w = *width;
    *format = after;
    *width = sideways ? *height : w;
    *height = sideways ? w : *height;
    return 0;
}

static struct part part_of(const AVFrame *f, int plane)
{
    const AVPixFmtDescriptor *desc = av_pix_fmt_desc_get(f->format);
    const bool chroma = plane > 0;
    return (struct part){
        .data = f->data[plane],
        .stride = f->linesize[plane],
        .width = chroma ? AV_CEIL_RSHIFT(f->width, desc->log2_chroma_w) : f->width,
        .height = chroma ? AV_CEIL_RSHIFT(f->height, desc->log2_chroma_h) : f->height,
        .wide = chroma && f->format == AV_PIX_FMT_NV12,
    };
}

/* Finds the steps in the source that correspond to one sample right and one row down in the target.
 * Returns the source of the target's first sample. */
static const uint8_t *find_steps(const struct halo_orient *o, const struct part *from,
                                 ptrdiff_t *ret_right, ptrdiff_t *ret_down)
{
    const ptrdiff_t size = from->wide ? 2 : 1;
    ptrdiff_t x = size, y = from->stride;
    const uint8_t *first = from->data;
    if (o->mirror == HALO_MIRROR_HORIZONTAL) {
        first += (from->width - 1) * x;
        x = -x;
    } else if (o->mirror == HALO_MIRROR_VERTICAL) {
        first += (from->height - 1) * y;
        y = -y;
    }
    switch (o->quarters) {
    case 1: /* the last row becomes the first column */
        first += (from->height - 1) * y;
        *ret_right = -y;
        *ret_down = x;
        break;
    case 2:
        first += (from->height - 1) * y + (from->width - 1) * x;
        *ret_right = -x;
        *ret_down = -y;
        break;
    case 3:
        first += (from->width - 1) * x;
        *ret_right = y;
        *ret_down = -x;
        break;
    default:
        *ret_right = x;
        *ret_down = y;
        break;
    }
    return first;
}

static void turn_tile(const struct part *to, const uint8_t *from, ptrdiff_t right, ptrdiff_t down,
                      const int *at)
{
    const int columns = FFMIN(TILE, to->width - at[0]), rows = FFMIN(TILE, to->height - at[1]);
    for (int y = 0; y < rows; y++) {
        const uint8_t *in = from + at[0] * right + (at[1] + y) * down;
        uint8_t *out = to->data + (at[1] + y) * to->stride + at[0] * (to->wide ? 2 : 1);
        for (int x = 0; x < columns; x++, in += right) {
            *out++ = in[0];
            if (to->wide)
                *out++ = in[1];
        }
    }
}

static void turn(const struct halo_orient *o, const struct part *to, const struct part *from)
{
    ptrdiff_t right, down;
    const uint8_t *first = find_steps(o, from, &right, &down);
    for (int y = 0; y < to->height; y += TILE)
        for (int x = 0; x < to->width; x += TILE)
            turn_tile(to, first, right, down, (const int[]){x, y});
}

/* Halves the rows of a plane: each result is the mean of two. */
static int halve(struct halo_orient *o, struct part *part)
{
    const int rows = (part->height + 1) / 2;
    const size_t size = (size_t)part->width * (size_t)rows;
    if (size > o->half_size) {
        av_free(o->half);
        o->half = av_malloc(size);
        o->half_size = o->half ? size : 0;
    }
    if (!o->half)
        return -ENOMEM;
    for (int y = 0; y < rows; y++) {
        const uint8_t *a = part->data + 2 * y * part->stride;
        const uint8_t *b = 2 * y + 1 < part->height ? a + part->stride : a;
        uint8_t *out = o->half + (ptrdiff_t)y * part->width;
        for (int x = 0; x < part->width; x++)
            out[x] = (uint8_t)((a[x] + b[x] + 1) / 2);
    }
    part->data = o->half;
    part->stride = part->width;
    part->height = rows;
    return 0;
}

static int turn_planes(struct halo_orient *o, AVFrame *to, const AVFrame *from)
{
    int code = 0;
    for (int plane = 0; plane < 3 && from->data[plane] && code >= 0; plane++) {
        const struct part out = part_of(to, plane);
        struct part in = part_of(from, plane);
        if (plane > 0 && to->format != from->format)
            code = halve(o, &in);
        if (code >= 0)
            turn(o, &out, &in);
    }
    return code;
}

static AVFrame *get_target(struct halo_orient *o, enum AVPixelFormat format, int width, int height)
{
    if (!o->pool || format != o->format || width != o->width || height != o->height) {
        halo_frame_pool_destroy(o->pool);
        o->pool = halo_frame_pool_create(o->memory, format, width, height);
        o->format = format;
        o->width = width;
        o->height = height;
    }
    return o->pool ? halo_frame_pool_get(o->pool, false) : NULL;
}

/* In a frame of odd width or height, chroma samples begin at the first column or row; after
 * mirroring they end at the last one, so they are off by half a sample. Rows of fields become
 * columns if the frame is rotated by 90 or 270 degrees. */
static int spill_of(const struct halo_orient *o, const AVFrame *from, const AVFrame *to)
{
    const int fields = o->quarters & 1 ? HALO_SPILL_X : HALO_SPILL_Y;
    return (to->width & 1 ? HALO_SPILL_X : 0) | (to->height & 1 ? HALO_SPILL_Y : 0) |
           (halo_av_frame_fields(from) & HALO_AV_INTERLACED ? fields : 0);
}

int halo_orient_pass(struct halo_orient *o, struct halo_raw_frame **raw, struct halo_error *err)
{
    const AVFrame *from = (*raw)->frame;
    enum AVPixelFormat format = from->format;
    int width = from->width, height = from->height;
    if (halo_orient_shape(o, &format, &width, &height) < 0)
        return halo_fail(err, -ENOTSUP, "%s frames cannot be rotated",
                         av_get_pix_fmt_name(from->format));
    struct halo_raw_frame *made = av_mallocz(sizeof *made);
    AVFrame *to = made ? get_target(o, format, width, height) : NULL;
    if (!to || turn_planes(o, to, from) < 0) {
        av_frame_free(&to);
        av_free(made);
        return halo_fail(err, -ENOMEM, "out of memory for a frame");
    }
    to->pts = from->pts;
    halo_av_frame_set_duration(to, halo_av_frame_duration(from));
    to->color_range = from->color_range;
    to->colorspace = from->colorspace;
    to->color_primaries = from->color_primaries;
    to->color_trc = from->color_trc;
    to->sample_aspect_ratio = from->sample_aspect_ratio;
    made->frame = to;
    made->format = format;
    made->spill = spill_of(o, from, to);
    halo_raw_frame_destroy(*raw);
    *raw = made;
    return 0;
}
