/* SPDX-License-Identifier: BSD-2-Clause
 * One line of time from streams whose clock jumps (recordings of MPEG-TS joined end to end). One
 * thread at a time.
 *
 * A jump is a stream's dts that goes back by more than a second, or lies ten seconds after all that
 * was read. From there on one offset is added, so that the stream goes on where the longest one
 * ended; the other streams take the same offset, each at its own jump, since their packets are
 * interleaved around it. */
#ifndef HALO_SOURCE_JUMPS_H
#define HALO_SOURCE_JUMPS_H

#include <libavformat/avformat.h>
#include <stdbool.h>

struct halo_jumps;

struct halo_jumps *halo_jumps_create(int streams); /* NULL: out of memory */
void halo_jumps_destroy(struct halo_jumps *j);     /* NULL is nothing to do */

/* Moves pkt's times. True where its stream's clock has jumped at it; *ret_step is then by how many
 * seconds where the jump is a new one, else 0. */
bool halo_jumps_pass(struct halo_jumps *j, const AVStream *st, AVPacket *pkt, double *ret_step);

#endif
