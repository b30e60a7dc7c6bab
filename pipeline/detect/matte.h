/* SPDX-License-Identifier: BSD-2-Clause
 * Mattes: from a detector's small mask and the frame that it judged, weights of the frame's size
 * (kernels/matte.h defines them).
 *
 * The small mask is smoothed in time: where the frame does not change, the matte follows the mask
 * slowly, so that it does not flicker; where the frame moves, it follows at once. The edges of
 * the matte then follow the edges of the frame's first plane.
 *
 * There are two mattes of a frame, because being unsure must never show more. What may belong to a
 * person has a weight in the matte for hiding people. What may not belong to a person has less than
 * full weight in the matte for showing only people. */
#ifndef HALO_MATTE_STATE_H
#define HALO_MATTE_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "config/base/error.h"
#include "pipeline/frame/memory.h"
#include "pipeline/frame/raw_frame.h"
#include "pipeline/region/mask_image.h"

/* The mattes of one stream, which remember the frames before. One thread at a time. */
struct halo_matte;

/* `memory` holds frames that are downloaded from a GPU; it must exist as long as the matte. Returns
 * NULL if memory runs out. */
struct halo_matte *halo_matte_create(struct halo_memory *memory);
void halo_matte_destroy(struct halo_matte *matte); /* NULL is ignored */

/* Forgets all frames before: the next one begins again, as after a cut. A mask of another size does
 * the same. */
void halo_matte_reset(struct halo_matte *matte);

/* A detector's mask, which covers the frame as stored. */
struct halo_matte_mask {
    const uint8_t *weight; /* rows without gaps; 255: certainly a person */
    int width, height;     /* 16 to 1024 */
    bool cut;              /* the frame differs from the one before: halo_matte_reset() first */
};

/* Makes the mattes of one frame, as large as the frame as stored, for shapes of the kind
 * HALO_SHAPE_MASK: `*ret_hidden` for struct halo_verdict_shapes `hidden`, and `*ret_shown` for
 * `shown`. Either may be NULL, and is then not made. The frames of a stream must be passed in
 * their order; frames may be missing. Does not keep or change the frame. Blocks while a frame is
 * downloaded from a GPU. The caller owns the images (halo_shape_finish() frees an image of a
 * shape). Returns 0; or -ENOMEM, -EIO, or -EINVAL (a size that is not possible), with err filled
 * and the state as after a reset. */
int halo_matte_make(struct halo_matte *matte, const struct halo_matte_mask *mask,
                    const struct halo_raw_frame *raw, struct halo_mask_image **ret_hidden,
                    struct halo_mask_image **ret_shown, struct halo_error *err);

#endif
