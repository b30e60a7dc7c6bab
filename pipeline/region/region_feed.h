/* SPDX-License-Identifier: BSD-2-Clause
 * A region feed: the positions of objects that a detector finds in a stream's frames, received
 * while the stream runs, for filters with region=feed (shapes.h).
 *
 *   detector --control socket--> supervisor --link--> engine --update()--> feed --at()--> gate
 *
 * A detector is late, sees only some of the frames, and may die. Its omissions must never cause
 * more to be shown. Therefore:
 *
 *   margin     each shape is enlarged on all sides by this fraction of its size; a polygon that is
 *              enlarged or moves is replaced by its convex hull
 *   between    a frame between two updates of the same id hides the shape at both times and
 *              everything that it passes on the way from one to the other
 *   behind     a frame after the last update of an id hides the same from the shape as it was to
 *              where it would be if it continued to move as between its last two updates
 *   hold       a shape that updates no longer contain stays for this long, counted from the first
 *              update without it
 *   ttl        a shape's own time to stay, counted from its frame's time, if that ends later
 *   silence    everything is hidden if no update arrives for longer than the limit
 *   lateness   everything is hidden in frames that are later than the last update's frame by more
 *              than the limit, and in those older than the frame of the update before it
 *   begin      everything is hidden until the first update about a frame of this session with the
 *              source
 *   ahead      an update about a frame that has not entered the pipeline yet is refused: no
 *              detector can have seen that frame
 *
 * Filters with invert hide everything except the feed's shapes. For them the feed reports less, not
 * more: only the shapes in the last update, only in frames not older than that update's, and
 * reduced by the margin (polygons unchanged).
 *
 * If there are more than HALO_MAX_SHAPES, the nearest ones are merged into the box around both.
 *
 * An update is about one frame and lists everything that was found there; an empty list is an
 * update, too. Updates about frames older than the last update's are dropped, unless there was
 * silence before; two updates about the same frame are combined. Times are those of the stream's
 * frames, in microseconds of CLOCK_MONOTONIC; silence is measured from the arrival of an update.
 *
 * One thread updates, any number of threads query. Calls hold a lock while they compute, and none
 * of them allocates memory. */
#ifndef HALO_REGION_FEED_H
#define HALO_REGION_FEED_H

#include <stdbool.h>
#include <stdint.h>

#include "config/daemon.h"
#include "config/error.h"
#include "pipeline/region/shapes.h"

enum {
    HALO_REGION_ID = 32,       /* bytes of an id, including its terminating 0 */
    HALO_REGION_CORNERS = 1024 /* of all polygons in an update, and in a frame */
};

struct halo_region_update {
    char id[HALO_REGION_ID]; /* identifies an object in several frames; "": in this one only */
    struct halo_shape shape; /* not MASK; its lengths are all relative, or none is */
    double ttl;              /* seconds, at most an hour; 0: none of its own */
};

struct halo_region_feed;

int halo_region_feed_create(struct halo_region_feed **ret,
                            const struct halo_region_feed_settings *settings); /* 0, -ENOMEM */
void halo_region_feed_destroy(struct halo_region_feed *feed);                  /* NULL is ignored */

/* A new session with the source begins with the frame of this time: all earlier updates are
 * forgotten. */
void halo_region_feed_begin(struct halo_region_feed *feed, int64_t picture_us);

/* A frame of this session enters the pipeline: from now on, updates about it and about earlier
 * frames of the session are accepted. */
void halo_region_feed_pass(struct halo_region_feed *feed, int64_t picture_us);

/* Checks an update as far as that is possible without a feed. 0, or -EINVAL with err filled: too
 * many regions, an invalid shape, an id that occurs twice, a frame time more than a minute from now
 * (ns of CLOCK_MONOTONIC). Any thread. */
int halo_region_check(int64_t picture_us, const struct halo_region_update *updates, int count,
                      int64_t now, struct halo_error *err);

/* Accepts an update: what was found in the frame of that time. The caller keeps updates. 0, -EINVAL
 * as above, -ESTALE (older than the last update's frame, or than the session), -ERANGE (more than
 * 100 ms ahead of the newest frame that entered the pipeline), all with err filled. */
int halo_region_feed_update(struct halo_region_feed *feed, int64_t picture_us,
                            const struct halo_region_update *updates, int count, int64_t now,
                            struct halo_error *err);

/* The shapes for one frame. Their corners are in the struct itself, so nothing must be freed. 40
 * KiB: each caller has one and reuses it. */
struct halo_region_now {
    struct halo_shape shape[HALO_MAX_SHAPES];
    int count;
    struct halo_length corner[HALO_REGION_CORNERS][2];
    int corners;
};

/* Queries the shapes for the frame of that time: those that filters without invert hide, and those
 * that filters with invert show. False: everything is hidden, and *ret_why gives the reason in a
 * word or two for status: "none yet", "silent", "late", "too many". Both results are of one moment:
 * with two separate calls, a filter with invert could show what one update allows, although an
 * update that arrived in between does not make the other filters hide it. Either result may be
 * NULL. */
bool halo_region_feed_at(struct halo_region_feed *feed, int64_t picture_us, int64_t now,
                         struct halo_region_now *hidden, struct halo_region_now *shown,
                         const char **ret_why);

struct halo_region_feed_stats {
    int64_t updates, refused; /* accepted; refused: unusable, or dropped */
    int64_t pictures, whole;  /* queries about frames; those for which everything was hidden */
    int regions;              /* in the last update */
    double age;               /* seconds since it arrived; negative: none in this session */
    const char *why;          /* everything would be hidden in a frame of now; NULL: it would not */
};
void halo_region_feed_stats(struct halo_region_feed *feed, int64_t now,
                            struct halo_region_feed_stats *ret);

#endif
