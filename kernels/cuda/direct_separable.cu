/* SPDX-License-Identifier: BSD-2-Clause
 * Strategy direct, small separable masks of bytes: both passes on tensor cores, in registers.
 *
 *      row pass: T = P R              column pass: out = T C
 *      P: 16 windows x 16: of 4       T: 16 columns x 16 rows, of a pair of groups a half of k
 *      columns and 4 rows, that       C: 16 x 8, the column's weights for 8 rows of outputs
 *      is a word in each of the
 *      four lanes of one g            A lane has the rows t and t + 4 of T of a pair of groups, for
 *      R: 16 x 8, the row's           16 columns: packed, the two are what it has of an operand.
 *      weights where the window's     A pair is kept until all outputs that need it are done.
 *      row is the output's row
 *
 * Three of four products of the row pass are with zeros; the tensor cores have the time.
 *
 * Why this is exact. A byte v, zero-extended to 16 bits, is the FP16 number v 2^-24 (subnormal),
 * and so is T < 2^10; weights have at most 11 significant bits (conv.h), so they are FP16 numbers.
 * All products and sums are multiples of 2^-24 below 1, for the sums of the contract are below
 * 2^24: FP32 holds every one of them. Rounding constant and shift are one FMA that rounds down: of
 * x 2^k + 1/2 + 2^15 the integer below 2^15 begins at bit 8 of the number. */
#include <cuda_fp16.h>

#include "kernels/cuda/direct.cuh"

#ifndef DIRECT_TUNE
enum { STEPS = 2, WARPS_X = 2, WARPS_Y = 2, LIMIT = 4 };
#endif
enum {
    MOST_RADIUS_E = 4 * HALO_MOST_SIDE, /* elements */
    MOST_RADIUS_Y = HALO_GROUP,         /* rows */
    STEP_ROWS = 2 * HALO_GROUP,         /* of outputs, and of a pair of groups */
    PAIRS = 2,                          /* of groups under an output */
    ABOVE = HALO_GROUP,                 /* rows of them above the outputs */
    HALVES = 2,
};

/* One plane of a launch. */
struct separable_plane {
    struct halo_picture src;
    struct halo_plane dst;
    struct halo_cuda_wanted wanted;
    const uint4 *bands;      /* see prepare */
    int first_row, blocks_x; /* of blocks */
    uint32_t expand[2][2];   /* selectors of the low and high bytes of a word: see expand_words */
    float row_scale, column_scale;
};

struct separable_launch {
    struct separable_plane plane[HALO_CUDA_MOST_PLANES];
    int count;
};

/* The shape of a mask: words to each side of a window's own. */
template <int SIDE_>
struct shape {
    static constexpr int SIDE = SIDE_, WORDS = 2 * SIDE + 1;
    static constexpr int ROW_BANDS = WORDS * HALVES * 2, BANDS = ROW_BANDS + PAIRS;
};

/* What a lane has of a mask; as it lies in memory. */
template <class Shape>
struct mask_bands {
    uint32_t row[Shape::WORDS][HALVES][2], column[PAIRS];
};

/* floor(x scale + 1/2), a number below 2^15, in the bits from 8 on. */
static __device__ inline uint32_t round_at_8(float x, float scale)
{
    return __float_as_uint(__fmaf_rd(x, scale, 32768.5f));
}

/* Bytes 1 of four words. */
static __device__ inline uint32_t second_bytes(const uint32_t *words)
{
    return __byte_perm(__byte_perm(words[0], words[1], 0x0051),
                       __byte_perm(words[2], words[3], 0x0051), 0x5410);
}

/* The plane that this block works on. */
static __device__ inline const struct separable_plane &plane_of(
    const struct separable_launch &launch)
{
    int p = 0;
    while (p + 1 < launch.count && blockIdx.y >= launch.plane[p + 1].first_row)
        p++;
    return launch.plane[p];
}

