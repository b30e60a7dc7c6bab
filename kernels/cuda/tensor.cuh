/* SPDX-License-Identifier: BSD-2-Clause
 * What the tensor-core kernels share: the matrix instructions, and the load of a tile of bytes.
 *
 * A convolution with a mask of M taps is a product with a banded (Toeplitz) matrix: column k of an
 * input row meets output x with weight w[k - x]. So a block of outputs is a tiled matrix product
 * whose boundary tests are the zeros of the band.
 *
 * Fragments (PTX ISA, mma.m16n8k16 and mma.m16n8k32): with g = lane / 4 and t = lane % 4, a lane
 * holds of A rows g and g + 8, of B column g, and in both the elements 2t, 2t+1 (16 bits) or 4t ..
 * 4t+3 (8 bits) of each half of k; of C it holds columns 2t, 2t+1 of rows g and g + 8. Which input
 * cell an element of k stands for is ours to choose, as long as A and B agree. */
#ifndef HALO_TENSOR_CUH
#define HALO_TENSOR_CUH

#include <cuda_runtime.h>

#include "kernels/cuda/tile.cuh"

/* On older devices these kernels are compiled without their instructions, and never chosen. */
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
#define HALO_HAVE_MMA 1
#else
#define HALO_HAVE_MMA 0
#endif

enum {
    HALO_CHUNK = 16, /* bytes of one asynchronous copy; rows of planes are aligned to it */
    HALO_PLAIN_SHARED =
        40 * 1024, /* dynamic shared memory that needs no asking, static one aside */
};

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

static __device__ inline void halo_copy_async(void *shared, const void *global)
{
#if HALO_HAVE_MMA
    const uint32_t to = (uint32_t)__cvta_generic_to_shared(shared);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(global) : "memory");
#endif
}

/* Copies since the last call become a group; halo_copy_wait<N>() waits until only N of this
 * thread's groups are under way. A barrier must follow. */
