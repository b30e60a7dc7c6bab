/* SPDX-License-Identifier: BSD-2-Clause
 * Convolutions in vectors of outputs; compiled once for each HALO_ISA.
 *
 *   dense       A tile of ROWS planes x PIXELS cells is kept in registers. The values that the
 *               cells read are first copied into a panel, in which those of one weight follow each
 *               other; then each weight costs a load for each vector of cells, a broadcast for each
 *               plane, and a multiply-add for each pair of these.
 *   depthwise   Rows are copied into lines with zeros at both ends, with the columns for each
 *               remainder by the stride together, so that each tap is a load. Four rows of outputs
 *               at a time share the loads. */
#include <math.h>
#include <string.h>

#include "kernels/net/layers.h"

#if defined(__AVX512F__) || defined(__FMA__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#if defined(__AVX512F__)
#define LANES 16
#define EVEN  0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30
#define ODD   1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31
#elif defined(__FMA__)
#define LANES 8
#define EVEN  0, 2, 4, 6, 8, 10, 12, 14
#define ODD   1, 3, 5, 7, 9, 11, 13, 15
#else
#define LANES 4
#define EVEN  0, 2, 4, 6
#define ODD   1, 3, 5, 7
#endif

enum {
    VECTORS = 3,
    PIXELS = VECTORS * LANES,
/* As many sums as leave registers for the values and weights. */
#if defined(__FMA__) && !defined(__AVX512F__)
    ROWS = 4,
#else
    ROWS = 8,
#endif
};

typedef float number __attribute__((vector_size(LANES * 4), may_alias));
typedef int32_t whole __attribute__((vector_size(LANES * 4), may_alias));
typedef number number_unaligned __attribute__((aligned(4)));

static inline number all(float x)
{
    return x - (number){0};
}

static inline number fused(number a, number b, number c)
{
#if defined(__AVX512F__)
    return (number)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif defined(__FMA__)
    return (number)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#elif defined(__aarch64__)
    return (number)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
#else
    number ret;
    for (int i = 0; i < LANES; i++)
        ret[i] = fmaf(a[i], b[i], c[i]);
    return ret;
#endif
}

static inline number pick(whole condition, number a, number b)
{
    return (number)((condition & (whole)a) | (~condition & (whole)b));
}

static inline number larger(number a, number b)
{
#if defined(__AVX512F__)
    return (number)_mm512_max_ps((__m512)a, (__m512)b);
#elif defined(__FMA__)
    return (number)_mm256_max_ps((__m256)a, (__m256)b);
#elif defined(__aarch64__)
    return (number)vmaxq_f32((float32x4_t)a, (float32x4_t)b);
#else
    return pick(a > b, a, b);
#endif
}

static inline number smaller(number a, number b)
{
#if defined(__AVX512F__)
    return (number)_mm512_min_ps((__m512)a, (__m512)b);
#elif defined(__FMA__)
    return (number)_mm256_min_ps((__m256)a, (__m256)b);
#elif defined(__aarch64__)
    return (number)vminq_f32((float32x4_t)a, (float32x4_t)b);
#else
    return pick(a < b, a, b);
#endif
}

static inline whole as_whole(number x)
{
    return (whole)x;
}

static inline number as_number(whole x)
{
    return (number)x;
}

static inline number load(const float *p)
{
    return *(const number_unaligned *)p;
}

/* The lanes of a and then those of b with even numbers, and with odd ones. */
static inline number even_lanes(number a, number b)
{
    return (number)SHUFFLE((whole)a, (whole)b, EVEN);
}

static inline number odd_lanes(number a, number b)
{
    return (number)SHUFFLE((whole)a, (whole)b, ODD);
}

/* GCC would rather load a vector again than keep it in a register; the empty statement prevents
 * that. */
static inline number keep(number x)
{
#if defined(__AVX512F__)
    __asm__("" : "+v"(x));
#elif defined(__FMA__)
    __asm__("" : "+x"(x));
#elif defined(__aarch64__)
    __asm__("" : "+w"(x));
#endif
    return x;
}

