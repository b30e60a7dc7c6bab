/* SPDX-License-Identifier: BSD-2-Clause
 * Shared by the kernels: samples, ghost cells, rounding, and the loading of an input tile.
 *
 * An element is one sample of a row: pixel x of channel c is element x * channels + c, so that
 * neighbouring threads read neighbouring addresses with one channel and with two (the maximum). */
#ifndef HALO_TILE_CUH
#define HALO_TILE_CUH

#include <cuda_runtime.h>

#include "kernels/cuda/region.cuh"
#include "kernels/cuda/strategies.h"

/* One pass of a mask over a plane: out = (sum + round) >> shift. Passed by value to a kernel. */
struct halo_pass {
    int slot;               /* slot of the file's mask bank */
    int radius_x, radius_y; /* in pixels */
    int shift;
    int64_t round; /* the rounding constant, and the bias of a dense mask */
    enum halo_border border;
    int ghost; /* HALO_BORDER_CONSTANT: value of ghost cells in the input of this pass */
};

/* The intermediate plane between two passes. */
struct halo_wide {
    int32_t *data;
    ptrdiff_t stride; /* elements */
};

/* One plane of a launch, and the pass over it. */
struct halo_task {
    struct halo_plane src, dst;
    struct halo_wide wide;
    struct halo_pass pass;
    const void *prepared;
    struct halo_cuda_wanted wanted;
    int first_block; /* index of its first block in the launch */
    int across;      /* blocks side by side */
};

/* Passed by value to a kernel. */
struct halo_tasks {
    struct halo_task plane[HALO_CUDA_MAX_PLANES];
    int count, blocks;
    dim3 grid; /* grid of the first plane */
};

static inline struct halo_wide halo_wide_of(const struct halo_cuda_call *call)
{
    return {call->wide, halo_cuda_wide_stride(&call->src)};
}

static inline int64_t halo_half(int shift)
{
    return shift > 0 ? (int64_t)1 << (shift - 1) : 0;
}

static inline struct halo_pass halo_row_pass(const struct halo_conv *conv, int slot)
{
    struct halo_pass pass = {};
    pass.slot = slot;
    pass.radius_x = conv->radius_x;
    pass.shift = conv->row_bits - conv->frac;
    pass.round = halo_half(pass.shift);
    pass.border = conv->border;
    pass.ghost = conv->border_value;
    return pass;
}

static inline struct halo_pass halo_column_pass(const struct halo_conv *conv, int slot)
{
    struct halo_pass pass = {};
    pass.slot = slot;
    pass.radius_y = conv->radius_y;
    pass.shift = conv->col_bits + conv->frac;
    pass.round = halo_half(pass.shift);
    pass.border = conv->border;
    pass.ghost = conv->border_value << conv->frac; /* the result of the row pass for a ghost row */
    return pass;
}

static inline struct halo_pass halo_dense_pass(const struct halo_conv *conv, int slot)
{
    struct halo_pass pass = {};
    pass.slot = slot;
    pass.radius_x = conv->radius_x;
    pass.radius_y = conv->radius_y;
    pass.shift = conv->mask_bits;
    pass.round = conv->bias;
    pass.border = conv->border;
    pass.ghost = conv->border_value;
    return pass;
}

/* The grid of blocks of width elements by height rows that covers the plane. */
static inline dim3 halo_grid(const struct halo_plane &p, int width, int height)
{
    return dim3((p.width * p.channels + width - 1) / width, (p.height + height - 1) / height);
}

/* Adds a plane: each block computes width elements by height rows of it. */
static inline void halo_add_task(struct halo_tasks *tasks, const struct halo_cuda_call *call,
                                 const struct halo_pass &pass, int width, int height)
{
    const dim3 grid = halo_grid(call->src, width, height);
    if (tasks->count == 0)
        tasks->grid = grid;
    tasks->plane[tasks->count++] = {call->src,      call->dst,    halo_wide_of(call), pass,
                                    call->prepared, call->wanted, tasks->blocks,      (int)grid.x};
    tasks->blocks += (int)(grid.x * grid.y);
}

/* The number of calls, from the first on, that use the same kernels: with the same kind, and sizes
 * of samples and sums. */
static inline int halo_alike(const struct halo_cuda_call *calls, int count)
{
    int alike = 1;
    while (alike < count && calls[alike].conv->kind == calls->conv->kind &&
           halo_plane_sample_bytes(&calls[alike].src) == halo_plane_sample_bytes(&calls->src) &&
           (calls[alike].conv->accum == HALO_ACCUM_I64) == (calls->conv->accum == HALO_ACCUM_I64))
        alike++;
    return alike;
}

/* The plane of this block in a launch with several planes, each of which has a first_block. */
template <typename Launch>
static __device__ inline const auto &halo_plane_of(const Launch &launch)
{
    int p = 0;
    while (p + 1 < launch.count && blockIdx.x >= launch.plane[p + 1].first_block)
        p++;
    return launch.plane[p];
}

/* The work of one block; block: its position in the plane. */
typedef void halo_body(const struct halo_task &task, int2 block);

/* One plane, without a region, in its own grid. Separate parameters remain constant operands, and
 * loops are split by the border; as members of one struct they made kernels up to a fifth slower.
 * Regions are not checked: the check alone took up to a tenth of the time. */
