/* SPDX-License-Identifier: BSD-2-Clause
 * Strategy dense-rows: small dense masks of 16-bit words; a thread computes eight outputs in each
 * of ROWS rows, from registers.
 *
 *               beside  own cells  beside
 *              +------+-----------+------+      Each row is loaded once and added to the sums of
 *      loads   |  h h | o o ... o | h h  |      all outputs that need it; there are 2 R rows more
 *              +------+-----------+------+      than outputs. Neighbouring threads read the cells
 *      ROWS    |      | sums      |      |      beside their own, too, from the cache: there is no
 *      + 2 R   |      |           |      |      shared memory and no barrier.
 *              +------+-----------+------+
 *
 * If all sums are below 2^24, they are floats. The 16 bits of a cell are used as a float, too,
 * without being converted: it is a denormal number, v 2^-149. The weights are multiplied by
 * 2^WEIGHT_BITS, so that sums are multiples of 2^-UNIT_BITS. Other sums are integers. */
#include <math.h>
#include <string.h>

#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/select.cuh"

enum {
    WARP = 32,
    WARPS = 8, /* one below the other: rows that several of them need are in the cache */
    THREADS = WARP * WARPS,
    BLOCKS = 3, /* on a multiprocessor, for which the compiler limits registers */
    CELLS = 8,  /* outputs of a thread in a row */
    PAIRS = CELLS / 2,
    WIDTH = WARP * CELLS,
    MAX_REACH = 2 /* elements to each side */,
    DENORMAL_BITS = 149,
    WEIGHT_BITS = 100,
    UNIT_BITS = DENORMAL_BITS - WEIGHT_BITS,
};

/* What a kernel is compiled for. */
template <typename NUMBER, int RADIUS_, int CHANNELS_>
struct variant {
    typedef NUMBER Number; /* float or int */
    enum {
        FLOATS = (NUMBER)0.5 != 0,
        RADIUS = RADIUS_,
        CHANNELS = CHANNELS_,
        TAPS = 2 * RADIUS + 1,
        ROWS = 3,
        LOADS = ROWS + 2 * RADIUS,
        BESIDE = 1, /* pairs of cells on each side: at most MAX_REACH cells are needed */
        WORDS = PAIRS + 2 * BESIDE,
    };
};

struct dense_plane {
    struct halo_plane src, dst;
    struct halo_cuda_wanted wanted;
    int first_block, across;
};

/* The mask is the same for all planes: constant operands then need no registers. */
template <class V>
struct dense_launch {
    typename V::Number weights[V::TAPS][V::TAPS];
    typename V::Number start; /* of a sum: the bias */
    float scale, levels;      /* floats: a sum times scale is 1 at the largest sample + 1 */
    int shift;                /* integers */
    enum halo_border border;
    uint32_t ghost;      /* a pair of the border's constant */
    uint32_t keep, most; /* floats: the bits of samples in a pair of words, and the largest pair */
    struct dense_plane plane[HALO_CUDA_MAX_PLANES];
    int count;
};

/* The cells beside those of a thread at the edge of the plane: elements, or HALO_GHOST. */
template <class V>
struct sides {
    int before[2 * V::BESIDE], after[2 * V::BESIDE];
};

/* The cells from the first one beside the thread's own on, in pairs. */
template <class V>
struct row {
    uint32_t pair[V::WORDS];
};

/* As numbers: floats keep the plane's shift, which the weights make up for. */
template <class V>
static __device__ inline uint32_t pair_of(uint32_t words, const struct dense_launch<V> &launch,
                                          const struct dense_plane &p)
{
    return V::FLOATS ? __vminu2(words & launch.keep, launch.most) : halo_sample_pair(words, p.src);
}

/* Loads a row of which all cells are in the plane. */
template <class V>
static __device__ inline void load_inside(struct row<V> &ret, const struct dense_plane &p, int e,
                                          int y)
{
    const char *from = (const char *)p.src.data + y * p.src.stride + 2 * e;
    const uint4 own = *(const uint4 *)from;
    ret.pair[V::BESIDE] = own.x;
    ret.pair[V::BESIDE + 1] = own.y;
    ret.pair[V::BESIDE + 2] = own.z;
    ret.pair[V::BESIDE + 3] = own.w;
    ret.pair[0] = *(const uint32_t *)(from - 4);
    ret.pair[V::WORDS - 1] = *(const uint32_t *)(from + 2 * CELLS);
}

