/* SPDX-License-Identifier: BSD-2-Clause
 * A separable mask for samples of more than 8 bits in the layout of the tensor cores: shared by the
 * kernel and the code that prepares the mask. */
#ifndef HALO_DEEP_MASK_CUH
#define HALO_DEEP_MASK_CUH

#include "kernels/cuda/strategies.h"

enum { HALO_HIGH, HALO_LOW, HALO_DIGITS }; /* the bytes of a 16-bit number */
enum { HALO_DEEP_STEPS = 9 };              /* steps of 16 in k, at most: enough for 127 taps */

/* The bands of a mask as fragments, a word for each lane: for each step, the upper and the lower 8
 * rows of the band. */
struct halo_deep_mask {
    uint32_t row[HALO_DIGITS][2 * HALO_DEEP_STEPS][32];
    uint32_t column[HALO_DIGITS][2 * HALO_DEEP_STEPS][32];
};

/* The weight of the identity is 2^bits. With 15 bits instead, two digits can hold it, and the
 * results are the same. */
static inline int halo_deep_bits(int bits, int radius)
{
    return radius == 0 ? 15 : bits;
}

#endif
