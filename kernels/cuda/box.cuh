/* SPDX-License-Identifier: BSD-2-Clause
 * What the box kernels on tensor cores share: the product, the mean, and ghost columns.
 *
 * The mean of bytes is floor(sum / area + 1/2): area is odd, so no sum lies at a tie, and none
 * nearer to one than 1/2 area. Sums below 2^23 are floats, and the error of the product with the
 * rounded 1/area is below 2^-16, which is less than 1/2 area where area is below 2^15. Of x + 1/2 +
 * 2^15, rounded down, the integer begins at bit 8.
 *
 * Ghost columns go by words: any four columns in a row come from at most two aligned words of the
 * same row and the constant, so that a gather is two loads and a byte permutation. */
#ifndef HALO_BOX_CUH
#define HALO_BOX_CUH

#include "kernels/cuda/tile.cuh"
#include "kernels/cuda/tensor.cuh"

enum {
    HALO_BOX_BASE = 0x4b000000, /* the float 2^23: integers added to it are its fraction */
    HALO_BOX_MOST_AREA = (1 << 15) - 1,
};

/* d = a b + c: 16x32 by 32x8 unsigned bytes. */
static __device__ inline void halo_box_multiply(int (&d)[4], const uint32_t *a, uint32_t b0,
                                                uint32_t b1, const int *c)
{
#if HALO_HAVE_MMA
    asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%10,%11,%12,%13};"
        : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1), "r"(c[0]), "r"(c[1]),
          "r"(c[2]), "r"(c[3]));
#endif
}

/* Four outputs in a row: the means of sums[block][first], sums[block][first + 1] of two blocks. The
 * sums stand on HALO_BOX_BASE. */
static __device__ inline uint32_t halo_box_means(const int (*sums)[4], int first, float scale)
{
    uint32_t pairs[2];
#pragma unroll
    for (int block = 0; block < 2; block++) {
        uint32_t mean[2];
#pragma unroll
        for (int i = 0; i < 2; i++) {
            const float sum =
                __int_as_float(sums[block][first + i]) - __int_as_float(HALO_BOX_BASE);
            mean[i] = __float_as_uint(__fmaf_rd(sum, scale, 32768.5f));
        }
        pairs[block] = __byte_perm(mean[0], mean[1], 0x0051);
    }
    return __byte_perm(pairs[0], pairs[1], 0x5410);
}

/* Four elements of a band of ones, from this many elements right of the output on: weights of one
 * where the distance is within the radius and a whole number of pixels. */
static inline uint32_t halo_box_word(int radius_e, int channels, int distance)
{
    uint32_t word = 0;
    for (int i = 0; i < 4; i++) {
        const int d = distance + i < 0 ? -(distance + i) : distance + i;
        if (d <= radius_e && d % channels == 0)
            word |= 1u << 8 * i;
    }
    return word;
}

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
