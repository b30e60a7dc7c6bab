/* SPDX-License-Identifier: BSD-2-Clause
 * pixelize: blocks of one colour. */
#include "pipeline/filter/filter.h"

struct settings {
    int width, height; /* of a block, in luma pixels */
    int mode;          /* index in mode_names */
    int planes;
};

#define AT(field) offsetof(struct settings, field)

/* In the order of enum halo_pixelize; then the numbers that FFmpeg accepts instead. */
static const char *const mode_names[] = {"avg", "min", "max", "0", "1", "2", NULL};

enum { MODES = 3 };

static const struct halo_option options[] = {
    {"width", "w", HALO_OPTION_INT, AT(width), 16, 1, HALO_MAX_BLOCK,
     .help = "width of a block in luma pixels"},
    {"height", "h", HALO_OPTION_INT, AT(height), 16, 1, HALO_MAX_BLOCK,
     .help = "height of a block"},
    {"mode", "m", HALO_OPTION_CHOICE, AT(mode), HALO_PIXELIZE_MEAN, .choices = mode_names,
     .help = "the value of a block: the mean, minimum or maximum of its samples"},
    {"p", NULL, HALO_OPTION_INT, AT(planes), 15, 0, 15,
     .help =
         "restricts the selection: a plane is filtered only if both 'p' and 'planes' select it"},
    {NULL},
};

static const char *const sizes[] = {"width", "height", NULL};

static const char *const positional[] = {"width", "height", "mode", "planes", NULL};

static int scaled(int size, int log2_sub)
{
    return size >> log2_sub > 1 ? size >> log2_sub : 1;
}

static int plan(const void *settings, const struct halo_plane_info *plane,
                struct halo_plane_plan *ret, struct halo_error *err)
{
    const struct settings *s = settings;
    const int width = scaled(s->width, plane->log2_sub_x);
    const int height = scaled(s->height, plane->log2_sub_y);
    ret->passes = 1;
    if (!(s->planes >> plane->index & 1))
        return halo_conv_copy(&ret->conv, &plane->target);
    const int code = halo_conv_pixelize(&ret->conv, width, height,
                                        (enum halo_pixelize)(s->mode % MODES), &plane->target);
    return code ? halo_fail(err, code, "%dx%d blocks are not supported", width, height) : 0;
}

const struct halo_filter_kind halo_filter_pixelize = {
    .name = "pixelize",
    .about = "replace each block of pixels with one colour",
    .example = "pixelize=w=16:h=16",
    .effect = HALO_EFFECT_HIDES,
    .notes =
        "A plane is filtered only if both options, planes and p, select it. In the option mode,\n"
        "the values 0, 1 and 2 stand for avg, min and max. Blocks start at the upper left corner;\n"
        "blocks at the right and lower edges may be smaller. The option border has no effect. On\n"
        "chroma planes that are smaller than luma, the size of blocks is scaled down and rounded\n"
        "down, but is at least 1. If the size is even, the blocks of all planes are aligned.\n",
    .options = options,
    .positional = positional,
    .sizes = sizes,
    .settings_size = sizeof(struct settings),
    .plan = plan,
};
