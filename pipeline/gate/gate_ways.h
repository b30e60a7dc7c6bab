/* SPDX-License-Identifier: BSD-2-Clause
 * The plans ("ways") of a gate's chain, one for each kind of frame. Frames differ in their display
 * orientation (display.h): the regions in a chain's text are for frames as displayed, so their
 * place in the stored frame depends on it; in frames whose orientation is not known, filters with
 * such a region apply everywhere. Frames also differ in their chroma spill (format.h): with it,
 * more samples must be filtered to hide a region, whether the region is in the chain's text or from
 * a feed.
 *
 * One thread chooses; any thread may read the chosen way until the ways are closed. */
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
    struct halo_gate_regions *regions; /* NULL: no filter has a region */
};

struct halo_gate_ways {
    struct halo_gate_way first; /* for the input's orientation and spill */
    struct halo_gate_way
        *other[HALO_GATE_WAYS];   /* made for the first such frame; NULL: none so far */
    bool refused[HALO_GATE_WAYS]; /* the chain does not fit such frames */
    struct halo_ring *ring;
    struct halo_region_feed *feed;
    bool said_scaled, said_unknown;
};

/* ways is the caller's memory, zeroed; it must not move, and must be closed after a failure, too.
 * Errors as for halo_gate_create(). */
int halo_gate_ways_open(struct halo_gate_ways *ways, const struct halo_chain *chain,
                        struct halo_ring *ring, const struct halo_gate_input *input,
                        struct halo_error *err);
void halo_gate_ways_close(struct halo_gate_ways *ways);

void halo_gate_ways_set_feed(struct halo_gate_ways *ways, struct halo_region_feed *feed);

/* Chooses the way for a frame with this orientation and chroma spill; scaled: it had another size
 * than the first frame. *ret_known: which of its regions are known. */
const struct halo_gate_way *halo_gate_ways_choose(struct halo_gate_ways *ways, int turn, int spill,
                                                  bool scaled, enum halo_gate_known *ret_known);

#endif
