/* SPDX-License-Identifier: BSD-2-Clause
 * Masks of planes with spill (format.h), whose samples also show what lies beside them: the hidden
 * part is enlarged. */
#include "pipeline/region/shapes_private.h"

struct halo_rect halo_rect_grow(struct halo_rect r, int by_x, int by_y, int width, int height)
{
    r.x0 = r.x0 > by_x ? r.x0 - by_x : 0;
    r.y0 = r.y0 > by_y ? r.y0 - by_y : 0;
    r.x1 = r.x1 < width - by_x ? r.x1 + by_x : width;
    r.y1 = r.y1 < height - by_y ? r.y1 + by_y : height;
    return r;
}

static void take_larger(uint8_t *restrict to, const uint8_t *restrict from, int count)
{
    for (int i = 0; i < count; i++)
        to[i] = to[i] > from[i] ? to[i] : from[i];
}

/* Each sample gets the largest of itself and the `by` ones after it, and then of the `by` ones
 * before it: of 2, 3, 5, 9 ... samples, until there are enough. */
static void spread_across(const struct halo_drawn_region *region, const struct halo_rect *r, int by)
{
    const int width = r->x1 - r->x0;
    for (int y = r->y0; y < r->y1; y++) {
        uint8_t *row = region->mask + (size_t)y * (size_t)region->mask_width + r->x0;
        for (int had = 1, step; had <= by; had += step) {
            step = had < by + 1 - had ? had : by + 1 - had;
            for (int x = 0; x < width - step; x++)
                row[x] = row[x] > row[x + step] ? row[x] : row[x + step];
        }
        for (int had = 1, step; had <= by; had += step) {
            step = had < by + 1 - had ? had : by + 1 - had;
            for (int x = width - 1; x >= step; x--)
                row[x] = row[x] > row[x - step] ? row[x] : row[x - step];
        }
    }
}

static void spread_down(const struct halo_drawn_region *region, const struct halo_rect *r, int by)
{
    const ptrdiff_t stride = region->mask_width;
    const int width = r->x1 - r->x0;
    for (int had = 1, step; had <= by; had += step) {
        step = had < by + 1 - had ? had : by + 1 - had;
        for (int y = r->y0; y < r->y1 - step; y++) {
            uint8_t *row = region->mask + y * stride + r->x0;
            take_larger(row, row + step * stride, width);
        }
    }
    for (int had = 1, step; had <= by; had += step) {
        step = had < by + 1 - had ? had : by + 1 - had;
        for (int y = r->y1 - 1; y >= r->y0 + step; y--) {
            uint8_t *row = region->mask + y * stride + r->x0;
            take_larger(row, row - step * stride, width);
        }
    }
}

void halo_shapes_spread(const struct halo_shape_canvas *canvas, struct halo_drawn_region *region,
                        struct halo_rect *boxes, int count)
{
    const int width = canvas->width, height = canvas->height;
    const int x = canvas->spill_x < width ? canvas->spill_x : width;
    const int y = canvas->spill_y < height ? canvas->spill_y : height;
    if (!x && !y)
        return;
    for (int i = 0; i < count; i++)
        boxes[i] = halo_rect_grow(boxes[i], x, y, width, height);
    /* What lies outside of this has one weight, also that far inside of it. */
    region->touched = halo_rect_grow(region->touched, x, y, width, height);
    if (x)
        spread_across(region, &region->touched, x);
    if (y)
        spread_down(region, &region->touched, y);
}
