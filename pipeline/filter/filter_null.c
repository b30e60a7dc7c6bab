/* SPDX-License-Identifier: BSD-2-Clause
 * null: passes frames unchanged, by explicit request. */
#include "pipeline/filter/filter.h"

static int plan(const void *settings, const struct halo_plane_info *plane,
                struct halo_plane_plan *ret, struct halo_error *err)
{
    (void)settings;
    (void)err;
    ret->passes = 1;
    return halo_conv_copy(&ret->conv, &plane->target);
}

const struct halo_filter_kind halo_filter_null = {
    .name = "null",
    .about = "pass frames unchanged",
    .example = "null",
    .effect = HALO_EFFECT_IDENTITY,
    .notes = "Use this filter to request explicitly that frames pass unfiltered.\n",
    .options = (const struct halo_option[]){{NULL}},
    .plan = plan,
};
