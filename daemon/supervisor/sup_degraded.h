/* SPDX-License-Identifier: BSD-2-Clause
 * The ways in which streams are degraded (pipeline/base/degradation.h). Engines report them, or the
 * supervisor knows them itself. Each change is logged, sent as an event and shown in the status at
 * once. Loop thread only. */
#ifndef HALO_SUP_DEGRADED_H
#define HALO_SUP_DEGRADED_H

#include <stdbool.h>
#include <stddef.h>

struct sv_stream;

/* To be called after any change that may affect this. */
void sv_degraded_update(struct sv_stream *stream);
/* Records whether the GPU's memory is full, and why, as the engine reported with a state. */
void sv_degraded_memory(struct sv_stream *stream, bool full, const char *why);
/* To be called when the stream could not begin because the GPU has too little free memory. The
 * stream leaves its engine and waits for another attempt. The caller must call sv_stream_step(). */
void sv_degraded_wait(struct sv_stream *stream, const char *why);
/* Returns whether the stream may enter its engine now. Streams that wait for memory are tried one
 * at a time; the stream whose last attempt was longest ago comes first. */
bool sv_degraded_may_enter(struct sv_stream *stream);
/* Writes the first way in which the stream is degraded as "WORD: why", or "". */
void sv_degraded_words(const struct sv_stream *stream, char *ret, size_t size);

#endif
