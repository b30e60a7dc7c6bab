/* SPDX-License-Identifier: BSD-2-Clause
 * Strategy tensor, separable masks of bytes: both passes on tensor cores, fused in registers.
 *
 *        input tile (bytes, shared memory)             a warp: two strips of 16 columns
 *      +--------------------------------+
 *      |      halo                      |      row pass      T^t = R P^t   R: 16 x K band of the
 *      |   +------------------------+   |                    row weights, P: 8 rows of pixels
 *      |   | warp 0 | warp 1 | ...  |   |      column pass   out = C T     C: 16 x K band of the
 *      |   |   |    |        |      |   |                    column weights
 *      |   +---v----+--------+------+   |
 *      |                                |      Every 16 rows of T that the row pass gives are
 *      +--------------------------------+      added at once to all outputs that need them.
 *
 * A result of the first product (16 x by 8 y, a lane has two values of neighbouring y) is, packed
 * to FP16, already an operand of the second: T never leaves the registers.
 *
 * Why this is exact. A byte v, zero-extended to 16 bits, is the FP16 number v 2^-24 (subnormal),
 * and so is T < 2^10; weights have at most 11 significant bits (conv.h), so they are FP16 numbers.
 * All products and sums are multiples of 2^-24 below 1, because the sums of the contract are below
 * 2^24: all are exact in FP32. Rounding constant and shift are one FMA that rounds down: in
 * x 2^k + 1/2 + 2^15 the integer below 2^15 begins at bit 8 of the number.
 *
 * A pixel of k: element 2t+e of the first half of 16 is column 4t+e, of the second 4t+2+e, so that
 * a lane reads four pixels in one word. Row x of a strip: 8b + m is output 4 (m / 2) + 2b + m % 2,
 * so that a lane ends with four consecutive outputs. */
#include <cuda_fp16.h>

#include "kernels/cuda/tensor_separable.cuh"

enum {
    MAX_STEPS = 9, /* steps of 16 in k: enough for 127 taps */
    ROW_WORDS = 3 * MAX_STEPS,
    COLUMN_WORDS = 2 * MAX_STEPS + 1,
};

/* Bytes between the rows of an input tile: room for the halo of this many steps, and an odd number
 * of chunks, so that eight rows lie in different banks. */
static constexpr __host__ __device__ int stride_of(int steps)
{
    const int left = (8 * steps - 8 + HALO_CHUNK - 1) / HALO_CHUNK * HALO_CHUNK;
    const int width = left + TILE_WIDTH + 16 * steps;
    return width / HALO_CHUNK % 2 ? width : width + HALO_CHUNK;
}

/* The bands of a mask as fragments: a word for each lane. The fourth word of an A fragment equals
 * its first, and the fragments of the column's band overlap by halves. */
struct separable_mask {
    uint32_t row[ROW_WORDS][32], column[COLUMN_WORDS][32];
};

/* One plane of a launch. */
struct separable_plane : halo_separable_plane {
    int ghost;
    float row_scale, column_scale;
    const struct separable_mask *mask;
};

struct separable_launch {
    struct separable_plane plane[HALO_CUDA_MAX_PLANES];
    int count;
};

/* floor(x * scale + 1/2), a number below 2^15, in the bits from 8 on. */
static __device__ inline uint32_t round_at_8(float x, float scale)
{
    return __float_as_uint(__fmaf_rd(x, scale, 32768.5f));
}

/* The fourth word of an A fragment of a band equals its first. */
static __device__ inline void multiply_add(bool first, float (&c)[4], uint32_t a03, uint32_t a1,
                                           uint32_t a2, uint32_t b0, uint32_t b1)
{
    if (first)
        halo_mma_f16_first(c, a03, a1, a2, a03, b0, b1);
    else
        halo_mma_f16(c, a03, a1, a2, a03, b0, b1);
}

/* The number of groups that may still be under way is part of the instruction. */
template <int BANDS, int AT = 0>
static __device__ inline void wait_for_band(int band)
{
    if constexpr (AT < BANDS) {
        if (band == AT) {
            halo_copy_wait<BANDS - 1 - AT>();
            __syncthreads();
        } else {
            wait_for_band<BANDS, AT + 1>(band);
        }
    }
}

/* Computes 8 rows of T for both strips: ret[strip][half of the strip] has two rows of an output
 * column. */
