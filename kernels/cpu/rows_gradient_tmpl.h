/* SPDX-License-Identifier: BSD-2-Clause
 * rows_tmpl.c: gradients. Both masks are applied in one pass over three source rows, with pairs of
 * weights as for dense masks, followed by the root of the sum of squares in floating point: the
 * correctly rounded root of an integer below 2^24 never reaches the next integer (that of n^2 - 1
 * is below n - 2^-13, and n is a multiple of the distance of floats there), so truncating it is
 * exact. The same holds for doubles below 2^52. */
#include <math.h>

typedef float f32v __attribute__((vector_size(VECTOR), may_alias));
typedef uint64_t u64v __attribute__((vector_size(VECTOR), may_alias));

/* The weights of each mask row. */
struct gradient_pairs {
    struct taps a[3], b[3];
};

/* Returns the 64-bit products of the low halves of 64-bit lanes. */
static inline u64v mul_low_halves(u64v a, u64v b)
{
#if defined(__AVX512BW__)
    return (u64v)_mm512_mul_epu32((__m512i)a, (__m512i)b);
#elif defined(__AVX2__)
    return (u64v)_mm256_mul_epu32((__m256i)a, (__m256i)b);
#elif defined(__SSE2__)
    return (u64v)_mm_mul_epu32((__m128i)a, (__m128i)b);
#elif defined(__aarch64__)
    return (u64v)vmull_u32(vmovn_u64((uint64x2_t)a), vmovn_u64((uint64x2_t)b));
#else
    return (a & 0xffffffff) * (b & 0xffffffff);
#endif
}

/* Returns the integer square root of each lane, all of which must be below 2^24. */
static inline v32 root(v32 v)
{
#if defined(__AVX512BW__)
    return (v32)_mm512_cvttps_epi32(_mm512_sqrt_ps(_mm512_cvtepi32_ps((__m512i)v)));
#elif defined(__AVX2__)
    return (v32)_mm256_cvttps_epi32(_mm256_sqrt_ps(_mm256_cvtepi32_ps((__m256i)v)));
#elif defined(__SSE2__)
    return (v32)_mm_cvttps_epi32(_mm_sqrt_ps(_mm_cvtepi32_ps((__m128i)v)));
#elif defined(__aarch64__)
    return (v32)vcvtq_s32_f32(vsqrtq_f32(vcvtq_f32_s32((int32x4_t)v)));
#else
    for (int i = 0; i < LANES; i++)
        v[i] = (int32_t)sqrtf((float)v[i]);
    return v;
#endif
}

/* Turns the gradient's sums `a` and `b` into samples. c->accum must be HALO_ACCUM_I32. */
static inline v32 narrow_root(v32 a, v32 b, const struct halo_conv *c)
{
    const u32v limit = (u32v)splat((int32_t)(uint32_t)c->limit);
    const u32v aa = (u32v)a * (u32v)a, sum = aa + (u32v)b * (u32v)b;
    const u32v low = (u32v)((sum < limit) & (sum >= aa)); /* where it is 0, the sum is too large or
                                                           * has wrapped */
    const u32v square = (sum & low) | (limit & ~low);
    u32v t;
    if (c->scale == 1 && c->scale_bits < 32) {
        t = square >> c->scale_bits;
    } else {
        const u64v scale = (uint64_t)c->scale - (u64v){0}, pairs = (u64v)square;
        const u64v even = mul_low_halves(pairs, scale) >> c->scale_bits;
        const u64v odd = mul_low_halves(pairs >> 32, scale) >> c->scale_bits;
        t = (u32v)(even | odd << 32); /* assumes little-endian lanes, which every vector unit named
                                       * here has */
    }
    const v32 biased = (root((v32)t) + splat((int32_t)c->bias)) >> c->mask_bits;
    return clamp32(biased, halo_sample_max(c->depth));
}

static inline v32 wide_root(v32 a, v32 b, const struct halo_conv *c)
{
    const int64_t limit = (int64_t)c->limit, scale = c->scale, max = halo_sample_max(c->depth);
    v32 ret = {0};
    for (int i = 0; i < LANES; i++) {
        const int64_t square = (int64_t)a[i] * a[i] + (int64_t)b[i] * b[i];
        const int64_t t = (square < limit ? square : limit) * scale >> c->scale_bits;
        const int64_t v = ((int64_t)sqrt((double)t) + c->bias) >> c->mask_bits;
        ret[i] = (int32_t)(v < 0 ? 0 : v > max ? max : v);
    }
    return ret;
}

/* Computes one block of output. */
static inline __attribute__((always_inline)) void gradient_block(
    const struct halo_conv *c, const struct gradient_pairs *g, const uint16_t *const *rows,
    size_t at, v32 ret[2], v32 (*finish)(v32, v32, const struct halo_conv *))
{
    v32 a_even = {0}, a_odd = {0}, b_even = {0}, b_odd = {0};
    for (int j = 0; j < 3; j++) {
        for (int k = 0; k < 2; k++) {
            const v32 v = load(rows[j] + at + 2 * k);
            a_even = mac(a_even, v, splat(g->a[j].even[k]));
            a_odd = mac(a_odd, v, splat(g->a[j].odd[k]));
            b_even = mac(b_even, v, splat(g->b[j].even[k]));
            b_odd = mac(b_odd, v, splat(g->b[j].odd[k]));
        }
    }
    ret[0] = finish(a_even, b_even, c);
    ret[1] = finish(a_odd, b_odd, c);
}

/* Computes one segment of an output row, from word `first` on. */
static inline __attribute__((always_inline)) void gradient_row(
    const struct strip *s, const struct gradient_pairs *g, const uint16_t *const *rows,
    size_t segment, size_t first, v32 (*finish)(v32, v32, const struct halo_conv *))
{
    const struct halo_conv *c = s->job->conv;
    for (size_t x = 0; x < (size_t)s->width; x += STEP) {
        v32 v[4];
        gradient_block(c, g, rows, segment + x, v, finish);
        gradient_block(c, g, rows, segment + x + BLOCK, v + 2, finish);
        if (c->depth == 8) {
            store((uint8_t *)s->out[0] + first + x, narrow(v[0], v[1], v[2], v[3]));
        } else {
            uint16_t *to = (uint16_t *)s->out[0] + first + x;
            store(to, merge(v[0], v[1]));
            store(to + BLOCK, merge(v[2], v[3]));
        }
    }
}

static void gradient(struct strip *s)
{
    const struct halo_conv *c = s->job->conv;
    const int channels = s->job->src.channels, count = 3;
    struct gradient_pairs g;
    for (int j = 0; j < count; j++) {
        set_taps(&g.a[j], c->mask + 3 * j, 1);
        set_taps(&g.b[j], c->mask + 9 + 3 * j, 1);
    }

    for (int next = 0, y = s->y0; y < s->y1; y++) {
        for (; next < y - s->y0 + count; next++)
            read_row(s, ring_row(&s->ring, next), s->y0 - 1 + next);
        begin_rows(s, y, 1);
        const uint16_t *rows[3];
        for (int j = 0; j < count; j++)
            rows[j] = ring_row(&s->ring, y - s->y0 + j);
        for (int ch = 0; ch < channels; ch++) {
            const size_t segment = (size_t)(ch * s->segment), to = (size_t)(ch * s->width);
            if (c->accum == HALO_ACCUM_I64)
                gradient_row(s, &g, rows, segment, to, wide_root);
            else
                gradient_row(s, &g, rows, segment, to, narrow_root);
        }
        end_rows(s, y, 1);
    }
}
