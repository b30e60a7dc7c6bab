/* SPDX-License-Identifier: BSD-2-Clause
 * Shared by the map and the merge of regions: patches and their place in memory. */
#ifndef HALO_PATCH_CUH
#define HALO_PATCH_CUH

#include <cuda_runtime.h>

#include "kernels/cuda/tile.cuh"

/* The pixels of a patch, and properties of their weights before `invert` is applied. */
struct halo_patch {
    int x0, y0, x1, y1;
    bool some, whole; /* some: at least one is not 0; whole: all are 255 */
};

static __device__ inline struct halo_patch halo_patch_at(int number, int across,
                                                         const struct halo_plane &p)
{
    const int width = HALO_PATCH_WIDTH / p.channels;
    const int x = number % across * width, y = number / across * HALO_PATCH_HEIGHT;
    return {x, y, min(x + width, p.width), min(y + (int)HALO_PATCH_HEIGHT, p.height), false, false};
}

static __device__ inline bool halo_patch_meets(const struct halo_patch &p,
                                               const struct halo_rect &r)
{
    return max(r.x0, p.x0) < min(r.x1, p.x1) && max(r.y0, p.y0) < min(r.y1, p.y1);
}

static inline int halo_patches_across(const struct halo_plane &p)
{
    const int across = (p.width * p.channels + HALO_PATCH_WIDTH - 1) / HALO_PATCH_WIDTH;
    return (across + HALO_PATCH_ROW - 1) / HALO_PATCH_ROW * HALO_PATCH_ROW;
}

static inline int halo_patches_down(const struct halo_plane &p)
{
    return (p.height + HALO_PATCH_HEIGHT - 1) / HALO_PATCH_HEIGHT;
}

/* The size of the flags, which are followed by the rectangles. */
static inline size_t halo_flag_bytes(const struct halo_plane &p)
{
    return ((size_t)halo_patches_across(p) * halo_patches_down(p) + 255) / 256 * 256;
}

static inline struct halo_rect *halo_rects_of(const struct halo_cuda_call *call)
{
    return (struct halo_rect *)((char *)call->region_memory + halo_flag_bytes(call->src));
}

#endif
