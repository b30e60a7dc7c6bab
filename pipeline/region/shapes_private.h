/* SPDX-License-Identifier: BSD-2-Clause
 * What the files of shapes.h share. */
#ifndef HALO_SHAPES_PRIVATE_H
#define HALO_SHAPES_PRIVATE_H

#include "pipeline/region/shapes.h"

/* In luma pixels. whole: the picture's width or height. */
double halo_shape_length(const struct halo_length *length, int whole);

struct halo_shape_box {
    double x0, y0, x1, y1; /* luma pixels */
};

/* It may reach out of the picture, or be empty. */
struct halo_shape_box halo_shape_box(const struct halo_shape *shape, int width, int height);

/* Room for bytes in *memory, which has *size; what was in it is lost. */
void *halo_shapes_room(void **memory, size_t *size, size_t bytes);

/* The smallest that holds both; empty ones do not count. */
struct halo_rect halo_rect_join(struct halo_rect a, struct halo_rect b);

/* With so many samples more on each side, as far as the plane goes. */
struct halo_rect halo_rect_grow(struct halo_rect r, int by_x, int by_y, int width, int height);

/* Gives each sample of region's mask the largest weight of its neighbours, where the canvas's spill
 * says so. boxes as below; they grow with it. 0 or -ENOMEM. */
int halo_shapes_spread(const struct halo_shape_canvas *canvas, struct halo_drawn_region *region,
                       struct halo_rect *boxes, int count);

/* Lets the weights of region's mask fall to 0 within canvas->feather. boxes hold all that differs
 * from region->around; they are changed. 0 or -ENOMEM. */
int halo_shapes_feather(const struct halo_shape_canvas *canvas, struct halo_drawn_region *region,
                        struct halo_rect *boxes, int count);

#endif
