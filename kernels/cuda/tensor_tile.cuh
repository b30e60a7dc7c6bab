/* SPDX-License-Identifier: BSD-2-Clause
 * Shared by the tensor-core kernels: the shape of a block, and the loading of an input tile by
 * asynchronous copies, with samples of one or two bytes unchanged. */
#ifndef HALO_TENSOR_TILE_CUH
#define HALO_TENSOR_TILE_CUH

#include "kernels/cuda/tensor.cuh"
#include "kernels/cuda/tile.cuh"

enum {
    WARPS = 4,
    THREADS = WARPS * 32,
    STRIP = 16,
    WARP_WIDTH = 2 * STRIP,
    TILE_WIDTH = WARPS * WARP_WIDTH,
};

enum {
    HALO_CHUNK = 16,        /* bytes of one asynchronous copy; rows of planes are aligned to it */
    HALO_MAX_COLUMNS = 256, /* width of an input tile, in elements */
};

static __device__ inline void halo_copy_async(void *shared, const void *global)
{
#if HALO_HAVE_MMA
    const uint32_t to = (uint32_t)__cvta_generic_to_shared(shared);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(global) : "memory");
#endif
}

/* Makes a group of the copies since the last call. halo_copy_wait<N>() waits until at most N groups
 * of this thread are under way; a barrier must follow. */
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

/* How a row of a tile is loaded: in adjacent chunks, by as many threads as the widest row needs. */
template <typename Sample>
struct halo_chunks {
    enum { CELLS = HALO_CHUNK / sizeof(Sample), LANES = HALO_MAX_COLUMNS / CELLS };
};

/* An input tile that is being loaded into shared memory, with samples unchanged; tile.columns (at
 * most HALO_MAX_COLUMNS) and tile.e are multiples of chunks. All threads of a one-dimensional block
 * take part in each call; then call halo_copy_commit(), halo_copy_wait() and a barrier. */
struct halo_raw_tile {
    uint8_t *cells; /* of the first row */
    int stride;     /* bytes */
    struct halo_tile tile;
};

/* The input tile for width by height outputs from element e of row y on. */
template <typename Sample>
static __device__ inline struct halo_tile halo_tile_around(int e, int y, int width, int height,
                                                           int halo_e, int radius_y)
{
    constexpr int CELLS = halo_chunks<Sample>::CELLS;
    const int left = (halo_e + CELLS - 1) / CELLS * CELLS;
    const int columns = (left + width + halo_e + CELLS - 1) / CELLS * CELLS;
    return {e - left, y - radius_y, columns, height + 2 * radius_y};
}

/* Whether a tile has no ghost cells, as in most blocks. */
static __device__ inline bool halo_is_inside(const struct halo_tile &tile,
                                             const struct halo_plane &src)
{
    return tile.e >= 0 && tile.e + tile.columns <= src.width * src.channels && tile.y >= 0 &&
           tile.y + tile.rows <= src.height;
}

/* Loads a tile with ghost cells. Each thread handles one word of the columns that are not complete
 * chunks, in every n-th row, so that the source of its cells is computed only once and many loads
 * are under way. */
