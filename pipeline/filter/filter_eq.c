/* SPDX-License-Identifier: BSD-2-Clause
 * eq: contrast, brightness, saturation and gamma, one table for each plane. */
#include <math.h>

#include "kernels/plane.h"
#include "pipeline/filter/filter.h"

struct settings {
    double contrast, brightness, saturation, gamma, gamma_weight;
};

#define AT(field) offsetof(struct settings, field)

static const struct halo_option options[] = {
    {"contrast", NULL, HALO_OPTION_REAL, AT(contrast), 1, -1000, 1000,
     .help = "factor applied to the distance from medium gray; a negative one negates the frame"},
    {"brightness", NULL, HALO_OPTION_REAL, AT(brightness), 0, -1, 1,
     .help = "added to each sample, as a fraction of the largest sample value"},
    {"saturation", NULL, HALO_OPTION_REAL, AT(saturation), 1, 0, 3,
     .help = "factor applied to chroma; 0 gives a gray frame"},
    {"gamma", NULL, HALO_OPTION_REAL, AT(gamma), 1, 0.1, 10,
     .help = "values above 1 brighten dark parts, and values below 1 darken them"},
    {"gamma_weight", NULL, HALO_OPTION_REAL, AT(gamma_weight), 1, 0, 1,
     .help = "how much gamma applies: at 0 not at all; less than 1 keeps bright parts from "
             "becoming too bright"},
    {NULL},
};

static const char *const positional[] = {"contrast", "brightness", "saturation", "gamma", NULL};

static int plan(const void *settings, const struct halo_plane_info *plane,
                struct halo_plane_plan *ret, struct halo_error *err)
{
    const struct settings *s = settings;
    const int most = halo_sample_max(plane->target.depth), gray = most / 2 + 1;
    uint16_t table[HALO_MAX_TABLE];
    for (int p = 0; p <= most && p < HALO_MAX_TABLE; p++) {
        const double level = fmax(s->contrast * ((double)p / most - 0.5) + 0.5 + s->brightness, 0);
        const double v = plane->chroma ? gray + s->saturation * (p - gray)
                                       : most * ((1 - s->gamma_weight) * level +
                                                 s->gamma_weight * pow(level, 1 / s->gamma));
        table[p] = (uint16_t)lround(fmin(fmax(v, 0), most));
    }
    ret->passes = 1;
    const int code = halo_conv_table(&ret->conv, table, &plane->target);
    return code ? halo_fail(err, code, "%d-bit samples are not supported", plane->target.depth) : 0;
}

const struct halo_filter_kind halo_filter_eq = {
    .name = "eq",
    .about = "adjust contrast, brightness, saturation and gamma",
    .example = "eq=contrast=1.2:brightness=0.05:saturation=1.3:gamma=1.4",
    .effect = HALO_EFFECT_UNDOABLE,
    .notes = "Saturation changes chroma planes, and the other options luma, gray and RGB planes.\n"
             "The filter hides nothing. The option border has no effect.\n",
    .options = options,
    .positional = positional,
    .settings_size = sizeof(struct settings),
    .plan = plan,
};
