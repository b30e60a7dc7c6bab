/* SPDX-License-Identifier: BSD-2-Clause
 * unsharp: adds the detail that a blur would remove, or, with a negative amount, blurs.
 *
 * FFmpeg's blur is binomial: rows 0 to 22 of Pascal's triangle. out = p + amount * (p - blur) is
 * computed as one mask, identity * (1 + amount) - amount * binomial, so it is rounded once. */
#include <math.h>

#include "pipeline/filter/filter.h"

enum { LUMA, CHROMA, ALPHA, GROUPS };

enum { ALPHA_PLANE = 3, MIN_SIZE = 3, MAX_SIZE = 23 };

struct settings {
    int size_x[GROUPS], size_y[GROUPS]; /* odd; in samples of their plane */
    double amount[GROUPS];
};

#define AT(field) offsetof(struct settings, field)
#define NOT_KEPT  "accepted for compatibility with FFmpeg, but has no effect: alpha is not kept"

static const struct halo_option options[] = {
    {"luma_msize_x", "lx", HALO_OPTION_INT, AT(size_x[LUMA]), 5, MIN_SIZE, MAX_SIZE,
     .help = "width of the blur; must be odd"},
    {"luma_msize_y", "ly", HALO_OPTION_INT, AT(size_y[LUMA]), 5, MIN_SIZE, MAX_SIZE,
     .help = "height of the blur; must be odd"},
    {"luma_amount", "la", HALO_OPTION_REAL, AT(amount[LUMA]), 1, -2, 5,
     .help = "amount of sharpening; negative values blur, 0 leaves the plane unchanged"},
    {"chroma_msize_x", "cx", HALO_OPTION_INT, AT(size_x[CHROMA]), 5, MIN_SIZE, MAX_SIZE,
     .help = "width of the blur on chroma, in chroma samples; must be odd"},
    {"chroma_msize_y", "cy", HALO_OPTION_INT, AT(size_y[CHROMA]), 5, MIN_SIZE, MAX_SIZE,
     .help = "height of the blur on chroma, in chroma samples; must be odd"},
    {"chroma_amount", "ca", HALO_OPTION_REAL, AT(amount[CHROMA]), 0, -2, 5,
     .help = "amount of sharpening on chroma"},
    {"alpha_msize_x", "ax", HALO_OPTION_INT, AT(size_x[ALPHA]), 5, MIN_SIZE, MAX_SIZE,
     .help = NOT_KEPT},
    {"alpha_msize_y", "ay", HALO_OPTION_INT, AT(size_y[ALPHA]), 5, MIN_SIZE, MAX_SIZE,
     .help = NOT_KEPT},
    {"alpha_amount", "aa", HALO_OPTION_REAL, AT(amount[ALPHA]), 0, -2, 5, .help = NOT_KEPT},
    {NULL},
};

static const char *const positional[] = {
    "luma_msize_x",  "luma_msize_y",  "luma_amount",   "chroma_msize_x", "chroma_msize_y",
    "chroma_amount", "alpha_msize_x", "alpha_msize_y", "alpha_amount",   NULL};

static int check(const void *settings, const struct halo_option **ret_at, struct halo_error *err)
{
    for (const struct halo_option *row = options; row->name; row++) {
        const int size = row->type == HALO_OPTION_INT
                             ? *(const int *)((const char *)settings + row->offset)
                             : MIN_SIZE;
        if (size % 2 == 0) {
            *ret_at = row;
            return halo_fail_usage(err, "%s=%d: must be odd", row->name, size);
        }
    }
    return 0;
}

/* A row of Pascal's triangle, scaled to the sum 1. */
static void binomial(double *weights, int size)
{
    double v = ldexp(1, 1 - size);
    for (int i = 0; i < size; i++) {
        weights[i] = v;
        v = v * (size - 1 - i) / (i + 1);
    }
}

static int plan(const void *settings, const struct halo_plane_info *plane,
                struct halo_plane_plan *ret, struct halo_error *err)
{
    const struct settings *s = settings;
    const int group = plane->index == ALPHA_PLANE ? ALPHA : plane->chroma ? CHROMA : LUMA;
    const int width = s->size_x[group], height = s->size_y[group];
    const double amount = s->amount[group];
    ret->passes = 1;
    if (amount == 0)
        return halo_conv_copy(&ret->conv, &plane->target);

    double x[MAX_SIZE], y[MAX_SIZE], mask[MAX_SIZE * MAX_SIZE];
    binomial(x, width);
    binomial(y, height);
    for (int j = 0; j < height; j++)
        for (int i = 0; i < width; i++)
            mask[j * width + i] = -amount * x[i] * y[j];
    mask[height / 2 * width + width / 2] += 1 + amount;
    const int code = halo_conv_dense(&ret->conv, mask, width, height, 0, &plane->target);
    return code ? halo_fail(err, code,
                            "with amount %g, the result cannot be computed accurately enough",
                            amount)
                : 0;
}

const struct halo_filter_kind halo_filter_unsharp = {
    .name = "unsharp",
    .about = "sharpen, or blur if the amount is negative",
    .example = "unsharp=lx=7:ly=7:la=1.5",
    .effect = HALO_EFFECT_SHARPENS,
    .notes = "The blur uses binomial weights. Sizes are in samples of the filtered plane, as in\n"
             "FFmpeg. For RGB, the luma options apply to all planes.\n",
    .options = options,
    .positional = positional,
    .settings_size = sizeof(struct settings),
    .check = check,
    .plan = plan,
};
