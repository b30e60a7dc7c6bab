/* SPDX-License-Identifier: BSD-2-Clause
 * Shapes of a region feed in numbers of one unit each, luma pixels or parts of the picture: how
 * they move, grow and come together. All of it is the same in either unit. For region_feed.c.
 *
 * Any thread; nothing allocates. */
#ifndef HALO_REGION_MOTION_H
#define HALO_REGION_MOTION_H

#include "pipeline/region/region_feed.h"

struct halo_box {
    double x0, y0, x1, y1; /* x0 <= x1, y0 <= y1 */
};

struct halo_motion {
    enum halo_shape_kind kind; /* no MASK */
    bool relative;
    struct halo_box box;
    double corner[HALO_MAX_CORNERS][2]; /* POLYGON */
    int corners;
};

/* 0, or -EINVAL with err filled: it is none, or not finite, or far too large. */
int halo_motion_read(struct halo_motion *ret, const struct halo_shape *shape,
                     struct halo_error *err);

/* The box around both, which are of one unit. */
void halo_motion_join(struct halo_motion *motion, const struct halo_motion *other);

/* Where it would be, `by` times as much farther from `before` than it is now; never smaller than
 * it is now. */
void halo_motion_go_on(struct halo_motion *ret, const struct halo_motion *motion,
                       const struct halo_motion *before, double by);

/* What has been put into a picture so far, and its boxes. */
struct halo_region_list {
    struct halo_region_now *now;
    struct halo_box box[HALO_MAX_SHAPES];
};

/* Puts all that the shape passes on its way from one to the other (NULL: it stays), grown by
 * margin, into the list, as at most `most` shapes if there is room. False: there is no room left in
 * that unit. */
bool halo_motion_put(struct halo_region_list *list, const struct halo_motion *from,
                     const struct halo_motion *to, double margin, int most);

/* Puts the shape, smaller by margin on all sides (a polygon as it is), into the list, where
 * something is left of it and there is room. */
void halo_motion_put_less(struct halo_region_list *list, const struct halo_motion *motion,
                          double margin);

#endif
