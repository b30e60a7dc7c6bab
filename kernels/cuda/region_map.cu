/* SPDX-License-Identifier: BSD-2-Clause
 * Regions on the device: the map, before the strategy's kernels (region_merge.cu follows them).
 *
 *      map                          filter                      merge, in place in dst
 *      +---+---+---+---+---+        +---+---+---+---+---+       +---+---+---+---+---+
 *      | s | s | s | s | s |        |   |   |   |   |   |       | c | c | c | c | c |
 *      | s |f s|f s|f s| s |        |   | f | f | f |   |       | c | b | b | b | c |
 *      | s |f s| f |f s| s |        |   | f | f | f |   |       | c | b |   | b | c |
 *      +---+---+---+---+---+        +---+---+---+---+---+       +---+---+---+---+---+
 *
 * The map records for each patch whether any of its pixels needs the filter (f), and whether any
 * needs the source (s). Strategies skip tiles without f. The merge copies patches without f (c),
 * leaves patches without s unchanged, and copies, keeps or blends each sample of the others (b).
 * What a strategy has written outside of the patches with f is never read. All planes are processed
 * in one launch. */
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/patch.cuh"

enum {
    THREADS = 256,
    WARP = 32,
    CHUNK = 16,
    MAX_RECTS = 192, /* of all planes of one launch */
};

struct map_plane {
    struct halo_plane like, mask;
    uint8_t *flags;
    struct halo_rect *list; /* the rectangles are stored here for the merge */
    int across, patches;
    bool invert, again; /* again: not the first launch for this plane */
    int first_rect, rect_count;
    int first_block;
};

struct map_launch {
    struct map_plane plane[HALO_CUDA_MAX_PLANES];
    int count;
    struct halo_rect rects[MAX_RECTS];
};

static_assert(sizeof(struct map_launch) <= 4096,
              "kernel parameters have at most 4 KB before CUDA 12.1");

/* A warp examines a patch of a mask. */
static __device__ inline void check_mask(struct halo_patch *p, const struct halo_plane &mask)
{
    uint32_t any = 0, all = 0xffffffff;
    for (int y = p->y0 + threadIdx.x % WARP; y < p->y1; y += WARP) {
        const uint8_t *row = (const uint8_t *)mask.data + y * mask.stride;
        int x = p->x0;
#pragma unroll 4
        for (; x + CHUNK <= p->x1; x += CHUNK) {
            const uint4 v = *(const uint4 *)(row + x);
            any |= v.x | v.y | v.z | v.w;
            all &= v.x & v.y & v.z & v.w;
        }
        for (; x < p->x1; x++) {
            any |= row[x];
            all &= row[x] | 0xffffff00u;
        }
    }
    p->some = __any_sync(0xffffffff, any != 0);
    p->whole = __all_sync(0xffffffff, all == 0xffffffff);
}

/* One thread for each patch, or one warp if the plane has a mask. */
static __global__ void __launch_bounds__(THREADS)
    map_kernel(const __grid_constant__ struct map_launch launch)
{
    halo_wait_for_kernel_before();
    const struct map_plane &plane = halo_plane_of(launch);
    const int thread = ((int)blockIdx.x - plane.first_block) * THREADS + threadIdx.x;
    const int number = plane.mask.data ? thread / WARP : thread;
    if (number >= plane.patches)
        return;
    struct halo_patch p = halo_patch_at(number, plane.across, plane.like);
    if (plane.mask.data)
        check_mask(&p, plane.mask);
    for (int i = 0; i < plane.rect_count; i++) {
        const struct halo_rect &r = launch.rects[plane.first_rect + i];
        p.some |= halo_patch_meets(p, r);
        p.whole |= r.x0 <= p.x0 && r.x1 >= p.x1 && r.y0 <= p.y0 && r.y1 >= p.y1;
    }
    for (int i = thread; i < plane.rect_count; i += plane.patches)
        plane.list[i] = launch.rects[plane.first_rect + i];

    const int inside = plane.invert ? HALO_PATCH_SOURCE : HALO_PATCH_FILTERED;
    const int outside = plane.invert ? HALO_PATCH_FILTERED : HALO_PATCH_SOURCE;
    int flags = plane.again ? plane.flags[number] : outside;
    flags |= p.some ? inside : 0;
    flags &= p.whole ? ~outside : ~0;
    if (!plane.mask.data || threadIdx.x % WARP == 0)
        plane.flags[number] = (uint8_t)(p.x0 < p.x1 ? flags : 0); /* rows of patches are padded */
}

size_t halo_cuda_region_bytes(const struct halo_region *region, const struct halo_plane *like)
{
    const size_t rects = region->rect_count * sizeof(struct halo_rect);
    return halo_flag_bytes(*like) + (rects + 255) / 256 * 256;
}

/* Adds the remaining rectangles of a plane, as many as fit. */
static void fill_map(struct map_launch *launch, const struct halo_cuda_call *call, int done,
                     int *rects, int *blocks)
{
    const struct halo_region *region = call->region;
    const int left = region->rect_count - done, room = MAX_RECTS - *rects;
    struct map_plane *plane = &launch->plane[launch->count++];
    plane->like = call->src;
    plane->mask = region->mask;
    plane->flags = (uint8_t *)call->region_memory;
    plane->list = halo_rects_of(call) + done;
    plane->across = halo_patches_across(call->src);
    plane->patches = plane->across * halo_patches_down(call->src);
    plane->invert = region->invert;
    plane->again = done > 0;
    plane->first_rect = *rects;
    plane->rect_count = left < room ? left : room;
    for (int i = 0; i < plane->rect_count; i++)
        launch->rects[(*rects)++] = region->rects[done + i];
    plane->first_block = *blocks;
    const int64_t threads = (int64_t)plane->patches * (region->mask.data ? WARP : 1);
    *blocks += (int)((threads + THREADS - 1) / THREADS);
}

cudaError_t halo_cuda_region_map(struct halo_cuda_call *calls, int count)
{
    struct map_launch launch;
    int done[HALO_CUDA_MAX_PLANES]; /* number of rectangles; -1: not begun */
    for (int i = 0; i < count; i++) {
        done[i] = -1;
        if (!calls[i].region)
            continue;
        calls[i].wanted.flags = (const uint8_t *)calls[i].region_memory;
        calls[i].wanted.across = halo_patches_across(calls[i].src);
        calls[i].wanted.down = halo_patches_down(calls[i].src);
        calls[i].wanted.height = calls[i].src.height;
        calls[i].wanted.reach = calls[i].conv->radius_y;
        calls[i].wanted.wraps = calls[i].conv->border == HALO_BORDER_WRAP;
    }
    for (;;) {
        int rects = 0, blocks = 0;
        launch.count = 0;
        for (int i = 0; i < count; i++) {
            if (!calls[i].region || done[i] >= calls[i].region->rect_count ||
                (rects == MAX_RECTS && calls[i].region->rect_count > 0))
                continue;
            const int before = rects;
            fill_map(&launch, &calls[i], done[i] < 0 ? 0 : done[i], &rects, &blocks);
            done[i] = (done[i] < 0 ? 0 : done[i]) + rects - before;
        }
        if (launch.count == 0)
            return cudaSuccess;
        const cudaError_t status = halo_launch(map_kernel, launch, blocks, THREADS, 0, calls);
        if (status != cudaSuccess)
            return status;
    }
}
