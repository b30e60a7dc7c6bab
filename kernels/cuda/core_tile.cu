/* SPDX-License-Identifier: BSD-2-Clause
 * Strategy core-tile, the lectures' third: the block covers the output tile and loads only its
 * cells, the core; halo cells are read when they are needed, from global memory through the caches.
 *
 *        . . . . . . . . . .
 *        . +-------------+ .     #: shared memory, loaded in one step
 *        . | # # # # # # | .     .: the halo, which the block next door has loaded as its core and
 *        . | # # # o # # | .        which is therefore likely to be in the L2 cache
 *        . +-------------+ .
 *        . . . . . . . . . .
 *
 * No cell is loaded twice into shared memory, and the tile needs no room for a halo; the price is a
 * branch at every tap. */
#include "kernels/cuda/mask_bank.cuh"
#include "kernels/cuda/tile.cuh"

enum {
    ROW_TILE_WIDTH = 128,
    ROW_TILE_HEIGHT = 4,
    TILE_WIDTH = 32,
    TILE_HEIGHT = 16,
};

template <typename Sample, typename Accum>
static __device__ inline void row_pass(const struct halo_task &task, const int2 block)
{
    if (halo_block_unread(task.wanted, block, ROW_TILE_WIDTH, ROW_TILE_HEIGHT))
        return;
    const struct halo_plane src = task.src;
    const struct halo_wide wide = task.wide;
    const struct halo_pass pass = task.pass;
    __shared__ Sample core[ROW_TILE_HEIGHT][ROW_TILE_WIDTH];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int e = block.x * ROW_TILE_WIDTH + tx;
    const int y = block.y * ROW_TILE_HEIGHT + ty;
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
static __device__ inline void column_pass(const struct halo_task &task, const int2 block)
{
    if (halo_block_outside(task.wanted, block, TILE_WIDTH, TILE_HEIGHT))
        return;
    const struct halo_plane dst = task.dst;
    const struct halo_wide wide = task.wide;
    const struct halo_pass pass = task.pass;
    __shared__ int32_t core[TILE_HEIGHT][TILE_WIDTH];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int e = block.x * TILE_WIDTH + tx;
    const int y = block.y * TILE_HEIGHT + ty;
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
static __device__ inline void dense_pass(const struct halo_task &task, const int2 block)
{
    if (halo_block_outside(task.wanted, block, TILE_WIDTH, TILE_HEIGHT))
        return;
    const struct halo_plane src = task.src, dst = task.dst;
    const struct halo_pass pass = task.pass;
    __shared__ Sample core[TILE_HEIGHT][TILE_WIDTH];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int e = block.x * TILE_WIDTH + tx;
    const int y = block.y * TILE_HEIGHT + ty;
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
    static cudaError_t launch(const struct halo_cuda_call *calls, int count, const int *slots)
    {
        const dim3 row_block(ROW_TILE_WIDTH, ROW_TILE_HEIGHT), block(TILE_WIDTH, TILE_HEIGHT);
        const bool dense = calls->conv->kind == HALO_CONV_DENSE;
        struct halo_tasks rows = {}, tiles = {};

        for (int i = 0; i < count; i++) {
            const struct halo_conv *conv = calls[i].conv;
            if (!dense)
                halo_add_task(&rows, &calls[i], halo_row_pass(conv, slots[i]), ROW_TILE_WIDTH,
                              ROW_TILE_HEIGHT);
            halo_add_task(&tiles, &calls[i],
                          dense ? halo_dense_pass(conv, slots[i])
                                : halo_column_pass(conv, slots[i]),
                          TILE_WIDTH, TILE_HEIGHT);
        }
        if (dense) {
            halo_launch_tasks<dense_pass<Sample, Accum>>(tiles, block, calls->stream);
        } else {
            halo_launch_tasks<row_pass<Sample, Accum>>(rows, row_block, calls->stream);
            halo_launch_tasks<column_pass<Sample, Accum>>(tiles, block, calls->stream);
        }
        return cudaGetLastError();
    }
};
} // namespace

cudaError_t halo_cuda_launch_core_tile(const struct halo_cuda_call *calls, int count)
{
    return halo_launch_each<kernels>(calls, count);
}
