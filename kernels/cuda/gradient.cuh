/* SPDX-License-Identifier: BSD-2-Clause
 * GRADIENT: from the sums of the two masks to a sample. The root is computed in floating point: the
 * correctly rounded root of an integer below 2^24 (of a double: 2^52) never reaches the next
 * integer, so truncating it is exact. */
#ifndef HALO_GRADIENT_CUH
#define HALO_GRADIENT_CUH

#include "kernels/cuda/tile.cuh"

/* Passed by value to a kernel. */
struct halo_root {
    uint64_t limit;
    uint32_t scale;
    int scale_bits, shift;
    int64_t bias;
};

static inline struct halo_root halo_root_of(const struct halo_conv *conv)
{
    return {conv->limit, conv->scale, conv->scale_bits, conv->mask_bits, conv->bias};
}

/* Accum corresponds to conv->accum; a and b fit 32 bits in any case. */
template <typename Accum>
static __device__ inline int64_t halo_root_finish(int a, int b, const struct halo_root &root)
{
    if (sizeof(Accum) == 4) {
        const uint32_t aa = (uint32_t)a * (uint32_t)a, sum = aa + (uint32_t)b * (uint32_t)b;
        const uint32_t limit = (uint32_t)root.limit;
        const uint32_t square = sum < aa || sum > limit ? limit : sum; /* sum < aa: it wrapped */
        const uint32_t t = (uint32_t)((uint64_t)square * root.scale >> root.scale_bits);
        return ((int64_t)__fsqrt_rn((float)t) + root.bias) >> root.shift;
    }
    const uint64_t sum = (uint64_t)((int64_t)a * a + (int64_t)b * b);
    const uint64_t t = (sum > root.limit ? root.limit : sum) * root.scale >> root.scale_bits;
    return ((int64_t)__dsqrt_rn((double)t) + root.bias) >> root.shift;
}

#endif
