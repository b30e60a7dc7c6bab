/* SPDX-License-Identifier: BSD-2-Clause
 * Reads rings as they fill, in turns, so that no stream blocks the loop. An engine that writes
 * something malformed is lost. Loop thread only. */
#ifndef HALO_SUP_DRAIN_H
#define HALO_SUP_DRAIN_H

struct sv_stream;

/* Replaces the ring of an encoding. Takes ownership of both descriptors. */
void sv_drain_add(struct sv_stream *stream, int encoding, const int *fds);
/* called by the timer: tries again after a lack of memory */
void sv_drain_tick(struct sv_stream *stream);

#endif
