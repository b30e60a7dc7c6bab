/* SPDX-License-Identifier: BSD-2-Clause
 * The ways in which streams are degraded (pipeline/base/degradation.h). Engines report them, or the
 * supervisor knows them itself. Each change is logged, sent as an event and shown in the status at
 * once. Loop thread only. */
#ifndef HALO_SUP_DEGRADED_H
#define HALO_SUP_DEGRADED_H

#include <stdbool.h>
#include <stddef.h>

struct sv_stream;

/* Determines in which ways the stream is degraded, and reports changes. Must be called after any
 * event that may degrade the stream or end its degradation. */
void sv_degraded_update(struct sv_stream *stream);
/* Called when the engine has reported the stream's state. If `full` is true, records that the GPU's
 * memory is full, with the engine's reason `why`. */
void sv_degraded_memory(struct sv_stream *stream, bool full, const char *why);
/* Must be called when the stream could not start because the GPU has too little free memory. The
 * stream leaves its engine and waits for another attempt. The caller must then call
 * sv_stream_step(). */
void sv_degraded_wait(struct sv_stream *stream, const char *why);
/* Returns whether the stream may enter its engine now. Streams that wait for memory are tried one
 * at a time; the stream whose last attempt was longest ago comes first. */
bool sv_degraded_may_enter(struct sv_stream *stream);
/* Writes the reason for the stream's degradation to ret, in the form "WORD: why". Writes "" if the
 * stream is not degraded. Of several reasons, only the first in the order of enum halo_degradation
 * is written. */
void sv_degraded_words(const struct sv_stream *stream, char *ret, size_t size);

#endif
