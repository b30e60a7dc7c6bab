/* SPDX-License-Identifier: BSD-2-Clause
 * A region feed: where things are that a detector finds in a stream's pictures, told from outside
 * while the stream runs, for filters with region=feed (shapes.h).
 *
 *   detector --control socket--> supervisor --link--> engine --update()--> feed --at()--> gate
 *
 * A detector is late, sees only some of the pictures, and may die. What it does not say must never
 * show more:
 *
 *   margin     each shape is grown on all sides by this part of its size; a polygon that grows, or
 *              moves, becomes the convex one around it
 *   between    for a picture between two updates of the same id: the shape at both times, and all
 *              that it passes on the way from one to the other
 *   behind     for a picture after the last update of an id: the same, from the shape as it was to
 *              where it would be if it went on as it did between its last two updates
 *   hold       a shape that no update names any more stays for this long, from the first update
 *              on that does not name it
 *   ttl        a shape's own end, counted from its picture's time, where that is later
 *   silence    without an update for longer than the limit: everything is hidden
 *   lateness   so it is in pictures that are more than the limit behind the last one told of, and
 *              in those older than the update before
 *   begin      so it is before the first update about a picture of this session with the source
 *   ahead      an update about a picture that has not been given out is refused: nothing was found
 *              in what nobody can have seen
 *
 * Filters with invert hide all but what is told. For them less is told, not more: what the last
 * update named, in pictures not older than its own, smaller by the margin (polygons as they were).
 *
 * Beyond HALO_MAX_SHAPES the nearest of them become the box around both.
 *
 * An update is about one picture, and tells all that was found there: none is an update, too.
 * Updates about pictures older than those of the last one are dropped, unless there was silence
 * before; two about the same picture are taken together. Times are those of the stream's pictures,
 * microseconds of CLOCK_MONOTONIC; silence counts from when an update came.
 *
 * One thread updates, any number ask; calls take a lock for as long as they compute, and none
 * allocates. */
#ifndef HALO_REGION_FEED_H
#define HALO_REGION_FEED_H

#include <stdbool.h>
#include <stdint.h>

#include "config/daemon.h"
#include "config/error.h"
#include "pipeline/region/shapes.h"

enum {
    HALO_REGION_ID = 32,       /* bytes of an id, its end included */
    HALO_REGION_CORNERS = 1024 /* of all polygons of an update, and of a picture */
};

struct halo_region_update {
    char id[HALO_REGION_ID]; /* the same thing in another picture; "": of no other */
    struct halo_shape shape; /* no MASK; its lengths are all relative, or none is */
    double ttl;              /* seconds, at most an hour; 0: none of its own */
};

struct halo_region_feed;

int halo_region_feed_create(struct halo_region_feed **ret,
                            const struct halo_region_feed_settings *settings); /* 0, -ENOMEM */
void halo_region_feed_destroy(struct halo_region_feed *feed); /* NULL is nothing to do */

/* From this picture on another session with the source: what was told before is forgotten. */
void halo_region_feed_begin(struct halo_region_feed *feed, int64_t picture_us);

/* A picture of this session is given out: from now on it can be told of, and those before it. */
void halo_region_feed_pass(struct halo_region_feed *feed, int64_t picture_us);

/* What can be known of an update without a feed. 0, or -EINVAL with err filled: too many, a shape
 * that is none, an id twice, a time that lies more than a minute from now (ns of CLOCK_MONOTONIC).
 * Any thread. */
int halo_region_check(int64_t picture_us, const struct halo_region_update *updates, int count,
                      int64_t now, struct halo_error *err);

/* What was found in the picture of that time. told stays the caller's. 0, -EINVAL as above, -ESTALE
 * (older than the last one's picture, or than the session), -ERANGE (more than 100 ms ahead of the
 * newest picture given out), all with err filled. */
int halo_region_feed_update(struct halo_region_feed *feed, int64_t picture_us,
                            const struct halo_region_update *updates, int count, int64_t now,
                            struct halo_error *err);

/* What a picture of that time hides: shapes, whose corners lie in *ret, which owns nothing; or
 * everything (false; *ret_why then says so in a word or two for status: "none yet", "silent",
 * "late", "too many"). A struct of 40 KiB: one for each caller, to be used again. */
struct halo_region_now {
    struct halo_shape shape[HALO_MAX_SHAPES];
    int count;
    struct halo_length corner[HALO_REGION_CORNERS][2];
    int corners;
};

/* For filters without invert what is hidden, and for those with it what is shown, both of one
 * moment: what one update lets a filter with invert show, another one, which came meanwhile, would
 * not hide. Either may be NULL. */
bool halo_region_feed_at(struct halo_region_feed *feed, int64_t picture_us, int64_t now,
                         struct halo_region_now *hidden, struct halo_region_now *shown,
                         const char **ret_why);

struct halo_region_feed_stats {
    int64_t updates, refused; /* refused: of no use, or dropped */
    int64_t pictures, whole;  /* asked for; of them, in which everything was hidden */
    int regions;              /* that the last update named */
    double age;               /* seconds since it came; negative: none has, in this session */
    const char *why;          /* everything is hidden in a picture of now; NULL: it is not */
};
void halo_region_feed_stats(struct halo_region_feed *feed, int64_t now,
                            struct halo_region_feed_stats *ret);

#endif
