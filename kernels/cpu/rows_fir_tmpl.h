/* SPDX-License-Identifier: BSD-2-Clause
 * rows_tmpl.c: shared by column passes and dense masks. Outputs Y are sums over P rows X of a ring,
 * Y_i = sum_j W_j X_(i+j). A product W X is itself a sum over pairs of words in a row; each is
 * computed twice, for "even" and "odd" outputs, which have different pairs of weights.
 *
 * Two neighbours Y_i and Y_(i+1) need three products instead of four if Wa and Wb are consecutive
 * (fast FIR algorithm for two outputs; S. Winograd, "Arithmetic Complexity of Computations", 1980):
 *     Y_i     = sum (Wa + Wb) X_(i+1)  -  sum Wa (X_(i+1) - X_i)
 *     Y_(i+1) = sum (Wa + Wb) X_(i+1)  +  sum Wb (X_(i+2) - X_(i+1))
 * over the pairs of rows. All are integers, and the result is right even if partial sums wrap, so
 * it is exact if weights and differences fit 16 bits. */

enum { FIR_INTS = HALO_MAX_DENSE * (HALO_MAX_DENSE + 1) };

/* The weights, row by row: for each pair of words, the weights for the even outputs are followed by
 * those for the odd outputs. */
struct fir {
    int rows, pairs; /* the number of rows P, and of word pairs in each row */
    bool fast;
    int32_t direct[FIR_INTS];
    int32_t sum[FIR_INTS / 2 + HALO_MAX_TAPS], minus_even[FIR_INTS / 2 + HALO_MAX_TAPS],
        odd[FIR_INTS / 2]; /* set only if fast is true: Wa + Wb, -Wa and Wb of each pair of rows */
};

/* `a` and `b` are pairs of weights, one weight in each half. For each of the two halves, computes
 * fa * (this half of `a`) + fb * (this half of `b`), and stores the result in the same half of *to.
 * Returns whether the results fit in 16 bits. */
static bool combine(int32_t *to, int fa, int32_t a, int fb, int32_t b)
{
    const int low = fa * (int16_t)a + fb * (int16_t)b, high = fa * (a >> 16) + fb * (b >> 16);
    *to = pair(low, high);
    return low >= INT16_MIN && low <= INT16_MAX && high >= INT16_MIN && high <= INT16_MAX;
}

/* Fills in the other members of *f. f->direct must be set, and the differences between words of
 * neighbouring rows must fit in 16 bits. Computing the differences takes time, so the fast method
 * pays off only with at least `least` rows. */
static void hasten(struct fir *f, int least)
{
    const int size = 2 * f->pairs;
    f->fast = f->rows >= least;
    for (int j = 0; j < f->rows && f->fast; j += 2) {
        const int32_t *w = f->direct + j * size;
        const bool last = j + 1 == f->rows;
        for (int i = 0; i < size; i++) {
            const int to = j / 2 * size + i;
            f->fast &= combine(&f->sum[to], 1, w[i], 1, last ? 0 : w[i + size]);
            f->fast &= combine(&f->minus_even[to], -1, w[i], 0, 0);
            if (!last)
                f->odd[to] = w[i + size];
        }
    }
}

/* The sums for the even outputs of two vectors, followed by those for the odd outputs. */
struct sums {
    v32 even0, even1, odd0, odd1;
};

/* The inputs of the output rows Y_0 to Y_3: rows[j] is X_j, and diffs[j] is X_(j+1) - X_j. */
struct window {
    const uint16_t *rows[HALO_MAX_TAPS + 3], *diffs[HALO_MAX_TAPS + 3];
};

static inline __attribute__((always_inline)) void add_pair(struct sums *s, v32 p0, v32 p1,
                                                           const int32_t *w)
{
    const v32 even = splat(w[0]), odd = splat(w[1]);
    s->even0 = mac(s->even0, p0, even);
    s->even1 = mac(s->even1, p1, even);
    s->odd0 = mac(s->odd0, p0, odd);
    s->odd1 = mac(s->odd1, p1, odd);
}

