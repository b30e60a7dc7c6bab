/* SPDX-License-Identifier: BSD-2-Clause
 * Samples of a camera that is played (v4l2.h). */
#include <linux/videodev2.h>
#include <string.h>

#include "tests/standin/v4l2_private.h"

double standin_bytes(const struct mode *m)
{
    const double pixels = (double)m->width * m->height;
    return m->fourcc == V4L2_PIX_FMT_MJPEG                                    ? pixels / 4
           : m->fourcc == V4L2_PIX_FMT_YUYV || m->fourcc == V4L2_PIX_FMT_UYVY ? pixels * 2
           : m->fourcc == V4L2_PIX_FMT_GREY                                   ? pixels
                                                                              : pixels * 1.5;
}

/* Known samples: luma of a place, and chroma of a place of its own plane. */
static uint8_t luma(unsigned x, unsigned y, unsigned n)
{
    return (uint8_t)(16 + ((x * 3 + y * 5 + n) & 127) + ((x ^ y) & 1) * 80);
}

static uint8_t chroma(unsigned x, unsigned y, int v)
{
    return (uint8_t)(v ? 200 - (x * 2 + y) % 64 : 60 + (x + y * 2) % 64);
}

static void paint_pairs(uint8_t *to, const struct mode *m, unsigned n, int y_at)
{
    for (unsigned y = 0; y < (unsigned)m->height; y++)
        for (unsigned x = 0; x < (unsigned)m->width; x++, to += 2) {
            to[y_at] = luma(x, y, n);
            to[1 - y_at] = chroma(x / 2, y, x & 1);
        }
}

static void paint_planes(uint8_t *to, const struct mode *m, unsigned n)
{
    const unsigned w = (unsigned)m->width, h = (unsigned)m->height;
    for (unsigned y = 0; y < h; y++)
        for (unsigned x = 0; x < w; x++)
            *to++ = luma(x, y, n);
    if (m->fourcc == V4L2_PIX_FMT_NV12)
        for (unsigned y = 0; y < h / 2; y++)
            for (unsigned x = 0; x < w; x++)
                *to++ = chroma(x / 2, y, x & 1);
    if (m->fourcc == V4L2_PIX_FMT_YUV420)
        for (int v = 0; v < 2; v++)
            for (unsigned y = 0; y < h / 2; y++)
                for (unsigned x = 0; x < w / 2; x++)
                    *to++ = chroma(x, y, v);
}

size_t standin_paint(const struct standin_camera *c, uint8_t *to, unsigned n)
{
    const struct mode *m = &c->now;
    if (m->fourcc == V4L2_PIX_FMT_MJPEG) {
        const size_t size = c->jpeg_size < c->size ? c->jpeg_size : c->size;
        const unsigned torn = (unsigned)standin_number(c, "torn");
        if (c->jpeg)
            memcpy(to, c->jpeg, size);
        if (torn && n % torn == torn - 1)
            memset(to + size / 3, 0, size / 3);
        return c->jpeg_size;
    }
    if (m->fourcc == V4L2_PIX_FMT_YUYV || m->fourcc == V4L2_PIX_FMT_UYVY)
        paint_pairs(to, m, n, m->fourcc == V4L2_PIX_FMT_UYVY);
    else
        paint_planes(to, m, n);
    return (size_t)standin_bytes(m);
}
