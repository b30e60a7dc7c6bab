/* SPDX-License-Identifier: BSD-2-Clause
 * Strategy direct: small dense masks of bytes, one matrix product for all rows of the mask.
 *
 *      a window: 4 x 4 outputs and what they need
 *      +-------------+                out = P W
 *      |    +---+    |  group 0       P: 16 windows x K bytes, of 2 or 3 groups of 4 rows
 *      |    |   |    |                   and 2 or 3 words of 4 columns
 *      |    +---+    |  group 1       W: K x 16, the mask at each of the 16 places of an
 *      +-------------+                   output in its window
 *
 * k of an A fragment consists of t and a number that can be chosen freely, so a window can be what
 * the four lanes with the same g have loaded of some groups: pixels are loaded from memory directly
 * into the registers of the product, without shared memory and barriers.
 *
 * For each row of a group a lane has the words of four adjacent windows (direct.cuh): two of them
 * are rows g and g + 8 of one product, two of another. Column n of half p of the outputs is
 * row n / 2, column 2p + n % 2 of the window, so that a lane ends with the 16 outputs that lie over
 * its own piece. A mask of at most five columns needs 8 bytes of a row: two words, which begin two
 * bytes before the outputs; one of nine needs 12, three whole words.
 *
 * Pixels are unsigned bytes and weights signed ones, in one digit or in two (w = 256 high + low,
 * both in -128 .. 127), each with its own sums: all are exact in 32 bits. A power of two that
 * divides all weights is removed first. */
#include "kernels/cuda/direct.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/select.cuh"

enum {
    WARPS_X = 2,
    WARPS_Y = 2,
    THREADS = WARPS_X * WARPS_Y * 32,
    MAX_RADIUS = 4, /* elements and rows */
    PIXELS = 4,     /* a window's outputs: columns, rows */
    HALVES = 2,
};

/* One plane of a launch. */
struct direct_plane {
    struct halo_picture src;
    struct halo_plane dst;
    struct halo_cuda_wanted wanted;
    const uint4 *bands;      /* see prepare */
    int first_row, blocks_x; /* first_row: of blocks */
    int bits[2];             /* by which words are shifted to the beginning of a window: see
                              * group_of */
    int shift;               /* reduced by the zero bits that all weights share */
};

struct direct_launch {
    struct direct_plane plane[HALO_CUDA_MAX_PLANES];
    int count;
};

/* The shape of a mask: words and groups of a window, digits of its weights. */
template <int WORDS_, int GROUPS_, int DIGITS_>
struct shape {
    static constexpr int WORDS = WORDS_, GROUPS = GROUPS_, DIGITS = DIGITS_;
    /* Rows of windows that a warp processes, and blocks of threads on a multiprocessor: the fastest
     * on an H200. */
    static constexpr int STEPS = GROUPS == 2 ? 3 : 4, RESIDENT = WORDS * GROUPS == 4 ? 7 : 4;
    static constexpr int LOADS = STEPS + GROUPS - 1;
    static constexpr int ABOVE = 2 * (GROUPS - 1); /* rows of the window above its outputs */
    static constexpr int BANDS = GROUPS * WORDS * HALVES * DIGITS; /* words for each lane */
};

/* A lane's part of a mask, in the order in memory: [group][half][digit][word]. */
template <class Shape>
struct mask_bands {
    uint32_t word[Shape::GROUPS][HALVES][Shape::DIGITS][Shape::WORDS];
};

/* d = a b + c: 16x32, or 16x16, unsigned by signed bytes with 8 columns. */
static __device__ inline void multiply_add(int (&d)[4], const int *c, uint32_t a0, uint32_t a1,
                                           uint32_t a2, uint32_t a3, uint32_t b0, uint32_t b1)
{
#if HALO_HAVE_MMA
    asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 {%0,%1,%2,%3}, "
        "{%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13};"
        : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1), "r"(c[0]), "r"(c[1]), "r"(c[2]),
          "r"(c[3]));
#endif
}

static __device__ inline void multiply_add(int (&d)[4], uint32_t a0, uint32_t a1, uint32_t b0)
{
#if HALO_HAVE_MMA
    asm("mma.sync.aligned.m16n8k16.row.col.s32.u8.s8.s32 {%0,%1,%2,%3}, "
        "{%4,%5}, {%6}, {%0,%1,%2,%3};"
        : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
        : "r"(a0), "r"(a1), "r"(b0));
#endif
}

