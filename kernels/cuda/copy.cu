/* SPDX-License-Identifier: BSD-2-Clause
 * COPY: one thread one sample, read and written in the container's form (a word with stray bits
 * becomes the largest sample), which a plain memory copy would not do. */
#include "kernels/cuda/tile.cuh"

enum { BLOCK_WIDTH = 32, BLOCK_HEIGHT = 8 };

template <typename Sample>
static __global__ void copy_kernel(const struct halo_plane src, const struct halo_plane dst)
{
    const int e = blockIdx.x * BLOCK_WIDTH + threadIdx.x;
    const int y = blockIdx.y * BLOCK_HEIGHT + threadIdx.y;

    if (e < src.width * src.channels && y < src.height)
        halo_write<Sample>(dst, e, y, halo_read<Sample>(src, e, y));
}

cudaError_t halo_cuda_launch_copy(const struct halo_cuda_call *call)
{
    const dim3 block(BLOCK_WIDTH, BLOCK_HEIGHT);
    const dim3 grid = halo_grid(call->src, BLOCK_WIDTH, BLOCK_HEIGHT);

    if (halo_plane_sample_bytes(&call->src) == 1)
        copy_kernel<uint8_t><<<grid, block, 0, call->stream>>>(call->src, call->dst);
    else
        copy_kernel<uint16_t><<<grid, block, 0, call->stream>>>(call->src, call->dst);
    return cudaGetLastError();
}

cudaError_t halo_cuda_probe(void)
{
    cudaFuncAttributes attributes;
    return cudaFuncGetAttributes(&attributes, copy_kernel<uint8_t>);
}
