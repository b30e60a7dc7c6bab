/* SPDX-License-Identifier: BSD-2-Clause
 * Timestamps of a source on the line of a live stream, which is CLOCK_MONOTONIC in microseconds.
 *
 * Owner: the source thread; no lock. */
#ifndef HALO_LIVE_CLOCK_H
#define HALO_LIVE_CLOCK_H

#include <libavutil/rational.h>
#include <stdbool.h>
#include <stdint.h>

struct halo_live;
struct halo_live_input;
struct halo_raw_picture;

struct halo_live_clock {
    bool set;         /* this session has had a picture */
    bool joined;      /* it goes on where the one before it ended */
    int64_t first;    /* its time in the source ... */
    int64_t origin;   /* ... and on the line */
    int64_t last;     /* of the pictures so far; 0: there was none */
    int64_t duration; /* of that one */
    int64_t turn;     /* of a file that loops: its halo_live_loop.turn */
};

/* The picture's time on the line, in its place; waits until it is due. */
void halo_live_clock_pass(struct halo_live *live, const struct halo_live_input *in,
                          struct halo_raw_picture *raw);
int64_t halo_live_clock_map(const struct halo_live_clock *clock, int64_t ts, AVRational tb);

#endif
