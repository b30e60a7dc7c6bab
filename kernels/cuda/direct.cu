/* SPDX-License-Identifier: BSD-2-Clause
 * Strategy direct: which of its kernels a plane takes. */
#include "kernels/cuda/strategies.h"

bool halo_cuda_direct_can(const struct halo_conv *conv, int channels)
{
    if (conv->kind == HALO_CONV_DENSE)
        return halo_cuda_direct_dense_can(conv, channels);
    return conv->kind == HALO_CONV_SEPARABLE && halo_cuda_direct_separable_can(conv, channels);
}

size_t halo_cuda_direct_bytes(const struct halo_conv *conv, int channels)
{
    return conv->kind == HALO_CONV_DENSE ? halo_cuda_direct_dense_bytes(conv, channels)
                                         : halo_cuda_direct_separable_bytes(conv, channels);
}

void halo_cuda_direct_prepare(void *ret, const struct halo_conv *conv, int channels)
{
    if (conv->kind == HALO_CONV_DENSE)
        halo_cuda_direct_dense_prepare(ret, conv, channels);
    else
        halo_cuda_direct_separable_prepare(ret, conv, channels);
}

/* Neighbours of one kind go together. */
cudaError_t halo_cuda_launch_direct(const struct halo_cuda_call *calls, int count)
{
    cudaError_t status = cudaSuccess;
    for (int i = 0, run; i < count && status == cudaSuccess; i += run) {
        const enum halo_conv_kind kind = calls[i].conv->kind;
        run = 1;
        while (i + run < count && calls[i + run].conv->kind == kind)
            run++;
        status = kind == HALO_CONV_DENSE ? halo_cuda_direct_dense(&calls[i], run)
                                         : halo_cuda_direct_separable(&calls[i], run);
    }
    return status;
}
