/* SPDX-License-Identifier: BSD-2-Clause
 * Strategy box-stream, boxes: columns by running sums, rows on tensor cores, at a cost
 * that depends little on the radii.
 *
 *       512 columns                four warps go down the frame: of each column the sum of the
 *    +---------------+             rows in the window, two columns in a register, plus the row that
 *    |  + entering   |             enters, less the one that leaves. The sums, below 2^16, go to
 *    |    window     |             shared memory as two bytes, 16 rows at a time ...
 *    |  - leaving    |
 *    +---------------+             ... where the other warps take them: 16 rows by 32 outputs are
 *                                  S B, with S the sums and B a band of ones. Blocks of 32 columns
 *    first  ones  ones  last      that lie in the windows of all 32 outputs are alike for all
 *    [\   ][    ][    ][   /]      eight columns of B: they are added up once.
 *
 * The warps exchange two buffers; named barriers signal which one is full and which one is free. A
 * warp's part of S is four consecutive words, so rows 8 apart are interleaved word by word. Column
 * n of product q is output 8 (n / 2) + 2q + n % 2: a lane ends with eight consecutive outputs. */
#include <limits.h>
#include <string.h>

#include "kernels/cuda/box_columns.cuh"
#include "kernels/cuda/launch.cuh"

enum {
    ROW_WARPS = (HALO_BOX_THREADS - HALO_BOX_COLUMN_THREADS) / 32,
    WORD = 32, /* columns of a step, outputs of a product */
    MAX_PARTS = 4,
    MAX_REACH = 128,     /* elements, rows */
    MAX_TABLE = 1024,    /* rows that a block reads */
    BLOCKS_WANTED = 264, /* two for each multiprocessor of an H200 */
};

/* How the blocks of 32 columns overlap the windows of 32 outputs. */
struct stream_tile {
    int halo_e;  /* a multiple of 8: where the first block begins, left of the outputs */
    int outputs; /* of a block of threads, in units of 32 */
    int parts, part_at[MAX_PARTS]; /* blocks of columns that not all windows cover */
    int ones, ones_at;             /* the other blocks */
};

/* Fragments: a word for each lane. */
struct stream_mask {
    uint32_t part[MAX_PARTS][4][2][32], ones[2][32];
    int32_t base[4]; /* HALO_BOX_BASE: from memory, so that it stays in four registers */
};

struct stream_pass {
    struct halo_plane src, dst;
    struct halo_cuda_wanted wanted;
    struct stream_tile tile;
    int rows; /* of a block */
    int radius_y;
    enum halo_border border;
    uint32_t ghost; /* a word filled with the constant */
    float scale;    /* 1 / area */
    const struct stream_mask *mask;
};

/* 16 rows by 32 outputs: sums[q]. from: the lane's part of the first block of columns. */
template <int PARTS, bool ONES>
static __device__ inline void row_sums(int (&sums)[4][4], const uint8_t *from,
                                       const struct stream_tile &tile,
                                       const uint32_t (&part)[PARTS][4][2],
                                       const uint32_t (&ones)[2], const int (&base)[4])
{
    int digit[2][4][4];
#pragma unroll
    for (int d = 0; d < 2; d++) {
        int all[4];
#pragma unroll
        for (int i = 0; i < 4; i++)
            all[i] = d ? 0 : base[i];
        if (ONES)
            for (int j = 0; j < tile.ones; j++) {
                const uint4 a =
                    *(const uint4 *)(from + d * HALO_BOX_PLANE + 2 * WORD * (tile.ones_at + j));
                const uint32_t words[4] = {a.x, a.y, a.z, a.w};
                halo_box_multiply(all, words, ones[0], ones[1], all);
            }
#pragma unroll
        for (int k = 0; k < PARTS; k++) {
            const uint4 a =
                *(const uint4 *)(from + d * HALO_BOX_PLANE + 2 * WORD * tile.part_at[k]);
            const uint32_t words[4] = {a.x, a.y, a.z, a.w};
#pragma unroll
            for (int q = 0; q < 4; q++)
                halo_box_multiply(digit[d][q], words, part[k][q][0], part[k][q][1],
                                  k ? digit[d][q] : all);
        }
    }
#pragma unroll
    for (int i = 0; i < 16; i++)
        sums[i / 4][i % 4] = digit[1][i / 4][i % 4] * 256 + digit[0][i / 4][i % 4];
}

