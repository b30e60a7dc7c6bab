/* SPDX-License-Identifier: BSD-2-Clause
 * Ghost columns of bytes by words: any four columns in a row come from at most two aligned words of
 * the same row and the constant, so that a gather is two loads and a byte permutation. */
#ifndef HALO_WORD_SOURCE_CUH
#define HALO_WORD_SOURCE_CUH

#include "kernels/cuda/tile.cuh"

/* Of four elements: first elements of two words, HALO_GHOST where the constant is meant. */
struct alignas(16) halo_word_source {
    int a, b;
    uint32_t select; /* for __byte_perm */
};

/* Whether two words do wherever a mask of this reach in elements looks. Where a picture wraps more
 * than once, its right end can lie anywhere in the four and in a third word. */
static inline bool halo_word_sources_do(const struct halo_plane *p, enum halo_border border,
                                        int reach)
{
    return border != HALO_BORDER_WRAP || p->width * p->channels > reach + 4;
}

/* Not inlined: few threads need it, and its divisions are long. */
static __device__ __noinline__ int halo_far_index(int i, int size, enum halo_border border)
{
    return halo_border_index(i, size, border);
}

/* e is a multiple of 4. */
static __device__ inline struct halo_word_source halo_word_source_of(int e,
                                                                     const struct halo_plane &p,
                                                                     enum halo_border border)
{
    const int log2_channels = p.channels - 1;
    struct halo_word_source ret = {HALO_GHOST, HALO_GHOST, 0};
    for (int i = 0; i < 4; i++) {
        const int x = halo_far_index((e + i) >> log2_channels, p.width, border);
        if (x == HALO_GHOST) {
            ret.select |= 4u << 4 * i;
            continue;
        }
        const int from = (x << log2_channels) + ((e + i) & log2_channels), word = from & ~3;
        ret.a = ret.a == HALO_GHOST ? word : ret.a;
        ret.b = word == ret.a ? ret.b : word;
        ret.select |= (uint32_t)(from % 4 + (word == ret.a ? 0 : 4)) << 4 * i;
    }
    return ret;
}

/* ghost: four times the constant. */
static __device__ inline uint32_t halo_gather_word(const uint8_t *row,
                                                   const struct halo_word_source &from,
                                                   uint32_t ghost)
{
    const uint32_t a = from.a >= 0 ? *(const uint32_t *)(row + from.a) : ghost;
    const uint32_t b = from.b >= 0 ? *(const uint32_t *)(row + from.b) : ghost;
    return __byte_perm(a, b, from.select);
}

#endif
