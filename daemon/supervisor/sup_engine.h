/* SPDX-License-Identifier: BSD-2-Clause
 * An engine as streams see it. It has a name and, most of the time, a process. A stream keeps its
 * engine while the process is restarted; the engine counts its failures. Loop thread only. */
#ifndef HALO_SUP_ENGINE_H
#define HALO_SUP_ENGINE_H

#include <jansson.h>
#include <stdbool.h>

struct halo_supervisor;
struct sv_engine;
struct sv_stream;

struct sv_engine *sv_engine_find(const struct halo_supervisor *sv, const char *name); /* or NULL */
/* Creates an engine without a process and without a GPU number. Returns NULL if out of memory. */
struct sv_engine *sv_engine_make(struct halo_supervisor *sv, const char *name);
int sv_engine_streams(const struct sv_engine *engine);

bool sv_engine_is_ready(const struct sv_engine *engine);
/* Returns a new message that requests the action `what` for the stream; the caller adds further
 * fields. */
json_t *sv_do(const char *what, const struct sv_stream *stream);
/* Sends a message. Takes the caller's reference to message. Returns 0, -EPIPE if the engine is not
 * ready, or another -errno. */
int sv_engine_send(struct sv_engine *engine, json_t *message);
/* Returns whether messages from sv_engine_send() are still waiting to be written to the link. */
bool sv_engine_is_behind(const struct sv_engine *engine);
/* Logs that the engine is running, and sends an event. Must be called when the engine has its final
 * name. */
void sv_engine_report_running(struct sv_engine *engine);

/* Starts the engine's process once its pause is over. If the engine has had no streams for some
 * time, ends the engine and frees it. */
void sv_engine_step(struct sv_engine *engine);
/* Asks the engine's process to finish, and frees the engine. */
void sv_engine_drop(struct sv_engine *engine);
/* Must be called before sv_engine_lost() if the engine was silent or stuck. */
void sv_engine_stalled(struct sv_engine *engine);
/* How many of its processes have stalled in a row: none any more once one has run for 30 s. */
int sv_engine_stalls(const struct sv_engine *engine);
/* Records that the engine has lost its process, and starts the pause before the next process.
 * `device` means that the engine's device failed, and `worked` that the process filtered at least
 * one frame before it was lost. If `worked` is true and `device` is false, the next process starts
 * at once. */
void sv_engine_failed(struct sv_engine *engine, const char *why, bool device, bool worked);

#endif
