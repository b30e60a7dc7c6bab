/* SPDX-License-Identifier: BSD-2-Clause
 * Strategy tensor: which of its kernels a plane takes. */
#include "kernels/cuda/tensor.cuh"

static bool is_dense(enum halo_conv_kind kind)
{
    return kind == HALO_CONV_DENSE || kind == HALO_CONV_BOX;
}

bool halo_cuda_tensor_can(const struct halo_conv *conv, int channels)
{
    if (conv->kind == HALO_CONV_SEPARABLE)
        return conv->depth == 8 && conv->radius_x * channels <= HALO_MAX_TAPS / 2;
    if (is_dense(conv->kind))
        return conv->radius_x * channels <= HALO_MAX_TAPS / 2 &&
               halo_cuda_tensor_dense_can(conv, channels);
    return conv->kind == HALO_CONV_COPY;
}

size_t halo_cuda_tensor_bytes(const struct halo_conv *conv, int channels)
{
    if (is_dense(conv->kind))
        return halo_cuda_tensor_dense_bytes(conv, channels);
    return conv->kind == HALO_CONV_SEPARABLE ? halo_cuda_tensor_separable_bytes(conv, channels) : 0;
}

void halo_cuda_tensor_prepare(void *ret, const struct halo_conv *conv, int channels)
{
    if (is_dense(conv->kind))
        halo_cuda_tensor_dense_prepare(ret, conv, channels);
    else
        halo_cuda_tensor_separable_prepare(ret, conv, channels);
}

/* Neighbours of one kind go together. */
cudaError_t halo_cuda_launch_tensor(const struct halo_cuda_call *calls, int count)
{
    cudaError_t status = cudaSuccess;
    for (int i = 0, run; i < count && status == cudaSuccess; i += run) {
        const enum halo_conv_kind kind = calls[i].conv->kind;
        run = 1;
        while (i + run < count && calls[i + run].conv->kind == kind)
            run++;
        status = is_dense(kind)                ? halo_cuda_tensor_dense(&calls[i], run)
                 : kind == HALO_CONV_SEPARABLE ? halo_cuda_tensor_separable(&calls[i], run)
                                               : halo_cuda_launch_copy(&calls[i], run);
    }
    return status;
}
