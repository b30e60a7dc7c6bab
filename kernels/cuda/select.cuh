/* SPDX-License-Identifier: BSD-2-Clause
 * Kernels that apply a region of few rectangles themselves, so that neither a map (region_map.cu)
 * nor a merge (region_merge.cu) has to be launched: they copy tiles outside of the rectangles,
 * filter the others, and restore what is outside in those at the edges. They are compiled twice,
 * for launches with a region, of this kind or with a map, and for those without.
 *
 * Rectangles are read from the kernel's parameters by an index. Through a pointer that may be NULL,
 * they would be loads from global memory, and each row of a tile at an edge would wait for them. */
#ifndef HALO_SELECT_CUH
#define HALO_SELECT_CUH

#include "kernels/cuda/region.cuh"
#include "kernels/cuda/tile.cuh"

/* The rectangles of a plane, clipped to it, with columns in elements. */
struct halo_select {
    bool given; /* false: the whole plane is filtered */
    bool invert;
    int count;
    struct halo_rect rects[HALO_SELECT_RECTS];
};

/* A launch with the rectangles of its planes. */
template <class Launch>
struct halo_selecting : Launch {
    struct halo_select select[HALO_CUDA_MAX_PLANES];
};

/* How much of a tile is filtered. */
enum halo_share { HALO_SHARE_NONE, HALO_SHARE_SOME, HALO_SHARE_ALL };

/* tile: of outputs, with its first one in the plane. */
static __device__ inline enum halo_share halo_share_of(const struct halo_select &s,
                                                       const struct halo_tile &tile,
                                                       const struct halo_plane &plane)
{
    if (!s.given)
        return HALO_SHARE_ALL;
    const int x1 = min(tile.e + tile.columns, plane.width * plane.channels);
    const int y1 = min(tile.y + tile.rows, plane.height);
    bool meets = false, within = false;
    for (int i = 0; i < s.count; i++) {
        const struct halo_rect &r = s.rects[i];
        meets |= r.x0 < x1 && r.x1 > tile.e && r.y0 < y1 && r.y1 > tile.y;
        within |= r.x0 <= tile.e && r.x1 >= x1 && r.y0 <= tile.y && r.y1 >= y1;
    }
    if (within)
        return s.invert ? HALO_SHARE_NONE : HALO_SHARE_ALL;
    return meets ? HALO_SHARE_SOME : s.invert ? HALO_SHARE_ALL : HALO_SHARE_NONE;
}

/* Which of 16 elements from e on are filtered: a bit for each. */
static __device__ inline uint32_t halo_selected(const struct halo_select &s, int e, int y)
{
    uint32_t bits = 0;
    for (int i = 0; i < s.count; i++) {
        const struct halo_rect &r = s.rects[i];
        const int x0 = min(max(r.x0 - e, 0), 16), x1 = min(max(r.x1 - e, 0), 16);
        if (r.y0 <= y && y < r.y1)
            bits |= (1u << x1) - (1u << min(x0, x1));
    }
    return s.invert ? ~bits : bits;
}

/* A word of the source, of which the first `left` bytes are in the plane; the others become 0. */
template <int BYTES>
static __device__ inline uint32_t halo_source_word(uint32_t word, int left,
                                                   const struct halo_plane &src)
{
    if (left < 4)
        word &= left <= 0 ? 0 : (1u << 8 * left) - 1;
    return BYTES == 1 ? word : halo_copy_words(word, src);
}

/* Puts the source's samples into a chunk of filtered ones where their bits are not set. left: bytes
 * of the row from here on. BYTES: of a sample. */
template <int BYTES>
static __device__ inline uint4 halo_blend(const uint4 &filtered, const uint4 &source, uint32_t bits,
                                          int left, const struct halo_plane &src)
{
    const uint32_t to[4] = {filtered.x, filtered.y, filtered.z, filtered.w};
    const uint32_t from[4] = {source.x, source.y, source.z, source.w};
    uint32_t words[4];
#pragma unroll
    for (int k = 0; k < 4; k++) {
        const uint32_t own = bits >> 4 / BYTES * k; /* moved to the lowest bit of each sample: */
        const uint32_t mask = BYTES == 1 ? ((own & 15) * 0x00204081u & 0x01010101u) * 0xff
                                         : ((own & 1) | (own & 2) << 15) * 0xffff;
        words[k] = (to[k] & mask) | (halo_source_word<BYTES>(from[k], left - 4 * k, src) & ~mask);
    }
    return make_uint4(words[0], words[1], words[2], words[3]);
}

