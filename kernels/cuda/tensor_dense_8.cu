/* SPDX-License-Identifier: BSD-2-Clause
 * Strategy tensor, dense masks of bytes: see tensor_dense.cuh. */
#include "kernels/cuda/tensor_dense.cuh"

cudaError_t halo_cuda_tensor_dense_8(const struct halo_cuda_call *calls, int count)
{
    return launch_like<uint8_t>(calls, count);
}
