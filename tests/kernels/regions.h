/* SPDX-License-Identifier: BSD-2-Clause
 * Regions drawn by lot, and what is right for them. */
#ifndef HALO_TEST_REGIONS_H
#define HALO_TEST_REGIONS_H

#include "kernels/region.h"
#include "tests/kernels/picture.h"

enum { MAX_RECTS = 250 }; /* more than one launch of the CUDA backend takes */

/* A region with the memory it refers to: does not move. */
struct test_region {
    struct halo_region region;
    struct halo_rect rects[MAX_RECTS];
    struct picture mask;
    const char *name;
};

/* For planes of this size. The caller finishes it. */
void test_region_draw(struct test_region *ret, int width, int height, uint64_t *state);
void test_region_finish(struct test_region *r);

/* Turns what the filter gives for the whole plane into what it gives with the region. */
void test_region_apply(const struct test_region *r, const struct picture *src,
                       struct picture *filtered);

#endif
