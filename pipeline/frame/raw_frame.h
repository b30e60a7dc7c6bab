/* SPDX-License-Identifier: BSD-2-Clause
 * Unfiltered frames, opaque to all code except their makers and the gate. */
#ifndef HALO_RAW_FRAME_H
#define HALO_RAW_FRAME_H

#include <libavutil/rational.h>
#include <stdint.h>

struct halo_raw_frame;
struct halo_verdict;

/* Only the gate and the code that makes unfiltered frames may access the content of such frames.
 * All other code may only read or set a frame's time, in the stream's time base, and free the
 * frame; any thread may do so. Freeing NULL has no effect. */
int64_t halo_raw_frame_pts(const struct halo_raw_frame *raw);
void halo_raw_frame_set_pts(struct halo_raw_frame *raw, int64_t pts);
/* Changes the frame's time base from `from` to `to`. pts is the frame's time in the new time base;
 * the frame's duration is converted. */
void halo_raw_frame_move(struct halo_raw_frame *raw, int64_t pts, AVRational from, AVRational to);
/* Attaches a verdict about this very frame, in place of an earlier one, and takes ownership of the
 * caller's reference. NULL: not judged, which is the initial state. */
void halo_raw_frame_judge(struct halo_raw_frame *raw, struct halo_verdict *verdict);
void halo_raw_frame_destroy(struct halo_raw_frame *raw);

#endif
