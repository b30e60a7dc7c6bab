/* SPDX-License-Identifier: BSD-2-Clause
 * Regions of single frames that differ from the plan's. Those of a region feed are drawn when a
 * frame enters the gate (gate.h), in memory that belongs to the frame until it has left. Those in
 * the chain's text are replaced if it is not known where they are in a frame. If nothing is known,
 * the whole frame is filtered.
 *
 * One thread takes regions, another one gives them back. */
#ifndef HALO_GATE_REGIONS_H
#define HALO_GATE_REGIONS_H

#include "pipeline/gate/gate_plan.h"
#include "pipeline/region/region_feed.h"

struct halo_gate_regions;
struct halo_picture_regions;

/* plan must outlive it. NULL: out of memory. */
struct halo_gate_regions *halo_gate_regions_create(const struct halo_gate_plan *plan);
void halo_gate_regions_destroy(struct halo_gate_regions *regions); /* NULL is ignored */

/* Sets the region feed from the next frame on; it must outlive regions. NULL, as at first: no
 * feed. */
void halo_gate_regions_set_feed(struct halo_gate_regions *regions, struct halo_region_feed *feed);

/* Which regions are known for a frame; filters with other regions apply everywhere. */
enum halo_gate_known {
    HALO_KNOWN,        /* all */
    HALO_KNOWN_PARTS,  /* all without lengths in pixels: the frame has another size */
    HALO_KNOWN_TOLD,   /* only a feed's: the frame's display orientation is not known */
    HALO_KNOWN_NOTHING /* none: there is no plan for the frame */
};

/* Returns the regions for the frame of that time, in microseconds on the feed's clock. NULL: out of
 * memory. Memory is allocated only while the number of frames in the gate reaches a new maximum. */
struct halo_picture_regions *halo_gate_regions_take(struct halo_gate_regions *regions,
                                                    int64_t picture_us, enum halo_gate_known known);
void halo_gate_regions_give(struct halo_gate_regions *regions,
                            struct halo_picture_regions *picture); /* NULL is ignored */

/* The steps for a plane, as many as the plan has; own: with strategies. */
const struct halo_step *halo_picture_regions_steps(const struct halo_picture_regions *picture,
                                                   int p, bool own);

#endif
