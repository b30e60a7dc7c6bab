/* SPDX-License-Identifier: BSD-2-Clause
 * Separable and dense masks, vectorised along the row; built once for each HALO_ISA.
 *
 * Samples become 16-bit words in rows with their ghost cells filled in, one segment for each channel.
 * The unit of work is a pair of 16-bit values in a 32-bit lane times a pair of weights, the products
 * added (pmaddwd). conv.h gives weights and T less than 2^15, and the sums less than 2^31.
 *
 *   row pass     a load at p + x + 2k holds sample pairs for the outputs x, x + 2, ... and, with the
 *                weights shifted by one tap, for x + 1, x + 3, ...: "even" and "odd" outputs
 *   ring         T of two rows, the upper one in the low half of a lane: "row pairs", even outputs of a
 *                block in one vector and odd ones in the next
 *   column pass  two output rows read the same row pairs, with the weights shifted by one row
 *
 * A band is done in strips of columns, so that ring and rows stay in the cache. */
#include "rows.h"

#include <errno.h>
#include <string.h>

#if defined(__AVX512BW__) || defined(__AVX2__) || defined(__SSE2__)
#include <immintrin.h>
#endif

#if defined(__AVX512BW__)
#define VECTOR 64
#elif defined(__AVX2__)
#define VECTOR 32
#else
#define VECTOR 16
#endif

enum {
    LANES = VECTOR / 4,
    BLOCK = 2 * LANES, /* samples: an even vector and an odd one */
    STEP = 2 * BLOCK,  /* what an inner loop does at once */
    STRIP = 4096,       /* pixels, a multiple of STEP */
    PREFETCH = 2,      /* rows */
    MAX_PAIRS = HALO_MAX_TAPS / 2 + 1,
};

typedef int32_t v32 __attribute__((vector_size(VECTOR), may_alias));
typedef uint32_t u32v __attribute__((vector_size(VECTOR), may_alias));
typedef v32 v32_unaligned __attribute__((aligned(2)));
typedef int64_t v64 __attribute__((vector_size(VECTOR), may_alias));

/* One strip of one band of one job. */
struct strip {
    const struct halo_job *job;
    int x, n;       /* pixels [x, x + n) */
    int width;      /* n rounded up to whole steps: one segment of a ring row or an output row */
    int segment;    /* of a source row: width, halo and what the last load reads beyond */
    int y0, y1;
    uint16_t *rows; /* source rows */
    v32 *ring;      /* row pairs */
    uint16_t *out[2];
};

static inline v32 splat(int32_t v)
{
    return v - (v32){0};
}

static inline v32 load(const uint16_t *p)
{
    return *(const v32_unaligned *)p;
}

/* In each lane: low half of a times low half of w plus high half times high half, all signed. */
static inline v32 dot(v32 a, v32 w)
{
#if defined(__AVX512BW__)
    return (v32)_mm512_madd_epi16((__m512i)a, (__m512i)w);
#elif defined(__AVX2__)
    return (v32)_mm256_madd_epi16((__m256i)a, (__m256i)w);
#elif defined(__SSE2__)
    return (v32)_mm_madd_epi16((__m128i)a, (__m128i)w);
#else
    return (((v32)((u32v)a << 16)) >> 16) * (((v32)((u32v)w << 16)) >> 16) + (a >> 16) * (w >> 16);
#endif
}

static inline int32_t pair(int32_t low, int32_t high)
{
    return (int32_t)((uint32_t)(uint16_t)low | (uint32_t)high << 16);
}

/* Two vectors of values below 2^16 as one, the first in the low halves. */
static inline v32 merge(v32 low, v32 high)
{
    return low | (v32)((u32v)high << 16);
}

/* ---- between planes and 16-bit rows */

static inline uint16_t clip(uint16_t word, int shift, uint16_t max)
{
    const uint16_t v = (uint16_t)(word >> shift);
    return v > max ? max : v;
}

/* n samples of one channel, first counting all channels. */
static void unpack(uint16_t *restrict to, const struct halo_plane *p, const void *row, int first,
                   int n)
{
    const int step = p->channels;
    if (p->depth == 8) {
        const uint8_t *restrict s = (const uint8_t *)row + first;
        if (step == 1) {
            for (int i = 0; i < n; i++)
                to[i] = s[i];
        } else {
            for (int i = 0; i < n; i++)
                to[i] = s[2 * i];
        }
        return;
    }
    const uint16_t *restrict s = (const uint16_t *)row + first;
    const int shift = p->shift;
    const uint16_t max = (uint16_t)halo_sample_max(p->depth);
    if (step == 1) {
        for (int i = 0; i < n; i++)
            to[i] = clip(s[i], shift, max);
    } else {
        for (int i = 0; i < n; i++)
            to[i] = clip(s[2 * i], shift, max);
    }
}

