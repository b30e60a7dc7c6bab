/* SPDX-License-Identifier: BSD-2-Clause
 * A virtual camera: a v4l2loopback device, which other programs see as a camera, written with
 * write().
 *
 * It belongs to the supervisor (or halod run), never to an engine: engines may crash, and the
 * browser must not lose its camera. So it is written with finished frames that left a gate in
 * another process, and with cards; no encoder, decoder or CUDA is involved.
 *
 * Size and format are fixed from the first frame to the last (programs do not follow changes);
 * width and height are even. With exclusive_caps=1 programs see the device only while it is
 * written, so it is fed from the first moment on, with a card. Debian's v4l2loopback 0.12.7 then
 * admits no second writer; our descriptor stays open.
 *
 * One thread; no call blocks (O_NONBLOCK). */
#ifndef HALO_LOOPBACK_H
#define HALO_LOOPBACK_H

#include <stddef.h>
#include <stdint.h>

#include "config/error.h"
#include "pipeline/camera/v4l2.h"

struct halo_loopback;

struct halo_loopback_mode {
    const struct halo_v4l2_format *format; /* yuyv, yu12, nv12 or mjpeg */
    int width, height;                     /* even */
    double rate;                           /* frames per second that the device reports */
};

/* 0; -errno with err and *ret_trouble filled: no such device, not an output, not a v4l2loopback
 * device, in use, fixed to another format by another program. The caller owns *ret. */
int halo_loopback_open(struct halo_loopback **ret, const char *path,
                       const struct halo_loopback_mode *mode, enum halo_v4l2_trouble *ret_trouble,
                       struct halo_error *err);
void halo_loopback_close(struct halo_loopback *loopback); /* accepts NULL */

/* Bytes of a raw frame, whose rows have no padding. */
size_t halo_loopback_size(const struct halo_loopback_mode *mode);

/* Writes a whole frame (MJPEG: a whole image, not larger than the device accepts). 0; -EAGAIN: not
 * possible now, the frame is dropped; otherwise as halo_loopback_open(). */
int halo_loopback_write(struct halo_loopback *loopback, const void *picture, size_t size,
                        enum halo_v4l2_trouble *ret_trouble, struct halo_error *err);

/* Whether programs have it open: 1, 0, or -ENOTSUP if the module does not report it (0.12.7). */
int halo_loopback_readers(struct halo_loopback *loopback);

#endif
