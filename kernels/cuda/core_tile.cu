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
#include "kernels/cuda/passes.cuh"

template <class Pass>
struct core_tile {
    static constexpr int WIDTH = Pass::ROWS ? 128 : 32, HEIGHT = Pass::ROWS ? 4 : 16;
    static constexpr int ACROSS = WIDTH, DOWN = HEIGHT;
    static constexpr bool INCLUDES_HALO = false;
    typedef typename Pass::Accum Accum;

    static __device__ inline void run(const Pass &in, int first_e, int first_y)
    {
        __shared__ typename Pass::Cell core[HEIGHT][WIDTH];
        const int tx = threadIdx.x, ty = threadIdx.y, e = first_e + tx, y = first_y + ty;
        const bool inside = in.inside(e, y);

        if (inside)
            core[ty][tx] = (typename Pass::Cell)in.cell(e, y);
        __syncthreads();
        if (!inside)
            return;

        const int columns = min(WIDTH, in.elements - first_e);
        const int rows = min(HEIGHT, in.height - first_y);
        const int32_t *weights = in.weights();
        Accum sum = 0;
        for (int j = ty - in.radius_y; j <= ty + in.radius_y; j++)
            for (int i = -in.radius_x; i <= in.radius_x; i++) {
                const int x = tx + i * in.channels;
                const bool is_core = (Pass::ROWS || (j >= 0 && j < rows)) &&
                                     (Pass::COLUMNS || (x >= 0 && x < columns));
                const int cell = is_core ? core[j][x] : in.input(first_e + x, first_y + j);
                sum += (Accum)*weights++ * cell;
            }
        in.write(e, y, sum);
    }
};

const struct halo_cuda_strategy halo_cuda_core_tile = {
    .base = {"core-tile",
             "only the tile's core is in shared memory; the halo is read through the caches",
             halo_cuda_weighs},
    .launch = halo_launch_each<halo_launch_passes<core_tile>>,
};
