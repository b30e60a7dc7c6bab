/* SPDX-License-Identifier: BSD-2-Clause
 * Ends halod run after a signal, even if a device does not respond. Loop thread only. */
#ifndef HALO_RUN_END_H
#define HALO_RUN_END_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "config/base/error.h"

/* The caller fills in stop, abandon and arg. This struct must outlive the loop. */
struct halo_run_end {
    /* called at the first signal: finishes with the frames read so far */
    void (*stop)(void *arg);
    void (*abandon)(void *arg); /* called at the second signal, before the process ends at once */
    void *arg;
    const char *what; /* for the log, at the first signal; NULL: "finishing the output" */
    uv_signal_t signals[3];
    int by;      /* number of the signal; 0: no signal received */
    uint64_t at; /* uv_now() */
};

/* Handles SIGINT, SIGTERM and, unless it is ignored (nohup(1)), SIGHUP. Returns 0 or an error code
 * from libuv. */
int halo_run_end_watch(struct halo_run_end *end, uv_loop_t *loop);

int halo_run_end_code(const struct halo_error *err);

/* If the process is still running after `seconds`, ends it with this code. This limit is needed
 * because closing a device may never return, and no watchdog runs any more. */
void halo_run_end_limit(double seconds, int code);
/* Ends the process without running the driver's exit handlers, which take time and might wait for
 * ever if the device is lost. They are not needed: when the process ends, the kernel releases what
 * they would release. Call it when all other work is finished. */
void halo_run_end_now(int code) __attribute__((noreturn));

#endif
