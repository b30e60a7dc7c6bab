/* SPDX-License-Identifier: BSD-2-Clause
 * How a dense mask is cut up for the tensor cores: shared by what prepares it and the kernels. */
#ifndef HALO_DENSE_PLAN_CUH
#define HALO_DENSE_PLAN_CUH

#include <cuda_runtime.h>

#include "kernels/cuda/strategies.h"

enum {
    HALO_DENSE_OFFSETS = 4, /* of a weight in a word of the table */
    HALO_DENSE_BEFORE = 3,  /* words of zeros in front of each row of the table */
};

struct halo_dense_plan {
    int common_shift;     /* low bits that are 0 in all weights */
    int digits;           /* signed bytes of a weight; 0: too many */
    int steps;            /* of 16 cells, that a strip of 16 outputs needs */
    int radius_e, halo_e; /* elements: radius times channels, and that rounded up to 4 */
    bool wide;            /* the sums take 64 bits */
};

/* Words of a row of the table at one offset: two of them are read at once and must not share
 * banks. */
static constexpr __host__ __device__ int halo_dense_table_words(int steps)
{
    const int words = 4 * steps + HALO_DENSE_BEFORE;
    return words % 32 < 7    ? words + 7 - words % 32
           : words % 32 > 25 ? words + 39 - words % 32
                             : words;
}

struct halo_dense_plan halo_dense_plan_of(const struct halo_conv *conv, int channels);

/* All calls are of one kind and size of samples, and their plans have the same steps, digits and
 * wide. */
cudaError_t halo_cuda_tensor_dense_8(const struct halo_cuda_call *calls, int count);
cudaError_t halo_cuda_tensor_dense_16(const struct halo_cuda_call *calls, int count);

#endif
