/* SPDX-License-Identifier: BSD-2-Clause
 * A plane of samples in memory, and how a sample is read and written. */
#ifndef HALO_PLANE_H
#define HALO_PLANE_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/border.h"

/* Samples are bytes (depth 8) or native 16-bit words (depth 9 to 16). A plane does not own its
 * memory. */
struct halo_plane {
    void *data;       /* first sample of the first row */
    ptrdiff_t stride; /* bytes from one row to the next; negative if the image is stored upside
                       * down */
    int width;        /* number of pixels in each row, which is also the number of samples of each
                       * channel in a row */
    int height;       /* rows */
    int channels;     /* interleaved channels: 1, or 2 (the chroma plane of NV12 and P010) */
    int depth;        /* significant bits of a sample */
    int shift;        /* unused low bits of a 16-bit word: 0, 6 (P010) or 4 (P012) */
};

static inline HALO_HOST_DEVICE int halo_sample_max(int depth)
{
    return (1 << depth) - 1;
}

/* Returns the sample value of a 16-bit word. A word with stray bits above the depth is read as the
 * largest sample, so that no hostile input can overflow a sum whose bound was proved for this
 * depth. */
static inline HALO_HOST_DEVICE int halo_sample_value(uint16_t word, int depth, int shift)
{
    const int v = word >> shift;
    return v > halo_sample_max(depth) ? halo_sample_max(depth) : v;
}

/* Sample i of row y of a plane in host memory, where pixel x has the samples from x * channels. */
static inline int halo_sample_at(const struct halo_plane *p, int i, int y)
{
    const char *row = (const char *)p->data + p->stride * y;
    return p->depth == 8 ? ((const uint8_t *)row)[i]
                         : halo_sample_value(((const uint16_t *)row)[i], p->depth, p->shift);
}

static inline int halo_plane_sample_bytes(const struct halo_plane *p)
{
    return p->depth > 8 ? 2 : 1;
}

/* Returns the size in bytes of one row's samples, without the bytes between rows. */
static inline size_t halo_plane_row_bytes(const struct halo_plane *p)
{
    return (size_t)p->width * (size_t)p->channels * (size_t)halo_plane_sample_bytes(p);
}

#endif
