/* SPDX-License-Identifier: BSD-2-Clause
 * Handles the loss of an engine's process: its streams leave the engine, and later return to it or
 * move to another one. Loop thread only. */
#ifndef HALO_SUP_LOST_H
#define HALO_SUP_LOST_H

#include <stdbool.h>

struct sv_engine;

/* Called when the engine's process has ended or must end. The process is killed, but nothing waits
 * for its end. device is true if the engine's device failed. May free streams. */
void sv_engine_lost(struct sv_engine *engine, const char *why, bool device);

#endif