static inline void store(float *p, number x)
{
    *(number_unaligned *)p = x;
}

/* The first n lanes, 0 to LANES; what follows in memory is neither read nor written. */
#if defined(__AVX512F__)
static inline number load_some(const float *p, int n)
{
    return (number)_mm512_maskz_loadu_ps((__mmask16)((1u << n) - 1), p);
}

static inline void store_some(float *p, number x, int n)
{
    _mm512_mask_storeu_ps(p, (__mmask16)((1u << n) - 1), (__m512)x);
}
#elif defined(__FMA__)
static inline __m256i first_lanes(int n)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

static inline number load_some(const float *p, int n)
{
    return (number)_mm256_maskload_ps(p, first_lanes(n));
}

static inline void store_some(float *p, number x, int n)
{
    _mm256_maskstore_ps(p, first_lanes(n), (__m256)x);
}
#else
static inline number load_some(const float *p, int n)
{
    number x = {0};
    for (int i = 0; i < n; i++)
        x[i] = p[i];
    return x;
}

static inline void store_some(float *p, number x, int n)
{
    for (int i = 0; i < n; i++)
        p[i] = x[i];
}
#endif

#include "kernels/net/math_tmpl.h"

/* ---- activations ---- */

/* NONE, RELU and CLAMP are limits. */
struct limits {
    number low, high;
};

static bool has_limits(const struct halo_net_act *act)
{
    return act->kind == HALO_NET_NONE || act->kind == HALO_NET_RELU || act->kind == HALO_NET_CLAMP;
}

static struct limits limits_of(const struct halo_net_act *act)
{
    const bool clamp = act->kind == HALO_NET_CLAMP;
    return (struct limits){
        all(clamp                        ? act->low
            : act->kind == HALO_NET_RELU ? 0.0f
                                         : -INFINITY),
        all(clamp ? act->high : INFINITY),
    };
}

static inline number limit(number x, const struct limits *limits)
{
    return smaller(larger(x, limits->low), limits->high) + 0.0f;
}

/* act(x) + 0.0f */
static number activate(number x, const struct halo_net_act *act)
{
    switch (act->kind) {
    case HALO_NET_LEAKY:
        return pick(x > 0.0f, x, act->slope * x) + 0.0f;
    case HALO_NET_HSWISH:
        return net_hswish(x) + 0.0f;
    case HALO_NET_SIGMOID:
        return net_sigmoid(x) + 0.0f;
    default: {
        const struct limits limits = limits_of(act);
        return limit(x, &limits);
    }
    }
}

/* ---- dense ---- */

/* A tile: planes from `plane` on and cells from `first` on. */
struct tile {
    const struct halo_net_dense *d;
    const struct halo_net_planes *out, *add;
    int plane, rows;
    int first, count;
    bool follow;          /* cells that follow each other do so in out */
    bool limited;         /* the activation is limits */
    struct limits limits; /* if so */
};

/* The tile's cells of plane i in out or add, if they follow each other. */
static inline float *tile_row(const struct tile *t, const struct halo_net_planes *planes, int i)
{
    return planes->data + (size_t)(t->plane + i) * planes->stride +
           (t->first - planes->first * planes->width);
}

/* Computes, for each plane of the tile and each column of the panel, the bias + the products of the
 * weights and values. Stores what is to be done with them in `out`, for a whole tile whose
 * activation is limits, or in sums. `rows` and `vectors` are constants. */