template <int STEPS>
static __device__ inline void row_pass(uint32_t (&ret)[2][2], const uint8_t *cells,
                                       const uint32_t (&row_band)[STEPS][3], float scale)
{
    float sum[2][4];
#pragma unroll
    for (int s = 0; s <= STEPS; s++) {
        const uint32_t four = *(const uint32_t *)(cells + 16 * s);
        const uint32_t b0 = __byte_perm(four, 0, 0x4140), b1 = __byte_perm(four, 0, 0x4342);
#pragma unroll
        for (int strip = 0; strip < 2; strip++)
            if (s >= strip && s - strip < STEPS) {
                const uint32_t(&a)[3] = row_band[s - strip];
                multiply_add(s == strip, sum[strip], a[0], a[1], a[2], b0, b1);
            }
    }
#pragma unroll
    for (int strip = 0; strip < 2; strip++)
#pragma unroll
        for (int i = 0; i < 2; i++)
            ret[strip][i] = __byte_perm(round_at_8(sum[strip][2 * i], scale),
                                        round_at_8(sum[strip][2 * i + 1], scale), 0x6521);
}

/* A row of outputs: four bytes for each strip. first is 0 for the lane's upper row, 2 for its
 * lower. */
static __device__ inline uint2 finish_row(const float (&sums)[2][2][4], int first, float scale,
                                          int t)
{
    uint32_t strips[2];
#pragma unroll
    for (int strip = 0; strip < 2; strip++) {
        uint32_t pairs[2];
#pragma unroll
        for (int half = 0; half < 2; half++)
            pairs[half] = __byte_perm(round_at_8(sums[strip][half][first], scale),
                                      round_at_8(sums[strip][half][first + 1], scale), 0x0051);
        strips[strip] = __byte_perm(pairs[0], pairs[1], 0x5410);
    }
    return halo_pair_strips(strips[0], strips[1], t);
}

/* BLOCKS: number of blocks per multiprocessor for which the compiler limits registers; 1 is no
 * limit. */
template <int STEPS, int TILE_HEIGHT, int BLOCKS, class Launch>
static __global__ void __launch_bounds__(THREADS, BLOCKS)
    separable_kernel(const __grid_constant__ Launch launch)
{
    constexpr int BANDS = TILE_HEIGHT / 16;        /* of outputs */
    constexpr int INPUT_BANDS = BANDS + STEPS - 1; /* of T */
    constexpr int STRIDE = stride_of(STEPS);

    extern __shared__ uint4 shared[];
    uint8_t *cells = (uint8_t *)shared;

    halo_wait_for_kernel_before();
    const struct separable_plane &plane = halo_plane_of(launch);
    const int block = blockIdx.x - plane.first_block;
    const int tile_x = block % plane.blocks_x * TILE_WIDTH;
    const int tile_y = block / plane.blocks_x * TILE_HEIGHT;
    const enum halo_share share = halo_begin_tile<1, TILE_WIDTH, TILE_HEIGHT, THREADS>(
        launch, plane, plane.src, tile_x, tile_y);
    if (share == HALO_SHARE_NONE)
        return;
    const struct halo_tile tile = halo_tile_around<uint8_t>(tile_x, tile_y, TILE_WIDTH, TILE_HEIGHT,
                                                            plane.halo_e, plane.radius_y);
    halo_load_bands<uint8_t, THREADS, INPUT_BANDS>({cells, STRIDE, tile}, plane.src, plane.border,
                                                   plane.ghost);

    const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    const int warp_x = threadIdx.x / 32 * WARP_WIDTH;
    const float row_scale = plane.row_scale, column_scale = plane.column_scale;

    uint32_t row_band[STEPS][3], column_band[2 * STEPS + 1];
#pragma unroll
    for (int i = 0; i < 3 * STEPS; i++)
        row_band[i / 3][i % 3] = plane.mask->row[i][lane];
#pragma unroll
    for (int i = 0; i <= 2 * STEPS; i++)
        column_band[i] = plane.mask->column[i][lane];

    const uint8_t *lane_cells =
        cells + g * STRIDE + tile_x - tile.e - plane.halo_e + warp_x + 4 * t;
    const int out_e = tile_x + warp_x + t % 2 * STRIP + t / 2 * 8;
    const ptrdiff_t out_stride = plane.dst.stride;
    uint8_t *out = (uint8_t *)plane.dst.data + (tile_y + g) * out_stride + out_e;
    int rows_left =
        out_e < plane.dst.width * plane.dst.channels ? plane.dst.height - tile_y - g : 0;

    float sums[BANDS][2][2][4]; /* band, strip, half of a strip; most are no longer needed when
                                 * others begin */
#pragma unroll
    for (int band = 0; band < INPUT_BANDS; band++) {
        wait_for_band<INPUT_BANDS>(band);
        uint32_t wide[2][2][2]; /* half of the band, strip, half of the strip */
#pragma unroll
        for (int half = 0; half < 2; half++)
            row_pass<STEPS>(wide[half], lane_cells + (band * 16 + half * 8) * STRIDE, row_band,
                            row_scale);
#pragma unroll
        for (int done = 0; done < BANDS; done++) {
            const int s = band - done;
            if (s < 0 || s >= STEPS)
                continue;
#pragma unroll
            for (int i = 0; i < 4; i++)
                multiply_add(s == 0, sums[done][i / 2][i % 2], column_band[2 * s + 1],
                             column_band[2 * s], column_band[2 * s + 2], wide[0][i / 2][i % 2],
                             wide[1][i / 2][i % 2]);
        }
        const int done = band - (STEPS - 1);
        if (done < 0)
            continue;
#pragma unroll
        for (int row = 0; row < 2; row++) {
            const uint2 bytes = finish_row(sums[done], 2 * row, column_scale, t);
            if (rows_left > 0)
                *(uint2 *)out = bytes;
            out += 8 * out_stride;
            rows_left -= 8;
        }
    }
    halo_finish_tile<1, TILE_WIDTH, TILE_HEIGHT, THREADS>(share, launch, plane, plane.src, tile_x,
                                                          tile_y);
}

