/* SPDX-License-Identifier: BSD-2-Clause
 * Strategy tensor, dense masks of words of 16 bits: see tensor_dense.cuh. */
#include "kernels/cuda/tensor_dense.cuh"

cudaError_t halo_cuda_tensor_dense_16(const struct halo_cuda_call *calls, int count)
{
    return launch_like<uint16_t>(calls, count);
}
