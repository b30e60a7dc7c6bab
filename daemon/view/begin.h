/* SPDX-License-Identifier: BSD-2-Clause
 * Copies of an encoding's parameters (begin_wire.h). Any thread, one at a time. */
#ifndef HALO_BEGIN_H
#define HALO_BEGIN_H

#include "pipeline/output/begin_wire.h"

/* Returns a deep copy that the caller owns; only packets share their memory with the original.
 * NULL: out of memory. begin->video must not be NULL. */
struct halo_live_begin *halo_begin_copy(const struct halo_live_begin *begin);
void halo_begin_destroy(struct halo_live_begin *begin); /* a copy, or NULL, which is ignored */

#endif
