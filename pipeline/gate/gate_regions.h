/* SPDX-License-Identifier: BSD-2-Clause
 * Regions that belong to a single frame rather than to the plan. The regions of a region feed and
 * of the frame's verdict (verdict.h) are drawn when a frame enters the gate (gate.h), in memory
 * that belongs to the frame until it has left the gate; so are those of the chain's text if the
 * frame spills more than the plan's frames. If it is not known where a region from the
 * chain's text lies in a frame, the filters with that region apply to the whole frame. If no region
 * is known, the whole frame is filtered.
 *
 * One thread calls halo_gate_regions_take(), and another calls halo_gate_regions_give(). */
#ifndef HALO_GATE_REGIONS_H
#define HALO_GATE_REGIONS_H

#include "pipeline/gate/gate_cells.h"
#include "pipeline/gate/gate_plan.h"
#include "pipeline/region/region_feed.h"
#include "pipeline/region/verdict.h"

struct halo_gate_regions;
struct halo_frame_regions;

/* plan and cells must outlive the result. cells: the frozen cells of the gate, or NULL if no filter
 * draws any; halo_gate_cells_begin() is called before each frame's regions are taken. Returns NULL
 * if memory runs out. */
struct halo_gate_regions *halo_gate_regions_create(const struct halo_gate_plan *plan,
                                                   struct halo_gate_cells *cells);
void halo_gate_regions_destroy(struct halo_gate_regions *regions); /* NULL is ignored */

/* Sets the region feed that is used from the next frame on; feed must outlive regions. NULL means
 * no feed, which is also the initial state. */
void halo_gate_regions_set_feed(struct halo_gate_regions *regions, struct halo_region_feed *feed);

/* The regions whose position in a frame is known. A filter with a region whose position is not
 * known applies to the whole frame. */
enum halo_gate_known {
    HALO_KNOWN, /* all */
    /* All regions except those in the chain's text that have lengths in pixels, because such
     * lengths may refer to frames of another size. */
    HALO_KNOWN_PARTS,
    /* Only regions of the region feed and of verdicts, which refer to the frame as stored. Regions
     * in the chain's text refer to the frame as displayed, and the frame's display orientation is
     * not known. */
    HALO_KNOWN_TOLD,
    HALO_KNOWN_NOTHING /* no position is known, because no plan fits the frame */
};

/* A frame whose regions are taken. */
struct halo_regions_frame {
    int64_t us;                         /* on the feed's clock */
    const struct halo_verdict *verdict; /* NULL: not judged. Not used after the call. */
    enum halo_gate_known known;
    struct halo_reach reach; /* what it spills */
};

/* Returns the regions for a frame, or NULL if memory runs out. Memory is allocated only when the
 * number of frames in the gate reaches a new maximum. */
struct halo_frame_regions *halo_gate_regions_take(struct halo_gate_regions *regions,
                                                  const struct halo_regions_frame *frame);
void halo_gate_regions_give(struct halo_gate_regions *regions,
                            struct halo_frame_regions *frame); /* NULL is ignored */

/* Returns the steps for plane p; their number is the same as in the plan. If `own` is true, returns
 * the steps for the backend with which the ring was opened; otherwise returns the same steps
 * without strategies. */
const struct halo_step *halo_frame_regions_steps(const struct halo_frame_regions *frame, int p,
                                                 bool own);

#endif
