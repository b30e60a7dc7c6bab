/* SPDX-License-Identifier: BSD-2-Clause
 * The weights of regions, row by row (region.h). */
#include "kernels/region.h"

#include <stdatomic.h>
#include <string.h>

static int least(int a, int b)
{
    return a < b ? a : b;
}

static int most(int a, int b)
{
    return a > b ? a : b;
}

uint64_t halo_region_number(void)
{
    static atomic_ullong last;
    return atomic_fetch_add(&last, 1) + 1;
}

static const uint8_t *mask_row(const struct halo_region *region, int y)
{
    return (const uint8_t *)region->mask.data + region->mask.stride * y;
}

void halo_region_row(const struct halo_region *region, int y, int width, uint8_t *ret)
{
    const uint8_t outside = region->invert ? 255 : 0;
    if (region->mask.data) {
        const uint8_t *restrict from = mask_row(region, y);
        uint8_t *restrict to = ret;
        for (int x = 0; x < width; x++)
            to[x] = from[x] ^ outside; /* 255 - m */
        return;
    }
    memset(ret, outside, (size_t)width);
    for (int i = 0; i < region->rect_count; i++) {
        const struct halo_rect *r = &region->rects[i];
        const int x0 = most(r->x0, 0), x1 = least(r->x1, width);
        if (x0 < x1 && r->y0 <= y && y < r->y1)
            memset(ret + x0, 255 - outside, (size_t)(x1 - x0));
    }
}

void halo_region_columns(const struct halo_region *region, int y0, int y1, int width, int *ret_x0,
                         int *ret_x1)
{
    int x0 = width, x1 = 0;
    if (!region || (!region->mask.data && region->invert)) {
        x0 = 0, x1 = width;
    } else if (region->mask.data) {
        const uint8_t outside = region->invert ? 255 : 0;
        for (int y = y0; y < y1; y++) {
            const uint8_t *row = mask_row(region, y);
            int x = 0;
            while (x < x0 && row[x] == outside)
                x++;
            x0 = x;
            x = width;
            while (x > x1 && row[x - 1] == outside)
                x--;
            x1 = x;
        }
    } else {
        for (int i = 0; i < region->rect_count; i++) {
            const struct halo_rect *r = &region->rects[i];
            if (r->x0 >= r->x1 || r->x1 <= 0 || r->x0 >= width ||
                most(r->y0, y0) >= least(r->y1, y1))
                continue;
            x0 = least(x0, most(r->x0, 0));
            x1 = most(x1, least(r->x1, width));
        }
    }
    *ret_x0 = x0 < x1 ? x0 : 0;
    *ret_x1 = x0 < x1 ? x1 : 0;
}
