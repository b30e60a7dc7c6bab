/* SPDX-License-Identifier: BSD-2-Clause
 * rows_tmpl.c: the vectors of the instruction set for which it is being compiled. */
#include <string.h>

#include "kernels/cpu/rows.h"

#if defined(__AVX512BW__) || defined(__AVX2__) || defined(__SSE2__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
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
    BLOCK = 2 * LANES, /* number of samples in one even and one odd vector */
    STEP = 2 * BLOCK,  /* number of samples per iteration of an inner loop */
};

typedef int32_t v32 __attribute__((vector_size(VECTOR), may_alias));
typedef uint32_t u32v __attribute__((vector_size(VECTOR), may_alias));
typedef v32 v32_unaligned __attribute__((aligned(2)));

/* The sample of a word. */
static inline uint16_t clip(uint16_t word, int shift, uint16_t max)
{
    const uint16_t v = (uint16_t)(word >> shift);
    return v > max ? max : v;
}

static inline v32 splat(int32_t v)
{
    return v - (v32){0};
}

/* GCC would rather load a vector again than keep it in a register; the empty statement prevents
 * that. */
static inline v32 keep(v32 v)
{
#if defined(__AVX512BW__)
    __asm__("" : "+v"(v));
#elif defined(__SSE2__)
    __asm__("" : "+x"(v));
#endif
    return v;
}

static inline v32 load(const uint16_t *p)
{
    return keep(*(const v32_unaligned *)p);
}

static inline void store(void *p, v32 v)
{
    memcpy(p, &v, sizeof v);
}

/* Returns, in each lane, `sum` plus the product of the low halves of `a` and `w` plus the product
 * of their high halves. All values are signed, and the result may wrap. */
static inline v32 mac(v32 sum, v32 a, v32 w)
{
#if defined(__AVX512VNNI__)
    return (v32)_mm512_dpwssd_epi32((__m512i)sum, (__m512i)a, (__m512i)w);
#elif defined(__AVX512BW__)
    return (v32)((u32v)sum + (u32v)_mm512_madd_epi16((__m512i)a, (__m512i)w));
#elif defined(__AVX2__)
    return (v32)((u32v)sum + (u32v)_mm256_madd_epi16((__m256i)a, (__m256i)w));
#elif defined(__SSE2__)
    return (v32)((u32v)sum + (u32v)_mm_madd_epi16((__m128i)a, (__m128i)w));
#elif defined(__aarch64__)
    /* This way, the compiler splits each vector into halves only once, rather than at every use. */
    const int32x4_t va = (int32x4_t)a, vw = (int32x4_t)w;
    const int32x4_t low = vmlal_s16((int32x4_t)sum, vmovn_s32(va), vmovn_s32(vw));
    return (v32)vmlal_s16(low, vshrn_n_s32(va, 16), vshrn_n_s32(vw, 16));
#else
    const v32 low = ((v32)((u32v)a << 16) >> 16) * ((v32)((u32v)w << 16) >> 16);
    return (v32)((u32v)sum + (u32v)low + (u32v)((a >> 16) * (w >> 16)));
#endif
}

static inline int32_t pair(int32_t low, int32_t high)
{
    return (int32_t)((uint32_t)(uint16_t)low | (uint32_t)high << 16);
}

/* Merges two vectors of values below 2^16 into one, with the first in the low halves. */
static inline v32 merge(v32 low, v32 high)
{
    return low | (v32)((u32v)high << 16);
}

/* Returns, in each lane, *before plus the sum of the lanes of v up to this one. All lanes of
 * *before are equal; afterwards, they have the last of these sums. The lanes of each group of four
 * are added up in two steps, and then the groups are (W. D. Hillis, G. L. Steele, "Data Parallel
 * Algorithms", 1986). */