/* Four values, clamped to bytes. */
static __device__ inline uint32_t pack_bytes(int a, int b, int c, int d)
{
    uint32_t high, all;
    asm("cvt.pack.sat.u8.s32.b32 %0, %1, %2, 0;" : "=r"(high) : "r"(d), "r"(c));
    asm("cvt.pack.sat.u8.s32.b32 %0, %1, %2, %3;" : "=r"(all) : "r"(b), "r"(a), "r"(high));
    return all;
}

/* The plane that this block works on. */
static __device__ inline const struct direct_plane &plane_of(const struct direct_launch &launch)
{
    int p = 0;
    while (p + 1 < launch.count && blockIdx.y >= launch.plane[p + 1].first_row)
        p++;
    return launch.plane[p];
}

/* The operands of a group for the two products of its four windows. */
template <int WORDS>
struct group {
    uint32_t four[2][4], two[2][2];
};

/* The two windows of a product: windows whose words are in order in the registers of a piece, or
 * get there by shifts. */
template <int WORDS>
static __device__ constexpr int window(int product, int i)
{
    return WORDS == 2 ? product + 2 * i : product == 0 ? 1 + i : 3 * i;
}

/* An operand of a product is four consecutive registers, so a word that is part of two operands
 * needs two registers. If the compiler knew that both are equal, it would use one register and copy
 * it before each product: hence two numbers of bits, read from memory, that are in fact the
 * same. */
template <int WORDS>
static __device__ inline struct group<WORDS> group_of(const struct halo_piece &piece,
                                                      const int (&bits)[2]) {
    const uint32_t (&word)[6] = piece.word;
    struct group<WORDS> ret;
#pragma unroll
    for (int n = 0; n < 2; n++) {
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const int from = window<WORDS>(n, i % 2) + i / 2 * (WORDS - 1);
            if (WORDS == 2)
                ret.four[n][i] = __funnelshift_r(word[from], word[from + 1], bits[n]);
            else
                ret.four[n][i] = n == 0 || from == 0
                                     ? word[from]
                                     : __funnelshift_r(word[from], word[from], bits[1]);
        }
        if (WORDS == 3)
#pragma unroll
            for (int i = 0; i < 2; i++) {
                const int from = window<WORDS>(n, i) + 1;
                ret.two[n][i] =
                    from == 5 ? word[from] : __funnelshift_r(word[from], word[from], bits[n]);
            }
    }
    return ret;
}

/* One of the two products: computes the four outputs of the lane's row in two windows. */
template <class Shape>
static __device__ inline uint2 two_windows(
    const struct group<Shape::WORDS> (&groups)[Shape::GROUPS], int oldest, int product,
    const struct mask_bands<Shape> &bands, const int (&start)[4], int shift)
{
    constexpr int DIGITS = Shape::DIGITS;
    const int zero[4] = {0, 0, 0, 0};
    int sum[HALVES][DIGITS][4];
#pragma unroll
    for (int k = 0; k < Shape::GROUPS; k++) {
        const struct group<Shape::WORDS> &group = groups[(oldest + k) % Shape::GROUPS];
        const uint32_t(&a)[4] = group.four[product];
#pragma unroll
        for (int n = 0; n < HALVES * DIGITS; n++) {
            const int p = n / DIGITS, d = n % DIGITS;
            const uint32_t(&b)[Shape::WORDS] = bands.word[k][p][d];
            const int *c = k > 0 ? sum[p][d] : d + 1 == DIGITS ? start : zero;
            multiply_add(sum[p][d], c, a[0], a[1], a[2], a[3], b[0], b[1]);
            if (Shape::WORDS == 3)
                multiply_add(sum[p][d], group.two[product][0], group.two[product][1],
                             b[Shape::WORDS - 1]);
        }
    }
    int out[2][PIXELS];
#pragma unroll
    for (int n = 0; n < 2 * PIXELS; n++) {
        const int(&from)[DIGITS][4] = sum[n / 2 % 2];
        const int at = n / PIXELS * 2 + n % 2;
        const int all = DIGITS == 1 ? from[0][at] : from[0][at] * 256 + from[DIGITS - 1][at];
        out[n / PIXELS][n % PIXELS] = all >> shift;
    }
    return make_uint2(pack_bytes(out[0][0], out[0][1], out[0][2], out[0][3]),
                      pack_bytes(out[1][0], out[1][1], out[1][2], out[1][3]));
}

