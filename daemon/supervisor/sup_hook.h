/* SPDX-License-Identifier: BSD-2-Clause
 * The supervisor starts hooks, because engines may not start programs. An engine reports which
 * output has finished which file. The output must be one that the engine was given, and the file's
 * name must be one that this output can produce. Loop thread only. */
#ifndef HALO_SUP_HOOK_H
#define HALO_SUP_HOOK_H

#include <jansson.h>
#include <stdbool.h>

struct sv_process;
struct sv_stream;

/* Must be called when the stream is started in the process. The process may then request the
 * stream's hooks until this function is called again for the same process and stream, or until the
 * process ends. A process that was separated from its engine but is still finishing files may
 * request the hooks, too. */
void sv_hooks_give(struct sv_process *process, const struct sv_stream *stream);
/* Handles a report that a file is finished. Returns false if the message is invalid. */
bool sv_hooks_finished(struct sv_process *process, const json_t *message);
/* Withdraws all hooks from the process. Hooks that are already running or queued are not
 * cancelled. */
void sv_hooks_forget(struct sv_process *process);

/* Returns the environment for programs that the supervisor starts, or NULL if out of memory. The
 * result is the supervisor's own environment without the variables that are meant only for the
 * supervisor. The result is never freed. Loop thread only. */
char **sv_environment(void);

#endif
