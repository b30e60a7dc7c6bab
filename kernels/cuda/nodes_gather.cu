/* SPDX-License-Identifier: BSD-2-Clause
 * Strategy nodes, first kernel: R, by triangles two steps wide, read once.
 *
 *      . . . . | . . . . | . . . .      A cell is the pixels between two nodes. It counts for the
 *      . . c . | . . c . | . . c .      node after it with weights that rise, 1 3 5 ..., and for
 *      --------k---------k--------      the one before it with the same weights falling.
 *      . . c . | . . c . | . . c .
 *
 * A thread sums 16 pixels of each row of a row of cells, a warp 32 times as many; a node gets the
 * part of the cell before it from the previous lane (along the row) and from another warp through
 * shared memory (down). So the first lane and the first cell of a block only provide such parts. */
#include "kernels/cuda/nodes.cuh"
#include "kernels/cuda/tile.cuh"

namespace
{
enum { WARP = 32, OUTPUT_LANES = WARP - 1, MAX_STEP = HALO_MAX_STEP };

/* The position of a warp's pixels: all inside, or some of them outside. */
enum place { INSIDE, REPEATING, EDGE };

template <int BYTES>
struct pixel {
    using type = uint8_t;
};
template <>
struct pixel<2> {
    using type = uint16_t;
};
template <>
struct pixel<4> {
    using type = uint32_t;
};

template <typename Sample, int CHANNELS, int STEP>
struct gather {
    static constexpr int PIXELS = HALO_MAX_STEP, CELLS = PIXELS / STEP;
    static constexpr int SUMS = CELLS * CHANNELS; /* of a thread */
    static constexpr int IN_WORD = 4 / sizeof(Sample);
    static constexpr int WORDS = PIXELS * CHANNELS / IN_WORD;
    static constexpr int PIXEL_BYTES = CHANNELS * sizeof(Sample);
    using Pixel = typename pixel<PIXEL_BYTES>::type;
    static constexpr int WARPS = SUMS > 8 ? 8 : 16;
    /* Warps that share a row of cells of the largest step. */
    static constexpr int PARTS = SUMS > 8 ? 1 : 2;
    static constexpr int THREADS = WARPS * WARP;
    /* resident on a multiprocessor */
    static constexpr int BLOCKS = WORDS <= 8 && SUMS <= 4 ? 2 : 1;

    static __device__ inline uint32_t clip(uint32_t words, const struct halo_plane &p)
    {
        if (sizeof(Sample) == 1)
            return words;
        const uint32_t samples = words >> p.shift & (0xffffu >> p.shift) * 0x10001u;
        return __vminu2(samples, (uint32_t)halo_sample_max(p.depth) * 0x10001u);
    }

    /* One sample, as a word in memory; x may be outside, sy is inside. */
    static __device__ __noinline__ uint32_t edge(const struct halo_plane &p, int x, int sy,
                                                 int channel, enum halo_border border)
    {
        const int e = halo_border_index(x, p.width, border) * CHANNELS + channel;
        return (uint32_t)halo_read<Sample>(p, e, sy) << (sizeof(Sample) == 1 ? 0 : p.shift);
    }

    /* A word filled with this pixel. */
    static __device__ inline uint32_t repeat(uint32_t pixel)
    {
        return PIXEL_BYTES == 1 ? pixel * 0x01010101 : PIXEL_BYTES == 2 ? pixel * 0x10001 : pixel;
    }

    static __device__ inline void load_vector(uint32_t *words, const char *from)
    {
        const uint4 v = __ldg((const uint4 *)from);
        words[0] = v.x;
        words[1] = v.y;
        words[2] = v.z;
        words[3] = v.w;
    }

    static __device__ inline void load_row(uint32_t *words, const char *from)
    {
#pragma unroll
        for (int i = 0; i < WORDS / 4; i++)
            load_vector(words + 4 * i, from + 16 * i);
    }

    /* Pixels x .. x + 15 of row y if the border repeats one cell. No code here branches, so that
     * the loads of all rows are under way before the first is used: vectors are read within the
     * row, whose last vector may be read completely, and one pixel is used for all cells
     * outside. */
    static __device__ inline void load_repeating(uint32_t *words, uint32_t *fill,
                                                 const struct halo_plane &p,
                                                 const struct halo_nodes &nodes, int x, int y)
    {
        const char *row = (const char *)p.data + min(max(y, 0), p.height - 1) * p.stride;
        const int last = (p.width * PIXEL_BYTES - 1) / 16 * 16;
#pragma unroll
        for (int i = 0; i < WORDS / 4; i++) {
            const int at = min(max(x * PIXEL_BYTES + 16 * i, 0), last);
            load_vector(words + 4 * i, row + at);
        }
        const Pixel pixel = ((const Pixel *)row)[x < 0 ? 0 : p.width - 1];
        *fill = nodes.border == HALO_BORDER_REPLICATE ? repeat(pixel)
                : sizeof(Sample) == 1                 ? nodes.ghost * 0x01010101u
                                      : (uint32_t)(nodes.ghost << p.shift) * 0x10001u;
    }

