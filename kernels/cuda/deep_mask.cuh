/* SPDX-License-Identifier: BSD-2-Clause
 * A separable mask for samples of more than 8 bits as the tensor cores take it: shared by what
 * prepares it and the kernel. */
#ifndef HALO_DEEP_MASK_CUH
#define HALO_DEEP_MASK_CUH

#include "kernels/cuda/strategies.h"

enum { HALO_HIGH, HALO_LOW, HALO_DIGITS }; /* bytes of a number of 16 bits */
enum { HALO_DEEP_STEPS = 9 };              /* of 16 in k, at most: 127 taps */

/* The bands of a mask as fragments, a word for each lane: of each step the upper and the lower 8
 * rows of the band. */
struct halo_deep_mask {
    uint32_t row[HALO_DIGITS][2 * HALO_DEEP_STEPS][32];
    uint32_t column[HALO_DIGITS][2 * HALO_DEEP_STEPS][32];
};

/* The identity weighs 2^bits: with 15 for bits two digits hold it, and nothing changes. */
static inline int halo_deep_bits(int bits, int radius)
{
    return radius == 0 ? 15 : bits;
}

#endif