/* Writes eight consecutive outputs. */
template <typename Sample>
static __device__ inline void write_row(uint8_t *to, const int (&sums)[4][4], int first,
                                        const struct stream_pass &p)
{
    if constexpr (sizeof(Sample) == 1) {
        *(uint2 *)to = make_uint2(halo_box_means(sums, first, p.scale),
                                  halo_box_means(sums + 2, first, p.scale));
    } else {
        uint32_t words[4];
#pragma unroll
        for (int q = 0; q < 4; q++)
            words[q] = halo_box_mean_pair(sums[q][first], sums[q][first + 1], p.scale)
                       << p.dst.shift;
        *(uint4 *)to = make_uint4(words[0], words[1], words[2], words[3]);
    }
}

template <typename Sample, int PARTS, bool ONES>
static __device__ inline void run_rows(const struct stream_pass &p, const uint8_t *buffers, int e,
                                       int y, int batches)
{
    const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    const int warp = (threadIdx.x - HALO_BOX_COLUMN_THREADS) / 32;
    uint32_t part[PARTS][4][2], ones[2];
#pragma unroll
    for (int i = 0; i < PARTS * 8; i++)
        part[i / 8][i / 2 % 4][i % 2] = p.mask->part[i / 8][i / 2 % 4][i % 2][lane];
    ones[0] = p.mask->ones[0][lane];
    ones[1] = p.mask->ones[1][lane];
    const int4 four = *(const int4 *)p.mask->base;
    const int base[4] = {four.x, four.y, four.z, four.w};

    const int elements = p.dst.width * p.dst.channels;
    const ptrdiff_t stride = p.dst.stride;
    uint8_t *out = (uint8_t *)p.dst.data + (y + g) * stride + (e + 8 * t) * (int)sizeof(Sample);
    int rows_left = min(p.rows, p.dst.height - y) - g;
    for (int batch = 0; batch < batches; batch++) {
        const uint8_t *from =
            buffers + batch % 2 * 2 * HALO_BOX_PLANE + g * HALO_BOX_PAIR_STRIDE + 16 * t;
        halo_box_sync(HALO_BOX_FULL + batch % 2);
        for (int i = warp; i < p.tile.outputs; i += ROW_WARPS) {
            int sums[4][4];
            row_sums<PARTS, ONES>(sums, from + 2 * WORD * i, p.tile, part, ones, base);
            if (e + WORD * i + 8 * t >= elements)
                continue;
#pragma unroll
            for (int row = 0; row < 2; row++)
                if (rows_left > 8 * row)
                    write_row<Sample>(out + WORD * i * (int)sizeof(Sample) + 8 * row * stride, sums,
                                      2 * row, p);
        }
        if (batch + 2 < batches)
            halo_box_arrive(HALO_BOX_FREE + batch % 2);
        out += HALO_BOX_BATCH * stride;
        rows_left -= HALO_BOX_BATCH;
    }
}

/* The work of all threads of a block until the first window is summed, and of the column threads
 * after that. other: the sums of the second half of the block, which adds half of the window's
 * rows. */
template <bool EDGE, typename Sample>
static __device__ inline void start_and_run_columns(const struct halo_box_source<Sample> &s,
                                                    uint8_t *buffers, uint2 *other, int y,
                                                    int radius, int batches)
{
    const bool of_columns = threadIdx.x < HALO_BOX_COLUMN_THREADS;
    struct halo_box_window<EDGE, Sample> w;
    if (of_columns)
        halo_box_begin_columns(w, s, y, radius);
    else
        other[threadIdx.x - HALO_BOX_COLUMN_THREADS] =
            halo_box_sum_rows<EDGE>(s, y - 1 - radius, y + radius);
    __syncthreads();
    if (!of_columns)
        return;
    w.sum.x += other[threadIdx.x].x;
    w.sum.y += other[threadIdx.x].y;
    halo_box_run_columns(w, s, buffers, y, radius, batches);
}

