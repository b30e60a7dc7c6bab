/* SPDX-License-Identifier: BSD-2-Clause
 * Strategy input-tile, the lectures' second: the block covers the input tile. Each thread loads one
 * cell, or CELLS x CELLS of them with thread coarsening, all in one step and without a branch for
 * the halo; threads that loaded the halo are idle while the others compute.
 *
 *      +-------------------+
 *      | h h h h h h h h h |     threads = cells of the input tile
 *      | h h o o o o o h h |     h: loads only
 *      | h h o o o o o h h |     o: loads and computes; the tile is smaller than the block by the
 *      | h h h h h h h h h |        mask's width less one
 *      +-------------------+
 *
 * A block of 32x32 has no outputs for masks of 33x33: from a radius of LARGE_RADIUS on, a thread
 * processes 4x4 cells, 32 apart, of an input tile of 128x128. input-tile/coarse does so for all
 * dense masks: fewer of its cells are halo. */
#include "kernels/cuda/mask_bank.cuh"
#include "kernels/cuda/tile.cuh"

enum {
    MAX_RADIUS_1D = HALO_MAX_TAPS / 2,
    MAX_CHANNELS = 2,

    ROW_BLOCK = 512, /* cells of a row; at most 252 of them are halo */
    ROW_BLOCK_HEIGHT = 2,
    COLUMN_BLOCK_WIDTH = 8,
    COLUMN_BLOCK_HEIGHT = 128, /* a mask of 127 rows, the largest, leaves two rows of outputs */

    SIDE = 32,
    COARSE = 4,
    LARGE_RADIUS = 9, /* elements or rows */
};

static_assert(2 * MAX_RADIUS_1D * MAX_CHANNELS < ROW_BLOCK, "no output is left in a row");
static_assert(2 * MAX_RADIUS_1D < COLUMN_BLOCK_HEIGHT, "no output is left in a column");
static_assert(2 * MAX_RADIUS_1D < SIDE * COARSE, "the largest halo that strategies.c lets in");

template <typename Sample, typename Accum>
static __device__ inline void row_pass(const struct halo_task &task, const int2 block)
{
    const struct halo_plane src = task.src;
    const struct halo_wide wide = task.wide;
    const struct halo_pass pass = task.pass;
    __shared__ Sample tile[ROW_BLOCK_HEIGHT][ROW_BLOCK];
    Sample *cells = tile[threadIdx.y];
    const int tx = threadIdx.x, halo = pass.radius_x * src.channels;
    if (halo_block_unread(task.wanted, block, ROW_BLOCK - 2 * halo, ROW_BLOCK_HEIGHT))
        return;
    const int e = block.x * (ROW_BLOCK - 2 * halo) + tx - halo;
    const int y = block.y * ROW_BLOCK_HEIGHT + threadIdx.y;

    if (y < src.height)
        cells[tx] = (Sample)halo_input<Sample>(src, pass, e, y);
    __syncthreads();
    if (tx < halo || tx >= ROW_BLOCK - halo || e >= src.width * src.channels || y >= src.height)
        return;

    const int32_t *weights = &halo_mask_bank[pass.slot][HALO_ROW_WEIGHTS];
    Accum sum = 0;
    for (int i = 0; i <= 2 * pass.radius_x; i++)
        sum += (Accum)weights[i] * cells[tx - halo + i * src.channels];
    wide.data[y * wide.stride + e] = (int32_t)halo_finish(sum, pass);
}

template <typename Sample, typename Accum>
static __device__ inline void column_pass(const struct halo_task &task, const int2 block)
{
    const struct halo_plane dst = task.dst;
    const struct halo_wide wide = task.wide;
    const struct halo_pass pass = task.pass;
    if (halo_block_outside(task.wanted, block, COLUMN_BLOCK_WIDTH,
                           COLUMN_BLOCK_HEIGHT - 2 * pass.radius_y))
        return;
    __shared__ int32_t cells[COLUMN_BLOCK_HEIGHT][COLUMN_BLOCK_WIDTH];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int e = block.x * COLUMN_BLOCK_WIDTH + tx;
    const int y = block.y * (COLUMN_BLOCK_HEIGHT - 2 * pass.radius_y) + ty - pass.radius_y;
    const bool inside = e < dst.width * dst.channels;

    if (inside)
        cells[ty][tx] = halo_wide_input(wide, dst.height, pass, e, y);
    __syncthreads();
    if (!inside || ty < pass.radius_y || ty >= COLUMN_BLOCK_HEIGHT - pass.radius_y ||
        y >= dst.height)
        return;

    const int32_t *weights = &halo_mask_bank[pass.slot][HALO_COLUMN_WEIGHTS];
    Accum sum = 0;
    for (int j = 0; j <= 2 * pass.radius_y; j++)
        sum += (Accum)weights[j] * cells[ty - pass.radius_y + j][tx];
    halo_write<Sample>(dst, e, y, halo_finish(sum, pass));
}