    /* Completes the loaded words: replaces cells outside the plane by fill. */
    static __device__ inline void mend(uint32_t *words, uint32_t fill, const struct halo_plane &p,
                                       const struct halo_nodes &nodes, int x, int y)
    {
        const bool row = nodes.border == HALO_BORDER_REPLICATE || (y >= 0 && y < p.height);
        const int valid = row && x >= 0 ? (p.width - x) * PIXEL_BYTES : 0; /* bytes */
#pragma unroll
        for (int w = 0; w < WORDS; w++) {
            const int keep = min(max(valid - 4 * w, 0), 4);
            const uint32_t mask = keep == 4 ? 0 : 0xffffffffu << 8 * keep;
            words[w] = (words[w] & ~mask) | (fill & mask);
        }
    }

    /* The other borders: sample by sample if some are outside. */
    static __device__ inline void load_edge(uint32_t *words, const struct halo_plane &p,
                                            const struct halo_nodes &nodes, int x, int y)
    {
        const int sy = halo_border_index(y, p.height, nodes.border);
        if (x >= 0 && x + PIXELS <= p.width) {
            load_row(words, (const char *)p.data + sy * p.stride + x * PIXEL_BYTES);
            return;
        }
#pragma unroll
        for (int w = 0; w < WORDS; w++) {
            words[w] = 0;
#pragma unroll
            for (int i = 0; i < IN_WORD; i++) {
                const int e = w * IN_WORD + i;
                words[w] |= edge(p, x + e / CHANNELS, sy, e % CHANNELS, nodes.border)
                            << 8 * sizeof(Sample) * i;
            }
        }
    }

    /* The weights of a word's samples in the sum of a cell and channel, one byte each. */
    static __device__ constexpr uint32_t weights(int word, int cell, int channel, bool rising)
    {
        uint32_t ret = 0;
        for (int i = 0; i < IN_WORD; i++) {
            const int e = word * IN_WORD + i, x = e / CHANNELS - cell * STEP;
            if (e % CHANNELS == channel && x >= 0 && x < STEP)
                ret |= (uint32_t)(STEP == 1 ? !rising
                                  : rising  ? 2 * x + 1
                                            : 2 * STEP - 1 - 2 * x)
                       << 8 * i;
        }
        return ret;
    }

    static __device__ inline uint32_t dot(uint32_t words, uint32_t weights, uint32_t sum)
    {
        return sizeof(Sample) == 1 ? __dp4a(words, weights, sum) : __dp2a_lo(words, weights, sum);
    }

    /* Sums along one row, for the nodes before the thread's cells. */
    static __device__ inline void sum_row(uint32_t *sums, const uint32_t *words)
    {
        uint32_t rising[SUMS];
#pragma unroll
        for (int s = 0; s < SUMS; s++) {
            sums[s] = rising[s] = 0;
#pragma unroll
            for (int w = 0; w < WORDS; w++) {
                const uint32_t down = weights(w, s / CHANNELS, s % CHANNELS, false);
                const uint32_t up = weights(w, s / CHANNELS, s % CHANNELS, true);
                if (down)
                    sums[s] = dot(words[w], down, sums[s]);
                if (up)
                    rising[s] = dot(words[w], up, rising[s]);
            }
        }
#pragma unroll
        for (int s = 0; s < (STEP > 1 ? SUMS : 0); s++)
            sums[s] += s < CHANNELS ? __shfl_up_sync(0xffffffff, rising[SUMS - CHANNELS + s], 1)
                                    : rising[s < CHANNELS ? 0 : s - CHANNELS];
    }

    /* Rows j .. j + ROWS - 1 of a row of cells; y is its first. */
    template <enum place PLACE, int ROWS>
    static __device__ inline void sum_rows(uint32_t *rising, uint32_t *falling,
                                           const struct halo_plane &src,
                                           const struct halo_nodes &nodes, int x, int y, int j)
    {
        uint32_t words[ROWS][WORDS], fill[ROWS];
        const char *inside = (const char *)src.data + (y + j) * src.stride + x * PIXEL_BYTES;
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            if (PLACE == REPEATING)
                load_repeating(words[r], &fill[r], src, nodes, x, y + j + r);
            else if (PLACE == EDGE)
                load_edge(words[r], src, nodes, x, y + j + r);
            else
                load_row(words[r], inside + r * src.stride);
        }
        const int step = nodes.y.step;
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            uint32_t sums[SUMS];
            if (PLACE == REPEATING)
                mend(words[r], fill[r], src, nodes, x, y + j + r);
#pragma unroll
            for (int w = 0; w < WORDS && sizeof(Sample) == 2; w++)
                words[r][w] = clip(words[r][w], src);
            sum_row(sums, words[r]);
            const uint32_t up = step == 1 ? 0 : 2 * (j + r) + 1;
            const uint32_t down = step == 1 ? 1 : 2 * (step - j - r) - 1;
#pragma unroll
            for (int s = 0; s < SUMS; s++) {
                rising[s] += up * sums[s];
                falling[s] += down * sums[s];
            }
        }
    }

    template <enum place PLACE>
    static __device__ inline void sum_part(uint32_t *rising, uint32_t *falling,
                                           const struct halo_plane &src,
                                           const struct halo_nodes &nodes, int x, int y, int j,
                                           int rows)
    {
        for (const int end = j + rows; j < end;) {
            if (PLACE != EDGE && rows >= 8 && WORDS <= 4)
                sum_rows<PLACE, 8>(rising, falling, src, nodes, x, y, j), j += 8;
            else if (PLACE != EDGE && rows >= 4)
                sum_rows<PLACE, 4>(rising, falling, src, nodes, x, y, j), j += 4;
            else
                sum_rows<PLACE, 1>(rising, falling, src, nodes, x, y, j), j += 1;
        }
    }
};

