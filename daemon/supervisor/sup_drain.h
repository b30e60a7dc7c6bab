/* SPDX-License-Identifier: BSD-2-Clause
 * Reads rings as they fill, a part of each in turn, so that no stream blocks the loop. An engine
 * that writes malformed data is killed. Loop thread only. */
#ifndef HALO_SUP_DRAIN_H
#define HALO_SUP_DRAIN_H

struct sv_stream;

/* Replaces the ring of an encoding. Takes ownership of both descriptors. */
void sv_drain_add(struct sv_stream *stream, int encoding, const int *fds);
/* Called by the timer; tries again after memory was short. */
void sv_drain_tick(struct sv_stream *stream);

#endif
