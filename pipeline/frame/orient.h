/* SPDX-License-Identifier: BSD-2-Clause
 * Rotates and mirrors unfiltered frames, for cameras that are mounted in another orientation. The
 * result is another unfiltered frame, which must pass the gate like any other. 4:2:2 frames become
 * 4:2:0 if they are rotated by 90 or 270 degrees. One thread. */
#ifndef HALO_ORIENT_H
#define HALO_ORIENT_H

#include <libavutil/pixfmt.h>

#include "config/base/error.h"

struct halo_memory;
struct halo_orient;
struct halo_raw_frame;

/* Prepares to mirror frames (mirror is an enum halo_mirror) and then to rotate them clockwise by
 * `quarters` times 90 degrees. The new frames are allocated from `memory`, which must outlive them
 * and *ret. Returns 0, or -ENOMEM with err filled. *ret is NULL if frames need neither mirroring
 * nor rotation. */
int halo_orient_create(struct halo_orient **ret, struct halo_memory *memory, int quarters,
                       int mirror, struct halo_error *err);
void halo_orient_destroy(struct halo_orient *o); /* NULL is ignored */

/* Replaces the format and size of a frame with those that it has after rotation. Returns 0, or
 * -ENOTSUP if frames of this format cannot be rotated. */
int halo_orient_shape(const struct halo_orient *o, enum AVPixelFormat *format, int *width,
                      int *height);

/* Replaces *raw with the rotated frame and frees the old one. On failure *raw does not change.
 * Returns 0, or -ENOMEM or -ENOTSUP with err filled. */
int halo_orient_pass(struct halo_orient *o, struct halo_raw_frame **raw, struct halo_error *err);

#endif