/* T of the lane's row and columns, each at bit 8. Windows i and i + 2 share a product: operand m
 * has words m and m + 2. A word that is in two operands needs two registers, so that no copies are
 * made: hence selectors from memory, which a compiler cannot take for equal. */
template <class Shape>
static __device__ inline void row_pass(uint32_t (&ret)[16], const halo_piece<Shape::SIDE> &piece,
                                       const struct mask_bands<Shape> &bands,
                                       const uint32_t (&expand)[2][2], float scale)
{
    float sum[2][HALVES][4];
#pragma unroll
    for (int m = 0; m <= Shape::WORDS; m++) {
        uint32_t a[4];
#pragma unroll
        for (int i = 0; i < 4; i++)
            a[i] = __byte_perm(piece.word[m + i % 2 * 2], 0, expand[i % 2][i / 2]);
#pragma unroll
        for (int n = 0; n < 2 * HALVES; n++) {
            const int first = n / HALVES, p = n % HALVES, c = m - first;
            if (c == 0)
                halo_mma_f16_first(sum[first][p], a[0], a[1], a[2], a[3], bands.row[0][p][0],
                                   bands.row[0][p][1]);
            else if (c > 0 && c < Shape::WORDS)
                halo_mma_f16(sum[first][p], a[0], a[1], a[2], a[3], bands.row[c][p][0],
                             bands.row[c][p][1]);
        }
    }
#pragma unroll
    for (int i = 0; i < 16; i++) {
        const int window = i / 4, p = i / 2 % 2;
        ret[i] = round_at_8(sum[window % 2][p][window / 2 * 2 + i % 2], scale);
    }
}

/* T under eight rows of outputs, for two columns at a time: an operand. Its halves are two pairs of
 * groups, of which the older is replaced in each step. */
struct column_window {
    uint32_t word[8][4];
};

/* Two rows of 16 outputs; b0 and b1 are the weights for the halves of the window. */
static __device__ inline void column_pass(uint4 (&ret)[2], const struct column_window &window,
                                          uint32_t b0, uint32_t b1, float scale)
{
    uint32_t out[2][16];
#pragma unroll
    for (int i = 0; i < 8; i++) {
        const uint32_t(&a)[4] = window.word[i];
        float sum[4];
        halo_mma_f16_first(sum, a[0], a[1], a[2], a[3], b0, b1);
#pragma unroll
        for (int k = 0; k < 4; k++)
            out[k % 2][2 * i + k / 2] = round_at_8(sum[k], scale);
    }
#pragma unroll
    for (int row = 0; row < 2; row++)
        ret[row] = make_uint4(second_bytes(out[row]), second_bytes(out[row] + 4),
                              second_bytes(out[row] + 8), second_bytes(out[row] + 12));
}

/* Down a strip. */
template <class Shape, enum halo_strip_kind KIND>
static __device__ inline void walk(const struct mask_bands<Shape> &bands,
                                   const struct halo_strip &strip,
                                   const struct separable_plane &plane)
{
    constexpr int SIDE = Shape::SIDE, LOADS = 2 * (STEPS + PAIRS - 1);
    const halo_source<SIDE> source = halo_source_of<SIDE, KIND>(plane.src, strip);
    halo_raw_piece<SIDE> raw[LOADS];
#pragma unroll
    for (int i = 0; i < LOADS; i++)
        raw[i] = halo_load<SIDE, KIND>(source, i, plane.src);

    const uint32_t expand[2][2] = {{plane.expand[0][0], plane.expand[0][1]},
                                   {plane.expand[1][0], plane.expand[1][1]}};
    const float row_scale = plane.row_scale, column_scale = plane.column_scale;
    const int y = strip.y + ABOVE + threadIdx.x % 4; /* rows 2t and 2t + 1 of a step */
    uint8_t *to = (uint8_t *)plane.dst.data + y * plane.dst.stride + strip.e;
    int rows_left = strip.e < plane.dst.width * plane.dst.channels ? plane.dst.height - y : 0;
    struct column_window window;
#pragma unroll
    for (int i = 0; i < STEPS + PAIRS - 1; i++) {
        uint32_t t[2][16];
#pragma unroll
        for (int k = 0; k < 2; k++)
            row_pass<Shape>(t[k], halo_complete<SIDE, KIND>(raw[2 * i + k], source, plane.src),
                            bands, expand, row_scale);
#pragma unroll
        for (int n = 0; n < 16; n++)
            window.word[n / 2][i % 2 * 2 + n % 2] = __byte_perm(t[0][n], t[1][n], 0x6521);
        if (i + 1 < PAIRS)
            continue;
        uint4 out[2];
        column_pass(out, window, bands.column[i % 2 == 0], bands.column[i % 2], column_scale);
        if (rows_left > 0)
            *(uint4 *)to = out[0];
        if (rows_left > 1)
            *(uint4 *)(to + plane.dst.stride) = out[1];
        to += STEP_ROWS * plane.dst.stride;
        rows_left -= STEP_ROWS;
    }
}

