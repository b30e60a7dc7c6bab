/* SPDX-License-Identifier: BSD-2-Clause
 * Strategies running-sums: choose a build of box_tmpl.c for this CPU. */
#include "kernels/cpu/box.h"

#include "kernels/cpu/rows.h"

static bool can(const struct halo_conv *conv, int channels)
{
    (void)channels;
    return conv->kind == HALO_CONV_BOX;
}

static bool can_v3(const struct halo_conv *conv, int channels)
{
    return can(conv, channels) && halo_has_v3();
}

static int band_v3(const struct halo_job *job, int y0, int y1, struct halo_cpu_scratch *scratch)
{
#ifdef __x86_64__
    return halo_box_band_v3(job, y0, y1, scratch);
#else
    return halo_box_band_base(job, y0, y1, scratch);
#endif
}

static int band(const struct halo_job *job, int y0, int y1, struct halo_cpu_scratch *scratch)
{
#ifdef __x86_64__
    if (halo_has_v4())
        return halo_box_band_v4(job, y0, y1, scratch);
#endif
    return halo_has_v3() ? band_v3(job, y0, y1, scratch) : halo_box_band_base(job, y0, y1, scratch);
}

const struct halo_cpu_strategy halo_cpu_running_sums = {
    .base = {.name = "running-sums",
             .about = "boxes, at a cost that does not depend on the radius",
             .can = can},
    .band = band,
};

const struct halo_cpu_strategy halo_cpu_running_sums_v3 = {
    .base = {.name = "running-sums-avx2",
             .about = "boxes at the same cost, without AVX-512",
             .can = can_v3},
    .band = band_v3,
};

const struct halo_cpu_strategy halo_cpu_running_sums_base = {
    .base = {.name = "running-sums-base",
             .about = "boxes at the same cost, with baseline instructions only",
             .can = can},
    .band = halo_box_band_base,
};
