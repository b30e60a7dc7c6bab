/* SPDX-License-Identifier: BSD-2-Clause
 * Cuts: whether a frame shows another scene than the frame before, judged by small frames of
 * both. After a cut, a detector has to look at several frames before anything is shown (judge.h).
 * Fades and camera movements are not cuts; a flash may be one, which hides more, not less.
 *
 * The result depends on nothing but the thumbnails. */
#ifndef HALO_CUTS_H
#define HALO_CUTS_H

#include <stdbool.h>
#include <stdint.h>

enum {
    HALO_CUT_WIDTH = 64,
    HALO_CUT_HEIGHT = 36,
    HALO_CUT_BYTES = HALO_CUT_WIDTH * HALO_CUT_HEIGHT
};

/* The state of one stream; must be zeroed before its first frame, which is a cut. */
struct halo_cuts {
    bool seen;
    uint8_t before[HALO_CUT_BYTES];
};

/* Returns whether a frame differs so much from the frame of the previous call that it shows another
 * scene. `thumbnail` is its luma, scaled to HALO_CUT_WIDTH x HALO_CUT_HEIGHT, rows without gaps. */
bool halo_cuts_is_cut(struct halo_cuts *cuts, const uint8_t thumbnail[HALO_CUT_BYTES]);

#endif
