/* SPDX-License-Identifier: BSD-2-Clause
 * What an engine never does: malformed messages, and connections to the control socket. Loop thread
 * only. */
#ifndef HALO_SUP_STRAY_H
#define HALO_SUP_STRAY_H

struct sv_process;

/* Counts it; too many end the process. what: "says what makes no sense". */
void sv_process_strays(struct sv_process *process, const char *what);

#endif
