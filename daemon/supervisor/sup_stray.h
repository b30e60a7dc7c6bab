/* SPDX-License-Identifier: BSD-2-Clause
 * What engines do that no engine does: messages that make no sense, and a hand on the control
 * socket. Loop thread only. */
#ifndef HALO_SUP_STRAY_H
#define HALO_SUP_STRAY_H

struct sv_process;

/* It has done what no engine does ("says what makes no sense"): counted, and too much of it is the
 * end of the process. */
void sv_process_strays(struct sv_process *process, const char *what);

#endif