static inline v32 add_up(v32 v, v32 *before)
{
#if defined(__AVX512BW__)
    const __m512i zero = _mm512_setzero_si512();
    v += (v32)_mm512_bslli_epi128((__m512i)v, 4);
    v += (v32)_mm512_bslli_epi128((__m512i)v, 8);
    const v32 groups = (v32)_mm512_shuffle_epi32((__m512i)v, 0xff);
    v32 sums = groups + (v32)_mm512_alignr_epi64((__m512i)groups, zero, 6);
    sums += (v32)_mm512_alignr_epi64((__m512i)sums, zero, 4);
    v += sums - groups + *before;
    *before += (v32)_mm512_shuffle_i64x2((__m512i)sums, (__m512i)sums, 0xff);
#elif defined(__AVX2__)
    v += (v32)_mm256_bslli_epi128((__m256i)v, 4);
    v += (v32)_mm256_bslli_epi128((__m256i)v, 8);
    const __m256i groups = _mm256_shuffle_epi32((__m256i)v, 0xff);
    const v32 lower = (v32)_mm256_permute2x128_si256(groups, groups, 0x08);
    const __m256i sums = (__m256i)((v32)groups + lower);
    v += lower + *before;
    *before += (v32)_mm256_permute2x128_si256(sums, sums, 0x11);
#else
    v += SHUFFLE(v, splat(0), 4, 0, 1, 2);
    v += SHUFFLE(v, splat(0), 4, 5, 0, 1);
    const v32 sum = SHUFFLE(v, v, 3, 3, 3, 3);
    v += *before;
    *before += sum;
#endif
    return v;
}

static inline v32 clamp32(v32 v, int max)
{
#if defined(__AVX512BW__)
    return (v32)_mm512_min_epi32(_mm512_max_epi32((__m512i)v, _mm512_setzero_si512()),
                                 _mm512_set1_epi32(max));
#elif defined(__AVX2__)
    return (v32)_mm256_min_epi32(_mm256_max_epi32((__m256i)v, _mm256_setzero_si256()),
                                 _mm256_set1_epi32(max));
#else
    v &= v >= 0; /* a comparison sets either all bits of a lane or none */
    const v32 over = v > max;
    return (v & ~over) | (splat(max) & over);
#endif
}

/* Clamps samples to bytes, and interleaves the even and odd vectors of one block, followed by those
 * of another. */
static inline v32 narrow(v32 even0, v32 odd0, v32 even1, v32 odd1)
{
#if defined(__AVX512BW__)
    /* Within each 128-bit lane, these steps make the words of both blocks, then the even bytes
     * followed by the odd ones, and then interleaved bytes. */
    const __m512i e = _mm512_packs_epi32((__m512i)even0, (__m512i)even1);
    const __m512i o = _mm512_packs_epi32((__m512i)odd0, (__m512i)odd1);
    const __m512i v = _mm512_packus_epi16(e, o);
    const __m512i turns = _mm512_unpacklo_epi8(v, _mm512_unpackhi_epi64(v, v));
    return (v32)_mm512_permutexvar_epi64(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7), turns);
#elif defined(__AVX2__)
    const __m256i e = _mm256_packs_epi32((__m256i)even0, (__m256i)even1);
    const __m256i o = _mm256_packs_epi32((__m256i)odd0, (__m256i)odd1);
    const __m256i v = _mm256_packus_epi16(e, o);
    const __m256i turns = _mm256_unpacklo_epi8(v, _mm256_unpackhi_epi64(v, v));
    return (v32)_mm256_permute4x64_epi64(turns, _MM_SHUFFLE(3, 1, 2, 0));
#elif defined(__SSE2__)
    const __m128i e = _mm_packs_epi32((__m128i)even0, (__m128i)even1);
    const __m128i o = _mm_packs_epi32((__m128i)odd0, (__m128i)odd1);
    const __m128i v = _mm_packus_epi16(e, o);
    return (v32)_mm_unpacklo_epi8(v, _mm_unpackhi_epi64(v, v));
#elif defined(__aarch64__)
    const int16x8_t e = vcombine_s16(vqmovn_s32((int32x4_t)even0), vqmovn_s32((int32x4_t)even1));
    const int16x8_t o = vcombine_s16(vqmovn_s32((int32x4_t)odd0), vqmovn_s32((int32x4_t)odd1));
    const uint8x8_t even = vqmovun_s16(e), odd = vqmovun_s16(o);
    return (v32)vcombine_u8(vzip1_u8(even, odd), vzip2_u8(even, odd));
#else
    typedef uint8_t bytes __attribute__((vector_size(VECTOR)));
    even0 = clamp32(even0, 255), odd0 = clamp32(odd0, 255);
    even1 = clamp32(even1, 255), odd1 = clamp32(odd1, 255);
    bytes ret;
    for (int i = 0; i < LANES; i++) {
        ret[2 * i] = (uint8_t)even0[i];
        ret[2 * i + 1] = (uint8_t)odd0[i];
        ret[BLOCK + 2 * i] = (uint8_t)even1[i];
        ret[BLOCK + 2 * i + 1] = (uint8_t)odd1[i];
    }
    return (v32)ret;
#endif
}
