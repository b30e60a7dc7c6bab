/* SPDX-License-Identifier: BSD-2-Clause
 * Reads rings as they fill, in turns, so that no stream blocks the loop. An engine that writes
 * something malformed is lost. Loop thread only. */
#ifndef HALO_SUP_DRAIN_H
#define HALO_SUP_DRAIN_H

struct sv_stream;

/* The encoding's new ring, instead of the one that it had. Takes both descriptors over. */
void sv_drain_add(struct sv_stream *stream, int encoding, const int *fds);
void sv_drain_tick(struct sv_stream *stream); /* by the timer: there may be memory again */

#endif
