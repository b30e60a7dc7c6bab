/* SPDX-License-Identifier: BSD-2-Clause
 * How a kernel skips tiles that no region needs. A strategy whose kernels do not check this filters
 * the whole plane, which is also correct: region_merge.cu uses the source if the weight is 0. */
#ifndef HALO_REGION_CUH
#define HALO_REGION_CUH

#include "kernels/cuda/strategies.h"

/* A rectangle of input cells: element and row of its first cell (may be outside), and its size. */
struct halo_tile {
    int e, y;
    int columns, rows;
};

enum { HALO_MAX_LOOKS = 2048 }; /* patches; for more, checking takes longer than filtering */

/* Whether no pixel of the tile has to be filtered: then anything may be written there, because it
 * is not used. The result is the same in all threads of a warp, which must all call this with the
 * same tile. */
static __device__ inline bool halo_tile_outside(const struct halo_cuda_wanted &wanted,
                                                const struct halo_tile &tile)
{
    if (!wanted.flags)
        return false;
    int x0 = max(tile.e, 0) / HALO_PATCH_WIDTH;
    int x1 = min((tile.e + tile.columns - 1) / HALO_PATCH_WIDTH + 1, wanted.across);
    const int y0 = max(tile.y, 0) / HALO_PATCH_HEIGHT;
    const int y1 = min((tile.y + tile.rows - 1) / HALO_PATCH_HEIGHT + 1, wanted.down);
    const bool wide = x1 - x0 >= HALO_PATCH_ROW; /* then 16 patches are read at a time */
    if (wide) {
        x0 = x0 / HALO_PATCH_ROW;
        x1 = (x1 + HALO_PATCH_ROW - 1) / HALO_PATCH_ROW;
    }
    const int columns = max(x1 - x0, 0), count = columns * max(y1 - y0, 0);
    if (count > HALO_MAX_LOOKS)
        return false;
    uint32_t any = 0;
    for (int i = (threadIdx.y * blockDim.x + threadIdx.x) % 32; i < count; i += 32) {
        const uint8_t *row = wanted.flags + (y0 + i / columns) * wanted.across;
        if (wide) {
            const uint4 v = ((const uint4 *)row)[x0 + i % columns];
            any |= v.x | v.y | v.z | v.w;
        } else {
            any |= row[x0 + i % columns];
        }
    }
    return !__any_sync(0xffffffff, any & HALO_PATCH_FILTERED * 0x01010101u);
}

/* halo_tile_outside() for a block, if the plane is covered by blocks of width elements by height
 * rows. */
static __device__ inline bool halo_block_outside(const struct halo_cuda_wanted &wanted,
                                                 const int2 block, int width, int height)
{
    return halo_tile_outside(wanted, {block.x * width, block.y * height, width, height});
}

/* The same for a row pass: whether no column pass will read the output of the block. If the plane
 * wraps, the opposite end of a column also reads rows near this end. */
static __device__ inline bool halo_block_unread(const struct halo_cuda_wanted &wanted,
                                                const int2 block, int width, int height)
{
    const int first = block.y * height - wanted.reach, rows = height + 2 * wanted.reach;
    if (wanted.wraps && (first < 0 || first + rows > wanted.height))
        return false;
    return halo_tile_outside(wanted, {block.x * width, first, width, rows});
}

#endif
