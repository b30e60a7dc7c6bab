/* SPDX-License-Identifier: BSD-2-Clause
 * hide: what can be said of a region afterwards has a bound. */
#include <errno.h>

#include "kernels/cells.h"
#include "pipeline/filter/colour.h"

enum { SOLID, CELLS, LEAST_CELL = 4 /* luma pixels */ };

struct settings {
    int how; /* index in hows */
    char *colour;
    int cells, levels, least;
};

#define AT(field) offsetof(struct settings, field)

static const char *const hows[] = {[SOLID] = "solid", [CELLS] = "cells", NULL};

static const struct halo_option options[] = {
    {"how", NULL, HALO_OPTION_CHOICE, AT(how), SOLID, .choices = hows,
     .help = "solid: one colour; cells: few cells for each object, frozen while it is followed"},
    {"color", "colour|c", HALO_OPTION_STRING, AT(colour), .argument = "COLOUR",
     .help = "the colour of solid, and of what has no cells: one of FFmpeg's colour names, or "
             "RRGGBB in hexadecimal after # or 0x (default gray)"},
    {"n", NULL, HALO_OPTION_INT, AT(cells), 6, 1, HALO_MAX_CELLS,
     .help = "cells across an object, and down"},
    {"levels", NULL, HALO_OPTION_INT, AT(levels), 8, 2, 256,
     .help = "values that a channel of a cell can have"},
    {"least", NULL, HALO_OPTION_INT, AT(least), 32, LEAST_CELL, 4096,
     .help = "an object less wide or less high than this, in luma pixels, has no cells and is "
             "solid; at least 4 * n"},
    {NULL},
};

static const char *const positional[] = {"how", NULL};

static const char *colour_of(const struct settings *s)
{
    return s->colour ? s->colour : "gray";
}

static int check(const void *settings, const struct halo_option **ret_at, struct halo_error *err)
{
    const struct settings *s = settings;
    *ret_at = &options[1];
    const int code = halo_colour_check(colour_of(s), err);
    if (code || s->how != CELLS || s->least >= LEAST_CELL * s->cells)
        return code;
    *ret_at = &options[4];
    return halo_fail(err, -EINVAL, "least=%d: must be at least %d, which is %d * n", s->least,
                     LEAST_CELL * s->cells, LEAST_CELL);
}

static int plan(const void *settings, const struct halo_plane_info *plane,
                struct halo_plane_plan *ret, struct halo_error *err)
{
    const struct settings *s = settings;
    const struct halo_cells_layout layout = {
        .cells = s->cells, .step_x = 1 << plane->log2_sub_x, .step_y = 1 << plane->log2_sub_y};
    int values[2], code = halo_colour_values(colour_of(s), plane, values, err);
    if (code)
        return code;
    ret->passes = 1;
    code = s->how == SOLID ? halo_conv_solid(&ret->conv, values, &plane->target)
                           : halo_conv_cells(&ret->conv, &layout, values, &plane->target);
    return code ? halo_fail(err, code, "samples cannot have the values %d and %d", values[0],
                            values[1])
                : 0;
}

static bool cells(const void *settings, struct halo_filter_cells *ret)
{
    const struct settings *s = settings;
    *ret = (struct halo_filter_cells){s->cells, s->levels, s->least};
    return s->how == CELLS;
}

const struct halo_filter_kind halo_filter_hide = {
    .name = "hide",
    .about = "hide regions so that what remains of them has a bound",
    .example = "hide=cells:region=rect 10% 10% 50% 80%",
    .effect = HALO_EFFECT_HIDES,
    .notes =
        "solid leaves nothing of a region. cells leaves n by n cells of each object, which are\n"
        "the means of the frame in which the object appears, rounded to a few levels. They move\n"
        "with the object, and their values do not change as long as halod follows it, so all of\n"
        "its frames together show no more than n * n * log2(levels) bits of each channel. An\n"
        "object is what a detector or a region feed follows under one id, or a shape in the\n"
        "chain's text. An object without an id, or smaller than least, is solid. 'halod\n"
        "hide-report' prints what a chain leaves.\n",
    .options = options,
    .positional = positional,
    .settings_size = sizeof(struct settings),
    .check = check,
    .plan = plan,
    .cells = cells,
};
