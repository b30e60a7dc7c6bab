/* SPDX-License-Identifier: BSD-2-Clause
 * Shapes: the part of a frame to which a filter applies, as users write it or detectors report it,
 * and how it is drawn into the region of a plane (kernels/region.h).
 *
 *   region=rect 10% 20% 30% 40%            upper left corner, width and height
 *   region=ellipse 320 180 200 260         the same, for its bounding box
 *   region=polygon 0 0 50% 0 25% 100%      3 corners or more, closed automatically; even-odd
 *   region=rect 0 0 64 64+ellipse ...      several shapes: all of them together
 *   region=mask /etc/halod/door.png        an image: white is inside; must be the last shape
 *   region=feed                            the region feed's shapes (region_feed.h); alone
 *
 * Shapes are separated by + or by blanks. Lengths are luma pixels of the frame as players display
 * it (display.h; for cameras after rotate:), or, with %, fractions of its width (x, w) or height
 * (y, h). The lengths of a region feed refer to the stored frame. All lengths are rounded to the
 * nearest 1/4096 of a pixel; everything after that is exact. Shapes may extend beyond the frame.
 *
 * A filter hides its shapes, or, with invert, everything else. Nothing is rounded towards showing
 * more. A sample has the full weight, 255, if any part of its area is hidden; a chroma sample's
 * area may be several pixels. The feather, in which the weight decreases linearly to 0, lies
 * outside of the hidden part. With invert, a sample is shown only if its whole area lies within a
 * single shape. The gray values of a mask image are weights. An image of another size is scaled so
 * that no hidden pixel becomes less hidden; its feather begins at the nearest weight that is not 0,
 * and at the largest one if several are equally near. If samples also show what lies next to their
 * area (chroma spill), each gets the largest weight among its neighbours, before feathering.
 *
 * Shapes are immutable once parsed; any thread may draw them. */
#ifndef HALO_SHAPES_H
#define HALO_SHAPES_H

#include <stdbool.h>
#include <stdint.h>

#include "config/error.h"
#include "kernels/region.h"

enum {
    HALO_MAX_SHAPES = 64,      /* for a filter, or for a frame of a region feed */
    HALO_MAX_CORNERS = 64,     /* of a polygon */
    HALO_MAX_FEATHER = 512,    /* luma pixels */
    HALO_MAX_LENGTH = 1 << 16, /* luma pixels, for any length of a shape */
    HALO_MAX_PARTS = 4         /* for relative lengths: 400% of the frame */
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
    bool relative; /* fraction of the frame's width or height; otherwise luma pixels */
};

struct halo_mask_image; /* mask_image.h: 8-bit weights, available after halo_shapes_load() */

struct halo_shape {
    enum halo_shape_kind kind;
    struct halo_length x, y, width, height; /* RECT, ELLIPSE: width and height not negative */
    struct halo_length (*corner)[2];        /* POLYGON: x and y of each corner; owned */
    int corners;
    struct halo_mask_image *mask; /* MASK; owned */
};

struct halo_shapes {
    struct halo_shape *shape;
    int count;
    bool feed; /* the shapes are a region feed's, not these */
};

/* Parses the text of region=. 0, or with err filled -EINVAL (a syntax error, with its column, or a
 * mask file that is not an image), -errno (the mask file cannot be read), -ENOMEM. Only the
 * beginning of a mask file is read, so that a process that must not decode untrusted data can check
 * it. May block on that file. The caller owns *ret. */
int halo_shapes_parse(struct halo_shapes **ret, const char *text, struct halo_error *err);
/* Reads and decodes the mask image, if there is one; must be called before drawing, and may be
 * called again to read it again. 0, or halo_shapes_parse()'s errors about the image. Blocks. */
int halo_shapes_load(struct halo_shapes *shapes, struct halo_error *err);
void halo_shapes_destroy(struct halo_shapes *shapes); /* NULL is ignored */
void halo_shape_finish(struct halo_shape *shape);     /* frees what the shape owns */

/* Whether any length other than 0 is in pixels, so that the region differs in frames of another
 * size; false for NULL. */
bool halo_shapes_in_pixels(const struct halo_shapes *shapes);

/* Converts shapes from the frame as displayed to the frame as stored, which is width x height; turn
 * is its orientation (display.h). Mask images must be loaded. 0 or -ENOMEM; the caller owns
 * *ret. */
int halo_shapes_store(struct halo_shapes **ret, const struct halo_shapes *shown, int turn,
                      int width, int height);

/* A plane of a frame, and how shapes are drawn into it. */
struct halo_shape_canvas {
    int picture_width, picture_height; /* luma pixels */
    int log2_sub_x, log2_sub_y;        /* of the plane: 1, 1 for chroma in 4:2:0 */
    int width, height;                 /* samples of the plane */
    double feather;                    /* luma pixels, 0 .. HALO_MAX_FEATHER */
    bool invert;
    bool spill_x, spill_y; /* chroma spill (format.h), horizontally or vertically */
};

/* A region and the memory that it points to. Zeroed at first; drawing again reuses the memory, and
 * on the same canvas costs only what changed. Rectangles without feather stay rectangles;
 * everything else becomes a mask plane in host memory. region.number is for the caller: 0 after
 * each drawing. */
struct halo_drawn_region {
    struct halo_region region;
    struct halo_rect rects[HALO_MAX_SHAPES];
    uint8_t *mask; /* a weight for each sample, rows without gaps */
    size_t mask_bytes;
    int mask_width, mask_height;
    uint8_t around;           /* the weight outside of touched */
    struct halo_rect touched; /* samples whose weight may differ from around */
    void *scratch;
    size_t scratch_bytes;
};

/* Draws count shapes (0: nothing is inside). Returns 0 or -ENOMEM; *ret_hidden: whether any sample
 * has a weight that is not 0. An invalid shape (a length beyond the limits above, a mask image that
 * was not loaded) hides everything. */
int halo_shapes_draw(const struct halo_shape *shapes, int count,
                     const struct halo_shape_canvas *canvas, struct halo_drawn_region *ret,
                     bool *ret_hidden);
void halo_drawn_region_finish(struct halo_drawn_region *region);

/* Width and height in luma pixels of the smallest box around all shapes that extend into the frame,
 * at most the frame's; without such shapes, the frame's. For filter strengths that follow a
 * region's size: the box includes parts outside of the frame, so that strengths do not decrease
 * while a region leaves the frame. */
void halo_shapes_size(const struct halo_shape *shapes, int count, int picture_width,
                      int picture_height, double *ret_width, double *ret_height);

#endif
