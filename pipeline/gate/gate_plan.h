/* SPDX-License-Identifier: BSD-2-Clause
 * What a gate (gate.h) does with each plane of its pictures: the chain, planned for one stream. No
 * picture is seen here. */
#ifndef HALO_GATE_PLAN_H
#define HALO_GATE_PLAN_H

#include <stdbool.h>

#include "pipeline/gate/gate.h"

/* The way of one plane through the chain: 1 step or more, a copy where no filter changes it. plain
 * is the same without strategies, for another backend than the ring began with. */
struct halo_plane_steps {
    struct halo_step *own, *plain;
    int *filter; /* whose step it is; negative: the copy's */
    int count;
};

enum { HALO_PLAN_LEVELS = 12 };

/* A filter on each plane. Level 0 is made for its region's size, or, where a feed tells regions,
 * for the whole picture; the others, in steps of one to the square root of 2, for smaller ones. */
struct halo_planned_filter {
    struct halo_plane_plan (*level)[HALO_MAX_PLANES];
    int levels;
    const struct halo_strategy *strategy; /* NULL: auto */
    const struct halo_filter *filter;
    bool feed;    /* its region is told for each picture */
    bool written; /* its region is not told but written, in pictures as they are shown */
    bool pixels;  /* it is written with lengths in pixels */
    int leader;   /* the first filter with the same region */
    struct halo_shapes *stored; /* what is written, as it lies in the stored picture; owned */
    /* Of leaders: what is drawn for the first plane of each canvas (halo_gate_plan_canvas()). */
    struct halo_drawn_region *drawn;
};

/* Does not change once it is made: any thread may read it. */
struct halo_gate_plan {
    struct halo_gate_input input;
    enum AVPixelFormat format; /* native: what is filtered, and what leaves the gate */
    int planes;
    struct halo_plane_steps steps[HALO_MAX_PLANES];

    const struct halo_chain *chain;
    struct halo_planned_filter *filter; /* one for each of the chain */
    bool feed, written, pixels;         /* so is some region */
    struct halo_conv copy;              /* the step of a plane that no filter changes */
};

/* Caller's memory, zeroed, which must not move: the steps point into it. chain must outlive the
 * plan. Says which filters change nothing. 0 or -errno with err filled (-EINVAL: the chain does not
 * fit, or a region hides nothing, -ENOTSUP: the pixel format, -ENOMEM); finish it then, too. */
int halo_gate_plan_init(struct halo_gate_plan *plan, const struct halo_chain *chain,
                        struct halo_ring *ring, const struct halo_gate_input *input,
                        struct halo_error *err);
void halo_gate_plan_finish(struct halo_gate_plan *plan);

/* The first plane with the size and the samples' places of plane p: one drawing does for both. */
int halo_gate_plan_canvas(const struct halo_gate_plan *plan, int p);

/* Plane p as shapes are drawn on it for filter f. */
struct halo_shape_canvas halo_gate_plan_canvas_of(const struct halo_gate_plan *plan, int f, int p);

/* The size of level number `level`, as a part of the picture's. */
double halo_gate_plan_level(int level);

/* Whether its input's privacy allows it: 0, or as halo_privacy_judge(). Where a feed's smaller
 * regions would be filtered too weakly, they get the weakest level that is allowed. */
int halo_gate_plan_judge(struct halo_gate_plan *plan, struct halo_error *err);

/* Whether null is all that its chain says. */
bool halo_gate_plan_is_passthrough(const struct halo_gate_plan *plan);

/* How much of its pictures it hides: 0, or -ENOMEM, or -EINVAL where that is less than the input's
 * min_coverage, with err filled. */
int halo_gate_plan_cover(const struct halo_gate_plan *plan, struct halo_coverage *ret,
                         struct halo_error *err);

/* Whether the pictures can lie in the memory of a GPU whose encoders read them there. */
bool halo_gate_plan_fits_device(const struct halo_gate_plan *plan);

#endif
