/* SPDX-License-Identifier: BSD-2-Clause
 * Masks made by lot: every kind, every size, sums that just fit. */
#ifndef HALO_TEST_RANDOM_MASK_H
#define HALO_TEST_RANDOM_MASK_H

#include <stddef.h>

#include "kernels/conv.h"

/* 0 .. n - 1; n is at least 1. */
int random_below(uint64_t *state, int n);

/* Makes some mask for this target and says in text what it is. */
void random_mask(struct halo_conv *ret, const struct halo_conv_target *target, uint64_t *state,
                 char *text, size_t size);

#endif
