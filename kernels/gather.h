/* SPDX-License-Identifier: BSD-2-Clause
 * Extracts one channel from a plane with several: U or V of NV12, and samples of P010 as plain
 * numbers. Hardware decoders write such planes; filters expect the formats of software decoders. */
#ifndef HALO_GATHER_H
#define HALO_GATHER_H

#include "kernels/plane.h"

enum { HALO_GATHER_MAX = 4 }; /* the largest step */

/* Copies every step-th sample of src to dst; step is 1 to HALO_GATHER_MAX. src->data points to the
 * first of these samples, and src->width is their number in a row. The samples are stored with
 * dst's shift. Both planes must be in host memory, must not overlap, and must have one channel and
 * the same depth and size. */
void halo_gather(const struct halo_plane *dst, const struct halo_plane *src, int step);

#endif
