/* SPDX-License-Identifier: BSD-2-Clause
 * What the kernels share: samples, ghost cells, rounding and the load of an input tile.
 *
 * An element is one sample of a row: pixel x of channel c is element x * channels + c, so that
 * neighbouring threads read neighbouring addresses for one channel and for two (the most). */
#ifndef HALO_TILE_CUH
#define HALO_TILE_CUH

#include <cuda_runtime.h>

#include "kernels/cuda/region.cuh"
#include "kernels/cuda/strategies.h"

/* One pass of a mask over a plane: out = (sum + round) >> shift. Goes by value to a kernel. */
struct halo_pass {
    int slot;               /* of the file's mask bank */
    int radius_x, radius_y; /* in pixels */
    int shift;
    int64_t round; /* the rounding constant, and the bias of a dense mask */
    enum halo_border border;
    int ghost; /* HALO_BORDER_CONSTANT: what ghost cells of this pass's input hold */
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
    int first_block; /* of the launch */
    int across;      /* blocks side by side */
};

/* Goes by value to a kernel. */
struct halo_tasks {
    struct halo_task plane[HALO_CUDA_MAX_PLANES];
    int count, blocks;
    dim3 grid; /* of the first plane */
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
    pass.ghost = conv->border_value << conv->frac; /* what the row pass makes of a ghost row */
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

/* Blocks of width elements by height rows that cover the plane. */
static inline dim3 halo_grid(const struct halo_plane &p, int width, int height)
{
    return dim3((p.width * p.channels + width - 1) / width, (p.height + height - 1) / height);
}

/* Adds a plane: each block makes width elements by height rows of it. */
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

/* How many calls from the first on have the same kernels: kind, samples and sums. */
static inline int halo_alike(const struct halo_cuda_call *calls, int count)
{
    int alike = 1;
    while (alike < count && calls[alike].conv->kind == calls->conv->kind &&
           halo_plane_sample_bytes(&calls[alike].src) == halo_plane_sample_bytes(&calls->src) &&
           (calls[alike].conv->accum == HALO_ACCUM_I64) == (calls->conv->accum == HALO_ACCUM_I64))
        alike++;
    return alike;
}

/* Of a launch over several planes, each with a first_block: the one that this block works on. */
template <typename Launch>
static __device__ inline const auto &halo_plane_of(const Launch &launch)
{
    int p = 0;
    while (p + 1 < launch.count && blockIdx.x >= launch.plane[p + 1].first_block)
        p++;
    return launch.plane[p];
}

/* What a block of a plane does; block: which one it is. */
typedef void halo_body(const struct halo_task &task, int2 block);

/* One plane, everywhere, in a grid of its own. Parameters of their own stay in constant operands,
 * and loops are split by the border: as parts of one struct they are up to a fifth slower. What no
 * region wants is not asked: the question alone took up to a tenth. */
template <halo_body body>
static __global__ void halo_one_kernel(const struct halo_plane src, const struct halo_plane dst,
                                       const struct halo_wide wide, const struct halo_pass pass,
                                       const void *prepared)
{
    const struct halo_task task = {src, dst, wide, pass, prepared, {}, 0, 0};
    body(task, make_int2(blockIdx.x, blockIdx.y));
}

/* Many planes, or one with a region: their blocks stand in one line. */
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

/* The sums were proved for Accum, the rounding constant and the bias were not: both are added wide.
 * >> of a negative number is arithmetic in nvcc, as the contract wants. */
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

/* Of two words of 16 bits, the samples. */
static __device__ inline uint32_t halo_sample_pair(uint32_t words, const struct halo_plane &p)
{
    const uint32_t samples = words >> p.shift & (0xffffu >> p.shift) * 0x00010001u;
    return __vminu2(samples, (uint32_t)halo_sample_max(p.depth) * 0x00010001u);
}

/* The same in the container's form: stray bits become the largest sample. */
static __device__ inline uint32_t halo_copy_words(uint32_t words, const struct halo_plane &p)
{
    return halo_sample_pair(words, p) << p.shift;
}

/* The element that stands for element e of a row, or HALO_GHOST. channels - 1 is log2(channels),
 * and >> rounds down left of the picture, where / would not. */
static __device__ inline int halo_border_element(int e, const struct halo_plane &p,
                                                 enum halo_border border)
{
    const int log2_channels = p.channels - 1;
    const int x = halo_border_index(e >> log2_channels, p.width, border);
    return x == HALO_GHOST ? HALO_GHOST : (x << log2_channels) + (e & log2_channels);
}

/* Element e of row y, which may both be outside. */
template <typename Sample>
static __device__ inline int halo_input(const struct halo_plane &p, const struct halo_pass &pass,
                                        int e, int y)
{
    const int from_e = halo_border_element(e, p, pass.border);
    const int from_y = halo_border_index(y, p.height, pass.border);
    return from_e == HALO_GHOST || from_y == HALO_GHOST ? pass.ghost
                                                        : halo_read<Sample>(p, from_e, from_y);
}

/* The same of the intermediate plane; e is inside. */
static __device__ inline int halo_wide_input(const struct halo_wide &wide, int height,
                                             const struct halo_pass &pass, int e, int y)
{
    const int from_y = halo_border_index(y, height, pass.border);
    return from_y == HALO_GHOST ? pass.ghost : wide.data[from_y * wide.stride + e];
}

/* Loads an input tile row by row into cells, in as many steps as the block needs to cover it. All
 * threads of the block take part; the caller sets the barrier. */
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
