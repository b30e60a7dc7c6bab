/* SPDX-License-Identifier: BSD-2-Clause
 * Strategy output-tile, the lectures' first: the block covers the output tile, and its threads load
 * the larger input tile into shared memory in several steps.
 *
 * Row pass: left halo, core, right halo. A halo is never wider than the tile: one step for each.
 *
 *      +------+----------------+------+
 *      | left |  output tile   | right|    x ROW_TILE_HEIGHT rows
 *      +------+----------------+------+
 *
 * Column pass and dense masks: the block steps over the input tile as often as it takes.
 *
 *      +---------+---------+---+
 *      | step 1  | step 2  | 3 |           o: the output tile that the same block computes
 *      |     o o o o o     |   |
 *      |     o o o o o     |   |
 *      +---------+---------+---+
 *      | step 4  | step 5  | 6 |
 *      +---------+---------+---+
 *
 * Each cell is read once from global memory and then 2 radius + 1 times (or the square of it) from
 * shared memory; ghost cells are settled while loading, so that the sums have no branches. */
#include "kernels/cuda/mask_bank.cuh"
#include "kernels/cuda/tile.cuh"

enum {
    MAX_CHANNELS = 2,
    MAX_RADIUS_1D = HALO_MAX_TAPS / 2,
    MAX_RADIUS_2D = HALO_MAX_DENSE / 2,

    ROW_TILE_WIDTH = 128, /* elements, at least MAX_ROW_HALO */
    ROW_TILE_HEIGHT = 4,
    MAX_ROW_HALO = MAX_RADIUS_1D * MAX_CHANNELS,

    COLUMN_TILE_WIDTH = 32,
    COLUMN_TILE_HEIGHT = 16,

    DENSE_TILE_WIDTH = 32,
    DENSE_TILE_HEIGHT = 16,
    /* Of the largest mask, 63x63 on two channels; masks of 127x1 and 1x127 need less. As 16-bit
     * samples these are 24 KB: no opt-in to large shared memory, full occupancy from sm_75 on. */
    DENSE_CELLS = (DENSE_TILE_WIDTH + 2 * MAX_RADIUS_2D * MAX_CHANNELS) *
                  (DENSE_TILE_HEIGHT + 2 * MAX_RADIUS_2D),
};

static_assert(MAX_ROW_HALO <= ROW_TILE_WIDTH, "one step must load a halo");
static_assert((DENSE_TILE_WIDTH + 2 * MAX_ROW_HALO) * DENSE_TILE_HEIGHT <= DENSE_CELLS, "127x1");
static_assert(DENSE_TILE_WIDTH * (DENSE_TILE_HEIGHT + 2 * MAX_RADIUS_1D) <= DENSE_CELLS, "1x127");

template <typename Sample, typename Accum>
static __global__ void row_kernel(const struct halo_plane src, const struct halo_wide wide,
                                  const struct halo_pass pass, const struct halo_cuda_wanted wanted)
{
    if (halo_block_unread(wanted, ROW_TILE_WIDTH, ROW_TILE_HEIGHT))
        return;
    __shared__ Sample tile[ROW_TILE_HEIGHT][ROW_TILE_WIDTH + 2 * MAX_ROW_HALO];
    Sample *cells = tile[threadIdx.y];
    const int tx = threadIdx.x;
    const int halo = pass.radius_x * src.channels;
    const int e = blockIdx.x * ROW_TILE_WIDTH + tx;
    const int y = blockIdx.y * ROW_TILE_HEIGHT + threadIdx.y;

    if (y < src.height) {
        const int left = tx - (ROW_TILE_WIDTH - halo);
        if (left >= 0)
            cells[left] = (Sample)halo_input<Sample>(src, pass, e - ROW_TILE_WIDTH, y);
        cells[halo + tx] = (Sample)halo_input<Sample>(src, pass, e, y);
        if (tx < halo)
            cells[halo + ROW_TILE_WIDTH + tx] =
                (Sample)halo_input<Sample>(src, pass, e + ROW_TILE_WIDTH, y);
    }
    __syncthreads();
    if (e >= src.width * src.channels || y >= src.height)
        return;

    const int32_t *weights = &halo_mask_bank[pass.slot][HALO_ROW_WEIGHTS];
    Accum sum = 0;
    for (int i = 0; i <= 2 * pass.radius_x; i++)
        sum += (Accum)weights[i] * cells[tx + i * src.channels];
    wide.data[y * wide.stride + e] = (int32_t)halo_finish(sum, pass);
}

