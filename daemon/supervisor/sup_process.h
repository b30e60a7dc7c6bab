/* SPDX-License-Identifier: BSD-2-Clause
 * Processes of engines. A process that must end is killed and forgotten at once, and nothing waits
 * for its end, because it may hang in a driver, where not even SIGKILL ends it. Loop thread
 * only. */
#ifndef HALO_SUP_PROCESS_H
#define HALO_SUP_PROCESS_H

#include <stdint.h>

#include "config/base/error.h"

struct halo_supervisor;
struct sv_engine;
struct sv_process;

int sv_process_start(struct sv_engine *engine, struct halo_error *err);
/* Separates the process from its engine and asks it to finish. If the process does not finish in
 * time, it is killed. */
void sv_process_quit(struct sv_process *process);
/* Separates the process from its engine and kills the process at once. */
void sv_process_kill(struct sv_process *process);
/* To be called once a killed process should have ended: gives it more time if it has ended already,
 * or has only had too little of the processor; otherwise gives it up. */
void sv_process_judge(struct sv_process *process);
/* The supervisor, and perhaps the process, has stood still since the last tick: that time does not
 * count. */
void sv_process_forgive(struct sv_process *process, uint64_t now);
/* Removes the process from the list and frees it. Must be called when the process has ended, or
 * when halod no longer waits for its end. */
void sv_process_forget(struct sv_process *process);
/* Kills and forgets all processes that have not ended yet. */
void sv_process_forget_all(struct halo_supervisor *sv);

#endif
