/* SPDX-License-Identifier: BSD-2-Clause
 * Raw pictures turned and mirrored, for cameras that hang the wrong way: another raw picture, which
 * has to pass the gate as any other. Pictures with half the chroma in a row (4:2:2) get half of it
 * in a column too when they are laid on their side. One thread. */
#ifndef HALO_ORIENT_H
#define HALO_ORIENT_H

#include <libavutil/pixfmt.h>

#include "config/error.h"

struct halo_memory;
struct halo_orient;
struct halo_raw_picture;

/* quarters of a turn, clockwise, after mirror (enum halo_mirror). memory: of what is made; it must
 * outlive all. 0 with *ret NULL where there is nothing to do; -ENOMEM. */
int halo_orient_create(struct halo_orient **ret, struct halo_memory *memory, int quarters,
                       int mirror, struct halo_error *err);
void halo_orient_destroy(struct halo_orient *o); /* NULL is nothing to do */

/* What such pictures become; in place. 0, -ENOTSUP: they cannot be turned. */
int halo_orient_shape(const struct halo_orient *o, enum AVPixelFormat *format, int *width,
                      int *height);

/* Puts the turned picture in the place of *raw, which is freed; on failure *raw stays. 0, -ENOMEM,
 * -ENOTSUP with err filled. */
int halo_orient_pass(struct halo_orient *o, struct halo_raw_picture **raw, struct halo_error *err);

#endif