/* Scales a sum, below 2^31, by 2^frac over the sum of the weights. */
static __device__ inline uint32_t scale(uint32_t sum, const struct halo_nodes &nodes)
{
    const int down = nodes.x.node_bits + nodes.y.node_bits - nodes.frac;
    return down > 0 ? (sum + (1u << (down - 1))) >> down : sum << -down;
}

template <typename Sample, int CHANNELS, int STEP>
static __global__ void __launch_bounds__(gather<Sample, CHANNELS, STEP>::THREADS,
                                         gather<Sample, CHANNELS, STEP>::BLOCKS)
    gather_kernel(const struct halo_plane src, const struct halo_nodes nodes, int first_chunk,
                  int last_chunk, int parts)
{
    using g = gather<Sample, CHANNELS, STEP>;
    __shared__ uint32_t below[g::WARPS][g::SUMS][WARP]; /* what cells add to the nodes after them */
    __shared__ uint32_t above[g::PARTS > 1 ? g::WARPS : 1][g::SUMS][WARP];
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    const int cells = g::WARPS / parts, cell = warp % cells, part = warp / cells;
    const int l = (int)blockIdx.y * (cells - 1) - nodes.y.margin - 1 + cell;
    const int chunk = (int)blockIdx.x * OUTPUT_LANES + first_chunk - 1 + lane;

    uint32_t rising[g::SUMS] = {}, falling[g::SUMS] = {};
    const int step = nodes.y.step, rows = step / parts;
    const int x = min(chunk, last_chunk) * g::PIXELS, y = l * step;
    const bool inside = x >= 0 && x + g::PIXELS <= src.width && y >= 0 && y + step <= src.height;
    if (__all_sync(0xffffffff, inside))
        g::template sum_part<INSIDE>(rising, falling, src, nodes, x, y, part * rows, rows);
    else if (nodes.border <= HALO_BORDER_REPLICATE)
        g::template sum_part<REPEATING>(rising, falling, src, nodes, x, y, part * rows, rows);
    else
        g::template sum_part<EDGE>(rising, falling, src, nodes, x, y, part * rows, rows);
    halo_nodes_let_next_in();
#pragma unroll
    for (int s = 0; s < g::SUMS; s++) {
        below[warp][s][lane] = rising[s];
        if (g::PARTS > 1)
            above[warp][s][lane] = falling[s];
    }
    __syncthreads();
    if (cell == 0 || part > 0 || lane == 0 || l >= nodes.y.count + nodes.y.margin)
        return;

    uint32_t *r = nodes.r + (l + nodes.y.margin) * nodes.r_stride;
#pragma unroll
    for (int s = 0; s < g::SUMS; s++) {
        const int k = chunk * g::CELLS + s / CHANNELS;
        uint32_t sum = falling[s] + below[warp - 1][s][lane];
        if (g::PARTS > 1 && parts > 1)
            sum += above[warp + cells][s][lane] + below[warp + cells - 1][s][lane];
        if (k >= -nodes.x.margin && k < nodes.x.count + nodes.x.margin)
            r[(k + nodes.x.margin) * CHANNELS + s % CHANNELS] = scale(sum, nodes);
    }
}

struct kernels {
    template <typename Sample, int CHANNELS, int STEP>
    static cudaError_t launch(const struct halo_cuda_call *call, const struct halo_nodes *nodes)
    {
        using g = gather<Sample, CHANNELS, STEP>;
        const int pixels = g::PIXELS, margin = nodes->x.margin * STEP;
        const int first = -((margin + pixels - 1) / pixels);
        const int end = ((nodes->x.count + nodes->x.margin) * STEP + pixels - 1) / pixels;
        const int parts = nodes->y.step == MAX_STEP ? g::PARTS : 1;
        const int lines = nodes->y.count + 2 * nodes->y.margin, down = g::WARPS / parts - 1;
        const dim3 grid((end - first + OUTPUT_LANES - 1) / OUTPUT_LANES, (lines + down - 1) / down);
        gather_kernel<Sample, CHANNELS, STEP>
            <<<grid, g::THREADS, 0, call->stream>>>(call->src, *nodes, first, end - 1, parts);
        return cudaGetLastError();
    }
};
} // namespace

cudaError_t halo_nodes_gather(const struct halo_cuda_call *call, const struct halo_nodes *nodes)
{
    return halo_nodes_choose<kernels>(call, nodes);
}
