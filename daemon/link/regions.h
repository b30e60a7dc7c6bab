/* SPDX-License-Identifier: BSD-2-Clause
 * Regions in the form in which programs send them over the control socket and the supervisor sends
 * them to its engines. Both use the same list, and both receivers check it.
 *
 *   {"id": "7", "kind": "ellipse", "x": 0.2, "y": 0.1, "w": 0.1, "h": 0.2, "unit": "relative"}
 *   {"kind": "polygon", "corners": [[10, 10], [90, 10], [50, 80]], "ttl": 2}
 *
 * unit is "pixels" (of the filtered frame; the default) or "relative" (1 is the frame's width, or
 * its height). ttl is in seconds. */
#ifndef HALO_REGIONS_H
#define HALO_REGIONS_H

#include <jansson.h>

#include "pipeline/region/region_feed.h"

/* A parsed list of regions. This struct is large: 50 KiB. The struct also stores the shapes'
 * corners, so nothing else has to be freed. */
struct halo_regions {
    struct halo_region_update update[HALO_MAX_SHAPES];
    int count;
    struct halo_length corner[HALO_REGION_CORNERS][2];
    int corners;
};

/* The type of the list in the description of the Varlink interface. */
#define HALO_REGIONS_TYPE                                                                          \
    "[](id: ?string, kind: (rect, ellipse, polygon), x: ?float, y: ?float, w: ?float, h: ?float, " \
    "corners: ?[][]float, unit: ?(pixels, relative), ttl: ?float)"

/* Parses the list, and checks its form but not its numbers, which halo_region_check() checks.
 * Returns 0, or -EINVAL with err filled, such as "regions[2].w: must be a number". */
int halo_regions_read(struct halo_regions *ret, const json_t *list, struct halo_error *err);

#endif
