/* SPDX-License-Identifier: BSD-2-Clause
 * The table of CUDA strategies: a new one is a .cu file with its row, which is named here. */
#include "kernels/cuda/strategies.h"

const struct halo_strategy *const halo_cuda_strategies[] = {
    &halo_cuda_box_bands.base,     &halo_cuda_box_slide.base,
    &halo_cuda_box_stream.base,    &halo_cuda_direct.base,
    &halo_cuda_dense_rows.base,    &halo_cuda_tensor.base,
    &halo_cuda_running_sums.base,  &halo_cuda_coarse_tile.base,
    &halo_cuda_coarse_tile_2.base, &halo_cuda_coarse_tile_8.base,
    &halo_cuda_output_tile.base,   &halo_cuda_output_tile_steps.base,
    &halo_cuda_input_tile.base,    &halo_cuda_input_tile_coarse.base,
    &halo_cuda_core_tile.base,     &halo_cuda_gradient_rows.base,
    &halo_cuda_gradient_tile.base, &halo_cuda_nodes.base,
    &halo_cuda_naive.base,         NULL,
};