template <typename Sample, int PARTS, bool ONES>
static __global__ void __launch_bounds__(HALO_BOX_THREADS, 2)
    stream_kernel(const __grid_constant__ struct stream_pass p)
{
    __shared__ alignas(16) uint8_t buffers[2 * 2 * HALO_BOX_PLANE];
    __shared__ uint2 other[HALO_BOX_COLUMN_THREADS];
    __shared__ int offsets[MAX_TABLE];

    halo_wait_for_kernel_before();
    const int e = blockIdx.x * p.tile.outputs * WORD, y = blockIdx.y * p.rows;
    if (halo_tile_outside(p.wanted, {e, y, p.tile.outputs * WORD, p.rows}))
        return;
    const int batches = (min(p.rows, p.src.height - y) + HALO_BOX_BATCH - 1) / HALO_BOX_BATCH;
    const int first_e = e - p.tile.halo_e, first_y = y - 1 - p.radius_y;
    const int rows = (batches + 1) * HALO_BOX_BATCH + 2 * p.radius_y + 1;
    const int column = first_e + (int)threadIdx.x % HALO_BOX_COLUMN_THREADS * 4;
    const bool edge = first_e < 0 || first_e + HALO_BOX_WIDTH > p.src.width * p.src.channels ||
                      first_y < 0 || first_y + rows > p.src.height;

    struct halo_box_source<Sample> s;
    s.data = (const uint8_t *)p.src.data;
    s.offset = offsets - first_y;
    s.stride = (int)p.src.stride;
    s.ghost = p.ghost;
    s.shift = p.src.shift;
    s.most = (uint32_t)halo_sample_max(p.src.depth) * 0x10001u;
    s.columns[0].a = column * (int)sizeof(Sample);
    if (edge) {
#pragma unroll
        for (int i = 0; i < (int)sizeof(Sample); i++)
            s.columns[i] = halo_word_source_of<Sample>(column + 2 * i, p.src, p.border);
        for (int i = threadIdx.x; i < rows; i += HALO_BOX_THREADS) {
            const int from = halo_far_index(first_y + i, p.src.height, p.border);
            offsets[i] = from == HALO_GHOST ? -1 : from * (int)p.src.stride;
        }
        __syncthreads();
    }
    if (edge)
        start_and_run_columns<true>(s, buffers, other, y, p.radius_y, batches);
    else
        start_and_run_columns<false>(s, buffers, other, y, p.radius_y, batches);
    if (threadIdx.x >= HALO_BOX_COLUMN_THREADS)
        run_rows<Sample, PARTS, ONES>(p, buffers, e, y, batches);
}

static bool can(const struct halo_conv *conv, int channels)
{
    if (conv->kind != HALO_CONV_BOX || conv->depth > HALO_BOX_MAX_DEPTH ||
        conv->radius_x * channels > MAX_REACH || conv->radius_y > MAX_REACH)
        return false;
    const int column = (2 * conv->radius_y + 1) * halo_sample_max(conv->depth);
    return column <= 0xffff && column * (2 * conv->radius_x + 1) <= HALO_BOX_MAX_SUM;
}

static size_t prepared_bytes(const struct halo_conv *conv, int channels)
{
    (void)conv;
    (void)channels;
    return sizeof(struct stream_mask);
}

static struct stream_tile shape_of(int radius_e)
{
    struct stream_tile tile = {};
    tile.halo_e = (radius_e + 7) / 8 * 8;
    const int blocks = (WORD + tile.halo_e + radius_e + WORD - 1) / WORD;
    tile.outputs = HALO_BOX_WIDTH / WORD - blocks + 1;
    for (int j = 0; j < blocks; j++) {
        const int first = WORD * j - tile.halo_e; /* from the first output on */
        if (first < WORD - 1 - radius_e || first + WORD - 1 > radius_e)
            tile.part_at[tile.parts++] = j;
        else if (tile.ones++ == 0)
            tile.ones_at = j;
    }
    return tile;
}

