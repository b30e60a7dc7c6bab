/* SPDX-License-Identifier: BSD-2-Clause
 * The plan of a gate (gate.h): what its chain does to each plane of one stream's frames. This code
 * never sees a frame. */
#ifndef HALO_GATE_PLAN_H
#define HALO_GATE_PLAN_H

#include <stdbool.h>

#include "pipeline/gate/gate.h"
#include "pipeline/frame/format.h"

/* The filter steps for one plane of every frame. If no filter changes the plane, the only step is a
 * copy. `own` contains the steps for the backend with which the ring was opened; `plain` contains
 * the same steps without strategies, for any other backend. */
struct halo_plane_steps {
    struct halo_step *own, *plain;
    int *filter; /* number of the filter to which each step belongs; negative for the copy */
    int count;
};

enum { HALO_PLAN_LEVELS = 12 };

/* A filter, planned for each plane. Level 0 is planned for the size of the filter's region or, if
 * the filter's regions are supplied for each frame, for the whole frame. Only filters whose sizes
 * depend on the sizes of supplied regions have further levels. Each further level is planned for
 * smaller regions: their width and height are those of the previous level divided by the square
 * root of 2. */
struct halo_planned_filter {
    struct halo_plane_plan (*level)[HALO_MAX_PLANES];
    int levels;
    const struct halo_strategy *strategy; /* NULL: auto */
    const struct halo_filter *filter;
    bool supplied; /* a region feed or a detector supplies the region for each frame */
    bool written;  /* the chain's text specifies the region, which refers to frames as displayed */
    bool pixels;   /* the region in the text has lengths in pixels */
    int leader;    /* number of the first filter with the same region */
    struct halo_shapes *stored; /* the shapes in the text, converted to frames as stored; owned */
    /* Only for leaders: the drawn region, as an array with one element for each plane. If several
     * planes have the same size and subsampling, only the element of the first one is used
     * (halo_gate_plan_canvas()). */
    struct halo_drawn_region *drawn;
};

/* Immutable after halo_gate_plan_init(), so any thread may read it. */
struct halo_gate_plan {
    struct halo_gate_input input;
    enum AVPixelFormat format; /* native format, for filtering and for output frames */
    int planes;
    struct halo_reach reach; /* how far chroma spills in frames of the input's format and size */
    struct halo_plane_steps steps[HALO_MAX_PLANES];

    const struct halo_chain *chain;
    struct halo_planned_filter *filter; /* one for each filter of the chain */
    bool supplied, written, pixels;     /* true if this field of any halo_planned_filter is true */
    struct halo_conv copy;              /* the step for planes that no filter changes */
};

/* Initialises plan. The caller must zero *plan before the call and must not move it afterwards,
 * because the steps point into it. chain must outlive the plan. Logs which filters change nothing.
 * Returns 0, or -errno with err filled (-EINVAL: the chain does not fit the frames, or a region
 * hides nothing; -ENOTSUP: the pixel format is not supported; -ENOMEM). Call
 * halo_gate_plan_finish() after a failure, too. */
int halo_gate_plan_init(struct halo_gate_plan *plan, const struct halo_chain *chain,
                        struct halo_ring *ring, const struct halo_gate_input *input,
                        struct halo_error *err);
void halo_gate_plan_finish(struct halo_gate_plan *plan);

/* Returns the first plane with the same size and subsampling as plane p. A region is drawn only
 * once for all planes with the same size and subsampling. */
int halo_gate_plan_canvas(const struct halo_gate_plan *plan, int p);

/* Returns the canvas on which the shapes of filter f are drawn for plane p of a frame that spills
 * so much. */
struct halo_shape_canvas halo_gate_plan_canvas_of(const struct halo_gate_plan *plan, int f, int p,
                                                  const struct halo_reach *reach);

/* Returns the size of the regions for which a level is planned, as a fraction of the frame's width
 * and height. */
double halo_gate_plan_level(int level);

/* Checks whether the privacy setting in the plan's input allows the planned chain. Returns 0, or
 * an error as halo_privacy_judge() does. If small supplied regions would be filtered too weakly,
 * they are filtered with the weakest level that is allowed. */
int halo_gate_plan_judge(struct halo_gate_plan *plan, struct halo_error *err);

/* Returns whether all filters of the plan's chain are `null` filters. */
bool halo_gate_plan_is_passthrough(const struct halo_gate_plan *plan);

/* Computes how much of each frame is hidden by the plan. Returns 0; or, with err filled, -ENOMEM or
 * -EINVAL (the coverage is below the min_coverage of the plan's input). */
int halo_gate_plan_cover(const struct halo_gate_plan *plan, struct halo_coverage *ret,
                         struct halo_error *err);

/* Returns whether output frames can stay in GPU memory for an encoder that reads them there. */
bool halo_gate_plan_fits_device(const struct halo_gate_plan *plan);

#endif
