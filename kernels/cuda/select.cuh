/* SPDX-License-Identifier: BSD-2-Clause
 * Kernels that apply a region of few rectangles themselves, so that neither a map (region_map.cu)
 * nor a merge (region_merge.cu) has to be launched: outside of the rectangles they copy tiles, at
 * the edges they choose between their output and the source before they store. They are compiled
 * twice, for launches with a region, of this kind or with a map, and for those without. */
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

/* Puts the source's samples into the words of filtered ones from element e on where they are not
 * in the region. The address is a multiple of 4 WORDS bytes. BYTES: of a sample. */
template <int BYTES, int WORDS>
static __device__ inline void halo_select_samples(uint32_t (&words)[WORDS],
                                                  const struct halo_plane &src,
                                                  const struct halo_select &s, int e, int y)
{
    static_assert(WORDS == 2 || WORDS == 4, "one load");
    const uint32_t bits = halo_selected(s, e, y);
    const char *from = (const char *)src.data + y * src.stride + e * BYTES;
    const int left = (src.width * src.channels - e) * BYTES;
    uint32_t source[WORDS];
    if (WORDS == 2) {
        const uint2 v = *(const uint2 *)from;
        source[0] = v.x, source[1] = v.y;
    } else {
        const uint4 v = *(const uint4 *)from;
        source[0] = v.x, source[1] = v.y, source[WORDS - 2] = v.z, source[WORDS - 1] = v.w;
    }
#pragma unroll
    for (int k = 0; k < WORDS; k++) {
        const uint32_t own = bits >> 4 / BYTES * k; /* moved to the lowest bit of each sample: */
        const uint32_t mask = BYTES == 1 ? ((own & 15) * 0x00204081u & 0x01010101u) * 0xff
                                         : ((own & 1) | (own & 2) << 15) * 0xffff;
        const uint32_t kept = halo_source_word<BYTES>(source[k], left - 4 * k, src);
        words[k] = (words[k] & mask) | (kept & ~mask);
    }
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

/* Whether a tile of outputs has to be filtered; if not, its samples are copied here if the merge
 * will not do so. Called by all of THREADS threads, whole warps, with the same tile, whose first
 * output may be to the right of the plane. Sets *ret_select to the rectangles between which the
 * outputs must be chosen, or to NULL. */
template <int BYTES, int COLUMNS, int ROWS, int THREADS, class Launch, class Plane>
static __device__ inline bool halo_tile_wanted(const struct halo_select **ret_select,
                                               const halo_selecting<Launch> &launch, const Plane &p,
                                               const struct halo_plane &src, int e, int y)
{
    const struct halo_select &select = launch.select[&p - launch.plane];
    const struct halo_tile tile = {e, y, COLUMNS, ROWS};
    const enum halo_share share = halo_share_of(select, tile, src);
    *ret_select = share == HALO_SHARE_SOME ? &select : NULL;
    if (share == HALO_SHARE_NONE)
        halo_copy_tile<BYTES, COLUMNS, ROWS, THREADS>(src, p.dst, e, y, threadIdx.x % THREADS);
    return share != HALO_SHARE_NONE && !halo_tile_outside(p.wanted, tile);
}

/* Without regions. */
template <int BYTES, int COLUMNS, int ROWS, int THREADS, class Launch, class Plane>
static __device__ inline bool halo_tile_wanted(const struct halo_select **ret_select,
                                               const Launch &, const Plane &,
                                               const struct halo_plane &, int, int)
{
    *ret_select = NULL;
    return true;
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

/* Starts the kernel, or its other version if a plane has a region; without dynamic shared
 * memory. */
template <class Launch>
static inline cudaError_t halo_launch_selecting(void (*kernel)(Launch),
                                                void (*selecting)(halo_selecting<Launch>),
                                                const Launch &launch, dim3 blocks, int threads,
                                                const struct halo_cuda_call *call)
{
    bool any = false;
    for (int i = 0; i < launch.count; i++)
        any |= launch.plane[i].wanted.select || launch.plane[i].wanted.flags;
    if (!any)
        return halo_launch(kernel, launch, blocks, threads, 0, call);
    halo_selecting<Launch> with = {};
    (Launch &)with = launch;
    for (int i = 0; i < launch.count; i++)
        with.select[i] = halo_select_of(launch.plane[i].wanted.select, launch.plane[i].dst);
    return halo_launch(selecting, with, blocks, threads, 0, call);
}

#endif