/* Copies a tile, whose rows are multiples of 16 bytes, with this many threads. */
template <int BYTES, int COLUMNS, int ROWS, int THREADS>
static __device__ inline void halo_copy_tile(const struct halo_plane &src,
                                             const struct halo_plane &dst, int e, int y, int thread)
{
    constexpr int CHUNK = 16, ACROSS = COLUMNS * BYTES / CHUNK, STEP = THREADS / ACROSS;
    constexpr int COUNT = ROWS / STEP;
    static_assert(ACROSS * STEP == THREADS && COUNT * STEP == ROWS, "equal shares");
    const int at = e * BYTES + thread % ACROSS * CHUNK, first = y + thread / ACROSS;
    const int left = src.width * src.channels * BYTES - at;
    if (left <= 0)
        return;
    uint4 v[COUNT];
#pragma unroll
    for (int k = 0; k < COUNT; k++)
        if (first + k * STEP < src.height)
            v[k] = *(const uint4 *)((const char *)src.data + (first + k * STEP) * src.stride + at);
#pragma unroll
    for (int k = 0; k < COUNT; k++)
        if (first + k * STEP < src.height)
            *(uint4 *)((char *)dst.data + (first + k * STEP) * dst.stride + at) =
                make_uint4(halo_source_word<BYTES>(v[k].x, left, src),
                           halo_source_word<BYTES>(v[k].y, left - 4, src),
                           halo_source_word<BYTES>(v[k].z, left - 8, src),
                           halo_source_word<BYTES>(v[k].w, left - 12, src));
}

/* Restores the source's samples outside of the region in a tile that is filtered as a whole. */
template <int BYTES, int COLUMNS, int ROWS, int THREADS>
static __device__ inline void halo_restore_tile(const struct halo_select &s,
                                                const struct halo_plane &src,
                                                const struct halo_plane &dst, int e, int y,
                                                int thread)
{
    constexpr int CHUNK = 16, ACROSS = COLUMNS * BYTES / CHUNK, STEP = THREADS / ACROSS;
    /* Loads under way; for few rows, more would only take registers from the filter. */
    constexpr int BATCH = ROWS / STEP >= 8 ? 4 : 1;
    constexpr uint32_t ALL = (1u << CHUNK / BYTES) - 1;
    const int at = e * BYTES + thread % ACROSS * CHUNK, end = min(y + ROWS, src.height);
    const int left = src.width * src.channels * BYTES - at;
    if (left <= 0)
        return;
#pragma unroll 1
    for (int row = y + thread / ACROSS; row < end; row += BATCH * STEP) {
        uint4 source[BATCH], filtered[BATCH];
        uint32_t bits[BATCH];
#pragma unroll
        for (int k = 0; k < BATCH; k++)
            bits[k] =
                row + k * STEP < end ? halo_selected(s, at / BYTES, row + k * STEP) & ALL : ALL;
#pragma unroll
        for (int k = 0; k < BATCH; k++)
            if (bits[k] != ALL) {
                const int own = row + k * STEP;
                source[k] = *(const uint4 *)((const char *)src.data + own * src.stride + at);
                filtered[k] = *(const uint4 *)((const char *)dst.data + own * dst.stride + at);
            }
#pragma unroll
        for (int k = 0; k < BATCH; k++)
            if (bits[k] != ALL)
                *(uint4 *)((char *)dst.data + (row + k * STEP) * dst.stride + at) =
                    halo_blend<BYTES>(filtered[k], source[k], bits[k], left, src);
    }
}

