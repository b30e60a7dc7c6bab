/* SPDX-License-Identifier: BSD-2-Clause
 * COPY: a thread copies 16 bytes. Unlike a plain memory copy, it replaces a word with stray bits by
 * the largest sample. All planes in one launch. */
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/tile.cuh"

enum { THREADS = 256, CHUNK = 16 };

struct copy_plane {
    struct halo_plane src, dst;
    int chunks; /* in a row; the last one may be partial */
    int first_block;
};

struct copy_launch {
    struct copy_plane plane[HALO_CUDA_MAX_PLANES];
    int count;
};

static __global__ void __launch_bounds__(THREADS)
    copy_kernel(const __grid_constant__ struct copy_launch launch)
{
    halo_wait_for_kernel_before();
    const struct copy_plane &plane = halo_plane_of(launch);
    const int64_t i = (int64_t)(blockIdx.x - plane.first_block) * THREADS + threadIdx.x;
    const int y = (int)(i / plane.chunks), at = (int)(i - (int64_t)y * plane.chunks) * CHUNK;
    if (y >= plane.src.height)
        return;

    const int sample_bytes = plane.src.depth > 8 ? 2 : 1;
    const int left = plane.src.width * plane.src.channels * sample_bytes - at;
    const uint8_t *from = (const uint8_t *)plane.src.data + y * plane.src.stride + at;
    uint8_t *to = (uint8_t *)plane.dst.data + y * plane.dst.stride + at;
    if (left >= CHUNK) {
        uint4 v = *(const uint4 *)from;
        if (sample_bytes == 2)
            v = make_uint4(halo_copy_words(v.x, plane.src), halo_copy_words(v.y, plane.src),
                           halo_copy_words(v.z, plane.src), halo_copy_words(v.w, plane.src));
        *(uint4 *)to = v;
        return;
    }
    for (int b = 0; b < left; b += sample_bytes) {
        if (sample_bytes == 1)
            to[b] = from[b];
        else
            *(uint16_t *)(to + b) =
                (uint16_t)halo_copy_words(*(const uint16_t *)(from + b), plane.src);
    }
}

cudaError_t halo_cuda_launch_copy(const struct halo_cuda_call *calls, int count)
{
    struct copy_launch launch;
    int blocks = 0;
    launch.count = count;
    for (int i = 0; i < count; i++) {
        const struct halo_plane &src = calls[i].src;
        const int bytes = src.width * src.channels * halo_plane_sample_bytes(&src);
        const int chunks = (bytes + CHUNK - 1) / CHUNK;
        launch.plane[i].src = src;
        launch.plane[i].dst = calls[i].dst;
        launch.plane[i].chunks = chunks;
        launch.plane[i].first_block = blocks;
        blocks += (int)(((int64_t)chunks * src.height + THREADS - 1) / THREADS);
    }
    return halo_launch(copy_kernel, launch, blocks, THREADS, 0, calls);
}

cudaError_t halo_cuda_probe(int *ret_compute)
{
    cudaFuncAttributes attributes;
    const cudaError_t status = cudaFuncGetAttributes(&attributes, copy_kernel);
    if (status == cudaSuccess)
        *ret_compute = attributes.ptxVersion;
    return status;
}
