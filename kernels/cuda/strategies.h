/* SPDX-License-Identifier: BSD-2-Clause
 * The CUDA strategies: what a launcher gets, and the table. Read by the C compiler and nvcc. */
#ifndef HALO_CUDA_STRATEGIES_H
#define HALO_CUDA_STRATEGIES_H

#include <stdint.h>

#include <cuda_runtime_api.h>

#include "kernels/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One plane in device memory. A launcher only puts work on the stream: it neither blocks for the
 * kernels nor allocates. *conv is read before the launcher returns (it must not be pinned memory,
 * which the copy engine would read later). */
struct halo_cuda_call {
    const struct halo_conv *conv;
    struct halo_plane src, dst; /* data is device memory, strides are positive */
    int32_t *wide;              /* scratch of halo_cuda_wide_bytes(&src), between two passes */
    cudaStream_t stream;
};

/* A row: one .cu file. launch returns what the runtime said. */
struct halo_cuda_strategy {
    struct halo_strategy base;
    cudaError_t (*launch)(const struct halo_cuda_call *call);
};

extern const struct halo_strategy *const halo_cuda_strategies[]; /* NULL-terminated, best first */

cudaError_t halo_cuda_launch_naive(const struct halo_cuda_call *call);
cudaError_t halo_cuda_launch_output_tile(const struct halo_cuda_call *call);

/* HALO_CONV_COPY has nothing to tile: one kernel serves every strategy. */
cudaError_t halo_cuda_launch_copy(const struct halo_cuda_call *call);

/* Whether the current device can run this program's kernels at all. */
cudaError_t halo_cuda_probe(void);

/* The intermediate plane: int32 elements, rows padded so that each starts a memory transaction. */
static inline ptrdiff_t halo_cuda_wide_stride(const struct halo_plane *p)
{
    return ((ptrdiff_t)p->width * p->channels + 31) / 32 * 32;
}

static inline size_t halo_cuda_wide_bytes(const struct halo_plane *p)
{
    return (size_t)halo_cuda_wide_stride(p) * p->height * sizeof(int32_t);
}

#ifdef __cplusplus
}
#endif

#endif
