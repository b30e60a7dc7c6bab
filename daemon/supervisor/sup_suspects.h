/* SPDX-License-Identifier: BSD-2-Clause
 * The search for the stream that crashes engines (suspects.h): which streams take part, and what is
 * logged. Loop thread only. */
#ifndef HALO_SUP_SUSPECTS_H
#define HALO_SUP_SUSPECTS_H

#include <stdbool.h>

struct sv_engine;
struct sv_stream;

/* Engines that share a reason die one after the other: a stream that was moved to one that runs
 * waits whether that is among them, and is not suspected for it. */
bool sv_suspect_may_enter(const struct sv_stream *stream);
/* A thread of it is stuck in its engine, which goes on without it: it comes back elsewhere. */
void sv_suspect_stalled(struct sv_stream *stream);
/* In a way of which a stream may be the reason: first, any of those that were `active` in it.
 * asker: the name of the one that asked for it, "". Those to be moved have no engine then. */
void sv_suspect_engine_died(struct sv_engine *engine, const struct sv_stream *first,
                            const char *asker);

#endif
