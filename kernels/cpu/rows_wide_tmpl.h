/* SPDX-License-Identifier: BSD-2-Clause
 * rows_tmpl.c: separable masks with sums of more than 31 bits, in doubles. Every intermediate
 * number is an integer below 2^53 (conv.h), so values are rounded only where the contract rounds,
 * and fused multiply-adds do not change results. */

typedef double vd __attribute__((vector_size(VECTOR), may_alias));
typedef vd vd_unaligned __attribute__((aligned(8)));
typedef int32_t half_v32 __attribute__((vector_size(VECTOR / 2)));

enum { DOUBLES = VECTOR / 8, WIDE_STEP = 4 * DOUBLES }; /* WIDE_STEP must divide STEP */

/* The layout of the strip's memory in s->wide. */
struct wide {
    int taps_x, taps_y;
    double *ring; /* taps_y rows of T (results of the row pass), with all channels */
    double *row;  /* samples of one source segment */
    double *out;
};

static size_t wide_row(const struct strip *s)
{
    return (size_t)s->width * (size_t)s->job->src.channels;
}

static size_t wide_bytes(const struct strip *s)
{
    const size_t taps_y = 2 * (size_t)s->job->conv->radius_y + 1;
    return ((taps_y + 1) * wide_row(s) + (size_t)s->segment) * sizeof(double);
}

/* Computes to[x] = floor((sum_i weights[i] tap[i][x] + 2^(shift-1)) / 2^shift). No term may be
 * negative. */
static void wide_pass(double *restrict to, const double *const *tap, const double *weights,
                      int taps, int n, int shift)
{
    const double unit = (double)(INT64_C(1) << shift);
    const vd half = unit / 2 - (vd){0}, scale = 1 / unit - (vd){0};
    for (int x = 0; x < n; x += WIDE_STEP) {
        vd s[4] = {half, half, half, half};
        for (int i = 0; i < taps; i++) {
            const vd w = weights[i] - (vd){0};
            const double *p = tap[i] + x;
            for (int v = 0; v < 4; v++)
                s[v] += w * *(const vd_unaligned *)(p + v * DOUBLES);
        }
        for (int v = 0; v < 4; v++) {
            const half_v32 whole = __builtin_convertvector(s[v] * scale, half_v32);
            *(vd *)(to + x + v * DOUBLES) = __builtin_convertvector(whole, vd);
        }
    }
}

/* Writes T (the result of the row pass) for one row into that row's place in the ring. The row may
 * be outside of the plane. */
static void wide_source_row(const struct strip *s, const struct wide *w, const double *weights,
                            double *to, int y)
{
    const struct halo_conv *c = s->job->conv;
    const double *tap[HALO_MAX_TAPS];
    for (int i = 0; i < w->taps_x; i++)
        tap[i] = w->row + i;
    read_row(s, s->rows, y);
    for (int ch = 0; ch < s->job->src.channels; ch++) {
        const uint16_t *restrict from = s->rows + ch * s->segment;
        double *restrict row = w->row;
        for (int i = 0; i < s->segment; i++)
            row[i] = from[i];
        wide_pass(to + ch * s->width, tap, weights, w->taps_x, s->width, c->row_bits - c->frac);
    }
}

static void separable_wide(struct strip *s)
{
    const struct halo_conv *c = s->job->conv;
    const size_t n = wide_row(s);
    struct wide w = {2 * c->radius_x + 1, 2 * c->radius_y + 1, s->wide, NULL, NULL};
    w.out = w.ring + (size_t)w.taps_y * n;
    w.row = w.out + n;

    double row[HALO_MAX_TAPS], col[HALO_MAX_TAPS];
    for (int i = 0; i < w.taps_x; i++)
        row[i] = c->row[i];
    for (int j = 0; j < w.taps_y; j++)
        col[j] = c->col[j];

    /* Row m in this loop is row y0 - radius_y + m of the plane. */
    for (int m = 0; m < s->y1 - s->y0 + w.taps_y - 1; m++) {
        wide_source_row(s, &w, row, w.ring + (size_t)(m % w.taps_y) * n, s->y0 - c->radius_y + m);
        if (m < w.taps_y - 1)
            continue;
        const double *tap[HALO_MAX_TAPS];
        for (int j = 0; j < w.taps_y; j++)
            tap[j] = w.ring + (size_t)((m + 1 + j) % w.taps_y) * n;
        wide_pass(w.out, tap, col, w.taps_y, (int)n, c->col_bits + c->frac);
        const int y = s->y0 + m - w.taps_y + 1;
        begin_rows(s, y, 1);
        uint16_t *restrict out = s->out[0];
        for (size_t i = 0; i < n; i++)
            out[i] = (uint16_t)w.out[i];
        end_rows(s, y, 1);
    }
}
