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

#include "kernels/cuda/passes.cuh"

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

template <class Pass, int OUTPUTS>
struct coarse_tile {
    static constexpr int WIDTH = Pass::ROWS ? 128 : 32, HEIGHT = Pass::ROWS ? 4 : 32;
    static constexpr int ACROSS = Pass::ROWS ? WIDTH / OUTPUTS : WIDTH;
    static constexpr int DOWN = Pass::ROWS ? HEIGHT : HEIGHT / OUTPUTS;
    static constexpr bool INCLUDES_HALO = false;
    typedef typename Pass::Accum Accum;

    /* A dense mask is copied to shared memory: from 23x23 on it is larger than the constant
     * cache, which would then miss at every weight. */
    static __device__ inline const int32_t *weights_of(const Pass &in)
    {
        if constexpr (Pass::DENSE) {
            __shared__ int32_t weights[HALO_MAX_DENSE * HALO_MAX_DENSE];
            const int count = (2 * in.radius_x + 1) * (2 * in.radius_y + 1);
            for (int i = threadIdx.y * ACROSS + threadIdx.x; i < count; i += ACROSS * DOWN)
                weights[i] = ((const int32_t *)in.prepared)[i];
            return weights;
        } else {
            return in.weights();
        }
    }

    static __device__ inline void run(const Pass &in, int e, int y)
    {
        __shared__ typename Pass::Cell cells[halo_max_cells<Pass, WIDTH, HEIGHT>()];
        const struct halo_tile tile = in.tile(e, y, WIDTH, HEIGHT);
        const int32_t *weights = weights_of(in);
        halo_load_cells<ACROSS, DOWN>(cells, in, tile);
        __syncthreads();

        /* The outputs of a thread are one below the other; in a row pass, they are of one
         * channel: x, x + channels, ... in a run of channels * OUTPUTS elements. */
        int x = threadIdx.x, row = threadIdx.y;
        if (Pass::ROWS)
            x = (x & ~(in.channels - 1)) * OUTPUTS + (x & (in.channels - 1));
        else
            row *= OUTPUTS;
        if (!in.inside(e + x, y + row))
            return;
        const int taps = 2 * (Pass::ROWS ? in.radius_x : in.radius_y) + 1;
        const int columns = Pass::DENSE ? 2 * in.radius_x + 1 : 1;
        const int stride = Pass::ROWS ? in.channels : tile.columns;
        Accum sums[OUTPUTS] = {};
        for (int i = 0; i < columns; i++)
            slide(sums, &cells[row * tile.columns + x + i * in.channels], stride, &weights[i],
                  columns, taps);
#pragma unroll
        for (int k = 0; k < OUTPUTS; k++) {
            const int to_e = e + x + (Pass::ROWS ? k * in.channels : 0);
            const int to_y = y + row + (Pass::ROWS ? 0 : k);
            if (in.inside(to_e, to_y))
                in.write(to_e, to_y, sums[k]);
        }
    }
};

template <class Pass>
using coarse_tile_2 = coarse_tile<Pass, 2>;
template <class Pass>
using coarse_tile_4 = coarse_tile<Pass, 4>;
template <class Pass>
using coarse_tile_8 = coarse_tile<Pass, 8>;

static size_t prepared_bytes(const struct halo_conv *conv, int channels)
{
    (void)channels;
    return conv->kind == HALO_CONV_DENSE
               ? sizeof(int32_t) * (2 * conv->radius_x + 1) * (2 * conv->radius_y + 1)
               : 0;
}

static void prepare(void *ret, const struct halo_conv *conv, int channels)
{
    memcpy(ret, conv->mask, prepared_bytes(conv, channels));
}

const struct halo_cuda_strategy halo_cuda_coarse_tile = {
    .base = {"coarse-tile", "output-tile with four outputs per thread", halo_cuda_weighs},
    .launch = halo_launch_each<halo_launch_passes<coarse_tile_4>>,
    .prepared_bytes = prepared_bytes,
    .prepare = prepare,
};

const struct halo_cuda_strategy halo_cuda_coarse_tile_2 = {
    .base = {"coarse-tile/2", "output-tile with two outputs per thread", halo_cuda_weighs},
    .launch = halo_launch_each<halo_launch_passes<coarse_tile_2>>,
    .prepared_bytes = prepared_bytes,
    .prepare = prepare,
};

const struct halo_cuda_strategy halo_cuda_coarse_tile_8 = {
    .base = {"coarse-tile/8", "output-tile with eight outputs per thread", halo_cuda_weighs},
    .launch = halo_launch_each<halo_launch_passes<coarse_tile_8>>,
    .prepared_bytes = prepared_bytes,
    .prepare = prepare,
};