template <typename Sample, int THREADS>
static __device__ inline void halo_load_edge(const struct halo_raw_tile &t,
                                             const struct halo_plane &src, enum halo_border border,
                                             uint32_t ghost)
{
    constexpr int CELLS = halo_chunks<Sample>::CELLS, LANES = halo_chunks<Sample>::LANES;
    constexpr int IN_WORD = 4 / sizeof(Sample), BITS = 8 * sizeof(Sample);
    const int elements = src.width * src.channels;
    const int left = min(max(-t.tile.e, 0), t.tile.columns); /* columns before the first complete
                                                              * chunk */
    const int right = max(min((elements - t.tile.e) / CELLS * CELLS, t.tile.columns), left);

    const int column = threadIdx.x % LANES * CELLS;
    if (column >= left && column < right)
#pragma unroll 1
        for (int row = threadIdx.x / LANES; row < t.tile.rows; row += THREADS / LANES) {
            const Sample *from = (const Sample *)halo_row_or_ghost(src, t.tile.y + row, border);
            uint8_t *to = t.cells + row * t.stride + column * sizeof(Sample);
            const uint32_t word = ghost * (sizeof(Sample) == 1 ? 0x01010101u : 0x00010001u);
            if (from)
                halo_copy_async(to, from + t.tile.e + column);
            else
                *(uint4 *)to = make_uint4(word, word, word, word);
        }

    const int words = (left + t.tile.columns - right) / IN_WORD;
    if (words == 0 || threadIdx.x >= THREADS / words * words)
        return;
    const int word = threadIdx.x % words * IN_WORD, at = word < left ? word : word - left + right;
    int cell[IN_WORD];
#pragma unroll
    for (int i = 0; i < IN_WORD; i++)
        cell[i] = halo_border_element(t.tile.e + at + i, src, border);
#pragma unroll 4
    for (int row = threadIdx.x / words; row < t.tile.rows; row += THREADS / words) {
        const Sample *from = (const Sample *)halo_row_or_ghost(src, t.tile.y + row, border);
        uint32_t v = 0;
#pragma unroll
        for (int i = 0; i < IN_WORD; i++)
            v |= (from && cell[i] != HALO_GHOST ? from[cell[i]] : ghost) << BITS * i;
        *(uint32_t *)(t.cells + row * t.stride + at * sizeof(Sample)) = v;
    }
}

/* Loads rows first .. first + ROWS - 1 of a tile that is inside. */
template <typename Sample, int THREADS, int ROWS>
static __device__ inline void halo_load_rows(const struct halo_raw_tile &t, int first,
                                             const struct halo_plane &src)
{
    constexpr int LANES = halo_chunks<Sample>::LANES, STEP = THREADS / LANES;
    const int column = threadIdx.x % LANES * halo_chunks<Sample>::CELLS;
    const int row = first + threadIdx.x / LANES;
    const uint8_t *from = (const uint8_t *)src.data + (t.tile.y + row) * src.stride +
                          (t.tile.e + column) * (int)sizeof(Sample);
    uint8_t *to = t.cells + row * t.stride + column * sizeof(Sample);
    static_assert(ROWS % STEP == 0, "every thread has as many rows");
    if (column < t.tile.columns)
#pragma unroll
        for (int y = 0; y < ROWS; y += STEP)
            halo_copy_async(to + y * t.stride, from + y * src.stride);
}

/* Loads a complete tile, inside or not. */
template <typename Sample, int THREADS>
static __device__ inline void halo_load_tile_raw(const struct halo_raw_tile &t,
                                                 const struct halo_plane &src,
                                                 enum halo_border border, uint32_t ghost)
{
    constexpr int LANES = halo_chunks<Sample>::LANES, STEP = THREADS / LANES;
    if (!halo_is_inside(t.tile, src)) {
        halo_load_edge<Sample, THREADS>(t, src, border, ghost);
        return;
    }
    const int column = threadIdx.x % LANES * halo_chunks<Sample>::CELLS;
    const int row = threadIdx.x / LANES;
    const uint8_t *from = (const uint8_t *)src.data + (t.tile.y + row) * src.stride +
                          (t.tile.e + column) * (int)sizeof(Sample);
    uint8_t *to = t.cells + row * t.stride + column * sizeof(Sample);
    if (column < t.tile.columns)
#pragma unroll 4
        for (int y = row; y < t.tile.rows; y += STEP) {
            halo_copy_async(to, from);
            from += STEP * src.stride;
            to += STEP * t.stride;
        }
}

/* Loads a tile of BANDS bands of 16 rows band by band, each as a group of copies, so that the first
 * band is processed while the last is being loaded. Rows after the last needed one have weights of
 * zero. */
template <typename Sample, int THREADS, int BANDS>
static __device__ inline void halo_load_bands(struct halo_raw_tile t, const struct halo_plane &src,
                                              enum halo_border border, uint32_t ghost)
{
    const int needed = t.tile.rows;
    t.tile.rows = 16 * BANDS;
    const bool inside = halo_is_inside(t.tile, src);
    if (!inside) {
        t.tile.rows = needed;
        halo_load_edge<Sample, THREADS>(t, src, border, ghost);
    }
#pragma unroll
    for (int band = 0; band < BANDS; band++) {
        if (inside)
            halo_load_rows<Sample, THREADS, 16>(t, band * 16, src);
        halo_copy_commit();
    }
}

#endif
