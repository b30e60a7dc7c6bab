/* SPDX-License-Identifier: BSD-2-Clause
 * boxblur: mean of a square, applied several times. */
#include "pipeline/filter/filter.h"

enum { LUMA, CHROMA, ALPHA, GROUPS };

enum { ALPHA_PLANE = 3, MAX_POWER = 64 };

struct settings {
    int radius[GROUPS], power[GROUPS]; /* -1: same as luma */
};

#define AT(field) offsetof(struct settings, field)

static const struct halo_option options[] = {
    {"luma_radius", "lr", HALO_OPTION_INT, AT(radius[LUMA]), 2, 0, HALO_MAX_BOX_RADIUS,
     .help = "radius in luma pixels: squares with sides of 2*lr + 1 pixels are averaged"},
    {"luma_power", "lp", HALO_OPTION_INT, AT(power[LUMA]), 2, 0, MAX_POWER,
     .help = "number of passes; 0 leaves the plane unchanged"},
    {"chroma_radius", "cr", HALO_OPTION_INT, AT(radius[CHROMA]), -1, -1, HALO_MAX_BOX_RADIUS,
     .help = "radius in chroma samples; -1 means the luma radius, scaled to the plane"},
    {"chroma_power", "cp", HALO_OPTION_INT, AT(power[CHROMA]), -1, -1, MAX_POWER,
     .help = "number of passes on chroma; -1 means the same number as on luma"},
    {"alpha_radius", "ar", HALO_OPTION_INT, AT(radius[ALPHA]), -1, -1, HALO_MAX_BOX_RADIUS,
     .help = "accepted for compatibility with FFmpeg, but has no effect: alpha is not kept"},
    {"alpha_power", "ap", HALO_OPTION_INT, AT(power[ALPHA]), -1, -1, MAX_POWER,
     .help = "accepted for compatibility with FFmpeg, but has no effect: alpha is not kept"},
    {NULL},
};

static const char *const sizes[] = {"luma_radius", NULL};

static const char *const positional[] = {
    "luma_radius", "luma_power", "chroma_radius", "chroma_power", "alpha_radius",
    "alpha_power", NULL};

static int plan(const void *settings, const struct halo_plane_info *plane,
                struct halo_plane_plan *ret, struct halo_error *err)
{
    const struct settings *s = settings;
    const int group = plane->index == ALPHA_PLANE ? ALPHA : plane->chroma ? CHROMA : LUMA;
    const int power = s->power[group] < 0 ? s->power[LUMA] : s->power[group];
    int radius_x = s->radius[group], radius_y = s->radius[group];
    if (s->radius[group] < 0) {
        radius_x = halo_scale_radius(s->radius[LUMA], plane->log2_sub_x);
        radius_y = halo_scale_radius(s->radius[LUMA], plane->log2_sub_y);
    }
    ret->passes = 1;
    if (power == 0 || (radius_x == 0 && radius_y == 0))
        return halo_conv_copy(&ret->conv, &plane->target);
    ret->passes = power;
    const int code = halo_conv_box(&ret->conv, radius_x, radius_y, &plane->target);
    return code ? halo_fail(err, code, "a box with radii %d and %d is not supported", radius_x,
                            radius_y)
                : 0;
}

const struct halo_filter_kind halo_filter_boxblur = {
    .name = "boxblur",
    .about = "mean of a square around each pixel, applied several times; the cost does not "
             "depend on the square's size",
    .example = "boxblur=lr=8:lp=2",
    .effect = HALO_EFFECT_HIDES,
    .notes = "Radii must be numbers: FFmpeg's expressions such as min(w,h)/10 are not supported.\n",
    .options = options,
    .positional = positional,
    .sizes = sizes,
    .settings_size = sizeof(struct settings),
    .plan = plan,
};
