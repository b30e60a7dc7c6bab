/* SPDX-License-Identifier: BSD-2-Clause
 * Strategy tensor, dense masks: conversion of samples to operands of the matrix products, and of
 * sums to samples. tensor_dense.cuh describes their layout. */
#ifndef HALO_DENSE_SAMPLES_CUH
#define HALO_DENSE_SAMPLES_CUH

#include "kernels/cuda/tensor_tile.cuh"

/* How sums are converted to outputs. */
struct dense_finish {
    int64_t start;    /* bias and rounding constant, shifted right by the zero bits that all weights
                    * share */
    int shift;        /* reduced by these bits as well */
    int word_shift;   /* for samples of 16 bits */
    uint32_t largest; /* the largest 16-bit sample, twice */
};

/* Combines a sum from its parts, with scales 1, 256, ... Unless WIDE, it fits 32 bits and includes
 * start already. */
template <bool WIDE, int SUMS>
static __device__ inline int finish_sum(const int (&parts)[SUMS][4], int i,
                                        const struct dense_finish &by)
{
    if (WIDE) {
        int64_t sum = by.start;
#pragma unroll
        for (int p = 0; p < SUMS; p++)
            sum += (int64_t)parts[p][i] << 8 * p;
        sum >>= by.shift;
        return sum < 0 ? 0 : sum > 0xffff ? 0xffff : (int)sum;
    }
    uint32_t sum = parts[0][i];
#pragma unroll
    for (int p = 1; p < SUMS; p++)
        sum += (uint32_t)parts[p][i] << 8 * p;
    return (int)sum >> by.shift;
}

/* Clamps four values to bytes. */
static __device__ inline uint32_t pack_bytes(int a, int b, int c, int d)
{
    uint32_t high, all;
    asm("cvt.pack.sat.u8.s32.b32 %0, %1, %2, 0;" : "=r"(high) : "r"(d), "r"(c));
    asm("cvt.pack.sat.u8.s32.b32 %0, %1, %2, %3;" : "=r"(all) : "r"(b), "r"(a), "r"(high));
    return all;
}

/* Clamps two values to words of the plane. */
static __device__ inline uint32_t pack_words(int a, int b, const struct dense_finish &by)
{
    uint32_t words;
    asm("cvt.pack.sat.u16.s32 %0, %1, %2;" : "=r"(words) : "r"(b), "r"(a));
    return __vminu2(words, by.largest) << by.word_shift;
}

/* Splits four samples into four low bytes and four high bytes. */
static __device__ inline uint2 split_words(uint32_t first, uint32_t second,
                                           const struct halo_plane &p)
{
    const uint32_t a = halo_sample_pair(first, p), b = halo_sample_pair(second, p);
    return make_uint2(__byte_perm(a, b, 0x6420), __byte_perm(a, b, 0x7531));
}

static __device__ inline void split_tile(const struct halo_raw_tile &t, const struct halo_plane &p)
{
    constexpr int CELLS = halo_chunks<uint16_t>::CELLS, LANES = halo_chunks<uint16_t>::LANES;
    const int column = threadIdx.x % LANES * CELLS;
    if (column < t.tile.columns)
#pragma unroll 4
        for (int row = threadIdx.x / LANES; row < t.tile.rows; row += THREADS / LANES) {
            uint4 *chunk = (uint4 *)(t.cells + row * t.stride + column * sizeof(uint16_t));
            const uint2 left = split_words(chunk->x, chunk->y, p);
            const uint2 right = split_words(chunk->z, chunk->w, p);
            *chunk = make_uint4(left.x, left.y, right.x, right.y);
        }
}

/* Reads the bytes of four samples from cells on: the low bytes, then the high bytes. */
template <int BYTES>
static __device__ inline void read_samples(uint32_t (&ret)[BYTES], const uint8_t *cells)
{
    if constexpr (BYTES == 1) {
        ret[0] = *(const uint32_t *)cells;
    } else {
        const uint2 both = *(const uint2 *)cells;
        ret[0] = both.x;
        ret[1] = both.y;
    }
}

/* A lane's four outputs of each strip. */
template <typename Sample>
static __device__ inline void write_row(const struct halo_lane_out &out, const int (&v)[2][4],
                                        const struct dense_finish &by)
{
    if constexpr (sizeof(Sample) == 1) {
        const uint2 bytes =
            halo_pair_strips(pack_bytes(v[0][0], v[0][1], v[0][2], v[0][3]),
                             pack_bytes(v[1][0], v[1][1], v[1][2], v[1][3]), threadIdx.x % 4);
        if (out.rows_left[0] > 0)
            *(uint2 *)out.at = bytes;
    } else {
#pragma unroll
        for (int strip = 0; strip < 2; strip++)
            if (out.rows_left[strip] > 0)
                *(uint2 *)(out.at + strip * STRIP * 2) =
                    make_uint2(pack_words(v[strip][0], v[strip][1], by),
                               pack_words(v[strip][2], v[strip][3], by));
    }
}

#endif
