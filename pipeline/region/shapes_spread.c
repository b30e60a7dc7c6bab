/* SPDX-License-Identifier: BSD-2-Clause
 * Masks of planes with chroma spill (format.h), whose samples also show what lies next to them: the
 * hidden part is enlarged by one sample. */
#include <errno.h>
#include <string.h>

#include "pipeline/region/shapes_private.h"

struct halo_rect halo_rect_grow(struct halo_rect r, int by_x, int by_y, int width, int height)
{
    r.x0 = r.x0 > by_x ? r.x0 - by_x : 0;
    r.y0 = r.y0 > by_y ? r.y0 - by_y : 0;
    r.x1 = r.x1 < width - by_x ? r.x1 + by_x : width;
    r.y1 = r.y1 < height - by_y ? r.y1 + by_y : height;
    return r;
}

static uint8_t largest(uint8_t a, uint8_t b, uint8_t c)
{
    const uint8_t most = a > b ? a : b;
    return most > c ? most : c;
}

static uint8_t *row_of(const struct halo_drawn_region *region, int y)
{
    return region->mask + (size_t)y * (size_t)region->mask_width;
}

static void spread_across(const struct halo_drawn_region *region, const struct halo_rect *r)
{
    const int width = region->mask_width;
    for (int y = r->y0; y < r->y1; y++) {
        uint8_t *row = row_of(region, y), left = r->x0 > 0 ? row[r->x0 - 1] : 0;
        for (int x = r->x0; x < r->x1; x++) {
            const uint8_t own = row[x];
            row[x] = largest(left, own, x + 1 < width ? row[x + 1] : 0);
            left = own;
        }
    }
}

/* above, own: scratch memory for a row each. */
static void spread_down(const struct halo_drawn_region *region, const struct halo_rect *r,
                        uint8_t *above, uint8_t *own)
{
    const size_t count = (size_t)(r->x1 - r->x0);
    memset(above, 0, count);
    if (r->y0 > 0)
        memcpy(above, row_of(region, r->y0 - 1) + r->x0, count);
    for (int y = r->y0; y < r->y1; y++) {
        uint8_t *row = row_of(region, y) + r->x0;
        const uint8_t *below = y + 1 < region->mask_height ? row + region->mask_width : row;
        memcpy(own, row, count);
        for (size_t x = 0; x < count; x++)
            row[x] = largest(above[x], own[x], below[x]);
        memcpy(above, own, count);
    }
}

int halo_shapes_spread(const struct halo_shape_canvas *canvas, struct halo_drawn_region *region,
                       struct halo_rect *boxes, int count)
{
    const int width = canvas->width, height = canvas->height;
    const int x = canvas->spill_x, y = canvas->spill_y;
    const size_t row = (size_t)width;
    if (!x && !y)
        return 0;
    uint8_t *rows = halo_shapes_room(&region->scratch, &region->scratch_bytes, 2 * row);
    if (!rows)
        return -ENOMEM;
    for (int i = 0; i < count; i++)
        boxes[i] = halo_rect_grow(boxes[i], x, y, width, height);
    region->touched = halo_rect_grow(region->touched, x, y, width, height);
    if (x)
        spread_across(region, &region->touched);
    if (y)
        spread_down(region, &region->touched, rows, rows + row);
    return 0;
}
