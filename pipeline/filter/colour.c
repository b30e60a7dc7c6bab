/* SPDX-License-Identifier: BSD-2-Clause
 * Colours of filters (colour.h). */
#include "pipeline/filter/colour.h"

#include <errno.h>
#include <libavutil/parseutils.h>
#include <math.h>
#include <strings.h>

int halo_colour_check(const char *text, struct halo_error *err)
{
    uint8_t rgba[4];
    const bool chance = !strcasecmp(text, "random");
    if (!chance && av_parse_color(rgba, text, -1, NULL) >= 0 && rgba[3] == 255)
        return 0;
    return halo_fail(
        err, -EINVAL,
        "color=%.80s: must be an opaque colour: a name such as gray or DarkBlue, or a value such "
        "as #202428",
        text);
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

int halo_colour_values(const char *text, const struct halo_plane_info *plane, int ret[2],
                       struct halo_error *err)
{
    uint8_t rgba[4];
    if (av_parse_color(rgba, text, -1, NULL) < 0)
        return halo_fail(err, -EINVAL, "unknown colour");
    const int number = plane->index < 3 ? plane->index : 3;
    ret[0] = sample(plane, rgba, number);
    ret[1] = sample(plane, rgba, plane->chroma && number == 1 ? 2 : number);
    return 0;
}
