/* SPDX-License-Identifier: BSD-2-Clause
 * A virtual camera: a v4l2loopback device, which other programs see as a camera. Frames are written
 * to it with write().
 *
 * It belongs to the supervisor (or halod run), never to an engine, because engines may crash and
 * the browser must not lose its camera. It is therefore given finished frames, which left a gate in
 * another process, and cards; no encoder, decoder or CUDA is involved.
 *
 * Size and format stay the same from the first frame to the last, because programs do not follow
 * changes; width and height are even. With exclusive_caps=1, programs see the device only while
 * something writes to it, so a card is written from the start. After that, Debian's v4l2loopback
 * 0.12.7 admits no second writer; our descriptor stays open.
 *
 * Used by one thread; no call blocks (O_NONBLOCK). */
#ifndef HALO_LOOPBACK_H
#define HALO_LOOPBACK_H

#include <stddef.h>
#include <stdint.h>

#include "config/base/error.h"
#include "pipeline/camera/v4l2.h"

struct halo_loopback;

struct halo_loopback_mode {
    const struct halo_v4l2_format *format; /* yuyv, yu12, nv12 or mjpeg */
    int width, height;                     /* even */
    double rate;                           /* frames per second that the device reports */
};

/* Opens the device. Returns 0, or -errno with err and *ret_trouble filled if the device does not
 * exist, is not an output, is not a v4l2loopback device, is in use, or was fixed to another format
 * by another program. The caller owns *ret. */
int halo_loopback_open(struct halo_loopback **ret, const char *path,
                       const struct halo_loopback_mode *mode, enum halo_v4l2_trouble *ret_trouble,
                       struct halo_error *err);
void halo_loopback_close(struct halo_loopback *loopback); /* accepts NULL */

/* Returns the size in bytes of a raw frame, whose rows have no padding. */
size_t halo_loopback_size(const struct halo_loopback_mode *mode);

/* Writes one complete frame. An MJPEG frame must not be larger than the device accepts. Returns 0,
 * -EAGAIN if the device cannot accept a frame now (the frame is then dropped), or another -errno
 * with err and *ret_trouble filled. */
int halo_loopback_write(struct halo_loopback *loopback, const void *frame, size_t size,
                        enum halo_v4l2_trouble *ret_trouble, struct halo_error *err);

/* Returns 1 if programs have the device open, 0 if not, or -ENOTSUP if the v4l2loopback module does
 * not report this, as in version 0.12.7. */
int halo_loopback_readers(struct halo_loopback *loopback);

#endif
