/* SPDX-License-Identifier: BSD-2-Clause
 * Strategy gradient-rows: a thread computes eight outputs in each of ROWS rows, from registers.
 *
 *      before   own cells   after       Three rows are in registers, the next one pushes the oldest
 *      +-----+-------------+-----+      out. Neighbouring threads read the words at the sides, too,
 *      | . h | o o o ... o | h . |      from the cache: there is no shared memory and no barrier.
 *      +-----+-------------+-----+
 *
 * Each product with a row of a mask is one instruction for three cells of 8 bits (dp4a) and one for
 * two cells of 16 bits (dp2a), whose weights are bytes. Wider weights are split into two digits.
 *
 * If the sum of the squares needs no scale, its root is that of t + 1/2, computed with an error of
 * at most 2^-23 of it (sqrt.approx, PTX ISA): for t = n^2 it is above n, and for t = n^2 - 1 below
 * n, by almost 1/(4 n), which is twice the error where n is 2^10. */
#include "kernels/cuda/gradient.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/select.cuh"

enum {
    WARP = 32,
    WARPS = 4,
    THREADS = WARP * WARPS,
    CELLS = 8, /* outputs of a thread in a row */
    ROWS = 4,
    WIDTH = WARP * CELLS,
    DIGIT_BITS = 7,
    MAX_WEIGHT = 127 << DIGIT_BITS, /* of two digits */
    FORMS = 6,
};

/* Bytes of weights, as the instructions take them. */
struct row_weights {
    uint32_t form[FORMS];
};

struct gradient_plane {
    struct halo_plane src, dst;
    struct halo_pass pass;
    struct halo_root root;
    struct row_weights weights[2][2][3]; /* mask, digit, row */
    struct halo_cuda_wanted wanted;
    int first_block, across;
};

struct gradient_launch {
    struct gradient_plane plane[HALO_CUDA_MAX_PLANES];
    int count;
};

/* What a kernel is compiled for. */
template <typename SAMPLE, int CHANNELS_, int DIGITS_, bool PLAIN_>
struct variant {
    typedef SAMPLE Sample;
    enum {
        BYTES = sizeof(SAMPLE),
        CHANNELS = CHANNELS_,
        DIGITS = DIGITS_,
        IN_WORD = 4 / BYTES,             /* cells */
        WORDS = 2 + CELLS / (4 / BYTES), /* of a row, with those at its sides */
    };
    static const bool PLAIN = PLAIN_; /* of the root: no scale, no bias */
};

static __device__ inline int dot4(uint32_t cells, uint32_t weights, int sum)
{
    int ret;
    asm("dp4a.u32.s32 %0, %1, %2, %3;" : "=r"(ret) : "r"(cells), "r"(weights), "r"(sum));
    return ret;
}

static __device__ inline int dot2(uint32_t cells, uint32_t weights, int sum)
{
    int ret;
    asm("dp2a.lo.u32.s32 %0, %1, %2, %3;" : "=r"(ret) : "r"(cells), "r"(weights), "r"(sum));
    return ret;
}

/* Puts the value into cell `at` of the words, counted from the first one's first. */
template <class V>
static __device__ inline void set_cell(uint32_t (&words)[V::WORDS], int at, uint32_t value)
{
    const int bits = 8 * V::BYTES, shift = at % V::IN_WORD * bits;
    const uint32_t mask = ((1u << bits) - 1) << shift;
#pragma unroll
    for (int k = 0; k < V::WORDS; k++)
        if (k == at / V::IN_WORD)
            words[k] = (words[k] & ~mask) | value << shift;
}

/* Where a thread's neighbours are in each row, with the border: elements, or HALO_GHOST. */
struct sides {
    int before, after;
};

/* The cells of one pixel, or the ghost cell's value. */
template <class V>
static __device__ inline uint32_t load_pixel(const char *row, int e, const struct gradient_plane &p)
{
    const char *at = row + e * V::BYTES;
    if (e == HALO_GHOST)
        return p.pass.ghost * (V::BYTES == 1 ? 0x01010101u : 0x00010001u);
    const uint32_t cells = V::BYTES * V::CHANNELS == 1   ? *(const uint8_t *)at
                           : V::BYTES * V::CHANNELS == 2 ? *(const uint16_t *)at
                                                         : *(const uint32_t *)at;
    return V::BYTES == 1 ? cells : halo_sample_pair(cells, p.src);
}

