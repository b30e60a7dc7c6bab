/* SPDX-License-Identifier: BSD-2-Clause
 * Several planes in one call, as a frame has them. */
#ifndef HALO_TEST_TOGETHER_H
#define HALO_TEST_TOGETHER_H

#include "kernels/backend.h"

/* rounds calls of b, each with planes, masks and regions of its own, drawn by lot; every plane is
 * compared with the oracle's reference. Returns how many were wrong, and said so. */
int check_together(struct halo_backend *b, struct halo_backend *oracle, uint64_t seed, int rounds);

#endif
