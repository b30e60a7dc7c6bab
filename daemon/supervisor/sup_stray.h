/* SPDX-License-Identifier: BSD-2-Clause
 * Counts acts that a correct engine never commits: sending invalid messages, or connecting to the
 * control socket. Loop thread only. */
#ifndef HALO_SUP_STRAY_H
#define HALO_SUP_STRAY_H

struct sv_process;

/* Counts one such message or connection; after too many, the process is ended. what is a phrase for
 * the log without its subject, such as "sent an invalid message". */
void sv_process_strays(struct sv_process *process, const char *what);

#endif
