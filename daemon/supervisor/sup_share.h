/* SPDX-License-Identifier: BSD-2-Clause
 * What the kernel says about a child process: whether it gets the processor, or has ended. On a
 * machine that has too little of it, the clock on the wall says nothing about a process. */
#ifndef HALO_SUP_SHARE_H
#define HALO_SUP_SHARE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Returns whether the child has ended, even if nobody has waited for it yet. */
bool sv_share_ended(pid_t pid);
/* Returns the processor time that the process has used, in ns; 0 if it is unknown. */
int64_t sv_share_ran(pid_t pid);
/* Returns for how long, in ms, the first thread of the process was ready to run, but had no
 * processor. If that is hidden (ProtectProc=), returns it of the calling process, for which the
 * processor is as scarce; 0 if the kernel does not tell. */
uint64_t sv_share_waited(pid_t pid);
/* Returns whether a thread of the process waits in the kernel in such a way that not even SIGKILL
 * ends it, or whether that is hidden. */
bool sv_share_blocked(pid_t pid);

#endif
