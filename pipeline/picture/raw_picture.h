/* SPDX-License-Identifier: BSD-2-Clause
 * Raw pictures, as all but their makers and the gate see them: opaque. */
#ifndef HALO_RAW_PICTURE_H
#define HALO_RAW_PICTURE_H

#include <libavutil/rational.h>
#include <stdint.h>

struct halo_raw_picture;

/* All that others may do with a raw picture: its time in the stream's time base, and freeing it
 * (any thread; NULL is nothing to do). Its samples are for the gate alone. */
int64_t halo_raw_picture_pts(const struct halo_raw_picture *raw);
void halo_raw_picture_set_pts(struct halo_raw_picture *raw, int64_t pts);
/* Another time base for it: at pts there, its duration the same. */
void halo_raw_picture_move(struct halo_raw_picture *raw, int64_t pts, AVRational from,
                           AVRational to);
void halo_raw_picture_destroy(struct halo_raw_picture *raw);

#endif
