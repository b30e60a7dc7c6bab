/* SPDX-License-Identifier: BSD-2-Clause
 * Strategy tensor: chooses the kernel for a plane. */
#include "kernels/cuda/strategies.h"

static bool is_deep(const struct halo_conv *conv)
{
    return conv->depth > 8;
}

static bool can(const struct halo_conv *conv, int channels)
{
    const bool fits = conv->radius_x * channels <= HALO_MAX_TAPS / 2;
    if (conv->kind == HALO_CONV_SEPARABLE)
        return fits && conv->accum != HALO_ACCUM_I64;
    if (conv->kind == HALO_CONV_DENSE)
        return fits && halo_cuda_tensor_dense_can(conv, channels);
    return conv->kind == HALO_CONV_COPY;
}

static size_t prepared_bytes(const struct halo_conv *conv, int channels)
{
    if (conv->kind == HALO_CONV_DENSE)
        return halo_cuda_tensor_dense_bytes(conv, channels);
    if (conv->kind == HALO_CONV_SEPARABLE)
        return is_deep(conv) ? halo_cuda_tensor_separable_deep_bytes(conv, channels)
                             : halo_cuda_tensor_separable_bytes(conv, channels);
    return 0;
}

static void prepare(void *ret, const struct halo_conv *conv, int channels)
{
    if (conv->kind == HALO_CONV_DENSE)
        halo_cuda_tensor_dense_prepare(ret, conv, channels);
    else if (is_deep(conv))
        halo_cuda_tensor_separable_deep_prepare(ret, conv, channels);
    else
        halo_cuda_tensor_separable_prepare(ret, conv, channels);
}

static bool selects(const struct halo_conv *conv, const struct halo_plane *plane)
{
    (void)plane;
    return conv->kind == HALO_CONV_SEPARABLE;
}

static cudaError_t launch_like(const struct halo_cuda_call *calls, int count)
{
    const struct halo_conv *conv = calls->conv;
    if (conv->kind == HALO_CONV_DENSE)
        return halo_cuda_tensor_dense(calls, count);
    if (conv->kind == HALO_CONV_SEPARABLE)
        return is_deep(conv) ? halo_cuda_tensor_separable_deep(calls, count)
                             : halo_cuda_tensor_separable(calls, count);
    return halo_cuda_launch_copy(calls, count);
}

/* Consecutive calls with the same kind and sample size are launched together. */
static cudaError_t launch(const struct halo_cuda_call *calls, int count)
{
    cudaError_t status = cudaSuccess;
    for (int i = 0, run; i < count && status == cudaSuccess; i += run) {
        const struct halo_conv *first = calls[i].conv;
        for (run = 1; i + run < count; run++) {
            const struct halo_conv *next = calls[i + run].conv;
            if (next->kind != first->kind || is_deep(next) != is_deep(first))
                break;
        }
        status = launch_like(&calls[i], run);
    }
    return status;
}

const struct halo_cuda_strategy halo_cuda_tensor = {
    .base = {"tensor", "products with the mask's band matrix on tensor cores", can},
    .compute = 80,
    .launch = launch,
    .selects = selects,
    .prepared_bytes = prepared_bytes,
    .prepare = prepare,
};
