/* SPDX-License-Identifier: BSD-2-Clause
 * Regions on the device: the merge, after the strategy's kernels (sketch in region_map.cu). A warp
 * copies a part of a patch, blends it in place, or leaves it unchanged. */
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/patch.cuh"

enum {
    THREADS = 256,
    WARP = 32,
    WARPS = THREADS / WARP,
    CHUNK = 16,
    PARTS = 2, /* parts of a patch, each for one warp */
};

struct merge_plane {
    struct halo_plane src, dst, mask;
    const uint8_t *flags;
    const struct halo_rect *rects;
    int rect_count;
    int across, patches;
    bool invert;
    int first_block;
};

struct merge_launch {
    struct merge_plane plane[HALO_CUDA_MAX_PLANES];
    int count;
};

/* Loads 16 bytes of a row, of which only the first `left` may belong to the plane. */
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

/* The share of a lane in its warp's part of a patch: a chunk of every STEP-th row. */
template <typename Sample>
struct share {
    static constexpr int ACROSS = HALO_PATCH_WIDTH * sizeof(Sample) / CHUNK, STEP = WARP / ACROSS;
    static constexpr int PART = HALO_PATCH_HEIGHT / PARTS, ROWS = PART / STEP;
    static constexpr int SAMPLES = CHUNK / sizeof(Sample);
    static constexpr int WORDS = SAMPLES / 4; /* of weights, a byte for each sample */

    int y, at;     /* its first row, and its byte there */
    int left;      /* bytes in the plane's row from there on */
    int x, pixels; /* the same in pixels */
};

template <typename Sample>
static __device__ inline share<Sample> share_of(const struct halo_patch &p, int part,
                                                const struct halo_plane &src)
{
    typedef share<Sample> own;
    const int lane = threadIdx.x % WARP, pixel = src.channels * (int)sizeof(Sample);
    own s;
    s.y = p.y0 + part * own::PART + lane / own::ACROSS;
    s.at = p.x0 * pixel + lane % own::ACROSS * CHUNK;
    s.left = src.width * pixel - s.at;
    s.x = s.at / pixel;
    s.pixels = own::SAMPLES / src.channels;
    return s;
}

static __device__ inline uint8_t *row_of(const struct halo_plane &p, int y)
{
    return (uint8_t *)p.data + y * p.stride;
}

/* The lane's chunks of the source; words with stray bits become the largest sample. */
template <typename Sample>
static __device__ inline void load_source(uint32_t (&ret)[share<Sample>::ROWS][4],
                                          const struct halo_plane &src, const share<Sample> &s)
{
#pragma unroll
    for (int k = 0; k < share<Sample>::ROWS; k++) {
        const int y = s.y + k * share<Sample>::STEP;
        load_chunk(ret[k], row_of(src, y) + s.at, y < src.height ? s.left : 0);
        if (sizeof(Sample) == 2)
#pragma unroll
            for (int i = 0; i < 4; i++)
                ret[k][i] = halo_copy_words(ret[k][i], src);
    }
}

template <typename Sample>
static __device__ inline void copy_patch(const struct merge_plane &plane, const share<Sample> &s)
{
    typedef share<Sample> own;
    uint32_t v[own::ROWS][4];
    load_source(v, plane.src, s);
#pragma unroll
    for (int k = 0; k < own::ROWS; k++) {
        const int y = s.y + k * own::STEP;
        if (s.left > 0 && y < plane.dst.height)
            *(uint4 *)(row_of(plane.dst, y) + s.at) =
                make_uint4(v[k][0], v[k][1], v[k][2], v[k][3]);
    }
}

/* The pixels of each row that are in a rectangle, one bit each. All lanes take part: each checks a
 * different rectangle, and those that meet the patch are shared. */
