/* SPDX-License-Identifier: BSD-2-Clause
 * Strategy box-bands, boxes of bytes: both passes on tensor cores, straight from global memory.
 *
 *        a warp: PAIRS times 32 columns, down the frame by 16 rows at a time
 *      +------+-----------------+------+
 *      | halo |  16 rows        | halo |   row pass      T^t = R P^t   R: 16 x 32 band of ones,
 *      +------+-----------------+------+                               P: 8 rows of pixels
 *      |      |  16 rows        |      |   column pass   sum = C T     C: 16 x 32 band of ones
 *      +------+-----------------+------+
 *
 * A lane loads 8 pixels of a row, which are its part of P; the next 16 rows are being loaded while
 * these are processed. Shared memory is not used, and no warp waits for another. T, at most 33
 * times 255, becomes two unsigned bytes: its four values in a lane (of rows 2t, 2t+1 of each half
 * of the 16) are the lane's part of an operand of the second product. T of the last GROUPS times 16
 * rows stays in registers.
 *
 * Row m of R: 8b + m is output 8 (m / 2) + 4s + 2b + m % 2 of 32, for s = 0 and 1, so that a lane
 * ends with eight consecutive outputs. */
#include "kernels/cuda/box.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/select.cuh"

enum {
    WARPS = 4,
    THREADS = WARPS * 32,
    WHOLE_BANDS = 4,  /* bands of 16 rows of outputs, for a warp */
    REGION_BANDS = 1, /* the same if little is filtered: all others wait for these few warps */
    PAIR = 32,        /* columns: two strips of 16 */
    HALO = 16,        /* columns on each side */
    STEPS = 2,        /* steps of 32 in k of the row pass */
    PAIRS = 2,
    LOADS = PAIRS + STEPS - 1, /* loads of 8 bytes by a lane, for a row */
    MAX_GROUPS = 3,
};

/* The bands as fragments: a word for each lane. */
struct bands_mask {
    uint32_t row[2][STEPS][4][32]; /* strip, step, word */
    uint32_t column[MAX_GROUPS][2][32];
    int32_t base[4]; /* HALO_BOX_BASE: from memory, so that it stays in four registers */
};

/* One plane of a launch. */
struct bands_plane {
    struct halo_plane src, dst;
    struct halo_cuda_wanted wanted;
    int first_block, blocks_x;
    int radius_y;
    enum halo_border border;
    int ghost;
    float scale; /* 1 / area */
    const struct bands_mask *mask;
};

struct bands_launch {
    struct bands_plane plane[HALO_CUDA_MAX_PLANES];
    int count;
};

using bands_pixels = uint2[2][LOADS];