static void prepare(void *ret, const struct halo_conv *conv, int channels)
{
    struct stream_mask *mask = (struct stream_mask *)ret;
    const int radius_e = conv->radius_x * channels;
    const struct stream_tile tile = shape_of(radius_e);
    memset(mask, 0, sizeof *mask);
    for (int i = 0; i < 4; i++)
        mask->base[i] = HALO_BOX_BASE;
    for (int lane = 0; lane < 32; lane++) {
        const int n = lane / 4, t = lane % 4;
        for (int i = 0; i < tile.parts * 8; i++) {
            const int q = i / 2 % 4, output = 8 * (n / 2) + 2 * q + n % 2;
            const int input = WORD * tile.part_at[i / 8] - tile.halo_e + 8 * t + i % 2 * 4;
            mask->part[i / 8][q][i % 2][lane] = halo_box_word(radius_e, channels, input - output);
        }
        for (int i = 0; i < 2; i++) /* far inside the windows: only the channels matter */
            mask->ones[i][lane] = halo_box_word(MAX_REACH, channels, -(n % 2));
    }
}

template <typename Sample>
static cudaError_t launch_plane(const struct halo_cuda_call *call)
{
    const struct halo_conv *conv = call->conv;
    const struct halo_plane &src = call->src;
    struct stream_pass p = {};
    p.src = src;
    p.dst = call->dst;
    p.wanted = call->wanted;
    p.tile = shape_of(conv->radius_x * src.channels);
    p.radius_y = conv->radius_y;
    p.border = conv->border;
    p.ghost = (uint32_t)conv->border_value * 0x01010101u;
    if (sizeof(Sample) == 2)
        p.ghost = ((uint32_t)conv->border_value << src.shift) * 0x10001u;
    p.scale = 1.0f / (float)((2 * conv->radius_x + 1) * (2 * conv->radius_y + 1));
    p.mask = (const struct stream_mask *)call->prepared;

    const int wide =
        (src.width * src.channels + p.tile.outputs * WORD - 1) / (p.tile.outputs * WORD);
    const int most =
        (MAX_TABLE - 2 * conv->radius_y) / HALO_BOX_BATCH * HALO_BOX_BATCH - 3 * HALO_BOX_BATCH;
    /* to avoid a second wave of blocks */
    const int strips = BLOCKS_WANTED > wide ? BLOCKS_WANTED / wide : 1;
    const int wanted = (src.height + strips - 1) / strips;
    p.rows = wanted < 2 * HALO_BOX_BATCH ? 2 * HALO_BOX_BATCH : wanted > most ? most : wanted;
    const dim3 grid(wide, (src.height + p.rows - 1) / p.rows);
    if (p.tile.parts == 2 && p.tile.ones == 0)
        return halo_launch(stream_kernel<Sample, 2, false>, p, grid, HALO_BOX_THREADS, 0, call);
    if (p.tile.parts == 2)
        return halo_launch(stream_kernel<Sample, 2, true>, p, grid, HALO_BOX_THREADS, 0, call);
    return halo_launch(stream_kernel<Sample, MAX_PARTS, true>, p, grid, HALO_BOX_THREADS, 0, call);
}

static cudaError_t launch(const struct halo_cuda_call *calls, int count)
{
    cudaError_t status = cudaSuccess;
    for (int i = 0; i < count && status == cudaSuccess; i++) {
        const struct halo_plane &src = calls[i].src;
        const int reach = calls[i].conv->radius_x * src.channels;
        const bool fits = src.stride * src.height <= INT_MAX &&
                          halo_word_sources_do(&src, calls[i].conv->border, reach);
        if (!fits)
            status = halo_cuda_running_sums.launch(&calls[i], 1);
        else
            status = src.depth == 8 ? launch_plane<uint8_t>(&calls[i])
                                    : launch_plane<uint16_t>(&calls[i]);
    }
    return status;
}

const struct halo_cuda_strategy halo_cuda_box_stream = {
    .base = {"box-stream", "boxes: running sums along columns, tensor cores along rows", can},
    .compute = 80,
    .launch = launch,
    .prepared_bytes = prepared_bytes,
    .prepare = prepare,
};
