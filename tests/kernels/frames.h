/* SPDX-License-Identifier: BSD-2-Clause
 * Whole frames: several planes of several sizes, masks and kinds in one call. */
#ifndef HALO_TEST_FRAMES_H
#define HALO_TEST_FRAMES_H

#include "kernels/backend.h"

/* Filters frames with b by strategy (NULL: its own choice), where it can, and with oracle, a CPU
 * backend, plane by plane by the reference. Adds the planes that are the same bytes, and those that
 * are not, which are printed. */
void check_frames(struct halo_backend *oracle, struct halo_backend *b,
                  const struct halo_strategy *strategy, long *passed, long *failed);

#endif
