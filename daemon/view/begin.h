/* SPDX-License-Identifier: BSD-2-Clause
 * Copies of an encoding's parameters (begin_wire.h). Any thread may use them, but only one at a
 * time. */
#ifndef HALO_BEGIN_H
#define HALO_BEGIN_H

#include "pipeline/output/begin_wire.h"

/* Returns a deep copy, which the caller owns, or NULL if out of memory; only packets share their
 * memory with the original. begin->video must not be NULL. */
struct halo_live_begin *halo_begin_copy(const struct halo_live_begin *begin);
/* Destroys a copy. NULL is ignored. */
void halo_begin_destroy(struct halo_live_begin *begin);

#endif
