/* SPDX-License-Identifier: BSD-2-Clause
 * kernels/gather.h for planes in device memory. Compiled by the C compiler and nvcc. */
#ifndef HALO_CUDA_GATHER_H
#define HALO_CUDA_GATHER_H

#include <cuda_runtime_api.h>

#include "kernels/gather.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Enqueues a kernel that copies every step-th sample of src to dst, as halo_gather() does. The
 * address and stride of dst must be multiples of 16, and the bytes between the end of a row of dst
 * and the next multiple of 16 may be written. src needs only the alignment of its samples. Returns
 * the CUDA runtime's status. */
cudaError_t halo_cuda_gather(const struct halo_plane *dst, const struct halo_plane *src, int step,
                             cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
