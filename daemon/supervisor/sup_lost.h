/* SPDX-License-Identifier: BSD-2-Clause
 * An engine loses its process: its streams leave it, and return to it or move to another one. Loop
 * thread only. */
#ifndef HALO_SUP_LOST_H
#define HALO_SUP_LOST_H

#include <stdbool.h>

struct sv_engine;

/* Call this when the engine's process has ended or must end: it is killed, and never waited for.
 * device: its device failed. May free streams. */
void sv_engine_lost(struct sv_engine *engine, const char *why, bool device);

#endif
