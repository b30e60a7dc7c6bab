/* SPDX-License-Identifier: BSD-2-Clause
 * Shared by the files that implement shapes.h. */
#ifndef HALO_SHAPES_PRIVATE_H
#define HALO_SHAPES_PRIVATE_H

#include "pipeline/region/shapes.h"

/* A length in luma pixels. whole: the frame's width or height. */
double halo_shape_length(const struct halo_length *length, int whole);

struct halo_shape_box {
    double x0, y0, x1, y1; /* luma pixels */
};

/* The box around a shape; it may extend beyond the frame, or be empty. width, height: the
 * frame's. */
struct halo_shape_box halo_shape_box(const struct halo_shape *shape, int width, int height);

/* Enlarges *memory, which has *size bytes, if it is smaller than bytes; its content is then lost.
 * Returns *memory; NULL: out of memory. */
void *halo_shapes_room(void **memory, size_t *size, size_t bytes);

/* The smallest rectangle around both; empty ones do not count. */
struct halo_rect halo_rect_join(struct halo_rect a, struct halo_rect b);

/* Enlarges r by so many samples on each side, within the plane's width and height. */
struct halo_rect halo_rect_grow(struct halo_rect r, int by_x, int by_y, int width, int height);

/* Gives each sample of region's mask the largest weight among its neighbours, in the directions of
 * the canvas's chroma spill. boxes as for halo_shapes_feather(); they are enlarged likewise. 0 or
 * -ENOMEM. */
int halo_shapes_spread(const struct halo_shape_canvas *canvas, struct halo_drawn_region *region,
                       struct halo_rect *boxes, int count);

/* Feathers region's mask: weights decrease to 0 within canvas->feather. boxes contain all samples
 * that differ from region->around; they are modified. 0 or -ENOMEM. */
int halo_shapes_feather(const struct halo_shape_canvas *canvas, struct halo_drawn_region *region,
                        struct halo_rect *boxes, int count);

#endif
