/* SPDX-License-Identifier: BSD-2-Clause
 * TABLE: a warp looks up the samples of a patch (region_map.cu), 16 bytes per thread at a time,
 * unless none of its pixels is wanted. The table is read through the caches, where it fits. All
 * planes in one launch. */
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/patch.cuh"

enum { THREADS = 256, WARP = 32, WARPS = THREADS / WARP, CHUNK = 16 };

struct table_plane {
    struct halo_plane src, dst;
    const uint16_t *table;
    const uint8_t *flags; /* of a region; NULL: no region */
    int across, patches;
    int first_block;
};

struct table_launch {
    struct table_plane plane[HALO_CUDA_MAX_PLANES];
    int count;
};

/* The samples of a word of memory: four of 8 bits, or two of more. */
static __device__ inline uint32_t look_up(uint32_t word, const struct table_plane &plane)
{
    const uint16_t *table = plane.table;
    if (plane.src.depth == 8)
        return table[word & 255] | table[word >> 8 & 255] << 8 | table[word >> 16 & 255] << 16 |
               (uint32_t)table[word >> 24] << 24;
    const uint32_t pair = halo_sample_pair(word, plane.src);
    return (table[pair & 0xffff] | (uint32_t)table[pair >> 16] << 16) << plane.src.shift;
}

static __global__ void __launch_bounds__(THREADS)
    table_kernel(const __grid_constant__ struct table_launch launch)
{
    halo_wait_for_kernel_before();
    const struct table_plane &plane = halo_plane_of(launch);
    const int number = ((int)blockIdx.x - plane.first_block) * WARPS + threadIdx.x / WARP;
    if (number >= plane.patches || (plane.flags && !(plane.flags[number] & HALO_PATCH_FILTERED)))
        return;
    const struct halo_patch patch = halo_patch_at(number, plane.across, plane.src);
    const int sample = plane.src.depth > 8 ? 2 : 1, pixel = plane.src.channels * sample;
    const int bytes = (patch.x1 - patch.x0) * pixel;
    const int across = (bytes + CHUNK - 1) / CHUNK;
    for (int i = threadIdx.x % WARP; i < across * (patch.y1 - patch.y0); i += WARP) {
        const int y = patch.y0 + i / across, at = i % across * CHUNK, left = bytes - at;
        const uint8_t *from =
            (const uint8_t *)plane.src.data + y * plane.src.stride + patch.x0 * pixel + at;
        uint8_t *to = (uint8_t *)plane.dst.data + y * plane.dst.stride + patch.x0 * pixel + at;
        if (left >= CHUNK) {
            const uint4 v = *(const uint4 *)from;
            *(uint4 *)to = make_uint4(look_up(v.x, plane), look_up(v.y, plane), look_up(v.z, plane),
                                      look_up(v.w, plane));
            continue;
        }
        for (int b = 0; b < left; b += sample) {
            if (sample == 1)
                to[b] = (uint8_t)look_up(from[b], plane);
            else
                *(uint16_t *)(to + b) = (uint16_t)look_up(*(const uint16_t *)(from + b), plane);
        }
    }
}

size_t halo_cuda_table_bytes(const struct halo_conv *conv, int channels)
{
    (void)channels;
    return conv->kind == HALO_CONV_TABLE ? sizeof conv->table[0] << conv->depth : 0;
}

void halo_cuda_table_prepare(void *ret, const struct halo_conv *conv, int channels)
{
    memcpy(ret, conv->table, halo_cuda_table_bytes(conv, channels));
}

cudaError_t halo_cuda_launch_table(const struct halo_cuda_call *calls, int count)
{
    struct table_launch launch;
    int blocks = 0;
    launch.count = count;
    for (int i = 0; i < count; i++) {
        struct table_plane *plane = &launch.plane[i];
        plane->src = calls[i].src;
        plane->dst = calls[i].dst;
        plane->table = (const uint16_t *)calls[i].prepared;
        plane->flags = calls[i].wanted.flags;
        plane->across = halo_patches_across(plane->src);
        plane->patches = plane->across * halo_patches_down(plane->src);
        plane->first_block = blocks;
        blocks += (plane->patches + WARPS - 1) / WARPS;
    }
    return halo_launch(table_kernel, launch, blocks, THREADS, 0, calls);
}
