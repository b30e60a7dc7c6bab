/* SPDX-License-Identifier: BSD-2-Clause
 * solid: one colour in place of the frame. */
#include "pipeline/filter/colour.h"

struct settings {
    char *colour; /* NULL: black */
};

#define AT(field) offsetof(struct settings, field)

static const struct halo_option options[] = {
    {"color", "colour|c", HALO_OPTION_STRING, AT(colour), .argument = "COLOUR",
     .help =
         "one of FFmpeg's colour names, or RRGGBB in hexadecimal after # or 0x (default black)"},
    {NULL},
};

static const char *const positional[] = {"color", NULL};

static const char *colour_of(const struct settings *s)
{
    return s->colour ? s->colour : "black";
}

static int check(const void *settings, const struct halo_option **ret_at, struct halo_error *err)
{
    *ret_at = options;
    return halo_colour_check(colour_of(settings), err);
}

static int plan(const void *settings, const struct halo_plane_info *plane,
                struct halo_plane_plan *ret, struct halo_error *err)
{
    int values[2], code = halo_colour_values(colour_of(settings), plane, values, err);
    if (code)
        return code;
    ret->passes = 1;
    code = halo_conv_solid(&ret->conv, values, &plane->target);
    return code ? halo_fail(err, code, "samples cannot have the values %d and %d", values[0],
                            values[1])
                : 0;
}

const struct halo_filter_kind halo_filter_solid = {
    .name = "solid",
    .about = "replace the frame with one colour",
    .example = "solid=color=gray:region=rect 0 0 25% 100%",
    .effect = HALO_EFFECT_HIDES,
    .bounded = true,
    .notes =
        "Nothing of the input is left. The colour is converted with the video's matrix and range\n"
        "or, if the video does not specify them, with BT.601 and limited range.\n",
    .options = options,
    .positional = positional,
    .settings_size = sizeof(struct settings),
    .check = check,
    .plan = plan,
};
