/* SPDX-License-Identifier: BSD-2-Clause
 * Strategy tensor, dense masks of bytes: one matrix product for each row of the mask.
 *
 *      input tile (bytes, shared memory)        a warp: 64 rows x two strips of 16 columns
 *      +------------------------------+
 *      |   +----------------------+   |         out += P_j W_j   for each mask row j
 *      | j |  P_j: the window of  | + j         P_j: 16 rows of pixels, j rows further down
 *      |   +----------------------+   |         W_j: 32 x 16 band of the weights of row j
 *      +------------------------------+
 *
 * Pixels are unsigned bytes and weights signed ones, in one digit or in two (w = 256 high + low,
 * both in -128 .. 127), each with sums of its own: all is exact in 32 bits. What all weights share
 * as a power of two is taken off first.
 *
 * An output x of a strip: column n of product i is output 4 (n / 2) + 2i + n % 2, so that a lane
 * ends with four outputs in a row, and both products of a strip use the same pixels. The bands are
 * read from a table with the weights of a row at each of the four offsets in a word. */
#include "kernels/cuda/division.cuh"
#include "kernels/cuda/tensor.cuh"

enum {
    WARPS_X = 4,
    WARPS_Y = 1,
    THREADS = WARPS_X * WARPS_Y * 32,
    STRIP = 16,
    WARP_WIDTH = 2 * STRIP,
    WARP_BANDS = 4, /* of 16 rows */
    TILE_WIDTH = WARPS_X * WARP_WIDTH,
    TILE_HEIGHT = WARPS_Y * WARP_BANDS * 16,
    TABLE_ROWS = 16, /* of the mask, in shared memory at a time */
    OFFSETS = 4,
    MOST_BOX = 8, /* elements and rows to each side */
    BEFORE = 3,   /* words of zeros in front of each row of the table */
};

/* Words of a row of the table at one offset: two of them are read at once and must not share
 * banks. */
static constexpr __host__ __device__ int table_words(int steps)
{
    const int words = 8 * steps + BEFORE;
    return words % 32 < 7    ? words + 7 - words % 32
           : words % 32 > 25 ? words + 39 - words % 32
                             : words;
}

static constexpr __host__ __device__ int stride_of(int steps)
{
    const int width = TILE_WIDTH + 32 * steps + HALO_CHUNK;
    return width / HALO_CHUNK % 2 ? width : width + HALO_CHUNK;
}

/* The mask as it lies in device memory: table[row][digit][offset][word]. */
struct dense_mask {
    const uint32_t *table;
    int rows;
};

/* One plane of a launch. */
struct dense_plane {
    struct halo_plane src, dst;
    struct halo_cuda_wanted wanted;
    struct dense_mask mask;
    int first_block, blocks_x;
    int halo_e, radius_e, radius_y;
    enum halo_border border;
    int ghost;
    int shift;                 /* less what all weights share */
    int64_t start;             /* the bias with the rounding constant, likewise */
    struct halo_division area; /* of a box */
};

struct dense_launch {
    struct dense_plane plane[HALO_CUDA_MOST_PLANES];
    int count;
};

/* How a sum becomes an output. */
enum finish {
    FINISH_NARROW, /* 32 bits hold the sum with start, which is in low already */
    FINISH_WIDE,
    FINISH_MEAN, /* of a box: as FINISH_NARROW, and an exact division (division.cuh) */
};

