/* SPDX-License-Identifier: BSD-2-Clause
 * A region feed: the positions of objects that a detector finds in a stream's frames, received
 * while the stream runs, for filters with region=feed (shapes.h).
 *
 *   detector --control socket--> supervisor --link--> engine --update()--> feed --at()--> gate
 *
 * A detector is late, sees only some of the frames, and may die. Its omissions must never cause
 * more to be shown. The following rules ensure this:
 *
 *   margin     Each shape is enlarged on all sides by this fraction of its size. A polygon that is
 *              enlarged or moves is replaced by its convex hull.
 *   between    In a frame between two updates of the same id, the shape is hidden at both of its
 *              positions and everywhere on the way from one to the other.
 *   behind     In a frame after the last update of an id, the shape is hidden at its last position
 *              and everywhere on the way to the position that it would have if it continued to
 *              move as between its last two updates.
 *   hold       If updates no longer contain a shape, it stays hidden for this time, counted from
 *              the first update without it.
 *   ttl        A shape can have its own time to stay hidden, counted from its frame's time. The
 *              later end of hold and ttl applies.
 *   silence    Everything is hidden if no update arrives for longer than the limit.
 *   lateness   Everything is hidden in frames that are later than the last update's frame by more
 *              than the limit, and in frames that are older than the frame of the last update but
 *              one.
 *   begin      Everything is hidden until the first update about a frame of this session with the
 *              source.
 *   ahead      An update about a frame that has not entered the pipeline yet is refused, because
 *              no detector can have seen that frame.
 *
 * Filters with invert hide everything except the feed's shapes. For such filters the feed reports
 * less, not more: only the shapes in the last update, only for frames that are not older than that
 * update's frame, and reduced by the margin (polygons are not changed).
 *
 * If there are more than HALO_MAX_SHAPES shapes, those nearest to each other are merged into the
 * box around both.
 *
 * An update is about one frame and lists everything that was found in it; an empty list is an
 * update, too. An update about a frame older than the last update's frame is dropped, unless it
 * follows a silence. Two updates about the same frame are combined. Times are frame times of the
 * stream, in microseconds of CLOCK_MONOTONIC; silence is measured from the arrival of an update.
 *
 * One thread calls halo_region_feed_update(); any number of threads may query. Calls hold a lock
 * while they compute, and none of them allocates memory. */
#ifndef HALO_REGION_FEED_H
#define HALO_REGION_FEED_H

#include <stdbool.h>
#include <stdint.h>

#include "config/base/error.h"
#include "config/daemon.h"
#include "pipeline/region/shapes.h"

enum {
    HALO_REGION_ID = 32,       /* size of an id in bytes, including its terminating 0 */
    HALO_REGION_CORNERS = 1024 /* maximum total number of corners of all polygons in one update or
                                  one frame */
};

struct halo_region_update {
    char id[HALO_REGION_ID]; /* the same in all frames that show the object; "": no id */
    struct halo_shape shape; /* of any kind except MASK; its lengths are either all relative or all
                              * in pixels */
    /* The minimum number of seconds, counted from the frame's time, for which the shape stays
     * hidden; must be 0 to 3600. If 0, only the feed's `hold` applies. */
    double ttl;
};

struct halo_region_feed;

int halo_region_feed_create(struct halo_region_feed **ret,
                            const struct halo_region_feed_settings *settings); /* 0, -ENOMEM */
void halo_region_feed_destroy(struct halo_region_feed *feed);                  /* NULL is ignored */

/* Starts a new session with the source. frame_us is the timestamp of the session's first frame.
 * All earlier updates are forgotten. */
void halo_region_feed_begin(struct halo_region_feed *feed, int64_t frame_us);

/* Records that the frame with the timestamp frame_us enters the pipeline. From now on, updates
 * about this frame and about earlier frames of the session are accepted. */
void halo_region_feed_pass(struct halo_region_feed *feed, int64_t frame_us);

/* Checks an update as far as that is possible without a feed. `now` is the current time in ns of
 * CLOCK_MONOTONIC. Returns 0; or -EINVAL with err filled if there are too many regions, if a shape
 * is invalid, if an id occurs twice, or if frame_us is more than a minute before or after `now`.
 * Any thread. */
int halo_region_check(int64_t frame_us, const struct halo_region_update *updates, int count,
                      int64_t now, struct halo_error *err);

/* Applies an update, which lists what was found in the frame with the timestamp frame_us. The
 * caller keeps ownership of `updates`. Returns 0; or, with err filled, -EINVAL as
 * halo_region_check() does, -ESTALE (the update is about a frame that is older than the last
 * update's frame or than the first frame of the session), or -ERANGE (the update is about a frame
 * that is more than 100 ms ahead of the newest frame in the pipeline). */
int halo_region_feed_update(struct halo_region_feed *feed, int64_t frame_us,
                            const struct halo_region_update *updates, int count, int64_t now,
                            struct halo_error *err);

/* The shapes for one frame. Their corners are in the struct itself, so nothing needs to be freed.
 * Because the struct is large (40 KiB), each caller has one and reuses it. */
struct halo_region_now {
    struct halo_shape shape[HALO_MAX_SHAPES];
    int count;
    struct halo_length corner[HALO_REGION_CORNERS][2];
    int corners;
};

/* Gets the shapes for the frame with the timestamp frame_us. Sets *hidden to the shapes that
 * filters without invert hide, and *shown to the shapes that filters with invert show. hidden or
 * shown may be NULL. Returns false if everything must be hidden; *ret_why is then the reason that
 * the stream's status shows: "none yet", "silent", "late" or "too many". One call sets both *hidden
 * and *shown, so that both are based on the same updates. If two calls were necessary, an update
 * could arrive between them. A filter with invert could then show a part of the frame that the
 * other filters, which use another update, do not hide. */
bool halo_region_feed_at(struct halo_region_feed *feed, int64_t frame_us, int64_t now,
                         struct halo_region_now *hidden, struct halo_region_now *shown,
                         const char **ret_why);

struct halo_region_feed_stats {
    int64_t updates, refused; /* numbers of accepted updates, and of refused or dropped ones */
    /* Number of queries for a frame's shapes, and number of those queries that hid everything. */
    int64_t frames, whole;
    int regions;     /* number of regions in the last update */
    double age;      /* seconds since the last update; negative: none in this session */
    const char *why; /* why a frame would be hidden entirely now, or NULL */
};
void halo_region_feed_stats(struct halo_region_feed *feed, int64_t now,
                            struct halo_region_feed_stats *ret);

#endif