/* The cells from e - IN_WORD on; only the last pixel of the first word and the first one of the
 * last word are set. INSIDE: the row is one of the plane. */
template <class V, bool INSIDE>
static __device__ inline void load_words(uint32_t (&words)[V::WORDS],
                                         const struct gradient_plane &p, int e, int y,
                                         const struct sides &sides)
{
    const int row = INSIDE ? y : halo_border_index(y, p.src.height, p.pass.border);
    if (!INSIDE && row == HALO_GHOST) {
#pragma unroll
        for (int k = 0; k < V::WORDS; k++)
            words[k] = p.pass.ghost * (V::BYTES == 1 ? 0x01010101u : 0x00010001u);
        return;
    }
    const char *from = (const char *)p.src.data + row * p.src.stride;
    if (V::BYTES == 1) {
        const uint2 own = *(const uint2 *)(from + e);
        words[1] = own.x;
        words[2] = own.y;
    } else {
        const uint4 own = *(const uint4 *)(from + 2 * e);
        words[1] = halo_sample_pair(own.x, p.src);
        words[2] = halo_sample_pair(own.y, p.src);
        words[V::WORDS - 3] = halo_sample_pair(own.z, p.src);
        words[V::WORDS - 2] = halo_sample_pair(own.w, p.src);
    }
    words[0] = load_pixel<V>(from, sides.before, p) << (32 - 8 * V::BYTES * V::CHANNELS) % 32;
    words[V::WORDS - 1] = load_pixel<V>(from, sides.after, p);
    const int left = p.src.width * V::CHANNELS - e; /* cells from e on */
    if (left >= CELLS)
        return;
#pragma unroll
    for (int c = 0; c < V::CHANNELS; c++)
        set_cell<V>(words, V::IN_WORD + left + c,
                    words[V::WORDS - 1] >> 8 * V::BYTES * c & ((1u << 8 * V::BYTES) - 1));
}

/* A row in the layout of its products. */
template <class V>
struct row {
    uint32_t cells[V::BYTES == 1 ? (int)CELLS : (int)V::WORDS];
};

/* 8 bits: for each output, its cell and the ones before and after it, in the lower three bytes. */
template <class V, bool INSIDE>
static __device__ inline void load_row(struct row<V> &ret, const struct gradient_plane &p, int e,
                                       int y, const struct sides &sides)
{
    uint32_t w[V::WORDS];
    load_words<V, INSIDE>(w, p, e, y, sides);
    if (V::BYTES == 2) {
#pragma unroll
        for (int k = 0; k < V::WORDS; k++)
            ret.cells[k] = w[k];
        return;
    }
    if (V::CHANNELS == 1) {
        ret.cells[0] = __funnelshift_r(w[0], w[1], 24);
        ret.cells[1] = w[1];
        ret.cells[2] = __funnelshift_r(w[1], w[2], 8);
        ret.cells[3] = __funnelshift_r(w[1], w[2], 16);
        ret.cells[4] = __funnelshift_r(w[1], w[2], 24);
        ret.cells[5] = w[2];
        ret.cells[V::WORDS + 2] = __funnelshift_r(w[2], w[3], 8);
        ret.cells[V::WORDS + 3] = __funnelshift_r(w[2], w[3], 16);
        return;
    }
    const uint32_t u = __byte_perm(w[1], w[2], 0x6420), v = __byte_perm(w[1], w[2], 0x7531);
    ret.cells[0] = __byte_perm(w[0], u, 0x0542);
    ret.cells[1] = __byte_perm(w[0], v, 0x0543);
    ret.cells[2] = u;
    ret.cells[3] = v;
    ret.cells[4] = u >> 8;
    ret.cells[5] = v >> 8;
    ret.cells[V::WORDS + 2] = __byte_perm(u, w[3], 0x0432);
    ret.cells[V::WORDS + 3] = __byte_perm(v, w[3], 0x0532);
}