/* Puts the word into cell `at`, counted from the first one. */
template <class V>
static __device__ inline void set_cell(struct row<V> &row, int at, uint32_t word)
{
#pragma unroll
    for (int k = 0; k < V::WORDS; k++)
        if (k == at / 2)
            row.pair[k] = __byte_perm(row.pair[k], word, at % 2 ? 0x5410 : 0x3254);
}

/* Loads any row. */
template <class V>
static __device__ inline void load_any(struct row<V> &ret, const struct dense_launch<V> &launch,
                                       const struct dense_plane &p, int e, int y,
                                       const struct sides<V> &sides)
{
    const int from_y = halo_border_index(y, p.src.height, launch.border);
    if (from_y == HALO_GHOST) {
#pragma unroll
        for (int k = 0; k < V::WORDS; k++)
            ret.pair[k] = launch.ghost;
        return;
    }
    const uint16_t *from = (const uint16_t *)((const char *)p.src.data + from_y * p.src.stride);
    const uint4 own = *(const uint4 *)(from + e);
    ret.pair[V::BESIDE] = own.x;
    ret.pair[V::BESIDE + 1] = own.y;
    ret.pair[V::BESIDE + 2] = own.z;
    ret.pair[V::BESIDE + 3] = own.w;
    const int left = min(p.src.width * V::CHANNELS - e, (int)CELLS);
#pragma unroll
    for (int i = 0; i < 2 * V::BESIDE; i++) {
        const int before = sides.before[i], after = sides.after[i];
        set_cell<V>(ret, i, before == HALO_GHOST ? launch.ghost : from[before]);
        set_cell<V>(ret, 2 * V::BESIDE + left + i,
                    after == HALO_GHOST ? launch.ghost : from[after]);
    }
}

static __device__ inline float number_of(uint32_t cell, float)
{
    return __uint_as_float(cell);
}

static __device__ inline int number_of(uint32_t cell, int)
{
    return (int)cell;
}

static __device__ inline float multiply_add(float a, float b, float c)
{
    return __fmaf_rn(a, b, c);
}

static __device__ inline int multiply_add(int a, int b, int c)
{
    return a * b + c;
}

/* Two outputs, with the largest one not yet applied. */
template <class V>
static __device__ inline uint32_t finish(float a, float b, const struct dense_launch<V> &launch)
{
    /* An integer below 2^23, in the lower bits of its sum with 2^23: */
    const float low = __fmaf_rd(__saturatef(a * launch.scale), launch.levels, 8388608.0f);
    const float high = __fmaf_rd(__saturatef(b * launch.scale), launch.levels, 8388608.0f);
    return __byte_perm(__float_as_uint(low), __float_as_uint(high), 0x5410);
}

template <class V>
static __device__ inline uint32_t finish(int a, int b, const struct dense_launch<V> &launch)
{
    const int low = min(max(a >> launch.shift, 0), 0xffff);
    const int high = min(max(b >> launch.shift, 0), 0xffff);
    return __byte_perm(low, high, 0x5410);
}

template <class V>
static __device__ inline void store(const typename V::Number (&sums)[CELLS],
                                    const struct dense_launch<V> &launch,
                                    const struct dense_plane &p, int e, int y)
{
    const uint32_t most = (uint32_t)halo_sample_max(p.dst.depth) * 0x00010001u;
    uint32_t pair[PAIRS];
#pragma unroll
    for (int k = 0; k < PAIRS; k++)
        pair[k] = __vminu2(finish<V>(sums[2 * k], sums[2 * k + 1], launch), most) << p.dst.shift;
    *(uint4 *)((char *)p.dst.data + y * p.dst.stride + 2 * e) =
        make_uint4(pair[0], pair[1], pair[2], pair[3]);
}

/* Adds a row to the sums of the outputs for which it is row j of the mask. */
template <class V>
static __device__ inline void add(typename V::Number (&sums)[CELLS],
                                  const typename V::Number (&cells)[2 * V::WORDS],
                                  const typename V::Number (&weights)[V::TAPS])
{
#pragma unroll
    for (int t = 0; t < V::TAPS; t++)
#pragma unroll
        for (int i = 0; i < CELLS; i++)
            sums[i] = multiply_add(cells[2 * V::BESIDE + i + (t - V::RADIUS) * V::CHANNELS],
                                   weights[t], sums[i]);
}

