/* SPDX-License-Identifier: BSD-2-Clause
 * Raw pictures lie in memory that is halod's, the decoders' and the drivers'. All of it is hidden,
 * of the whole process, for nobody could name every place: no core dump, whatever limits and
 * core_pattern say; and other processes, of the same user too, get no /proc/PID/mem, none of its
 * descriptors and no debugger. Only root's CAP_SYS_PTRACE does.
 *
 * HALOD_DEBUGGABLE=1 leaves it undone, for developers; a service never does. */
#ifndef HALO_HIDE_H
#define HALO_HIDE_H

#include "config/error.h"

/* Before the first byte of a picture. It lasts until another program is executed, so every kind of
 * process calls it for itself; one that a service manager started takes the variable out of its
 * environment, which engines inherit. -errno with err filled: nothing is hidden. */
int halo_hide_memory(struct halo_error *err);

#endif