/* Computes 16 outputs. */
template <class Shape>
static __device__ inline uint4 four_windows(
    const struct group<Shape::WORDS> (&groups)[Shape::GROUPS], int oldest,
    const struct mask_bands<Shape> &bands, const int (&start)[4], int shift)
{
    uint2 out[2];
#pragma unroll
    for (int i = 0; i < 2; i++)
        out[i] = two_windows<Shape>(groups, oldest, i, bands, start, shift);
    return Shape::WORDS == 2 ? make_uint4(out[0].x, out[1].x, out[0].y, out[1].y)
                             : make_uint4(out[1].x, out[0].x, out[0].y, out[1].y);
}

/* Processes a strip from top to bottom. */
template <class Shape, enum halo_strip_kind KIND>
static __device__ inline void walk(const struct mask_bands<Shape> &bands, const int (&start)[4],
                                   const struct halo_strip &strip, const struct direct_plane &plane)
{
    constexpr int GROUPS = Shape::GROUPS;
    struct halo_raw_piece raw[Shape::LOADS]; /* all loads are under way at once */
#pragma unroll
    for (int i = 0; i < Shape::LOADS; i++)
        raw[i] = halo_load<KIND>(strip, i, plane.src);

    const int bits[2] = {plane.bits[0], plane.bits[1]}, shift = plane.shift;
    const int y = strip.y + Shape::ABOVE;
    uint8_t *to = (uint8_t *)plane.dst.data + y * plane.dst.stride + strip.e;
    int rows_left = strip.e < plane.dst.width * plane.dst.channels ? plane.dst.height - y : 0;
    struct group<Shape::WORDS> groups[GROUPS];
#pragma unroll
    for (int i = 0; i < Shape::LOADS; i++) {
        groups[i % GROUPS] =
            group_of<Shape::WORDS>(halo_complete<KIND>(raw[i], strip, plane.src), bits);
        if (i + 1 < GROUPS)
            continue;
        const uint4 out = four_windows<Shape>(groups, (i + 1) % GROUPS, bands, start, shift);
        if (rows_left > 0)
            *(uint4 *)to = out;
        to += HALO_GROUP * plane.dst.stride;
        rows_left -= HALO_GROUP;
    }
}

