/* SPDX-License-Identifier: BSD-2-Clause
 * Strategy coarse-tile: output-tile with thread coarsening. A thread computes OUTPUTS outputs, one
 * below the other, in registers: four, or 2 and 8 in coarse-tile/2 and coarse-tile/8.
 *
 *      +-------------+
 *      |   . . .     |    Each cell of its column is read once from shared memory and used for up
 *      |   o . .     |    to OUTPUTS outputs: registers reuse the tile, as the tile reuses global
 *      |   o . .     |    memory. An output costs OUTPUTS times fewer reads; the tile is taller,
 *      |   o . .     |    so that fewer of its cells are halo.
 *      |   . . .     |
 *      +-------------+ */
#include <string.h>

#include "kernels/cuda/mask_bank.cuh"
#include "kernels/cuda/tile.cuh"

enum {
    MAX_CHANNELS = 2,
    MAX_RADIUS_1D = HALO_MAX_TAPS / 2,
    MAX_RADIUS_2D = HALO_MAX_DENSE / 2,

    ROW_TILE_WIDTH = 128, /* outputs of a block, independent of the number per thread */
    ROW_TILE_HEIGHT = 4,
    TILE_WIDTH = 32,
    TILE_HEIGHT = 32,
    DENSE_CELLS =
        (TILE_WIDTH + 2 * MAX_RADIUS_2D * MAX_CHANNELS) * (TILE_HEIGHT + 2 * MAX_RADIUS_2D),
};

static_assert((TILE_WIDTH + 2 * MAX_RADIUS_1D * MAX_CHANNELS) * TILE_HEIGHT <= DENSE_CELLS,
              "127x1");
static_assert(TILE_WIDTH * (TILE_HEIGHT + 2 * MAX_RADIUS_1D) <= DENSE_CELLS, "1x127");

/* Adds cells[k stride], for k = 0 .. taps + OUTPUTS - 2, to the outputs to which they
 * contribute. */
template <int OUTPUTS, typename Accum, typename Cell>
static __device__ inline void slide(Accum (&sums)[OUTPUTS], const Cell *cells, int stride,
                                    const int32_t *weights, int step, int taps)
{
    Cell window[OUTPUTS];
#pragma unroll
    for (int k = 0; k < OUTPUTS - 1; k++)
        window[k + 1] = cells[k * stride];
    for (int i = 0; i < taps; i++) {
#pragma unroll
        for (int k = 0; k < OUTPUTS - 1; k++)
            window[k] = window[k + 1];
        window[OUTPUTS - 1] = cells[(i + OUTPUTS - 1) * stride];
#pragma unroll
        for (int k = 0; k < OUTPUTS; k++)
            sums[k] += (Accum)weights[i * step] * window[k];
    }
}

/* The outputs of a thread: x, x + channels, ... in a run that is OUTPUTS times as long. */
template <typename Sample, typename Accum, int OUTPUTS>
static __device__ inline void row_pass(const struct halo_task &task, const int2 block)
{
    if (halo_block_unread(task.wanted, block, ROW_TILE_WIDTH, ROW_TILE_HEIGHT))
        return;
    const struct halo_plane src = task.src;
    const struct halo_wide wide = task.wide;
    const struct halo_pass pass = task.pass;
    __shared__ Sample cells[ROW_TILE_HEIGHT][ROW_TILE_WIDTH + 2 * MAX_RADIUS_1D * MAX_CHANNELS];
    const int halo = pass.radius_x * src.channels, elements = src.width * src.channels;
    const struct halo_tile tile = {(int)(block.x * ROW_TILE_WIDTH) - halo,
                                   (int)(block.y * ROW_TILE_HEIGHT), ROW_TILE_WIDTH + 2 * halo,
                                   ROW_TILE_HEIGHT};
    const int y = tile.y + threadIdx.y;

    for (int i = threadIdx.x; i < tile.columns && y < src.height; i += ROW_TILE_WIDTH / OUTPUTS)
        cells[threadIdx.y][i] = (Sample)halo_input<Sample>(src, pass, tile.e + i, y);
    __syncthreads();

    /* Runs of channels * OUTPUTS elements; a thread computes those of one channel. */
    const int log2_channels = src.channels - 1, channel = threadIdx.x & log2_channels;
    const int first = (threadIdx.x >> log2_channels) * OUTPUTS * src.channels + channel;
    Accum sums[OUTPUTS] = {};
    if (y < src.height)
        slide(sums, &cells[threadIdx.y][first], src.channels,
              &halo_mask_bank[pass.slot][HALO_ROW_WEIGHTS], 1, 2 * pass.radius_x + 1);
#pragma unroll
    for (int k = 0; k < OUTPUTS; k++) {
        const int e = tile.e + halo + first + k * src.channels;
        if (e < elements && y < src.height)
            wide.data[y * wide.stride + e] = (int32_t)halo_finish(sums[k], pass);
    }
}

