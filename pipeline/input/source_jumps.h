/* SPDX-License-Identifier: BSD-2-Clause
 * Makes one continuous timeline from streams whose clock jumps, such as MPEG-TS recordings joined
 * end to end. Use it from one thread at a time.
 *
 * A stream's clock has jumped if its dts goes back by more than a second, or is more than ten
 * seconds later than everything read so far. From then on an offset is added, so that the stream
 * continues at the end of the longest stream. The other streams get the same offset, each when its
 * own clock jumps, because packets from before and after the jump are interleaved. */
#ifndef HALO_SOURCE_JUMPS_H
#define HALO_SOURCE_JUMPS_H

#include <libavformat/avformat.h>
#include <stdbool.h>

struct halo_jumps;

struct halo_jumps *halo_jumps_create(int streams); /* returns NULL if out of memory */
void halo_jumps_destroy(struct halo_jumps *j);     /* accepts NULL */

/* Adds the current offset to pkt's times. Returns true if the clock of pkt's stream jumps at this
 * packet. *ret_step is the size of the jump in seconds if this stream is the first whose clock
 * makes this jump, otherwise 0. */
bool halo_jumps_pass(struct halo_jumps *j, const AVStream *st, AVPacket *pkt, double *ret_step);

#endif
