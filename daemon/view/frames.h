/* SPDX-License-Identifier: BSD-2-Clause
 * Filtered frames in memory that other processes may map for reading: memfds, sealed so that only
 * this process can write to them and nobody can change their size. Planes are laid out as GStreamer
 * expects for the caps. A frame is copied only once, however many viewers take it. Loop thread
 * only. */
#ifndef HALO_FRAMES_H
#define HALO_FRAMES_H

#include <libavcodec/avcodec.h>
#include <stddef.h>
#include <stdint.h>

#include "config/error.h"
#include "pipeline/output/begin_wire.h"

struct halo_frames;

struct halo_frames *halo_frames_create(void); /* NULL: out of memory */
/* other processes keep what they have mapped */
void halo_frames_destroy(struct halo_frames *frames);

/* Sets the format of the frames that follow. 0, or with err filled: -EINVAL: the encoding is not
 * raw; -ENOTSUP: GStreamer has no such format. */
int halo_frames_begin(struct halo_frames *frames, const struct halo_live_begin *begin,
                      struct halo_error *err);
const char *halo_frames_caps(const struct halo_frames *frames);
size_t halo_frames_size(const struct halo_frames *frames); /* bytes of a frame */

/* Returns a descriptor of the frame in pkt, which the pool keeps, and sets its id. Its memory is
 * not overwritten until it has been released as often as taken. If viewers hold more frames than
 * the pool has, the pool gives up the oldest: its holders keep that memory. -ENOMEM, -EMFILE;
 * -EINVAL: not the size announced by begin. */
int halo_frames_take(struct halo_frames *frames, const AVPacket *pkt, uint64_t *ret_id);
/* also if the pool has given it up */
void halo_frames_release(struct halo_frames *frames, uint64_t id);

/* Frees the memory while there are no viewers. NULL is ignored. */
void halo_frames_trim(struct halo_frames *frames);

#endif
