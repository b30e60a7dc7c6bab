/* SPDX-License-Identifier: BSD-2-Clause
 * Functions shared by the files that implement shapes.h. */
#ifndef HALO_SHAPES_PRIVATE_H
#define HALO_SHAPES_PRIVATE_H

#include "pipeline/region/shapes.h"

/* Converts a length to luma pixels. `whole` is the frame's width or height. */
double halo_shape_length(const struct halo_length *length, int whole);

struct halo_shape_box {
    double x0, y0, x1, y1; /* luma pixels */
};

/* Returns the bounding box of a shape in a frame of width x height. The box may extend beyond the
 * frame, or be empty. */
struct halo_shape_box halo_shape_box(const struct halo_shape *shape, int width, int height);

/* Returns the rectangle `r`, enlarged by `by_x` and `by_y` samples on each side, but not beyond the
 * plane's width and height. */
struct halo_rect halo_rect_grow(struct halo_rect r, int by_x, int by_y, int width, int height);

/* Gives each sample of region's mask the largest weight among its neighbours, as far as the
 * canvas's spill reaches. The boxes are enlarged in the same way; outside of them, all weights are
 * zero. */
void halo_shapes_spread(const struct halo_shape_canvas *canvas, struct halo_drawn_region *region,
                        struct halo_rect *boxes, int count);

#endif
