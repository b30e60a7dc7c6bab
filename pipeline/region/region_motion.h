/* SPDX-License-Identifier: BSD-2-Clause
 * How the shapes of a region feed move, grow and are merged. All lengths of a shape have the same
 * unit: luma pixels, or fractions of the frame; the calculations are the same for both. Used by
 * region_feed.c.
 *
 * Any thread may call these functions; none of them allocates memory. */
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
    uint64_t track; /* number of the object (shapes.h); 0: not known */
};

/* Converts a shape. Returns 0, or -EINVAL with err filled if the shape is invalid, is not finite,
 * or is far too large. */
int halo_motion_read(struct halo_motion *ret, const struct halo_shape *shape,
                     struct halo_error *err);

/* Replaces *motion with the bounding box of *motion and *other, whose lengths must have the same
 * unit. The result is of no track unless both are of the same. */
void halo_motion_join(struct halo_motion *motion, const struct halo_motion *other);

/* Extrapolates the motion of a shape: *ret = *motion + by * (*motion - *before). If the shape has
 * grown from `before` to `motion`, it continues to grow; it never becomes smaller than `motion`. */
void halo_motion_go_on(struct halo_motion *ret, const struct halo_motion *motion,
                       const struct halo_motion *before, double by);

/* The shapes collected so far for a frame, with the bounding box of each. */
struct halo_region_list {
    struct halo_region_now *now;
    struct halo_box box[HALO_MAX_SHAPES];
};

/* Adds shapes to the list. Together, they cover everything that a shape, enlarged by margin,
 * crosses on its way from `from` to `to`. If `to` is NULL, the shape does not move. Adds at most
 * `most` shapes. If the list has no room, merges the new shapes into a shape of the list that has
 * the same unit; merged shapes are of no track. Returns false if the list is full and has no shape
 * with that unit. */
bool halo_motion_put(struct halo_region_list *list, const struct halo_motion *from,
                     const struct halo_motion *to, double margin, int most);

/* Reduces the shape by margin on all sides (a polygon is not reduced), and adds the result to the
 * list if the result is not empty and the list has room. */
void halo_motion_put_less(struct halo_region_list *list, const struct halo_motion *motion,
                          double margin);

#endif
