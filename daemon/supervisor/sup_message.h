/* SPDX-License-Identifier: BSD-2-Clause
 * What engines say. An engine reads hostile bytes, so it may be hostile itself: each field is
 * checked, what makes no sense is counted and ignored up to a limit, and only its own streams are
 * touched. Loop thread only. */
#ifndef HALO_SUP_MESSAGE_H
#define HALO_SUP_MESSAGE_H

#include "daemon/link/link.h"

extern const struct halo_link_ops sv_link_ops; /* arg: struct sv_process */

#endif