/* The product of a row with the three weights at output i, plus sum. */
template <class V>
static __device__ inline int dot(const struct row<V> &row, const struct row_weights &w, int i,
                                 int sum)
{
    if (V::BYTES == 1)
        return dot4(row.cells[i], w.form[0], sum);
    const int own = 1 + i / 2; /* the word with the cell */
    if (V::CHANNELS == 1)
        return i % 2 == 0
                   ? dot2(row.cells[own - 1], w.form[0], dot2(row.cells[own], w.form[1], sum))
                   : dot2(row.cells[own], w.form[2], dot2(row.cells[own + 1], w.form[3], sum));
    const uint32_t *weight = w.form + (i % 2 == 0 ? 0 : 3);
    sum = dot2(row.cells[own - 1], weight[0], sum);
    sum = dot2(row.cells[own], weight[1], sum);
    return dot2(row.cells[own + 1], weight[2], sum);
}

/* The sum of a mask at output i; first: index of the row above the output's. */
template <class V>
static __device__ inline int sum_of(const struct row<V> (&rows)[3], int first, int i,
                                    const struct row_weights (&weights)[2][3])
{
    int low = 0, high = 0;
#pragma unroll
    for (int j = 0; j < 3; j++) {
        low = dot<V>(rows[(first + j) % 3], weights[0][j], i, low);
        if (V::DIGITS == 2)
            high = dot<V>(rows[(first + j) % 3], weights[1][j], i, high);
    }
    return V::DIGITS == 2 ? low + (high << DIGIT_BITS) : low;
}

/* The sample is in the lowest bytes. */
template <class V>
static __device__ inline uint32_t finish(int a, int b, const struct gradient_plane &p)
{
    if (!V::PLAIN) {
        const int64_t value = halo_root_finish<int32_t>(a, b, p.root);
        const int max = halo_sample_max(p.src.depth);
        return (uint32_t)(value < 0 ? 0 : value > max ? max : value);
    }
    const uint32_t t = min((uint32_t)(a * a + b * b), (uint32_t)p.root.limit);
    /* An integer below 2^23 in the lower bits of 2^23 as a float, and back: */
    const float half_more = __uint_as_float(t | 0x4b000000u) - 8388607.5f;
    float root;
    asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(root) : "f"(half_more));
    return __float_as_uint(__fadd_rd(root, 8388608.0f));
}

template <class V>
static __device__ inline void store(const uint32_t (&out)[CELLS], const struct gradient_plane &p,
                                    int e, int y)
{
    char *to = (char *)p.dst.data + y * p.dst.stride + e * V::BYTES;
    uint32_t pair[CELLS / 2];
#pragma unroll
    for (int k = 0; k < CELLS / 2; k++)
        pair[k] = __byte_perm(out[2 * k], out[2 * k + 1], V::BYTES == 1 ? 0x0040 : 0x5410);
    if (V::BYTES == 1) {
        uint32_t words[2] = {__byte_perm(pair[0], pair[1], 0x5410),
                             __byte_perm(pair[2], pair[3], 0x5410)};
        *(uint2 *)to = make_uint2(words[0], words[1]);
    } else {
        uint32_t words[4] = {pair[0] << p.dst.shift, pair[1] << p.dst.shift, pair[2] << p.dst.shift,
                             pair[3] << p.dst.shift};
        *(uint4 *)to = make_uint4(words[0], words[1], words[2], words[3]);
    }
}

/* The outputs of a row; first: index of the row above it. */
template <class V>
static __device__ inline void filter_row(const struct row<V> (&rows)[3], int first,
                                         const struct gradient_plane &p, int e, int y)
{
    uint32_t out[CELLS];
#pragma unroll
    for (int i = 0; i < CELLS; i++)
        out[i] = finish<V>(sum_of<V>(rows, first, i, p.weights[0]),
                           sum_of<V>(rows, first, i, p.weights[1]), p);
    store<V>(out, p, e, y);
}

