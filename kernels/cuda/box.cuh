/* SPDX-License-Identifier: BSD-2-Clause
 * Shared by the box kernels on tensor cores: the product, the mean, and ghost columns.
 *
 * The mean is floor(sum / area + 1/2): area is odd, so no quotient is a tie, or nearer to a tie
 * than 1 / (2 area). If the largest sum, area times the largest sample, is below 2^23, sums are
 * floats, and the error of the product with the rounded 1/area, at most sample * 2^-24, is less
 * than 1 / (2 area). In the float x + 1/2 + 2^15, rounded down, the integer part of x, which is
 * below 2^15, begins at bit 8.
 *
 * Ghost columns are made word by word: the columns of a word come from at most two aligned words of
 * the same row, or from one word and the constant, so that a gather is two loads and a byte
 * permutation. */
#ifndef HALO_BOX_CUH
#define HALO_BOX_CUH

#include "kernels/cuda/tensor.cuh"
#include "kernels/cuda/tile.cuh"

enum {
    HALO_BOX_BASE = 0x4b000000, /* the float 2^23: integers added to its bits are its fraction */
    HALO_BOX_MAX_SUM = (1 << 23) - 1,
    HALO_BOX_MAX_DEPTH = 12,
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

/* The integer part of the result begins at bit 8. sum includes HALO_BOX_BASE. */
static __device__ inline uint32_t halo_box_mean(int sum, float scale)
{
    const float exact = __int_as_float(sum) - __int_as_float(HALO_BOX_BASE);
    return __float_as_uint(__fmaf_rd(exact, scale, 32768.5f));
}

/* Two means in a word, in the order of the sums. */
static __device__ inline uint32_t halo_box_mean_pair(int sum0, int sum1, float scale)
{
    return __byte_perm(halo_box_mean(sum0, scale), halo_box_mean(sum1, scale), 0x6521);
}

/* Four bytes in a row: the means of sums[block][first], sums[block][first + 1] of two blocks. */
static __device__ inline uint32_t halo_box_means(const int (*sums)[4], int first, float scale)
{
    const uint32_t pair0 = __byte_perm(halo_box_mean(sums[0][first], scale),
                                       halo_box_mean(sums[0][first + 1], scale), 0x0051);
    const uint32_t pair1 = __byte_perm(halo_box_mean(sums[1][first], scale),
                                       halo_box_mean(sums[1][first + 1], scale), 0x0051);
    return __byte_perm(pair0, pair1, 0x5410);
}

/* Four elements of a band of ones, beginning this many elements to the right of the output: the
 * weight is one if the distance is within the radius and a whole number of pixels. */
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

/* The source of a word of elements: offsets of two words in the row, or HALO_GHOST for the
 * constant. */
struct alignas(16) halo_word_source {
    int a, b;        /* bytes */
    uint32_t select; /* for __byte_perm */
};

/* Whether two words suffice for all columns that a mask of this reach, in elements, reads. If a
 * plane wraps more than once, its right end can be anywhere within the four elements, which then
 * need a third word. */
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

/* e is the first element of an aligned word. */
template <typename Sample>
static __device__ inline struct halo_word_source halo_word_source_of(int e,
                                                                     const struct halo_plane &p,
                                                                     enum halo_border border)
{
    constexpr int BYTES = sizeof(Sample);
    const int log2_channels = p.channels - 1;
    struct halo_word_source ret = {HALO_GHOST, HALO_GHOST, 0};
    for (int i = 0; i < 4 / BYTES; i++) {
        const int x = halo_far_index((e + i) >> log2_channels, p.width, border);
        int byte = 4; /* index in both words: the first byte of b */
        if (x != HALO_GHOST) {
            const int from = ((x << log2_channels) + ((e + i) & log2_channels)) * BYTES;
            const int word = from & ~3;
            ret.a = ret.a == HALO_GHOST ? word : ret.a;
            ret.b = word == ret.a ? ret.b : word;
            byte = from % 4 + (word == ret.a ? 0 : 4);
        }
        for (int b = 0; b < BYTES; b++)
            ret.select |= (uint32_t)(byte + b) << 4 * (i * BYTES + b);
    }
    return ret;
}

/* ghost: a word filled with the constant. */
static __device__ inline uint32_t halo_gather_word(const uint8_t *row,
                                                   const struct halo_word_source &from,
                                                   uint32_t ghost)
{
    const uint32_t a = from.a >= 0 ? *(const uint32_t *)(row + from.a) : ghost;
    const uint32_t b = from.b >= 0 ? *(const uint32_t *)(row + from.b) : ghost;
    return __byte_perm(a, b, from.select);
}

#endif