static inline __attribute__((always_inline)) void multiply(const struct tile *t, const float *panel,
                                                           float *sums, const int rows,
                                                           const int vectors)
{
    const int depth = t->d->channels * t->d->taps;
    const float *weights = t->d->weights + (size_t)t->plane * (size_t)depth;
    number acc[ROWS][VECTORS];
#pragma GCC unroll 8
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 3
        for (int v = 0; v < vectors; v++)
            acc[i][v] = all(t->d->bias[t->plane + i]);
    for (int k = 0; k < depth; k++, weights += rows, panel += PIXELS) {
        number x[VECTORS];
#pragma GCC unroll 3
        for (int v = 0; v < vectors; v++)
            x[v] = load(panel + v * LANES);
#pragma GCC unroll 8
        for (int i = 0; i < rows; i++) {
            const number w = all(weights[i]);
#pragma GCC unroll 3
            for (int v = 0; v < vectors; v++)
                acc[i][v] = fused(w, x[v], acc[i][v]);
        }
    }
    const bool direct = t->follow && t->limited && t->count == vectors * LANES;
    const struct limits limits = t->limits;
#pragma GCC unroll 8
    for (int i = 0; i < rows; i++) {
        float *to = direct ? tile_row(t, t->out, i) : sums + i * PIXELS;
        if (direct && t->add) {
            const float *add = tile_row(t, t->add, i);
#pragma GCC unroll 3
            for (int v = 0; v < vectors; v++)
                acc[i][v] = acc[i][v] + load(add + v * LANES);
        }
#pragma GCC unroll 3
        for (int v = 0; v < vectors; v++)
            store(to + v * LANES, direct ? limit(acc[i][v], &limits) : acc[i][v]);
    }
}

static void multiply_tile(const struct tile *t, const float *panel, float *sums)
{
    const int vectors = (t->count + LANES - 1) / LANES;
    switch (t->rows) {
#define CASE(rows)                                                                                 \
    case rows:                                                                                     \
        if (vectors == 1)                                                                          \
            multiply(t, panel, sums, rows, 1);                                                     \
        else if (vectors == 2)                                                                     \
            multiply(t, panel, sums, rows, 2);                                                     \
        else                                                                                       \
            multiply(t, panel, sums, rows, VECTORS);                                               \
        break
        CASE(1);
        CASE(2);
        CASE(3);
        CASE(4);
#if !defined(__FMA__) || defined(__AVX512F__)
        CASE(5);
        CASE(6);
        CASE(7);
        CASE(8);
#endif
#undef CASE
    }
}

/* Adds, activates and stores the sums of a plane's cells, which follow each other. */
static void finish_row(const struct tile *t, const float *sums, int i)
{
    const float *add = t->add ? tile_row(t, t->add, i) : NULL;
    float *to = tile_row(t, t->out, i);
    for (int at = 0; at < t->count; at += LANES) {
        const int n = t->count - at < LANES ? t->count - at : LANES;
        number x = load(sums + at);
        if (add)
            x = x + load_some(add + at, n);
        x = t->limited ? limit(x, &t->limits) : activate(x, &t->d->act);
        store_some(to + at, x, n);
    }
}

/* Likewise if they do not. offsets: of each cell in a plane. */
static void scatter_row(const struct tile *t, const float *sums, int i, const int *offsets)
{
    const size_t plane = (size_t)(t->plane + i);
    const float *add = t->add ? t->add->data + plane * t->add->stride : NULL;
    float *to = t->out->data + plane * t->out->stride;
    for (int at = 0; at < t->count; at += LANES) {
        const int n = t->count - at < LANES ? t->count - at : LANES;
        number x = load(sums + at);
        if (add) {
            number other = {0};
            for (int lane = 0; lane < n; lane++)
                other[lane] = add[offsets[at + lane]];
            x = x + other;
        }
        float values[LANES];
        store(values, t->limited ? limit(x, &t->limits) : activate(x, &t->d->act));
        for (int lane = 0; lane < n; lane++)
            to[offsets[at + lane]] = values[lane];
    }
}

static void finish_tile(const struct tile *t, const float *sums)
{
    const struct halo_net_dense *d = t->d;
    if (t->follow) {
        const bool done = t->limited && t->count % LANES == 0;
        for (int i = 0; i < t->rows && !done; i++)
            finish_row(t, sums + i * PIXELS, i);
        return;
    }
    int offsets[PIXELS], y = t->first / d->width, x = t->first % d->width;
    for (int i = 0; i < t->count; i++) {
        offsets[i] = (y * d->step_y + d->top) * t->out->width + x * d->step_x + d->left;
        if (++x == d->width)
            y++, x = 0;
    }
    for (int i = 0; i < t->rows; i++)
        scatter_row(t, sums + i * PIXELS, i, offsets);
}

