/* SPDX-License-Identifier: BSD-2-Clause
 * Starts the detectors that engines ask for, because engines may not start programs. Which program
 * that is follows from the stream's settings, never from the engine. Loop thread only. */
#ifndef HALO_SUP_DETECTORS_H
#define HALO_SUP_DETECTORS_H

#include <jansson.h>
#include <stdbool.h>

struct halo_supervisor;
struct sv_stream;

/* Returns 0 or -ENOMEM. */
int sv_detectors_create(struct halo_supervisor *sv);
/* Kills all detectors. Nothing is answered any more. */
void sv_detectors_destroy(struct halo_supervisor *sv);

/* Handles an engine's message `detector` (link.h) about a stream that it runs. Returns false if the
 * message is invalid. */
bool sv_detectors_take(struct sv_stream *stream, const json_t *message);
/* Must be called when the stream has left its engine: its detectors are killed, unless other
 * streams share them. */
void sv_detectors_forget(struct sv_stream *stream);
/* Returns {"faces": {...}, ...} with the detectors that the stream uses. */
json_t *sv_detectors_status(const struct sv_stream *stream);

#endif
