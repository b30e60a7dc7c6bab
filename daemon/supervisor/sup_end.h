/* SPDX-License-Identifier: BSD-2-Clause
 * How processes of engines end, in words, and when they are killed: one that does not begin, is
 * silent, or does not let go of a stream. Loop thread only. */
#ifndef HALO_SUP_END_H
#define HALO_SUP_END_H

#include <uv.h>

struct sv_process;

void sv_end_on_exit(uv_process_t *handle, int64_t status, int number); /* of a sv_process */
void sv_end_step(struct sv_process *process);                          /* by the clock */

#endif