template <enum finish FINISH>
static __device__ inline int finish_sum(int high, int low, const struct dense_plane &plane)
{
    const int sum = (int)((uint32_t)high * 256 + (uint32_t)low);
    if (FINISH == FINISH_MEAN)
        return (int)halo_divide((uint32_t)sum, plane.area);
    if (FINISH == FINISH_NARROW)
        return sum >> plane.shift;
    const int64_t v = (sum + plane.start) >> plane.shift;
    return v < 0 ? 0 : v > 255 ? 255 : (int)v;
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
static __device__ inline const struct dense_plane &plane_of(const struct dense_launch &launch)
{
    int p = 0;
    while (p + 1 < launch.count && blockIdx.x >= launch.plane[p + 1].first_block)
        p++;
    return launch.plane[p];
}

/* A lane's sums: strip, band, product of a strip, digit. */
template <int DIGITS>
using dense_sums = int[2][WARP_BANDS][2][DIGITS][4];

/* One row of the mask: pixels and weights are where the lane reads. */
template <int STEPS, int DIGITS>
static __device__ inline void add_mask_row(dense_sums<DIGITS> &sums, const uint8_t *pixels,
                                           const uint32_t *weights)
{
    constexpr int STRIDE = stride_of(STEPS), WORDS = table_words(STEPS);
#pragma unroll
    for (int s = 0; s < STEPS; s++) {
        uint32_t band[DIGITS][2][2];
#pragma unroll
        for (int i = 0; i < DIGITS * 2; i++) {
            const uint32_t *word = weights + (i / 2 * OFFSETS + i % 2 * 2) * WORDS + 8 * s;
            band[i / 2][i % 2][0] = word[0];
            band[i / 2][i % 2][1] = word[4];
        }
#pragma unroll
        for (int at = 0; at < 2 * WARP_BANDS; at++) {
            const int strip = at / WARP_BANDS, b = at % WARP_BANDS;
            const uint8_t *p = pixels + b * 16 * STRIDE + strip * STRIP + 32 * s;
            const uint32_t a0 = *(const uint32_t *)p, a1 = *(const uint32_t *)(p + 8 * STRIDE);
            const uint32_t a2 = *(const uint32_t *)(p + 16);
            const uint32_t a3 = *(const uint32_t *)(p + 8 * STRIDE + 16);
#pragma unroll
            for (int i = 0; i < 2 * DIGITS; i++)
                halo_mma_u8s8(sums[strip][b][i % 2][i / 2], a0, a1, a2, a3, band[i / 2][i % 2][0],
                              band[i / 2][i % 2][1]);
        }
    }
}

template <int DIGITS, enum finish FINISH>
static __device__ inline void write_outputs(const dense_sums<DIGITS> &sums,
                                            const struct dense_plane &plane, int e, int y, int t)
{
    uint8_t *out = (uint8_t *)plane.dst.data + y * plane.dst.stride + e;
    const int rows_left = e < plane.dst.width * plane.dst.channels ? plane.dst.height - y : 0;
#pragma unroll
    for (int row = 0; row < 16 * WARP_BANDS; row += 8) {
        uint32_t strips[2];
#pragma unroll
        for (int strip = 0; strip < 2; strip++) {
            int v[4];
#pragma unroll
            for (int i = 0; i < 4; i++) {
                const int(&sum)[DIGITS][4] = sums[strip][row / 16][i / 2];
                const int at = row / 8 % 2 * 2 + i % 2;
                v[i] = finish_sum<FINISH>(DIGITS == 1 ? 0 : sum[0][at], sum[DIGITS - 1][at], plane);
            }
            strips[strip] = pack_bytes(v[0], v[1], v[2], v[3]);
        }
        const uint2 bytes = halo_pair_strips(strips[0], strips[1], t);
        if (row < rows_left)
            *(uint2 *)(out + row * plane.dst.stride) = bytes;
    }
}

template <int STEPS, int DIGITS, enum finish FINISH>
static __global__ void __launch_bounds__(THREADS)
    dense_kernel(const __grid_constant__ struct dense_launch launch)
{
    constexpr int STRIDE = stride_of(STEPS), WORDS = table_words(STEPS);
    constexpr int ROW_WORDS = DIGITS * OFFSETS * WORDS;

    extern __shared__ uint4 shared[];
    uint32_t *table = (uint32_t *)shared;
    uint8_t *cells = (uint8_t *)(table + TABLE_ROWS * ROW_WORDS);

    const struct dense_plane &plane = plane_of(launch);
    const int block = blockIdx.x - plane.first_block;
    const int tile_x = block % plane.blocks_x * TILE_WIDTH;
    const int tile_y = block / plane.blocks_x * TILE_HEIGHT;
    if (halo_tile_outside(plane.wanted, {tile_x, tile_y, TILE_WIDTH, TILE_HEIGHT}))
        return;
    const int left = (plane.halo_e + HALO_CHUNK - 1) / HALO_CHUNK * HALO_CHUNK;
    const int columns =
        (left + TILE_WIDTH + plane.halo_e + HALO_CHUNK - 1) / HALO_CHUNK * HALO_CHUNK;
    halo_load_tile_bytes<THREADS>(
        {cells,
         STRIDE,
         {tile_x - left, tile_y - plane.radius_y, columns, TILE_HEIGHT + 2 * plane.radius_y}},
        plane.src, plane.border, plane.ghost);

    const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    const int warp_x = threadIdx.x / 32 % WARPS_X * WARP_WIDTH;
    const int warp_y = threadIdx.x / 32 / WARPS_X * WARP_BANDS * 16;
    const uint8_t *pixels = cells + (warp_y + g) * STRIDE + left - plane.halo_e + warp_x + 4 * t;
    const uint32_t *weights = table + g % 2 * WORDS + BEFORE + t - g / 2;

    dense_sums<DIGITS> sums;
    const int start = FINISH == FINISH_WIDE ? 0 : (int)plane.start;
#pragma unroll
    for (int i = 0; i < 2 * WARP_BANDS * 2 * 4; i++) {
        int(&sum)[DIGITS][4] = sums[i / (8 * WARP_BANDS)][i / 8 % WARP_BANDS][i / 4 % 2];
        sum[0][i % 4] = 0;
        sum[DIGITS - 1][i % 4] = start;
    }
    for (int first = 0; first < plane.mask.rows; first += TABLE_ROWS) {
        const int rows = min((int)TABLE_ROWS, plane.mask.rows - first);
        if (first > 0)
            __syncthreads();
        const uint4 *from = (const uint4 *)(plane.mask.table + first * ROW_WORDS);
        for (int i = threadIdx.x; i < rows * ROW_WORDS / 4; i += THREADS)
            halo_copy_async((uint4 *)table + i, from + i);
        halo_copy_commit();
        halo_copy_wait<0>();
        __syncthreads();
        for (int j = 0; j < rows; j++)
            add_mask_row<STEPS, DIGITS>(sums, pixels + (first + j) * STRIDE,
                                        weights + j * ROW_WORDS);
    }
    write_outputs<DIGITS, FINISH>(sums, plane, tile_x + warp_x + t % 2 * STRIP + t / 2 * 8,
                                  tile_y + warp_y + g, t);
}

/* How a mask is cut up for this kernel. */
struct dense_plan {
    int common_shift, digits, steps;
    int halo_e, radius_e, rows;
};

/* A box is a mask of ones. */
static int32_t weight(const struct halo_conv *conv, int i)
{
    return conv->kind == HALO_CONV_BOX ? 1 : conv->mask[i];
}

static struct dense_plan plan_of(const struct halo_conv *conv, int channels)
{
    const int count = (2 * conv->radius_x + 1) * (2 * conv->radius_y + 1);
    uint32_t bits = 0;
    int32_t low = 0, high = 0;
    for (int i = 0; i < count; i++) {
        const int32_t w = weight(conv, i);
        bits |= (uint32_t)w;
        low = w < low ? w : low;
        high = w > high ? w : high;
    }
    struct dense_plan plan = {};
    while (bits && !(bits >> plan.common_shift & 1) &&
           plan.common_shift < conv->mask_bits) /* which is 0 for a box */
        plan.common_shift++;
    low >>= plan.common_shift;
    high >>= plan.common_shift;
    /* The low digit takes -128 .. 127, the high one what is left. */
    plan.digits = low >= -128 && high <= 127                           ? 1
                  : low >= -128 * 256 - 128 && high <= 127 * 256 + 127 ? 2
                                                                       : 0;
    plan.radius_e = conv->radius_x * channels;
    plan.halo_e = (plan.radius_e + 3) / 4 * 4;
    plan.steps = (plan.halo_e + plan.radius_e + STRIP + 31) / 32;
    plan.steps += plan.steps == 4; /* one kernel less to compile */
    plan.rows = 2 * conv->radius_y + 1;
    return plan;
}

bool halo_cuda_tensor_dense_can(const struct halo_conv *conv, int channels)
{
    /* Larger boxes are faster by running sums. */
    if (conv->kind == HALO_CONV_BOX)
        return conv->depth == 8 && conv->radius_x * channels <= MOST_BOX &&
               conv->radius_y <= MOST_BOX && conv->radius_x + conv->radius_y > 0;
    return conv->depth == 8 && conv->accum != HALO_ACCUM_I64 && plan_of(conv, channels).digits > 0;
}

size_t halo_cuda_tensor_dense_bytes(const struct halo_conv *conv, int channels)
{
    const struct dense_plan plan = plan_of(conv, channels);
    return (size_t)plan.rows * plan.digits * OFFSETS * table_words(plan.steps) * sizeof(uint32_t);
}

void halo_cuda_tensor_dense_prepare(void *ret, const struct halo_conv *conv, int channels)
{
    const struct dense_plan plan = plan_of(conv, channels);
    const int words = table_words(plan.steps), columns = 2 * conv->radius_x + 1;
    int8_t *bytes = (int8_t *)ret;

    for (int j = 0; j < plan.rows; j++)
        for (int d = 0; d < plan.digits; d++)
            for (int offset = 0; offset < OFFSETS; offset++)
                for (int i = 0; i < 4 * words; i++) {
                    /* Distance from the first tap, in elements. */
                    const int e = i - 4 * BEFORE - offset - (plan.halo_e - plan.radius_e);
                    int w = 0;
                    if (e >= 0 && e <= 2 * plan.radius_e && e % channels == 0)
                        w = weight(conv, j * columns + e / channels) >> plan.common_shift;
                    const int low = (int8_t)(w & 255);
                    *bytes++ = (int8_t)(d + 1 == plan.digits ? low : (w - low) / 256);
                }
}

template <int STEPS, int DIGITS, enum finish FINISH>
static cudaError_t launch_kernel(const struct dense_launch &launch, int blocks, int radius_y,
                                 cudaStream_t stream)
{
    const int bytes = TABLE_ROWS * DIGITS * OFFSETS * table_words(STEPS) * 4 +
                      stride_of(STEPS) * (TILE_HEIGHT + 2 * radius_y);
    if (bytes > HALO_PLAIN_SHARED) {
        const cudaError_t status =
            cudaFuncSetAttribute(dense_kernel<STEPS, DIGITS, FINISH>,
                                 cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
        if (status != cudaSuccess)
            return status;
    }
    dense_kernel<STEPS, DIGITS, FINISH><<<blocks, THREADS, bytes, stream>>>(launch);
    return cudaGetLastError();
}

template <int STEPS>
static cudaError_t launch_steps(const struct dense_launch &launch, int blocks, int radius_y,
                                int digits, bool wide, cudaStream_t stream)
{
    if (digits == 1)
        return wide ? launch_kernel<STEPS, 1, FINISH_WIDE>(launch, blocks, radius_y, stream)
                    : launch_kernel<STEPS, 1, FINISH_NARROW>(launch, blocks, radius_y, stream);
    return wide ? launch_kernel<STEPS, 2, FINISH_WIDE>(launch, blocks, radius_y, stream)
                : launch_kernel<STEPS, 2, FINISH_NARROW>(launch, blocks, radius_y, stream);
}

static void fill(struct dense_plane *plane, const struct halo_cuda_call *call,
                 const struct dense_plan *plan, int *blocks)
{
    const dim3 grid = halo_grid(call->src, TILE_WIDTH, TILE_HEIGHT);

    plane->src = call->src;
    plane->dst = call->dst;
    plane->wanted = call->wanted;
    plane->mask.table = (const uint32_t *)call->prepared;
    plane->mask.rows = plan->rows;
    plane->first_block = *blocks;
    plane->blocks_x = grid.x;
    plane->halo_e = plan->halo_e;
    plane->radius_e = plan->radius_e;
    plane->radius_y = call->conv->radius_y;
    plane->border = call->conv->border;
    plane->ghost = call->conv->border_value;
    plane->shift = call->conv->mask_bits - plan->common_shift;
    plane->start = call->conv->bias >> plan->common_shift;
    if (call->conv->kind == HALO_CONV_BOX) {
        const uint32_t area = (2 * call->conv->radius_x + 1) * (2 * call->conv->radius_y + 1);
        plane->start = area / 2;
        plane->area = halo_division_by(area);
    }
    *blocks += grid.x * grid.y;
}

/* As many of the calls as one kernel can take: those like the first. */
static cudaError_t launch_like(const struct halo_cuda_call *calls, int count, int *ret_done)
{
    const struct dense_plan plan = plan_of(calls->conv, calls->src.channels);
    const bool wide = calls->conv->accum != HALO_ACCUM_F24;
    const enum halo_conv_kind kind = calls->conv->kind;
    struct dense_launch launch;
    int blocks = 0, radius_y = 0, n = 0;
    for (; n < count; n++) {
        const struct halo_conv *conv = calls[n].conv;
        const struct dense_plan own = plan_of(conv, calls[n].src.channels);
        if (own.steps != plan.steps || own.digits != plan.digits || conv->kind != kind ||
            (conv->accum != HALO_ACCUM_F24) != wide)
            break;
        fill(&launch.plane[n], &calls[n], &own, &blocks);
        radius_y = conv->radius_y > radius_y ? conv->radius_y : radius_y;
    }
    launch.count = *ret_done = n;
    if (kind == HALO_CONV_BOX)
        return launch_kernel<1, 1, FINISH_MEAN>(launch, blocks, radius_y, calls->stream);
    switch (plan.steps) {
    case 1:
        return launch_steps<1>(launch, blocks, radius_y, plan.digits, wide, calls->stream);
    case 2:
        return launch_steps<2>(launch, blocks, radius_y, plan.digits, wide, calls->stream);
    case 3:
        return launch_steps<3>(launch, blocks, radius_y, plan.digits, wide, calls->stream);
    case 5:
        return launch_steps<5>(launch, blocks, radius_y, plan.digits, wide, calls->stream);
    }
    return cudaErrorInvalidValue;
}

cudaError_t halo_cuda_tensor_dense(const struct halo_cuda_call *calls, int count)
{
    cudaError_t status = cudaSuccess;
    for (int i = 0, done; i < count && status == cudaSuccess; i += done)
        status = launch_like(&calls[i], count - i, &done);
    return status;
}
