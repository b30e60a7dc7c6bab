/* SPDX-License-Identifier: BSD-2-Clause
 * Regions of interest: where in a plane a filter applies, down to the last bit.
 *
 * A region gives each pixel a weight m in 0 .. 255; all channels of the pixel share it. With f the
 * sample that the filter gives for the whole plane (conv.h), and p the source's sample (plane.h):
 *
 *   RECTANGLES   m = 255 in a pixel that at least one rectangle holds, else 0
 *   MASK PLANE   m = the mask's sample
 *   INVERT       m becomes 255 - m
 *
 *   out = (m * f + (255 - m) * p + 127) / 255      integers, the quotient rounded down
 *
 * So 255 is the filter's sample and 0 the source's, exactly, in the container's form (a word with
 * stray bits becomes the largest sample). The sum is below 2^24 and never a tie: it is the nearest
 * integer, and no weight is favoured.
 *
 * What must not be seen: a filter reads the source on both sides of an edge of its region, but of a
 * pixel with m = 255 nothing but f is written. A pixel is inside or not; nothing here rounds a
 * region. Who makes one from fractions of a pixel, or for a plane of fewer samples (chroma), rounds
 * outwards: a sample that belongs to any hidden pixel is inside. Backends may filter more than the
 * region asks for, in tiles, and never show it.
 *
 * All functions may be called on any thread; none blocks. A region owns nothing. */
#ifndef HALO_REGION_H
#define HALO_REGION_H

#include <stdbool.h>

#include "kernels/plane.h"

/* Pixels [x0, x1) by [y0, y1) of the plane. Any numbers will do: what lies outside the plane does
 * not count, and where x1 <= x0 or y1 <= y0 there is nothing. */
struct halo_rect {
    int x0, y0, x1, y1;
};

struct halo_region {
    const struct halo_rect *rects; /* may overlap */
    int rect_count;                /* 0, and no mask: nowhere (or with invert everywhere) */
    /* Instead of rectangles, where data is not NULL: one channel of depth 8, as wide and high as
     * the plane, in the same kind of memory as src. Only read. */
    struct halo_plane mask;
    /* Not 0: no other mask has this number, and the samples of this one never change, so that a
     * device may keep them from frame to frame. halo_region_number() makes one. */
    uint64_t number;
    bool invert;
};

/* A number that was never given before in this process. */
uint64_t halo_region_number(void);

static inline HALO_HOST_DEVICE unsigned halo_region_blend(unsigned filtered, unsigned source,
                                                          unsigned weight)
{
    return (weight * filtered + (255 - weight) * source + 127) / 255;
}

/* The weights of row y, which is in the plane, of pixels 0 .. width - 1. */
void halo_region_row(const struct halo_region *region, int y, int width, uint8_t *ret);

/* Columns [*ret_x0, *ret_x1) hold every pixel of rows [y0, y1) whose weight is not 0; none: both
 * are 0. region may be NULL. */
void halo_region_columns(const struct halo_region *region, int y0, int y1, int width, int *ret_x0,
                         int *ret_x1);

#endif
