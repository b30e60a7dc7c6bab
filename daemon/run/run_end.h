/* SPDX-License-Identifier: BSD-2-Clause
 * How halod run ends: by a signal, and past a device that does not let go. Loop thread. */
#ifndef HALO_RUN_END_H
#define HALO_RUN_END_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "config/error.h"

/* Filled by the caller but for what is below; it must outlive the loop. */
struct halo_run_end {
    void (*stop)(void *arg);    /* the first signal: finish with what there is */
    void (*abandon)(void *arg); /* the second: the process is over at once */
    void *arg;
    uv_signal_t signals[3];
    int by;      /* signal number, 0 while none came */
    uint64_t at; /* ns, monotonic */
};

/* SIGINT, SIGTERM and, where nohup(1) does not ask otherwise, SIGHUP. 0, or an error of libuv. */
int halo_run_end_watch(struct halo_run_end *end, uv_loop_t *loop);

int halo_run_end_code(const struct halo_error *err);

/* From here on the process takes `seconds` at most: what is on a device may never be closed, and
 * nobody watches any more. */
void halo_run_end_limit(double seconds, int code);
/* All that is ours is finished. The driver's handlers at exit take their time, and with a lost
 * device might wait for ever: the kernel ends it as well. */
void halo_run_end_now(int code) __attribute__((noreturn));

#endif
