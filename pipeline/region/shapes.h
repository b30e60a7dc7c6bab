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
 *   region=faces, people or background     what a detector found in the frame (verdict.h);
 *                                          background: everything but people; alone
 *
 * Shapes are separated by + or by blanks. Lengths are in luma pixels of the frame as players
 * display it (display.h; for cameras, after rotate:) or, with %, are fractions of its width (x, w)
 * or height (y, h). The lengths of a region feed refer to the stored frame. All lengths are rounded
 * to the nearest 1/4096 of a pixel; all further calculations are exact. Shapes may extend beyond
 * the frame.
 *
 * A filter hides its shapes or, with invert, everything else. No rounding causes more to be shown.
 * A sample has the full weight, 255, if any part of its area is hidden; the area of a chroma sample
 * may be several pixels. The feather, in which the weight decreases linearly to 0, lies outside the
 * hidden part. With invert, a sample is shown only if its whole area lies within a single shape.
 * The gray values of a mask image are weights; if the canvas says `whole`, any weight above 0 is
 * 255. If the image's size differs from the frame's, it is
 * scaled so that no hidden pixel becomes less hidden. The feather of a mask image begins at the
 * nearest nonzero weight, or at the largest of several equally near ones. If samples also show what
 * lies beside their area (spill), each sample gets the largest weight among its neighbours before
 * the feather is drawn.
 *
 * Shapes are immutable once parsed; any thread may draw them. */
#ifndef HALO_SHAPES_H
#define HALO_SHAPES_H

#include <stdbool.h>
#include <stdint.h>

#include "config/base/error.h"
#include "config/detectors.h"
#include "kernels/region.h"

enum {
    HALO_MAX_SHAPES = 64,      /* maximum number of shapes of a filter, or of one frame of a region
                                  feed */
    HALO_MAX_CORNERS = 64,     /* corners of a polygon */
    HALO_MAX_FEATHER = 512,    /* luma pixels */
    HALO_MAX_LENGTH = 1 << 16, /* largest length in a shape, in luma pixels */
    HALO_MAX_PARTS = 4         /* largest relative length: 400% of the frame */
};

enum halo_shape_kind {
    HALO_SHAPE_RECT,
    HALO_SHAPE_ELLIPSE,
    HALO_SHAPE_POLYGON,
    HALO_SHAPE_MASK,
};

/* A length along one axis. */
struct halo_length {
    double value;  /* finite */
    bool relative; /* true: a fraction of the frame's width or height; false: luma pixels */
};

struct halo_mask_image; /* mask_image.h: 8-bit weights, available after halo_shapes_load() */

struct halo_shape {
    enum halo_shape_kind kind;
    struct halo_length x, y, width, height; /* RECT, ELLIPSE: width and height not negative */
    struct halo_length (*corner)[2];        /* POLYGON: x and y of each corner; owned */
    int corners;
    struct halo_mask_image *mask; /* MASK; owned */
    /* Number of the object that the shape hides: the same in all frames in which it is the same
     * object, and of no other object in this process (halo_region_number()). 0: not known. Several
     * shapes of a frame may have the same number. */
    uint64_t track;
};

/* Who supplies the shapes of a region. */
enum halo_shapes_from {
    HALO_SHAPES_WRITTEN, /* the text itself */
    HALO_SHAPES_FEED,    /* a region feed, for each frame */
    HALO_SHAPES_FACES,   /* verdicts about faces */
    HALO_SHAPES_PEOPLE,  /* verdicts about people */
    /* Verdicts about people: everything else, as if the filter's `invert` were the opposite. */
    HALO_SHAPES_BACKGROUND,
};

struct halo_shapes {
    struct halo_shape *shape;
    int count; /* 0 unless `from` is WRITTEN */
    enum halo_shapes_from from;
};

/* Returns what detectors have to find for these shapes: one find, or the empty set. shapes may be
 * NULL. */
halo_find_set halo_shapes_finds(const struct halo_shapes *shapes);