template <typename Sample, typename Accum>
static __global__ void column_kernel(const struct halo_wide wide, const struct halo_plane dst,
                                     const struct halo_pass pass,
                                     const struct halo_cuda_wanted wanted)
{
    if (halo_block_outside(wanted, COLUMN_TILE_WIDTH, COLUMN_TILE_HEIGHT))
        return;
    __shared__ int32_t tile[COLUMN_TILE_HEIGHT + 2 * MAX_RADIUS_1D][COLUMN_TILE_WIDTH];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int e = blockIdx.x * COLUMN_TILE_WIDTH + tx;
    const int first_y = blockIdx.y * COLUMN_TILE_HEIGHT;
    const int y = first_y + ty;
    const int rows = COLUMN_TILE_HEIGHT + 2 * pass.radius_y;
    const bool inside = e < dst.width * dst.channels;

    for (int row = ty; inside && row < rows; row += COLUMN_TILE_HEIGHT)
        tile[row][tx] = halo_wide_input(wide, dst.height, pass, e, first_y + row - pass.radius_y);
    __syncthreads();
    if (!inside || y >= dst.height)
        return;

    const int32_t *weights = &halo_mask_bank[pass.slot][HALO_COLUMN_WEIGHTS];
    Accum sum = 0;
    for (int j = 0; j <= 2 * pass.radius_y; j++)
        sum += (Accum)weights[j] * tile[ty + j][tx];
    halo_write<Sample>(dst, e, y, halo_finish(sum, pass));
}

template <typename Sample, typename Accum>
static __global__ void dense_kernel(const struct halo_plane src, const struct halo_plane dst,
                                    const struct halo_pass pass,
                                    const struct halo_cuda_wanted wanted)
{
    if (halo_block_outside(wanted, DENSE_TILE_WIDTH, DENSE_TILE_HEIGHT))
        return;
    __shared__ Sample cells[DENSE_CELLS];
    const int halo = pass.radius_x * src.channels;
    const int first_e = blockIdx.x * DENSE_TILE_WIDTH, first_y = blockIdx.y * DENSE_TILE_HEIGHT;
    const int e = first_e + threadIdx.x, y = first_y + threadIdx.y;
    const struct halo_tile tile = {first_e - halo, first_y - pass.radius_y,
                                   DENSE_TILE_WIDTH + 2 * halo,
                                   DENSE_TILE_HEIGHT + 2 * pass.radius_y};

    halo_load_tile(cells, tile, src, pass);
    __syncthreads();
    if (e >= src.width * src.channels || y >= src.height)
        return;

    const int32_t *weights = halo_mask_bank[pass.slot];
    Accum sum = 0;
    for (int j = 0; j <= 2 * pass.radius_y; j++) {
        const Sample *row = &cells[(threadIdx.y + j) * tile.columns + threadIdx.x];
        for (int i = 0; i <= 2 * pass.radius_x; i++)
            sum += (Accum)*weights++ * row[i * src.channels];
    }
    halo_write<Sample>(dst, e, y, halo_finish(sum, pass));
}

template <typename Sample, typename Accum>
static cudaError_t launch_separable(const struct halo_cuda_call *call, int slot)
{
    const struct halo_plane &src = call->src, &dst = call->dst;
    const struct halo_wide wide = halo_wide_of(call);
    const struct halo_pass row = halo_row_pass(call->conv, slot);
    const struct halo_pass column = halo_column_pass(call->conv, slot);
    const dim3 row_block(ROW_TILE_WIDTH, ROW_TILE_HEIGHT);
    const dim3 row_grid = halo_grid(src, ROW_TILE_WIDTH, ROW_TILE_HEIGHT);
    const dim3 column_block(COLUMN_TILE_WIDTH, COLUMN_TILE_HEIGHT);
    const dim3 column_grid = halo_grid(src, COLUMN_TILE_WIDTH, COLUMN_TILE_HEIGHT);

    row_kernel<Sample, Accum>
        <<<row_grid, row_block, 0, call->stream>>>(src, wide, row, call->wanted);
    column_kernel<Sample, Accum>
        <<<column_grid, column_block, 0, call->stream>>>(wide, dst, column, call->wanted);
    return cudaGetLastError();
}

template <typename Sample, typename Accum>
static cudaError_t launch_dense(const struct halo_cuda_call *call, int slot)
{
    const struct halo_plane &src = call->src, &dst = call->dst;
    const struct halo_pass pass = halo_dense_pass(call->conv, slot);
    const dim3 block(DENSE_TILE_WIDTH, DENSE_TILE_HEIGHT);
    const dim3 grid = halo_grid(src, DENSE_TILE_WIDTH, DENSE_TILE_HEIGHT);

    dense_kernel<Sample, Accum><<<grid, block, 0, call->stream>>>(src, dst, pass, call->wanted);
    return cudaGetLastError();
}

namespace
{ /* each file has its own */
struct kernels {
    template <typename Sample, typename Accum>
    static cudaError_t launch(const struct halo_cuda_call *call, int slot)
    {
        return call->conv->kind == HALO_CONV_DENSE ? launch_dense<Sample, Accum>(call, slot)
                                                   : launch_separable<Sample, Accum>(call, slot);
    }
};
} // namespace

cudaError_t halo_cuda_launch_output_tile(const struct halo_cuda_call *calls, int count)
{
    return halo_launch_each<kernels>(calls, count);
}
