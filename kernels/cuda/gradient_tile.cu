/* SPDX-License-Identifier: BSD-2-Clause
 * Strategy gradient-tile: the block covers an output tile, four rows to a thread.
 *
 *      +---------------+
 *      | h h h h h h h |      The tile with a ring of one pixel lies in shared memory. A thread
 *      | h +-------+ h |      goes down its column: three rows of three cells are in registers, the
 *      | h | o o o | h |      next row pushes the oldest out. The masks are kernel parameters, and
 *      | h +-------+ h |      so come from the constant cache.
 *      | h h h h h h h |
 *      +---------------+ */
#include "kernels/cuda/gradient.cuh"

enum { ROWS = 4, /* of a thread */ MAX_CHANNELS = 2 };

struct gradient_tile {
    static constexpr int ACROSS = 64, DOWN = 4, WIDTH = ACROSS, HEIGHT = DOWN * ROWS;

    template <typename Sample, typename Accum>
    static __device__ inline void run(const struct halo_plane &src, const struct halo_plane &dst,
                                      const struct halo_pass &pass, const struct halo_root &root,
                                      const struct halo_gradient_masks &masks)
    {
        __shared__ Sample cells[(WIDTH + 2 * MAX_CHANNELS) * (HEIGHT + 2)];
        const int channels = src.channels, columns = WIDTH + 2 * channels;
        const int e = blockIdx.x * WIDTH + threadIdx.x, y0 = blockIdx.y * HEIGHT;
        const struct halo_tile tile = {(int)blockIdx.x * WIDTH - channels, y0 - 1, columns,
                                       HEIGHT + 2};
        halo_load_tile(cells, tile, src, pass);
        __syncthreads();
        if (e >= src.width * channels)
            return;

        const int first = threadIdx.y * ROWS;
        const Sample *from = cells + first * columns + threadIdx.x;
        int p[ROWS + 2][3];
#pragma unroll
        for (int j = 0; j < ROWS + 2; j++)
#pragma unroll
            for (int i = 0; i < 3; i++)
                p[j][i] = from[j * columns + i * channels];
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
            if (y0 + first + row >= src.height)
                return;
            int a = 0, b = 0;
#pragma unroll
            for (int k = 0; k < 9; k++) {
                a += masks.a[k] * p[row + k / 3][k % 3];
                b += masks.b[k] * p[row + k / 3][k % 3];
            }
            halo_write<Sample>(dst, e, y0 + first + row, halo_root_finish<Accum>(a, b, root));
        }
    }
};

static bool can(const struct halo_conv *conv, int channels)
{
    (void)channels;
    return conv->kind == HALO_CONV_GRADIENT;
}

const struct halo_cuda_strategy halo_cuda_gradient_tile = {
    .base = {"gradient-tile", "output-tile with four rows per thread, for gradients", can},
    .launch = halo_launch_gradients<gradient_tile>,
};