/* The outputs of a thread. Where all rows are inside, there are no branches, so that they are
 * loaded ahead. */
template <class V, bool INSIDE>
static __device__ inline void filter(const struct gradient_plane &p, int e, int top,
                                     const struct sides &sides)
{
    struct row<V> rows[3];
    load_row<V, INSIDE>(rows[0], p, e, top - 1, sides);
    load_row<V, INSIDE>(rows[1], p, e, top, sides);
#pragma unroll
    for (int y = 0; y < ROWS; y++) {
        if (!INSIDE && top + y >= p.src.height)
            return;
        load_row<V, INSIDE>(rows[(y + 2) % 3], p, e, top + y + 1, sides);
        filter_row<V>(rows, y % 3, p, e, top + y);
    }
}

template <class V, class Launch>
static __global__ void __launch_bounds__(THREADS)
    gradient_rows_kernel(const __grid_constant__ Launch launch)
{
    halo_wait_for_kernel_before();
    const struct gradient_plane &p = halo_plane_of(launch);
    const int block = (int)blockIdx.x - p.first_block, down = block / p.across;
    const int left = (block - down * p.across) * WIDTH, e = left + threadIdx.x % WARP * CELLS;
    const int top = (down * WARPS + threadIdx.x / WARP) * ROWS;
    const int count = p.src.width * V::CHANNELS;
    if (top >= p.src.height)
        return;
    const enum halo_share share =
        halo_begin_tile<V::BYTES, WIDTH, ROWS, WARP>(launch, p, p.src, left, top);
    if (share == HALO_SHARE_NONE)
        return;
    const struct sides sides = {
        halo_border_element(e - V::CHANNELS, p.src, p.pass.border),
        halo_border_element(min(e + (int)CELLS, count), p.src, p.pass.border)};
    if (e < count && top > 0 && top + ROWS < p.src.height)
        filter<V, true>(p, e, top, sides);
    else if (e < count)
        filter<V, false>(p, e, top, sides);
    halo_finish_tile<V::BYTES, WIDTH, ROWS, WARP>(share, launch, p, p.src, left, top);
}

/* ---- host ---- */

/* The root needs neither scale nor bias, and the squares fit 32 bits. */
static bool is_plain(const struct halo_conv *conv)
{
    int64_t sums[2] = {0, 0};
    for (int k = 0; k < 18; k++)
        sums[k / 9] += abs(conv->mask[k]);
    const int64_t most = (sums[0] > sums[1] ? sums[0] : sums[1]) * halo_sample_max(conv->depth);
    return conv->scale == 1 && conv->scale_bits == 0 && conv->bias == 0 && conv->mask_bits == 0 &&
           conv->limit < 1 << 20 && most < 46340; /* the root of 2^31 */
}

static bool has_two_digits(const struct halo_conv *conv)
{
    for (int k = 0; k < 18; k++)
        if (conv->mask[k] < INT8_MIN || conv->mask[k] > INT8_MAX)
            return true;
    return false;
}

static bool can(const struct halo_conv *conv, int channels)
{
    if (conv->kind != HALO_CONV_GRADIENT || conv->accum != HALO_ACCUM_I32 || channels > 2)
        return false;
    for (int k = 0; k < 18; k++)
        if (abs(conv->mask[k]) > MAX_WEIGHT)
            return false;
    return true;
}

static uint32_t bytes_of(int a, int b, int c)
{
    return (uint8_t)a | (uint32_t)(uint8_t)b << 8 | (uint32_t)(uint8_t)c << 16;
}

/* w: the weights of the cells before, of and after the output. */
static void set_forms(struct row_weights *ret, const int *w, int bytes, int channels)
{
    if (bytes == 1) {
        ret->form[0] = bytes_of(w[0], w[1], w[2]);
    } else if (channels == 1) {
        ret->form[0] = bytes_of(0, w[0], 0); /* outputs in the first half of a word */
        ret->form[1] = bytes_of(w[1], w[2], 0);
        ret->form[2] = bytes_of(w[0], w[1], 0); /* in the second half */
        ret->form[3] = bytes_of(w[2], 0, 0);
    } else {
        for (int k = 0; k < 3; k++) {
            ret->form[k] = bytes_of(w[k], 0, 0);
            ret->form[3 + k] = bytes_of(0, w[k], 0);
        }
    }
}

