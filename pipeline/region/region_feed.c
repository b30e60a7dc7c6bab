/* SPDX-License-Identifier: BSD-2-Clause
 * The objects that a detector has reported (region_feed.h). Their number is fixed: if there are
 * more, an object is merged with the one whose area increases least. */
#include "pipeline/region/region_feed.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/thread.h"
#include "pipeline/region/region_motion.h"

enum {
    THINGS = 2 * HALO_MAX_SHAPES, /* objects in the last update, and those that are held */
    MINUTE_US = 60000000,
    SKEW_US = 100000, /* tolerance for a detector's clock; equal to the shortest limit */
    MAX_TTL_S = 3600,
};

/* An object as it was in the last two frames for which it was reported. */
struct thing {
    char id[HALO_REGION_ID];
    struct halo_motion last, before;
    int64_t at, at_before; /* us, times of these frames */
    bool moves;            /* `before` is valid */
    bool named;            /* in the last update */
    bool joined;           /* `last` was merged: it is larger than reported */
    int64_t ttl;           /* us, after `at` */
    int64_t end;           /* us; if not named: the last time at which frames hide it */
};

struct halo_region_feed {
    struct halo_mutex lock;
    double margin;
    int64_t hold, limit; /* us, ns */
    struct thing thing[THINGS];
    int things;
    int64_t session;    /* us: its first frame */
    int64_t newest;     /* us: the last frame that entered the pipeline; INT64_MIN: none */
    int64_t at, before; /* us: frames of the last two updates of this session */
    int64_t came;       /* ns: arrival of the last update; 0: none in this session */
    int regions;        /* in the last update */
    int64_t updates, refused, frames, whole;
    struct halo_motion motion; /* scratch memory of the thread that updates */
};

int halo_region_feed_create(struct halo_region_feed **ret,
                            const struct halo_region_feed_settings *settings)
{
    struct halo_region_feed *feed = calloc(1, sizeof *feed);
    if (!feed)
        return -ENOMEM;
    feed->margin = settings->margin;
    feed->hold = (int64_t)(settings->hold * 1e6);
    feed->limit = (int64_t)(settings->limit * 1e9);
    feed->session = feed->newest = INT64_MIN;
    *ret = feed;
    return 0;
}

void halo_region_feed_destroy(struct halo_region_feed *feed)
{
    free(feed);
}

static void forget(struct halo_region_feed *feed)
{
    feed->things = feed->regions = 0;
    feed->came = 0;
}

void halo_region_feed_begin(struct halo_region_feed *feed, int64_t frame_us)
{
    halo_lock(&feed->lock);
    forget(feed);
    feed->session = frame_us;
    halo_unlock(&feed->lock);
}

void halo_region_feed_pass(struct halo_region_feed *feed, int64_t frame_us)
{
    halo_lock(&feed->lock);
    feed->newest = frame_us;
    halo_unlock(&feed->lock);
}

/* ---- checks ---- */

static bool is_twice(const struct halo_region_update *updates, int index)
{
    for (int i = 0; updates[index].id[0] && i < index; i++)
        if (!strcmp(updates[i].id, updates[index].id))
            return true;
    return false;
}

static int check_one(const struct halo_region_update *updates, int index, struct halo_error *err)
{
    struct halo_motion motion;
    struct halo_error why = {0};
    if (!memchr(updates[index].id, 0, HALO_REGION_ID))
        return halo_fail(err, -EINVAL, "regions[%d]: its id is too long", index);
    if (is_twice(updates, index))
        return halo_fail(err, -EINVAL, "regions[%d]: another region has the id '%s'", index,
                         updates[index].id);
    if (!(updates[index].ttl >= 0 && updates[index].ttl <= MAX_TTL_S))
        return halo_fail(err, -EINVAL, "regions[%d]: ttl must be between 0 and %d seconds", index,
                         MAX_TTL_S);
    if (halo_motion_read(&motion, &updates[index].shape, &why) < 0)
        return halo_fail(err, -EINVAL, "regions[%d]: %s", index, why.text);
    return 0;
}

int halo_region_check(int64_t frame_us, const struct halo_region_update *updates, int count,
                      int64_t now, struct halo_error *err)
{
    int corners = 0;
    const int64_t now_us = now / 1000;
    if (frame_us < now_us - MINUTE_US || frame_us > now_us + MINUTE_US)
        return halo_fail(
            err, -EINVAL,
            "'picture' must be a time within a minute of now, in microseconds of CLOCK_MONOTONIC");
    if (count < 0 || count > HALO_MAX_SHAPES)
        return halo_fail(err, -EINVAL, "%d regions, but an update may have at most %d", count,
                         HALO_MAX_SHAPES);
    for (int i = 0; i < count; i++) {
        if (check_one(updates, i, err) < 0)
            return -EINVAL;
        corners += updates[i].shape.kind == HALO_SHAPE_POLYGON ? updates[i].shape.corners : 0;
    }
    if (corners > HALO_REGION_CORNERS)
        return halo_fail(err, -EINVAL, "%d corners, but all polygons together may have at most %d",
                         corners, HALO_REGION_CORNERS);
    return 0;
}