static void fill(struct separable_plane *plane, const struct halo_cuda_call *call)
{
    const struct halo_conv *conv = call->conv;
    halo_separable_fill(plane, call);
    plane->ghost = conv->border_value;

    const int row_shift = conv->row_bits - conv->frac, column_shift = conv->col_bits + conv->frac;
    plane->row_scale = (float)(1 << (24 - row_shift));
    plane->column_scale = (float)(1 << (24 - column_shift));
    plane->mask = (const struct separable_mask *)call->prepared;
}

size_t halo_cuda_tensor_separable_bytes(const struct halo_conv *conv, int channels)
{
    (void)conv;
    (void)channels;
    return sizeof(struct separable_mask);
}

/* Two adjacent elements of a band, from element e on of a mask that is spread over interleaved
 * channels. */
static uint32_t pair_of(const int32_t *weights, int radius, int channels, int e)
{
    uint32_t pair = 0;
    for (int i = 1; i >= 0; i--) {
        const int at = e + i;
        const bool inside = at >= 0 && at <= 2 * radius * channels && at % channels == 0;
        const __half_raw half = __float2half(inside ? (float)weights[at / channels] : 0.0f);
        pair = pair << 16 | half.x;
    }
    return pair;
}

void halo_cuda_tensor_separable_prepare(void *ret, const struct halo_conv *conv, int channels)
{
    struct separable_mask *mask = (struct separable_mask *)ret;
    const int radius_e = conv->radius_x * channels, halo_e = (radius_e + 3) / 4 * 4;

    for (int lane = 0; lane < 32; lane++) {
        const int g = lane / 4, t = lane % 4;
        const int first = radius_e - halo_e + 4 * t - 4 * (g / 2) - g % 2;
        static const int of_word[3] = {0, -2, 2};
        for (int i = 0; i < ROW_WORDS; i++)
            mask->row[i][lane] =
                pair_of(conv->row, conv->radius_x, channels, first + 16 * (i / 3) + of_word[i % 3]);
        for (int i = 0; i < COLUMN_WORDS; i++)
            mask->column[i][lane] = pair_of(conv->col, conv->radius_y, 1, 8 * (i - 1) + 2 * t - g);
    }
}

template <int STEPS, int TILE_HEIGHT, int BLOCKS>
static cudaError_t launch_steps(struct separable_launch *launch, const struct halo_cuda_call *call)
{
    constexpr int bytes = stride_of(STEPS) * (TILE_HEIGHT + 16 * (STEPS - 1));
    return halo_separable_launch(
        separable_kernel<STEPS, TILE_HEIGHT, BLOCKS, separable_launch>,
        separable_kernel<STEPS, TILE_HEIGHT, BLOCKS, halo_selecting<separable_launch>>, launch,
        TILE_HEIGHT, bytes, call);
}

cudaError_t halo_cuda_tensor_separable(const struct halo_cuda_call *calls, int count)
{
    struct separable_launch launch;
    launch.count = count;
    for (int i = 0; i < count; i++)
        fill(&launch.plane[i], &calls[i]);
    switch (halo_separable_steps(launch)) { /* heights and limits: the fastest on an H200 */
    case 2:
        return launch_steps<2, 64, 8>(&launch, calls);
    case 3:
        return launch_steps<3, 128, 1>(&launch, calls);
    case 4:
        return launch_steps<4, 128, 1>(&launch, calls);
    case 5:
        return launch_steps<5, 128, 4>(&launch, calls);
    case 6:
        return launch_steps<6, 128, 1>(&launch, calls);
    case 7:
        return launch_steps<7, 128, 1>(&launch, calls);
    case 8:
        return launch_steps<8, 128, 1>(&launch, calls);
    case 9:
        return launch_steps<9, 128, 1>(&launch, calls);
    }
    return cudaErrorInvalidValue;
}
