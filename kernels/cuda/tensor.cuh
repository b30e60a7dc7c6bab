/* SPDX-License-Identifier: BSD-2-Clause
 * Shared by the tensor-core kernels: the matrix instructions.
 *
 * A convolution with a mask of M taps is a product with a banded (Toeplitz) matrix: column k of an
 * input row contributes to output x with weight w[k - x]. So a block of outputs is a tiled matrix
 * product in which the zeros of the band replace tests of boundaries.
 *
 * Fragments (PTX ISA, mma.m16n8k16 and mma.m16n8k32): the registers of a lane that hold each square
 * of 8 rows or columns by half of k,
 *
 *            k                              n                       n
 *      A   +----+----+                B   +----+              C   +-------+
 *          | a0 | a2 |  rows 0 .. 7     k | b0 |                  | c0 c1 |  rows 0 .. 7
 *          +----+----+                    +----+                  +-------+
 *          | a1 | a3 |  rows 8 .. 15      | b1 |                  | c2 c3 |  rows 8 .. 15
 *          +----+----+                    +----+                  +-------+
 *
 * and the position of a lane's part in its square (for B, exchange rows and columns):
 *
 *                  elements of k, 16 bits (or columns of C)
 *                  0 1    2 3    4 5    6 7
 *      row 0     | L0   | L1   | L2   | L3   |        with g = lane / 4 and t = lane % 4
 *      row 1     | L4   | L5   | L6   | L7   |        row g, elements 2t and 2t + 1,
 *       ...                                           or of 8 bits 4t .. 4t + 3 of 16
 *      row 7     | L28  | L29  | L30  | L31  |
 *
 * The order of input cells along k is arbitrary as long as A and B agree. */
#ifndef HALO_TENSOR_CUH
#define HALO_TENSOR_CUH

#include <cuda_runtime.h>

#include "kernels/cuda/strategies.h"

/* On older devices these kernels are compiled without their instructions, and never chosen. */
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
#define HALO_HAVE_MMA 1
#else
#define HALO_HAVE_MMA 0
#endif

/* c = a b, or c += a b: 16x16 FP16 by 16x8 FP16, FP32 sums. */
static __device__ inline void halo_mma_f16_first(float (&c)[4], uint32_t a0, uint32_t a1,
                                                 uint32_t a2, uint32_t a3, uint32_t b0, uint32_t b1)
{
#if HALO_HAVE_MMA
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, "
        "{%4,%5,%6,%7}, {%8,%9}, {%10,%10,%10,%10};"
        : "=f"(c[0]), "=f"(c[1]), "=f"(c[2]), "=f"(c[3])
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1), "f"(0.0f));
#endif
}

static __device__ inline void halo_mma_f16(float (&c)[4], uint32_t a0, uint32_t a1, uint32_t a2,
                                           uint32_t a3, uint32_t b0, uint32_t b1)
{
#if HALO_HAVE_MMA
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, "
        "{%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
#endif
}

/* c += a b: 16x32 unsigned by 32x8 signed bytes, 32-bit sums. */
static __device__ inline void halo_mma_u8s8(int (&c)[4], uint32_t a0, uint32_t a1, uint32_t a2,
                                            uint32_t a3, uint32_t b0, uint32_t b1)
{
#if HALO_HAVE_MMA
    asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 {%0,%1,%2,%3}, "
        "{%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
#endif
}

/* The same with 16 in k, for half the cost: a0, a1 and b0 have the same meaning. */
static __device__ inline void halo_mma_u8s8_half(int (&c)[4], uint32_t a0, uint32_t a1, uint32_t b0)
{
#if HALO_HAVE_MMA
    asm("mma.sync.aligned.m16n8k16.row.col.s32.u8.s8.s32 {%0,%1,%2,%3}, "
        "{%4,%5}, {%6}, {%0,%1,%2,%3};"
        : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
        : "r"(a0), "r"(a1), "r"(b0));
#endif
}

/* The same two products with unsigned bytes only; _first: c = a b + start. */
static __device__ inline void halo_mma_u8u8(int (&c)[4], uint32_t a0, uint32_t a1, uint32_t a2,
                                            uint32_t a3, uint32_t b0, uint32_t b1)
{
#if HALO_HAVE_MMA
    asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32 {%0,%1,%2,%3}, "
        "{%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
#endif
}

static __device__ inline void halo_mma_u8u8_first(int (&c)[4], uint32_t a0, uint32_t a1,
                                                  uint32_t a2, uint32_t a3, uint32_t b0,
                                                  uint32_t b1, int start)
{
#if HALO_HAVE_MMA
    asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32 {%0,%1,%2,%3}, "
        "{%4,%5,%6,%7}, {%8,%9}, {%10,%10,%10,%10};"
        : "=r"(c[0]), "=r"(c[1]), "=r"(c[2]), "=r"(c[3])
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1), "r"(start));
#endif
}

static __device__ inline void halo_mma_u8u8_half(int (&c)[4], uint32_t a0, uint32_t a1, uint32_t b0)
{
#if HALO_HAVE_MMA
    asm("mma.sync.aligned.m16n8k16.row.col.s32.u8.u8.s32 {%0,%1,%2,%3}, "
        "{%4,%5}, {%6}, {%0,%1,%2,%3};"
        : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
        : "r"(a0), "r"(a1), "r"(b0));
#endif
}

/* Where a lane's outputs are written: for two strips from element e on, every eighth row from y + g
 * on. With samples of 16 bits, elements 4t .. 4t+3 of each strip; with bytes, those of
 * halo_pair_strips. */
struct halo_lane_out {
    uint8_t *at;
    ptrdiff_t step;   /* bytes to the next row */
    int rows_left[2]; /* rows inside the plane, of each strip; with bytes only the first is used */
};

/* Advances by addition: a multiplication for each row would cost as much as the row itself. */
static __device__ inline void halo_next_row(struct halo_lane_out &out)
{
    out.at += out.step;
    out.rows_left[0] -= 8;
    out.rows_left[1] -= 8;
}

template <typename Sample>
static __device__ inline struct halo_lane_out halo_lane_out_of(const struct halo_plane &dst, int e,
                                                               int y, int lane)
{
    const int t = lane % 4, elements = dst.width * dst.channels;
    e += sizeof(Sample) == 1 ? t % 2 * 16 + t / 2 * 8 : 4 * t;
    y += lane / 4;
    return {(uint8_t *)dst.data + y * dst.stride + e * (int)sizeof(Sample),
            8 * dst.stride,
            {e < elements ? dst.height - y : 0, e + 16 < elements ? dst.height - y : 0}};
}

/* Before the call, two lanes of a quad hold 4 bytes each at 4t for two neighbouring strips of 16
 * outputs; afterwards, each holds 8 consecutive bytes: of strip t % 2, from byte 8 (t / 2) on. */
static __device__ inline uint2 halo_pair_strips(uint32_t strip0, uint32_t strip1, int t)
{
    const bool odd = t & 1;
    const uint32_t other = __shfl_xor_sync(0xffffffff, odd ? strip0 : strip1, 1);
    return odd ? make_uint2(other, strip1) : make_uint2(strip0, other);
}

#endif
