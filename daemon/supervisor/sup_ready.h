/* SPDX-License-Identifier: BSD-2-Clause
 * Lets the streams of an engine enter it when its process is ready and its GPU is known. Loop
 * thread only. */
#ifndef HALO_SUP_READY_H
#define HALO_SUP_READY_H

#include <jansson.h>
#include <stdbool.h>

struct sv_engine;

/* Must be called when the engine's process has sent `hello`. Also called if the driver has not
 * listed the GPUs in time: the streams then start in this engine, and its process chooses a GPU for
 * each stream. */
void sv_engine_ready(struct sv_engine *engine);
/* Handles an engine's list of the GPUs. Returns false if the list is malformed or was not
 * requested. */
bool sv_engine_report_gpus(struct sv_engine *engine, const json_t *message);
/* Called by the timer. If the list of the GPUs is overdue, the engine continues without it. */
void sv_engine_step_choosing(struct sv_engine *engine);

#endif
