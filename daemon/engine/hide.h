/* SPDX-License-Identifier: BSD-2-Clause
 * Hides the memory of the process, because unfiltered frames are in memory of halod, of decoders
 * and of drivers. All memory is hidden, because a list of every such place is impossible: no core
 * dump is written, whatever limits and core_pattern specify, and other processes, even those of the
 * same user, can neither read /proc/PID/mem nor obtain its descriptors nor attach a debugger. Only
 * root's CAP_SYS_PTRACE permits that.
 *
 * HALOD_DEBUGGABLE=1 disables this for developers, but never in a service. */
#ifndef HALO_HIDE_H
#define HALO_HIDE_H

#include "config/error.h"

/* Called before the first byte of a frame is read. The effect lasts until another program is
 * executed, so every kind of process calls it for itself. In a service, it removes HALOD_DEBUGGABLE
 * from the environment, so that engines do not inherit it. -errno with err filled: nothing is
 * hidden. */
int halo_hide_memory(struct halo_error *err);

#endif