/* Loads this lane's part of the prepared mask. */
template <class Shape>
static __device__ inline void load_bands(struct mask_bands<Shape> &ret, int (&start)[4],
                                         const uint4 *from, int lane)
{
    const int4 first = __ldg((const int4 *)from);
    start[0] = first.x, start[1] = first.y, start[2] = first.z, start[3] = first.w;
#pragma unroll
    for (int i = 0; i < Shape::BANDS; i += 4) {
        const uint4 four = __ldg(&from[1 + i / 4 * 32 + lane]);
        const uint32_t words[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
        for (int n = i; n < i + 4 && n < Shape::BANDS; n++)
            ret.word[n / (Shape::WORDS * Shape::DIGITS * HALVES)]
                    [n / (Shape::WORDS * Shape::DIGITS) % HALVES][n / Shape::WORDS % Shape::DIGITS]
                    [n % Shape::WORDS] = words[n - i];
    }
}

template <class Shape, class Launch>
static __global__ void __launch_bounds__(THREADS, Shape::RESIDENT)
    direct_kernel(const __grid_constant__ Launch launch)
{
    const struct direct_plane &plane = plane_of(launch);
    if (blockIdx.x >= plane.blocks_x)
        return;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int strip_e = (blockIdx.x * WARPS_X + warp % WARPS_X) * HALO_STRIP;
    const int first_y =
        ((blockIdx.y - plane.first_row) * WARPS_Y + warp / WARPS_X) * Shape::STEPS * HALO_GROUP -
        Shape::ABOVE;
    const int g = lane / 4;
    const struct halo_strip strip = {strip_e + g * HALO_PIECE, first_y + lane % 4, g};

    struct mask_bands<Shape> bands;
    int start[4];
    load_bands(bands, start, plane.bands, lane);
    halo_wait_for_kernel_before();

    constexpr int ROWS = Shape::STEPS * HALO_GROUP;
    const enum halo_share share = halo_begin_tile<1, HALO_STRIP, ROWS, 32>(
        launch, plane, plane.src.plane, strip_e, first_y + Shape::ABOVE);
    if (share == HALO_SHARE_NONE)
        return;
    switch (halo_strip_kind_of(strip_e, first_y, Shape::LOADS * HALO_GROUP, plane.src)) {
    case HALO_STRIP_INSIDE:
        walk<Shape, HALO_STRIP_INSIDE>(bands, start, strip, plane);
        break;
    case HALO_STRIP_NEAR:
        walk<Shape, HALO_STRIP_NEAR>(bands, start, strip, plane);
        break;
    case HALO_STRIP_ANY:
        walk<Shape, HALO_STRIP_ANY>(bands, start, strip, plane);
        break;
    }
    halo_finish_tile<1, HALO_STRIP, ROWS, 32>(share, launch, plane, plane.src.plane, strip_e,
                                              first_y + Shape::ABOVE);
}

/* How a mask is divided for this kernel. */
struct direct_plan {
    int common_shift, digits, words, groups;
};

static struct direct_plan plan_of(const struct halo_conv *conv, int channels)
{
    const int count = (2 * conv->radius_x + 1) * (2 * conv->radius_y + 1);
    uint32_t bits = 0;
    int32_t low = 0, high = 0;
    for (int i = 0; i < count; i++) {
        const int32_t w = conv->mask[i];
        bits |= (uint32_t)w;
        low = w < low ? w : low;
        high = w > high ? w : high;
    }
    struct direct_plan plan = {};
    while (bits && !(bits >> plan.common_shift & 1) && plan.common_shift < conv->mask_bits)
        plan.common_shift++;
    low >>= plan.common_shift;
    high >>= plan.common_shift;
    /* The low digit is -128 .. 127, the high one the rest. */
    plan.digits = low >= -128 && high <= 127                           ? 1
                  : low >= -128 * 256 - 128 && high <= 127 * 256 + 127 ? 2
                                                                       : 0;
    plan.words = conv->radius_x * channels <= 2 ? 2 : 3;
    plan.groups = conv->radius_y <= 2 ? 2 : 3;
    return plan;
}

static bool can(const struct halo_conv *conv, int channels)
{
    return conv->kind == HALO_CONV_DENSE && conv->depth == 8 && conv->accum == HALO_ACCUM_F24 &&
           conv->radius_x * channels <= MAX_RADIUS && conv->radius_y <= MAX_RADIUS &&
           plan_of(conv, channels).digits > 0;
}

static int band_words(const struct direct_plan *plan)
{
    return (plan->words * plan->groups * HALVES * plan->digits + 3) / 4 * 4;
}

static size_t prepared_bytes(const struct halo_conv *conv, int channels)
{
    const struct direct_plan plan = plan_of(conv, channels);
    return (4 + band_words(&plan) * 32) * sizeof(uint32_t);
}

/* The weight at row y and element e of a window, 0 outside the mask. */
static int weight_at(const struct halo_conv *conv, int channels, int e, int y)
{
    const int x = e + conv->radius_x * channels, columns = 2 * conv->radius_x + 1;
    if (x < 0 || x % channels != 0 || x / channels >= columns || y < -conv->radius_y ||
        y > conv->radius_y)
        return 0;
    return conv->mask[(y + conv->radius_y) * columns + x / channels];
}

/* Writes the bias with the rounding constant four times, as the initial fragment; then the bands of
 * each lane (mask_bands), [four words][lane][word]. */
static void prepare(void *ret, const struct halo_conv *conv, int channels)
{
    const struct direct_plan plan = plan_of(conv, channels);
    const int before = plan.words == 2 ? 2 : 4, above = 2 * (plan.groups - 1);
    int32_t *start = (int32_t *)ret;
    for (int i = 0; i < 4; i++)
        start[i] = (int32_t)(conv->bias >> plan.common_shift);

    int8_t *bytes = (int8_t *)(start + 4);
    for (int i = 0; i < band_words(&plan) * 32 * 4; i++) {
        const int byte = i % 4, lane = i / 16 % 32, t = lane % 4, n = lane / 4;
        const int at = i / 4 % 4 + i / 512 * 4; /* of the lane's words */
        const int word = at % plan.words, digit = at / plan.words % plan.digits;
        const int half = at / plan.words / plan.digits % HALVES;
        const int group = at / plan.words / plan.digits / HALVES; /* a surplus group: no weights */
        const int c = plan.words == 2 ? word : 2 * word % 3;      /* 0, 2, 1 */
        const int w = weight_at(conv, channels, 4 * c + byte - before - (2 * half + n % 2),
                                HALO_GROUP * group + t - above - n / 2) >>
                      plan.common_shift;
        const int low = (int8_t)(w & 255);
        bytes[i] = (int8_t)(digit + 1 == plan.digits ? low : (w - low) / 256);
    }
}

template <class Shape>
static cudaError_t launch_size(struct direct_launch &launch, const struct halo_cuda_call *call)
{
    dim3 blocks(0, 0);
    for (int i = 0; i < launch.count; i++) {
        struct direct_plane *plane = &launch.plane[i];
        const dim3 grid =
            halo_grid(plane->dst, WARPS_X * HALO_STRIP, WARPS_Y * Shape::STEPS * HALO_GROUP);
        plane->first_row = blocks.y;
        plane->blocks_x = grid.x;
        blocks.x = grid.x > blocks.x ? grid.x : blocks.x;
        blocks.y += grid.y;
    }
    return halo_launch_selecting(direct_kernel<Shape, direct_launch>,
                                 direct_kernel<Shape, halo_selecting<direct_launch>>, launch,
                                 blocks, {THREADS, 0}, call);
}

template <int WORDS, int GROUPS>
static cudaError_t launch_digits(struct direct_launch &launch, int digits,
                                 const struct halo_cuda_call *call)
{
    return digits == 1 ? launch_size<shape<WORDS, GROUPS, 1>>(launch, call)
                       : launch_size<shape<WORDS, GROUPS, 2>>(launch, call);
}

static void fill(struct direct_plane *plane, const struct halo_cuda_call *call,
                 const struct direct_plan *plan)
{
    plane->src = halo_frame_of(call);
    plane->dst = call->dst;
    plane->wanted = call->wanted;
    plane->bands = (const uint4 *)call->prepared;
    plane->bits[0] = plane->bits[1] = plan->words == 2 ? 16 : 0;
    plane->shift = call->conv->mask_bits - plan->common_shift;
}

/* Launches as many of the calls as one kernel can process: those that are like the first. */
static cudaError_t launch_like(const struct halo_cuda_call *calls, int count, int *ret_done)
{
    const struct direct_plan plan = plan_of(calls->conv, calls->src.channels);
    struct direct_launch launch;
    int n = 0;
    for (; n < count; n++) {
        const struct direct_plan own = plan_of(calls[n].conv, calls[n].src.channels);
        if (own.words != plan.words || own.groups != plan.groups || own.digits != plan.digits)
            break;
        fill(&launch.plane[n], &calls[n], &own);
    }
    launch.count = *ret_done = n;
    if (plan.words == 2)
        return plan.groups == 2 ? launch_digits<2, 2>(launch, plan.digits, calls)
                                : launch_digits<2, 3>(launch, plan.digits, calls);
    return plan.groups == 2 ? launch_digits<3, 2>(launch, plan.digits, calls)
                            : launch_digits<3, 3>(launch, plan.digits, calls);
}

static cudaError_t launch(const struct halo_cuda_call *calls, int count)
{
    cudaError_t status = cudaSuccess;
    for (int i = 0, done; i < count && status == cudaSuccess; i += done)
        status = launch_like(&calls[i], count - i, &done);
    return status;
}

const struct halo_cuda_strategy halo_cuda_direct = {
    .base = {"direct",
             "small dense masks on tensor cores, with pixels loaded directly into registers", can},
    .compute = 80,
    .launch = launch,
    .selects = halo_cuda_always,
    .prepared_bytes = prepared_bytes,
    .prepare = prepare,
};
