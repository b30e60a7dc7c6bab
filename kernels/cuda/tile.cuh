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

/* The grid of blocks of width elements by height rows that covers the plane. */
static inline dim3 halo_grid(const struct halo_plane &p, int width, int height)
{
    return dim3((p.width * p.channels + width - 1) / width, (p.height + height - 1) / height);
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
