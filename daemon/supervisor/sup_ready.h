/* SPDX-License-Identifier: BSD-2-Clause
 * The process of an engine is ready: its streams enter it, once its GPU is known. Loop thread
 * only. */
#ifndef HALO_SUP_READY_H
#define HALO_SUP_READY_H

#include <jansson.h>
#include <stdbool.h>

struct sv_engine;

void sv_engine_ready(struct sv_engine *engine); /* it has sent hello, or will get no GPU number */
/* An engine's list of the GPUs; false: it is malformed or was not asked for. */
bool sv_engine_report_gpus(struct sv_engine *engine, const json_t *message);
/* called by the timer: the list may be late */
void sv_engine_step_choosing(struct sv_engine *engine);

#endif
