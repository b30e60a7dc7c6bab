/* SPDX-License-Identifier: BSD-2-Clause
 * Regions on the device, before and after the strategy's kernels.
 *
 *      map                          filter                      merge, in place in dst
 *      +---+---+---+---+---+        +---+---+---+---+---+       +---+---+---+---+---+
 *      | s | s | s | s | s |        |   |   |   |   |   |       | c | c | c | c | c |
 *      | s |f s|f s|f s| s |        |   | f | f | f |   |       | c | b | b | b | c |
 *      | s |f s| f |f s| s |        |   | f | f | f |   |       | c | b |   | b | c |
 *      +---+---+---+---+---+        +---+---+---+---+---+       +---+---+---+---+---+
 *
 * A patch of the map says whether any of its pixels needs the filter (f), and whether any needs the
 * source (s). Strategies skip tiles without f. The merge copies patches without f (c), leaves those
 * without s alone, and takes or blends each sample of the others (b). What a strategy has written
 * outside of the patches with f is never read. All planes go in one launch. */
#include "kernels/cuda/tile.cuh"

enum {
    THREADS = 256,
    WARP = 32,
    WARPS = THREADS / WARP,
    CHUNK = 16,
    BATCH = WARP, /* rectangles of a plane in one launch: one for each lane */
};

struct map_plane {
    struct halo_plane like, mask;
    uint8_t *flags;
    struct halo_rect *list; /* where the merge will find them */
    int across, patches;
    bool invert;
    int batch_count;
    struct halo_rect batch[BATCH];
    int first_block;
};

struct map_launch {
    struct map_plane plane[HALO_CUDA_MOST_PLANES];
    int count;
    int first; /* rectangle of the batches */
};

static_assert(sizeof(struct map_launch) <= 4096, "kernel parameters of older drivers");

struct merge_plane {
    struct halo_plane src, dst, mask;
    const uint8_t *flags;
    const struct halo_rect *rects;
    int rect_count;
    int across;
    bool invert;
    int chunks; /* in a row; the last may be part of one */
    int first_block;
};

struct merge_launch {
    struct merge_plane plane[HALO_CUDA_MOST_PLANES];
    int count;
};

template <class Launch>
static __device__ inline int plane_of(const Launch &launch)
{
    int p = 0;
    while (p + 1 < launch.count && (int)blockIdx.x >= launch.plane[p + 1].first_block)
        p++;
    return p;
}

/* Pixels x0 .. x1 - 1 of a row of the mask: the bits that any of them has, and that all have. */
static __device__ inline void look_at(const uint8_t *row, int x0, int x1, uint32_t *any,
                                      uint32_t *all)
{
    int x = x0;
#pragma unroll 4
    for (; x + CHUNK <= x1; x += CHUNK) {
        const uint4 v = *(const uint4 *)(row + x);
        *any |= v.x | v.y | v.z | v.w;
        *all &= v.x & v.y & v.z & v.w;
    }
    for (; x < x1; x++) {
        *any |= row[x];
        *all &= row[x] | 0xffffff00u;
    }
}

