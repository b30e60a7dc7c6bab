/* SPDX-License-Identifier: BSD-2-Clause
 * rows_tmpl.c: the row pass of broad Gaussians at depth 8 with AVX-512 VNNI. The sum at x + 1 is
 * the sum at x plus a step: the step is a sum over the differences of neighbouring weights, which
 * fit a signed byte if the Gaussian is broad. A lane multiplies four differences by four samples at
 * once, while the other row passes multiply two weights by two samples. The steps are then added up
 * from left to right.
 *
 * A load at p + x contains four samples for each of the steps x, x + 4, ..., and, with the weights
 * shifted by s = 1, 2 or 3 taps, for the steps x + s, x + s + 4, ... */

struct steps {
    int first[HALO_MAX_TAPS]; /* the weights themselves */
    int taps, quads;
    int32_t weights[HALO_MAX_TAPS / 4 + 2][4]; /* for each quad of samples, and for weights shifted
                                                * by 0 to 3 taps: four differences of neighbouring
                                                * weights */
};

#if defined(__AVX512VNNI__)

/* If row_pass_by_steps() can do the row pass of c, fills *t and returns true. */
static bool set_steps(struct steps *t, const struct halo_conv *c)
{
    if (c->depth != 8 || c->radius_x == 0)
        return false;
    t->taps = 2 * c->radius_x + 1;
    t->quads = (t->taps + 1 + 3 + 3) / 4;
    memset(t->weights, 0, sizeof t->weights);
    for (int i = 0; i <= t->taps; i++) {
        const int step = (i ? c->row[i - 1] : 0) - (i < t->taps ? c->row[i] : 0);
        if (step < INT8_MIN || step > INT8_MAX)
            return false;
        for (int s = 0; s < 4; s++) {
            const int at = i + s;
            t->weights[at / 4][s] |= (int32_t)((uint32_t)(uint8_t)step << at % 4 * 8);
        }
    }
    memcpy(t->first, c->row, sizeof t->first);
    return true;
}

/* Returns the weighted sum at the first sample, copied to all lanes. */
static v32 first_sum(const uint8_t *p, const struct steps *t)
{
    int32_t sum = 0;
    for (int i = 0; i < t->taps; i++)
        sum += t->first[i] * p[i];
    return splat(sum);
}

/* Converts steps, which are the differences between neighbouring sums, to these sums. *next must be
 * the sum at the first of these samples; on return it is the sum at the first sample after them. */
static inline void add_up_steps(v32 steps[4], v32 *next)
{
    const v32 two = steps[0] + steps[1], three = two + steps[2], all = three + steps[3];
    const v32 base = add_up(all, next) - all;
    steps[3] = base + three;
    steps[2] = base + two;
    steps[1] = base + steps[0];
    steps[0] = base;
}

/* Does the same as row_pass(), but the input samples are bytes. Reads up to 4 * quads - 1 bytes
 * beyond the n-th, which must be readable. */
static void row_pass_by_steps(v32 *restrict to, const uint8_t *restrict a,
                              const uint8_t *restrict b, int n, const struct steps *t, int shift)
{
    const __m512i low = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    const __m512i high = _mm512_add_epi32(low, _mm512_set1_epi32(LANES / 2));
    const v32 round = splat(1 << (shift - 1));
    v32 next_a = first_sum(a, t) + round, next_b = first_sum(b, t) + round;
    for (int x = 0; x < n; x += STEP, to += 4) {
        v32 sa[4] = {{0}}, sb[4] = {{0}};
        for (int q = 0; q < t->quads; q++) {
            const __m512i pa = _mm512_loadu_si512(a + x + 4 * q);
            const __m512i pb = _mm512_loadu_si512(b + x + 4 * q);
            for (int s = 0; s < 4; s++) {
                const __m512i w = _mm512_set1_epi32(t->weights[q][s]);
                sa[s] = (v32)_mm512_dpbusd_epi32((__m512i)sa[s], pa, w);
                sb[s] = (v32)_mm512_dpbusd_epi32((__m512i)sb[s], pb, w);
            }
        }
        add_up_steps(sa, &next_a);
        add_up_steps(sb, &next_b);
        __m512i pairs[4];
        for (int s = 0; s < 4; s++)
            pairs[s] = (__m512i)merge(sa[s] >> shift, sb[s] >> shift);
        to[0] = (v32)_mm512_permutex2var_epi32(pairs[0], low, pairs[2]);
        to[1] = (v32)_mm512_permutex2var_epi32(pairs[1], low, pairs[3]);
        to[2] = (v32)_mm512_permutex2var_epi32(pairs[0], high, pairs[2]);
        to[3] = (v32)_mm512_permutex2var_epi32(pairs[1], high, pairs[3]);
    }
}

#else

static bool set_steps(struct steps *t, const struct halo_conv *c)
{
    (void)t;
    (void)c;
    return false;
}

static void row_pass_by_steps(v32 *to, const uint8_t *a, const uint8_t *b, int n,
                              const struct steps *t, int shift)
{
    (void)to, (void)a, (void)b, (void)n, (void)t, (void)shift;
}

#endif