/* Adds the products of row p and the weights wa to the sums `a`, and the products of row p and the
 * weights wb to the sums `b`. `a` or `b` may be NULL; callers pass NULL as a constant, so the
 * branches are optimised away. */
static inline __attribute__((always_inline)) void add_row(struct sums *a, struct sums *b,
                                                          const uint16_t *p, const int32_t *wa,
                                                          const int32_t *wb, int pairs)
{
    for (int k = 0; k < pairs; k++, p += 2) {
        const v32 p0 = load(p), p1 = load(p + BLOCK);
        if (a)
            add_pair(a, p0, p1, wa + 2 * k);
        if (b)
            add_pair(b, p0, p1, wb + 2 * k);
    }
}

/* The words at position `at` of every step-th row. */
struct column {
    const uint16_t *const *rows;
    int step;
    size_t at;
};

/* Multiplies `count` rows of the column by the weights w, and adds the products to the sums: to `a`
 * the products of the rows from the first one on, to `b` those of the rows from the second on. */
static inline __attribute__((always_inline)) void add_rows(struct sums *a, struct sums *b,
                                                           struct column of, const int32_t *w,
                                                           int count, int pairs)
{
    if (count == 0)
        return;
    add_row(a, NULL, *of.rows + of.at, w, NULL, pairs);
    for (int j = 1; j < count; j++, w += 2 * pairs) {
        of.rows += of.step;
        add_row(a, b, *of.rows + of.at, w + 2 * pairs, w, pairs);
    }
    add_row(NULL, b, of.rows[of.step] + of.at, NULL, w, pairs);
}

/* Computes four output rows, Y_0 to Y_3, for the words from `at` on. pairs is f->pairs, passed as a
 * constant if possible. */
static inline __attribute__((always_inline)) void four_sums(struct sums y[4], const struct fir *f,
                                                            const struct window *w, size_t at,
                                                            int pairs, v32 bias)
{
    y[0] = y[2] = (struct sums){bias, bias, bias, bias};
    if (f->fast) {
        const int evens = (f->rows + 1) / 2, odds = f->rows / 2;
        const struct column middle = {w->rows + 1, 2, at};
        const struct column even = {w->diffs, 2, at}, odd = {w->diffs + 1, 2, at};
        add_rows(&y[0], &y[2], middle, f->sum, evens, pairs);
        y[1] = y[0];
        y[3] = y[2];
        add_rows(&y[0], &y[2], even, f->minus_even, evens, pairs);
        add_rows(&y[1], &y[3], odd, f->odd, odds, pairs);
    } else {
        const struct column first = {w->rows, 1, at}, third = {w->rows + 2, 1, at};
        y[1] = y[3] = y[0];
        add_rows(&y[0], &y[1], first, f->direct, f->rows, pairs);
        add_rows(&y[2], &y[3], third, f->direct, f->rows, pairs);
    }
}

static uint16_t *ring_row(const struct ring *r, int j)
{
    return r->rows + (size_t)(j % r->slots) * r->length;
}

/* Computes the difference between row j, which must have been written, and the row above it. */
static void ring_difference(const struct ring *r, int j)
{
    const uint16_t *restrict below = ring_row(r, j), *restrict above = ring_row(r, j - 1);
    uint16_t *restrict to = r->diffs + (size_t)((j - 1) % r->slots) * r->length;
    for (size_t i = 0; i < r->length; i++)
        to[i] = (uint16_t)(below[i] - above[i]);
}

/* Sets w to the window whose row X_0 is row j. */
static void ring_window(struct window *w, const struct ring *r, int j)
{
    for (int i = 0; i < r->slots; i++) {
        w->rows[i] = ring_row(r, j + i);
        w->diffs[i] = r->diffs + (size_t)((j + i) % r->slots) * r->length;
    }
}
