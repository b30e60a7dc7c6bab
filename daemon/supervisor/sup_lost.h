/* SPDX-License-Identifier: BSD-2-Clause
 * The end of an engine's process: its streams leave it, and come back to it or go elsewhere. Loop
 * thread only. */
#ifndef HALO_SUP_LOST_H
#define HALO_SUP_LOST_H

#include <stdbool.h>

struct sv_engine;

/* Its process is over, or is taken to be: it is killed, and never waited for. May free streams. */
void sv_engine_lost(struct sv_engine *engine, const char *why, bool device);

#endif