template <typename Sample, typename Accum, int CELLS>
static __device__ inline void dense_pass(const struct halo_task &task, const int2 block)
{
    const struct halo_plane src = task.src, dst = task.dst;
    const struct halo_pass pass = task.pass;
    constexpr int TILE = SIDE * CELLS;
    __shared__ Sample cells[TILE][TILE];
    const int halo = pass.radius_x * src.channels;
    if (halo_block_outside(task.wanted, block, TILE - 2 * halo, TILE - 2 * pass.radius_y))
        return;
    const int first_e = block.x * (TILE - 2 * halo) - halo;
    const int first_y = block.y * (TILE - 2 * pass.radius_y) - pass.radius_y;

    for (int row = threadIdx.y; row < TILE; row += SIDE)
        for (int column = threadIdx.x; column < TILE; column += SIDE)
            cells[row][column] =
                (Sample)halo_input<Sample>(src, pass, first_e + column, first_y + row);
    __syncthreads();

    for (int row = threadIdx.y; row < TILE; row += SIDE)
        for (int column = threadIdx.x; column < TILE; column += SIDE) {
            const int e = first_e + column, y = first_y + row;
            if (column < halo || column >= TILE - halo || row < pass.radius_y ||
                row >= TILE - pass.radius_y || e >= src.width * src.channels || y >= src.height)
                continue;
            const int32_t *weights = halo_mask_bank[pass.slot];
            Accum sum = 0;
            for (int j = -pass.radius_y; j <= pass.radius_y; j++)
                for (int i = -halo; i <= halo; i += src.channels)
                    sum += (Accum)*weights++ * cells[row + j][column + i];
            halo_write<Sample>(dst, e, y, halo_finish(sum, pass));
        }
}

template <typename Sample, typename Accum, int CELLS>
static void launch_dense(const struct halo_cuda_call *calls, int count, const int *slots)
{
    constexpr int TILE = SIDE * CELLS;
    struct halo_tasks tasks = {};
    for (int i = 0; i < count; i++) {
        const struct halo_conv *conv = calls[i].conv;
        halo_add_task(&tasks, &calls[i], halo_dense_pass(conv, slots[i]),
                      TILE - 2 * conv->radius_x * calls[i].src.channels, TILE - 2 * conv->radius_y);
    }
    halo_launch_tasks<dense_pass<Sample, Accum, CELLS>>(tasks, dim3(SIDE, SIDE), calls->stream);
}

static bool any_large(const struct halo_cuda_call *calls, int count)
{
    for (int i = 0; i < count; i++)
        if (calls[i].conv->radius_x * calls[i].src.channels >= LARGE_RADIUS ||
            calls[i].conv->radius_y >= LARGE_RADIUS)
            return true;
    return false;
}

template <typename Sample, typename Accum>
static void launch_separable(const struct halo_cuda_call *calls, int count, const int *slots)
{
    const dim3 row_block(ROW_BLOCK, ROW_BLOCK_HEIGHT);
    const dim3 column_block(COLUMN_BLOCK_WIDTH, COLUMN_BLOCK_HEIGHT);
    struct halo_tasks rows = {}, columns = {};
    for (int i = 0; i < count; i++) {
        const struct halo_conv *conv = calls[i].conv;
        const int halo = conv->radius_x * calls[i].src.channels;
        halo_add_task(&rows, &calls[i], halo_row_pass(conv, slots[i]), ROW_BLOCK - 2 * halo,
                      ROW_BLOCK_HEIGHT);
        halo_add_task(&columns, &calls[i], halo_column_pass(conv, slots[i]), COLUMN_BLOCK_WIDTH,
                      COLUMN_BLOCK_HEIGHT - 2 * conv->radius_y);
    }
    halo_launch_tasks<row_pass<Sample, Accum>>(rows, row_block, calls->stream);
    halo_launch_tasks<column_pass<Sample, Accum>>(columns, column_block, calls->stream);
}

namespace
{ /* each file has its own */
template <bool ALWAYS_COARSE>
struct kernels {
    template <typename Sample, typename Accum>
    static cudaError_t launch(const struct halo_cuda_call *calls, int count, const int *slots)
    {
        if (calls->conv->kind != HALO_CONV_DENSE)
            launch_separable<Sample, Accum>(calls, count, slots);
        else if (ALWAYS_COARSE || any_large(calls, count))
            launch_dense<Sample, Accum, COARSE>(calls, count, slots);
        else
            launch_dense<Sample, Accum, 1>(calls, count, slots);
        return cudaGetLastError();
    }
};
} // namespace

cudaError_t halo_cuda_launch_input_tile(const struct halo_cuda_call *calls, int count)
{
    return halo_launch_each<kernels<false>>(calls, count);
}

cudaError_t halo_cuda_launch_input_tile_coarse(const struct halo_cuda_call *calls, int count)
{
    return halo_launch_each<kernels<true>>(calls, count);
}