template <typename Sample>
static __device__ inline void find_inside(uint32_t (&ret)[share<Sample>::ROWS],
                                          const struct merge_plane &plane,
                                          const struct halo_patch &p, const share<Sample> &s)
{
    for (int first = 0; first < plane.rect_count; first += WARP) {
        const int i = first + threadIdx.x % WARP;
        struct halo_rect own = {};
        if (i < plane.rect_count)
            own = plane.rects[i];
        unsigned met = __ballot_sync(0xffffffff, halo_patch_meets(p, own));
        for (; met; met &= met - 1) {
            const int lane = __ffs(met) - 1;
            const int x0 = max(__shfl_sync(0xffffffff, own.x0, lane), s.x) - s.x;
            const int x1 = min(__shfl_sync(0xffffffff, own.x1, lane), s.x + s.pixels) - s.x;
            const int y0 = __shfl_sync(0xffffffff, own.y0, lane);
            const int y1 = __shfl_sync(0xffffffff, own.y1, lane);
            const uint32_t inside = x0 < x1 ? (1u << x1) - (1u << x0) : 0;
#pragma unroll
            for (int k = 0; k < share<Sample>::ROWS; k++) {
                const int y = s.y + k * share<Sample>::STEP;
                ret[k] |= y0 <= y && y < y1 ? inside : 0;
            }
        }
    }
}

/* The weights, a byte for each pixel: from the mask, or 0 and 255 from the bits. */
template <typename Sample>
static __device__ inline void load_weights(uint32_t (&ret)[share<Sample>::WORDS],
                                           const struct merge_plane &plane, uint32_t inside, int y,
                                           const share<Sample> &s)
{
    const int width = plane.src.width;
    const uint8_t *row = (const uint8_t *)plane.mask.data + y * plane.mask.stride;
#pragma unroll
    for (int k = 0; k < share<Sample>::WORDS; k++) {
        const int x = s.x + 4 * k;
        /* Moves four bits, each to the lowest bit of its byte. */
        ret[k] = ((inside >> 4 * k & 15) * 0x00204081u & 0x01010101u) * 255;
        if (!plane.mask.data || 4 * k >= s.pixels)
            continue;
        if (x + 4 <= width)
            ret[k] = *(const uint32_t *)(row + x);
        else
            for (int i = 0; x + i < width; i++)
                ret[k] |= (uint32_t)row[x + i] << 8 * i;
    }
    if (plane.src.channels == 2)
#pragma unroll
        for (int k = share<Sample>::WORDS - 1; k >= 0; k--) /* each twice */
            ret[k] = __byte_perm(ret[k / 2], 0, k % 2 ? 0x3322 : 0x1100);
#pragma unroll
    for (int k = 0; k < share<Sample>::WORDS; k++)
        ret[k] ^= plane.invert ? 0xffffffff : 0;
}

/* For weights that are all 0 or 255, as with rectangles and most of a mask. */
template <typename Sample>
static __device__ inline bool is_hard(const uint32_t (&weights)[share<Sample>::WORDS])
{
    bool hard = true;
#pragma unroll
    for (int k = 0; k < share<Sample>::WORDS; k++)
        hard &= (weights[k] & 0x01010101u) * 255 == weights[k];
    return hard;
}

template <typename Sample>
static __device__ inline uint4 take(const uint32_t (&filtered)[4], const uint32_t (&source)[4],
                                    const uint32_t (&weights)[share<Sample>::WORDS])
{
    uint32_t out[4];
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const uint32_t mask = sizeof(Sample) == 1
                                  ? weights[i % share<Sample>::WORDS]
                                  : __byte_perm(weights[i / 2], 0, i % 2 ? 0x3322 : 0x1100);
        out[i] = (filtered[i] & mask) | (source[i] & ~mask);
    }
    return make_uint4(out[0], out[1], out[2], out[3]);
}

template <typename Sample>
static __device__ inline uint4 blend(const uint32_t (&filtered)[4], const uint32_t (&source)[4],
                                     const uint32_t (&weights)[share<Sample>::WORDS], int shift)
{
    constexpr int IN_WORD = 4 / sizeof(Sample), BITS = 8 * sizeof(Sample);
    uint32_t out[4] = {};
#pragma unroll
    for (int i = 0; i < share<Sample>::SAMPLES; i++) {
        const int at = i % IN_WORD * BITS;
        const uint32_t f = (filtered[i / IN_WORD] >> at & (Sample)~0) >> shift;
        const uint32_t p = (source[i / IN_WORD] >> at & (Sample)~0) >> shift;
        const uint32_t v = halo_region_blend(f, p, weights[i / 4] >> i % 4 * 8 & 255);
        out[i / IN_WORD] |= v << shift << at;
    }
    return make_uint4(out[0], out[1], out[2], out[3]);
}

