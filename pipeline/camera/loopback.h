/* SPDX-License-Identifier: BSD-2-Clause
 * A virtual camera: a device of v4l2loopback that programs see as a camera, written with write().
 *
 * It is the supervisor's (or halod run's), never an engine's: engines may die, and the browser must
 * not lose its camera. So what is written are finished pictures that came out of a gate in another
 * process, and cards; there is no encoder, decoder or CUDA in it.
 *
 * Size and format are fixed from the first picture to the last (programs do not follow changes);
 * width and height are even. With exclusive_caps=1 programs see it only while it is written: it is
 * fed from the first moment on, with a card. Debian's 0.12.7 lets no second writer in then; our
 * descriptor stays open.
 *
 * One thread; nothing blocks (O_NONBLOCK). */
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
    double rate;                           /* pictures a second, of the device's timing */
};

/* 0; -errno with err and *ret_trouble filled: no such device, no output, none of v4l2loopback, in
 * use, another format fixed by somebody. The caller owns *ret. */
int halo_loopback_open(struct halo_loopback **ret, const char *path,
                       const struct halo_loopback_mode *mode, enum halo_v4l2_trouble *ret_trouble,
                       struct halo_error *err);
void halo_loopback_close(struct halo_loopback *loopback); /* NULL is nothing to do */

/* Bytes of a raw picture, rows without gaps. */
size_t halo_loopback_size(const struct halo_loopback_mode *mode);

/* A whole picture (MJPEG: a whole image, as large as the device takes). 0; -EAGAIN: not now, it is
 * dropped; else as halo_loopback_open(). */
int halo_loopback_write(struct halo_loopback *loopback, const void *picture, size_t size,
                        enum halo_v4l2_trouble *ret_trouble, struct halo_error *err);

/* Whether programs have it open: 1, 0, or -ENOTSUP where the module does not say (0.12.7). */
int halo_loopback_readers(struct halo_loopback *loopback);

#endif
