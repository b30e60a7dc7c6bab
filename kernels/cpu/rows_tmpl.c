/* SPDX-License-Identifier: BSD-2-Clause
 * Separable and dense masks, gradients and blocks of one colour, vectorised along the row; built
 * once for each HALO_ISA.
 *
 * Samples become 16-bit words in rows with their ghost cells filled in, one segment a channel. The
 * unit of work is a pair of 16-bit values in a 32-bit lane times a pair of weights, the products
 * added (pmaddwd). conv.h gives weights and T below 2^15, and sums below 2^31; masks that need more
 * are in rows_wide_tmpl.h.
 *
 *   row pass     a load at p + x + 2k holds sample pairs for the outputs x, x + 2, ... ("even"),
 *                and, with the weights shifted by one tap, for x + 1, x + 3, ... ("odd")
 *   ring         T of two rows, the upper one in the low half of a lane: "row pairs", even outputs
 *                of a block in one vector and odd ones in the next
 *   column pass  two output rows read the same row pairs, with the weights shifted by one row
 *
 * A band is done in strips of columns, so that ring and rows stay in the second-level cache. */
#include <errno.h>
#include <string.h>

#include "rows_vector_tmpl.h"
#include "rows_planes_tmpl.h"

enum {
    /* Pixels of a strip, multiples of STEP; narrower ones pay for it in TLB misses. */
    STRIP = 4096,
    WIDE_STRIP = 1024, /* its ring has doubles */
    MAX_PAIRS = HALO_MAX_TAPS / 2 + 1,
};

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
static void row_pass(v32 *restrict to, const uint16_t *restrict a, const uint16_t *restrict b,
                     int n, const struct taps *t, int shift)
{
    const v32 round = splat(1 << (shift - 1));
    for (int x = 0; x < n; x += STEP, to += 4) {
        v32 ae0 = round, ao0 = round, ae1 = round, ao1 = round;
        v32 be0 = round, bo0 = round, be1 = round, bo1 = round;
        for (int k = 0; k < t->pairs; k++) {
            const v32 even = splat(t->even[k]), odd = splat(t->odd[k]);
            const v32 a0 = load(a + x + 2 * k), a1 = load(a + x + 2 * k + BLOCK);
            const v32 b0 = load(b + x + 2 * k), b1 = load(b + x + 2 * k + BLOCK);
            ae0 = mac(ae0, a0, even);
            ao0 = mac(ao0, a0, odd);
            ae1 = mac(ae1, a1, even);
            ao1 = mac(ao1, a1, odd);
            be0 = mac(be0, b0, even);
            bo0 = mac(bo0, b0, odd);
            be1 = mac(be1, b1, even);
            bo1 = mac(bo1, b1, odd);
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

/* Two output rows from t->pairs row pairs. Needs no clamp: the weights are not negative and sum to
 * 1. */
static void column_pass(uint16_t *restrict out0, uint16_t *restrict out1, const v32 *const *ring,
                        int n, const struct taps *t, int shift)
{
    const v32 round = splat(1 << (shift - 1));
    for (int i = 0; i < n / LANES; i += 4) {
        v32 ae0 = round, ao0 = round, ae1 = round, ao1 = round;
        v32 be0 = round, bo0 = round, be1 = round, bo1 = round;
        for (int k = 0; k < t->pairs; k++) {
            const v32 *p = ring[k] + i;
            const v32 even = splat(t->even[k]), odd = splat(t->odd[k]);
            const v32 p0 = keep(p[0]), p1 = keep(p[1]), p2 = keep(p[2]), p3 = keep(p[3]);
            ae0 = mac(ae0, p0, even);
            be0 = mac(be0, p0, odd);
            ao0 = mac(ao0, p1, even);
            bo0 = mac(bo0, p1, odd);
            ae1 = mac(ae1, p2, even);
            be1 = mac(be1, p2, odd);
            ao1 = mac(ao1, p3, even);
            bo1 = mac(bo1, p3, odd);
        }
        v32 *a = (v32 *)out0 + i / 2, *b = (v32 *)out1 + i / 2;
        a[0] = merge(ae0 >> shift, ao0 >> shift);
        a[1] = merge(ae1 >> shift, ao1 >> shift);
        b[0] = merge(be0 >> shift, bo0 >> shift);
        b[1] = merge(be1 >> shift, bo1 >> shift);
    }
}

static void column_identity(uint16_t *restrict out0, uint16_t *restrict out1, const v32 *ring,
                            int n, int frac)
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

#include "rows_wide_tmpl.h"
#include "rows_dense_tmpl.h"
#include "rows_gradient_tmpl.h"
#include "rows_pixelize_tmpl.h"

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

static bool is_wide(const struct halo_conv *c)
{
    return c->kind == HALO_CONV_SEPARABLE && c->accum == HALO_ACCUM_I64;
}

/* Lays the buffers of strips of at most n pixels out in the worker's scratch. */
static int prepare(struct strip *s, int n, struct halo_cpu_scratch *scratch)
{
    const struct halo_conv *c = s->job->conv;
    const size_t channels = (size_t)s->job->src.channels;
    s->width = (int)round_up((size_t)n, STEP);
    s->segment = (int)round_up((size_t)(s->width + 2 * c->radius_x + 2), BLOCK);

    const bool two_passes = c->kind == HALO_CONV_SEPARABLE;
    const size_t rows = two_passes ? 2 : 2 * (size_t)c->radius_y + 2;
    const size_t pairs = two_passes ? (size_t)c->radius_y + 1 : 0;
    const size_t row_bytes = rows * (size_t)s->segment * channels * sizeof(uint16_t);
    const size_t ring_bytes =
        is_wide(c) ? wide_bytes(s) : pairs * (size_t)s->width * channels * sizeof(int32_t);
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
#define BAND(isa)        PASTE(halo_rows_band_, isa)

int BAND(HALO_ISA)(const struct halo_job *job, int y0, int y1, struct halo_cpu_scratch *scratch)
{
    if (job->conv->kind == HALO_CONV_COPY)
        return copy(job, y0, y1);
    if (job->conv->kind == HALO_CONV_PIXELIZE)
        return pixelize(job, y0, y1, scratch);

    struct strip s = {.job = job, .y0 = y0, .y1 = y1};
    const int strip = is_wide(job->conv) ? WIDE_STRIP : STRIP;
    int x0, x1;
    halo_region_columns(job->region, y0, y1, job->src.width, &x0, &x1);
    if (prepare(&s, x1 - x0 < strip ? x1 - x0 : strip, scratch) < 0)
        return -ENOMEM;
    for (s.x = x0; s.x < x1; s.x += strip) {
        s.n = x1 - s.x < strip ? x1 - s.x : strip;
        if (is_wide(job->conv))
            separable_wide(&s);
        else if (job->conv->kind == HALO_CONV_SEPARABLE)
            separable(&s);
        else if (job->conv->kind == HALO_CONV_GRADIENT)
            gradient(&s);
        else
            dense(&s);
    }
    return 0;
}
