/* SPDX-License-Identifier: BSD-2-Clause
 * Strategy running-sums: chooses the build of box_tmpl.c for this CPU. */
#include "kernels/cpu/box.h"

#include "kernels/cpu/rows.h"

static bool can(const struct halo_conv *conv, int channels)
{
    (void)channels;
    return conv->kind == HALO_CONV_BOX;
}

static int band(const struct halo_job *job, int y0, int y1, struct halo_cpu_scratch *scratch)
{
#ifdef __x86_64__
    if (halo_has_v4())
        return halo_box_band_v4(job, y0, y1, scratch);
    if (halo_has_v3())
        return halo_box_band_v3(job, y0, y1, scratch);
#endif
    return halo_box_band_base(job, y0, y1, scratch);
}

const struct halo_cpu_strategy halo_cpu_running_sums = {
    .base = {.name = "running-sums",
             .about = "boxes, at a cost that does not depend on the radius",
             .can = can},
    .band = band,
};
