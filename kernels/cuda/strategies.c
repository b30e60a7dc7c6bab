/* SPDX-License-Identifier: BSD-2-Clause
 * The table of CUDA strategies: a new one is a .cu file and a row here. */
#include "kernels/cuda/strategies.h"

/* A box reaches 2049 cells: its tile would fit into no shared memory, and running sums beat it. */
static bool all_but_box(const struct halo_conv *conv)
{
    return conv->kind != HALO_CONV_BOX;
}

static const struct halo_cuda_strategy output_tile = {
    {"output-tile", "block covers the output tile, loads the input tile in steps", all_but_box},
    halo_cuda_launch_output_tile,
};

static const struct halo_cuda_strategy naive = {
    {"naive", "untiled: every tap from global memory, mask in constant memory", NULL},
    halo_cuda_launch_naive,
};

const struct halo_strategy *const halo_cuda_strategies[] = {&output_tile.base, &naive.base, NULL};
