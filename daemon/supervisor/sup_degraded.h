/* SPDX-License-Identifier: BSD-2-Clause
 * How streams are degraded (pipeline/base/degradation.h): reported by their engines or known here;
 * logged, sent as an event and shown in the status as soon as it changes. Loop thread only. */
#ifndef HALO_SUP_DEGRADED_H
#define HALO_SUP_DEGRADED_H

#include <stdbool.h>
#include <stddef.h>

struct sv_stream;

void sv_degraded_update(struct sv_stream *stream); /* after anything that may have changed it */
/* Records what the engine reported with a state: whether the GPU's memory is full, and why. */
void sv_degraded_memory(struct sv_stream *stream, bool full, const char *why);
/* The stream could not begin because the GPU has too little free memory: it leaves its engine and
 * waits for another attempt. The caller must call sv_stream_step(). */
void sv_degraded_wait(struct sv_stream *stream, const char *why);
/* Whether the stream may enter its engine now. Streams that wait for memory are tried one at a
 * time, beginning with the one whose last attempt is oldest. */
bool sv_degraded_may_enter(struct sv_stream *stream);
/* The first way in which it is degraded, as "WORD: why", or "". */
void sv_degraded_words(const struct sv_stream *stream, char *ret, size_t size);

#endif
