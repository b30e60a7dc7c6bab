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

/* The process is about to get this stream: its hooks may be asked for until the next such call for
 * the stream, or the end of the process, also while it finishes files after it was let go. */
void sv_hooks_give(struct sv_process *process, const struct sv_stream *stream);
bool sv_hooks_finished(struct sv_process *process, const json_t *message); /* false: no sense */
void sv_hooks_forget(struct sv_process *process); /* what runs or waits goes on */

#endif
