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
 * output-tile/steps loads in the lectures' other ways: rows from the left halo on, in as many steps
 * as it takes (two if the halo is not wider than the tile), and dense masks with all threads in one
 * dimension.
 *
 * Each cell is read once from global memory and then 2 radius + 1 times (or the square of it) from
 * shared memory; ghost cells are resolved while loading, so that the sums have no branches. */
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
    /* For the largest mask, 63x63 on two channels; masks of 127x1 and 1x127 need less. With 16-bit
     * samples these are 24 KB: no opt-in to large shared memory, full occupancy from sm_75 on. */
    DENSE_CELLS = (DENSE_TILE_WIDTH + 2 * MAX_RADIUS_2D * MAX_CHANNELS) *
                  (DENSE_TILE_HEIGHT + 2 * MAX_RADIUS_2D),
};

static_assert(MAX_ROW_HALO <= ROW_TILE_WIDTH, "one step must load a halo");
static_assert((DENSE_TILE_WIDTH + 2 * MAX_ROW_HALO) * DENSE_TILE_HEIGHT <= DENSE_CELLS, "127x1");
static_assert(DENSE_TILE_WIDTH * (DENSE_TILE_HEIGHT + 2 * MAX_RADIUS_1D) <= DENSE_CELLS, "1x127");

template <typename Sample, typename Accum, bool STEPS>
static __device__ inline void row_pass(const struct halo_task &task, const int2 block)
{
    if (halo_block_unread(task.wanted, block, ROW_TILE_WIDTH, ROW_TILE_HEIGHT))
        return;
    const struct halo_plane src = task.src;
    const struct halo_wide wide = task.wide;
    const struct halo_pass pass = task.pass;
    __shared__ Sample tile[ROW_TILE_HEIGHT][ROW_TILE_WIDTH + 2 * MAX_ROW_HALO];
    Sample *cells = tile[threadIdx.y];
    const int tx = threadIdx.x;
    const int halo = pass.radius_x * src.channels;
    const int e = block.x * ROW_TILE_WIDTH + tx;
    const int y = block.y * ROW_TILE_HEIGHT + threadIdx.y;

    if (STEPS) {
        for (int i = tx; i < ROW_TILE_WIDTH + 2 * halo && y < src.height; i += ROW_TILE_WIDTH)
            cells[i] = (Sample)halo_input<Sample>(src, pass, e - tx - halo + i, y);
    } else if (y < src.height) {
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
static __device__ inline void column_pass(const struct halo_task &task, const int2 block)
{
    if (halo_block_outside(task.wanted, block, COLUMN_TILE_WIDTH, COLUMN_TILE_HEIGHT))
        return;
    const struct halo_plane dst = task.dst;
    const struct halo_wide wide = task.wide;
    const struct halo_pass pass = task.pass;
    __shared__ int32_t tile[COLUMN_TILE_HEIGHT + 2 * MAX_RADIUS_1D][COLUMN_TILE_WIDTH];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int e = block.x * COLUMN_TILE_WIDTH + tx;
    const int first_y = block.y * COLUMN_TILE_HEIGHT;
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

/* Numbers threads and cells in one dimension: each step fills as many cells as the block has
 * threads, and only the last step leaves threads idle; the price is a division for each cell. */
template <typename Sample>
static __device__ inline void load_in_line(Sample *cells, const struct halo_tile &tile,
                                           const struct halo_plane &src,
                                           const struct halo_pass &pass)
{
    for (int i = threadIdx.y * DENSE_TILE_WIDTH + threadIdx.x; i < tile.columns * tile.rows;
         i += DENSE_TILE_WIDTH * DENSE_TILE_HEIGHT) {
        const int row = i / tile.columns, column = i - row * tile.columns;
        cells[i] = (Sample)halo_input<Sample>(src, pass, tile.e + column, tile.y + row);
    }
}

template <typename Sample, typename Accum, bool STEPS>
static __device__ inline void dense_pass(const struct halo_task &task, const int2 block)
{
    if (halo_block_outside(task.wanted, block, DENSE_TILE_WIDTH, DENSE_TILE_HEIGHT))
        return;
    const struct halo_plane src = task.src, dst = task.dst;
    const struct halo_pass pass = task.pass;
    __shared__ Sample cells[DENSE_CELLS];
    const int halo = pass.radius_x * src.channels;
    const int first_e = block.x * DENSE_TILE_WIDTH, first_y = block.y * DENSE_TILE_HEIGHT;
    const int e = first_e + threadIdx.x, y = first_y + threadIdx.y;
    const struct halo_tile tile = {first_e - halo, first_y - pass.radius_y,
                                   DENSE_TILE_WIDTH + 2 * halo,
                                   DENSE_TILE_HEIGHT + 2 * pass.radius_y};

    if (STEPS)
        load_in_line(cells, tile, src, pass);
    else
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

template <typename Sample, typename Accum, bool STEPS>
static cudaError_t launch_separable(const struct halo_cuda_call *calls, int count, const int *slots)
{
    const dim3 row_block(ROW_TILE_WIDTH, ROW_TILE_HEIGHT);
    const dim3 column_block(COLUMN_TILE_WIDTH, COLUMN_TILE_HEIGHT);
    struct halo_tasks rows = {}, columns = {};

    for (int i = 0; i < count; i++) {
        halo_add_task(&rows, &calls[i], halo_row_pass(calls[i].conv, slots[i]), ROW_TILE_WIDTH,
                      ROW_TILE_HEIGHT);
        halo_add_task(&columns, &calls[i], halo_column_pass(calls[i].conv, slots[i]),
                      COLUMN_TILE_WIDTH, COLUMN_TILE_HEIGHT);
    }
    halo_launch_tasks<row_pass<Sample, Accum, STEPS>>(rows, row_block, calls->stream);
    halo_launch_tasks<column_pass<Sample, Accum>>(columns, column_block, calls->stream);
    return cudaGetLastError();
}

template <typename Sample, typename Accum, bool STEPS>
static cudaError_t launch_dense(const struct halo_cuda_call *calls, int count, const int *slots)
{
    const dim3 block(DENSE_TILE_WIDTH, DENSE_TILE_HEIGHT);
    struct halo_tasks tasks = {};

    for (int i = 0; i < count; i++)
        halo_add_task(&tasks, &calls[i], halo_dense_pass(calls[i].conv, slots[i]), DENSE_TILE_WIDTH,
                      DENSE_TILE_HEIGHT);
    halo_launch_tasks<dense_pass<Sample, Accum, STEPS>>(tasks, block, calls->stream);
    return cudaGetLastError();
}

namespace
{ /* each file has its own */
template <bool STEPS>
struct kernels {
    template <typename Sample, typename Accum>
    static cudaError_t launch(const struct halo_cuda_call *calls, int count, const int *slots)
    {
        return calls->conv->kind == HALO_CONV_DENSE
                   ? launch_dense<Sample, Accum, STEPS>(calls, count, slots)
                   : launch_separable<Sample, Accum, STEPS>(calls, count, slots);
    }
};
} // namespace

cudaError_t halo_cuda_launch_output_tile(const struct halo_cuda_call *calls, int count)
{
    return halo_launch_each<kernels<false>>(calls, count);
}

cudaError_t halo_cuda_launch_output_tile_steps(const struct halo_cuda_call *calls, int count)
{
    return halo_launch_each<kernels<true>>(calls, count);
}
