/* SPDX-License-Identifier: BSD-2-Clause
 * The supervisor's part of the search for the stream that crashes engines (suspects.h): chooses the
 * streams that take part, and logs the results. Loop thread only. */
#ifndef HALO_SUP_SUSPECTS_H
#define HALO_SUP_SUSPECTS_H

#include <stdbool.h>

struct sv_engine;
struct sv_stream;

/* Returns whether the stream may enter its engine now. Several engines may die from one cause, one
 * after another. Therefore, a stream that is to move to an engine that is already running enters it
 * only after two seconds. If that engine dies from the same cause before then, the stream was not
 * in it and is not suspected. */
bool sv_suspect_may_enter(const struct sv_stream *stream);
/* Called when a thread of the stream is stuck in its engine, which continues without the stream.
 * The stream is started again on another engine. */
void sv_suspect_stalled(struct sv_stream *stream);
/* Called when the engine has died in a way that a stream may have caused. `first` is any one of the
 * streams that were running in this engine; the others are found by their records, which are marked
 * `active`. `asker` is the name of the stream that requested the engine's end, or "". After this
 * call, the streams that must move to another engine have no engine. */
void sv_suspect_engine_died(struct sv_engine *engine, const struct sv_stream *first,
                            const char *asker);

#endif