/* Parses the text of region=. Returns 0; or, with err filled, -EINVAL (a syntax error, with its
 * column, or a mask file that is not an image), -errno (the mask file cannot be read) or -ENOMEM.
 * Reads only the beginning of a mask file, so that a process that must not decode untrusted data
 * can check it. May block while it reads that file. The caller owns *ret. */
int halo_shapes_parse(struct halo_shapes **ret, const char *text, struct halo_error *err);
/* Reads and decodes the mask image, if the shapes have one. Call this before drawing. Calling this
 * function again rereads the image. Returns 0, or an error about the image as halo_shapes_parse()
 * does. Blocks. */
int halo_shapes_load(struct halo_shapes *shapes, struct halo_error *err);
void halo_shapes_destroy(struct halo_shapes *shapes); /* NULL is ignored */
void halo_shape_finish(struct halo_shape *shape);     /* frees what the shape owns */

/* Finds the luma pixels of a frame in which the shape's bounding box lies, even if only partly.
 * Returns false if there are none. */
bool halo_shape_pixels(const struct halo_shape *shape, int frame_width, int frame_height,
                       struct halo_rect *ret);

/* Returns whether any length other than 0 is in pixels, which means that the region covers a
 * different part of the frame if the frame's size changes. Returns false if shapes is NULL. */
bool halo_shapes_in_pixels(const struct halo_shapes *shapes);

/* Converts shapes from the frame as displayed to the frame as stored, which is width x height.
 * `turn` is the frame's display orientation (display.h). Mask images must be loaded. Returns 0 or
 * -ENOMEM; the caller owns *ret. */
int halo_shapes_store(struct halo_shapes **ret, const struct halo_shapes *shown, int turn,
                      int width, int height);

/* A plane of a frame, and how shapes are drawn into it. */
struct halo_shape_canvas {
    int frame_width, frame_height; /* luma pixels */
    int log2_sub_x, log2_sub_y;    /* the plane's subsampling: 1, 1 for 4:2:0 chroma */
    int width, height;             /* size of the plane, in samples */
    double feather;                /* luma pixels, 0 .. HALO_MAX_FEATHER */
    bool invert;
    bool whole;           /* any weight of a mask image above 0 becomes 255 */
    int spill_x, spill_y; /* samples by which the hidden part is enlarged on each side, because
                              samples also show what lies so far beside them (format.h) */
};

/* A region and the memory that it points to. Must be zeroed before the first drawing. Drawing again
 * reuses the memory. If the canvas is the same as in the last drawing, only changed parts take time
 * to draw. Rectangles without feather stay rectangles; everything else becomes a mask plane in host
 * memory. Each call that draws sets region.number to 0; the caller may set it to another value
 * afterwards. */
struct halo_drawn_region {
    struct halo_region region;
    struct halo_rect rects[HALO_MAX_SHAPES];
    uint8_t *mask; /* one weight per sample, rows without gaps */
    size_t mask_bytes;
    int mask_width, mask_height;
    uint8_t around;           /* the weight outside `touched` */
    struct halo_rect touched; /* contains all samples whose weight may differ from `around` */
    void *scratch;
    size_t scratch_bytes;
};

/* Draws `count` shapes. If count is 0, no sample is inside a shape. Sets *ret_hidden to whether any
 * sample has a nonzero weight. An invalid shape (a length beyond the limits above, or a mask image
 * that was not loaded) hides everything. Returns 0 or -ENOMEM. */
int halo_shapes_draw(const struct halo_shape *shapes, int count,
                     const struct halo_shape_canvas *canvas, struct halo_drawn_region *ret,
                     bool *ret_hidden);
void halo_drawn_region_finish(struct halo_drawn_region *region);

/* Computes the width and height, in luma pixels, of the smallest box around all shapes that extend
 * into the frame. The results are at most the frame's width and height. If no shape extends into
 * the frame, the result is the frame's width and height. Filters whose strength follows the size of
 * a region use this function. The box includes parts outside the frame, so that the strength does
 * not decrease while a region leaves the frame. */
void halo_shapes_size(const struct halo_shape *shapes, int count, int frame_width, int frame_height,
                      double *ret_width, double *ret_height);

#endif
