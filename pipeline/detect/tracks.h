/* SPDX-License-Identifier: BSD-2-Clause
 * Tracks: from the boxes that a detector reports for each frame to the shapes that filters hide or
 * show. A detector misses faces now and then, and reports others that do not exist. The rules below
 * ensure that its omissions do not show anything:
 *
 *   begin      A box with at least `score` begins a track, and is hidden from its own frame on. A
 *              box with less is ignored unless it lies near a track. At the frame's edge, `low` is
 *              enough: what enters is seen only in part at first, and scores less.
 *   continue   A box with at least `low` at a track's expected position continues it. If the box is
 *              only near that position, or another box has continued the track, it may be another
 *              object, and begins a track of its own.
 *   margin     Each box is enlarged by `margin` on all sides. A shape shrinks slowly: after a box
 *              that is smaller than those before it, the difference remains hidden for a while.
 *   hold       A track that is not reported remains hidden for `hold`, counted from the first frame
 *              without it: at its last position, and on the way to the position that it would have
 *              if it moved on as before. The shape grows with its age and its speed.
 *   back       If frames before a track's first box are still in the window, the track is hidden in
 *              them, too, for the half second before that box: where it was if it moved as in its
 *              first frames. A box with at least `low` near that position leads further back. The
 *              same applies to the first box after the track was missed.
 *   between    If a track was missed and is found again, it is hidden in the frames between, which
 *              are still in the window, at the interpolated position, too.
 *   cut        Tracks are not followed across a cut. Those from before it remain hidden until
 *              `hold` ends or halo_tracks_settle() is called. `back` and `between` stop there.
 *
 * Limit: if one object is in front of another, and only one of them is reported, it is not known
 * which one. The other is then hidden only as far as it is near the one that is reported.
 *
 * The shown shapes are the ellipses in those boxes of the frame itself that have at least `score`
 * and whose track has been reported in at least `enter` frames. `margin` does not count for them:
 * what is hidden is made larger for safety, and what is shown is not; a box reduced by it would
 * show the nose of a face.
 *
 * Faces are ellipses if `margin` is so large (0.21) that the ellipse contains the whole box; all
 * other shapes are rectangles. Lengths are relative to the frame. If there are more than
 * HALO_MAX_SHAPES shapes, they are merged into larger ones; if there are more than twice as many
 * tracks, everything is hidden for `hold`.
 *
 * The results depend only on the boxes and on the frames' times, not on a clock. One thread at a
 * time. */
#ifndef HALO_TRACKS_H
#define HALO_TRACKS_H

#include <stdbool.h>
#include <stdint.h>

#include "config/detectors.h"
#include "pipeline/region/verdict.h"

struct halo_detect_box; /* detect_wire.h */
struct halo_tracks;

/* Creates the tracks of one find in one stream. `window` is the number of frames that are
 * remembered, the newest included: 1 for a live stream. Returns 0 or -ENOMEM. */
int halo_tracks_create(struct halo_tracks **ret, enum halo_find find,
                       const struct halo_detector_settings *settings, int window);
void halo_tracks_destroy(struct halo_tracks *tracks); /* NULL is ignored */

/* Numbers new tracks by this counter, which must outlive *tracks, and not by the numbers of this
 * process: other processes that get the same boxes then give them the same numbers. NULL: as
 * before. */
void halo_tracks_number(struct halo_tracks *tracks, uint64_t *counter);

/* Forgets everything. */
void halo_tracks_reset(struct halo_tracks *tracks);

/* Adds the boxes (at most 64) that were reported for a frame. at_us: the frame's
 * time, which must be later than that of the frame before. cut: the frame shows another scene than
 * the frame before. If `window` frames are remembered already, the oldest is forgotten. Returns
 * true if no track began in this frame: it shows nothing that earlier frames did not. Does not
 * allocate memory. */
bool halo_tracks_add(struct halo_tracks *tracks, int64_t at_us, bool cut,
                     const struct halo_detect_box *boxes, int count);

/* The detector has seen enough of the new scene: drops the tracks from before the last cut that
 * were not found again. */
void halo_tracks_settle(struct halo_tracks *tracks);

/* Gets the shapes of a frame: of one that is remembered, or, if at_us is later than all of them, of
 * a frame that was not judged; then all tracks are as after an omission, and nothing is shown.
 * Returns false if everything must be hidden: the frame is forgotten, or it has too many shapes.
 * *hidden and *shown are valid until the next call; either may be NULL. Does not allocate
 * memory. */
bool halo_tracks_get(struct halo_tracks *tracks, int64_t at_us, struct halo_verdict_shapes *hidden,
                     struct halo_verdict_shapes *shown);

/* Number of tracks that are hidden in the newest frame. */
int halo_tracks_count(const struct halo_tracks *tracks);

#endif