/* Copies n values; nothing beyond them is written. */
static inline void copy(float *restrict to, const float *restrict from, int n)
{
    int i = 0;
    for (; i + LANES <= n; i += LANES)
        store(to + i, load(from + i));
    if (i < n)
        store_some(to + i, load_some(from + i, n - i), n - i);
}

/* Copies n values of a row from column x on, every `stride`th; beyond the row they are 0. */
static inline void gather(float *restrict to, const float *restrict row, int width, int x,
                          int stride, int n)
{
    int i = 0;
    for (; i < n && x < 0; i++, x += stride)
        to[i] = 0.0f;
    int end = x < width ? i + (width - 1 - x) / stride + 1 : i;
    end = end < n ? end : n;
    const float *from = row + x;
    if (stride == 1) {
        copy(to + i, from, end - i);
        i = end;
    } else if (stride == 2) {
        for (; i + LANES < end; i += LANES, from += 2 * LANES)
            store(to + i, even_lanes(load(from), load(from + LANES)));
    }
    for (; i < end; i++, from += stride)
        to[i] = *from;
    for (; i < n; i++)
        to[i] = 0.0f;
}

/* For each channel and tap, what `count` cells from `first` on read, in a panel. */
static void fill_panel(const struct halo_net_dense *d, const struct halo_net_planes *in, int first,
                       int count, float *panel)
{
    const int y0 = first / d->width, x0 = first % d->width;
    for (int c = 0; c < d->channels; c++)
        for (int t = 0; t < d->taps; t++, panel += PIXELS) {
            int at = 0;
            for (int y = y0, x = x0; at < count; y++, x = 0) {
                const int left = d->width - x < count - at ? d->width - x : count - at;
                const int row = y * d->stride_y + d->tap[t].y;
                if (row < 0 || row >= in->height)
                    memset(panel + at, 0, (size_t)left * sizeof *panel);
                else
                    gather(panel + at, halo_net_row(in, c, row), in->width,
                           x * d->stride_x + d->tap[t].x, d->stride_x, left);
                at += left;
            }
            for (; at < PIXELS; at++)
                panel[at] = 0.0f;
        }
}

/* The panels of the cells first to end - 1. Cells that read only their own pixel are copied. */
static void fill_panels(const struct halo_net_dense *d, const struct halo_net_planes *in, int first,
                        int end, float *panel)
{
    const size_t floats = (size_t)d->channels * (size_t)d->taps * PIXELS;
    const bool pointwise = d->taps == 1 && d->stride_x == 1 && d->stride_y == 1 &&
                           d->tap[0].x == 0 && d->tap[0].y == 0 && d->width == in->width;
    if (!pointwise) {
        for (; first < end; first += PIXELS, panel += floats)
            fill_panel(d, in, first, end - first < PIXELS ? end - first : PIXELS, panel);
        return;
    }
    const float *plane = in->data + first - (ptrdiff_t)in->first * in->width;
    for (int c = 0; c < d->channels; c++, plane += in->stride) {
        float *to = panel + c * PIXELS;
        const float *from = plane;
        int left = end - first;
        for (; left >= PIXELS; left -= PIXELS, from += PIXELS, to += floats)
#pragma GCC unroll 3
            for (int v = 0; v < VECTORS; v++)
                store(to + v * LANES, load(from + v * LANES));
        for (int v = 0; v < VECTORS && left > 0; v++) {
            const int rest = left - v * LANES;
            const int n = rest < 0 ? 0 : rest < LANES ? rest : LANES;
            store(to + v * LANES, n > 0 ? load_some(from + v * LANES, n) : all(0.0f));
        }
    }
}

/* Tiles in blocks: a block's panels stay in the cache, and what is read and written of a plane at a
 * time is long enough to be fetched ahead. */
