/* SPDX-License-Identifier: BSD-2-Clause
 * rows_tmpl.c: separable masks. A row of the ring is a "row pair": T of two rows, the upper one in
 * the low half of each lane, with the even outputs of a block in one vector and the odd ones in the
 * next. */

/* Computes T, the result of the row pass, for n samples of two rows, as row pairs. */
static void row_pass(v32 *restrict to, const uint16_t *restrict a, const uint16_t *restrict b,
                     int n, const struct taps *t, int shift)
{
    const v32 round = splat(1 << (shift - 1));
    for (int x = 0; x < n; x += STEP, to += 4) {
        struct sums sa = {round, round, round, round}, sb = sa;
        for (int k = 0; k < t->pairs; k++) {
            const int32_t w[2] = {t->even[k], t->odd[k]};
            add_pair(&sa, load(a + x + 2 * k), load(a + x + 2 * k + BLOCK), w);
            add_pair(&sb, load(b + x + 2 * k), load(b + x + 2 * k + BLOCK), w);
        }
        to[0] = merge(sa.even0 >> shift, sb.even0 >> shift);
        to[1] = merge(sa.odd0 >> shift, sb.odd0 >> shift);
        to[2] = merge(sa.even1 >> shift, sb.even1 >> shift);
        to[3] = merge(sa.odd1 >> shift, sb.odd1 >> shift);
    }
}

/* Computes the row pass for the case in which it is the identity, T = p << frac. row_pass() cannot
 * be used then, because the weight of the identity does not fit in 16 bits. */
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

/* Writes a block of two output rows. Clamping is unnecessary, because no weight is negative and the
 * weights sum to 1. */
static inline void put_rows(void *const *out, int x, const struct sums *s, int shift, bool bytes)
{
    const v32 ae = s->even0 >> shift, ao = s->even1 >> shift;
    const v32 be = s->odd0 >> shift, bo = s->odd1 >> shift;
    if (bytes) {
        const v32 both = narrow(ae, ao, be, bo);
        memcpy((uint8_t *)out[0] + x, &both, VECTOR / 2);
        memcpy((uint8_t *)out[1] + x, (const char *)&both + VECTOR / 2, VECTOR / 2);
    } else {
        store((uint16_t *)out[0] + x, merge(ae, ao));
        store((uint16_t *)out[1] + x, merge(be, bo));
    }
}

/* Computes eight output rows of n samples. */
static void column_pass(void *const *out, const struct window *w, int n, const struct fir *f,
                        int shift, bool bytes)
{
    const v32 round = splat(1 << (shift - 1));
    for (int x = 0; x < n; x += BLOCK) {
        struct sums y[4];
        four_sums(y, f, w, 2 * (size_t)x, 1, round);
        for (int i = 0; i < 4; i++)
            put_rows(out + 2 * i, x, &y[i], shift, bytes);
    }
}

static void column_identity(void *const *out, const uint16_t *const *rows, int n, int frac,
                            bool bytes)
{
    const v32 low = splat(0xffff), round = splat(1 << (frac - 1));
    for (int i = 0; i < 4; i++) {
        for (int x = 0; x < n; x += BLOCK) {
            const v32 even = load(rows[i] + 2 * x), odd = load(rows[i] + 2 * x + BLOCK);
            const struct sums s = {(even & low) + round, (odd & low) + round,
                                   (v32)((u32v)even >> 16) + round, (v32)((u32v)odd >> 16) + round};
            put_rows(out + 2 * i, x, &s, frac, bytes);
        }
    }
}

struct row_taps {
    struct taps pairs;
    bool by_steps; /* row_pass_by_steps() is used */
    struct steps steps;
};

/* Computes row pair m of the band. This pair is the result T of the row pass for row y0 - radius_y
 * + 2m and for the row below it; both rows may be outside of the plane. */
static void make_row_pair(const struct strip *s, const struct row_taps *t, int m)
{
    const struct halo_conv *c = s->job->conv;
    const int channels = s->job->src.channels, y = s->y0 - c->radius_y + 2 * m;
    const int shift = c->row_bits - c->frac;
    uint16_t *a = s->rows, *b = a + s->segment * channels;
    read_row(s, a, y);
    read_row(s, b, y + 1);
    for (int ch = 0; ch < channels; ch++, a += s->segment, b += s->segment) {
        v32 *to = (v32 *)(ring_row(&s->ring, m) + 2 * ch * s->width);
        if (t->by_steps) {
            uint8_t *bytes_a = s->bytes, *bytes_b = bytes_a + 2 * s->segment;
            to_bytes(bytes_a, a, s->segment);
            to_bytes(bytes_b, b, s->segment);
            row_pass_by_steps(to, bytes_a, bytes_b, s->width, &t->steps, shift);
        } else if (c->radius_x) {
            row_pass(to, a, b, s->width, &t->pairs, shift);
        } else {
            row_identity(to, a, b, s->width, c->frac);
        }
    }
}

static void separable(struct strip *s)
{
    const struct halo_conv *c = s->job->conv;
    const int n = s->width * s->job->src.channels;
    const bool bytes = c->depth == 8;
    struct row_taps row;
    struct taps col;
    set_taps(&row.pairs, c->row, c->radius_x);
    row.by_steps = set_steps(&row.steps, c);
    set_taps(&col, c->col, c->radius_y);
    struct fir f = {.rows = col.pairs, .pairs = 1};
    for (int k = 0; k < col.pairs; k++) {
        f.direct[2 * k] = col.even[k];
        f.direct[2 * k + 1] = col.odd[k];
    }
    hasten(&f, FAST_COLUMN);

    /* Row pairs from `last` on keep their old contents, because they do not affect any output that
     * is written. A pair of output rows needs all of its input rows, even if only one of the two is
     * written. */
    const int last = (s->y1 - s->y0 + 3) / 4 * 2 + f.rows - 1;
    int next = 0;
    for (int y = s->y0; y < s->y1; y += 8) {
        const int first = (y - s->y0) / 2;
        for (; next < first + f.rows + 3 && next < last; next++) {
            make_row_pair(s, &row, next);
            if (f.fast && next > 0)
                ring_difference(&s->ring, next);
        }
        begin_rows(s, y, 8);
        struct window w;
        ring_window(&w, &s->ring, first);
        if (c->radius_y)
            column_pass(s->out, &w, n, &f, c->col_bits + c->frac, bytes);
        else
            column_identity(s->out, w.rows, n, c->frac, bytes);
        end_rows(s, y, 8);
    }
}
