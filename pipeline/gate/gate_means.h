/* SPDX-License-Identifier: BSD-2-Clause
 * The colour of hide with color=mean: in each plane, the mean of the samples that no filter of the
 * chain changes, in every HALO_MEAN_ROWS-th row. These samples are in the output as they are, so
 * the mean tells nothing about the others. If there are none, the colour is gray.
 *
 * All functions may be called on any thread and never block. */
#ifndef HALO_GATE_MEANS_H
#define HALO_GATE_MEANS_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/frame.h"

enum { HALO_MEAN_ROWS = 4 };

/* Sets *ret to the means of the channels of plane, in host memory, to which these steps will be
 * applied. Returns false if the steps change every sample in these rows; or if memory runs out. */
bool halo_gate_mean(const struct halo_plane *plane, const struct halo_step *steps, int count,
                    int32_t ret[2]);

#endif
