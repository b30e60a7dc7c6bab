/* SPDX-License-Identifier: BSD-2-Clause
 * The processes that the supervisor starts: engines and detectors. They start through one table, so
 * that a test can put objects in their place. Loop thread only. */
#ifndef HALO_PROCESS_H
#define HALO_PROCESS_H

#include <sys/types.h>
#include <uv.h>

struct halo_process {
    union uv_any_handle handle; /* which handle it is, only the table's functions know */
    pid_t pid;
    void *data; /* the owner's */
    /* called once, when the process has ended by itself or by a signal, unless it was closed */
    void (*exited)(struct halo_process *process, int64_t status, int number);
};

struct halo_process_ops {
    /* As halo_process_start(). */
    int (*start)(struct halo_process *process, uv_loop_t *loop, uv_process_options_t *options);
    void (*kill)(struct halo_process *process); /* SIGKILL; does nothing if it has ended */
};

/* The real processes; tests replace this table before any process starts. */
extern const struct halo_process_ops *halo_process_ops;

/* Starts the process, which inherits no descriptor but those of the options, which are as for
 * uv_spawn(), without exit_cb. Fills handle and pid. Returns 0 or -errno; the handle must be closed
 * in both cases. */
int halo_process_start(struct halo_process *process, uv_loop_t *loop,
                       uv_process_options_t *options);

/* Forgets the process. closed() gets the handle, whose data is the struct halo_process; until then,
 * its memory must stay. */
void halo_process_close(struct halo_process *process, uv_close_cb closed);

#endif
