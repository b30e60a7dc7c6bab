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
#include "kernels/cuda/passes.cuh"

template <class Pass, bool STEPS>
struct output_tile {
    static constexpr int WIDTH = Pass::ROWS ? 128 : 32, HEIGHT = Pass::ROWS ? 4 : 16;
    static constexpr int ACROSS = WIDTH, DOWN = HEIGHT;
    static constexpr bool INCLUDES_HALO = false;
    static_assert(!Pass::ROWS || HALO_MAX_SIDES * HALO_MAX_CHANNELS / 2 <= WIDTH,
                  "one step must load a halo");
    typedef typename Pass::Cell Cell;
    typedef typename Pass::Accum Accum;

    static __device__ inline void load_parts(Cell *cells, const Pass &in, int e, int y)
    {
        const int tx = threadIdx.x, left = tx - (WIDTH - in.halo);
        if (left >= 0)
            cells[left] = (Cell)in.input(e - WIDTH, y);
        cells[in.halo + tx] = (Cell)in.input(e, y);
        if (tx < in.halo)
            cells[in.halo + WIDTH + tx] = (Cell)in.input(e + WIDTH, y);
    }

    /* Numbers threads and cells in one dimension: each step fills as many cells as the block has
     * threads, and only the last step leaves threads idle; the price is a division for each
     * cell. */
    static __device__ inline void load_in_line(Cell *cells, const Pass &in,
                                               const struct halo_tile &tile)
    {
        for (int i = threadIdx.y * WIDTH + threadIdx.x; i < tile.columns * tile.rows;
             i += WIDTH * HEIGHT) {
            const int row = i / tile.columns, column = i - row * tile.columns;
            cells[i] = (Cell)in.input(tile.e + column, tile.y + row);
        }
    }

    static __device__ inline void run(const Pass &in, int first_e, int first_y)
    {
        /* With 16-bit samples at most 24 KB: no opt-in to large shared memory, and full occupancy
         * from sm_75 on. */
        __shared__ Cell cells[halo_max_cells<Pass, WIDTH, HEIGHT>()];
        const int e = first_e + threadIdx.x, y = first_y + threadIdx.y;
        const struct halo_tile tile = in.tile(first_e, first_y, WIDTH, HEIGHT);

        if (Pass::DENSE && STEPS)
            load_in_line(cells, in, tile);
        else if (!Pass::ROWS || STEPS)
            halo_load_cells<ACROSS, DOWN>(cells, in, tile);
        else if (y < in.height)
            load_parts(&cells[threadIdx.y * tile.columns], in, e, y);
        __syncthreads();
        if (!in.inside(e, y))
            return;

        const int32_t *weights = in.weights();
        Accum sum = 0;
        for (int j = 0; j <= 2 * in.radius_y; j++) {
            const Cell *row = &cells[(threadIdx.y + j) * tile.columns + threadIdx.x];
            for (int i = 0; i <= 2 * in.radius_x; i++)
                sum += (Accum)*weights++ * row[i * in.channels];
        }
        in.write(e, y, sum);
    }
};

template <class Pass>
using output_tile_plain = output_tile<Pass, false>;
template <class Pass>
using output_tile_steps = output_tile<Pass, !Pass::COLUMNS>; /* columns have one way only */

const struct halo_cuda_strategy halo_cuda_output_tile = {
    .base = {"output-tile",
             "each block computes one output tile and loads its input tile in several steps",
             halo_cuda_weighs},
    .launch = halo_launch_each<halo_launch_passes<output_tile_plain>>,
};

const struct halo_cuda_strategy halo_cuda_output_tile_steps = {
    .base = {"output-tile/steps",
             "output-tile, but row loads begin at the left halo, and dense masks are loaded with "
             "linear thread indices",
             halo_cuda_weighs},
    .launch = halo_launch_each<halo_launch_passes<output_tile_steps>>,
};
