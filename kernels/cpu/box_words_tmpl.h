/* SPDX-License-Identifier: BSD-2-Clause
 * box_tmpl.c: rows of windows whose columns are 16-bit words. Each window is the one before it plus
 * the column that enters on the right, minus the one that leaves on the left. A lane of 32 bits has
 * four neighbouring samples, so only the sums of four such differences are added up across lanes;
 * with two channels, the sums of two.
 *
 * The quotients are computed in floats. Let u be 2^-24, r the smallest float that is not below
 * 1 / area, and N < 2^22 the sum of a window with its rounding term, which a float holds exactly.
 * Then N r >= N / area, and rounding cannot bring this product below floor(N / area). Because of
 * r <= (1 + 2 u) / area, the rounded product exceeds N / area by less than 3.1 u N / area. To reach
 * the next integer, it would have to exceed it by 1 / area or more, but 3.1 u N is below 1. */

#if VECTOR == 64
#define EVEN_LANES  0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30
#define ODD_LANES   1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31
#define LOWER_LANES 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define UPPER_LANES 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#elif VECTOR == 32
#define EVEN_LANES  0, 2, 4, 6, 8, 10, 12, 14
#define ODD_LANES   1, 3, 5, 7, 9, 11, 13, 15
#define LOWER_LANES 0, 8, 1, 9, 2, 10, 3, 11
#define UPPER_LANES 4, 12, 5, 13, 6, 14, 7, 15
#else
#define EVEN_LANES  0, 2, 4, 6
#define ODD_LANES   1, 3, 5, 7
#define LOWER_LANES 0, 4, 1, 5
#define UPPER_LANES 2, 6, 3, 7
#endif

typedef uint16_t word_lanes __attribute__((vector_size(VECTOR)));
typedef float float_lanes __attribute__((vector_size(VECTOR)));

/* Of the four neighbouring samples of each lane: the differences, and sums of two of them. */
struct steps {
    v32 v[4], first_two, last_two;
};

/* A kind of row, constant where it is used, so that no branches on it are left. */
struct kind {
    int channels;
    bool bytes; /* depth 8 */
    bool high;  /* columns may need all 16 bits, so differences need 17 */
};

/* Returns by how much each window differs from the one before it. */
static inline __attribute__((always_inline)) struct steps find_steps(const uint16_t *right,
                                                                     const uint16_t *left,
                                                                     bool high)
{
    const v32 in0 = load(right), in1 = load(right + BLOCK);
    const v32 out0 = load(left), out1 = load(left + BLOCK), low = splat(0xffff);
    struct steps d;
    if (high) {
        const v32 in[2] = {SHUFFLE(in0, in1, EVEN_LANES), SHUFFLE(in0, in1, ODD_LANES)};
        const v32 out[2] = {SHUFFLE(out0, out1, EVEN_LANES), SHUFFLE(out0, out1, ODD_LANES)};
        for (int i = 0; i < 2; i++) {
            d.v[2 * i] = (in[i] & low) - (out[i] & low);
            d.v[2 * i + 1] = (v32)(((u32v)in[i] >> 16) - ((u32v)out[i] >> 16));
        }
        d.first_two = d.v[0] + d.v[1];
        d.last_two = d.v[2] + d.v[3];
    } else {
        const v32 d0 = (v32)((word_lanes)in0 - (word_lanes)out0);
        const v32 d1 = (v32)((word_lanes)in1 - (word_lanes)out1);
        const v32 even = SHUFFLE(d0, d1, EVEN_LANES);
        const v32 odd = SHUFFLE(d0, d1, ODD_LANES);
        d.v[0] = (v32)((u32v)even << 16) >> 16, d.v[1] = even >> 16;
        d.v[2] = (v32)((u32v)odd << 16) >> 16, d.v[3] = odd >> 16;
        d.first_two = mac(splat(0), even, splat(pair(1, 1)));
        d.last_two = mac(splat(0), odd, splat(pair(1, 1)));
    }
    return d;
}

/* Adds up the steps to windows, after the last window of each channel in before[]. */
static inline __attribute__((always_inline)) void find_windows(v32 w[4], const struct steps *d,
                                                               v32 before[2], int channels)
{
    if (channels == 1) {
        w[3] = add_up(d->first_two + d->last_two, before);
        w[2] = w[3] - d->v[3];
        w[1] = w[3] - d->last_two;
        w[0] = w[1] - d->v[1];
    } else {
        w[2] = add_up(d->v[0] + d->v[2], before);
        w[3] = add_up(d->v[1] + d->v[3], before + 1);
        w[0] = w[2] - d->v[2];
        w[1] = w[3] - d->v[3];
    }
}