/* A warp for each patch, a lane for each rectangle or for each row of the mask. */
static __global__ void __launch_bounds__(THREADS)
    map_kernel(const __grid_constant__ struct map_launch launch)
{
    const struct map_plane &plane = launch.plane[plane_of(launch)];
    const int patch = ((int)blockIdx.x - plane.first_block) * WARPS + threadIdx.x / WARP;
    const int lane = threadIdx.x % WARP, width = HALO_PATCH_WIDTH / plane.like.channels;
    if (patch >= plane.patches)
        return;
    const int x0 = patch % plane.across * width, y0 = patch / plane.across * HALO_PATCH_HEIGHT;
    const int x1 = min(x0 + width, plane.like.width);
    const int y1 = min(y0 + HALO_PATCH_HEIGHT, plane.like.height);

    bool some, whole; /* of its weights, before invert: are not 0; are 255 */
    if (plane.mask.data) {
        uint32_t any = 0, all = 0xffffffff;
        for (int y = y0 + lane; y < y1; y += WARP)
            look_at((const uint8_t *)plane.mask.data + y * plane.mask.stride, x0, x1, &any, &all);
        some = __any_sync(0xffffffff, any != 0);
        whole = __all_sync(0xffffffff, all == 0xffffffff);
    } else {
        struct halo_rect r = {};
        if (lane < plane.batch_count)
            r = plane.batch[lane];
        some =
            __any_sync(0xffffffff, max(r.x0, x0) < min(r.x1, x1) && max(r.y0, y0) < min(r.y1, y1));
        whole = __any_sync(0xffffffff, r.x0 <= x0 && r.x1 >= x1 && r.y0 <= y0 && r.y1 >= y1);
        if (patch == 0 && lane < plane.batch_count)
            plane.list[launch.first + lane] = r;
    }
    if (lane > 0)
        return;
    const int inside = plane.invert ? HALO_PATCH_SOURCE : HALO_PATCH_FILTERED;
    const int outside = plane.invert ? HALO_PATCH_FILTERED : HALO_PATCH_SOURCE;
    int flags = launch.first > 0 ? plane.flags[patch] : outside;
    flags |= some ? inside : 0;
    flags &= whole ? ~outside : ~0;
    plane.flags[patch] = (uint8_t)flags;
}

/* 16 bytes of a row of which only the first few may belong to the plane. */
static __device__ inline void load_chunk(uint32_t (&ret)[4], const uint8_t *from, int left)
{
    if (left >= CHUNK) {
        const uint4 v = *(const uint4 *)from;
        ret[0] = v.x, ret[1] = v.y, ret[2] = v.z, ret[3] = v.w;
        return;
    }
#pragma unroll
    for (int i = 0; i < CHUNK; i++) {
        const uint32_t byte = i < left ? from[i] : 0;
        ret[i / 4] = i % 4 ? ret[i / 4] | byte << i % 4 * 8 : byte;
    }
}

/* The weights of the pixels from x on, a byte for each: count of them, a multiple of 4. */
template <int WORDS>
static __device__ inline void mask_weights(uint32_t (&ret)[WORDS], const struct merge_plane &plane,
                                           int x, int y, int count)
{
    const uint8_t *row = (const uint8_t *)plane.mask.data + y * plane.mask.stride;
    const int width = plane.mask.width;
#pragma unroll
    for (int k = 0; k < WORDS; k++) {
        const int first = x + 4 * k;
        ret[k] = 0;
        if (4 * k >= count)
            continue;
        if (first + 4 <= width)
            ret[k] = *(const uint32_t *)(row + first);
        else
            for (int i = 0; first + i < width; i++)
                ret[k] |= (uint32_t)row[first + i] << 8 * i;
    }
}

template <int WORDS>
static __device__ inline void rect_weights(uint32_t (&ret)[WORDS], const struct merge_plane &plane,
                                           int x, int y, int count)
{
    uint32_t inside = 0; /* a bit for each pixel */
    for (int i = 0; i < plane.rect_count; i++) {
        const struct halo_rect r = plane.rects[i];
        const int x0 = max(r.x0, x) - x, x1 = min(r.x1, x + count) - x;
        if (r.y0 <= y && y < r.y1 && x0 < x1)
            inside |= (1u << x1) - (1u << x0);
    }
#pragma unroll
    for (int k = 0; k < WORDS; k++) /* four bits to the lowest of four bytes each, times 255 */
        ret[k] = ((inside >> 4 * k & 15) * 0x00204081u & 0x01010101u) * 255;
}

