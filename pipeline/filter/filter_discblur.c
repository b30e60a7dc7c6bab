/* SPDX-License-Identifier: BSD-2-Clause
 * discblur: the mean of a disc, the effect of a lens out of focus.
 *
 * A weight is the part of its pixel, a square of side 1, that lies in the disc (an ellipse on
 * subsampled planes). The pixel is divided into LINES lines, and the length inside the disc is
 * exact for the middle of each line. The only function used is sqrt, so all machines compute the
 * same weights. */
#include <math.h>
#include <stdlib.h>

#include "pipeline/filter/filter.h"

enum { LINES = 1024 };

#define MIN_RADIUS 0.5
#define MAX_RADIUS (HALO_MAX_DENSE / 2)

struct settings {
    double radius, radius_v; /* luma pixels; radius_v negative: same as radius */
};

#define AT(field) offsetof(struct settings, field)

static const struct halo_option options[] = {
    {"radius", NULL, HALO_OPTION_REAL, AT(radius), 5, MIN_RADIUS, MAX_RADIUS,
     .help = "radius of the disc in luma pixels; may be fractional"},
    {"radiusV", NULL, HALO_OPTION_REAL, AT(radius_v), -1, MIN_RADIUS, MAX_RADIUS,
     .help = "vertical radius; by default the same as radius"},
    {NULL},
};

static const char *const sizes[] = {"radius", "radiusV", NULL};

static const char *const positional[] = {"radius", "planes", "radiusV", NULL};

/* The area of the pixel at x, y that is inside the disc around 0, 0; x, y at least 0. */
static double coverage(int x, int y, double radius_x, double radius_y)
{
    const double near_x = fmax(x - 0.5, 0) / radius_x, near_y = fmax(y - 0.5, 0) / radius_y;
    const double far_x = (x + 0.5) / radius_x, far_y = (y + 0.5) / radius_y;
    if (near_x * near_x + near_y * near_y >= 1)
        return 0;
    if (far_x * far_x + far_y * far_y <= 1)
        return 1;

    double sum = 0;
    for (int line = 0; line < LINES; line++) {
        const double v = (y - 0.5 + (line + 0.5) / LINES) / radius_y;
        if (fabs(v) >= 1)
            continue;
        const double half = radius_x * sqrt(1 - v * v);
        const double length = fmin(x + 0.5, half) - fmax(x - 0.5, -half);
        sum += fmax(length, 0);
    }
    return sum / LINES;
}

/* The number of pixels on each side of the middle one into which the disc extends. */
static int reach(double radius)
{
    return radius > 0.5 ? (int)ceil(radius - 0.5) : 0;
}

static int plan(const void *settings, const struct halo_plane_info *plane,
                struct halo_plane_plan *ret, struct halo_error *err)
{
    const struct settings *s = settings;
    const double radius_x = ldexp(s->radius, -plane->log2_sub_x);
    const double radius_y = ldexp(s->radius_v < 0 ? s->radius : s->radius_v, -plane->log2_sub_y);
    const int rx = reach(radius_x), ry = reach(radius_y);
    const int width = 2 * rx + 1, height = 2 * ry + 1;
    ret->passes = 1;
    if (rx == 0 && ry == 0)
        return halo_conv_copy(&ret->conv, &plane->target);

    double mask[HALO_MAX_DENSE * HALO_MAX_DENSE], sum = 0;
    for (int j = 0; j < height; j++)
        for (int i = 0; i < width; i++)
            sum += mask[j * width + i] = coverage(abs(i - rx), abs(j - ry), radius_x, radius_y);
    for (int i = 0; i < width * height; i++)
        mask[i] /= sum;
    const int code = halo_conv_dense(&ret->conv, mask, width, height, 0, &plane->target);
    return code ? halo_fail(err, code,
                            "a disc with radii %g and %g cannot be computed accurately enough",
                            radius_x, radius_y)
                : 0;
}

const struct halo_filter_kind halo_filter_discblur = {
    .name = "discblur",
    .about = "mean over a disc, like the blur of an out-of-focus lens",
    .example = "discblur=radius=7.5",
    .effect = HALO_EFFECT_UNDOABLE,
    .notes =
        "Points of light turn into discs. The edge is smooth: each weight is the fraction of its\n"
        "pixel that lies inside the disc. On smaller chroma planes, the disc is scaled down in\n"
        "proportion. A disc with radius 0.5 lies within one pixel and changes nothing.\n",
    .options = options,
    .positional = positional,
    .sizes = sizes,
    .settings_size = sizeof(struct settings),
    .plan = plan,
};
