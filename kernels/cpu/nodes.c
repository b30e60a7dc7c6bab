/* SPDX-License-Identifier: BSD-2-Clause
 * Strategy nodes: chooses the build of nodes_tmpl.c for this CPU. */
#include "kernels/cpu/nodes.h"

#include "kernels/cpu/rows.h"

static bool can(const struct halo_conv *conv, int channels)
{
    (void)channels;
    return conv->kind == HALO_CONV_DECIMATED;
}

static int band(const struct halo_job *job, int y0, int y1, struct halo_cpu_scratch *scratch)
{
#ifdef __x86_64__
    if (halo_has_v4())
        return halo_nodes_band_v4(job, y0, y1, scratch);
    if (halo_has_v3())
        return halo_nodes_band_v3(job, y0, y1, scratch);
#endif
    return halo_nodes_band_base(job, y0, y1, scratch);
}

const struct halo_cpu_strategy halo_cpu_nodes = {
    .base = {.name = "nodes", .about = "wide Gaussians, computed on a smaller plane", .can = can},
    .band = band,
};