static void fill(uint16_t *to, int v, int n)
{
    for (int i = 0; i < n; i++)
        to[i] = (uint16_t)v;
}

/* One channel of virtual row sy, pixels [x - radius_x, x + n + radius_x). */
static void read_segment(const struct strip *s, uint16_t *to, int sy, int channel)
{
    const struct halo_conv *c = s->job->conv;
    const struct halo_plane *p = &s->job->src;
    const int first = s->x - c->radius_x, end = s->x + s->n + c->radius_x;
    if (sy == HALO_GHOST) {
        fill(to, c->border_value, s->segment);
        return;
    }
    const void *row = halo_plane_row(p, sy);
    const int from = first < 0 ? 0 : first, until = end > p->width ? p->width : end;
    for (int x = first; x < from; x++) {
        const int sx = halo_border_index(x, p->width, c->border);
        to[x - first] = (uint16_t)(sx < 0 ? c->border_value
                                          : halo_row_get(p, row, sx * p->channels + channel));
    }
    unpack(to + (from - first), p, row, from * p->channels + channel, until - from);
    for (int x = until; x < end; x++) {
        const int sx = halo_border_index(x, p->width, c->border);
        to[x - first] = (uint16_t)(sx < 0 ? c->border_value
                                          : halo_row_get(p, row, sx * p->channels + channel));
    }
    fill(to + (end - first), 0, s->segment - (end - first));
}

/* A strip is too narrow for the hardware to see the next row coming. */
static void prefetch_row(const struct strip *s, int y)
{
    const struct halo_plane *p = &s->job->src;
    if (y < 0 || y >= p->height)
        return;
    const int bytes = p->channels * halo_plane_sample_bytes(p);
    const char *row = halo_plane_row(p, y);
    for (int i = s->x * bytes; i < (s->x + s->n) * bytes; i += 64)
        __builtin_prefetch(row + i);
}

static void read_row(const struct strip *s, uint16_t *to, int y)
{
    const int sy = halo_border_index(y, s->job->src.height, s->job->conv->border);
    prefetch_row(s, y + PREFETCH);
    for (int ch = 0; ch < s->job->src.channels; ch++)
        read_segment(s, to + ch * s->segment, sy, ch);
}

static void write_row(const struct strip *s, const uint16_t *restrict from, int y)
{
    const struct halo_plane *p = &s->job->dst;
    const int n = s->n;
    const uint16_t *restrict second = from + s->width;
    if (p->depth == 8) {
        uint8_t *restrict to = (uint8_t *)halo_plane_row(p, y) + s->x * p->channels;
        if (p->channels == 1) {
            for (int i = 0; i < n; i++)
                to[i] = (uint8_t)from[i];
        } else {
            for (int i = 0; i < n; i++) {
                to[2 * i] = (uint8_t)from[i];
                to[2 * i + 1] = (uint8_t)second[i];
            }
        }
        return;
    }
    uint16_t *restrict to = (uint16_t *)halo_plane_row(p, y) + s->x * p->channels;
    const int shift = p->shift;
    if (p->channels == 1) {
        for (int i = 0; i < n; i++)
            to[i] = (uint16_t)(from[i] << shift);
    } else {
        for (int i = 0; i < n; i++) {
            to[2 * i] = (uint16_t)(from[i] << shift);
            to[2 * i + 1] = (uint16_t)(second[i] << shift);
        }
    }
}

/* ---- separable */

struct taps {
    int pairs;               /* radius + 1 */
    int32_t even[MAX_PAIRS]; /* (w0, w1) (w2, w3) ... (w2r, 0) */
    int32_t odd[MAX_PAIRS];  /* (0, w0) (w1, w2) ... (w2r-1, w2r) */
};

static void set_taps(struct taps *t, const int32_t *w, int radius)
{
    t->pairs = radius + 1;
    for (int k = 0; k <= radius; k++) {
        t->even[k] = pair(w[2 * k], k < radius ? w[2 * k + 1] : 0);
        t->odd[k] = pair(k > 0 ? w[2 * k - 1] : 0, w[2 * k]);
    }
}

