/* SPDX-License-Identifier: BSD-2-Clause
 * Strategy core-tile, the lectures' third: the block covers the output tile and loads just those
 * cells, the core; halo cells are read where they are needed, from global memory through the
 * caches.
 *
 *        . . . . . . . . . .
 *        . +-------------+ .     #: shared memory, loaded in one step
 *        . | # # # # # # | .     .: the halo, which the block next door has loaded as its core and
 *        . | # # # o # # | .        which is therefore likely to be in the L2 cache
 *        . +-------------+ .
 *        . . . . . . . . . .
 *
 * Nothing is loaded twice and the tile needs no room for a halo; the price is a branch at every
 * tap. */
#include "kernels/cuda/mask_bank.cuh"
#include "kernels/cuda/tile.cuh"

enum {
    ROW_TILE_WIDTH = 128,
    ROW_TILE_HEIGHT = 4,
    TILE_WIDTH = 32,
    TILE_HEIGHT = 16,
};

template <typename Sample, typename Accum>
static __global__ void row_kernel(const struct halo_plane src, const struct halo_wide wide,
                                  const struct halo_pass pass, const struct halo_cuda_wanted wanted)
{
    if (halo_block_unread(wanted, ROW_TILE_WIDTH, ROW_TILE_HEIGHT))
        return;
    __shared__ Sample core[ROW_TILE_HEIGHT][ROW_TILE_WIDTH];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int e = blockIdx.x * ROW_TILE_WIDTH + tx;
    const int y = blockIdx.y * ROW_TILE_HEIGHT + ty;
    const bool inside = e < src.width * src.channels && y < src.height;

    if (inside)
        core[ty][tx] = (Sample)halo_read<Sample>(src, e, y);
    __syncthreads();
    if (!inside)
        return;

    const int32_t *weights = &halo_mask_bank[pass.slot][HALO_ROW_WEIGHTS];
    const int columns = min((int)ROW_TILE_WIDTH, src.width * src.channels - (e - tx));
    Accum sum = 0;
    for (int i = -pass.radius_x; i <= pass.radius_x; i++) {
        const int x = tx + i * src.channels;
        const int cell =
            x >= 0 && x < columns ? core[ty][x] : halo_input<Sample>(src, pass, e - tx + x, y);
        sum += (Accum)*weights++ * cell;
    }
    wide.data[y * wide.stride + e] = (int32_t)halo_finish(sum, pass);
}

template <typename Sample, typename Accum>
static __global__ void column_kernel(const struct halo_wide wide, const struct halo_plane dst,
                                     const struct halo_pass pass,
                                     const struct halo_cuda_wanted wanted)
{
    if (halo_block_outside(wanted, TILE_WIDTH, TILE_HEIGHT))
        return;
    __shared__ int32_t core[TILE_HEIGHT][TILE_WIDTH];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int e = blockIdx.x * TILE_WIDTH + tx;
    const int y = blockIdx.y * TILE_HEIGHT + ty;
    const bool inside = e < dst.width * dst.channels && y < dst.height;

    if (inside)
        core[ty][tx] = wide.data[y * wide.stride + e];
    __syncthreads();
    if (!inside)
        return;

    const int32_t *weights = &halo_mask_bank[pass.slot][HALO_COLUMN_WEIGHTS];
    const int rows = min((int)TILE_HEIGHT, dst.height - (y - ty));
    Accum sum = 0;
    for (int j = ty - pass.radius_y; j <= ty + pass.radius_y; j++) {
        const int cell = j >= 0 && j < rows
                             ? core[j][tx]
                             : halo_wide_input(wide, dst.height, pass, e, y - ty + j);
        sum += (Accum)*weights++ * cell;
    }
    halo_write<Sample>(dst, e, y, halo_finish(sum, pass));
}

template <typename Sample, typename Accum>
static __global__ void dense_kernel(const struct halo_plane src, const struct halo_plane dst,
                                    const struct halo_pass pass,
                                    const struct halo_cuda_wanted wanted)
{
    if (halo_block_outside(wanted, TILE_WIDTH, TILE_HEIGHT))
        return;
    __shared__ Sample core[TILE_HEIGHT][TILE_WIDTH];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int e = blockIdx.x * TILE_WIDTH + tx;
    const int y = blockIdx.y * TILE_HEIGHT + ty;
    const bool inside = e < src.width * src.channels && y < src.height;

    if (inside)
        core[ty][tx] = (Sample)halo_read<Sample>(src, e, y);
    __syncthreads();
    if (!inside)
        return;

    const int32_t *weights = halo_mask_bank[pass.slot];
    const int columns = min((int)TILE_WIDTH, src.width * src.channels - (e - tx));
    const int rows = min((int)TILE_HEIGHT, src.height - (y - ty));
    Accum sum = 0;
    for (int j = ty - pass.radius_y; j <= ty + pass.radius_y; j++)
        for (int i = -pass.radius_x; i <= pass.radius_x; i++) {
            const int x = tx + i * src.channels;
            const bool is_core = j >= 0 && j < rows && x >= 0 && x < columns;
            const int cell =
                is_core ? core[j][x] : halo_input<Sample>(src, pass, e - tx + x, y - ty + j);
            sum += (Accum)*weights++ * cell;
        }
    halo_write<Sample>(dst, e, y, halo_finish(sum, pass));
}

namespace
{ /* each file has its own */
struct kernels {
    template <typename Sample, typename Accum>
    static cudaError_t launch(const struct halo_cuda_call *call, int slot)
    {
        const struct halo_plane &src = call->src, &dst = call->dst;
        const struct halo_wide wide = halo_wide_of(call);
        const dim3 row_block(ROW_TILE_WIDTH, ROW_TILE_HEIGHT), block(TILE_WIDTH, TILE_HEIGHT);
        const dim3 row_grid = halo_grid(src, ROW_TILE_WIDTH, ROW_TILE_HEIGHT);
        const dim3 grid = halo_grid(src, TILE_WIDTH, TILE_HEIGHT);

        if (call->conv->kind == HALO_CONV_DENSE) {
            const struct halo_pass pass = halo_dense_pass(call->conv, slot);
            dense_kernel<Sample, Accum>
                <<<grid, block, 0, call->stream>>>(src, dst, pass, call->wanted);
        } else {
            const struct halo_pass row = halo_row_pass(call->conv, slot);
            const struct halo_pass column = halo_column_pass(call->conv, slot);
            row_kernel<Sample, Accum>
                <<<row_grid, row_block, 0, call->stream>>>(src, wide, row, call->wanted);
            column_kernel<Sample, Accum>
                <<<grid, block, 0, call->stream>>>(wide, dst, column, call->wanted);
        }
        return cudaGetLastError();
    }
};
} // namespace

cudaError_t halo_cuda_launch_core_tile(const struct halo_cuda_call *calls, int count)
{
    return halo_launch_each<kernels>(calls, count);
}