/* The outputs of a thread. */
template <class V, bool INSIDE>
static __device__ inline void filter(const struct dense_launch<V> &launch,
                                     const struct dense_plane &p, int e, int top,
                                     const struct sides<V> &sides)
{
    typedef typename V::Number Number;
    Number sums[V::ROWS][CELLS];
#pragma unroll
    for (int k = 0; k < V::LOADS; k++) {
        struct row<V> row;
        if (INSIDE)
            load_inside<V>(row, p, e, top - V::RADIUS + k);
        else
            load_any<V>(row, launch, p, e, top - V::RADIUS + k, sides);
        Number cells[2 * V::WORDS];
#pragma unroll
        for (int n = 0; n < V::WORDS; n++) {
            const uint32_t pair = pair_of<V>(row.pair[n], launch, p);
            cells[2 * n] = number_of(pair & 0xffff, Number());
            cells[2 * n + 1] = number_of(pair >> 16, Number());
        }
        if (k < V::ROWS)
#pragma unroll
            for (int i = 0; i < CELLS; i++)
                sums[k % V::ROWS][i] = launch.start;
#pragma unroll
        for (int j = 0; j < V::TAPS; j++)
            if (k - j >= 0 && k - j < V::ROWS)
                add<V>(sums[(k - j + V::ROWS) % V::ROWS], cells, launch.weights[j]);
        const int done = k - 2 * V::RADIUS;
        if (done >= 0 && (INSIDE || top + done < p.src.height))
            store<V>(sums[(done + V::ROWS) % V::ROWS], launch, p, e, top + done);
    }
}

template <class V, class Launch>
static __global__ void __launch_bounds__(THREADS, BLOCKS)
    dense_rows_kernel(const __grid_constant__ Launch launch)
{
    halo_wait_for_kernel_before();
    const struct dense_plane &p = halo_plane_of(launch);
    const int block = (int)blockIdx.x - p.first_block, down = block / p.across;
    const int left = (block - down * p.across) * WIDTH, e = left + threadIdx.x % WARP * CELLS;
    const int top = (down * WARPS + threadIdx.x / WARP) * V::ROWS;
    const int count = p.src.width * V::CHANNELS;
    if (top >= p.src.height)
        return;
    const enum halo_share share =
        halo_begin_tile<2, WIDTH, V::ROWS, WARP>(launch, p, p.src, left, top);
    if (share == HALO_SHARE_NONE)
        return;
    struct sides<V> sides;
    if (left > 0 && left + WIDTH + 2 * V::BESIDE <= count && top >= V::RADIUS &&
        top + V::ROWS + V::RADIUS <= p.src.height) {
        filter<V, true>(launch, p, e, top, sides);
    } else if (e < count) {
#pragma unroll
        for (int i = 0; i < 2 * V::BESIDE; i++) {
            sides.before[i] = halo_border_element(e - 2 * V::BESIDE + i, p.src, launch.border);
            sides.after[i] =
                halo_border_element(min(e + (int)CELLS, count) + i, p.src, launch.border);
        }
        filter<V, false>(launch, p, e, top, sides);
    }
    halo_finish_tile<2, WIDTH, V::ROWS, WARP>(share, launch, p, p.src, left, top);
}

/* ---- host ---- */

/* Sums as floats: not at 16 bits, where the largest sample + 1 needs 17 bits. */
static bool has_floats(const struct halo_conv *conv)
{
    return conv->accum == HALO_ACCUM_F24 && conv->depth < 16;
}

static int radius_of(const struct halo_conv *conv)
{
    const int most = conv->radius_x > conv->radius_y ? conv->radius_x : conv->radius_y;
    return most > 1 ? most : 1;
}

static bool can(const struct halo_conv *conv, int channels)
{
    return conv->kind == HALO_CONV_DENSE && conv->depth > 8 && conv->accum != HALO_ACCUM_I64 &&
           radius_of(conv) * channels <= MAX_REACH;
}