/* T of n samples of two rows, as row pairs. */
static void row_pass(v32 *restrict to, const uint16_t *restrict a, const uint16_t *restrict b, int n,
                     const struct taps *t, int shift)
{
    const v32 round = splat(1 << (shift - 1));
    for (int x = 0; x < n; x += STEP, to += 4) {
        v32 ae0 = round, ao0 = round, ae1 = round, ao1 = round;
        v32 be0 = round, bo0 = round, be1 = round, bo1 = round;
        for (int k = 0; k < t->pairs; k++) {
            const v32 even = splat(t->even[k]), odd = splat(t->odd[k]);
            const v32 a0 = load(a + x + 2 * k), a1 = load(a + x + 2 * k + BLOCK);
            const v32 b0 = load(b + x + 2 * k), b1 = load(b + x + 2 * k + BLOCK);
            ae0 += dot(a0, even);
            ao0 += dot(a0, odd);
            ae1 += dot(a1, even);
            ao1 += dot(a1, odd);
            be0 += dot(b0, even);
            bo0 += dot(b0, odd);
            be1 += dot(b1, even);
            bo1 += dot(b1, odd);
        }
        to[0] = merge(ae0 >> shift, be0 >> shift);
        to[1] = merge(ao0 >> shift, bo0 >> shift);
        to[2] = merge(ae1 >> shift, be1 >> shift);
        to[3] = merge(ao1 >> shift, bo1 >> shift);
    }
}

/* The row pass of the identity, whose weight does not fit 16 bits: T = p << frac. */
static void row_identity(v32 *restrict to, const uint16_t *restrict a, const uint16_t *restrict b,
                         int n, int frac)
{
    const v32 low = splat(0xffff);
    for (int x = 0; x < n; x += BLOCK, to += 2) {
        const v32 va = load(a + x) << frac, vb = load(b + x) << frac;
        to[0] = (va & low) | (v32)((u32v)vb << 16);
        to[1] = (v32)((u32v)va >> 16) | (vb & ~low);
    }
}

/* Two output rows from t->pairs row pairs. Needs no clamp: the weights are not negative and sum to 1. */
static void column_pass(uint16_t *restrict out0, uint16_t *restrict out1, const v32 *const *ring,
                        int n, const struct taps *t, int shift)
{
    const v32 round = splat(1 << (shift - 1));
    for (int i = 0; i < n / LANES; i += 4) {
        v32 ae0 = round, ao0 = round, ae1 = round, ao1 = round;
        v32 be0 = round, bo0 = round, be1 = round, bo1 = round;
        for (int k = 0; k < t->pairs; k++) {
            const v32 *p = ring[k] + i;
            const v32 wa = splat(t->even[k]), wb = splat(t->odd[k]);
            ae0 += dot(p[0], wa);
            be0 += dot(p[0], wb);
            ao0 += dot(p[1], wa);
            bo0 += dot(p[1], wb);
            ae1 += dot(p[2], wa);
            be1 += dot(p[2], wb);
            ao1 += dot(p[3], wa);
            bo1 += dot(p[3], wb);
        }
        v32 *a = (v32 *)out0 + i / 2, *b = (v32 *)out1 + i / 2;
        a[0] = merge(ae0 >> shift, ao0 >> shift);
        a[1] = merge(ae1 >> shift, ao1 >> shift);
        b[0] = merge(be0 >> shift, bo0 >> shift);
        b[1] = merge(be1 >> shift, bo1 >> shift);
    }
}

static void column_identity(uint16_t *restrict out0, uint16_t *restrict out1, const v32 *ring, int n,
                            int frac)
{
    const v32 low = splat(0xffff), round = splat(1 << (frac - 1));
    for (int i = 0; i < n / LANES; i += 2) {
        const v32 even = ring[i], odd = ring[i + 1];
        *((v32 *)out0 + i / 2) =
            merge(((even & low) + round) >> frac, ((odd & low) + round) >> frac);
        *((v32 *)out1 + i / 2) = merge(((v32)((u32v)even >> 16) + round) >> frac,
                                       ((v32)((u32v)odd >> 16) + round) >> frac);
    }
}

