/* SPDX-License-Identifier: BSD-2-Clause
 * Finished pictures in memory that other processes may map to read: memfds, sealed so that nobody
 * but us writes to them or changes their size. Planes lie as GStreamer expects them of the caps.
 * One picture is copied once, whoever takes it. Loop thread only. */
#ifndef HALO_FRAMES_H
#define HALO_FRAMES_H

#include <libavcodec/avcodec.h>
#include <stddef.h>
#include <stdint.h>

#include "config/error.h"
#include "pipeline/output/begin_wire.h"

struct halo_frames;

struct halo_frames *halo_frames_create(void);         /* NULL: out of memory */
void halo_frames_destroy(struct halo_frames *frames); /* what others have mapped stays theirs */

/* What the next pictures are. 0; -EINVAL: raw pictures are needed; -ENOTSUP: GStreamer has no such
 * format. err is filled. */
int halo_frames_begin(struct halo_frames *frames, const struct halo_live_begin *begin,
                      struct halo_error *err);
const char *halo_frames_caps(const struct halo_frames *frames);
size_t halo_frames_size(const struct halo_frames *frames); /* bytes of a picture */

/* The picture of pkt: the descriptor, which stays the pool's, and its id; its memory is not written
 * again until it was released as often as it was taken. Where more are held than the pool has, the
 * oldest is given up: who holds it keeps the memory. -ENOMEM, -EMFILE, -EINVAL: not the size that
 * begin promised. */
int halo_frames_take(struct halo_frames *frames, const AVPacket *pkt, uint64_t *ret_id);
void halo_frames_release(struct halo_frames *frames, uint64_t id); /* given up ones too */

/* Nobody takes any now: gives the memory back. NULL is nothing to do. */
void halo_frames_trim(struct halo_frames *frames);

#endif