/* How much of a tile of outputs a kernel has to filter. If it is nothing, the tile is copied here,
 * unless the merge does so; if it is some, the kernel filters all of it and calls
 * halo_finish_tile(). Both are called by all of THREADS threads, a warp or a block, with the same
 * tile, whose first output may be to the right of the plane. */
template <int BYTES, int COLUMNS, int ROWS, int THREADS, class Launch, class Plane>
static __device__ inline enum halo_share halo_begin_tile(const halo_selecting<Launch> &launch,
                                                         const Plane &p,
                                                         const struct halo_plane &src, int e, int y)
{
    const struct halo_tile tile = {e, y, COLUMNS, ROWS};
    const enum halo_share share = halo_share_of(launch.select[&p - launch.plane], tile, src);
    if (share == HALO_SHARE_NONE)
        halo_copy_tile<BYTES, COLUMNS, ROWS, THREADS>(src, p.dst, e, y, threadIdx.x % THREADS);
    return halo_tile_outside(p.wanted, tile) ? HALO_SHARE_NONE : share;
}

template <int BYTES, int COLUMNS, int ROWS, int THREADS, class Launch, class Plane>
static __device__ inline void halo_finish_tile(enum halo_share share,
                                               const halo_selecting<Launch> &launch, const Plane &p,
                                               const struct halo_plane &src, int e, int y)
{
    if (share != HALO_SHARE_SOME)
        return;
    if (THREADS == 32)
        __syncwarp();
    else
        __syncthreads();
    halo_restore_tile<BYTES, COLUMNS, ROWS, THREADS>(launch.select[&p - launch.plane], src, p.dst,
                                                     e, y, threadIdx.x % THREADS);
}

/* Without regions. */
template <int BYTES, int COLUMNS, int ROWS, int THREADS, class Launch, class Plane>
static __device__ inline enum halo_share halo_begin_tile(const Launch &, const Plane &,
                                                         const struct halo_plane &, int, int)
{
    return HALO_SHARE_ALL;
}

template <int BYTES, int COLUMNS, int ROWS, int THREADS, class Launch, class Plane>
static __device__ inline void halo_finish_tile(enum halo_share, const Launch &, const Plane &,
                                               const struct halo_plane &, int, int)
{
}

/* ---- host ---- */

static inline struct halo_select halo_select_of(const struct halo_region *region,
                                                const struct halo_plane &plane)
{
    struct halo_select ret = {};
    if (!region)
        return ret;
    ret.given = true;
    ret.invert = region->invert;
    for (int i = 0; i < region->rect_count; i++) {
        struct halo_rect r = region->rects[i];
        r.x0 = (r.x0 < 0 ? 0 : r.x0 > plane.width ? plane.width : r.x0) * plane.channels;
        r.x1 = (r.x1 < 0 ? 0 : r.x1 > plane.width ? plane.width : r.x1) * plane.channels;
        r.y0 = r.y0 < 0 ? 0 : r.y0;
        r.y1 = r.y1 > plane.height ? plane.height : r.y1;
        if (r.x0 < r.x1 && r.y0 < r.y1)
            ret.rects[ret.count++] = r;
    }
    return ret;
}

/* The blocks' threads and dynamic shared memory, in bytes. */
struct halo_block_size {
    int threads, shared;
};

/* Starts the kernel, or its other version if a plane has a region. */
template <class Launch>
static inline cudaError_t halo_launch_selecting(void (*kernel)(Launch),
                                                void (*selecting)(halo_selecting<Launch>),
                                                const Launch &launch, dim3 blocks,
                                                struct halo_block_size size,
                                                const struct halo_cuda_call *call)
{
    bool any = false;
    for (int i = 0; i < launch.count; i++)
        any |= launch.plane[i].wanted.select || launch.plane[i].wanted.flags;
    if (!any)
        return halo_launch(kernel, launch, blocks, size.threads, size.shared, call);
    halo_selecting<Launch> with = {};
    (Launch &)with = launch;
    for (int i = 0; i < launch.count; i++)
        with.select[i] = halo_select_of(launch.plane[i].wanted.select, launch.plane[i].dst);
    return halo_launch(selecting, with, blocks, size.threads, size.shared, call);
}

#endif
