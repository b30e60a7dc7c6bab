/* SPDX-License-Identifier: BSD-2-Clause
 * Whether shapes cover a box, by no code of the program. */
#ifndef HALO_TEST_COVER_H
#define HALO_TEST_COVER_H

#include <math.h>
#include <stdbool.h>

#include "pipeline/detect/detect_wire.h"
#include "pipeline/region/verdict.h"

static inline bool covers(const struct halo_verdict_shapes *shapes, double x, double y)
{
    for (int i = 0; i < shapes->count; i++) {
        const struct halo_shape *s = &shapes->shape[i];
        const double rx = s->width.value / 2, ry = s->height.value / 2;
        const double dx = (x - s->x.value - rx) / rx, dy = (y - s->y.value - ry) / ry;
        if (!s->x.relative || !s->y.relative || !s->width.relative || !s->height.relative)
            continue;
        if (s->kind == HALO_SHAPE_ELLIPSE ? dx * dx + dy * dy <= 1 : fabs(dx) <= 1 && fabs(dy) <= 1)
            return true;
    }
    return false;
}

/* Points of the box, reduced to `part` of its size around its middle, that lie in the frame. */
static inline bool covers_box(const struct halo_verdict_shapes *shapes,
                              const struct halo_detect_box *box, double part)
{
    enum { POINTS = 8 };
    for (int i = 0; i <= POINTS; i++)
        for (int k = 0; k <= POINTS; k++) {
            const double x = box->x + box->width * (0.5 + part * ((double)i / POINTS - 0.5));
            const double y = box->y + box->height * (0.5 + part * ((double)k / POINTS - 0.5));
            /* floats are rounded */
            const double inx = x + (box->x + box->width / 2 - x) * 1e-5;
            const double iny = y + (box->y + box->height / 2 - y) * 1e-5;
            if (inx >= 0 && inx < 1 && iny >= 0 && iny < 1 && !covers(shapes, inx, iny))
                return false;
        }
    return true;
}

#endif
