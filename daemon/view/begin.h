/* SPDX-License-Identifier: BSD-2-Clause
 * Copies of what an encoding begins with (begin_wire.h). Any thread, one at a time. */
#ifndef HALO_BEGIN_H
#define HALO_BEGIN_H

#include "pipeline/output/begin_wire.h"

/* A copy with everything that it points to, the caller's; packets share their memory. NULL: out of
 * memory. begin->video must be there. */
struct halo_live_begin *halo_begin_copy(const struct halo_live_begin *begin);
void halo_begin_destroy(struct halo_live_begin *begin); /* of a copy; NULL is nothing to do */

#endif
