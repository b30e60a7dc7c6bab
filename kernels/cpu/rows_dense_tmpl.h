/* SPDX-License-Identifier: BSD-2-Clause
 * rows_tmpl.c: dense masks. A ring row is a source row. */

/* Returns whether all weights and samples fit in signed 16-bit integers. If they do, fills *f. */
static bool set_pairs(struct fir *f, const struct halo_conv *c)
{
    const int taps = 2 * c->radius_x + 1, rows = 2 * c->radius_y + 1;
    if (c->accum == HALO_ACCUM_I64 || c->depth > 15)
        return false;
    for (int i = 0; i < taps * rows; i++) {
        if (c->mask[i] < INT16_MIN || c->mask[i] > INT16_MAX)
            return false;
    }
    f->rows = rows;
    f->pairs = c->radius_x + 1;
    int32_t *to = f->direct;
    for (int j = 0; j < rows; j++) {
        struct taps t;
        set_taps(&t, c->mask + j * taps, c->radius_x);
        for (int k = 0; k < t.pairs; k++) {
            *to++ = t.even[k];
            *to++ = t.odd[k];
        }
    }
    hasten(f, FAST_DENSE);
    return true;
}

/* Computes the same segment of each of four output rows. The segment begins at word `segment` of
 * the window's rows and at word `first` of the output rows. */
static void dense_by_pairs(const struct strip *s, const struct fir *f, const struct window *w,
                           size_t segment, size_t first)
{
    const struct halo_conv *c = s->job->conv;
    const int shift = c->mask_bits, max = halo_sample_max(c->depth);
    const v32 bias = splat((int32_t)c->bias);
    for (size_t x = 0; x < (size_t)s->width; x += STEP) {
        struct sums y[4];
        four_sums(y, f, w, segment + x, f->pairs, bias);
        for (int i = 0; i < 4; i++) {
            const v32 even0 = y[i].even0 >> shift, odd0 = y[i].odd0 >> shift;
            const v32 even1 = y[i].even1 >> shift, odd1 = y[i].odd1 >> shift;
            if (c->depth == 8) {
                store((uint8_t *)s->out[i] + first + x, narrow(even0, odd0, even1, odd1));
                continue;
            }
            uint16_t *to = (uint16_t *)s->out[i] + first + x;
            store(to, merge(clamp32(even0, max), clamp32(odd0, max)));
            store(to + BLOCK, merge(clamp32(even1, max), clamp32(odd1, max)));
        }
    }
}

/* Defines a function for the remaining masks, whose weights, samples or sums are too large for
 * pairs. The function computes one output row at a time, one sample per lane, with sums of the
 * given type; the compiler vectorizes the inner loops. Sums in lanes past the strip's end may wrap,
 * because nothing reads them. */
#define DENSE_BY_ONES(name, type, utype, chunk)                                                    \
    static void name(const struct strip *st, const uint16_t *const *rows, size_t segment,          \
                     void *out, size_t first)                                                      \
    {                                                                                              \
        typedef type sums_v __attribute__((vector_size((chunk) * sizeof(type))));                  \
        typedef utype wrapping_v __attribute__((vector_size((chunk) * sizeof(type))));             \
        typedef uint16_t samples_v __attribute__((vector_size((chunk)*2), aligned(2), may_alias)); \
        typedef uint8_t bytes_v __attribute__((vector_size(chunk), aligned(1), may_alias));        \
        const struct halo_conv *c = st->job->conv;                                                 \
        const int taps_x = 2 * c->radius_x + 1, taps_y = 2 * c->radius_y + 1;                      \
        const type max = halo_sample_max(c->depth);                                                \
        for (size_t x = 0; x < (size_t)st->width; x += 4 * (chunk)) {                              \
            wrapping_v sums[4];                                                                    \
            for (int v = 0; v < 4; v++)                                                            \
                sums[v] = (utype)c->bias - (wrapping_v){0};                                        \
            const int32_t *w = c->mask;                                                            \
            for (int j = 0; j < taps_y; j++) {                                                     \
                const uint16_t *p = rows[j] + segment + x;                                         \
                for (int i = 0; i < taps_x; i++, w++) {                                            \
                    for (int v = 0; v < 4; v++)                                                    \
                        sums[v] += (utype)*w *                                                     \
                                   __builtin_convertvector(                                        \
                                       *(const samples_v *)(p + i + v * (chunk)), wrapping_v);     \
                }                                                                                  \
            }                                                                                      \
            for (int v = 0; v < 4; v++) {                                                          \
                const size_t to = first + x + (size_t)v * (chunk);                                 \
                sums_v s = (sums_v)sums[v] >> c->mask_bits;                                        \
                s &= s >= 0;                                                                       \
                s = (s & (s <= max)) | (max & (s > max));                                          \
                if (c->depth == 8)                                                                 \
                    *(bytes_v *)((uint8_t *)out + to) = __builtin_convertvector(s, bytes_v);       \
                else                                                                               \
                    *(samples_v *)((uint16_t *)out + to) = __builtin_convertvector(s, samples_v);  \
            }                                                                                      \
        }                                                                                          \
    }

DENSE_BY_ONES(dense_by_ones32, int32_t, uint32_t, LANES)
DENSE_BY_ONES(dense_by_ones64, int64_t, uint64_t, LANES / 2)

static void dense(struct strip *s)
{
    const struct halo_conv *c = s->job->conv;
    const int channels = s->job->src.channels, count = 2 * c->radius_y + 4;
    struct fir f;
    const bool by_pairs = set_pairs(&f, c);

    /* Row m in this loop is row y0 - radius_y + m of the plane. Rows from `last` on do not affect
     * any output that is written. A pair of output rows needs all of its input rows, even if only
     * one of the two is written. */
    const int last = (s->y1 - s->y0 + 1) / 2 * 2 + 2 * c->radius_y;
    int next = 0;
    for (int y = s->y0; y < s->y1; y += 4) {
        const int first = y - s->y0;
        for (; next < first + count && next < last; next++) {
            read_row(s, ring_row(&s->ring, next), s->y0 - c->radius_y + next);
            if (by_pairs && f.fast && next > 0)
                ring_difference(&s->ring, next);
        }
        begin_rows(s, y, 4);
        struct window w;
        ring_window(&w, &s->ring, first);
        for (int ch = 0; ch < channels; ch++) {
            const size_t segment = (size_t)(ch * s->segment), to = (size_t)(ch * s->width);
            if (by_pairs)
                dense_by_pairs(s, &f, &w, segment, to);
            for (int i = 0; i < 4 && !by_pairs; i++) {
                if (c->accum == HALO_ACCUM_I64)
                    dense_by_ones64(s, w.rows + i, segment, s->out[i], to);
                else
                    dense_by_ones32(s, w.rows + i, segment, s->out[i], to);
            }
        }
        end_rows(s, y, 4);
    }
}
