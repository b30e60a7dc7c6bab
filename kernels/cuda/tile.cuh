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

/* Two words of 16 bits in the container's form: stray bits become the largest sample. */
static __device__ inline uint32_t halo_copy_words(uint32_t words, const struct halo_plane &p)
{
    const uint32_t samples = words >> p.shift & (0xffffu >> p.shift) * 0x10001u;
    return __vminu2(samples, (uint32_t)halo_sample_max(p.depth) * 0x10001u) << p.shift;
}

template <typename Sample>
static __device__ inline void halo_write(const struct halo_plane &p, int e, int y, int64_t value)
{
    Sample *row = (Sample *)((char *)p.data + y * p.stride);
    const int max = halo_sample_max(p.depth);
    const int sample = value < 0 ? 0 : value > max ? max : (int)value;
    row[e] = (Sample)(sizeof(Sample) == 1 ? sample : sample << p.shift);
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
