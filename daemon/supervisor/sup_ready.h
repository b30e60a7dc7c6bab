/* SPDX-License-Identifier: BSD-2-Clause
 * An engine's process has begun: its streams enter it, once it is known which GPU it is for. Loop
 * thread only. */
#ifndef HALO_SUP_READY_H
#define HALO_SUP_READY_H

#include <jansson.h>
#include <stdbool.h>

struct sv_engine;

void sv_engine_ready(struct sv_engine *engine); /* it has said hello, or has no number to get */
/* An engine's answer of the GPUs that there are; false: it makes no sense. */
bool sv_engine_told_gpus(struct sv_engine *engine, const json_t *message);
void sv_engine_step_choosing(struct sv_engine *engine); /* by the clock: it may take too long */

#endif
