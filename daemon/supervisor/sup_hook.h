/* SPDX-License-Identifier: BSD-2-Clause
 * Hooks are started by the supervisor, because engines start no programs. An engine reports which
 * output finished which file; it must be an output that it was given, and a name that this output
 * can produce. Loop thread only. */
#ifndef HALO_SUP_HOOK_H
#define HALO_SUP_HOOK_H

#include <jansson.h>
#include <stdbool.h>

struct sv_process;
struct sv_stream;

/* To be called when the process gets this stream. The process may then request the stream's hooks
 * until the next such call for this stream or until the process ends, also while it finishes files
 * after it was released. */
void sv_hooks_give(struct sv_process *process, const struct sv_stream *stream);
/* false: the message is invalid */
bool sv_hooks_finished(struct sv_process *process, const json_t *message);
void sv_hooks_forget(struct sv_process *process); /* hooks that run or are queued go on */

#endif
