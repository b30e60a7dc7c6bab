/* SPDX-License-Identifier: BSD-2-Clause
 * Strategy nodes, last kernel: pixels by linear interpolation between U's nodes, written once.
 *
 *      k------i--k+1      A thread writes 16 bytes of several rows of a cell. From row to row, and
 *      |  . . . . |      from pixel to pixel, a sum grows by the same amount: one addition. Sums
 *      |  . . . . |      are scaled so that the sample is in their highest byte, or in their upper
 *      l----------+      half, where the bytes of four, or two, are picked from.
 *
 * All arithmetic is modulo 2^32; what is written is below that. */
#include "kernels/cuda/nodes.cuh"
#include "kernels/cuda/tile.cuh"

namespace
{
enum { BLOCK_WIDTH = 32, BLOCK_HEIGHT = 8, MAX_ROWS = 8 };

template <typename Sample, int CHANNELS, int STEP>
struct spread {
    static constexpr int IN_WORD = 4 / sizeof(Sample), WORDS = 4;
    static constexpr int PIXELS = WORDS * IN_WORD / CHANNELS; /* of a thread */
    /* The values along these pixels: of the nodes before, between and after their cells. */
    static constexpr int CELLS = PIXELS > STEP ? PIXELS / STEP : 1;
    static constexpr int NODES = CELLS + (STEP > 1), VALUES = NODES * CHANNELS;
    static constexpr int TOP = sizeof(Sample) == 1 ? 24 : 16; /* position of a sample's lowest bit
                                                               * in a sum */

    /* The sum of element e from the values of its row. start: position of the thread's first pixel
     * in its cell, if a cell has more pixels than a thread. */
    static __device__ inline uint32_t element(const uint32_t *values, int e, int start)
    {
        const int pixel = e / CHANNELS, channel = e % CHANNELS, i = pixel % STEP;
        const uint32_t left = values[pixel / STEP * CHANNELS + channel], half = 1u << (TOP - 1);
        if (STEP == 1)
            return left + half;
        const uint32_t right = values[(pixel / STEP + (STEP > 1)) * CHANNELS + channel];
        const uint32_t first = (2 * STEP - 1) * left + right + half;
        return first + 2 * start * (right - left) + (2 * i) * (right - left);
    }

    static __device__ inline uint32_t word(const uint32_t *values, int w, int start, int shift)
    {
        const int e = w * IN_WORD;
        const uint32_t a = element(values, e, start), b = element(values, e + 1, start);
        if (sizeof(Sample) == 2)
            return __byte_perm(a, b, 0x7632) << shift;
        const uint32_t c = element(values, e + 2, start), d = element(values, e + 3, start);
        return __byte_perm(__byte_perm(a, b, 0x73), __byte_perm(c, d, 0x73), 0x5410);
    }
};

template <typename Sample, int CHANNELS, int STEP>
static __global__ void __launch_bounds__(BLOCK_WIDTH *BLOCK_HEIGHT)
    spread_kernel(const struct halo_plane dst, const struct halo_nodes nodes, int rows)
{
    using s = spread<Sample, CHANNELS, STEP>;
    halo_nodes_wait();
    const int chunk = blockIdx.x * BLOCK_WIDTH + threadIdx.x, x = chunk * s::PIXELS;
    const int y0 = (blockIdx.y * BLOCK_HEIGHT + threadIdx.y) * rows;
    if (x >= dst.width || y0 >= dst.height)
        return;

    const int start = s::PIXELS < STEP ? x % STEP : 0;
    const int step = nodes.y.step, l = y0 >> nodes.y.log2_step, j = y0 & (step - 1);
    const int up = s::TOP - nodes.frac - nodes.x.pixel_bits - nodes.y.pixel_bits;
    const uint32_t *above = nodes.u + l * nodes.t_stride;
    uint32_t values[s::VALUES], growth[s::VALUES];
#pragma unroll
    for (int v = 0; v < s::VALUES; v++) {
        const int k = min(x / STEP + v / CHANNELS, nodes.x.count - 1);
        const int e = k * CHANNELS + v % CHANNELS;
        values[v] = above[e] << up;
        growth[v] = 0;
        if (step > 1) {
            const uint32_t below = above[nodes.t_stride + e] << up;
            growth[v] = 2 * (below - values[v]);
            values[v] = (2 * step - 1) * values[v] + below + j * growth[v];
        }
    }

    const int end = min(y0 + rows, dst.height);
    for (int y = y0; y < end; y++) {
        uint4 *to = (uint4 *)((char *)dst.data + y * dst.stride) + chunk;
        *to =
            make_uint4(s::word(values, 0, start, dst.shift), s::word(values, 1, start, dst.shift),
                       s::word(values, 2, start, dst.shift), s::word(values, 3, start, dst.shift));
#pragma unroll
        for (int v = 0; v < s::VALUES; v++)
            values[v] += growth[v];
    }
}

struct kernels {
    template <typename Sample, int CHANNELS, int STEP>
    static cudaError_t launch(const struct halo_cuda_call *call, const struct halo_nodes *nodes)
    {
        const struct halo_plane &dst = call->dst;
        const int rows = nodes->y.step < MAX_ROWS ? nodes->y.step : MAX_ROWS;
        const int width = BLOCK_WIDTH * spread<Sample, CHANNELS, STEP>::PIXELS;
        const int height = BLOCK_HEIGHT * rows;
        const dim3 grid((dst.width + width - 1) / width, (dst.height + height - 1) / height);
        return halo_nodes_launch(call, nodes, spread_kernel<Sample, CHANNELS, STEP>,
                                 {grid, dim3(BLOCK_WIDTH, BLOCK_HEIGHT), 0}, dst, *nodes, rows);
    }
};
} // namespace

cudaError_t halo_nodes_spread(const struct halo_cuda_call *call, const struct halo_nodes *nodes)
{
    return halo_nodes_choose<kernels>(call, nodes);
}