/* A chunk of both kinds: weights holds a byte for each sample. */
template <typename Sample, int WORDS>
static __device__ inline void blend(uint32_t (&filtered)[4], const uint32_t (&source)[4],
                                    const uint32_t (&weights)[WORDS], const struct halo_plane &p)
{
    constexpr int IN_WORD = 4 / sizeof(Sample), BITS = 8 * sizeof(Sample);
    uint32_t out[4] = {};
#pragma unroll
    for (int i = 0; i < 4 * WORDS; i++) {
        const int at = i % IN_WORD * BITS;
        uint32_t f = filtered[i / IN_WORD] >> at & (Sample)~0;
        uint32_t s = source[i / IN_WORD] >> at & (Sample)~0;
        if (sizeof(Sample) == 2) {
            f >>= p.shift;
            s = halo_sample_value((uint16_t)s, p.depth, p.shift);
        }
        const uint32_t v = halo_region_blend(f, s, weights[i / 4] >> i % 4 * 8 & 255);
        out[i / IN_WORD] |= (sizeof(Sample) == 2 ? v << p.shift : v) << at;
    }
#pragma unroll
    for (int k = 0; k < 4; k++)
        filtered[k] = out[k];
}

template <typename Sample>
static __device__ inline void merge_chunk(const struct merge_plane &plane, int at, int y, int flags)
{
    constexpr int SAMPLES = CHUNK / sizeof(Sample), WORDS = SAMPLES / 4;
    const struct halo_plane &src = plane.src;
    const int channels = src.channels, left = src.width * channels * (int)sizeof(Sample) - at;
    uint8_t *to = (uint8_t *)plane.dst.data + y * plane.dst.stride + at;
    uint32_t source[4], out[4];
    load_chunk(source, (const uint8_t *)src.data + y * src.stride + at, left);
    if (!(flags & HALO_PATCH_FILTERED)) {
#pragma unroll
        for (int k = 0; k < 4; k++)
            out[k] = sizeof(Sample) == 1 ? source[k] : halo_copy_words(source[k], src);
    } else {
        uint32_t weights[WORDS];
        const int count = SAMPLES / channels, x = at / (int)sizeof(Sample) / channels;
        load_chunk(out, to, left);
        if (plane.mask.data)
            mask_weights(weights, plane, x, y, count);
        else
            rect_weights(weights, plane, x, y, count);
        if (channels == 2)
#pragma unroll
            for (int k = WORDS - 1; k >= 0; k--) /* each byte twice */
                weights[k] = __byte_perm(weights[k / 2], 0, k % 2 ? 0x3322 : 0x1100);
#pragma unroll
        for (int k = 0; k < WORDS; k++)
            weights[k] ^= plane.invert ? 0xffffffff : 0;
        blend<Sample>(out, source, weights, src);
    }
    *(uint4 *)to = make_uint4(out[0], out[1], out[2], out[3]);
}

/* A thread for each chunk. */
static __global__ void __launch_bounds__(THREADS)
    merge_kernel(const __grid_constant__ struct merge_launch launch)
{
    const struct merge_plane &plane = launch.plane[plane_of(launch)];
    const int64_t i = (int64_t)((int)blockIdx.x - plane.first_block) * THREADS + threadIdx.x;
    const int y = (int)(i / plane.chunks), at = (int)(i - (int64_t)y * plane.chunks) * CHUNK;
    if (y >= plane.src.height)
        return;
    const bool bytes = plane.src.depth == 8;
    const int e = bytes ? at : at / 2;
    const int flags = plane.flags[y / HALO_PATCH_HEIGHT * plane.across + e / HALO_PATCH_WIDTH];
    if (!(flags & HALO_PATCH_SOURCE))
        return;
    if (bytes)
        merge_chunk<uint8_t>(plane, at, y, flags);
    else
        merge_chunk<uint16_t>(plane, at, y, flags);
}

static dim3 patches_of(const struct halo_plane &p)
{
    return halo_grid(p, HALO_PATCH_WIDTH, HALO_PATCH_HEIGHT);
}

/* Flags, and behind them the rectangles. */
static size_t flag_bytes(const struct halo_plane &p)
{
    const dim3 patches = patches_of(p);
    return ((size_t)patches.x * patches.y + 255) / 256 * 256;
}

