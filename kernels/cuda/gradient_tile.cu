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

enum {
    BLOCK_WIDTH = 64,
    BLOCK_HEIGHT = 4,
    ROWS = 4, /* of a thread */
    TILE_HEIGHT = BLOCK_HEIGHT * ROWS,
    MAX_CHANNELS = 2,
};

struct gradient_masks {
    int a[9], b[9];
};

template <typename Sample, typename Accum>
static __global__ void __launch_bounds__(BLOCK_WIDTH *BLOCK_HEIGHT)
    gradient_kernel(const struct halo_plane src, const struct halo_plane dst,
                    const struct halo_pass pass, const struct halo_root root,
                    const __grid_constant__ struct gradient_masks masks,
                    const struct halo_cuda_wanted wanted)
{
    if (halo_block_outside(wanted, make_int2(blockIdx.x, blockIdx.y), BLOCK_WIDTH, TILE_HEIGHT))
        return;
    __shared__ Sample cells[(BLOCK_WIDTH + 2 * MAX_CHANNELS) * (TILE_HEIGHT + 2)];
    const int channels = src.channels, columns = BLOCK_WIDTH + 2 * channels;
    const int e = blockIdx.x * BLOCK_WIDTH + threadIdx.x, y0 = blockIdx.y * TILE_HEIGHT;
    const struct halo_tile tile = {(int)blockIdx.x * BLOCK_WIDTH - channels, y0 - 1, columns,
                                   TILE_HEIGHT + 2};
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

template <typename Sample, typename Accum>
static cudaError_t launch(const struct halo_cuda_call *c)
{
    struct halo_pass pass = {};
    pass.border = c->conv->border;
    pass.ghost = c->conv->border_value;
    struct gradient_masks masks;
    for (int k = 0; k < 9; k++) {
        masks.a[k] = c->conv->mask[k];
        masks.b[k] = c->conv->mask[9 + k];
    }
    gradient_kernel<Sample, Accum>
        <<<halo_grid(c->src, BLOCK_WIDTH, TILE_HEIGHT), dim3(BLOCK_WIDTH, BLOCK_HEIGHT), 0,
           c->stream>>>(c->src, c->dst, pass, halo_root_of(c->conv), masks, c->wanted);
    return cudaGetLastError();
}

cudaError_t halo_cuda_launch_gradient_tile(const struct halo_cuda_call *calls, int count)
{
    cudaError_t status = cudaSuccess;
    for (int i = 0; i < count && status == cudaSuccess; i++) {
        const bool wide = calls[i].conv->accum == HALO_ACCUM_I64;
        if (halo_plane_sample_bytes(&calls[i].src) == 1)
            status =
                wide ? launch<uint8_t, int64_t>(&calls[i]) : launch<uint8_t, int32_t>(&calls[i]);
        else
            status =
                wide ? launch<uint16_t, int64_t>(&calls[i]) : launch<uint16_t, int32_t>(&calls[i]);
    }
    return status;
}
