/* SPDX-License-Identifier: BSD-2-Clause
 * Maps the timestamps of a source to those of a live stream: microseconds of CLOCK_MONOTONIC.
 *
 * Owner: the source thread; no lock is needed. */
#ifndef HALO_LIVE_CLOCK_H
#define HALO_LIVE_CLOCK_H

#include <libavutil/rational.h>
#include <stdbool.h>
#include <stdint.h>

struct halo_live;
struct halo_live_input;
struct halo_raw_frame;

struct halo_live_clock {
    bool set;         /* a frame has arrived in this session */
    bool joined;      /* timestamps continue from the end of the previous session */
    int64_t first;    /* source timestamp of this session's first frame */
    int64_t origin;   /* stream timestamp of this session's first frame */
    int64_t last;     /* timestamp of the last frame; 0: no frame yet */
    int64_t duration; /* duration of the last frame */
    int64_t turn;     /* for a looping file: start of this repetition (halo_live_loop.turn) */
};

/* Converts the frame's timestamp to the stream's clock. If the stream is paced, also waits until
 * the frame is due. */
void halo_live_clock_pass(struct halo_live *live, const struct halo_live_input *in,
                          struct halo_raw_frame *raw);
int64_t halo_live_clock_map(const struct halo_live_clock *clock, int64_t ts, AVRational tb);

#endif
