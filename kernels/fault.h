/* SPDX-License-Identifier: BSD-2-Clause
 * Faults on demand, in builds for tests (-Dfaults=true). HALOD_FAULT lists them, with commas:
 *
 *     KIND:N      the N-th call of that kind fails as a device does
 *     KIND:N+     that one and every later one
 *     KIND:/FILE  every one that is made while that file is there
 *     KIND:p=P    every call with probability P, 0 to 1; KIND:p=P+ once one has, all
 *     seed:N      of those probabilities
 *
 *     submit  a frame is refused               finish    a frame has failed
 *     hang    a frame never ends               memory    no page-locked memory is left
 *     stall   a frame waits for three seconds before it is submitted
 *     kill    the process is killed with a frame
 *     illegal a kernel of the frame reads where nothing is: with CUDA the device is really lost
 *     open    the backend does not start       alloc     no device memory is left
 *     decoder  encoder  a live stream's call of it never returns; with KIND:/FILE, not before that
 *             file is gone
 *     skip    the filters of a frame write nothing, and say that all is well
 *     step    one filter of a frame does so
 *     epoch   a picture leaves the gate for another configuration than it entered with
 *     call    an engine makes a system call that it may not make, when it meets a stream
 *     probe   an engine tries what it may not do, when it meets a stream (engine_probe.c)
 *     upload  poison  launch  download  event  such a call of the device fails
 *     heap  code  time  any call in pipeline/ of those that base/fault_calls.h names: finds no
 *             memory, returns an error, or says that its time is over
 *     leak    something of a raw picture is put into an output picture (gate/leak.c): for the
 *             tests of leak checkers
 *
 * The CPU has the calls of a device too, one of each for a frame; "alloc" is a memory that is full
 * there, "alloc:N+" one that stays so. With CUDA they are the calls of
 * its runtime (cuda/wrapped.c), and after KIND:N+ all calls fail, as in a context that is lost. The
 * faults are those of the backend that meets the first: one that takes over is sound. Anything else
 * ends the process at the first call, with a line and status 64; empty is no fault.
 *
 * HALOD_FAULT_LOG names a file, to which every process adds a line for each fault: "KIND", or
 * "KIND FILE:FUNCTION CALL". Any thread. */
#ifndef HALO_FAULT_H
#define HALO_FAULT_H

#include <stdatomic.h>
#include <stdbool.h>

#ifdef HALO_FAULTS
/* A call in the source that can fail: static memory, the first four are given. */
struct halo_fault_point {
    const char *kind, *file, *function, *call;
    atomic_int known;
    struct halo_fault_point *next;
};

/* Whether this call is to fail; who: its backend's name. */
bool halo_fault(const char *who, const char *kind);
bool halo_fault_at(struct halo_fault_point *point);

/* Whether the fault that this thread met last stays. */
bool halo_fault_stays(void);
/* Whether that one is still there: without a file it always is. */
bool halo_fault_lasts(void);

/* For programs that are tests, before their threads begin: a list in place of HALOD_FAULT's, and
 * who is told of each fault, in the words of the log. Not more often than once. */
void halo_fault_begin(const char *list, void (*notify)(const char *words));

/* How many points of the source have been passed so far. */
int halo_fault_points(void);

/* The frame that this thread submits is to hang: set by frame.c, taken by the backend. */
extern _Thread_local bool halo_fault_hangs;
#else
static inline bool halo_fault(const char *who, const char *kind)
{
    (void)who;
    (void)kind;
    return false;
}
static inline bool halo_fault_lasts(void)
{
    return false;
}
#endif

#endif
