/* SPDX-License-Identifier: BSD-2-Clause
 * rows_tmpl.c: dense masks. */

/* Mask rows as pairs of weights, where all of them and the samples fit 16 bits with a sign: of each
 * row first the pairs for even outputs, then those for odd ones (struct taps). */
struct dense_pairs {
    int pairs; /* of one kind in a mask row */
    int32_t weights[HALO_MAX_DENSE * (HALO_MAX_DENSE + 1) + HALO_MAX_TAPS + 1];
};

static bool set_pairs(struct dense_pairs *d, const struct halo_conv *c)
{
    const int taps = 2 * c->radius_x + 1, rows = 2 * c->radius_y + 1;
    d->pairs = c->radius_x + 1;
    if (c->accum == HALO_ACCUM_I64 || c->depth > 15)
        return false;
    for (int i = 0; i < taps * rows; i++) {
        if (c->mask[i] < INT16_MIN || c->mask[i] > INT16_MAX)
            return false;
    }
    for (int j = 0; j < rows; j++) {
        int32_t *to = d->weights + j * 2 * d->pairs;
        struct taps t;
        set_taps(&t, c->mask + j * taps, c->radius_x);
        memcpy(to, t.even, (size_t)d->pairs * sizeof(*to));
        memcpy(to + d->pairs, t.odd, (size_t)d->pairs * sizeof(*to));
    }
    return true;
}

static inline v32 clamp32(v32 v, int max)
{
    v &= v >= 0; /* a comparison gives all ones or none */
    const v32 over = v > max;
    return (v & ~over) | (splat(max) & over);
}

/* Sums of two output rows while a source row goes by: a is the upper, b the lower. */
struct sums {
    v32 ae0, ao0, ae1, ao1, be0, bo0, be1, bo1;
};

/* Either weight row may be NULL; the calls say which as a constant, and the branches fold away. */
static inline __attribute__((always_inline)) void add_source_row(struct sums *s, const uint16_t *p,
                                                                 const int32_t *wa,
                                                                 const int32_t *wb, int pairs)
{
    for (int k = 0; k < pairs; k++, p += 2) {
        const v32 p0 = load(p), p1 = load(p + BLOCK);
        if (wa) {
            const v32 even = splat(wa[k]), odd = splat(wa[k + pairs]);
            s->ae0 = mac(s->ae0, p0, even);
            s->ao0 = mac(s->ao0, p0, odd);
            s->ae1 = mac(s->ae1, p1, even);
            s->ao1 = mac(s->ao1, p1, odd);
        }
        if (wb) {
            const v32 even = splat(wb[k]), odd = splat(wb[k + pairs]);
            s->be0 = mac(s->be0, p0, even);
            s->bo0 = mac(s->bo0, p0, odd);
            s->be1 = mac(s->be1, p1, even);
            s->bo1 = mac(s->bo1, p1, odd);
        }
    }
}

/* One segment of two output rows; rows[] are the 2 radius_y + 2 source rows they need. */
static void dense_by_pairs(const struct strip *st, const struct dense_pairs *d,
                           const uint16_t *const *rows, int offset, uint16_t *out0, uint16_t *out1)
{
    const struct halo_conv *c = st->job->conv;
    const int taps = 2 * c->radius_y + 1, shift = c->mask_bits, max = halo_sample_max(c->depth);
    const v32 bias = splat((int32_t)c->bias);
    for (int x = 0; x < st->width; x += STEP) {
        struct sums s = {bias, bias, bias, bias, bias, bias, bias, bias};
        const int32_t *w = d->weights;
        add_source_row(&s, rows[0] + offset + x, w, NULL, d->pairs);
        for (int j = 1; j < taps; j++, w += 2 * d->pairs)
            add_source_row(&s, rows[j] + offset + x, w + 2 * d->pairs, w, d->pairs);
        add_source_row(&s, rows[taps] + offset + x, NULL, w, d->pairs);

        v32 *a = (v32 *)(out0 + x), *b = (v32 *)(out1 + x);
        a[0] = merge(clamp32(s.ae0 >> shift, max), clamp32(s.ao0 >> shift, max));
        a[1] = merge(clamp32(s.ae1 >> shift, max), clamp32(s.ao1 >> shift, max));
        b[0] = merge(clamp32(s.be0 >> shift, max), clamp32(s.bo0 >> shift, max));
        b[1] = merge(clamp32(s.be1 >> shift, max), clamp32(s.bo1 >> shift, max));
    }
}

