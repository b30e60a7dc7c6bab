/* SPDX-License-Identifier: BSD-2-Clause
 * Extracts one channel from a plane with several: U or V of NV12, and samples of P010 as plain
 * numbers. Hardware decoders write such planes; filters expect the formats of software decoders. */
#ifndef HALO_GATHER_H
#define HALO_GATHER_H

#include "kernels/plane.h"

enum { HALO_GATHER_MAX = 4 }; /* the largest step */

/* Copies to dst every step-th sample of src, with step 1 .. HALO_GATHER_MAX: src->data is the first
 * of these samples, src->width their number in a row. They get the shift of dst. Both planes have
 * one channel and equal depth and size, are in host memory, and do not overlap. */
void halo_gather(const struct halo_plane *dst, const struct halo_plane *src, int step);

#endif