/* Whether both calls can be processed by one launch. */
static bool is_like(const struct halo_cuda_call *a, const struct halo_cuda_call *b)
{
    const struct halo_conv *c = a->conv, *d = b->conv;
    const size_t weights = (size_t)(2 * c->radius_x + 1) * (2 * c->radius_y + 1);
    return c->radius_x == d->radius_x && c->radius_y == d->radius_y && c->depth == d->depth &&
           c->accum == d->accum && c->mask_bits == d->mask_bits && c->bias == d->bias &&
           c->border == d->border && c->border_value == d->border_value &&
           a->src.channels == b->src.channels && a->src.shift == b->src.shift &&
           memcmp(c->mask, d->mask, weights * sizeof c->mask[0]) == 0;
}

/* A mask that is smaller than the kernel's has zeros around it. */
template <class V>
static void set_mask(struct dense_launch<V> *launch, const struct halo_cuda_call *call)
{
    typedef typename V::Number Number;
    const struct halo_conv *c = call->conv;
    const int shift = V::FLOATS ? call->src.shift : 0, columns = 2 * c->radius_x + 1;
    const uint32_t ones = 0x00010001u;
    for (int y = -c->radius_y; y <= c->radius_y; y++)
        for (int x = -c->radius_x; x <= c->radius_x; x++) {
            const int32_t w = c->mask[(y + c->radius_y) * columns + x + c->radius_x];
            launch->weights[y + V::RADIUS][x + V::RADIUS] =
                V::FLOATS ? (Number)ldexpf((float)w, WEIGHT_BITS - shift) : (Number)w;
        }
    launch->start = V::FLOATS ? (Number)ldexpf((float)c->bias, -UNIT_BITS) : (Number)c->bias;
    launch->scale = ldexpf(1, UNIT_BITS - c->mask_bits - c->depth);
    launch->levels = ldexpf(1, c->depth);
    launch->shift = c->mask_bits;
    launch->border = c->border;
    launch->ghost = ((uint32_t)c->border_value << call->src.shift) * ones;
    launch->keep = (0xffffu << shift & 0xffffu) * ones;
    launch->most = ((uint32_t)halo_sample_max(c->depth) << shift) * ones;
}

template <class V>
static cudaError_t launch_variant(const struct halo_cuda_call *calls, int count)
{
    struct dense_launch<V> launch = {
    };
    int blocks = 0;
    set_mask<V>(&launch, calls);
    for (; launch.count < count; launch.count++) {
        const struct halo_cuda_call *c = &calls[launch.count];
        const dim3 grid = halo_grid(c->src, WIDTH, WARPS * V::ROWS);
        launch.plane[launch.count] = {c->src, c->dst, c->wanted, blocks, (int)grid.x};
        blocks += (int)(grid.x * grid.y);
    }
    return halo_launch_selecting(dense_rows_kernel<V, dense_launch<V>>,
                                 dense_rows_kernel<V, halo_selecting<dense_launch<V>>>, launch,
                                 blocks, {THREADS, 0}, calls);
}

template <typename Number>
static cudaError_t launch_number(const struct halo_cuda_call *calls, int count)
{
    if (calls->src.channels == 2)
        return launch_variant<variant<Number, 1, 2>>(calls, count);
    return radius_of(calls->conv) == 1 ? launch_variant<variant<Number, 1, 1>>(calls, count)
                                       : launch_variant<variant<Number, 2, 1>>(calls, count);
}

static cudaError_t launch_like(const struct halo_cuda_call *calls, int count)
{
    return has_floats(calls->conv) ? launch_number<float>(calls, count)
                                   : launch_number<int>(calls, count);
}

static cudaError_t launch(const struct halo_cuda_call *calls, int count)
{
    cudaError_t status = cudaSuccess;
    for (int first = 0, next; first < count && status == cudaSuccess; first = next) {
        for (next = first + 1; next < count && is_like(&calls[first], &calls[next]);)
            next++;
        status = launch_like(&calls[first], next - first);
    }
    return status;
}

const struct halo_cuda_strategy halo_cuda_dense_rows = {
    .base = {"dense-rows",
             "small dense masks of 16-bit samples from registers, eight outputs in each of several "
             "rows",
             can},
    .launch = launch,
    .selects = halo_cuda_always,
};
