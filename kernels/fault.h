/* SPDX-License-Identifier: BSD-2-Clause
 * Fault injection, in builds for tests (-Dfaults=true). HALOD_FAULT lists faults, separated by
 * commas:
 *
 *     KIND:N      the N-th call of that kind fails as a device does
 *     KIND:N+     that call and every later one fail
 *     KIND:/FILE  every call fails while this file exists
 *     KIND:p=P    every call fails with probability P, 0 to 1
 *     KIND:p=P+   the same, but after the first failure every later call fails, too
 *     seed:N      seed of these random failures
 *
 *     submit  a frame is refused               finish    a frame has failed
 *     hang    a frame never ends; on the CPU with KIND:/FILE, not before the file is removed
 *     memory  no page-locked memory is left
 *     stall   a frame waits for three seconds before it is submitted
 *     kill    the process is killed with a frame
 *     stop    the process stops with a frame, as with SIGSTOP
 *     illegal a kernel of the frame reads an invalid address: with CUDA the device is really lost
 *     open    the backend does not start       alloc     no device memory is left
 *     decoder  encoder  a live stream's call of it never returns; with KIND:/FILE, not before the
 *             file is removed
 *     skip    the filters of a frame write nothing, and report success
 *     step    one filter of a frame writes nothing, and reports success
 *     epoch   a frame leaves the gate with another configuration than it entered with
 *     call    an engine makes a system call that it may not, when it receives a stream
 *     probe   an engine tries forbidden operations when it receives a stream, and halod run before
 *             it reads its input (engine_probe.c)
 *     silence the supervisor does not notice that an engine is silent
 *     snapshot  a snapshot of a live stream is waited for without a limit
 *     answer  what is asked of an engine is waited for without a limit
 *     exit    and so is the end of an engine that has closed its link, or of a stream in an engine
 *     upload  poison  launch  download  event  such a call of the device fails
 *     heap  code  time  any call in pipeline/ that base/fault_calls.h lists, or of HALO_FAULT_IS():
 *             runs out of memory, returns an error, or reports a timeout
 *     leak    a part of an unfiltered frame is put into an output frame (gate/leak.c): for the
 *             tests of leak checkers
 *
 * The CPU backend has the calls of a device, too, one of each for a frame; there "alloc" is a
 * failure to allocate memory, and "alloc:N+" a lasting one. With CUDA they are calls of its runtime
 * (cuda/wrapped.c), and after KIND:N+ all calls fail, as in a lost context. Faults apply only to
 * the backend that meets the first one: a backend that takes over works. A malformed list ends the
 * process at the first call, with a message and status 64; an empty one means no faults.
 *
 * HALOD_FAULT_LOG names a file to which every process appends a line for each fault: "KIND" or
 * "KIND FILE:FUNCTION CALL". Any thread. */
#ifndef HALO_FAULT_H
#define HALO_FAULT_H

#include <stdatomic.h>
#include <stdbool.h>

#ifdef HALO_FAULTS
/* A call in the source code that can be made to fail. It is in static memory, and its first four
 * members are initialised. */
struct halo_fault_point {
    const char *kind, *file, *function, *call;
    atomic_int known;
    struct halo_fault_point *next;
};

/* Return whether this call has to fail. who is the name of its backend. */
bool halo_fault(const char *who, const char *kind);
bool halo_fault_at(struct halo_fault_point *point);

/* Whether this place in the source code has to fail as if `call` had. */
#define HALO_FAULT_IS(kind, call)                                                                  \
    __extension__({                                                                                \
        static struct halo_fault_point halo_point = {kind, __FILE__, __func__, call, 0, NULL};     \
        halo_fault_at(&halo_point);                                                                \
    })

/* Returns whether the last fault that this thread encountered is permanent. */
bool halo_fault_stays(void);
/* Returns whether the last fault that this thread met still applies. A fault stops applying only if
 * it depends on a file and this file has been removed. */
bool halo_fault_lasts(void);

/* Uses this list instead of HALOD_FAULT, and sets a function that is called with the log line of
 * each fault. For test programs, which may call this function at most once and before they start
 * threads. */
void halo_fault_begin(const char *list, void (*notify)(const char *words));

/* Returns the number of fault points in the source code that have been reached so far. */
int halo_fault_points(void);

/* True if the frame that this thread submits has to hang. Set by backend.c and read by the
 * backend. */
extern _Thread_local bool halo_fault_hangs;
#else
#define HALO_FAULT_IS(kind, call) false
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
