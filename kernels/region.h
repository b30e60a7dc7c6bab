/* SPDX-License-Identifier: BSD-2-Clause
 * Regions of interest: the parts of a plane to which a filter applies, defined to the last bit.
 *
 * A region gives each pixel a weight m in 0 .. 255, the same for all its channels. f is the sample
 * that the filter computes without a region (conv.h), and p the sample of the source (plane.h):
 *
 *   RECTANGLES   m = 255 for a pixel in at least one rectangle, otherwise 0
 *   MASK PLANE   m = the mask's sample
 *   INVERT       m becomes 255 - m
 *
 *   out = (m * f + (255 - m) * p + 127) / 255      integers, the quotient rounded down
 *
 * So 255 gives exactly the filter's sample, and 0 the source's (a word with stray bits becomes the
 * largest sample). The sum is below 2^24, and the quotient never a tie: out is the nearest integer,
 * without bias to either side.
 *
 * Privacy: a filter reads the source on both sides of an edge of its region, but for a pixel with m
 * = 255 only f is written. A pixel is either inside or not; nothing here rounds a region. Code that
 * makes a region from fractions of a pixel, or for a plane with fewer samples (chroma), rounds
 * outwards: a sample that belongs to any hidden pixel is inside. Backends may filter more than the
 * region, in tiles, but never output the additional pixels.
 *
 * All functions may be called on any thread and never block. A region does not own its memory. */
#ifndef HALO_REGION_H
#define HALO_REGION_H

#include <stdbool.h>

#include "kernels/plane.h"

/* Pixels [x0, x1) by [y0, y1) of the plane. Any numbers are valid: parts outside the plane are
 * ignored, and a rectangle with x1 <= x0 or y1 <= y0 is empty. */
struct halo_rect {
    int x0, y0, x1, y1;
};

struct halo_region {
    const struct halo_rect *rects; /* may overlap */
    int rect_count;                /* if it is 0 and no mask is given, the region has no pixels
                                    * (with invert: all pixels) */
    /* Used instead of the rectangles if its data is not NULL. The mask has one channel of depth
     * 8, is as wide and high as the plane, and is in the same kind of memory as src. The mask is
     * only read. */
    struct halo_plane mask;
    /* If this is not 0, no other mask has the same number, and the samples of this mask never
     * change, so a device may keep them from frame to frame. halo_region_number() returns new
     * numbers. */
    uint64_t number;
    bool invert;
};

/* Returns a number that has never been returned before in this process. */
uint64_t halo_region_number(void);

static inline HALO_HOST_DEVICE unsigned halo_region_blend(unsigned filtered, unsigned source,
                                                          unsigned weight)
{
    return (weight * filtered + (255 - weight) * source + 127) / 255;
}

/* Fills ret with the weights of pixels 0 to width - 1 of row y, which must be in the plane. */
void halo_region_row(const struct halo_region *region, int y, int width, uint8_t *ret);

/* Finds the columns [*ret_x0, *ret_x1) that contain every pixel of rows [y0, y1) whose weight is
 * not 0. Sets *ret_x0 and *ret_x1 to 0 if no such pixel exists. region may be NULL. */
void halo_region_columns(const struct halo_region *region, int y0, int y1, int width, int *ret_x0,
                         int *ret_x1);

#endif
