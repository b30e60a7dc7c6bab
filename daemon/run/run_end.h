/* SPDX-License-Identifier: BSD-2-Clause
 * How halod run ends: after a signal, and even if a device does not respond. Loop thread. */
#ifndef HALO_RUN_END_H
#define HALO_RUN_END_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "config/error.h"

/* The caller fills in stop, abandon and arg. Must outlive the loop. */
struct halo_run_end {
    void (*stop)(void *arg);    /* the first signal: finish with the frames read so far */
    void (*abandon)(void *arg); /* the second signal: the process ends at once */
    void *arg;
    uv_signal_t signals[3];
    int by;      /* signal number; 0: none received */
    uint64_t at; /* ns, monotonic */
};

/* Handles SIGINT, SIGTERM and, unless nohup(1) ignores it, SIGHUP. 0, or an error of libuv. */
int halo_run_end_watch(struct halo_run_end *end, uv_loop_t *loop);

int halo_run_end_code(const struct halo_error *err);

/* Ends the process with this code after `seconds` at the latest, because closing a device may
 * never return, and no watchdog runs any more. */
void halo_run_end_limit(double seconds, int code);
/* Ends the process after all our own work is finished. The driver's exit handlers take time, and
 * with a lost device might wait for ever; the kernel cleans up as well as they do. */
void halo_run_end_now(int code) __attribute__((noreturn));

#endif
