/* SPDX-License-Identifier: BSD-2-Clause
 * Handles messages from engines. An engine reads hostile bytes, so it may be hostile itself: every
 * field is checked, malformed messages are counted and, up to a limit, ignored, and a message
 * affects only streams of its own engine. Loop thread only. */
#ifndef HALO_SUP_MESSAGE_H
#define HALO_SUP_MESSAGE_H

#include "daemon/link/link.h"

/* The callbacks for links to engines; their arg is a struct sv_process. */
extern const struct halo_link_ops sv_link_ops;

#endif
