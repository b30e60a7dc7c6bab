/* SPDX-License-Identifier: BSD-2-Clause
 * Filters an output frame again, to show what further filters would hide.
 *
 * The frame has passed a gate; here it passes a second one, on the CPU. Whatever the further
 * filters are, the result shows nothing that the frame does not show. */
#ifndef HALO_GATE_AGAIN_H
#define HALO_GATE_AGAIN_H

#include "config/base/error.h"

struct halo_chain;
struct halo_output_frame;

/* Filters a frame in host memory by a chain whose mask images have been loaded. Returns 0, or
 * -errno with err filled (-EINVAL: the chain does not fit the frame); the caller owns *ret, and
 * keeps `frame`. Any thread; takes as long as the filters do. */
int halo_gate_again(const struct halo_output_frame *frame, const struct halo_chain *chain,
                    struct halo_output_frame **ret, struct halo_error *err);

#endif
