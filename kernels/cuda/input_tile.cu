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
#include "kernels/cuda/passes.cuh"

enum {
    SIDE = 32,
    COARSE = 4,
    LARGE_RADIUS = 9, /* elements or rows */
};

/* Threads, each of which loads CELLS x CELLS cells; two rows of a row pass, and eight columns of a
 * column pass. */
template <class Pass, int CELLS>
struct input_tile {
    static constexpr int ACROSS = Pass::ROWS ? 512 : Pass::COLUMNS ? 8 : SIDE;
    static constexpr int DOWN = Pass::ROWS ? 2 : Pass::COLUMNS ? 128 : SIDE;
    static constexpr int WIDTH = ACROSS * CELLS, HEIGHT = DOWN * CELLS;
    static constexpr bool INCLUDES_HALO = true;
    typedef typename Pass::Accum Accum;
    static_assert(!Pass::ROWS || HALO_MAX_SIDES * HALO_MAX_CHANNELS < WIDTH, "an output is left");
    static_assert(!Pass::COLUMNS || HALO_MAX_SIDES < HEIGHT, "an output is left");
    static_assert(CELLS == 1 || HALO_MAX_SIDES < WIDTH, "the largest halo of can()");

    static __device__ inline void run(const Pass &in, int e, int y)
    {
        __shared__ typename Pass::Cell cells[HEIGHT][WIDTH];
        e += threadIdx.x - in.halo;
        y += threadIdx.y - in.radius_y;
        for (int k = 0; k < CELLS * CELLS; k++) {
            const int across = k % CELLS * ACROSS, down = k / CELLS * DOWN;
            if (!Pass::COLUMNS || e < in.elements)
                cells[threadIdx.y + down][threadIdx.x + across] =
                    (typename Pass::Cell)in.input(e + across, y + down);
        }
        __syncthreads();

        for (int k = 0; k < CELLS * CELLS; k++) {
            const int across = k % CELLS * ACROSS, down = k / CELLS * DOWN;
            const int column = threadIdx.x + across, row = threadIdx.y + down;
            if (column < in.halo || column >= WIDTH - in.halo || row < in.radius_y ||
                row >= HEIGHT - in.radius_y || !in.inside(e + across, y + down))
                continue;
            const int32_t *weights = in.weights();
            Accum sum = 0;
            for (int j = -in.radius_y; j <= in.radius_y; j++)
                for (int i = -in.radius_x; i <= in.radius_x; i++)
                    sum += (Accum)*weights++ * cells[row + j][column + i * in.channels];
            in.write(e + across, y + down, sum);
        }
    }
};

template <class Pass>
using input_tile_1 = input_tile<Pass, 1>;
template <class Pass>
using input_tile_coarse = input_tile<Pass, Pass::DENSE ? COARSE : 1>;

static bool is_large(const struct halo_cuda_call &call)
{
    return call.conv->kind == HALO_CONV_DENSE &&
           (call.conv->radius_x * call.src.channels >= LARGE_RADIUS ||
            call.conv->radius_y >= LARGE_RADIUS);
}

static cudaError_t launch_input_tile(const struct halo_cuda_call *calls, int count)
{
    bool large = false;
    for (int i = 0; i < count; i++)
        large |= is_large(calls[i]);
    return large ? halo_launch_passes<input_tile_coarse>(calls, count)
                 : halo_launch_passes<input_tile_1>(calls, count);
}

/* Its largest block has 128x128 cells; no output would remain if all of them were halo. */
static bool can(const struct halo_conv *conv, int channels)
{
    return halo_cuda_weighs(conv, channels) &&
           (conv->kind != HALO_CONV_DENSE || conv->radius_x * channels <= HALO_MAX_TAPS / 2);
}

static bool can_coarse(const struct halo_conv *conv, int channels)
{
    return conv->kind == HALO_CONV_DENSE && can(conv, channels);
}

const struct halo_cuda_strategy halo_cuda_input_tile = {
    .base = {"input-tile", "each block covers one input tile; some of its threads only load", can},
    .launch = halo_launch_each<launch_input_tile>,
};

const struct halo_cuda_strategy halo_cuda_input_tile_coarse = {
    .base = {"input-tile/coarse", "input-tile with sixteen cells per thread, for dense masks only",
             can_coarse},
    .launch = halo_launch_each<halo_launch_passes<input_tile_coarse>>,
};
