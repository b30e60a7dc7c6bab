/* SPDX-License-Identifier: BSD-2-Clause
 * Strategy tensor, dense masks: one matrix product for each row of the mask. Compiled for bytes
 * (tensor_dense_8.cu) and for words of 16 bits (tensor_dense_16.cu).
 *
 *      input tile (shared memory)               a warp: 64 or 32 rows x two strips of 16 columns
 *      +------------------------------+
 *      |   +----------------------+   |         out += P_j W_j   for each mask row j
 *      | j |  P_j: the window of  | + j         P_j: 16 rows of pixels, j rows further down
 *      |   +----------------------+   |         W_j: band of the weights of row j, 16 columns
 *      +------------------------------+
 *
 * Samples are one or two unsigned bytes, and weights one or two signed digits (w = 256 high + low,
 * both in -128 .. 127). Each product of digits is added to the sum of its scale, 2^0, 2^8 or 2^16:
 * all are exact in 32 bits, because 63x63 products of digits, twice, are below 2^28. A power of two
 * that divides all weights is removed first. In shared memory, four samples of 16 bits are stored
 * as their four low bytes and their four high bytes, so that a lane reads both in one load.
 *
 * Outputs of a strip: column n of product i is output 4 (n / 2) + 2i + n % 2, so that a lane ends
 * with four consecutive outputs, and both products of a strip use the same pixels. The bands are
 * read from a table that contains the weights of a row at each of the four offsets in a word. */
#ifndef HALO_TENSOR_DENSE_CUH
#define HALO_TENSOR_DENSE_CUH

#include "kernels/cuda/dense_plan.cuh"
#include "kernels/cuda/dense_samples.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/tensor_tile.cuh"

enum {
    TABLE_ROWS = 16, /* rows of the mask that are in shared memory at a time */
};

/* A warp computes as many sums as registers allow. */
template <typename Sample>
struct dense_tile {
    enum { BYTES = sizeof(Sample), BANDS = 4 / BYTES, TILE_HEIGHT = BANDS * 16 };
};

/* Bytes between the rows of an input tile, so that the words that lanes read together lie in
 * different banks: eight rows of four words, or four rows of eight. */
template <typename Sample>
static constexpr __host__ __device__ int stride_of(int steps)
{
    const int unit = HALO_CHUNK * (int)sizeof(Sample);
    const int width = (TILE_WIDTH + 16 * steps + HALO_CHUNK) * (int)sizeof(Sample);
    return width / unit % 2 ? width : width + unit;
}

/* One plane of a launch. */
struct dense_plane {
    struct halo_plane src, dst;
    struct halo_cuda_wanted wanted;
    const uint32_t *table; /* the mask: table[row][digit][offset][word] */
    int first_block, blocks_x;
    struct halo_dense_plan plan;
    int radius_y;
    enum halo_border border;
    uint32_t ghost; /* in the format of the plane's samples */
    struct dense_finish finish;
};

struct dense_launch {
    struct dense_plane plane[HALO_CUDA_MAX_PLANES];
    int count;
};

/* A lane's sums, indexed by strip, band, product of a strip, and scale. */
template <typename Sample, int DIGITS>
using dense_sums = int[2][dense_tile<Sample>::BANDS][2][DIGITS + sizeof(Sample) - 1][4];

/* Applies one row of the mask: pixels and weights point to what the lane reads. Steps of 16 are
 * combined in pairs; a last one may be single. */
template <typename Sample, int STEPS, int DIGITS>
static __device__ inline void add_mask_row(dense_sums<Sample, DIGITS> &sums, const uint8_t *pixels,
                                           const uint32_t *weights)
{
    constexpr int STRIDE = stride_of<Sample>(STEPS), WORDS = halo_dense_table_words(STEPS);
    constexpr int BYTES = sizeof(Sample);
#pragma unroll
    for (int s = 0; s < STEPS; s += 2) {
        const bool pair = s + 1 < STEPS;
        uint32_t band[DIGITS][2][2];
#pragma unroll
        for (int i = 0; i < DIGITS * 2; i++) {
            const uint32_t *word =
                weights + (i / 2 * HALO_DENSE_OFFSETS + i % 2 * 2) * WORDS + 4 * s;
            band[i / 2][i % 2][0] = word[0];
            band[i / 2][i % 2][1] = pair ? word[4] : 0;
        }
#pragma unroll
        for (int b = 0; b < dense_tile<Sample>::BANDS; b++) {
            uint32_t a[3][2][BYTES]; /* step, upper or lower rows */
#pragma unroll
            for (int i = 0; i < (pair ? 6 : 4); i++)
                read_samples(a[i / 2][i % 2],
                             pixels + (b * 16 + i % 2 * 8) * STRIDE + (s + i / 2) * STRIP * BYTES);
#pragma unroll
            for (int i = 0; i < 2 * BYTES * DIGITS * 2; i++) {
                const int product = i % 2, digit = i / 2 % DIGITS;
                const int byte = i / 2 / DIGITS % BYTES, strip = i / 2 / DIGITS / BYTES;
                int(&sum)[4] = sums[strip][b][product][byte + DIGITS - 1 - digit];
                const uint32_t(&w)[2] = band[digit][product];
                if (pair)
                    halo_mma_u8s8(sum, a[strip][0][byte], a[strip][1][byte], a[strip + 1][0][byte],
                                  a[strip + 1][1][byte], w[0], w[1]);
                else
                    halo_mma_u8s8_half(sum, a[strip][0][byte], a[strip][1][byte], w[0]);
            }
        }
    }
}

