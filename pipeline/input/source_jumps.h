/* SPDX-License-Identifier: BSD-2-Clause
 * Makes one timeline from streams whose clock jumps (recordings of MPEG-TS joined end to end). Use
 * it from one thread at a time.
 *
 * A stream's clock has jumped if its dts goes back by more than a second, or is ten seconds later
 * than everything read so far. From then on an offset is added, so that the stream continues at the
 * end of the longest one. The other streams get the same offset, each at its own jump, because
 * their packets are interleaved around it. */
#ifndef HALO_SOURCE_JUMPS_H
#define HALO_SOURCE_JUMPS_H

#include <libavformat/avformat.h>
#include <stdbool.h>

struct halo_jumps;

struct halo_jumps *halo_jumps_create(int streams); /* NULL: out of memory */
void halo_jumps_destroy(struct halo_jumps *j);     /* accepts NULL */

/* Moves pkt's times. True if its stream's clock jumps at this packet. *ret_step is the jump in
 * seconds if no other stream has made it before, else 0. */
bool halo_jumps_pass(struct halo_jumps *j, const AVStream *st, AVPacket *pkt, double *ret_step);

#endif
