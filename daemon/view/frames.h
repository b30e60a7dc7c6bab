/* SPDX-License-Identifier: BSD-2-Clause
 * Filtered frames in memory that other processes may map for reading. The memory is a memfd, sealed
 * so that only this process can write to it and no process can change its size. Planes are laid out
 * as GStreamer expects for the caps. A frame is copied only once, however many viewers receive it.
 * Loop thread only. */
#ifndef HALO_FRAMES_H
#define HALO_FRAMES_H

#include <libavcodec/avcodec.h>
#include <stddef.h>
#include <stdint.h>

#include "config/base/error.h"
#include "pipeline/output/parameters_wire.h"

struct halo_frames;

struct halo_frames *halo_frames_create(void); /* returns NULL if out of memory */
/* Destroys the pool. Other processes keep the memory that they have mapped. */
void halo_frames_destroy(struct halo_frames *frames);

/* Sets the format of the frames that follow. Returns 0, or fills err and returns -EINVAL (the
 * encoding is not raw, or the size or layout is unsupported) or -ENOTSUP (GStreamer has no such
 * format). */
int halo_frames_begin(struct halo_frames *frames, const struct halo_encoding_parameters *begin,
                      struct halo_error *err);
const char *halo_frames_caps(const struct halo_frames *frames);
size_t halo_frames_size(const struct halo_frames *frames); /* bytes of a frame */

/* Copies the frame in pkt to shared memory, sets *ret_id to its id, and returns a descriptor that
 * the pool still owns. The memory is not overwritten until the frame has been released as often as
 * it was taken. If viewers hold every slot of the pool, the pool gives up its oldest frame; viewers
 * that hold it keep its memory. Returns -ENOMEM or -EMFILE on failure, or -EINVAL if the frame
 * does not have the size announced by begin. */
int halo_frames_take(struct halo_frames *frames, const AVPacket *pkt, uint64_t *ret_id);
/* Releases a frame; the pool may have given it up in the meantime. */
void halo_frames_release(struct halo_frames *frames, uint64_t id);

/* Frees the memory of all frames; call it when no viewers are left. NULL is ignored. */
void halo_frames_trim(struct halo_frames *frames);

#endif