static void separable(const struct strip *s)
{
    const struct halo_conv *c = s->job->conv;
    const int channels = s->job->src.channels, n = s->width * channels;
    const int pairs = c->radius_y + 1;
    struct taps row, col;
    set_taps(&row, c->row, c->radius_x);
    set_taps(&col, c->col, c->radius_y);

    uint16_t *a = s->rows, *b = s->rows + s->segment * channels;
    const v32 *ring[MAX_PAIRS];
    /* Row pair m holds the virtual rows y0 - radius_y + 2m and the one below. */
    const int last = (s->y1 - s->y0 + 1) / 2 + pairs - 1;
    for (int m = 0; m < last; m++) {
        v32 *to = s->ring + (size_t)(m % pairs) * (size_t)(n / LANES);
        read_row(s, a, s->y0 - c->radius_y + 2 * m);
        read_row(s, b, s->y0 - c->radius_y + 2 * m + 1);
        for (int ch = 0; ch < channels; ch++) {
            v32 *t = to + ch * s->width / LANES;
            const uint16_t *pa = a + ch * s->segment, *pb = b + ch * s->segment;
            if (c->radius_x)
                row_pass(t, pa, pb, s->width, &row, c->row_bits - c->frac);
            else
                row_identity(t, pa, pb, s->width, c->frac);
        }
        if (m < pairs - 1)
            continue;
        for (int k = 0; k < pairs; k++)
            ring[k] = s->ring + (size_t)((m + 1 + k) % pairs) * (size_t)(n / LANES);
        if (c->radius_y)
            column_pass(s->out[0], s->out[1], ring, n, &col, c->col_bits + c->frac);
        else
            column_identity(s->out[0], s->out[1], ring[0], n, c->frac);
        const int y = s->y0 + 2 * (m - pairs + 1);
        write_row(s, s->out[0], y);
        if (y + 1 < s->y1)
            write_row(s, s->out[1], y + 1);
    }
}

#include "rows_dense.h"

/* ---- a band */

static int copy(const struct halo_job *job, int y0, int y1)
{
    const struct halo_plane *src = &job->src, *dst = &job->dst;
    const int n = src->width * src->channels;
    for (int y = y0; y < y1; y++) {
        if (src->depth == 8) {
            memcpy(halo_plane_row(dst, y), halo_plane_row(src, y), (size_t)n);
            continue;
        }
        const uint16_t *restrict from = halo_plane_row(src, y);
        uint16_t *restrict to = halo_plane_row(dst, y);
        const int shift = src->shift;
        const uint16_t max = (uint16_t)halo_sample_max(src->depth);
        for (int i = 0; i < n; i++)
            to[i] = (uint16_t)(clip(from[i], shift, max) << shift);
    }
    return 0;
}

static size_t round_up(size_t n, size_t unit)
{
    return (n + unit - 1) / unit * unit;
}

/* Lays the strip's buffers out in the worker's scratch. */
static int prepare(struct strip *s, struct halo_cpu_scratch *scratch)
{
    const struct halo_conv *c = s->job->conv;
    const size_t channels = (size_t)s->job->src.channels;
    const int n = s->job->src.width < STRIP ? s->job->src.width : STRIP;
    s->width = (int)round_up((size_t)n, STEP);
    s->segment = (int)round_up((size_t)(s->width + 2 * c->radius_x + 2), BLOCK);

    const bool two_passes = c->kind == HALO_CONV_SEPARABLE;
    const size_t rows = two_passes ? 2 : 2 * (size_t)c->radius_y + 2;
    const size_t pairs = two_passes ? (size_t)c->radius_y + 1 : 0;
    const size_t row_bytes = rows * (size_t)s->segment * channels * sizeof(uint16_t);
    const size_t ring_bytes = pairs * (size_t)s->width * channels * sizeof(int32_t);
    const size_t out_bytes = (size_t)s->width * channels * sizeof(uint16_t);
    char *data = halo_cpu_scratch_get(scratch, row_bytes + ring_bytes + 2 * out_bytes);
    if (!data)
        return -ENOMEM;
    s->ring = (v32 *)data;
    s->out[0] = (uint16_t *)(data + ring_bytes);
    s->out[1] = (uint16_t *)(data + ring_bytes + out_bytes);
    s->rows = (uint16_t *)(data + ring_bytes + 2 * out_bytes);
    return 0;
}

#define PASTE(name, isa) name##isa
#define BAND(isa) PASTE(halo_rows_band_, isa)

int BAND(HALO_ISA)(const struct halo_job *job, int y0, int y1, struct halo_cpu_scratch *scratch)
{
    if (job->conv->kind == HALO_CONV_COPY)
        return copy(job, y0, y1);

    struct strip s = {.job = job, .y0 = y0, .y1 = y1};
    if (prepare(&s, scratch) < 0)
        return -ENOMEM;
    for (s.x = 0; s.x < job->src.width; s.x += STRIP) {
        s.n = job->src.width - s.x < STRIP ? job->src.width - s.x : STRIP;
        if (job->conv->kind == HALO_CONV_SEPARABLE)
            separable(&s);
        else
            dense(&s);
    }
    return 0;
}