static void set_weights(struct gradient_plane *p, const struct halo_conv *conv)
{
    const int bytes = halo_plane_sample_bytes(&p->src);
    const bool two = has_two_digits(conv);
    for (int m = 0; m < 2; m++)
        for (int j = 0; j < 3; j++) {
            int low[3], high[3];
            for (int i = 0; i < 3; i++) {
                const int w = conv->mask[9 * m + 3 * j + i];
                high[i] = two ? w >> DIGIT_BITS : 0;
                low[i] = w - high[i] * (1 << DIGIT_BITS);
            }
            set_forms(&p->weights[m][0][j], low, bytes, p->src.channels);
            set_forms(&p->weights[m][1][j], high, bytes, p->src.channels);
        }
}

static void add_plane(struct gradient_launch *launch, int *blocks, const struct halo_cuda_call *c)
{
    struct gradient_plane *p = &launch->plane[launch->count++];
    const dim3 grid = halo_grid(c->src, WIDTH, WARPS * ROWS);
    p->src = c->src;
    p->dst = c->dst;
    p->pass.border = c->conv->border;
    p->pass.ghost = c->conv->border_value;
    p->root = halo_root_of(c->conv);
    p->wanted = c->wanted;
    p->first_block = *blocks;
    p->across = (int)grid.x;
    set_weights(p, c->conv);
    *blocks += (int)(grid.x * grid.y);
}

/* Which kernel filters the plane. */
static int number_of(const struct halo_cuda_call *c)
{
    return (halo_plane_sample_bytes(&c->src) - 1) | (c->src.channels - 1) << 1 |
           has_two_digits(c->conv) << 2 | is_plain(c->conv) << 3;
}

typedef cudaError_t launch_kernel(const struct gradient_launch &launch, int blocks,
                                  const struct halo_cuda_call *call);

template <class V>
static cudaError_t launch_variant(const struct gradient_launch &launch, int blocks,
                                  const struct halo_cuda_call *call)
{
    return halo_launch_selecting(gradient_rows_kernel<V, gradient_launch>,
                                 gradient_rows_kernel<V, halo_selecting<gradient_launch>>, launch,
                                 blocks, {THREADS, 0}, call);
}

template <typename Sample, int CHANNELS>
static launch_kernel *kernel_of(bool two, bool plain)
{
    return two     ? plain ? launch_variant<variant<Sample, CHANNELS, 2, true>>
                           : launch_variant<variant<Sample, CHANNELS, 2, false>>
               : plain ? launch_variant<variant<Sample, CHANNELS, 1, true>>
                   : launch_variant<variant<Sample, CHANNELS, 1, false>>;
}

static launch_kernel *choose(int number)
{
    const bool two = number & 4, plain = number & 8;
    switch (number & 3) {
    case 0:
        return kernel_of<uint8_t, 1>(two, plain);
    case 1:
        return kernel_of<uint16_t, 1>(two, plain);
    case 2:
        return kernel_of<uint8_t, 2>(two, plain);
    default:
        return kernel_of<uint16_t, 2>(two, plain);
    }
}

static cudaError_t launch(const struct halo_cuda_call *calls, int count)
{
    cudaError_t status = cudaSuccess;
    for (int i = 0; i < count && status == cudaSuccess;) {
        struct gradient_launch launch = {};
        const int number = number_of(&calls[i]), first = i;
        int blocks = 0;
        for (; i < count && number_of(&calls[i]) == number; i++)
            add_plane(&launch, &blocks, &calls[i]);
        status = choose(number)(launch, blocks, &calls[first]);
    }
    return status;
}

const struct halo_cuda_strategy halo_cuda_gradient_rows = {
    .base = {"gradient-rows", "gradients from registers, eight outputs in each of several rows",
             can},
    .launch = launch,
    .selects = halo_cuda_always,
};
