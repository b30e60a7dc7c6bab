/* SPDX-License-Identifier: BSD-2-Clause
 * The plans ("ways") of a gate's chain, one for each kind of frame. Frames differ in their display
 * orientation (display.h). The regions in a chain's text are for frames as displayed, so their
 * position in the stored frame depends on the orientation; if it is not known, filters with such a
 * region apply everywhere. Frames also differ in their chroma spill (format.h): with spill, more
 * samples must be filtered to hide a region, whether the region is in the chain's text or comes
 * from a feed.
 *
 * One thread calls halo_gate_ways_choose(). Any thread may read the chosen way until the ways are
 * closed. */
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
    /* The way (plan) for frames with the input's chroma spill and display orientation. If that
     * orientation is unknown, this is the way for frames that are displayed as they are stored. */
    struct halo_gate_way first;
    /* The ways (plans) for all other frames. Each element is NULL until the first frame that needs
     * it arrives. */
    struct halo_gate_way *other[HALO_GATE_WAYS];
    /* refused[i] is true if the chain does not fit the frames for which other[i] is intended;
     * other[i] then remains NULL. */
    bool refused[HALO_GATE_WAYS];
    struct halo_gate_cells *cells; /* of all ways; NULL: no filter draws cells */
    struct halo_ring *ring;
    struct halo_region_feed *feed;
    bool said_scaled, said_unknown;
};

/* Opens the ways (plans) of a gate. The caller must zero *ways before the call, must not move it
 * afterwards, and must close it even after a failure. Returns 0, or an error as halo_gate_create()
 * does. */
int halo_gate_ways_open(struct halo_gate_ways *ways, const struct halo_chain *chain,
                        struct halo_ring *ring, const struct halo_gate_input *input,
                        struct halo_error *err);
void halo_gate_ways_close(struct halo_gate_ways *ways);

void halo_gate_ways_set_feed(struct halo_gate_ways *ways, struct halo_region_feed *feed);

/* Returns the way (that is, the plan) for a frame with this orientation and chroma spill. `scaled`
 * is true if the frame's size differed from the first frame's. Sets *ret_known to the kind of
 * regions whose position in the frame is known. */
const struct halo_gate_way *halo_gate_ways_choose(struct halo_gate_ways *ways, int turn, int spill,
                                                  bool scaled, enum halo_gate_known *ret_known);

#endif
