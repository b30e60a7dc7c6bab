/* SPDX-License-Identifier: BSD-2-Clause
 * Hides the memory of the process, because memory of halod, of decoders and of drivers contains
 * unfiltered frames. All memory is hidden, because a complete list of such places is impossible. No
 * core dump is written, whatever limits and core_pattern specify. Other processes, even those of
 * the same user, can neither read /proc/PID/mem, nor obtain the process's descriptors, nor attach a
 * debugger; only CAP_SYS_PTRACE, which root has, permits that.
 *
 * HALOD_DEBUGGABLE=1 disables this for developers, but never in a service. */
#ifndef HALO_HIDE_H
#define HALO_HIDE_H

#include "config/base/error.h"

/* Hides the process's memory from other processes; call it before the first byte of a frame is
 * read. The effect lasts until another program is executed, so every kind of process calls this for
 * itself. In a service, this also removes HALOD_DEBUGGABLE from the environment, so that engines do
 * not inherit it. Returns 0, or -errno with err filled if nothing is hidden. */
int halo_hide_memory(struct halo_error *err);

#endif
