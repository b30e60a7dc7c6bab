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

/* To be called when the process gets this stream. The process may then request the stream's hooks
 * until the next such call for this stream or until the process ends, even while it finishes files
 * after it has left its engine. */
void sv_hooks_give(struct sv_process *process, const struct sv_stream *stream);
/* Handles a report; returns false if the message is invalid. */
bool sv_hooks_finished(struct sv_process *process, const json_t *message);
void sv_hooks_forget(struct sv_process *process); /* hooks that are running or queued continue */

#endif