/* ---- updates ---- */

static struct thing *find(struct halo_region_feed *feed, const char *id)
{
    for (int i = 0; *id && i < feed->things; i++)
        if (!strcmp(feed->thing[i].id, id))
            return &feed->thing[i];
    return NULL;
}

/* Drops objects that ended before the previous update's frame: older frames hide everything. */
static void drop_ended(struct halo_region_feed *feed)
{
    int kept = 0;
    for (int i = 0; i < feed->things; i++) {
        if (!feed->thing[i].named && feed->thing[i].end < feed->before)
            continue;
        if (kept != i)
            feed->thing[kept] = feed->thing[i];
        kept++;
    }
    feed->things = kept;
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Begins an update about another frame: every object counts as missing until the update names
 * it. */
static void turn_to(struct halo_region_feed *feed, int64_t frame_us)
{
    feed->before = feed->came ? feed->at : frame_us;
    feed->at = frame_us;
    feed->regions = 0;
    for (int i = 0; i < feed->things; i++) {
        struct thing *t = &feed->thing[i];
        if (t->named)
            t->end = later(frame_us + feed->hold, t->at + t->ttl);
        t->named = false;
    }
    drop_ended(feed);
}

static void renew(struct thing *t, const struct halo_motion *motion, int64_t at, int64_t ttl)
{
    if (t->at < at) {
        t->before = t->last;
        t->at_before = t->at;
        t->moves = true;
        t->last = *motion;
        t->last.track = t->before.track;
        t->joined = false;
        t->ttl = later(ttl, t->ttl - (at - t->at));
        t->at = at;
    } else if (t->last.relative == motion->relative) {
        const uint64_t track = t->last.track;
        halo_motion_join(&t->last, motion); /* reported twice for one frame */
        t->last.track = track;
        t->joined = true;
        t->ttl = later(ttl, t->ttl);
    }
    t->named = true;
}

static double size_of(const struct halo_motion *motion)
{
    return (motion->box.x1 - motion->box.x0) * (motion->box.y1 - motion->box.y0);
}

/* If there is no room for another object: the one with this unit whose area would increase least by
 * merging; NULL: no object has this unit. */
static struct thing *nearest(struct halo_region_feed *feed, const struct halo_motion *motion)
{
    struct thing *best = NULL;
    double least = INFINITY;
    for (int i = 0; i < feed->things; i++) {
        struct halo_motion both = feed->thing[i].last;
        if (both.relative != motion->relative)
            continue;
        halo_motion_join(&both, motion);
        const double more = size_of(&both) - size_of(&feed->thing[i].last);
        if (more < least) {
            least = more;
            best = &feed->thing[i];
        }
    }
    return best;
}

static void add(struct halo_region_feed *feed, const char *id, const struct halo_motion *motion,
                int64_t at, int64_t ttl)
{
    if (feed->things < THINGS) {
        struct thing *t = &feed->thing[feed->things++];
        t->moves = t->joined = false;
        t->named = true;
        t->last = *motion;
        t->last.track = *id ? halo_region_number() : 0;
        t->at = at;
        t->ttl = ttl;
        memcpy(t->id, id, sizeof t->id);
        return;
    }
    struct thing *t = nearest(feed, motion);
    if (!t) { /* all have the other unit: everything is hidden until the next update */
        forget(feed);
        return;
    }
    halo_motion_join(&t->last, motion);
    t->joined = true;
    if (t->moves && t->before.relative == motion->relative)
        halo_motion_join(&t->before, motion);
    t->ttl = later(t->at + t->ttl, at + ttl) - t->at;
    t->named = true;
    t->last.track = t->before.track = 0;
    t->id[0] = '\0'; /* otherwise an update of one of the two would forget the other */
}

static int take(struct halo_region_feed *feed, int64_t frame_us,
                const struct halo_region_update *updates, int count, int64_t now)
{
    const bool silent = !feed->came || now - feed->came > feed->limit;
    if (frame_us - SKEW_US > feed->newest) /* within a minute of now: no overflow */
        return -ERANGE;
    if (frame_us < feed->session || (!silent && frame_us < feed->at))
        return -ESTALE;
    if (feed->came && frame_us < feed->at)
        forget(feed);
    if (!feed->came || frame_us > feed->at)
        turn_to(feed, frame_us);
    feed->came = now;
    for (int i = 0; i < count && feed->came; i++) {
        const int64_t ttl = (int64_t)(updates[i].ttl * 1e6);
        struct thing *t = find(feed, updates[i].id);
        halo_motion_read(&feed->motion, &updates[i].shape, NULL);
        feed->motion.track = 0; /* ids are numbered here */
        if (t && (t->at < frame_us || t->last.relative == feed->motion.relative))
            renew(t, &feed->motion, frame_us, ttl);
        else
            add(feed, updates[i].id, &feed->motion, frame_us, ttl);
    }
    feed->regions += count;
    feed->updates++;
    return 0;
}

int halo_region_feed_update(struct halo_region_feed *feed, int64_t frame_us,
                            const struct halo_region_update *updates, int count, int64_t now,
                            struct halo_error *err)
{
    const int checked = halo_region_check(frame_us, updates, count, now, err);
    halo_lock(&feed->lock);
    const int code = checked < 0 ? checked : take(feed, frame_us, updates, count, now);
    feed->refused += code < 0;
    halo_unlock(&feed->lock);
    if (code == -ESTALE)
        halo_fail(
            err, code,
            "the update is about a frame that is older than the previous update's frame or than "
            "the first frame of the session");
    if (code == -ERANGE)
        halo_fail(
            err, code,
            "the update's frame is more than 100 ms ahead of the newest frame in the pipeline");
    return code;
}

/* ---- frames ---- */

/* The reason why everything is hidden in a frame, or NULL. */
static const char *why_whole(const struct halo_region_feed *feed, int64_t frame_us, int64_t now)
{
    if (!feed->came)
        return "none yet";
    if (now - feed->came > feed->limit)
        return "silent";
    if (frame_us > feed->at + feed->limit / 1000 || frame_us < feed->before)
        return "late";
    return NULL;
}

/* Adds what a frame hides of an object: its path between two positions, or its last position. */
static bool put(struct halo_region_list *list, const struct thing *t, int64_t frame_us,
                double margin, int most)
{
    struct halo_motion there;
    if (!t->moves)
        return halo_motion_put(list, &t->last, NULL, margin, most);
    if (frame_us < t->at)
        return halo_motion_put(list, &t->before, &t->last, margin, most);
    if (frame_us == t->at || t->last.relative != t->before.relative)
        return halo_motion_put(list, &t->last, NULL, margin, most);
    halo_motion_go_on(&there, &t->last, &t->before,
                      (double)(frame_us - t->at) / (double)(t->at - t->at_before));
    return halo_motion_put(list, &t->last, &there, margin, most);
}

static bool is_in(const struct thing *t, int64_t frame_us)
{
    return t->named || frame_us <= t->end;
}

static const char *put_all(const struct halo_region_feed *feed, int64_t frame_us, int64_t now,
                           struct halo_region_list *list)
{
    const char *why = why_whole(feed, frame_us, now);
    int count = 0;
    for (int i = 0; i < feed->things; i++)
        count += is_in(&feed->thing[i], frame_us);
    const int most = count < HALO_MAX_SHAPES ? HALO_MAX_SHAPES / (count + !count) : 1;
    for (int i = 0; i < feed->things && !why; i++)
        if (is_in(&feed->thing[i], frame_us) &&
            !put(list, &feed->thing[i], frame_us, feed->margin, most))
            why = "too many";
    return why;
}

static void put_shown(const struct halo_region_feed *feed, int64_t frame_us,
                      struct halo_region_list *list)
{
    for (int i = 0; i < feed->things && frame_us >= feed->at; i++)
        if (feed->thing[i].named && !feed->thing[i].joined)
            halo_motion_put_less(list, &feed->thing[i].last, feed->margin);
}

bool halo_region_feed_at(struct halo_region_feed *feed, int64_t frame_us, int64_t now,
                         struct halo_region_now *hidden, struct halo_region_now *shown,
                         const char **ret_why)
{
    struct halo_region_list list = {.now = hidden}, less = {.now = shown};
    if (hidden)
        hidden->count = hidden->corners = 0;
    if (shown)
        shown->count = shown->corners = 0;
    halo_lock(&feed->lock);
    const char *why = hidden ? put_all(feed, frame_us, now, &list) : why_whole(feed, frame_us, now);
    if (shown && !why)
        put_shown(feed, frame_us, &less);
    feed->frames++;
    feed->whole += why != NULL;
    halo_unlock(&feed->lock);
    if (why)
        *ret_why = why;
    return !why;
}

void halo_region_feed_stats(struct halo_region_feed *feed, int64_t now,
                            struct halo_region_feed_stats *ret)
{
    halo_lock(&feed->lock);
    *ret = (struct halo_region_feed_stats){
        .updates = feed->updates,
        .refused = feed->refused,
        .frames = feed->frames,
        .whole = feed->whole,
        .regions = feed->regions,
        .age = feed->came ? (double)(now - feed->came) / 1e9 : -1,
        .why = why_whole(feed, now / 1000, now),
    };
    halo_unlock(&feed->lock);
}
