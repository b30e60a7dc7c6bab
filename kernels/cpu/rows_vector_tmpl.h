/* SPDX-License-Identifier: BSD-2-Clause
 * rows_tmpl.c: the vectors of the instruction set it is being built for. */
#include "rows.h"

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
    BLOCK = 2 * LANES, /* samples: an even vector and an odd one */
    STEP = 2 * BLOCK,  /* what an inner loop does at once */
};

typedef int32_t v32 __attribute__((vector_size(VECTOR), may_alias));
typedef uint32_t u32v __attribute__((vector_size(VECTOR), may_alias));
typedef v32 v32_unaligned __attribute__((aligned(2)));

static inline v32 splat(int32_t v)
{
    return v - (v32){0};
}

/* GCC would rather load a vector again than use a register twice; the empty statement stops
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

/* In each lane: sum plus low half of a times low half of w plus high half times high half, all
 * signed. */
static inline v32 mac(v32 sum, v32 a, v32 w)
{
#if defined(__AVX512VNNI__)
    return (v32)_mm512_dpwssd_epi32((__m512i)sum, (__m512i)a, (__m512i)w);
#elif defined(__AVX512BW__)
    return sum + (v32)_mm512_madd_epi16((__m512i)a, (__m512i)w);
#elif defined(__AVX2__)
    return sum + (v32)_mm256_madd_epi16((__m256i)a, (__m256i)w);
#elif defined(__SSE2__)
    return sum + (v32)_mm_madd_epi16((__m128i)a, (__m128i)w);
#elif defined(__aarch64__)
    /* The halves of a vector are taken apart once for all its uses. */
    const int32x4_t va = (int32x4_t)a, vw = (int32x4_t)w;
    const int32x4_t low = vmlal_s16((int32x4_t)sum, vmovn_s32(va), vmovn_s32(vw));
    return (v32)vmlal_s16(low, vshrn_n_s32(va, 16), vshrn_n_s32(vw, 16));
#else
    const v32 low = ((v32)((u32v)a << 16) >> 16) * ((v32)((u32v)w << 16) >> 16);
    return sum + low + (a >> 16) * (w >> 16);
#endif
}

static inline int32_t pair(int32_t low, int32_t high)
{
    return (int32_t)((uint32_t)(uint16_t)low | (uint32_t)high << 16);
}

/* Two vectors of values below 2^16 as one, the first in the low halves. */
static inline v32 merge(v32 low, v32 high)
{
    return low | (v32)((u32v)high << 16);
}
