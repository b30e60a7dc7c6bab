/* SPDX-License-Identifier: BSD-2-Clause
 * Faults on demand, in builds for tests (-Dfaults=true): the environment's HALOD_FAULT=KIND:N makes
 * the N-th call of that kind fail as a device does, KIND:N+ that one and every later one.
 *
 *     submit  a frame is refused               finish    a frame has failed
 *     hang    a frame never ends               memory    no page-locked memory is left
 *     stall   a frame waits for three seconds before it is submitted
 *     kill    the process is killed with a frame
 *     open    the backend does not start       alloc     no device memory is left
 *     decoder  encoder  a live stream's call of it never returns
 *     call    an engine makes a system call that it may not make, when it meets a stream
 *     upload  poison  launch  download  event  such a call of the device fails
 *
 * The CPU has the calls of a device too, one of each for a frame; "alloc" is a memory that is full
 * there, "alloc:N+" one that stays so. With CUDA they are the calls of
 * its runtime (cuda/wrapped.c), and after KIND:N+ all calls fail, as in a context that is lost. The
 * faults are those of the backend that meets the first: one that takes over is sound. Anything else
 * than such a KIND:N ends the process at the first call, with a line and status 64; empty is no
 * fault. */
#ifndef HALO_FAULT_H
#define HALO_FAULT_H

#include <stdbool.h>

#ifdef HALO_FAULTS
/* Whether this call is to fail; who: its backend's name. Any thread. */
bool halo_fault(const char *who, const char *kind);

/* Whether HALOD_FAULT has a +. */
bool halo_fault_stays(void);

/* The frame that this thread submits is to hang: set by frame.c, taken by the backend. */
extern _Thread_local bool halo_fault_hangs;
#else
static inline bool halo_fault(const char *who, const char *kind)
{
    (void)who;
    (void)kind;
    return false;
}
#endif

#endif
