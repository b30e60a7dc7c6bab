/* SPDX-License-Identifier: BSD-2-Clause
 * Division by a constant, as a multiplication: with 2^k < d <= 2^(k+1) and m = ceil(2^(32+k) / d),
 * floor(n m / 2^(32+k)) is floor(n / d) for all n below 2^31 (Granlund and Montgomery, "Division by
 * invariant integers using multiplication", 1994). */
#ifndef HALO_DIVISION_CUH
#define HALO_DIVISION_CUH

#include <cuda_runtime.h>
#include <stdint.h>

struct halo_division {
    uint32_t divisor, multiplier;
    int shift; /* k */
};

/* divisor >= 2. */
static inline struct halo_division halo_division_by(uint32_t divisor)
{
    struct halo_division by = {divisor, 0, 0};
    while ((uint64_t)2 << by.shift < divisor)
        by.shift++;
    by.multiplier = (uint32_t)((((uint64_t)1 << (32 + by.shift)) + divisor - 1) / divisor);
    return by;
}

/* n < 2^31. */
static __device__ inline uint32_t halo_divide(uint32_t n, const struct halo_division &by)
{
    return __umulhi(n, by.multiplier) >> by.shift;
}

#endif