/* The masks left over: a weight, or the sums, are too large for pairs. One output row at a time,
 * one sample a lane, sums of the given type; the compiler turns the inner loops into vectors. */
#define DENSE_BY_ONES(name, type, chunk)                                                           \
    static void name(const struct strip *st, const uint16_t *const *rows, int offset,              \
                     uint16_t *restrict out)                                                       \
    {                                                                                              \
        typedef type sums_v __attribute__((vector_size((chunk) * sizeof(type))));                  \
        typedef uint16_t samples_v __attribute__((vector_size((chunk)*2), aligned(2), may_alias)); \
        const struct halo_conv *c = st->job->conv;                                                 \
        const int taps_x = 2 * c->radius_x + 1, taps_y = 2 * c->radius_y + 1;                      \
        const type max = halo_sample_max(c->depth);                                                \
        for (int x = 0; x < st->width; x += 4 * (chunk)) {                                         \
            sums_v s[4];                                                                           \
            for (int v = 0; v < 4; v++)                                                            \
                s[v] = (type)c->bias - (sums_v){0};                                                \
            const int32_t *w = c->mask;                                                            \
            for (int j = 0; j < taps_y; j++) {                                                     \
                const uint16_t *p = rows[j] + offset + x;                                          \
                for (int i = 0; i < taps_x; i++, w++) {                                            \
                    for (int v = 0; v < 4; v++)                                                    \
                        s[v] += (type)*w * __builtin_convertvector(                                \
                                               *(const samples_v *)(p + i + v * (chunk)), sums_v); \
                }                                                                                  \
            }                                                                                      \
            for (int v = 0; v < 4; v++) {                                                          \
                s[v] >>= c->mask_bits;                                                             \
                s[v] &= s[v] >= 0;                                                                 \
                s[v] = (s[v] & (s[v] <= max)) | (max & (s[v] > max));                              \
                *(samples_v *)(out + x + v * (chunk)) = __builtin_convertvector(s[v], samples_v);  \
            }                                                                                      \
        }                                                                                          \
    }

DENSE_BY_ONES(dense_by_ones32, int32_t, LANES)
DENSE_BY_ONES(dense_by_ones64, int64_t, LANES / 2)

static void dense(const struct strip *s)
{
    const struct halo_conv *c = s->job->conv;
    const int channels = s->job->src.channels, count = 2 * c->radius_y + 2;
    struct dense_pairs d;
    const bool by_pairs = set_pairs(&d, c);
    const uint16_t *rows[HALO_MAX_TAPS + 1];

    int next = 0; /* source rows read so far, from y0 - radius_y down */
    for (int y = s->y0; y < s->y1; y += 2) {
        for (; next < y - s->y0 + count; next++)
            read_row(s, s->rows + next % count * s->segment * channels, s->y0 - c->radius_y + next);
        for (int j = 0; j < count; j++)
            rows[j] = s->rows + (y - s->y0 + j) % count * s->segment * channels;
        for (int ch = 0; ch < channels; ch++) {
            const int offset = ch * s->segment;
            uint16_t *out0 = s->out[0] + ch * s->width, *out1 = s->out[1] + ch * s->width;
            if (by_pairs) {
                dense_by_pairs(s, &d, rows, offset, out0, out1);
            } else if (c->accum == HALO_ACCUM_I64) {
                dense_by_ones64(s, rows, offset, out0);
                dense_by_ones64(s, rows + 1, offset, out1);
            } else {
                dense_by_ones32(s, rows, offset, out0);
                dense_by_ones32(s, rows + 1, offset, out1);
            }
        }
        write_row(s, s->out[0], y);
        if (y + 1 < s->y1)
            write_row(s, s->out[1], y + 1);
    }
}
