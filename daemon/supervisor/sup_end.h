/* SPDX-License-Identifier: BSD-2-Clause
 * How processes of engines end: the reason in words, and the timeouts after which they are killed
 * (no hello, silence, a stream that is not released). Loop thread only. */
#ifndef HALO_SUP_END_H
#define HALO_SUP_END_H

#include <uv.h>

struct sv_process;

void sv_end_on_exit(uv_process_t *handle, int64_t status, int number); /* data: struct sv_process */
void sv_end_step(struct sv_process *process);                          /* called by the timer */

#endif