size_t halo_cuda_region_bytes(const struct halo_region *region, const struct halo_plane *like)
{
    const size_t rects = region->rect_count * sizeof(struct halo_rect);
    return flag_bytes(*like) + (rects + 255) / 256 * 256;
}

static struct halo_rect *rects_of(const struct halo_cuda_call *call)
{
    return (struct halo_rect *)((char *)call->region_memory + flag_bytes(call->src));
}

/* One batch of each plane that has as many. False: there is none left. */
static bool fill_map(struct map_launch *launch, const struct halo_cuda_call *calls, int count,
                     int first, int *ret_blocks)
{
    int blocks = 0;
    launch->count = 0;
    launch->first = first;
    for (int i = 0; i < count; i++) {
        const struct halo_region *region = calls[i].region;
        if (!region || (first > 0 && first >= region->rect_count))
            continue;
        struct map_plane *plane = &launch->plane[launch->count++];
        const dim3 patches = patches_of(calls[i].src);
        const int left = region->rect_count - first;
        plane->like = calls[i].src;
        plane->mask = region->mask;
        plane->flags = (uint8_t *)calls[i].region_memory;
        plane->list = rects_of(&calls[i]);
        plane->across = patches.x;
        plane->patches = patches.x * patches.y;
        plane->invert = region->invert;
        plane->batch_count = left < BATCH ? left : BATCH;
        for (int r = 0; r < plane->batch_count; r++)
            plane->batch[r] = region->rects[first + r];
        plane->first_block = blocks;
        blocks += (plane->patches + WARPS - 1) / WARPS;
    }
    *ret_blocks = blocks;
    return blocks > 0;
}

cudaError_t halo_cuda_region_map(struct halo_cuda_call *calls, int count)
{
    struct map_launch launch;
    cudaError_t status = cudaSuccess;
    int blocks;
    for (int i = 0; i < count; i++) {
        if (!calls[i].region)
            continue;
        const dim3 patches = patches_of(calls[i].src);
        calls[i].wanted.flags = (const uint8_t *)calls[i].region_memory;
        calls[i].wanted.across = patches.x;
        calls[i].wanted.down = patches.y;
        calls[i].wanted.height = calls[i].src.height;
        calls[i].wanted.reach = calls[i].conv->radius_y;
        calls[i].wanted.wraps = calls[i].conv->border == HALO_BORDER_WRAP;
    }
    for (int first = 0; status == cudaSuccess; first += BATCH) {
        if (!fill_map(&launch, calls, count, first, &blocks))
            break;
        map_kernel<<<blocks, THREADS, 0, calls->stream>>>(launch);
        status = cudaGetLastError();
    }
    return status;
}

cudaError_t halo_cuda_region_merge(const struct halo_cuda_call *calls, int count)
{
    struct merge_launch launch;
    int blocks = 0;
    launch.count = 0;
    for (int i = 0; i < count; i++) {
        const struct halo_region *region = calls[i].region;
        const struct halo_plane &src = calls[i].src;
        if (!region)
            continue;
        const int bytes = src.width * src.channels * halo_plane_sample_bytes(&src);
        struct merge_plane *plane = &launch.plane[launch.count++];
        plane->src = src;
        plane->dst = calls[i].dst;
        plane->mask = region->mask;
        plane->flags = calls[i].wanted.flags;
        plane->rects = rects_of(&calls[i]);
        plane->rect_count = region->rect_count;
        plane->across = calls[i].wanted.across;
        plane->invert = region->invert;
        plane->chunks = (bytes + CHUNK - 1) / CHUNK;
        plane->first_block = blocks;
        blocks += (int)(((int64_t)plane->chunks * src.height + THREADS - 1) / THREADS);
    }
    if (blocks == 0)
        return cudaSuccess;
    merge_kernel<<<blocks, THREADS, 0, calls->stream>>>(launch);
    return cudaGetLastError();
}
