/* SPDX-License-Identifier: BSD-2-Clause
 * SOLID: a warp fills a patch (region_map.cu), 16 bytes per thread at a time, unless none of its
 * pixels is wanted. All planes in one launch. */
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/patch.cuh"

enum { THREADS = 256, WARP = 32, WARPS = THREADS / WARP, CHUNK = 16 };

struct solid_plane {
    struct halo_plane dst;
    const uint8_t *flags; /* of a region; NULL: no region */
    uint32_t word;        /* the value of every word in memory */
    int across, patches;
    int first_block;
};

struct solid_launch {
    struct solid_plane plane[HALO_CUDA_MAX_PLANES];
    int count;
};

static __global__ void __launch_bounds__(THREADS)
    solid_kernel(const __grid_constant__ struct solid_launch launch)
{
    halo_wait_for_kernel_before();
    const struct solid_plane &plane = halo_plane_of(launch);
    const int number = ((int)blockIdx.x - plane.first_block) * WARPS + threadIdx.x / WARP;
    if (number >= plane.patches || (plane.flags && !(plane.flags[number] & HALO_PATCH_FILTERED)))
        return;
    const struct halo_patch patch = halo_patch_at(number, plane.across, plane.dst);
    const int pixel = plane.dst.channels * (plane.dst.depth > 8 ? 2 : 1);
    const int bytes = (patch.x1 - patch.x0) * pixel; /* bytes after the end of a row may be
                                                      * written */
    const int across = (bytes + CHUNK - 1) / CHUNK;
    for (int i = threadIdx.x % WARP; i < across * (patch.y1 - patch.y0); i += WARP) {
        uint8_t *row = (uint8_t *)plane.dst.data + (patch.y0 + i / across) * plane.dst.stride;
        *(uint4 *)(row + patch.x0 * pixel + i % across * CHUNK) =
            make_uint4(plane.word, plane.word, plane.word, plane.word);
    }
}

static uint32_t word_of(const struct halo_conv *conv, const struct halo_plane &dst)
{
    const uint32_t first = (uint32_t)conv->mask[0] << dst.shift;
    const uint32_t second = (uint32_t)conv->mask[dst.channels - 1] << dst.shift;
    return dst.depth > 8 ? first | second << 16 : (first | second << 8) * 0x00010001u;
}

cudaError_t halo_cuda_launch_solid(const struct halo_cuda_call *calls, int count)
{
    struct solid_launch launch;
    int blocks = 0;
    launch.count = count;
    for (int i = 0; i < count; i++) {
        const struct halo_plane &dst = calls[i].dst;
        struct solid_plane *plane = &launch.plane[i];
        plane->dst = dst;
        plane->flags = calls[i].wanted.flags;
        plane->word = word_of(calls[i].conv, dst);
        plane->across = halo_patches_across(dst);
        plane->patches = plane->across * halo_patches_down(dst);
        plane->first_block = blocks;
        blocks += (plane->patches + WARPS - 1) / WARPS;
    }
    return halo_launch(solid_kernel, launch, blocks, THREADS, 0, calls);
}
