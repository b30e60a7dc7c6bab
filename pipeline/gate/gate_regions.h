/* SPDX-License-Identifier: BSD-2-Clause
 * Regions that are other than the plan's: told for each picture, which a gate (gate.h) draws when
 * one enters, in memory that is the picture's until it has left; and written ones, of a picture
 * where nobody knows what they mean. Where nothing is known the whole picture is filtered.
 *
 * One thread takes, another gives back. */
#ifndef HALO_GATE_REGIONS_H
#define HALO_GATE_REGIONS_H

#include "pipeline/gate/gate_plan.h"
#include "pipeline/region/region_feed.h"

struct halo_gate_regions;
struct halo_picture_regions;

/* plan must outlive it. NULL: out of memory. */
struct halo_gate_regions *halo_gate_regions_create(const struct halo_gate_plan *plan);
void halo_gate_regions_destroy(struct halo_gate_regions *regions); /* NULL is nothing to do */

/* Who knows regions from the next picture on; must outlive regions. NULL: nobody, as at first. */
void halo_gate_regions_set_feed(struct halo_gate_regions *regions, struct halo_region_feed *feed);

/* Of a picture's regions. */
enum halo_gate_known {
    HALO_KNOWN,
    HALO_KNOWN_PARTS,  /* but those with lengths in pixels: it came in another size */
    HALO_KNOWN_TOLD,   /* a feed's alone: it is not known how the picture is to be shown */
    HALO_KNOWN_NOTHING /* nor those: there is no plan for it */
};

/* The regions of a picture of that time, microseconds as the feed has them. NULL: out of memory.
 * Nothing is allocated once as many pictures have been in the gate as ever are at one time. */
struct halo_picture_regions *halo_gate_regions_take(struct halo_gate_regions *regions,
                                                    int64_t picture_us, enum halo_gate_known known);
void halo_gate_regions_give(struct halo_gate_regions *regions,
                            struct halo_picture_regions *picture); /* NULL is nothing to do */

/* The steps of a plane, as many as the plan has; own: with the strategies. */
const struct halo_step *halo_picture_regions_steps(const struct halo_picture_regions *picture,
                                                   int p, bool own);

#endif