/* What prepare wrote, for this lane. */
template <class Shape>
static __device__ inline void load_bands(struct mask_bands<Shape> &ret, const uint4 *from, int lane)
{
#pragma unroll
    for (int i = 0; i < Shape::BANDS; i += 4) {
        const uint4 four = __ldg(&from[i / 4 * 32 + lane]);
        const uint32_t words[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
        for (int n = i; n < i + 4 && n < Shape::BANDS; n++)
            if (n < Shape::ROW_BANDS)
                ret.row[n / 4][n / 2 % 2][n % 2] = words[n - i];
            else
                ret.column[n - Shape::ROW_BANDS] = words[n - i];
    }
}

template <class Shape, bool REGION>
static __global__ void __launch_bounds__(32 * WARPS_X * WARPS_Y, LIMIT)
    separable_kernel(const __grid_constant__ struct separable_launch launch)
{
    constexpr int ROWS = STEP_ROWS * (STEPS + PAIRS - 1);
    const struct separable_plane &plane = plane_of(launch);
    if (blockIdx.x >= plane.blocks_x)
        return;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int strip_e = (blockIdx.x * WARPS_X + warp % WARPS_X) * HALO_STRIP;
    const int first_y =
        ((blockIdx.y - plane.first_row) * WARPS_Y + warp / WARPS_X) * STEPS * STEP_ROWS - ABOVE;
    const int g = lane / 4;
    const struct halo_strip strip = {strip_e + g * HALO_PIECE, first_y + lane % 4, g};

    struct mask_bands<Shape> bands;
    load_bands(bands, plane.bands, lane);
    halo_wait_for_kernel_before();
    if (REGION &&
        halo_tile_outside(plane.wanted, {strip_e, first_y + ABOVE, HALO_STRIP, STEPS * STEP_ROWS}))
        return;

    if (halo_strip_is_inside<Shape::SIDE>(strip_e, first_y, ROWS, plane.src))
        walk<Shape, HALO_STRIP_INSIDE>(bands, strip, plane);
    else if (plane.src.ghosts.near)
        walk<Shape, HALO_STRIP_NEAR>(bands, strip, plane);
    else
        walk<Shape, HALO_STRIP_ANY>(bands, strip, plane);
}

static int side_of(const struct halo_conv *conv, int channels)
{
    return conv->radius_x * channels <= 4 ? 1 : 2;
}

bool halo_cuda_direct_separable_can(const struct halo_conv *conv, int channels)
{
    return conv->depth == 8 && conv->radius_x * channels <= MOST_RADIUS_E &&
           conv->radius_y <= MOST_RADIUS_Y;
}

static int row_words(int side)
{
    return (2 * side + 1) * HALVES * 2;
}

static int band_words(int side)
{
    return (row_words(side) + PAIRS + 3) / 4 * 4;
}

size_t halo_cuda_direct_separable_bytes(const struct halo_conv *conv, int channels)
{
    return band_words(side_of(conv, channels)) * 32 * sizeof(uint32_t);
}

/* A weight as FP16; i counts from the mask's centre, in elements. */
static uint32_t weight_at(const int32_t *weights, int radius, int channels, int i)
{
    const bool inside = i >= -radius * channels && i <= radius * channels && i % channels == 0;
    const __half_raw half = __float2half(inside ? (float)weights[i / channels + radius] : 0.0f);
    return half.x;
}

/* The bands of each lane (mask_bands), [four words][lane][word]. */
void halo_cuda_direct_separable_prepare(void *ret, const struct halo_conv *conv, int channels)
{
    const int side = side_of(conv, channels);
    uint16_t *halves = (uint16_t *)ret;

    for (int i = 0; i < band_words(side) * 32 * 2; i++) {
        const int lane = i / 8 % 32, t = lane % 4, n = lane / 4;
        const int at = i / 2 % 4 + i / 256 * 4; /* of the lane's words */
        halves[i] = 0;
        if (at < row_words(side)) {
            const int byte = at / 4 * 4 + at % 2 * 2 + i % 2, p = at / 2 % 2;
            if (t == n / 2)
                halves[i] = weight_at(conv->row, conv->radius_x, channels,
                                      byte - 4 * side - (2 * p + n % 2));
        } else if (at < row_words(side) + PAIRS) {
            const int row = STEP_ROWS * (at - row_words(side)) + HALO_GROUP * (i % 2) + t;
            halves[i] = weight_at(conv->col, conv->radius_y, 1, row - ABOVE - n);
        }
    }
}

template <class Shape>
static cudaError_t launch_shape(struct separable_launch &launch, const struct halo_cuda_call *call)
{
    dim3 blocks(0, 0);
    for (int i = 0; i < launch.count; i++) {
        struct separable_plane *plane = &launch.plane[i];
        const dim3 grid = halo_grid(plane->dst, WARPS_X * HALO_STRIP, WARPS_Y * STEPS * STEP_ROWS);
        plane->first_row = blocks.y;
        plane->blocks_x = grid.x;
        blocks.x = grid.x > blocks.x ? grid.x : blocks.x;
        blocks.y += grid.y;
    }
    return halo_launch(halo_has_region(launch) ? separable_kernel<Shape, true>
                                               : separable_kernel<Shape, false>,
                       launch, blocks, 32 * WARPS_X * WARPS_Y, call->early, call->stream);
}

static void fill(struct separable_plane *plane, const struct halo_cuda_call *call, int side)
{
    const struct halo_conv *conv = call->conv;
    const int row_shift = conv->row_bits - conv->frac, column_shift = conv->col_bits + conv->frac;

    plane->src = halo_picture_of(call, side);
    plane->dst = call->dst;
    plane->wanted = call->wanted;
    plane->bands = (const uint4 *)call->prepared;
    plane->expand[0][0] = plane->expand[1][0] = 0x4140;
    plane->expand[0][1] = plane->expand[1][1] = 0x4342;
    plane->row_scale = (float)(1 << (24 - row_shift));
    plane->column_scale = (float)(1 << (24 - column_shift));
}

/* As many of the calls as one kernel can take: those like the first. */
static cudaError_t launch_like(const struct halo_cuda_call *calls, int count, int *ret_done)
{
    const int side = side_of(calls->conv, calls->src.channels);
    struct separable_launch launch;
    int n = 0;
    for (; n < count && side_of(calls[n].conv, calls[n].src.channels) == side; n++)
        fill(&launch.plane[n], &calls[n], side);
    launch.count = *ret_done = n;
    return side == 1 ? launch_shape<shape<1>>(launch, calls)
                     : launch_shape<shape<2>>(launch, calls);
}

cudaError_t halo_cuda_direct_separable(const struct halo_cuda_call *calls, int count)
{
    cudaError_t status = cudaSuccess;
    for (int i = 0, done; i < count && status == cudaSuccess; i += done)
        status = launch_like(&calls[i], count - i, &done);
    return status;
}
