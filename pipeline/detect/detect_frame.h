/* SPDX-License-Identifier: BSD-2-Clause
 * Frames for a detector: unfiltered frames, scaled to the size for which the detector asked, in
 * memory that it can read and nobody can change (docs/detectors.md).
 *
 * Detectors see frames as players display them, because they do not find faces that lie on their
 * side. Frames are therefore rotated and mirrored as their display orientation says (display.h),
 * and non-square pixels become square. Whoever receives the verdict must convert it to the frame as
 * stored, with the orientation of the very frame that was sent: halo_detect_box_store() and
 * halo_detect_mask_store() do that. */
#ifndef HALO_DETECT_FRAME_H
#define HALO_DETECT_FRAME_H

#include <stdint.h>

#include "config/base/error.h"
#include "pipeline/detect/cuts.h"
#include "pipeline/detect/detect_wire.h"

struct halo_detect_frame; /* scaler and memory, which are reused; used by one thread at a time */
struct halo_memory;
struct halo_raw_frame;

/* A frame as a detector receives it. */
struct halo_detect_made {
    int memfd;     /* sealed; the caller closes it */
    int inside[4]; /* x, y, width and height of the frame within what is sent, in pixels */
    int turn;      /* its display orientation, for halo_detect_box_store() */
    uint8_t thumbnail[HALO_CUT_BYTES]; /* for halo_cuts_is_cut() */
};

/* Frames on a GPU are downloaded into `memory`, which must outlive *ret. Returns 0 or -ENOMEM. */
int halo_detect_frame_create(struct halo_detect_frame **ret, struct halo_memory *memory);
void halo_detect_frame_destroy(struct halo_detect_frame *f); /* NULL is ignored */

/* Makes a detector's frame from an unfiltered frame in any format that the gate accepts, and does
 * not change the unfiltered frame. `as` is what the detector asked for. Returns 0; or, with err
 * filled, -ENOMEM, -EIO, -EMFILE, or -ENOTSUP if it is unclear how players display the frame: faces
 * might lie on their side, so the frame must remain without a verdict. */
int halo_detect_frame_make(struct halo_detect_frame *f, const struct halo_raw_frame *raw,
                           const struct halo_detect_ready *as, struct halo_detect_made *ret,
                           struct halo_error *err);

/* Converts a box from the frame as displayed to the frame as stored. `turn` is the frame's display
 * orientation. */
struct halo_detect_box halo_detect_box_store(struct halo_detect_box box, int turn);

/* Converts a mask of width x height weights from the frame as displayed to the frame as stored, and
 * writes it to `stored`, which has the same number of weights. If turn contains
 * HALO_DISPLAY_SIDEWAYS, the stored mask's width is `height`, and its height is `width`. */
void halo_detect_mask_store(uint8_t *stored, const uint8_t *mask, int width, int height, int turn);

#endif
