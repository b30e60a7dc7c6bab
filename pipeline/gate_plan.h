/* SPDX-License-Identifier: BSD-2-Clause
 * What a gate (gate.h) does with each plane of its pictures: the chain, planned for one stream. No
 * picture is seen here. */
#ifndef HALO_GATE_PLAN_H
#define HALO_GATE_PLAN_H

#include <stdbool.h>

#include "pipeline/gate.h"

/* The way of one plane through the chain: 1 step or more, a copy where no filter changes it. plain
 * is the same without strategies, for another backend than the ring began with. */
struct halo_plane_steps {
    struct halo_step *own, *plain;
    int count;
};

/* Does not change once it is made: any thread may read it. */
struct halo_gate_plan {
    struct halo_gate_input input;
    enum AVPixelFormat format; /* native: what is filtered, and what leaves the gate */
    int planes;
    struct halo_plane_steps steps[HALO_MAX_PLANES];

    const struct halo_chain *chain;
    struct halo_planned_filter *filter; /* one for each of the chain; known to gate_plan.c alone */
    struct halo_conv copy;              /* the step of a plane that no filter changes */
};

/* Caller's memory, zeroed, which must not move: the steps point into it. chain must outlive the
 * plan. Says which filters change nothing. 0 or -errno with err filled (-EINVAL: the chain does not
 * fit, -ENOTSUP: the pixel format, -ENOMEM); finish it then, too. */
int halo_gate_plan_init(struct halo_gate_plan *plan, const struct halo_chain *chain,
                        const struct halo_ring *ring, const struct halo_gate_input *input,
                        struct halo_error *err);
void halo_gate_plan_finish(struct halo_gate_plan *plan);

/* Whether it does nothing to any plane of these pictures. */
bool halo_gate_plan_is_open(const struct halo_gate_plan *plan);

/* Whether the pictures can lie in the memory of a GPU whose encoders read them there. */
bool halo_gate_plan_fits_device(const struct halo_gate_plan *plan);

#endif
