/* SPDX-License-Identifier: BSD-2-Clause
 * The first kernel of box-slide: for each 16th row, the sums of the columns of its window.
 *
 *    row 16 g - radius  +--------+  a thread sums 16 rows of 16 columns, two columns in a register,
 *                       |  16    |  and remembers the sum of the first REST of them, where
 *                       +--------+  2 radius + 1 = 16 WHOLE + REST
 *                       |  16    |
 *                       +--------+  window of row 16 g: WHOLE of these sums from g on, and the
 *    row 16 g + radius  +- REST -+  remembered one of the next
 *
 * Sixteen columns are eight words of two 16-bit sums: for each four columns, the sums of columns 0
 * and 2, then those of 1 and 3. */
#ifndef HALO_BOX_STARTS_CUH
#define HALO_BOX_STARTS_CUH

#include "kernels/cuda/box.cuh"
#include "kernels/cuda/launch.cuh"

enum {
    SLIDE_ROWS = 16,
    SLIDE_CHUNK = 16, /* columns of a thread */
    SLIDE_MAX_RADIUS = 128,

    STARTS_LANES = 4, /* chunks of a block, side by side */
    STARTS_MAX_DOWN = 128,
    STARTS_MAX_GROUPS = STARTS_MAX_DOWN - 2 * SLIDE_MAX_RADIUS / SLIDE_ROWS - 1,
    STARTS_BLOCKS_WANTED = 264, /* two for each multiprocessor of an H200 */
};

/* The parameters of both kernels for a plane. */
struct slide_plane {
    struct halo_plane src;
    struct halo_cuda_wanted wanted;
    uint32_t *starts; /* for each 16th row: chunks times eight words */
    int chunks;       /* in a row of the plane */
    int radius_y;
    int reach_e; /* elements from an output to the farthest column that it needs */
    enum halo_border border;
    uint32_t ghost; /* a word filled with the constant */
};

struct starts_launch {
    struct slide_plane p;
    int groups; /* of a block, each of 16 rows */
};

/* The offset of row y from src.data; -1 for a row of ghost cells. */
static __device__ inline int slide_row_offset(const struct slide_plane &p, int y)
{
    if ((unsigned)y >= (unsigned)p.src.height)
        y = halo_far_index(y, p.src.height, p.border);
    return y == HALO_GHOST ? -1 : y * (int)p.src.stride;
}

static __device__ inline uint32_t slide_even(uint32_t word)
{
    return word & 0x00ff00ff;
}

static __device__ inline uint32_t slide_odd(uint32_t word)
{
    return __byte_perm(word, 0, 0x4341);
}

static __device__ inline void slide_add(uint32_t (&sums)[8], const uint4 &row)
{
    const uint32_t words[4] = {row.x, row.y, row.z, row.w};
#pragma unroll
    for (int i = 0; i < 4; i++) {
        sums[2 * i] += slide_even(words[i]);
        sums[2 * i + 1] += slide_odd(words[i]);
    }
}

static __device__ inline void starts_add(uint32_t (&sums)[8], const uint4 *from)
{
    const uint4 a = from[0], b = from[1];
    const uint32_t words[8] = {a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w};
#pragma unroll
    for (int i = 0; i < 8; i++)
        sums[i] += words[i];
}

static __global__ void __launch_bounds__(STARTS_LANES *STARTS_MAX_DOWN, 1)
    starts_kernel(const __grid_constant__ struct starts_launch launch)
{
    __shared__ int offsets[STARTS_MAX_DOWN * SLIDE_ROWS];
    __shared__ uint4 totals[STARTS_MAX_DOWN][STARTS_LANES][2];
    const struct slide_plane &p = launch.p;
    const int first = blockIdx.y * launch.groups;
    const int rows = blockDim.x / STARTS_LANES * SLIDE_ROWS;
    for (int i = threadIdx.x; i < rows; i += blockDim.x)
        offsets[i] = slide_row_offset(p, first * SLIDE_ROWS - p.radius_y + i);
    __syncthreads();

    halo_wait_for_kernel_before();
    constexpr int WIDTH = STARTS_LANES * SLIDE_CHUNK;
    if (halo_tile_outside(p.wanted, {(int)blockIdx.x * WIDTH - p.reach_e, first * SLIDE_ROWS,
                                     WIDTH + 2 * p.reach_e, launch.groups * SLIDE_ROWS}))
        return;

    const int lane = threadIdx.x % STARTS_LANES, down = threadIdx.x / STARTS_LANES;
    const int chunk = blockIdx.x * STARTS_LANES + lane, e = chunk * SLIDE_CHUNK;
    const bool inside = chunk < p.chunks;
    const uint8_t *from = (const uint8_t *)p.src.data + (inside ? e : 0);
    uint4 cells[SLIDE_ROWS];
#pragma unroll
    for (int i = 0; i < SLIDE_ROWS; i++)
        cells[i] = *(const uint4 *)(from + max(offsets[down * SLIDE_ROWS + i], 0));
    if (p.border == HALO_BORDER_CONSTANT) { /* the loads of all rows are under way now */
#pragma unroll
        for (int i = 0; i < SLIDE_ROWS; i++)
            if (offsets[down * SLIDE_ROWS + i] < 0)
                cells[i] = make_uint4(p.ghost, p.ghost, p.ghost, p.ghost);
    }

    const int taps = 2 * p.radius_y + 1;
    const int whole = taps / SLIDE_ROWS, rest = taps % SLIDE_ROWS;
    uint32_t sums[8] = {}, part[8] = {};
#pragma unroll
    for (int i = 0; i < SLIDE_ROWS; i++) {
        slide_add(sums, cells[i]);
        if (i + 1 == rest)
#pragma unroll
            for (int j = 0; j < 8; j++)
                part[j] = sums[j];
    }
    totals[down][lane][0] = make_uint4(sums[0], sums[1], sums[2], sums[3]);
    totals[down][lane][1] = make_uint4(sums[4], sums[5], sums[6], sums[7]);
    __syncthreads();
    const int group = first + down - whole;
    if (down < whole || group * SLIDE_ROWS >= p.src.height || !inside)
        return;
#pragma unroll 4
    for (int i = down - whole; i < down; i++)
        starts_add(part, totals[i][lane]);
    uint4 *to = (uint4 *)(p.starts + ((ptrdiff_t)group * p.chunks + chunk) * 8);
    to[0] = make_uint4(part[0], part[1], part[2], part[3]);
    to[1] = make_uint4(part[4], part[5], part[6], part[7]);
}

static inline cudaError_t slide_launch_starts(const struct slide_plane &p,
                                              const struct halo_cuda_call *call)
{
    const int groups = (p.src.height + SLIDE_ROWS - 1) / SLIDE_ROWS;
    const int across = (p.chunks + STARTS_LANES - 1) / STARTS_LANES;
    int parts = (STARTS_BLOCKS_WANTED + across / 2) / across;
    const int least = (groups + STARTS_MAX_GROUPS - 1) / STARTS_MAX_GROUPS;
    parts = parts < least ? least : parts > groups ? groups : parts;
    struct starts_launch launch = {p, (groups + parts - 1) / parts};
    const int down = launch.groups + (2 * p.radius_y + 1) / SLIDE_ROWS;
    const dim3 grid(across, (groups + launch.groups - 1) / launch.groups);
    return halo_launch(starts_kernel, launch, grid, STARTS_LANES * down, 0, call);
}

#endif
