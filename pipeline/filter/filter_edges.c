/* SPDX-License-Identifier: BSD-2-Clause
 * sobel, prewitt, scharr: edges, as the gradient magnitude that two 3x3 masks measure. */
#include "pipeline/filter/filter.h"

struct settings {
    double scale, delta;
};

#define AT(field) offsetof(struct settings, field)

static const struct halo_option options[] = {
    {"scale", NULL, HALO_OPTION_REAL, AT(scale), 1, 0, 65535,
     .help = "factor applied to the gradient"},
    {"delta", NULL, HALO_OPTION_REAL, AT(delta), 0, -65535, 65535,
     .help = "value added to the result, in code values at the video's bit depth"},
    {NULL},
};

static const char *const positional[] = {"planes", "scale", "delta", NULL};

static const char notes[] =
    "Masks are not scaled for smaller chroma planes: each weight applies to one sample of the\n"
    "plane. As in FFmpeg, uniform chroma becomes 0, which shows as green, not gray; planes=1\n"
    "keeps the original colours.\n";

/* The smoothing mask (edge, middle, edge) / one, in integers. */
struct smoothing {
    int edge, middle, one;
};

/* Plans two masks: one smooths horizontally and measures the slope vertically, the other one is its
 * transpose. */
static int plan_masks(const struct settings *s, struct smoothing by,
                      const struct halo_plane_info *plane, struct halo_plane_plan *ret,
                      struct halo_error *err)
{
    const int edge = by.edge, middle = by.middle;
    const int down[9] = {-edge, -middle, -edge, 0, 0, 0, edge, middle, edge};
    const int across[9] = {-edge, 0, edge, -middle, 0, middle, -edge, 0, edge};
    ret->passes = 1;
    const int code =
        halo_conv_gradient(&ret->conv, down, across, s->scale / by.one, s->delta, &plane->target);
    return code
               ? halo_fail(err, code,
                           "with scale %g and delta %g, edges cannot be computed accurately enough",
                           s->scale, s->delta)
               : 0;
}

static int plan_sobel(const void *settings, const struct halo_plane_info *plane,
                      struct halo_plane_plan *ret, struct halo_error *err)
{
    return plan_masks(settings, (struct smoothing){1, 2, 1}, plane, ret, err);
}

static int plan_prewitt(const void *settings, const struct halo_plane_info *plane,
                        struct halo_plane_plan *ret, struct halo_error *err)
{
    return plan_masks(settings, (struct smoothing){1, 1, 1}, plane, ret, err);
}

static int plan_scharr(const void *settings, const struct halo_plane_info *plane,
                       struct halo_plane_plan *ret, struct halo_error *err)
{
    return plan_masks(settings, (struct smoothing){47, 162, 256}, plane, ret, err);
}

const struct halo_filter_kind halo_filter_sobel = {
    .name = "sobel",
    .about = "detect edges by the gradient magnitude, computed with the weights 1 2 1",
    .example = "sobel=scale=0.5",
    .effect = HALO_EFFECT_UNDOABLE,
    .notes = notes,
    .options = options,
    .positional = positional,
    .settings_size = sizeof(struct settings),
    .plan = plan_sobel,
};

const struct halo_filter_kind halo_filter_prewitt = {
    .name = "prewitt",
    .about = "detect edges by the gradient magnitude, computed with the weights 1 1 1",
    .example = "prewitt=planes=1",
    .effect = HALO_EFFECT_UNDOABLE,
    .notes = notes,
    .options = options,
    .positional = positional,
    .settings_size = sizeof(struct settings),
    .plan = plan_prewitt,
};

const struct halo_filter_kind halo_filter_scharr = {
    .name = "scharr",
    .about = "detect edges by the gradient magnitude, computed with the weights 47 162 "
             "47 over 256, so that the response is almost equal in all directions",
    .example = "scharr=scale=4",
    .effect = HALO_EFFECT_UNDOABLE,
    .notes = notes,
    .options = options,
    .positional = positional,
    .settings_size = sizeof(struct settings),
    .plan = plan_scharr,
};
