/* SPDX-License-Identifier: BSD-2-Clause
 * laplacian: the second derivative, which is large on both sides of an edge. */
#include "pipeline/filter/filter.h"

enum { FOUR, EIGHT };

enum { SIDE = 3, MAX_SCALE = 65535 };

struct settings {
    int neighbours; /* FOUR or EIGHT */
    double scale, delta;
};

#define AT(field) offsetof(struct settings, field)

static const char *const neighbours[] = {[FOUR] = "4", [EIGHT] = "8", NULL};

static const struct halo_option options[] = {
    {"scale", NULL, HALO_OPTION_REAL, AT(scale), 1, 0, MAX_SCALE,
     .help = "factor applied to the derivative"},
    {"delta", NULL, HALO_OPTION_REAL, AT(delta), 0, -MAX_SCALE, MAX_SCALE,
     .help = "value added to each sample, in code values at the video's bit depth"},
    {"neighbours", NULL, HALO_OPTION_CHOICE, AT(neighbours), FOUR, .choices = neighbours,
     .help = "neighbours to use: 4 means above, below, left and right, and 8 adds the diagonal "
             "neighbours"},
    {NULL},
};

static const char *const positional[] = {"planes", "scale", "delta", "neighbours", NULL};

static int plan(const void *settings, const struct halo_plane_info *plane,
                struct halo_plane_plan *ret, struct halo_error *err)
{
    static const double masks[][SIDE * SIDE] = {
        [FOUR] = {0, 1, 0, 1, -4, 1, 0, 1, 0},
        [EIGHT] = {1, 1, 1, 1, -8, 1, 1, 1, 1},
    };
    const struct settings *s = settings;
    double mask[SIDE * SIDE];
    for (int i = 0; i < SIDE * SIDE; i++)
        mask[i] = s->scale * masks[s->neighbours][i];
    ret->passes = 1;
    const int code = halo_conv_dense(&ret->conv, mask, SIDE, SIDE, s->delta, &plane->target);
    return code ? halo_fail(err, code, "with scale %g, edges cannot be computed accurately enough",
                            s->scale)
                : 0;
}

const struct halo_filter_kind halo_filter_laplacian = {
    .name = "laplacian",
    .about = "detect edges with the second derivative: scale * derivative + delta",
    .example = "laplacian=planes=1:delta=128",
    .effect = HALO_EFFECT_UNDOABLE,
    .notes =
        "The derivative is the sum of the neighbours, minus the sample itself multiplied by the\n"
        "number of neighbours. Flat areas of every plane become delta. If delta is 0, flat areas\n"
        "therefore turn green; planes=1 keeps the original colours. Negative values are clipped\n"
        "to 0; delta=128 makes them visible.\n",
    .options = options,
    .positional = positional,
    .settings_size = sizeof(struct settings),
    .plan = plan,
};
