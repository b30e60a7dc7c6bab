/* SPDX-License-Identifier: BSD-2-Clause
 * Unpacks a camera's buffer into a frame's planes. */
#include <libavutil/common.h>
#include <string.h>

#include "pipeline/camera/camera_private.h"

enum { LEAST_JPEG = 128 }; /* bytes: the tables alone are larger */

/* JPEGs begin with SOI and end with EOI; drivers may append zeros. */
static bool is_jpeg(const uint8_t *data, size_t size)
{
    while (size > LEAST_JPEG && data[size - 1] == 0)
        size--;
    return size >= LEAST_JPEG && data[0] == 0xff && data[1] == 0xd8 && data[size - 2] == 0xff &&
           data[size - 1] == 0xd9;
}

static int chroma_rows(const struct halo_camera *c)
{
    const enum AVPixelFormat as = c->mode.format->as;
    const bool half = as == AV_PIX_FMT_YUV420P || as == AV_PIX_FMT_NV12;
    return half ? (c->mode.height + 1) / 2 : 0;
}

/* A plane's beginning, its stride, and the number of bytes in each row. */
struct part {
    int memory;
    size_t offset;
    uint32_t stride, row;
    int rows;
};

/* Number of the format's planes in memory. */
static int count_planes(const struct halo_camera *c)
{
    return chroma_rows(c) == 0 ? 1 : c->mode.format->as == AV_PIX_FMT_NV12 ? 2 : 3;
}

bool halo_camera_fits(const struct halo_camera *c)
{
    return c->memories == 1 || c->memories >= count_planes(c);
}

/* Finds the frame's planes in the memories; returns their count. One memory holds the planes one
 * after the other, with half the stride for the chroma of YU12. */
static int find_parts(const struct halo_camera *c, struct part *ret)
{
    const uint32_t width = (uint32_t)c->mode.width, half = (width + 1) / 2;
    const int below = chroma_rows(c), planes = count_planes(c);
    const bool apart = c->memories > 1, pairs = planes == 2;
    const uint32_t luma = c->mode.format->bits == 16 ? half * 4 : width;
    ret[0] = (struct part){0, 0, c->stride[0], luma, c->mode.height};
    size_t at = (size_t)c->stride[0] * (size_t)c->mode.height;
    for (int i = 1; i < planes; i++) {
        const uint32_t stride = apart   ? c->stride[i]
                                : pairs ? c->stride[0]
                                        : (c->stride[0] + 1) / 2;
        ret[i] =
            (struct part){apart ? i : 0, apart ? 0 : at, stride, pairs ? half * 2 : half, below};
        at += (size_t)stride * (size_t)below;
    }
    return planes;
}

/* The last row need not be padded to the stride. */
static size_t end_of(const struct part *p)
{
    return p->offset + (size_t)p->stride * (size_t)(p->rows - 1) + p->row;
}

bool halo_camera_is_whole(const struct halo_camera *c, const struct halo_camera_taken *taken)
{
    struct part part[HALO_CAMERA_PLANES];
    if (taken->flags & V4L2_BUF_FLAG_ERROR)
        return false;
    if (c->mode.format->coded)
        return is_jpeg(taken->data[0], taken->size[0]);
    const int parts = find_parts(c, part);
    for (int i = 0; i < parts; i++)
        if (end_of(&part[i]) > taken->size[part[i].memory])
            return false;
    return true;
}

/* Unpacks two pixels from each four bytes. y: offset of luma, 0 (YUYV) or 1 (UYVY). */
static void unpack_row(const uint8_t *from, int width, int y, uint8_t *luma, uint8_t *u, uint8_t *v)
{
    const int c = 1 - y;
    for (int x = 0; x < width / 2; x++) {
        luma[2 * x] = from[4 * x + y];
        luma[2 * x + 1] = from[4 * x + 2 + y];
        u[x] = from[4 * x + c];
        v[x] = from[4 * x + 2 + c];
    }
    if (width & 1) {
        const int x = width / 2;
        luma[2 * x] = from[4 * x + y];
        u[x] = from[4 * x + c];
        v[x] = from[4 * x + 2 + c];
    }
}

static void unpack_pairs(const struct halo_camera *c, const uint8_t *from, AVFrame *to)
{
    const int y = c->fourcc == V4L2_PIX_FMT_UYVY;
    for (int row = 0; row < to->height; row++)
        unpack_row(from + (size_t)row * c->stride[0], to->width, y,
                   to->data[0] + (ptrdiff_t)row * to->linesize[0],
                   to->data[1] + (ptrdiff_t)row * to->linesize[1],
                   to->data[2] + (ptrdiff_t)row * to->linesize[2]);
}

void halo_camera_unpack(const struct halo_camera *c, const struct halo_camera_taken *taken,
                        AVFrame *to)
{
    struct part part[HALO_CAMERA_PLANES];
    if (c->mode.format->bits == 16) {
        unpack_pairs(c, taken->data[0], to);
        return;
    }
    const int parts = find_parts(c, part);
    for (int i = 0; i < parts; i++) {
        const uint8_t *from = taken->data[part[i].memory] + part[i].offset;
        for (int row = 0; row < part[i].rows; row++)
            memcpy(to->data[i] + (ptrdiff_t)row * to->linesize[i],
                   from + (size_t)row * part[i].stride, part[i].row);
    }
}
