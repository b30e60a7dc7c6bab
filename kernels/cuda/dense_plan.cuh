/* SPDX-License-Identifier: BSD-2-Clause
 * How a dense mask is divided for the tensor cores: shared by the kernels and the code that
 * prepares the mask. */
#ifndef HALO_DENSE_PLAN_CUH
#define HALO_DENSE_PLAN_CUH

#include <cuda_runtime.h>

#include "kernels/cuda/strategies.h"

enum {
    HALO_DENSE_OFFSETS = 4, /* offsets of a weight in a word of the table */
    HALO_DENSE_BEFORE = 3,  /* words of zeros before each row of the table */
};

struct halo_dense_plan {
    int common_shift;     /* number of low bits that are 0 in all weights */
    int digits;           /* signed bytes of a weight; 0: it needs too many */
    int steps;            /* steps of 16 cells that a strip of 16 outputs needs */
    int radius_e, halo_e; /* in elements: radius times channels, and this rounded up to a multiple
                           * of 4 */
    bool wide;            /* the sums need 64 bits */
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

/* All calls have the same sample size, and plans with the same steps, digits and wide. */
cudaError_t halo_cuda_tensor_dense_8(const struct halo_cuda_call *calls, int count);
cudaError_t halo_cuda_tensor_dense_16(const struct halo_cuda_call *calls, int count);

#endif
