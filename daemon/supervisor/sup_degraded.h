/* SPDX-License-Identifier: BSD-2-Clause
 * How streams are degraded (pipeline/base/degradation.h): reported by their engines or known here;
 * logged, sent as an event and shown in the status as soon as it changes. Loop thread only. */
#ifndef HALO_SUP_DEGRADED_H
#define HALO_SUP_DEGRADED_H

#include <stdbool.h>
#include <stddef.h>

struct sv_stream;

void sv_degraded_update(struct sv_stream *stream); /* after anything that may have changed it */
/* What the engine reported with a state: whether the GPU's memory is full, and in which words. */
void sv_degraded_memory(struct sv_stream *stream, bool full, const char *why);
/* It could not begin for want of memory: waits, out of its engine, until it is tried again; the
 * caller has to step it. */
void sv_degraded_wait(struct sv_stream *stream, const char *why);
/* Whether it may enter its engine now: of those that wait for room one at a time is tried, the one
 * first whose last try is longest ago. */
bool sv_degraded_may_enter(struct sv_stream *stream);
/* The first of what it lacks as "WORD: why", or "". */
void sv_degraded_words(const struct sv_stream *stream, char *ret, size_t size);

#endif
