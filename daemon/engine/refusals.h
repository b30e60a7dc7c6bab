/* SPDX-License-Identifier: BSD-2-Clause
 * Answers the system calls that a confined process (confine.h) was refused: they fail with EPERM.
 * The first one is logged, so that the log shows what a hostile file or a detector attempted, or
 * what a new library needs. While nobody answers, the thread that made the call waits; after the
 * end, such calls fail with ENOSYS.
 *
 * Loop thread only. */
#ifndef HALO_REFUSALS_H
#define HALO_REFUSALS_H

#include <uv.h>

struct halo_refusals;

/* Answers the calls of a process until it ends. calls is what halo_confine() returned in that
 * process, and is taken, even on failure; who is its name in the log. Returns NULL on failure. Does
 * not keep the loop alive. */
struct halo_refusals *halo_refusals_answer(uv_loop_t *loop, int calls, const char *who);
/* The memory is freed when the loop has closed the handle. NULL is ignored. */
void halo_refusals_end(struct halo_refusals *refusals);

#endif
