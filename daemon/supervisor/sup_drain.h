/* SPDX-License-Identifier: BSD-2-Clause
 * Rings are read as they fill, in turns, so that no stream keeps the loop. An engine that writes
 * what no engine writes is lost. Loop thread only. */
#ifndef HALO_SUP_DRAIN_H
#define HALO_SUP_DRAIN_H

struct sv_stream;

/* The ring of this encoding, in place of the one that it had; takes both descriptors over. */
void sv_drain_add(struct sv_stream *stream, int encoding, const int *fds);
void sv_drain_tick(struct sv_stream *stream); /* by the clock: there may be memory again */

#endif
