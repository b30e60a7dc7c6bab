/* SPDX-License-Identifier: BSD-2-Clause
 * The plan of a gate (gate.h): what its chain does with each plane of one stream's frames. This
 * code never sees a frame. */
#ifndef HALO_GATE_PLAN_H
#define HALO_GATE_PLAN_H

#include <stdbool.h>

#include "pipeline/gate/gate.h"

/* The steps of one plane: at least one, which is a copy if no filter changes the plane. plain has
 * the same steps without strategies, for another backend than that with which the ring began. */
struct halo_plane_steps {
    struct halo_step *own, *plain;
    int *filter; /* for each step, the number of its filter; negative: the copy */
    int count;
};

enum { HALO_PLAN_LEVELS = 12 };

/* A filter, planned for each plane. Level 0 is planned for the size of its region, or, with a
 * region feed, for the whole frame; each further level is for regions smaller by the square root of
 * 2. */
struct halo_planned_filter {
    struct halo_plane_plan (*level)[HALO_MAX_PLANES];
    int levels;
    const struct halo_strategy *strategy; /* NULL: auto */
    const struct halo_filter *filter;
    bool feed;                  /* a region feed supplies its region for each frame */
    bool written;               /* its region is in the chain's text, for frames as displayed */
    bool pixels;                /* that text has lengths in pixels */
    int leader;                 /* the first filter with the same region */
    struct halo_shapes *stored; /* the written shapes, for frames as stored; owned */
    /* For leaders: the region, drawn for the first plane of each canvas
     * (halo_gate_plan_canvas()). */
    struct halo_drawn_region *drawn;
};

/* Immutable once it is made: any thread may read it. */
struct halo_gate_plan {
    struct halo_gate_input input;
    enum AVPixelFormat format; /* native format, of filtering and of output frames */
    int planes;
    struct halo_plane_steps steps[HALO_MAX_PLANES];

    const struct halo_chain *chain;
    struct halo_planned_filter *filter; /* one for each filter of the chain */
    bool feed, written, pixels;         /* true if they are for any filter */
    struct halo_conv copy;              /* the step for planes that no filter changes */
};

/* plan is the caller's memory, zeroed; it must not move, because the steps point into it. chain
 * must outlive the plan. Logs which filters change nothing. 0 or -errno with err filled (-EINVAL:
 * the chain does not fit, or a region hides nothing; -ENOTSUP: the pixel format is not supported;
 * -ENOMEM). Call halo_gate_plan_finish() after a failure, too. */
int halo_gate_plan_init(struct halo_gate_plan *plan, const struct halo_chain *chain,
                        struct halo_ring *ring, const struct halo_gate_input *input,
                        struct halo_error *err);
void halo_gate_plan_finish(struct halo_gate_plan *plan);

/* The first plane with the same size and subsampling as plane p: they share one drawing. */
int halo_gate_plan_canvas(const struct halo_gate_plan *plan, int p);

/* The canvas on which shapes are drawn for filter f on plane p. */
struct halo_shape_canvas halo_gate_plan_canvas_of(const struct halo_gate_plan *plan, int f, int p);

/* The region size of a level, as a fraction of the frame's. */
double halo_gate_plan_level(int level);

/* Judges the plan by its input's privacy setting: 0, or as halo_privacy_judge(). If smaller regions
 * of a feed would be filtered too weakly, they use the weakest level that is allowed. */
int halo_gate_plan_judge(struct halo_gate_plan *plan, struct halo_error *err);

/* Whether all filters of its chain are null. */
bool halo_gate_plan_is_passthrough(const struct halo_gate_plan *plan);

/* Computes how much of the frames the plan hides. 0, or with err filled -ENOMEM, or -EINVAL if it
 * is less than the input's min_coverage. */
int halo_gate_plan_cover(const struct halo_gate_plan *plan, struct halo_coverage *ret,
                         struct halo_error *err);

/* Whether output frames can be in GPU memory, in which an encoder reads them. */
bool halo_gate_plan_fits_device(const struct halo_gate_plan *plan);

#endif
