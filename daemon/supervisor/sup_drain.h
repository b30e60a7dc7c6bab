/* SPDX-License-Identifier: BSD-2-Clause
 * Reads rings as they fill, a part of each in turn, so that no stream blocks the loop. An engine
 * that writes malformed data is killed. Loop thread only. */
#ifndef HALO_SUP_DRAIN_H
#define HALO_SUP_DRAIN_H

struct sv_stream;

/* Replaces the ring of an encoding with a new ring. fds are the two descriptors of the new ring;
 * the function takes ownership of both. */
void sv_drain_add(struct sv_stream *stream, int encoding, const int *fds);
/* Called by the timer. If there was too little memory to read a packet, tries again. */
void sv_drain_tick(struct sv_stream *stream);

#endif