template <typename Sample, typename Accum, int OUTPUTS>
static __device__ inline void column_pass(const struct halo_task &task, const int2 block)
{
    if (halo_block_outside(task.wanted, block, TILE_WIDTH, TILE_HEIGHT))
        return;
    const struct halo_plane dst = task.dst;
    const struct halo_wide wide = task.wide;
    const struct halo_pass pass = task.pass;
    __shared__ int32_t cells[TILE_HEIGHT + 2 * MAX_RADIUS_1D][TILE_WIDTH];
    const int tx = threadIdx.x, first = threadIdx.y * OUTPUTS;
    const int e = block.x * TILE_WIDTH + tx, tile_y = block.y * TILE_HEIGHT;
    const bool inside = e < dst.width * dst.channels;

    for (int row = threadIdx.y; inside && row < TILE_HEIGHT + 2 * pass.radius_y;
         row += TILE_HEIGHT / OUTPUTS)
        cells[row][tx] = halo_wide_input(wide, dst.height, pass, e, tile_y + row - pass.radius_y);
    __syncthreads();
    if (!inside)
        return;

    Accum sums[OUTPUTS] = {};
    slide(sums, &cells[first][tx], TILE_WIDTH, &halo_mask_bank[pass.slot][HALO_COLUMN_WEIGHTS], 1,
          2 * pass.radius_y + 1);
#pragma unroll
    for (int k = 0; k < OUTPUTS; k++)
        if (tile_y + first + k < dst.height)
            halo_write<Sample>(dst, e, tile_y + first + k, halo_finish(sums[k], pass));
}

/* The mask is in shared memory: from 23x23 on it is larger than the constant cache, which would
 * then miss at every weight. */
template <typename Sample, typename Accum, int OUTPUTS>
static __device__ inline void dense_pass(const struct halo_task &task, const int2 block)
{
    if (halo_block_outside(task.wanted, block, TILE_WIDTH, TILE_HEIGHT))
        return;
    const struct halo_plane src = task.src, dst = task.dst;
    const struct halo_pass pass = task.pass;
    __shared__ Sample cells[DENSE_CELLS];
    __shared__ int32_t weights[HALO_MAX_DENSE * HALO_MAX_DENSE];
    const int count = (2 * pass.radius_x + 1) * (2 * pass.radius_y + 1);
    const int halo = pass.radius_x * src.channels, first = threadIdx.y * OUTPUTS;
    const int first_e = block.x * TILE_WIDTH, first_y = block.y * TILE_HEIGHT;
    const struct halo_tile tile = {first_e - halo, first_y - pass.radius_y, TILE_WIDTH + 2 * halo,
                                   TILE_HEIGHT + 2 * pass.radius_y};
    const int e = first_e + threadIdx.x;

    for (int i = threadIdx.y * TILE_WIDTH + threadIdx.x; i < count;
         i += TILE_WIDTH * TILE_HEIGHT / OUTPUTS)
        weights[i] = ((const int32_t *)task.prepared)[i];
    halo_load_tile(cells, tile, src, pass);
    __syncthreads();
    if (e >= src.width * src.channels)
        return;

    Accum sums[OUTPUTS] = {};
    const int columns = 2 * pass.radius_x + 1;
    for (int i = 0; i < columns; i++)
        slide(sums, &cells[first * tile.columns + threadIdx.x + i * src.channels], tile.columns,
              &weights[i], columns, 2 * pass.radius_y + 1);
#pragma unroll
    for (int k = 0; k < OUTPUTS; k++)
        if (first_y + first + k < src.height)
            halo_write<Sample>(dst, e, first_y + first + k, halo_finish(sums[k], pass));
}

namespace
{ /* each file has its own */
template <int OUTPUTS>
struct kernels {
    template <typename Sample, typename Accum>
    static cudaError_t launch(const struct halo_cuda_call *calls, int count, const int *slots)
    {
        const dim3 row_block(ROW_TILE_WIDTH / OUTPUTS, ROW_TILE_HEIGHT);
        const dim3 block(TILE_WIDTH, TILE_HEIGHT / OUTPUTS);
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
            halo_launch_tasks<dense_pass<Sample, Accum, OUTPUTS>>(tiles, block, calls->stream);
        } else {
            halo_launch_tasks<row_pass<Sample, Accum, OUTPUTS>>(rows, row_block, calls->stream);
            halo_launch_tasks<column_pass<Sample, Accum, OUTPUTS>>(tiles, block, calls->stream);
        }
        return cudaGetLastError();
    }
};
} // namespace

size_t halo_cuda_coarse_bytes(const struct halo_conv *conv, int channels)
{
    (void)channels;
    return conv->kind == HALO_CONV_DENSE
               ? sizeof(int32_t) * (2 * conv->radius_x + 1) * (2 * conv->radius_y + 1)
               : 0;
}

void halo_cuda_coarse_prepare(void *ret, const struct halo_conv *conv, int channels)
{
    memcpy(ret, conv->mask, halo_cuda_coarse_bytes(conv, channels));
}

cudaError_t halo_cuda_launch_coarse_tile_2(const struct halo_cuda_call *calls, int count)
{
    return halo_launch_each<kernels<2>>(calls, count);
}

cudaError_t halo_cuda_launch_coarse_tile(const struct halo_cuda_call *calls, int count)
{
    return halo_launch_each<kernels<4>>(calls, count);
}

cudaError_t halo_cuda_launch_coarse_tile_8(const struct halo_cuda_call *calls, int count)
{
    return halo_launch_each<kernels<8>>(calls, count);
}
