/* SPDX-License-Identifier: BSD-2-Clause
 * One process of a detector, as its parent sees it. Loop thread only; the thread must not end
 * before the process, because the process is killed when the thread ends (become.c). */
#ifndef HALO_DETECTOR_SPAWN_H
#define HALO_DETECTOR_SPAWN_H

#include <uv.h>

#include "config/detectors.h"

struct halo_detector_process;

struct halo_detector_how {
    const char *halod;   /* path of halod itself, which executes the program */
    const char *command; /* NULL: halo-detect */
    enum halo_find find;
    bool gpu;
    const char *who; /* for the log: "stream NAME: the detector of faces"; copied */
    /* The process has ended; `why` is one line. It is still to be destroyed, which may be done
     * here. Not called after halo_detector_destroy(). */
    void (*exited)(void *arg, const char *why);
    void *arg;
};

/* Starts a process. Each line that it writes to standard error is logged with `who`; a process that
 * writes too many lines is cut short. Returns 0 (the caller owns *ret), or -errno with err filled,
 * for example because there is no such program. May block on a disk. */
int halo_detector_spawn(struct halo_detector_process **ret, uv_loop_t *loop,
                        const struct halo_detector_how *how, struct halo_error *err);

/* Gives the process a connection for one stream. Returns the other end, a non-blocking
 * SOCK_SEQPACKET socket that the caller owns, or -errno (-EAGAIN: the process does not accept its
 * connections). Does not block. */
int halo_detector_connect(struct halo_detector_process *process);

int halo_detector_pid(const struct halo_detector_process *process);

/* Kills the process, unless it has ended, and forgets it. The memory is freed when the loop has
 * closed the handles. NULL is ignored. */
void halo_detector_destroy(struct halo_detector_process *process);

#endif