template <typename Sample, int DIGITS, bool WIDE>
static __device__ inline void write_outputs(const dense_sums<Sample, DIGITS> &sums,
                                            const struct dense_finish &by, struct halo_lane_out out)
{
#pragma unroll
    for (int row = 0; row < dense_tile<Sample>::TILE_HEIGHT; row += 8, halo_next_row(out)) {
        int v[2][4];
#pragma unroll
        for (int i = 0; i < 8; i++)
            v[i / 4][i % 4] =
                finish_sum<WIDE>(sums[i / 4][row / 16][i % 4 / 2], row / 8 % 2 * 2 + i % 2, by);
        write_row<Sample>(out, v, by);
    }
}

/* The number of blocks per multiprocessor for which the compiler limits registers; 1 is no
 * limit. */
template <typename Sample>
static constexpr int blocks_of(int steps, int digits, bool wide)
{
    const int of_words = steps == 2 ? 4 : 1, of_bytes = digits == 2 ? 3 : steps == 2 ? 5 : 4;
    return wide ? 1 : sizeof(Sample) == 2 ? of_words : of_bytes;
}

template <typename Sample, int STEPS, int DIGITS, bool WIDE>
static __global__ void __launch_bounds__(THREADS, blocks_of<Sample>(STEPS, DIGITS, WIDE))
    dense_kernel(const __grid_constant__ struct dense_launch launch)
{
    constexpr int STRIDE = stride_of<Sample>(STEPS), WORDS = halo_dense_table_words(STEPS);
    constexpr int ROW_WORDS = DIGITS * HALO_DENSE_OFFSETS * WORDS;
    constexpr int TILE_HEIGHT = dense_tile<Sample>::TILE_HEIGHT, BYTES = sizeof(Sample);

    extern __shared__ uint4 shared[];
    uint32_t *table = (uint32_t *)shared;
    uint8_t *cells = (uint8_t *)(table + TABLE_ROWS * ROW_WORDS);

    halo_wait_for_kernel_before();
    const struct dense_plane &plane = halo_plane_of(launch);
    const int block = blockIdx.x - plane.first_block;
    const int tile_x = block % plane.blocks_x * TILE_WIDTH;
    const int tile_y = block / plane.blocks_x * TILE_HEIGHT;
    if (halo_tile_outside(plane.wanted, {tile_x, tile_y, TILE_WIDTH, TILE_HEIGHT}))
        return;
    const int halo_e = plane.plan.halo_e, mask_rows = 2 * plane.radius_y + 1;
    const struct halo_tile tile =
        halo_tile_around<Sample>(tile_x, tile_y, TILE_WIDTH, TILE_HEIGHT, halo_e, plane.radius_y);
    halo_load_tile_raw<Sample, THREADS>({cells, STRIDE, tile}, plane.src, plane.border,
                                        plane.ghost);

    const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    const int warp_x = threadIdx.x / 32 * WARP_WIDTH;
    const uint8_t *pixels =
        cells + g * STRIDE + (tile_x - tile.e - halo_e + warp_x + 4 * t) * BYTES;
    const uint32_t *weights = table + g % 2 * WORDS + HALO_DENSE_BEFORE + t - g / 2;

    dense_sums<Sample, DIGITS> sums = {};
    if (!WIDE)
#pragma unroll
        for (int i = 0; i < 2 * dense_tile<Sample>::BANDS * 2 * 4; i++)
            sums[i / 8 % 2][i / 16][i / 4 % 2][0][i % 4] = (int)plane.finish.start;
    for (int first = 0; first < mask_rows; first += TABLE_ROWS) {
        const int rows = min((int)TABLE_ROWS, mask_rows - first);
        if (first > 0)
            __syncthreads();
        const uint4 *from = (const uint4 *)(plane.table + first * ROW_WORDS);
        for (int i = threadIdx.x; i < rows * ROW_WORDS / 4; i += THREADS)
            halo_copy_async((uint4 *)table + i, from + i);
        halo_copy_commit();
        halo_copy_wait<0>();
        __syncthreads();
        if (BYTES == 2 && first == 0) {
            split_tile({cells, STRIDE, tile}, plane.src);
            __syncthreads();
        }
        for (int j = 0; j < rows; j++)
            add_mask_row<Sample, STEPS, DIGITS>(sums, pixels + (first + j) * STRIDE,
                                                weights + j * ROW_WORDS);
    }
    const struct dense_finish by = plane.finish;
    write_outputs<Sample, DIGITS, WIDE>(
        sums, by, halo_lane_out_of<Sample>(plane.dst, tile_x + warp_x, tile_y, lane));
}

