/* SPDX-License-Identifier: BSD-2-Clause
 * One channel out of a plane that holds more: U or V of NV12, and the samples of P010 as plain
 * numbers. Hardware decoders write such planes; filters take what software decoders write. */
#ifndef HALO_GATHER_H
#define HALO_GATHER_H

#include "kernels/plane.h"

enum { HALO_GATHER_MAX = 4 }; /* samples from one of src to the next */

/* dst = src's samples, which lie `step` apart, 1 .. HALO_GATHER_MAX (src->data is the first of
 * them, src->width their number in a row), with dst's shift instead of src's. Both have one channel
 * and one depth, size and place on the host, and do not overlap. */
void halo_gather(const struct halo_plane *dst, const struct halo_plane *src, int step);

#endif
