/* SPDX-License-Identifier: BSD-2-Clause
 * Regions as programs send them over the control socket, and as the supervisor sends them to its
 * engines: the same list, which both receivers check.
 *
 *   {"id": "7", "kind": "ellipse", "x": 0.2, "y": 0.1, "w": 0.1, "h": 0.2, "unit": "relative"}
 *   {"kind": "polygon", "corners": [[10, 10], [90, 10], [50, 80]], "ttl": 2}
 *
 * unit is "pixels" (of the filtered frame; the default) or "relative" (1 is its width, or its
 * height). ttl: seconds. */
#ifndef HALO_REGIONS_H
#define HALO_REGIONS_H

#include <jansson.h>

#include "pipeline/region/region_feed.h"

/* The regions of a list, parsed. Large: 50 KiB. The shapes' corners are stored in it, so nothing
 * else has to be freed. */
struct halo_regions {
    struct halo_region_update update[HALO_MAX_SHAPES];
    int count;
    struct halo_length corner[HALO_REGION_CORNERS][2];
    int corners;
};

/* The type of the list, for the description of the Varlink interface. */
#define HALO_REGIONS_TYPE                                                                          \
    "[](id: ?string, kind: (rect, ellipse, polygon), x: ?float, y: ?float, w: ?float, h: ?float, " \
    "corners: ?[][]float, unit: ?(pixels, relative), ttl: ?float)"

/* Parses the list and checks its form only; halo_region_check() checks its numbers. 0, or -EINVAL
 * with err filled: "regions[2].w: must be a number". */
int halo_regions_read(struct halo_regions *ret, const json_t *list, struct halo_error *err);

#endif