template <halo_body body>
static __global__ void halo_one_kernel(const struct halo_plane src, const struct halo_plane dst,
                                       const struct halo_wide wide, const struct halo_pass pass,
                                       const void *prepared)
{
    const struct halo_task task = {src, dst, wide, pass, prepared, {}, 0, 0};
    body(task, make_int2(blockIdx.x, blockIdx.y));
}

/* Several planes, or one with a region: their blocks are numbered in one dimension. */
template <halo_body body>
static __global__ void halo_many_kernel(const __grid_constant__ struct halo_tasks tasks)
{
    const struct halo_task &task = halo_plane_of(tasks);
    const int i = (int)blockIdx.x - task.first_block, y = i / task.across;
    body(task, make_int2(i - y * task.across, y));
}

template <halo_body body>
static inline void halo_launch_tasks(const struct halo_tasks &tasks, dim3 threads,
                                     cudaStream_t stream)
{
    const struct halo_task &one = tasks.plane[0];
    if (tasks.count == 1 && !one.wanted.flags)
        halo_one_kernel<body><<<tasks.grid, threads, 0, stream>>>(one.src, one.dst, one.wide,
                                                                  one.pass, one.prepared);
    else
        halo_many_kernel<body><<<tasks.blocks, threads, 0, stream>>>(tasks);
}

/* Sums are proved to fit Accum, but not with the rounding constant and the bias: both are added in
 * 64 bits. >> of a negative number is arithmetic in nvcc, as the contract requires. */
template <typename Accum>
static __device__ inline int64_t halo_finish(Accum sum, const struct halo_pass &pass)
{
    return ((int64_t)sum + pass.round) >> pass.shift;
}

template <typename Sample>
static __device__ inline int halo_read(const struct halo_plane &p, int e, int y)
{
    const Sample *row = (const Sample *)((const char *)p.data + y * p.stride);
    return sizeof(Sample) == 1 ? (int)row[e] : halo_sample_value(row[e], p.depth, p.shift);
}

template <typename Sample>
static __device__ inline void halo_write(const struct halo_plane &p, int e, int y, int64_t value)
{
    Sample *row = (Sample *)((char *)p.data + y * p.stride);
    const int max = halo_sample_max(p.depth);
    const int sample = value < 0 ? 0 : value > max ? max : (int)value;
    row[e] = (Sample)(sizeof(Sample) == 1 ? sample : sample << p.shift);
}

/* The samples in two words of 16 bits. */
static __device__ inline uint32_t halo_sample_pair(uint32_t words, const struct halo_plane &p)
{
    const uint32_t samples = words >> p.shift & (0xffffu >> p.shift) * 0x00010001u;
    return __vminu2(samples, (uint32_t)halo_sample_max(p.depth) * 0x00010001u);
}

/* The same, shifted as in the plane: a word with stray bits becomes the largest sample. */
static __device__ inline uint32_t halo_copy_words(uint32_t words, const struct halo_plane &p)
{
    return halo_sample_pair(words, p) << p.shift;
}

/* The element whose value is used for element e of a row, or HALO_GHOST. channels - 1 is
 * log2(channels), and >> rounds down even to the left of the plane, unlike /. */
static __device__ inline int halo_border_element(int e, const struct halo_plane &p,
                                                 enum halo_border border)
{
    const int log2_channels = p.channels - 1;
    const int x = halo_border_index(e >> log2_channels, p.width, border);
    return x == HALO_GHOST ? HALO_GHOST : (x << log2_channels) + (e & log2_channels);
}

/* Element e of row y; both may be outside. */
template <typename Sample>
static __device__ inline int halo_input(const struct halo_plane &p, const struct halo_pass &pass,
                                        int e, int y)
{
    const int from_e = halo_border_element(e, p, pass.border);
    const int from_y = halo_border_index(y, p.height, pass.border);
    return from_e == HALO_GHOST || from_y == HALO_GHOST ? pass.ghost
                                                        : halo_read<Sample>(p, from_e, from_y);
}

/* The same for the intermediate plane; e is inside. */
static __device__ inline int halo_wide_input(const struct halo_wide &wide, int height,
                                             const struct halo_pass &pass, int e, int y)
{
    const int from_y = halo_border_index(y, height, pass.border);
    return from_y == HALO_GHOST ? pass.ghost : wide.data[from_y * wide.stride + e];
}

/* Loads an input tile row by row into cells, in as many steps as the block needs to cover the tile.
 * All threads of the block take part; the caller adds the barrier. */
template <typename Sample>
static __device__ inline void halo_load_tile(Sample *cells, const struct halo_tile &tile,
                                             const struct halo_plane &src,
                                             const struct halo_pass &pass)
{
    for (int row = threadIdx.y; row < tile.rows; row += blockDim.y) {
        const int y = halo_border_index(tile.y + row, src.height, pass.border);
        for (int column = threadIdx.x; column < tile.columns; column += blockDim.x) {
            const int e = halo_border_element(tile.e + column, src, pass.border);
            const bool ghost = y == HALO_GHOST || e == HALO_GHOST;
            cells[row * tile.columns + column] =
                (Sample)(ghost ? pass.ghost : halo_read<Sample>(src, e, y));
        }
    }
}

#endif
