/* SPDX-License-Identifier: BSD-2-Clause
 * hide: what can be said of a region afterwards has a bound. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "kernels/cells.h"
#include "pipeline/filter/colour.h"

enum { SOLID, CELLS, NOISE };
enum { LEAST_CELL = 4, LEAST_OBJECT = 32 }; /* luma pixels */

struct settings {
    int how; /* index in hows */
    char *colour;
    int cells, levels, least;
    double epsilon;
};

#define AT(field) offsetof(struct settings, field)

static const char *const hows[] = {[SOLID] = "solid", [CELLS] = "cells", [NOISE] = "noise", NULL};

enum { COLOUR = 1, LEAST = 4, EPSILON = 5 }; /* rows of options */

static const struct halo_option options[] = {
    {"how", NULL, HALO_OPTION_CHOICE, AT(how), SOLID, .choices = hows,
     .help = "solid: one colour; cells: a few cells for each object, which do not change while it "
             "is followed; noise: such cells with noise added"},
    {"color", "colour|c", HALO_OPTION_STRING, AT(colour), .argument = "COLOUR",
     .help = "colour of solid regions, and of objects without cells: one of FFmpeg's colour names, "
             "RRGGBB in hexadecimal after # or 0x, or mean, the mean of the part of the frame that "
             "is not filtered (default gray)"},
    {"n", "cells", HALO_OPTION_INT, AT(cells), 6, 1, HALO_MAX_CELLS,
     .help = "number of cells across an object, and also of cells down it"},
    {"levels", NULL, HALO_OPTION_INT, AT(levels), 8, 2, 256,
     .help = "with cells: number of values that a channel of a cell can have"},
    {"least", NULL, HALO_OPTION_INT, AT(least), 0, LEAST_CELL, 4096,
     .help = "an object narrower or lower than this, in luma pixels, gets one colour instead of "
             "cells; at least 4 * n (default 4 * n, but at least 32)"},
    {"epsilon", NULL, HALO_OPTION_REAL, AT(epsilon), 1, 0.001, 100,
     .help = "with noise: a guess about what is hidden is right at most e^epsilon times as often "
             "as without the cells; at most three decimals"},
    {NULL},
};

static const char *const positional[] = {"how", NULL};

static const char *colour_of(const struct settings *s)
{
    return s->colour ? s->colour : "gray";
}

static bool means(const void *settings)
{
    return !strcmp(colour_of(settings), "mean");
}

static int millieps_of(const struct settings *s)
{
    return (int)lround(s->epsilon * HALO_MILLIEPS);
}

static int least_of(const struct settings *s)
{
    const int least = LEAST_CELL * s->cells;
    return s->least ? s->least : least > LEAST_OBJECT ? least : LEAST_OBJECT;
}

static int check(const void *settings, const struct halo_option **ret_at, struct halo_error *err)
{
    const struct settings *s = settings;
    *ret_at = &options[COLOUR];
    const int code = means(s) ? 0 : halo_colour_check(colour_of(s), err);
    if (code)
        return code;
    *ret_at = &options[LEAST];
    if (s->how != SOLID && least_of(s) < LEAST_CELL * s->cells)
        return halo_fail(err, -EINVAL, "least=%d: must be at least %d, which is %d * n", s->least,
                         LEAST_CELL * s->cells, LEAST_CELL);
    *ret_at = &options[EPSILON];
    if (fabs(s->epsilon * HALO_MILLIEPS - millieps_of(s)) > 1e-6)
        return halo_fail(err, -EINVAL, "epsilon=%g: must have at most three decimals", s->epsilon);
    return 0;
}

static int plan(const void *settings, const struct halo_plane_info *plane,
                struct halo_plane_plan *ret, struct halo_error *err)
{
    const struct settings *s = settings;
    const struct halo_cells_layout layout = {
        .cells = s->cells, .step_x = 1 << plane->log2_sub_x, .step_y = 1 << plane->log2_sub_y};
    int values[2], code = halo_colour_values(means(s) ? "gray" : colour_of(s), plane, values, err);
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
    *ret = (struct halo_filter_cells){.cells = s->cells,
                                      .levels = s->how == CELLS ? s->levels : 0,
                                      .millieps = millieps_of(s),
                                      .least = least_of(s)};
    return s->how != SOLID;
}

const struct halo_filter_kind halo_filter_hide = {
    .name = "hide",
    .about = "hide regions, with a limit on what remains of them",
    .example = "hide=cells:region=rect 10% 10% 50% 80%",
    .effect = HALO_EFFECT_HIDES,
    .bounded = true,
    .notes =
        "solid leaves nothing of a region. cells leaves n by n cells of each object, which are\n"
        "the means of the frame in which the object appears, rounded to a few levels. They move\n"
        "with the object, and their values do not change as long as halod follows it, so all of\n"
        "its frames together show no more than n * n * log2(levels) bits of each channel. noise\n"
        "adds Laplace noise to the means instead of rounding them, drawn once for each object:\n"
        "a guess at what is behind the cells is right at most e^epsilon times as often as\n"
        "without them. If epsilon is small enough for that, the noise hides the means almost\n"
        "completely. An object is what a detector or a region feed follows under one id, or a\n"
        "shape in the chain's text. An object without an id, or smaller than least, is solid.\n"
        "'halod hide-report' prints how much a chain leaves of its regions.\n",
    .options = options,
    .positional = positional,
    .settings_size = sizeof(struct settings),
    .check = check,
    .plan = plan,
    .cells = cells,
    .means = means,
};