template <typename Sample, int STEPS, int DIGITS, bool WIDE>
static cudaError_t launch_kernel(const struct dense_launch &launch, int blocks, int radius_y,
                                 const struct halo_cuda_call *call)
{
    const int rows = dense_tile<Sample>::TILE_HEIGHT + 2 * radius_y;
    const int bytes = TABLE_ROWS * DIGITS * HALO_DENSE_OFFSETS * halo_dense_table_words(STEPS) * 4 +
                      stride_of<Sample>(STEPS) * rows;
    return halo_launch(dense_kernel<Sample, STEPS, DIGITS, WIDE>, launch, blocks, THREADS, bytes,
                       call);
}

template <typename Sample, int STEPS>
static cudaError_t launch_steps(const struct dense_launch &launch, int blocks, int radius_y,
                                const struct halo_cuda_call *call)
{
    const struct halo_dense_plan &plan = launch.plane[0].plan;
    if (plan.digits == 1)
        return plan.wide ? launch_kernel<Sample, STEPS, 1, true>(launch, blocks, radius_y, call)
                         : launch_kernel<Sample, STEPS, 1, false>(launch, blocks, radius_y, call);
    return plan.wide ? launch_kernel<Sample, STEPS, 2, true>(launch, blocks, radius_y, call)
                     : launch_kernel<Sample, STEPS, 2, false>(launch, blocks, radius_y, call);
}

template <typename Sample>
static void fill(struct dense_plane *plane, const struct halo_cuda_call *call, int *blocks)
{
    const struct halo_conv *conv = call->conv;
    const dim3 grid = halo_grid(call->src, TILE_WIDTH, dense_tile<Sample>::TILE_HEIGHT);

    plane->src = call->src;
    plane->dst = call->dst;
    plane->wanted = call->wanted;
    plane->table = (const uint32_t *)call->prepared;
    plane->first_block = *blocks;
    plane->blocks_x = grid.x;
    plane->plan = halo_dense_plan_of(conv, call->src.channels);
    plane->radius_y = conv->radius_y;
    plane->border = conv->border;
    plane->ghost = (uint32_t)conv->border_value << call->src.shift;
    plane->finish.start = conv->bias >> plane->plan.common_shift;
    plane->finish.shift = conv->mask_bits - plane->plan.common_shift;
    plane->finish.word_shift = call->src.shift;
    plane->finish.largest = (uint32_t)halo_sample_max(conv->depth) * 0x00010001u;
    *blocks += grid.x * grid.y;
}

/* All calls have plans that agree as in dense_plan.cuh. */
template <typename Sample>
static cudaError_t launch_like(const struct halo_cuda_call *calls, int count)
{
    struct dense_launch launch;
    int blocks = 0, radius_y = 0;
    launch.count = count;
    for (int i = 0; i < count; i++) {
        fill<Sample>(&launch.plane[i], &calls[i], &blocks);
        radius_y = calls[i].conv->radius_y > radius_y ? calls[i].conv->radius_y : radius_y;
    }
    switch (launch.plane[0].plan.steps) {
    case 2:
        return launch_steps<Sample, 2>(launch, blocks, radius_y, calls);
    case 3:
        return launch_steps<Sample, 3>(launch, blocks, radius_y, calls);
    case 4:
        return launch_steps<Sample, 4>(launch, blocks, radius_y, calls);
    case 5:
        return launch_steps<Sample, 5>(launch, blocks, radius_y, calls);
    case 9:
        return launch_steps<Sample, 9>(launch, blocks, radius_y, calls);
    }
    return cudaErrorInvalidValue;
}

#endif
