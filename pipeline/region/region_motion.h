/* SPDX-License-Identifier: BSD-2-Clause
 * How the shapes of a region feed move, grow and are merged. All lengths of a shape have the same
 * unit: luma pixels, or fractions of the frame; the calculations are the same for both. Used by
 * region_feed.c.
 *
 * Any thread; nothing allocates memory. */
#ifndef HALO_REGION_MOTION_H
#define HALO_REGION_MOTION_H

#include "pipeline/region/region_feed.h"

struct halo_box {
    double x0, y0, x1, y1; /* x0 <= x1, y0 <= y1 */
};

struct halo_motion {
    enum halo_shape_kind kind; /* not MASK */
    bool relative;
    struct halo_box box;
    double corner[HALO_MAX_CORNERS][2]; /* POLYGON */
    int corners;
};

/* Converts a shape. 0, or -EINVAL with err filled: it is invalid, not finite, or far too large. */
int halo_motion_read(struct halo_motion *ret, const struct halo_shape *shape,
                     struct halo_error *err);

/* Replaces motion by the box around both shapes, which must have the same unit. */
void halo_motion_join(struct halo_motion *motion, const struct halo_motion *other);

/* Extrapolates: *ret is the shape moved on from motion by `by` times the way from `before` to
 * motion. It may grow likewise, but is never smaller than motion. */
void halo_motion_go_on(struct halo_motion *ret, const struct halo_motion *motion,
                       const struct halo_motion *before, double by);

/* The shapes for a frame so far, and the box around each of them. */
struct halo_region_list {
    struct halo_region_now *now;
    struct halo_box box[HALO_MAX_SHAPES];
};

/* Adds everything that the shape passes on its way between two positions (to NULL: it does not
 * move), enlarged by margin, to the list: as at most `most` shapes if there is room, otherwise
 * merged into one of the same unit. False: the list is full and has none of that unit. */
bool halo_motion_put(struct halo_region_list *list, const struct halo_motion *from,
                     const struct halo_motion *to, double margin, int most);

/* Adds the shape, reduced by margin on all sides (a polygon unchanged), to the list, if anything is
 * left of it and there is room. */
void halo_motion_put_less(struct halo_region_list *list, const struct halo_motion *motion,
                          double margin);

#endif
