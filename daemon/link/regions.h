/* SPDX-License-Identifier: BSD-2-Clause
 * Regions as programs tell them over the control socket, and the supervisor its engines: the same
 * list, which both check.
 *
 *   {"id": "7", "kind": "ellipse", "x": 0.2, "y": 0.1, "w": 0.1, "h": 0.2, "unit": "relative"}
 *   {"kind": "polygon", "corners": [[10, 10], [90, 10], [50, 80]], "ttl": 2}
 *
 * unit is "pixels" (of the filtered picture; the default) or "relative" (1 is its width, or its
 * height). ttl: seconds. */
#ifndef HALO_REGIONS_H
#define HALO_REGIONS_H

#include <jansson.h>

#include "pipeline/region/region_feed.h"

/* What the list says; large: 50 KiB. The shapes' corners lie in it: it owns nothing else. */
struct halo_regions {
    struct halo_region_update update[HALO_MAX_SHAPES];
    int count;
    struct halo_length corner[HALO_REGION_CORNERS][2];
    int corners;
};

/* For the interface's description. */
#define HALO_REGIONS_TYPE                                                                          \
    "[](id: ?string, kind: (rect, ellipse, polygon), x: ?float, y: ?float, w: ?float, h: ?float, " \
    "corners: ?[][]float, unit: ?(pixels, relative), ttl: ?float)"

/* The list's form; halo_region_check() says whether its numbers make sense. 0, or -EINVAL with err
 * filled: "regions[2].w: must be a number". */
int halo_regions_read(struct halo_regions *ret, const json_t *list, struct halo_error *err);

#endif
