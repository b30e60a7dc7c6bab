/* SPDX-License-Identifier: BSD-2-Clause
 * Shapes: where in a picture a filter applies, as users write it and detectors tell it, and how
 * that is drawn into the region of a plane (kernels/region.h).
 *
 *   region=rect 10% 20% 30% 40%            upper left corner, width and height
 *   region=ellipse 320 180 200 260         the same, of its bounding box
 *   region=polygon 0 0 50% 0 25% 100%      3 corners or more, closed by itself; even-odd
 *   region=rect 0 0 64 64+ellipse ...      all of them together
 *   region=mask /etc/halod/door.png        an image: white is inside; the last of the list
 *   region=feed                            what a detector tells (region_feed.h); alone
 *
 * Shapes are joined by + or by blanks alone. Lengths are luma pixels of the picture as players show
 * it, turned as it says (display.h; a camera's after rotate:), or with a % parts of its width (x,
 * w) or height (y, h). A feed's are those of the stored picture. They are taken to the nearest
 * 1/4096 of a pixel, from where on all is exact. Shapes may reach out of the picture.
 *
 * Hidden is what a filter applies to: the shapes, or with invert all but them. Nothing rounds that
 * towards showing more. A sample has the full weight, 255, if any part of its pixel's area, of
 * chroma's larger one too, belongs to what is hidden; the feather, where the weight falls to 0 in a
 * straight line, lies outside of what is hidden. With invert a sample is shown only where one shape
 * alone holds all of its area. A mask's grays are weights of their own, and a mask of another size
 * is scaled so that no hidden pixel becomes less hidden; its feather falls from the nearest weight
 * that is not 0, of several as near the largest. Where samples also show what lies beside their
 * area, each gets the largest weight of its neighbours, before there is a feather.
 *
 * Shapes are immutable once parsed; any thread may draw them. */
#ifndef HALO_SHAPES_H
#define HALO_SHAPES_H

#include <stdbool.h>
#include <stdint.h>

#include "config/error.h"
#include "kernels/region.h"

enum {
    HALO_MAX_SHAPES = 64,      /* of a filter or of a picture of a feed */
    HALO_MAX_CORNERS = 64,     /* of a polygon */
    HALO_MAX_FEATHER = 512,    /* luma pixels */
    HALO_MAX_LENGTH = 1 << 16, /* luma pixels, of any number of a shape */
    HALO_MAX_PARTS = 4         /* of a picture: 400% */
};

enum halo_shape_kind {
    HALO_SHAPE_RECT,
    HALO_SHAPE_ELLIPSE,
    HALO_SHAPE_POLYGON,
    HALO_SHAPE_MASK,
};

/* Along one axis. */
struct halo_length {
    double value;  /* finite */
    bool relative; /* of the picture's width or height: 1 is all of it; else luma pixels */
};

struct halo_mask_image; /* mask_image.h: 8-bit weights, there after halo_shapes_load() */

struct halo_shape {
    enum halo_shape_kind kind;
    struct halo_length x, y, width, height; /* RECT, ELLIPSE: width and height not negative */
    struct halo_length (*corner)[2];        /* POLYGON: x and y of each; owned */
    int corners;
    struct halo_mask_image *mask; /* MASK; owned */
};

struct halo_shapes {
    struct halo_shape *shape;
    int count;
    bool feed; /* instead of shapes: those that a feed tells */
};

/* 0, or with err filled -EINVAL (the text, with the column in it, or a mask that is no image),
 * -errno (its file cannot be read), -ENOMEM. Of a mask's file only the beginning is looked at, so
 * that who must not decode what others made can check it. May block on that file. The caller owns
 * *ret. */
int halo_shapes_parse(struct halo_shapes **ret, const char *text, struct halo_error *err);
/* Reads and decodes the mask image, if there is one, before anything is drawn; again: reads it
 * again. 0, or as halo_shapes_parse() for what is wrong with the image. Blocks. */
int halo_shapes_load(struct halo_shapes *shapes, struct halo_error *err);
void halo_shapes_destroy(struct halo_shapes *shapes); /* NULL is nothing to do */
void halo_shape_finish(struct halo_shape *shape);     /* what one owns */

/* Whether some length is in pixels, so that they lie elsewhere in pictures of another size; not of
 * NULL. */
bool halo_shapes_in_pixels(const struct halo_shapes *shapes);

/* What shapes in the shown picture are in the stored one, which is width x height; loaded ones. 0
 * or -ENOMEM; the caller owns *ret. */
int halo_shapes_store(struct halo_shapes **ret, const struct halo_shapes *shown, int turn,
                      int width, int height);

/* A plane of a picture, and how shapes are drawn into it. */
struct halo_shape_canvas {
    int picture_width, picture_height; /* luma pixels */
    int log2_sub_x, log2_sub_y;        /* of the plane: 1, 1 for chroma of 4:2:0 */
    int width, height;                 /* of the plane */
    double feather;                    /* luma pixels, 0 .. HALO_MAX_FEATHER */
    bool invert;
    bool spill_x, spill_y; /* its samples show what is beside them (format.h), across or down */
};

/* A region and the memory that it points to. Zeroed at first; drawing again uses the memory again,
 * and the same canvas costs what changed only. Rectangles without feather stay rectangles;
 * everything else is a mask plane in host memory. region.number is the caller's: 0 after each
 * drawing. */
struct halo_drawn_region {
    struct halo_region region;
    struct halo_rect rects[HALO_MAX_SHAPES];
    uint8_t *mask; /* a weight for each sample, rows without gaps */
    size_t mask_bytes;
    int mask_width, mask_height;
    uint8_t around;           /* the weight outside of touched */
    struct halo_rect touched; /* what may differ from it */
    void *scratch;
    size_t scratch_bytes;
};

/* Draws count shapes (0: nothing is inside). Returns 0 or -ENOMEM; *ret_hidden: whether any sample
 * has a weight that is not 0. What is no shape (a length beyond those above, a mask that was not
 * loaded) hides everything. */
int halo_shapes_draw(const struct halo_shape *shapes, int count,
                     const struct halo_shape_canvas *canvas, struct halo_drawn_region *ret,
                     bool *ret_hidden);
void halo_drawn_region_finish(struct halo_drawn_region *region);

/* Width and height in luma pixels of the smallest box that holds all of those that reach into the
 * picture, and at most the picture's; for strengths that follow a region's size, and that shall not
 * fade while it leaves the picture. Of no shapes: the picture's. */
void halo_shapes_size(const struct halo_shape *shapes, int count, int picture_width,
                      int picture_height, double *ret_width, double *ret_height);

#endif