/* d = a b + c, 16x16 by 16x8 unsigned bytes. */
static __device__ inline void multiply_16(int (&d)[4], const uint32_t *a, uint32_t b, const int *c)
{
#if HALO_HAVE_MMA
    asm("mma.sync.aligned.m16n8k16.row.col.s32.u8.u8.s32 {%0,%1,%2,%3}, {%4,%5}, {%6}, "
        "{%7,%8,%9,%10};"
        : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(b), "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]));
#endif
}

/* What a lane reads, and its rows of the next 16. */
struct bands_source {
    struct halo_plane plane;
    enum halo_border border;
    uint32_t ghost;                        /* four times the constant */
    const struct halo_word_source *ghosts; /* for each four columns that the warp reads */
    int e[LOADS];                          /* 0 if some of the eight are ghosts */
    bool whole[LOADS];
    const uint8_t *row[2];
    bool ghost_row[2]; /* the row is arbitrary then */
};

/* If there are ghosts, arbitrary data is loaded, and fill_ghosts replaces it: by then, other lanes
 * have loaded the cells from which the ghosts are made into the cache. */
template <bool EDGE>
static __device__ inline void load_pixels(bands_pixels &ret, struct bands_source &s, int y)
{
#pragma unroll
    for (int h = 0; h < 2; h++) {
        int from = y + 8 * h;
        if (EDGE && (unsigned)from >= (unsigned)s.plane.height)
            from = halo_far_index(from, s.plane.height, s.border);
        s.ghost_row[h] = EDGE && from == HALO_GHOST;
        s.row[h] = (const uint8_t *)s.plane.data + max(from, 0) * s.plane.stride;
#pragma unroll
        for (int j = 0; j < LOADS; j++)
            ret[h][j] = *(const uint2 *)(s.row[h] + s.e[j]);
    }
}

static __device__ inline void fill_ghosts(bands_pixels &pixels, const struct bands_source &s)
{
#pragma unroll
    for (int j = 0; j < LOADS; j++) {
        if (s.whole[j])
            continue;
        const struct halo_word_source *from = s.ghosts + PAIR / 4 * j + threadIdx.x % 4 * 2;
        const struct halo_word_source first = from[0], second = from[1];
#pragma unroll
        for (int h = 0; h < 2; h++)
            pixels[h][j] = make_uint2(halo_gather_word(s.row[h], first, s.ghost),
                                      halo_gather_word(s.row[h], second, s.ghost));
    }
#pragma unroll
    for (int h = 0; h < 2; h++)
        if (s.ghost_row[h])
#pragma unroll
            for (int j = 0; j < LOADS; j++)
                pixels[h][j] = make_uint2(s.ghost, s.ghost);
}

/* 16 rows of T of one strip, for two blocks of eight columns: low and high bytes. */
static __device__ inline void row_pass(uint32_t (&ret)[2][2], const uint32_t (&band)[STEPS][4],
                                       const uint2 *upper, const uint2 *lower)
{
    const int zero[4] = {};
    int sum[2][4];
#pragma unroll
    for (int j = 0; j < STEPS; j++) {
        halo_box_multiply(sum[0], band[j], upper[j].x, upper[j].y, j ? sum[0] : zero);
        halo_box_multiply(sum[1], band[j], lower[j].x, lower[j].y, j ? sum[1] : zero);
    }
#pragma unroll
    for (int b = 0; b < 2; b++) {
        const uint32_t u = __byte_perm(sum[0][2 * b], sum[0][2 * b + 1], 0x5140);
        const uint32_t l = __byte_perm(sum[1][2 * b], sum[1][2 * b + 1], 0x5140);
        ret[b][0] = __byte_perm(u, l, 0x5410);
        ret[b][1] = __byte_perm(u, l, 0x7632);
    }
}

/* 16 rows of sums of eight columns. The groups of T are a ring, beginning at `oldest`. */
template <int GROUPS>
static __device__ inline void column_pass(int (&ret)[4],
                                          const uint32_t (&t)[GROUPS][PAIRS][2][2][2], int oldest,
                                          const uint32_t (&band)[2 * GROUPS], const int (&base)[4],
                                          int pair, int strip, int block)
{
    const int zero[4] = {};
    int digit[2][4];
#pragma unroll
    for (int d = 0; d < 2; d++)
#pragma unroll
        for (int k = 0; k < GROUPS; k += 2) {
            const int *start = k ? digit[d] : d ? zero : base;
            const uint32_t b0 = t[(oldest + k) % GROUPS][pair][strip][block][d];
            if (k + 1 < GROUPS)
                halo_box_multiply(digit[d], band + 2 * k, b0,
                                  t[(oldest + k + 1) % GROUPS][pair][strip][block][d], start);
            else
                multiply_16(digit[d], band + 2 * k, b0, start);
        }
#pragma unroll
    for (int i = 0; i < 4; i++)
        ret[i] = digit[1][i] * 256 + digit[0][i];
}

/* The column pass for 16 rows of a warp, and writing their means to dst: only pairs of strips and
 * rows that are in the plane. u: index of their first group in wide. */
template <int GROUPS>
static __device__ inline void write_means(uint8_t *out, ptrdiff_t stride,
                                          const uint32_t (&wide)[GROUPS][PAIRS][2][2][2], int u,
                                          const uint32_t (&column_band)[2 * GROUPS],
                                          const int (&base)[4], const struct bands_plane &p,
                                          int pairs, int rows_left)
{
#pragma unroll
    for (int pair = 0; pair < PAIRS; pair++) {
        uint32_t words[2][2]; /* upper and lower row, strip */
#pragma unroll
        for (int strip = 0; strip < 2; strip++) {
            int sums[2][4];
#pragma unroll
            for (int block = 0; block < 2; block++)
                column_pass<GROUPS>(sums[block], wide, u, column_band, base, pair, strip, block);
#pragma unroll
            for (int i = 0; i < 2; i++)
                words[i][strip] = halo_box_means(sums, 2 * i, p.scale);
        }
        if (pair < pairs && rows_left > 0)
            *(uint2 *)(out + PAIR * pair) = make_uint2(words[0][0], words[0][1]);
        if (pair < pairs && rows_left > 8)
            *(uint2 *)(out + PAIR * pair + 8 * stride) = make_uint2(words[1][0], words[1][1]);
    }
}

/* One warp: BANDS times 16 rows of PAIRS times 32 columns from element e, row y on. */
template <int GROUPS, int BANDS, bool EDGE>
static __device__ inline void run_warp(const struct bands_plane &p, int e, int y,
                                       struct halo_word_source *ghosts)
{
    const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    const int from_e = e - HALO + 8 * t;
    const int groups = min((int)BANDS, (p.src.height - y + 15) / 16) + GROUPS - 1;
    int from_y = y - p.radius_y + g;

    struct bands_source source = {p.src, p.border, (uint32_t)p.ghost * 0x01010101u, ghosts, {}, {},
                                  {},    {}};
#pragma unroll
    for (int j = 0; j < LOADS; j++) {
        const int first = from_e + PAIR * j;
        source.whole[j] = !EDGE || (first >= 0 && first + 8 <= p.src.width * p.src.channels);
        source.e[j] = source.whole[j] ? first : 0;
    }
    bands_pixels next;
    load_pixels<EDGE>(next, source, from_y);
    if (EDGE) {
        if (lane < PAIR / 4 * LOADS)
            ghosts[lane] = halo_word_source_of<uint8_t>(e - HALO + 4 * lane, p.src, p.border);
        __syncwarp();
    }

    uint32_t row_band[2][STEPS][4], column_band[2 * GROUPS];
#pragma unroll
    for (int i = 0; i < 8 * STEPS; i++)
        row_band[i / 4 / STEPS][i / 4 % STEPS][i % 4] =
            p.mask->row[i / 4 / STEPS][i / 4 % STEPS][i % 4][lane];
#pragma unroll
    for (int i = 0; i < 2 * GROUPS; i++)
        column_band[i] = p.mask->column[i / 2][i % 2][lane];
    const int4 four = *(const int4 *)p.mask->base;
    const int base[4] = {four.x, four.y, four.z, four.w};

    const int out_e = e + 8 * t;
    const ptrdiff_t out_stride = p.dst.stride;
    uint8_t *out = (uint8_t *)p.dst.data + (y + g) * out_stride + out_e;
    int rows_left = p.dst.height - y - g;
    const int pairs = (p.dst.width * p.dst.channels - out_e + PAIR - 1) / PAIR; /* pairs to write */

    uint32_t wide[GROUPS][PAIRS][2][2][2]; /* T: group, pair, strip, block of it, digit */
    for (int first = 0; first < groups; first += GROUPS) {
#pragma unroll
        for (int u = 0; u < GROUPS; u++) {
            const int group = first + u;
            if (group >= groups)
                return;
            bands_pixels pixels;
#pragma unroll
            for (int i = 0; i < 2 * LOADS; i++)
                pixels[i / LOADS][i % LOADS] = next[i / LOADS][i % LOADS];
            if (EDGE)
                fill_ghosts(pixels, source);
            from_y += 16;
            if (group + 1 < groups)
                load_pixels<EDGE>(next, source, from_y);
#pragma unroll
            for (int i = 0; i < 2 * PAIRS; i++)
                row_pass(wide[u][i / 2][i % 2], row_band[i % 2], pixels[0] + i / 2,
                         pixels[1] + i / 2);
            if (group < GROUPS - 1)
                continue;
            write_means<GROUPS>(out, p.dst.stride, wide, u + 1, column_band, base, p, pairs,
                                rows_left);
            out += 16 * out_stride;
            rows_left -= 16;
        }
    }
}

/* The plane that this block works on. */
static __device__ inline const struct bands_plane &plane_of(const struct bands_launch &launch)
{
    int p = 0;
    while (p + 1 < launch.count && blockIdx.x >= launch.plane[p + 1].first_block)
        p++;
    return launch.plane[p];
}

template <int GROUPS, int BANDS, class Launch>
static __global__ void __launch_bounds__(THREADS, 4)
    bands_kernel(const __grid_constant__ Launch launch)
{
    __shared__ struct halo_word_source ghosts[WARPS][PAIR / 4 * LOADS];
    halo_wait_for_kernel_before();
    const struct bands_plane &p = plane_of(launch);
    const int block = blockIdx.x - p.first_block, warp = threadIdx.x / 32;
    const int e = (block % p.blocks_x * WARPS + warp) * PAIR * PAIRS;
    const int y = block / p.blocks_x * BANDS * 16;
    const int elements = p.src.width * p.src.channels;
    if (e >= elements)
        return;
    const enum halo_share share =
        halo_begin_tile<1, PAIR * PAIRS, BANDS * 16, 32>(launch, p, p.src, e, y);
    if (share == HALO_SHARE_NONE)
        return;
    if (e >= HALO && e + PAIR * PAIRS + HALO <= elements && y >= p.radius_y &&
        y - p.radius_y + (BANDS + GROUPS - 1) * 16 <= p.src.height)
        run_warp<GROUPS, BANDS, false>(p, e, y, ghosts[warp]);
    else
        run_warp<GROUPS, BANDS, true>(p, e, y, ghosts[warp]);
    halo_finish_tile<1, PAIR * PAIRS, BANDS * 16, 32>(share, launch, p, p.src, e, y);
}

static bool can(const struct halo_conv *conv, int channels)
{
    return conv->kind == HALO_CONV_BOX && conv->depth == 8 && conv->radius_x * channels <= HALO &&
           conv->radius_y <= 8 * (MAX_GROUPS - 1);
}

static size_t prepared_bytes(const struct halo_conv *conv, int channels)
{
    (void)conv;
    (void)channels;
    return sizeof(struct bands_mask);
}

static void prepare(void *ret, const struct halo_conv *conv, int channels)
{
    struct bands_mask *mask = (struct bands_mask *)ret;
    const int radius_e = conv->radius_x * channels;
    for (int i = 0; i < 4; i++)
        mask->base[i] = HALO_BOX_BASE;
    for (int lane = 0; lane < 32; lane++) {
        const int g = lane / 4, t = lane % 4;
        for (int i = 0; i < 2 * STEPS * 4; i++) {
            const int word = i % 4, step = i / 4 % STEPS, strip = i / 4 / STEPS;
            const int output = 8 * (g / 2) + 4 * strip + 2 * (word % 2) + g % 2;
            const int input = PAIR * step + 8 * t + 4 * (word / 2) - HALO;
            mask->row[strip][step][word][lane] = halo_box_word(radius_e, channels, input - output);
        }
        for (int i = 0; i < 2 * MAX_GROUPS; i++) {
            uint32_t word = 0;
            for (int k = 0; k < 4; k++) {
                const int below = 16 * (i / 2) + k / 2 * 8 + 2 * t + k % 2 - (g + i % 2 * 8);
                if (below >= 0 && below <= 2 * conv->radius_y)
                    word |= 1u << 8 * k;
            }
            mask->column[i / 2][i % 2][lane] = word;
        }
    }
}

/* Whether at most half of a plane is filtered. */
static bool filters_little(const struct halo_cuda_call *call)
{
    const struct halo_select select = halo_select_of(call->wanted.select, call->dst);
    int64_t inside = 0;
    for (int i = 0; i < select.count; i++) {
        const struct halo_rect &r = select.rects[i];
        inside += (int64_t)(r.x1 - r.x0) * (r.y1 - r.y0);
    }
    const int64_t half = (int64_t)call->dst.width * call->dst.channels * call->dst.height / 2;
    return select.given && (select.invert ? inside >= half : inside <= half);
}

template <int GROUPS>
static cudaError_t launch_groups(struct bands_launch *launch, const struct halo_cuda_call *call)
{
    const bool little = filters_little(call);
    const int bands = little ? REGION_BANDS : WHOLE_BANDS;
    int blocks = 0;
    for (int i = 0; i < launch->count; i++) {
        struct bands_plane *plane = &launch->plane[i];
        const dim3 grid = halo_grid(plane->src, WARPS * PAIR * PAIRS, bands * 16);
        plane->first_block = blocks;
        plane->blocks_x = grid.x;
        blocks += grid.x * grid.y;
    }
    return halo_launch_selecting(
        bands_kernel<GROUPS, WHOLE_BANDS, bands_launch>,
        little ? bands_kernel<GROUPS, REGION_BANDS, halo_selecting<bands_launch>>
               : bands_kernel<GROUPS, WHOLE_BANDS, halo_selecting<bands_launch>>,
        *launch, blocks, {THREADS, 0}, call);
}

static struct bands_plane plane_for(const struct halo_cuda_call *call)
{
    const struct halo_conv *conv = call->conv;
    struct bands_plane plane = {};
    plane.src = call->src;
    plane.dst = call->dst;
    plane.wanted = call->wanted;
    plane.radius_y = conv->radius_y;
    plane.border = conv->border;
    plane.ghost = conv->border_value;
    plane.scale = 1.0f / (float)((2 * conv->radius_x + 1) * (2 * conv->radius_y + 1));
    plane.mask = (const struct bands_mask *)call->prepared;
    return plane;
}

/* Not if another strategy filters the plane. */
static bool selects(const struct halo_conv *conv, const struct halo_plane *plane)
{
    return halo_word_sources_do(plane, conv->border, conv->radius_x * plane->channels);
}

/* All planes of a launch use as many groups as the largest one needs. */
static cudaError_t launch(const struct halo_cuda_call *calls, int count)
{
    struct bands_launch launch;
    int radius_y = 0;
    launch.count = 0;
    for (int i = 0; i < count; i++) {
        const struct halo_conv *conv = calls[i].conv;
        const int reach = conv->radius_x * calls[i].src.channels;
        if (!halo_word_sources_do(&calls[i].src, conv->border, reach)) {
            const cudaError_t status = halo_cuda_running_sums.launch(&calls[i], 1);
            if (status != cudaSuccess)
                return status;
            continue;
        }
        launch.plane[launch.count++] = plane_for(&calls[i]);
        radius_y = conv->radius_y > radius_y ? conv->radius_y : radius_y;
    }
    if (launch.count == 0)
        return cudaSuccess;
    return radius_y > 8 ? launch_groups<3>(&launch, calls) : launch_groups<2>(&launch, calls);
}

const struct halo_cuda_strategy halo_cuda_box_bands = {
    .base = {"box-bands", "small boxes on tensor cores, without shared memory", can},
    .compute = 80,
    .launch = launch,
    .selects = selects,
    .prepared_bytes = prepared_bytes,
    .prepare = prepare,
};