template <typename Sample>
static __device__ inline void blend_patch(const struct merge_plane &plane,
                                          const struct halo_patch &p, const share<Sample> &s)
{
    typedef share<Sample> own;
    uint32_t source[own::ROWS][4], filtered[own::ROWS][4], inside[own::ROWS] = {};
    load_source(source, plane.src, s);
#pragma unroll
    for (int k = 0; k < own::ROWS; k++) {
        const int y = s.y + k * own::STEP;
        load_chunk(filtered[k], row_of(plane.dst, y) + s.at, y < plane.dst.height ? s.left : 0);
    }
    find_inside(inside, plane, p, s);
#pragma unroll
    for (int k = 0; k < own::ROWS; k++) {
        const int y = s.y + k * own::STEP;
        if (s.left <= 0 || y >= plane.dst.height)
            continue;
        uint32_t weights[own::WORDS];
        load_weights<Sample>(weights, plane, inside[k], y, s);
        *(uint4 *)(row_of(plane.dst, y) + s.at) =
            is_hard<Sample>(weights) ? take<Sample>(filtered[k], source[k], weights)
                                     : blend<Sample>(filtered[k], source[k], weights,
                                                     sizeof(Sample) == 1 ? 0 : plane.dst.shift);
    }
}

template <typename Sample>
static __device__ inline void merge_patch(const struct merge_plane &plane,
                                          const struct halo_patch &p, int part, int flags)
{
    const share<Sample> s = share_of<Sample>(p, part, plane.src);
    if (flags & HALO_PATCH_FILTERED)
        blend_patch(plane, p, s);
    else
        copy_patch(plane, s);
}

/* PARTS warps for each patch. */
static __global__ void __launch_bounds__(THREADS)
    merge_kernel(const __grid_constant__ struct merge_launch launch)
{
    halo_wait_for_kernel_before();
    const struct merge_plane &plane = halo_plane_of(launch);
    const int warp = ((int)blockIdx.x - plane.first_block) * WARPS + threadIdx.x / WARP;
    const int number = warp / PARTS;
    const int flags = number < plane.patches ? plane.flags[number] : 0;
    if (!(flags & HALO_PATCH_SOURCE))
        return;
    const struct halo_patch p = halo_patch_at(number, plane.across, plane.src);
    if (plane.src.depth == 8)
        merge_patch<uint8_t>(plane, p, warp % PARTS, flags);
    else
        merge_patch<uint16_t>(plane, p, warp % PARTS, flags);
}

cudaError_t halo_cuda_region_merge(const struct halo_cuda_call *calls, int count)
{
    struct merge_launch launch;
    int blocks = 0;
    launch.count = 0;
    for (int i = 0; i < count; i++) {
        const struct halo_region *region = calls[i].region;
        if (!region)
            continue;
        struct merge_plane *plane = &launch.plane[launch.count++];
        plane->src = calls[i].src;
        plane->dst = calls[i].dst;
        plane->mask = region->mask;
        plane->flags = calls[i].wanted.flags;
        plane->rects = halo_rects_of(&calls[i]);
        plane->rect_count = region->rect_count;
        plane->across = calls[i].wanted.across;
        plane->patches = calls[i].wanted.across * calls[i].wanted.down;
        plane->invert = region->invert;
        plane->first_block = blocks;
        blocks += (plane->patches * PARTS + WARPS - 1) / WARPS;
    }
    if (blocks == 0)
        return cudaSuccess;
    struct halo_cuda_call after = *calls;
    after.early = calls->chained; /* it always follows a kernel of the strategy */
    return halo_launch(merge_kernel, launch, blocks, THREADS, 0, &after);
}
