/* SPDX-License-Identifier: BSD-2-Clause
 * Counts what a correct engine never does: send malformed messages, or connect to the control
 * socket. Loop thread only. */
#ifndef HALO_SUP_STRAY_H
#define HALO_SUP_STRAY_H

struct sv_process;

/* Counts one such message or connection; too many end the process. what: a phrase for the log,
 * without its subject ("sent a malformed message"). */
void sv_process_strays(struct sv_process *process, const char *what);

#endif
