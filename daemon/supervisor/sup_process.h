/* SPDX-License-Identifier: BSD-2-Clause
 * Processes of engines. A process that must go is killed and forgotten at once: it may hang in a
 * driver where not even SIGKILL ends it, and nothing waits for that. Loop thread only. */
#ifndef HALO_SUP_PROCESS_H
#define HALO_SUP_PROCESS_H

#include "config/error.h"

struct halo_supervisor;
struct sv_engine;
struct sv_process;

int sv_process_start(struct sv_engine *engine, struct halo_error *err);
/* releases it from its engine: it finishes or is killed */
void sv_process_quit(struct sv_process *process);
void sv_process_kill(struct sv_process *process);       /* releases and kills it at once */
void sv_process_forget(struct sv_process *process);     /* it has ended, or never will */
void sv_process_forget_all(struct halo_supervisor *sv); /* forgets processes that did not die */

#endif
