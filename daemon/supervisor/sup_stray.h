/* SPDX-License-Identifier: BSD-2-Clause
 * Counts acts that a correct engine never commits: sending invalid messages, or connecting to the
 * control socket. Loop thread only. */
#ifndef HALO_SUP_STRAY_H
#define HALO_SUP_STRAY_H

struct sv_process;

/* Counts one invalid message or forbidden connection from the process; after too many of them, the
 * process is killed. `what` describes the act in the log, in a phrase without a subject, such as
 * "sent an invalid message". */
void sv_process_strays(struct sv_process *process, const char *what);

#endif
