/* SPDX-License-Identifier: BSD-2-Clause
 * solid: one colour in place of the frame. */
#include <errno.h>
#include <libavutil/parseutils.h>
#include <math.h>
#include <strings.h>

#include "pipeline/filter/filter.h"

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

static int parse(const struct settings *s, uint8_t rgba[4])
{
    return av_parse_color(rgba, s->colour ? s->colour : "black", -1, NULL);
}

static int check(const void *settings, const struct halo_option **ret_at, struct halo_error *err)
{
    const struct settings *s = settings;
    uint8_t rgba[4];
    const bool chance = s->colour && !strcasecmp(s->colour, "random");
    if (!chance && parse(s, rgba) >= 0 && rgba[3] == 255)
        return 0;
    *ret_at = options;
    return halo_fail(
        err, -EINVAL,
        "color=%.80s: must be an opaque colour: a name such as gray or DarkBlue, or a value such "
        "as #202428",
        s->colour ? s->colour : "");
}

/* The value of the colour in a plane's channel: 0 .. 1, or -0.5 .. 0.5 for chroma. */
static double channel(const struct halo_plane_colours *c, const uint8_t rgba[4], int number)
{
    const double r = rgba[0] / 255.0, g = rgba[1] / 255.0, b = rgba[2] / 255.0;
    const double rgb[] = {g, b, r, 0}; /* the order of planes */
    const bool some = c->kr > 0 && c->kb > 0;
    const double kr = some ? c->kr : 0.299, kb = some ? c->kb : 0.114;
    const double y = kr * r + (1 - kr - kb) * g + kb * b;
    if (c->rgb)
        return rgb[number];
    return number == 0   ? y
           : number == 1 ? (b - y) / (2 * (1 - kb))
           : number == 2 ? (r - y) / (2 * (1 - kr))
                         : 1;
}

static int sample(const struct halo_plane_info *plane, const uint8_t rgba[4], int number)
{
    const struct halo_plane_colours *c = &plane->colours;
    const int depth = plane->target.depth, most = (1 << depth) - 1;
    const bool full = c->full || c->rgb;
    const double v = channel(c, rgba, number), step = ldexp(1, depth - 8);
    const double from = plane->chroma ? ldexp(1, depth - 1) : full ? 0 : 16 * step;
    const double range = full ? most : (plane->chroma ? 224 : 219) * step;
    const long ret = lround(from + v * range);
    return (int)(ret < 0 ? 0 : ret > most ? most : ret);
}

static int plan(const void *settings, const struct halo_plane_info *plane,
                struct halo_plane_plan *ret, struct halo_error *err)
{
    uint8_t rgba[4];
    if (parse(settings, rgba) < 0)
        return halo_fail(err, -EINVAL, "unknown colour");
    /* Two values if both chroma channels are in one plane. */
    const int number = plane->index < 3 ? plane->index : 3;
    const int values[2] = {sample(plane, rgba, number),
                           sample(plane, rgba, plane->chroma && number == 1 ? 2 : number)};
    ret->passes = 1;
    const int code = halo_conv_solid(&ret->conv, values, &plane->target);
    return code ? halo_fail(err, code, "samples cannot have the values %d and %d", values[0],
                            values[1])
                : 0;
}

const struct halo_filter_kind halo_filter_solid = {
    .name = "solid",
    .about = "replace the frame with one colour",
    .example = "solid=color=gray:region=rect 0 0 25% 100%",
    .effect = HALO_EFFECT_HIDES,
    .notes =
        "Nothing of the input is left. The colour is converted with the video's matrix and range\n"
        "or, if the video does not specify them, with BT.601 and limited range.\n",
    .options = options,
    .positional = positional,
    .settings_size = sizeof(struct settings),
    .check = check,
    .plan = plan,
};