static void dense(const struct halo_net_dense *d, const struct halo_net_planes *in,
                  const struct halo_net_planes *out, const struct halo_net_planes *add,
                  const struct halo_net_cells *cells, float *panel)
{
    float *sums = panel;
    panel += HALO_NET_TILE;
    const size_t floats = (size_t)d->channels * (size_t)d->taps * PIXELS;
    const int tiles = halo_net_panels(floats);
    struct tile t = {d, out, add, 0, 0, 0, 0, .limited = has_limits(&d->act)};
    t.limits = limits_of(&d->act);
    t.follow = d->step_x == 1 && d->step_y == 1 && d->width == out->width;
    for (int first = cells->first; first < cells->end; first += tiles * PIXELS) {
        const int end = first + tiles * PIXELS < cells->end ? first + tiles * PIXELS : cells->end;
        fill_panels(d, in, first, end, panel);
        for (int p = cells->plane0; p < cells->plane1; p += ROWS) {
            t.plane = p;
            t.rows = cells->plane1 - p < ROWS ? cells->plane1 - p : ROWS;
            const float *from = panel;
            for (int cell = first; cell < end; cell += PIXELS, from += floats) {
                t.first = cell;
                t.count = end - cell < PIXELS ? end - cell : PIXELS;
                multiply_tile(&t, from, sums);
                finish_tile(&t, sums);
            }
        }
    }
}

/* ---- depthwise ---- */

/* The lines of one plane of the input: a ring, and a line of zeros. */
struct lines {
    const struct halo_net_layer *layer;
    const struct halo_net_planes *in, *out;
    int plane;
    size_t phase, length; /* floats for a remainder of columns, and for all of them */
    int mask;             /* of a row's number: its place in the ring */
    float *memory;
    bool limited; /* the activation is limits */
    struct limits limits;
};

/* Copies a row of the input into its line: column x is in the phase (x + left) % stride. Zeros at
 * both ends stay from row to row. */
static void fill_line(const struct lines *s, int y)
{
    const struct halo_net_layer *l = s->layer;
    const int width = s->in->width, left = l->left;
    const float *restrict row = halo_net_row(s->in, s->plane, y);
    float *restrict to = s->memory + (size_t)(y & s->mask) * s->length;
    if (l->stride_x == 1) {
        copy(to + left, row, width);
        return;
    }
    int x = 0;
    if (l->stride_x == 2) {
        float *even = to + (left % 2 ? s->phase : 0) + left / 2;
        float *odd = to + (left % 2 ? 0 : s->phase) + (left + 1) / 2;
        for (; x + 2 * LANES <= width; x += 2 * LANES) {
            const number a = load(row + x), b = load(row + x + LANES);
            store(even + x / 2, even_lanes(a, b));
            store(odd + x / 2, odd_lanes(a, b));
        }
    }
    for (; x < width; x++)
        to[(size_t)((x + left) % l->stride_x) * s->phase + (size_t)((x + left) / l->stride_x)] =
            row[x];
}

static inline const float *line(const struct lines *s, int y)
{
    const bool outside = y < 0 || y >= s->in->height;
    return s->memory + (size_t)(outside ? s->mask + 1 : y & s->mask) * s->length;
}

/* The size and strides of a kernel, and how many rows of outputs are computed at the same time:
 * constants where it matters. */
struct shape {
    int kernel_x, kernel_y, stride_x, stride_y, rows;
};