/* A row in progress. */
struct walk {
    const uint16_t *right, *left; /* the columns that enter and leave the first window */
    v32 before[2];                /* the last window of each channel before these, with rounding */
    float unit;
    int shift;
};

/* Computes STEP samples from the x-th on. */
static inline __attribute__((always_inline)) void write_step(void *to, struct walk *at, int x,
                                                             struct kind kind)
{
    const struct steps d = find_steps(at->right + x, at->left + x, kind.high);
    v32 w[4];
    find_windows(w, &d, at->before, kind.channels);
    for (int i = 0; i < 4; i++)
        w[i] = __builtin_convertvector(__builtin_convertvector(w[i], float_lanes) * at->unit, v32);
    if (kind.bytes) {
        store(to, w[0] | (v32)((u32v)w[1] << 8 | (u32v)w[2] << 16 | (u32v)w[3] << 24));
        return;
    }
    const v32 first = (v32)((u32v)merge(w[0], w[1]) << at->shift);
    const v32 second = (v32)((u32v)merge(w[2], w[3]) << at->shift);
    store(to, SHUFFLE(first, second, LOWER_LANES));
    store((char *)to + VECTOR, SHUFFLE(first, second, UPPER_LANES));
}

static inline __attribute__((always_inline)) void write_steps(const struct box *b, int y,
                                                              struct kind kind)
{
    const int channels = kind.channels, sample = kind.bytes ? 1 : 2;
    const uint16_t *inner = b->inner;
    struct walk at = {.right = inner + b->ghosts,
                      .left = inner - b->ghosts - channels,
                      .unit = b->unit,
                      .shift = b->job->dst.shift};
    for (int ch = 0; ch < channels; ch++) {
        uint32_t sum = (uint32_t)b->area / 2;
        for (const uint16_t *p = at.left + ch; p < at.right; p += channels)
            sum += *p;
        at.before[ch] = splat((int32_t)sum);
    }
    /* The rows that will be read and written next are prefetched. */
    const char *enters = source_row(b, y + 2 + b->job->conv->radius_y);
    char *to = halo_plane_row(&b->job->dst, y), last[2 * STEP];
    const ptrdiff_t below = b->job->dst.stride;
    int x = 0;
    for (; x + STEP <= b->length; x += STEP, to += STEP * sample, enters += STEP * sample) {
        for (int i = 0; i < STEP * sample; i += LINE) {
            __builtin_prefetch(enters + i);
            __builtin_prefetch(to + below + i, 1);
        }
        write_step(to, &at, x, kind);
    }
    if (x < b->length) {
        write_step(last, &at, x, kind);
        memcpy(to, last, (size_t)((b->length - x) * sample));
    }
}

#define WRITE(name, ...)                                                                           \
    static void name(const struct box *b, int y)                                                   \
    {                                                                                              \
        write_steps(b, y, (struct kind){__VA_ARGS__});                                             \
    }
WRITE(write_bytes, 1, true, false)
WRITE(write_bytes_high, 1, true, true)
WRITE(write_byte_pairs, 2, true, false)
WRITE(write_byte_pairs_high, 2, true, true)
WRITE(write_words, 1, false, false)
WRITE(write_words_high, 1, false, true)
WRITE(write_word_pairs, 2, false, false)
WRITE(write_word_pairs_high, 2, false, true)
#undef WRITE

/* Sets up the division, and returns the function for rows of this kind; NULL if words or floats do
 * not suffice. */
static write_row_fn *choose_words(struct box *b)
{
    static write_row_fn *const table[2][2][2] = {
        {{write_words, write_words_high}, {write_word_pairs, write_word_pairs_high}},
        {{write_bytes, write_bytes_high}, {write_byte_pairs, write_byte_pairs_high}},
    };
    const struct halo_plane *src = &b->job->src;
    const int max = halo_sample_max(src->depth), column = (2 * b->job->conv->radius_y + 1) * max;
    if (column > UINT16_MAX || b->area * (uint64_t)(max + 1) > 1 << 22)
        return NULL;
    b->unit = 1.0f / (float)b->area;
    if ((double)b->unit * (double)b->area < 1)
        b->unit = nextafterf(b->unit, 1);
    return table[src->depth == 8][src->channels - 1][column > INT16_MAX];
}
