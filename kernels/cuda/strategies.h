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
    /* Device memory; data and strides are multiples of 16, positive. What lies between the end of a
     * row of dst and the next multiple of 16 may be written. */
    struct halo_plane src, dst;
    int32_t *wide;        /* scratch of halo_cuda_wide_bytes(&src), between two passes */
    const void *prepared; /* what the strategy's prepare wrote, in device memory */
    cudaStream_t stream;  /* the same in all calls of a launch */
    bool early; /* kernels that wait themselves may be started before the one before has ended */
};

enum { HALO_CUDA_MOST_PLANES = 4 }; /* that one launch may take */

/* A row: one .cu file. */
struct halo_cuda_strategy {
    struct halo_strategy base;
    int compute; /* least compute capability, 80 for 8.0; 0: any */
    /* Filters 1 .. HALO_CUDA_MOST_PLANES planes, in any order; returns what the runtime said. */
    cudaError_t (*launch)(const struct halo_cuda_call *calls, int count);
    /* A mask in the form that the kernels read; both NULL, or prepared_bytes 0, where they need
     * none. */
    size_t (*prepared_bytes)(const struct halo_conv *conv, int channels);
    void (*prepare)(void *ret, const struct halo_conv *conv, int channels);
};

extern const struct halo_strategy *const halo_cuda_strategies[]; /* NULL-terminated, best first */

cudaError_t halo_cuda_launch_naive(const struct halo_cuda_call *calls, int count);
cudaError_t halo_cuda_launch_output_tile(const struct halo_cuda_call *calls, int count);
cudaError_t halo_cuda_launch_coarse_tile(const struct halo_cuda_call *calls, int count);
cudaError_t halo_cuda_launch_input_tile(const struct halo_cuda_call *calls, int count);
cudaError_t halo_cuda_launch_core_tile(const struct halo_cuda_call *calls, int count);
cudaError_t halo_cuda_launch_running_sums(const struct halo_cuda_call *calls, int count);
cudaError_t halo_cuda_launch_gradient_tile(const struct halo_cuda_call *calls, int count);
cudaError_t halo_cuda_launch_tensor(const struct halo_cuda_call *calls, int count);
cudaError_t halo_cuda_launch_direct(const struct halo_cuda_call *calls, int count);

size_t halo_cuda_coarse_bytes(const struct halo_conv *conv, int channels);
void halo_cuda_coarse_prepare(void *ret, const struct halo_conv *conv, int channels);
size_t halo_cuda_tensor_bytes(const struct halo_conv *conv, int channels);
void halo_cuda_tensor_prepare(void *ret, const struct halo_conv *conv, int channels);
bool halo_cuda_tensor_can(const struct halo_conv *conv, int channels);
bool halo_cuda_direct_can(const struct halo_conv *conv, int channels);
size_t halo_cuda_direct_bytes(const struct halo_conv *conv, int channels);
void halo_cuda_direct_prepare(void *ret, const struct halo_conv *conv, int channels);
cudaError_t halo_cuda_tensor_separable(const struct halo_cuda_call *calls, int count);
size_t halo_cuda_tensor_separable_bytes(const struct halo_conv *conv, int channels);
void halo_cuda_tensor_separable_prepare(void *ret, const struct halo_conv *conv, int channels);
cudaError_t halo_cuda_tensor_dense(const struct halo_cuda_call *calls, int count);
bool halo_cuda_tensor_dense_can(const struct halo_conv *conv, int channels);
size_t halo_cuda_tensor_dense_bytes(const struct halo_conv *conv, int channels);
void halo_cuda_tensor_dense_prepare(void *ret, const struct halo_conv *conv, int channels);

/* HALO_CONV_COPY has nothing to tile: one kernel serves every strategy. */
cudaError_t halo_cuda_launch_copy(const struct halo_cuda_call *calls, int count);

/* The same of HALO_CONV_PIXELIZE, for the strategies that take it. */
cudaError_t halo_cuda_launch_pixelize(const struct halo_cuda_call *calls, int count);

/* The compute capability that this program's kernels were compiled for here, 90 for 9.0: that of
 * the device, or less where the driver translated them from PTX. An error: none of them can run. */
cudaError_t halo_cuda_probe(int *ret_compute);

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
