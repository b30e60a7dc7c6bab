/* SPDX-License-Identifier: BSD-2-Clause
 * Handles the end of engine processes: reports the reason, and kills a process at a timeout (if it
 * sends no hello, is silent, or does not release a stream). Loop thread only. */
#ifndef HALO_SUP_END_H
#define HALO_SUP_END_H

#include <stdint.h>

struct halo_process;
struct sv_process;

/* Called when a process has exited; child->data is its struct sv_process. */
void sv_end_on_exit(struct halo_process *child, int64_t status, int number);
/* Called by the timer; kills the process if it has exceeded a time limit. */
void sv_end_step(struct sv_process *process);

#endif
