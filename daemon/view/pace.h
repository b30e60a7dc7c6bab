/* SPDX-License-Identifier: BSD-2-Clause
 * When a virtual camera is written. There is a grid of times, one period apart. A new frame is
 * written when it arrives, but not more than a quarter of a period before its time in the grid. If
 * none has arrived three quarters of a period after that time, the last frame is written again.
 *
 * The grid slowly follows the times at which new frames are written. Otherwise, if the rate of a
 * source were not exactly that of the camera, its frames would drift through the grid until one was
 * repeated just before the next arrived, which would then be delayed. The first new frames align
 * the grid and are not held back for it.
 *
 * All times are in nanoseconds. Pure functions: they read no clock. */
#ifndef HALO_PACE_H
#define HALO_PACE_H

#include <stdbool.h>
#include <stdint.h>

struct halo_pace {
    int64_t period;
    int64_t due;        /* the next time in the grid */
    int64_t written_at; /* when the last frame was written */
    int frames;         /* new ones since the grid was loosened, up to a limit */
};

/* Starts a grid of times whose current time is one period ago, so a frame is due at once. */
void halo_pace_start(struct halo_pace *p, int64_t period, int64_t now);

/* New frames may arrive at any time from now on: the grid is aligned with the first ones. */
void halo_pace_loosen(struct halo_pace *p);

/* Returns the earliest time of the next write. fresh: a new frame has arrived; otherwise, this is
 * the time at which the last frame is repeated if none arrives. */
int64_t halo_pace_next(const struct halo_pace *p, bool fresh);

/* Records that a frame is written now. */
void halo_pace_note(struct halo_pace *p, int64_t now, bool fresh);

#endif
