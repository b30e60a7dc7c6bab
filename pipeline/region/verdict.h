/* SPDX-License-Identifier: BSD-2-Clause
 * Verdicts: what detectors (docs/detectors.md) found in one frame, for filters with region=faces,
 * region=people or region=background. A verdict travels with its unfiltered frame to the gate
 * (raw_frame.h), so a frame cannot be filtered with another frame's verdict. A frame without a
 * verdict is hidden entirely by each of these filters, and so is a frame whose verdict does not
 * contain what the filter's region refers to.
 *
 * One thread makes and fills a verdict, and attaches it to a frame. From then on the verdict does
 * not change, and any thread may read it. */
#ifndef HALO_VERDICT_H
#define HALO_VERDICT_H

#include <stdbool.h>

#include "config/detectors.h"
#include "pipeline/region/shapes.h"

struct halo_verdict;

/* Creates a verdict in which nothing is known. Returns NULL if memory runs out. */
struct halo_verdict *halo_verdict_create(void);
void halo_verdict_destroy(struct halo_verdict *verdict); /* NULL is ignored */

/* Shapes, in lengths relative to the frame as stored. */
struct halo_verdict_shapes {
    struct halo_shape *shape;
    int count; /* 0 to HALO_MAX_SHAPES */
};

/* Records what was found. `hidden` are the shapes that a filter without invert hides, already
 * enlarged by all margins. `shown` are the shapes that a filter with invert leaves visible, which
 * must never contain anything that might not belong to the find; NULL: the same as hidden, and what
 * these own is shared. Takes ownership of what the shapes
 * own (corners, mask images) even on failure, but not of the arrays. Must be called at most once
 * for each find. Returns 0; or -ENOMEM, and the find remains unknown. */
int halo_verdict_set(struct halo_verdict *verdict, enum halo_find find,
                     const struct halo_verdict_shapes *hidden,
                     const struct halo_verdict_shapes *shown);

/* Returns the shapes of a find for filters with or without invert, or NULL if they are unknown or
 * verdict is NULL. The result is valid as long as the verdict. */
const struct halo_verdict_shapes *halo_verdict_get(const struct halo_verdict *verdict,
                                                   enum halo_find find, bool invert);

#endif