static __device__ inline void halo_copy_commit()
{
#if HALO_HAVE_MMA
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

template <int GROUPS>
static __device__ inline void halo_copy_wait()
{
#if HALO_HAVE_MMA
    asm volatile("cp.async.wait_group %0;" ::"n"(GROUPS) : "memory");
#endif
}

static __device__ inline const uint8_t *halo_row_or_ghost(const struct halo_plane &src, int y,
                                                          enum halo_border border)
{
    const int from = halo_border_index(y, src.height, border);
    return from == HALO_GHOST ? NULL : (const uint8_t *)src.data + from * src.stride;
}

enum { HALO_CHUNK_LANES = 16 }; /* threads side by side on the chunks of a row */

/* An input tile of bytes on its way into shared memory; tile.columns (at most 256) and tile.e are
 * multiples of HALO_CHUNK. All threads of a block of one dimension take part in each call; then
 * come halo_copy_commit(), halo_copy_wait() and a barrier. */
struct halo_byte_tile {
    uint8_t *cells; /* of the first row */
    int stride;     /* bytes */
    struct halo_tile tile;
};

/* No ghost cells: most blocks. */
static __device__ inline bool halo_is_inside(const struct halo_tile &tile,
                                             const struct halo_plane &src)
{
    return tile.e >= 0 && tile.e + tile.columns <= src.width * src.channels && tile.y >= 0 &&
           tile.y + tile.rows <= src.height;
}

/* A tile with ghost cells. Each thread settles one word of the columns that are not whole chunks,
 * in every so many rows, so that where its cells come from is found once and many loads are under
 * way. */
template <int THREADS>
static __device__ inline void halo_load_edge(const struct halo_byte_tile &t,
                                             const struct halo_plane &src, enum halo_border border,
                                             uint32_t ghost)
{
    const int elements = src.width * src.channels;
    const int left = min(max(-t.tile.e, 0), t.tile.columns); /* before the first whole chunk */
    const int right =
        max(min((elements - t.tile.e) / HALO_CHUNK * HALO_CHUNK, t.tile.columns), left);

    const int column = threadIdx.x % HALO_CHUNK_LANES * HALO_CHUNK;
    if (column >= left && column < right)
#pragma unroll 1
        for (int row = threadIdx.x / HALO_CHUNK_LANES; row < t.tile.rows;
             row += THREADS / HALO_CHUNK_LANES) {
            const uint8_t *from = halo_row_or_ghost(src, t.tile.y + row, border);
            uint8_t *to = t.cells + row * t.stride + column;
            const uint32_t word = ghost * 0x01010101u;
            if (from)
                halo_copy_async(to, from + t.tile.e + column);
            else
                *(uint4 *)to = make_uint4(word, word, word, word);
        }

    const int words = (left + t.tile.columns - right) / 4;
    if (words == 0 || threadIdx.x >= THREADS / words * words)
        return;
    const int word = threadIdx.x % words * 4, at = word < left ? word : word - left + right;
    int cell[4];
#pragma unroll
    for (int b = 0; b < 4; b++)
        cell[b] = halo_border_element(t.tile.e + at + b, src, border);
#pragma unroll 4
    for (int row = threadIdx.x / words; row < t.tile.rows; row += THREADS / words) {
        const uint8_t *from = halo_row_or_ghost(src, t.tile.y + row, border);
        uint32_t v = 0;
#pragma unroll
        for (int b = 0; b < 4; b++)
            v |= (from && cell[b] != HALO_GHOST ? from[cell[b]] : ghost) << 8 * b;
        *(uint32_t *)(t.cells + row * t.stride + at) = v;
    }
}

/* Rows first .. first + ROWS - 1 of a tile that is inside. */
template <int THREADS, int ROWS>
static __device__ inline void halo_load_rows(const struct halo_byte_tile &t, int first,
                                             const struct halo_plane &src)
{
    constexpr int STEP = THREADS / HALO_CHUNK_LANES;
    const int column = threadIdx.x % HALO_CHUNK_LANES * HALO_CHUNK;
    const int row = first + threadIdx.x / HALO_CHUNK_LANES;
    const uint8_t *from =
        (const uint8_t *)src.data + (t.tile.y + row) * src.stride + t.tile.e + column;
    uint8_t *to = t.cells + row * t.stride + column;
    static_assert(ROWS % STEP == 0, "every thread has as many rows");
    if (column < t.tile.columns)
#pragma unroll
        for (int y = 0; y < ROWS; y += STEP)
            halo_copy_async(to + y * t.stride, from + y * src.stride);
}

/* The whole of a tile, inside or not. */
template <int THREADS>
static __device__ inline void halo_load_tile_bytes(const struct halo_byte_tile &t,
                                                   const struct halo_plane &src,
                                                   enum halo_border border, uint32_t ghost)
{
    constexpr int STEP = THREADS / HALO_CHUNK_LANES;
    if (!halo_is_inside(t.tile, src)) {
        halo_load_edge<THREADS>(t, src, border, ghost);
        return;
    }
    const int column = threadIdx.x % HALO_CHUNK_LANES * HALO_CHUNK;
    const int row = threadIdx.x / HALO_CHUNK_LANES;
    const uint8_t *from =
        (const uint8_t *)src.data + (t.tile.y + row) * src.stride + t.tile.e + column;
    uint8_t *to = t.cells + row * t.stride + column;
    if (column < t.tile.columns)
#pragma unroll 4
        for (int y = row; y < t.tile.rows; y += STEP) {
            halo_copy_async(to, from);
            from += STEP * src.stride;
            to += STEP * t.stride;
        }
}

/* Two lanes of a quad hold, for two neighbouring strips of 16 outputs, 4 bytes each at 4t; after
 * this each holds 8 bytes in a row: of strip t % 2, from byte 8 (t / 2) on. */
static __device__ inline uint2 halo_pair_strips(uint32_t strip0, uint32_t strip1, int t)
{
    const bool odd = t & 1;
    const uint32_t other = __shfl_xor_sync(0xffffffff, odd ? strip0 : strip1, 1);
    return odd ? make_uint2(other, strip1) : make_uint2(strip0, other);
}

#endif
