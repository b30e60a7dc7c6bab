/* SPDX-License-Identifier: BSD-2-Clause
 * The search for the stream that crashes engines (suspects.h): which streams take part, and what is
 * logged. Loop thread only. */
#ifndef HALO_SUP_SUSPECTS_H
#define HALO_SUP_SUSPECTS_H

#include <stdbool.h>

struct sv_engine;
struct sv_stream;

/* If engines die of a shared cause, they die one after another. A stream that was moved to a
 * running engine therefore waits a while to see whether that engine dies too, so that the stream is
 * not suspected of this. */
bool sv_suspect_may_enter(const struct sv_stream *stream);
/* A thread of the stream is stuck in its engine, which goes on without the stream: it is started
 * again on another engine. */
void sv_suspect_stalled(struct sv_stream *stream);
/* The engine has died in a way that a stream may have caused. first: any stream that was `active`
 * in it. asker: the name of the stream that requested its end, or "". Afterwards streams that are
 * to be moved have no engine. */
void sv_suspect_engine_died(struct sv_engine *engine, const struct sv_stream *first,
                            const char *asker);

#endif
