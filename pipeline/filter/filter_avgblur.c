/* SPDX-License-Identifier: BSD-2-Clause
 * avgblur: mean of a rectangle around each pixel. */
#include "pipeline/filter/filter.h"

struct settings {
    int size_x, size_y; /* radii in luma pixels; size_y 0: same as size_x */
};

#define AT(field) offsetof(struct settings, field)

static const struct halo_option options[] = {
    {"sizeX", NULL, HALO_OPTION_INT, AT(size_x), 1, 1, HALO_MAX_BOX_RADIUS,
     .help = "horizontal radius in luma pixels: 2*sizeX + 1 pixels are averaged"},
    {"sizeY", NULL, HALO_OPTION_INT, AT(size_y), 0, 0, HALO_MAX_BOX_RADIUS,
     .help = "vertical radius; 0 means the same as sizeX"},
    {NULL},
};

static const char *const sizes[] = {"sizeX", "sizeY", NULL};

static const char *const positional[] = {"sizeX", "planes", "sizeY", NULL};

static int plan(const void *settings, const struct halo_plane_info *plane,
                struct halo_plane_plan *ret, struct halo_error *err)
{
    const struct settings *s = settings;
    const int radius_x = halo_scale_radius(s->size_x, plane->log2_sub_x);
    const int radius_y = halo_scale_radius(s->size_y ? s->size_y : s->size_x, plane->log2_sub_y);
    ret->passes = 1;
    const int code = halo_conv_box(&ret->conv, radius_x, radius_y, &plane->target);
    return code ? halo_fail(err, code, "a box with radii %d and %d is not supported", radius_x,
                            radius_y)
                : 0;
}

const struct halo_filter_kind halo_filter_avgblur = {
    .name = "avgblur",
    .about = "mean of a rectangle around each pixel; the cost does not depend on the "
             "rectangle's size",
    .example = "avgblur=sizeX=9",
    .effect = HALO_EFFECT_HIDES,
    .notes = "On chroma planes that are smaller than luma, radii are scaled down in proportion\n"
             "(FFmpeg uses the same radius on every plane).\n",
    .options = options,
    .positional = positional,
    .sizes = sizes,
    .settings_size = sizeof(struct settings),
    .plan = plan,
};