static inline __attribute__((always_inline)) void slide(const struct lines *s, int y,
                                                        const struct shape shape)
{
    const struct halo_net_layer *l = s->layer;
    const struct limits limits = s->limits;
    const int taps = shape.kernel_x * shape.kernel_y;
    const int span = shape.kernel_y + (shape.rows - 1) * shape.stride_y;
    const float *from[HALO_NET_MAX_KERNEL + (HALO_NET_LINES - 1) * HALO_NET_MAX_STRIDE];
    float *to[HALO_NET_LINES];
    number w[HALO_NET_MAX_KERNEL * HALO_NET_MAX_KERNEL];
    const number bias = all(l->bias[s->plane]);
#pragma GCC unroll 25
    for (int i = 0; i < taps; i++)
        w[i] = all(l->weights[s->plane * taps + i]);
#pragma GCC unroll 11
    for (int i = 0; i < span; i++)
        from[i] = line(s, y * shape.stride_y - l->top + i);
#pragma GCC unroll 4
    for (int r = 0; r < shape.rows; r++)
        to[r] = halo_net_row(s->out, s->plane, y + r);
    for (int x = 0; x < s->out->width; x += LANES) {
        number acc[HALO_NET_LINES];
#pragma GCC unroll 4
        for (int r = 0; r < shape.rows; r++)
            acc[r] = bias;
#pragma GCC unroll 11
        for (int i = 0; i < span; i++)
#pragma GCC unroll 7
            for (int j = 0; j < shape.kernel_x; j++) {
                const size_t phase = (size_t)(j % shape.stride_x) * s->phase;
                const number v = keep(load(from[i] + phase + x + j / shape.stride_x));
#pragma GCC unroll 4
                for (int r = 0; r < shape.rows; r++) {
                    const int row = i - r * shape.stride_y;
                    if (row >= 0 && row < shape.kernel_y)
                        acc[r] = fused(w[row * shape.kernel_x + j], v, acc[r]);
                }
            }
        const int left = s->out->width - x;
#pragma GCC unroll 4
        for (int r = 0; r < shape.rows; r++) {
            const number result = s->limited ? limit(acc[r], &limits) : activate(acc[r], &l->act);
            if (left >= LANES)
                store(to[r] + x, result);
            else
                store_some(to[r] + x, result, left);
        }
    }
}

/* Four rows, or one. */
static void slide_rows(const struct lines *s, int y, int rows)
{
    const struct halo_net_layer *l = s->layer;
    const int kernel = l->kernel_x == l->kernel_y ? l->kernel_x : 0;
    const int stride = l->stride_x == l->stride_y ? l->stride_x : 0;
    if (rows == HALO_NET_LINES) {
        switch (kernel * 16 + stride) {
        case 0x31:
            slide(s, y, (struct shape){3, 3, 1, 1, HALO_NET_LINES});
            return;
        case 0x32:
            slide(s, y, (struct shape){3, 3, 2, 2, HALO_NET_LINES});
            return;
        case 0x51:
            slide(s, y, (struct shape){5, 5, 1, 1, HALO_NET_LINES});
            return;
        case 0x52:
            slide(s, y, (struct shape){5, 5, 2, 2, HALO_NET_LINES});
            return;
        }
    }
    for (int r = 0; r < rows; r++)
        slide(s, y + r, (struct shape){l->kernel_x, l->kernel_y, l->stride_x, l->stride_y, 1});
}

static void depthwise(const struct halo_net_layer *l, const struct halo_net_planes *in,
                      const struct halo_net_planes *out, const struct halo_net_part *part,
                      float *lines)
{
    struct lines s = {l, in, out, .phase = halo_net_phase_floats(out->width), .memory = lines};
    s.length = s.phase * (size_t)l->stride_x;
    s.mask = halo_net_ring_lines(l) - 1;
    s.limited = has_limits(&l->act);
    s.limits = limits_of(&l->act);
    memset(lines, 0, halo_net_lines_floats(l, out->width) * sizeof *lines);
    for (s.plane = part->plane0; s.plane < part->plane1; s.plane++) {
        int next = part->row0 * l->stride_y - l->top;
        for (int y = part->row0, rows; y < part->row1; y += rows) {
            rows = part->row1 - y < HALO_NET_LINES ? part->row1 - y : HALO_NET_LINES;
            if (rows < HALO_NET_LINES && y > part->row0) { /* some of them again */
                y = part->row1 - HALO_NET_LINES;
                rows = HALO_NET_LINES;
            }
            const int end = (y + rows - 1) * l->stride_y - l->top + l->kernel_y;
            for (; next < end; next++)
                if (next >= 0 && next < in->height)
                    fill_line(&s, next);
            slide_rows(&s, y, rows);
        }
    }
}

#define CODE_(isa) halo_net_code_##isa
#define CODE(isa)  CODE_(isa)

const struct halo_net_code CODE(HALO_ISA) = {
    .rows = ROWS,
    .pixels = PIXELS,
    .plain = HALO_NET_NAME(plain, HALO_ISA),
    .dense = dense,
    .depthwise = depthwise,
};
