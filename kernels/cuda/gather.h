/* SPDX-License-Identifier: BSD-2-Clause
 * kernels/gather.h on planes in device memory. Read by the C compiler and nvcc. */
#ifndef HALO_CUDA_GATHER_H
#define HALO_CUDA_GATHER_H

#include <cuda_runtime_api.h>

#include "kernels/gather.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Puts one plane's work onto the stream. dst's data and stride are multiples of 16, and what lies
 * between the end of a row of it and the next multiple of 16 may be written; src may lie anywhere
 * where its samples can. Returns what the runtime said. */
cudaError_t halo_cuda_gather(const struct halo_plane *dst, const struct halo_plane *src, int step,
                             cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
