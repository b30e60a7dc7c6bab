/* SPDX-License-Identifier: BSD-2-Clause
 * The event loop of halod run: signals, a clock, and a handle by which other threads wake it. Loop
 * thread only. */
#ifndef HALO_RUN_LOOP_H
#define HALO_RUN_LOOP_H

#include <stdbool.h>
#include <uv.h>

#include "config/base/error.h"
#include "daemon/cli/run/run_end.h"

struct halo_run_loop {
    uv_loop_t loop;
    uv_async_t wake; /* for uv_async_send(), the only libuv call that other threads may make */
    uv_timer_t tick;
    bool open; /* `loop` was initialised, so it must run until its handles are closed */
};

struct halo_run_loop_calls {
    uv_async_cb on_wake;
    uv_timer_cb on_tick;
    unsigned tick_ms;
    void *arg; /* the handles' data */
};

/* Opens the loop and its handles, and handles signals as `end` says. Returns 0, or -errno with err
 * filled. */
int halo_run_loop_open(struct halo_run_loop *l, const struct halo_run_loop_calls *calls,
                       struct halo_run_end *end, struct halo_error *err);

/* Closes all handles, so that halo_run_loop_run() returns. Processes (detectors) must have been
 * killed; their handles are closed when they have ended. */
void halo_run_loop_close_handles(struct halo_run_loop *l);

/* Runs the loop to its end and closes it. Call it only if `open` is set. */
void halo_run_loop_run(struct halo_run_loop *l);

#endif
