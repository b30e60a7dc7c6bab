/* SPDX-License-Identifier: BSD-2-Clause
 * A gate's chain, planned for pictures by how they are to be shown (display.h): a region that is
 * written as somebody sees it lies elsewhere in a stored picture that is shown turned. Of pictures
 * for which nobody knows it, all is filtered. And by what their chroma shows (format.h): of some it
 * takes more samples to hide a region, be it written or told.
 *
 * One thread chooses; what it has chosen any thread may read until the ways are closed. */
#ifndef HALO_GATE_WAYS_H
#define HALO_GATE_WAYS_H

#include "pipeline/base/display.h"
#include "pipeline/filter/coverage.h"
#include "pipeline/gate/gate_plan.h"
#include "pipeline/gate/gate_regions.h"
#include "pipeline/picture/format.h"

enum { HALO_GATE_WAYS = HALO_DISPLAYS * HALO_SPILLS };

struct halo_gate_way {
    struct halo_gate_plan plan;
    struct halo_coverage coverage;
    struct halo_gate_regions *regions; /* NULL: the plan's always do */
};

struct halo_gate_ways {
    struct halo_gate_way first; /* as the input's pictures are shown, or as stored */
    struct halo_gate_way
        *other[HALO_GATE_WAYS];   /* made when such a picture comes; NULL: none came */
    bool refused[HALO_GATE_WAYS]; /* the chain does not fit such pictures */
    struct halo_ring *ring;
    struct halo_region_feed *feed;
    bool said_scaled, said_unknown;
};

/* Caller's memory, zeroed, which must not move; to be closed after a failure, too. Errors as of
 * halo_gate_create(). */
int halo_gate_ways_open(struct halo_gate_ways *ways, const struct halo_chain *chain,
                        struct halo_ring *ring, const struct halo_gate_input *input,
                        struct halo_error *err);
void halo_gate_ways_close(struct halo_gate_ways *ways);

void halo_gate_ways_set_feed(struct halo_gate_ways *ways, struct halo_region_feed *feed);

/* For a picture that is to be shown so, with such chroma; scaled: it came in another size than the
 * first. *ret_known says what its regions are worth. */
const struct halo_gate_way *halo_gate_ways_choose(struct halo_gate_ways *ways, int turn, int spill,
                                                  bool scaled, enum halo_gate_known *ret_known);

#endif
