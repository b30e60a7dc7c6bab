/* SPDX-License-Identifier: BSD-2-Clause
 * The variants of a gate's plan, one for each kind of frame. Frames differ in their display
 * orientation (display.h). The regions in a chain's text are for frames as displayed, so their
 * position in the stored frame depends on the orientation; if it is not known, filters with such a
 * region apply everywhere. Frames also differ in their chroma spill (format.h): with spill, more
 * samples must be filtered to hide a region, whether the region is in the chain's text or comes
 * from a feed.
 *
 * One thread calls halo_gate_variants_choose(). Any thread may read the chosen variant until all
 * are closed. */
#ifndef HALO_GATE_VARIANTS_H
#define HALO_GATE_VARIANTS_H

#include "pipeline/base/display.h"
#include "pipeline/filter/coverage.h"
#include "pipeline/gate/gate_plan.h"
#include "pipeline/gate/gate_regions.h"
#include "pipeline/frame/format.h"

enum { HALO_GATE_VARIANTS = HALO_DISPLAYS * HALO_SPILLS };

struct halo_gate_variant {
    struct halo_gate_plan plan;
    struct halo_coverage coverage;
    struct halo_gate_regions *regions; /* NULL: no filter has a region */
};

struct halo_gate_variants {
    /* The variant for frames with the input's chroma spill and display orientation. If that
     * orientation is unknown, it is the one for frames that are displayed as they are stored. */
    struct halo_gate_variant first;
    /* The variants for all other frames. Each element is NULL until the first frame that needs
     * it arrives. */
    struct halo_gate_variant *other[HALO_GATE_VARIANTS];
    /* refused[i] is true if the chain does not fit the frames for which other[i] is intended;
     * other[i] then remains NULL. */
    bool refused[HALO_GATE_VARIANTS];
    struct halo_gate_cells *cells; /* of all variants; NULL: no filter draws cells */
    struct halo_ring *ring;
    struct halo_region_feed *feed;
    bool said_scaled, said_unknown;
};

/* Opens the variants of a gate. The caller must zero *variants before the call, must not move it
 * afterwards, and must close it even after a failure. Returns 0, or an error as halo_gate_create()
 * does. */
int halo_gate_variants_open(struct halo_gate_variants *variants, const struct halo_chain *chain,
                            struct halo_ring *ring, const struct halo_gate_input *input,
                            struct halo_error *err);
void halo_gate_variants_close(struct halo_gate_variants *variants);

void halo_gate_variants_set_feed(struct halo_gate_variants *variants,
                                 struct halo_region_feed *feed);

/* Returns the variant for a frame with this orientation and chroma spill. `scaled`
 * is true if the frame's size differed from the first frame's. Sets *ret_known to the kind of
 * regions whose position in the frame is known. */
const struct halo_gate_variant *halo_gate_variants_choose(struct halo_gate_variants *variants,
                                                          int turn, int spill, bool scaled,
                                                          enum halo_gate_known *ret_known);

#endif
