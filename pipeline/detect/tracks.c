/* SPDX-License-Identifier: BSD-2-Clause
 * Tracks (tracks.h). For each frame, boxes are matched with tracks, nearest pairs first: at first
 * those with at least `score`, then, for tracks that found none, the others. What each frame hides
 * is recorded as marks, to which later frames may add. */
#include "pipeline/detect/tracks.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "pipeline/detect/detect_wire.h"
#include "pipeline/region/region_motion.h"

enum {
    TRACKS = 2 * HALO_MAX_SHAPES, /* tracks at one time */
    MARKS = 2 * HALO_MAX_SHAPES,  /* in one frame; if there are more, all of it is hidden */
    SIGHTS = 16,                  /* newest boxes of a track, from which its motion is computed */
    BACK_US = 500000,             /* how long a track is hidden before its first box */
    SURE_US = 200000,             /* for so long, new boxes correct what is hidden before it */
};

/* A box that was reported. */
struct sight {
    int64_t at; /* us */
    struct halo_box box;
};

/* Per second. */
struct speed {
    double x, y;          /* of the middle */
    double width, height; /* how fast it grows */
    double sizes;         /* absolute speed in widths and heights */
    bool known;           /* it was seen often enough */
};

struct track {
    uint64_t id;                /* its number */
    struct sight sight[SIGHTS]; /* oldest first, the last box at the end */
    int sights;
    struct sight first;   /* its first box, or the first after it was missed */
    struct halo_box kept; /* contains the last box, and shrinks slowly */
    int64_t end;          /* if not reported: the last time at which it is hidden */
    int seen;             /* number of frames in which it was reported */
    bool reported;        /* in the newest frame */
    bool before;          /* in the frame before it */
    bool left;            /* in the newest frame, a box near it began another track */
    bool old;             /* from before the last cut */
};

enum mark_kind { MARK_REPORTED, MARK_HELD, MARK_BACK, MARK_BETWEEN };

/* What a frame hides of a track: everything on the way between two boxes. */
struct mark {
    uint64_t track; /* its id */
    enum mark_kind kind;
    struct halo_box from, to;
    int64_t of;          /* BACK: the time of the box before which it lies */
    double growth;       /* added to the margin */
    struct halo_box box; /* REPORTED: the box itself */
    bool strong, sure;   /* REPORTED: it has at least `score`; it can be shown */
};

struct frame {
    int64_t at; /* us */
    bool cut;   /* another scene than the frame before */
    bool full;  /* more marks than there is room for */
    int marks, boxes;
    struct mark mark[MARKS];
    struct sight box[HALO_DETECT_MAX_BOXES]; /* those with at least `low` that no track has */
};

struct halo_tracks {
    struct halo_detector_settings settings;
    enum halo_find find;
    uint64_t *counter;   /* NULL: halo_region_number() */
    struct frame *frame; /* a ring */
    int window, first, frames;
    struct track track[TRACKS];
    int tracks;
    int64_t crowded; /* us: frames until then are hidden, because a track found no room */
    float distance[TRACKS][HALO_DETECT_MAX_BOXES]; /* scratch memory while boxes are matched */
    struct halo_region_now hidden, shown;          /* what halo_tracks_get() returns */
};

/* ---- motion ---- */

/* Where a track is: a straight line through its newest boxes. Nobody knows what an object does
 * while no box reports it, so shapes grow meanwhile: by GROW of their size in each second, and by
 * TURN of the distance that they would move, in all directions. */

static const double GROW = 0.5, GROW_NEW = 1.5, TURN = 0.5, GROW_MAX = 1;
static const double RECENT = 0.4;   /* seconds: boxes from which the speed is computed */
static const double DAMP = 1e-4;    /* s^2: few boxes do not prove a high speed */
static const double MOVE_MAX = 1;   /* seconds for which a movement is continued */
static const double LARGER_MAX = 2; /* how many times as large a box becomes by growing on */
static const double SIZES = 4;      /* ratio of sizes of the same object */
static const double NEAR = 0.35, NEAR_GROW = 0.5, NEAR_MAX = 0.5;
static const double GATE = 0.7, GATE_GROW = 1.5, GATE_MAX = 2;
enum { SEEN_WELL = 4 };

/* Middle and size of a box. */
struct place {
    double x, y, width, height;
};

static struct place place_of(struct halo_box b)
{
    return (struct place){(b.x0 + b.x1) / 2, (b.y0 + b.y1) / 2, b.x1 - b.x0, b.y1 - b.y0};
}

/* Computes a track's speed from its boxes. */
static struct speed track_speed(const struct track *track)
{
    const struct sight *last = &track->sight[track->sights - 1];
    struct place mean = {0}, slope = {0};
    double when = 0, spread = DAMP;
    int count = 0;
    for (int i = track->sights - 1; i >= 0; i--, count++) {
        const double t = (double)(track->sight[i].at - last->at) / 1e6;
        const struct place p = place_of(track->sight[i].box);
        if (t < -RECENT)
            break;
        when += t;
        mean.x += p.x, mean.y += p.y, mean.width += p.width, mean.height += p.height;
    }
    when /= count;
    mean.x /= count, mean.y /= count, mean.width /= count, mean.height /= count;
    for (int i = track->sights - count; i < track->sights; i++) {
        const double t = (double)(track->sight[i].at - last->at) / 1e6 - when;
        const struct place p = place_of(track->sight[i].box);
        spread += t * t;
        slope.x += t * (p.x - mean.x), slope.y += t * (p.y - mean.y);
        slope.width += t * (p.width - mean.width), slope.height += t * (p.height - mean.height);
    }
    const struct place p = place_of(last->box);
    const double x = slope.x / spread, y = slope.y / spread;
    return (struct speed){.x = x,
                          .y = y,
                          .width = slope.width / spread,
                          .height = slope.height / spread,
                          .sizes = hypot(x / p.width, y / p.height),
                          .known = count >= SEEN_WELL};
}

static double limited(double value, double most)
{
    return fmin(fmax(value, -most), most);
}

/* Where a box is after so many seconds, which may be negative. It never becomes smaller. */
static struct halo_box box_after(struct halo_box box, const struct speed *speed, double seconds)
{
    const double t = limited(seconds, MOVE_MAX);
    const struct place p = place_of(box);
    const double width = fmin(p.width + fmax(speed->width * t, 0), LARGER_MAX * p.width);
    const double height = fmin(p.height + fmax(speed->height * t, 0), LARGER_MAX * p.height);
    const double x = p.x + speed->x * t, y = p.y + speed->y * t;
    return (struct halo_box){x - width / 2, y - height / 2, x + width / 2, y + height / 2};
}

/* By which fraction of its size a shape grows after so many seconds without a box. */
static double growth_after(const struct speed *speed, double seconds)
{
    return fmin(fabs(seconds) * ((speed->known ? GROW : GROW_NEW) + TURN * speed->sizes), GROW_MAX);
}

/* The distance of the middles of two boxes, in widths or heights of the larger one; or INFINITY if
 * their sizes differ too much to be the same object. */
static double box_distance(struct halo_box a, struct halo_box b)
{
    const struct place p = place_of(a), q = place_of(b);
    const double width = fmax(p.width, q.width), height = fmax(p.height, q.height);
    if (width > SIZES * fmin(p.width, q.width) || height > SIZES * fmin(p.height, q.height))
        return INFINITY;
    return fmax(fabs(p.x - q.x) / width, fabs(p.y - q.y) / height);
}

/* The largest distance of what is certainly the same object after so many seconds without a box. */
static double near_after(double seconds)
{
    return fmin(NEAR + NEAR_GROW * fabs(seconds), NEAR_MAX);
}

/* The last box, as it would be at this time. */
static struct mark mark_held(const struct track *track, int64_t at)
{
    const struct speed speed = track_speed(track);
    const double seconds = (double)(at - track->sight[track->sights - 1].at) / 1e6;
    return (struct mark){.track = track->id,
                         .kind = MARK_HELD,
                         .from = track->kept,
                         .to = box_after(track->kept, &speed, seconds),
                         .growth = growth_after(&speed, seconds)};
}

static void mark_put(struct frame *frame, const struct mark *mark)
{
    if (frame->marks < MARKS)
        frame->mark[frame->marks++] = *mark;
    else
        frame->full = true;
}

/* ---- tracks ---- */

/* ---- backwards ---- */

static struct frame *tracks_frame(struct halo_tracks *tracks, int index)
{
    return &tracks->frame[(tracks->first + index) % tracks->window];
}

static void remove_marks(struct frame *frame, uint64_t track, enum mark_kind kind, int64_t of)
{
    int kept = 0;
    for (int i = 0; i < frame->marks; i++)
        if (frame->mark[i].track != track || frame->mark[i].kind != kind || frame->mark[i].of != of)
            frame->mark[kept++] = frame->mark[i];
    frame->marks = kept;
}

/* The box of the frame that is nearest to where the track may be then, or NULL: none is near. */
static const struct sight *box_near(const struct frame *frame, struct halo_box expected,
                                    struct halo_box anchor, double seconds)
{
    const struct sight *best = NULL;
    double least = near_after(seconds);
    for (int i = 0; i < frame->boxes; i++) {
        const double d = fmin(box_distance(expected, frame->box[i].box),
                              box_distance(anchor, frame->box[i].box));
        if (d < least) {
            least = d;
            best = &frame->box[i];
        }
    }
    return best;
}

static void track_back(struct halo_tracks *tracks, const struct track *track)
{
    struct sight anchor = track->first;
    const struct speed speed = track_speed(track);
    int i = tracks->frames - 1;
    while (i >= 0 && tracks_frame(tracks, i)->at >= track->first.at)
        i--;
    for (; i >= 0 && !tracks_frame(tracks, i + 1)->cut; i--) {
        struct frame *frame = tracks_frame(tracks, i);
        const double seconds = (double)(frame->at - anchor.at) / 1e6;
        const struct halo_box expected = box_after(anchor.box, &speed, seconds);
        const struct sight *box = box_near(frame, expected, anchor.box, seconds);
        remove_marks(frame, track->id, MARK_BACK, track->first.at);
        if (box)
            anchor = *box;
        else if (frame->at < anchor.at - BACK_US)
            continue; /* an earlier call may have led further back */
        mark_put(frame, &(struct mark){.track = track->id,
                                       .kind = MARK_BACK,
                                       .of = track->first.at,
                                       .from = anchor.box,
                                       .to = box ? box->box : expected,
                                       .growth = box ? 0 : growth_after(&speed, seconds)});
    }
}

static double between(double a, double b, double part)
{
    return a + (b - a) * part;
}

static void track_between(struct halo_tracks *tracks, const struct track *track,
                          const struct sight *last)
{
    const struct sight *now = &track->sight[track->sights - 1];
    const struct speed speed = track_speed(track);
    for (int i = tracks->frames - 2; i >= 0 && tracks_frame(tracks, i)->at > last->at; i--) {
        struct frame *frame = tracks_frame(tracks, i);
        const double part = (double)(frame->at - last->at) / (double)(now->at - last->at);
        const double seconds =
            (double)(frame->at - last->at < now->at - frame->at ? frame->at - last->at
                                                                : now->at - frame->at) /
            1e6;
        const struct halo_box a = last->box, b = now->box;
        const struct halo_box box = {between(a.x0, b.x0, part), between(a.y0, b.y0, part),
                                     between(a.x1, b.x1, part), between(a.y1, b.y1, part)};
        remove_marks(frame, track->id, MARK_HELD, 0);
        mark_put(frame, &(struct mark){.track = track->id,
                                       .kind = MARK_BETWEEN,
                                       .from = box,
                                       .to = box,
                                       .growth = growth_after(&speed, seconds)});
    }
}

static const double SIZE_LEAST = 0.002; /* of a box, so that none is empty */
static const double SHRINK = 0.3;       /* seconds until a shape is as small as its box */
static const double EDGE = 0.01; /* a box that is so near to the frame's edge is cut off by it */

int halo_tracks_create(struct halo_tracks **ret, enum halo_find find,
                       const struct halo_detector_settings *settings, int window)
{
    struct halo_tracks *tracks = calloc(1, sizeof *tracks);
    if (!tracks)
        return -ENOMEM;
    tracks->frame = calloc((size_t)window, sizeof *tracks->frame);
    if (!tracks->frame) {
        free(tracks);
        return -ENOMEM;
    }
    tracks->settings = *settings;
    tracks->settings.command = NULL; /* not owned */
    tracks->find = find;
    tracks->window = window;
    halo_tracks_reset(tracks);
    *ret = tracks;
    return 0;
}

void halo_tracks_destroy(struct halo_tracks *tracks)
{
    if (!tracks)
        return;
    free(tracks->frame);
    free(tracks);
}

void halo_tracks_number(struct halo_tracks *tracks, uint64_t *counter)
{
    tracks->counter = counter;
}

void halo_tracks_reset(struct halo_tracks *tracks)
{
    tracks->first = tracks->frames = tracks->tracks = 0;
    tracks->crowded = INT64_MIN;
}

/* ---- one track ---- */

static void see(struct track *t, const struct sight *sight)
{
    if (t->sights == SIGHTS)
        memmove(&t->sight[0], &t->sight[1], --t->sights * sizeof t->sight[0]);
    t->sight[t->sights++] = *sight;
    t->seen++;
    t->reported = true;
}

static double edge_kept(double kept, double box, double part, double sign)
{
    return sign * (kept - box) > 0 ? box + (kept - box) * part : box;
}

/* The kept box moves along with the track, and shrinks towards the new box. */
static void keep(struct track *t, const struct sight *sight)
{
    const struct sight *last = &t->sight[t->sights - 1];
    const struct halo_box a = last->box, b = sight->box, k = t->kept;
    const double x = (b.x0 + b.x1 - a.x0 - a.x1) / 2, y = (b.y0 + b.y1 - a.y0 - a.y1) / 2;
    const double part = fmax(1 - (double)(sight->at - last->at) / 1e6 / SHRINK, 0);
    t->kept =
        (struct halo_box){edge_kept(k.x0 + x, b.x0, part, -1), edge_kept(k.y0 + y, b.y0, part, -1),
                          edge_kept(k.x1 + x, b.x1, part, 1), edge_kept(k.y1 + y, b.y1, part, 1)};
}

/* There is no room for another track, so everything is hidden while its hold would last. */
static void crowd(struct halo_tracks *tracks, int64_t at)
{
    tracks->crowded = at + (int64_t)(tracks->settings.hold * 1e6);
    for (int i = tracks->frames - 1; i >= 0; i--) {
        if (tracks_frame(tracks, i)->at >= at - BACK_US)
            tracks_frame(tracks, i)->full = true;
        if (tracks_frame(tracks, i)->cut)
            break;
    }
}

static struct track *begin(struct halo_tracks *tracks, const struct sight *sight)
{
    if (tracks->tracks == TRACKS)
        return NULL;
    struct track *t = &tracks->track[tracks->tracks++];
    *t = (struct track){.id = tracks->counter ? ++*tracks->counter : halo_region_number(),
                        .first = *sight,
                        .kept = sight->box};
    see(t, sight);
    return t;
}

/* ---- matching ---- */

static struct sight sight_of(const struct halo_detect_box *box, int64_t at)
{
    const double x = box->x + box->width / 2.0, y = box->y + box->height / 2.0;
    const double half_width = fmax(box->width, SIZE_LEAST) / 2;
    const double half_height = fmax(box->height, SIZE_LEAST) / 2;
    return (struct sight){
        .at = at, .box = {x - half_width, y - half_height, x + half_width, y + half_height}};
}

/* The distance of a box from where the track is now, moving or not; INFINITY: too far. */
static double distance(const struct track *t, const struct speed *speed, const struct sight *sight)
{
    const struct sight *last = &t->sight[t->sights - 1];
    const double seconds = (double)(sight->at - last->at) / 1e6;
    const double d = fmin(box_distance(box_after(last->box, speed, seconds), sight->box),
                          box_distance(last->box, sight->box));
    /* The largest distance of what may be the same object. */
    return d < fmin(GATE + GATE_GROW * fabs(seconds), GATE_MAX) ? d : INFINITY;
}

/* The boxes of the newest frame while they are matched. */
struct matching {
    const struct halo_detect_box *box;
    struct sight sight[HALO_DETECT_MAX_BOXES];
    bool used[HALO_DETECT_MAX_BOXES];
    int count;
    struct frame *frame;
};

static void mark_reported(struct halo_tracks *tracks, struct matching *m, struct track *t, int box)
{
    const bool strong = m->box[box].score >= tracks->settings.score;
    const bool sure = strong && t->seen >= tracks->settings.enter;
    mark_put(m->frame, &(struct mark){.track = t->id,
                                      .kind = MARK_REPORTED,
                                      .from = t->kept,
                                      .to = t->kept,
                                      .box = m->sight[box].box,
                                      .strong = strong,
                                      .sure = sure});
    m->used[box] = true;
    if (t->seen != tracks->settings.enter)
        return;
    for (int i = 0; i < tracks->frames; i++) /* now its earlier boxes are sure, too */
        for (int k = 0; k < tracks_frame(tracks, i)->marks; k++) {
            struct mark *mark = &tracks_frame(tracks, i)->mark[k];
            mark->sure |= mark->track == t->id && mark->kind == MARK_REPORTED && mark->strong;
        }
}

static void begin_with(struct halo_tracks *tracks, struct matching *m, int box)
{
    struct track *t = begin(tracks, &m->sight[box]);
    m->used[box] = true;
    if (!t) {
        crowd(tracks, m->frame->at);
        return;
    }
    mark_reported(tracks, m, t, box);
    track_back(tracks, t);
}

static void go_on(struct halo_tracks *tracks, struct matching *m, struct track *t, int box)
{
    const struct sight last = t->sight[t->sights - 1], *sight = &m->sight[box];
    const struct sight kept = {.at = last.at, .box = t->kept};
    if (t->old) {
        t->sights = t->seen = 0;
        t->first = *sight;
        t->kept = sight->box;
        t->old = false;
        see(t, sight);
    } else {
        keep(t, sight);
        if (!t->before) /* it may be another object that was not found earlier */
            t->first = *sight;
        see(t, sight);
        track_between(tracks, t, &kept);
        if (sight->at - t->first.at <= SURE_US)
            track_back(tracks, t);
    }
    mark_reported(tracks, m, t, box);
}

static bool is_free(const struct track *t)
{
    return !t->reported && !t->left;
}

/* Matches tracks that have no box yet with boxes that have at least this score, nearest first. */
static void match(struct halo_tracks *tracks, struct matching *m, double score, bool old)
{
    for (int i = 0; i < tracks->tracks; i++) {
        const struct track *t = &tracks->track[i];
        const bool can = is_free(t) && t->old == old;
        const struct speed speed = track_speed(t);
        for (int b = 0; b < m->count; b++)
            tracks->distance[i][b] = can && !m->used[b] && m->box[b].score >= score
                                         ? (float)distance(t, &speed, &m->sight[b])
                                         : INFINITY;
    }
    for (;;) {
        float least = INFINITY;
        int track = -1, box = -1;
        for (int i = 0; i < tracks->tracks; i++)
            for (int b = 0; is_free(&tracks->track[i]) && b < m->count; b++)
                if (!m->used[b] && tracks->distance[i][b] < least) {
                    least = tracks->distance[i][b];
                    track = i;
                    box = b;
                }
        if (track < 0)
            return;
        struct track *t = &tracks->track[track];
        if (old || least < near_after((double)(m->frame->at - t->sight[t->sights - 1].at) / 1e6)) {
            go_on(tracks, m, t, box);
        } else { /* it may be another object: this one must not be forgotten for it */
            t->left = true;
            begin_with(tracks, m, box);
        }
    }
}

/* ---- frames ---- */

static struct frame *turn_to(struct halo_tracks *tracks, int64_t at, bool cut)
{
    if (tracks->frames == tracks->window)
        tracks->first = (tracks->first + 1) % tracks->window;
    else
        tracks->frames++;
    struct frame *frame = tracks_frame(tracks, tracks->frames - 1);
    frame->at = at;
    frame->cut = cut;
    frame->full = at <= tracks->crowded;
    frame->marks = frame->boxes = 0;
    int kept = 0;
    for (int i = 0; i < tracks->tracks; i++) {
        struct track *t = &tracks->track[i];
        if (t->reported)
            t->end = at + (int64_t)(tracks->settings.hold * 1e6);
        t->before = t->reported;
        t->reported = t->left = false;
        t->old |= cut;
        if (at <= t->end && kept != i)
            tracks->track[kept] = *t;
        kept += at <= t->end;
    }
    tracks->tracks = kept;
    return frame;
}

static void put_others(struct halo_tracks *tracks, const struct matching *m)
{
    for (int i = 0; i < tracks->tracks; i++)
        if (!tracks->track[i].reported) {
            const struct mark mark = mark_held(&tracks->track[i], m->frame->at);
            mark_put(m->frame, &mark);
        }
    for (int b = 0; b < m->count; b++)
        if (!m->used[b] && m->box[b].score >= tracks->settings.low)
            m->frame->box[m->frame->boxes++] = m->sight[b];
}

/* A box with less than `score` beside a box that continued a track may be another object. */
static bool is_near(const struct halo_tracks *tracks, const struct sight *sight)
{
    for (int i = 0; i < tracks->tracks; i++) {
        const struct speed speed = track_speed(&tracks->track[i]);
        if (!tracks->track[i].old && distance(&tracks->track[i], &speed, sight) < INFINITY)
            return true;
    }
    return false;
}

/* The lowest score with which a box begins a track. */
static double score_of_new(const struct halo_tracks *tracks, const struct halo_detect_box *box)
{
    const bool inside = box->x > EDGE && box->x + box->width < 1 - EDGE && box->y > EDGE &&
                        box->y + box->height < 1 - EDGE;
    return inside ? tracks->settings.score : tracks->settings.low;
}

bool halo_tracks_add(struct halo_tracks *tracks, int64_t at_us, bool cut,
                     const struct halo_detect_box *boxes, int count)
{
    struct matching m = {.box = boxes, .count = count, .frame = turn_to(tracks, at_us, cut)};
    bool agrees = true;
    for (int i = 0; i < count; i++)
        m.sight[i] = sight_of(&boxes[i], at_us);
    match(tracks, &m, tracks->settings.score, false);
    match(tracks, &m, tracks->settings.low, false);
    for (int i = 0; i < count; i++)
        if (!m.used[i] && boxes[i].score >= score_of_new(tracks, &boxes[i])) {
            begin_with(tracks, &m, i);
            agrees = false;
        }
    match(tracks, &m, tracks->settings.low, true);
    for (int i = 0; i < count; i++)
        if (!m.used[i] && boxes[i].score >= tracks->settings.low && is_near(tracks, &m.sight[i]))
            begin_with(tracks, &m, i);
    put_others(tracks, &m);
    return agrees;
}

void halo_tracks_settle(struct halo_tracks *tracks)
{
    int kept = 0;
    for (int i = 0; i < tracks->tracks; i++) {
        if (!tracks->track[i].old && kept != i)
            tracks->track[kept] = tracks->track[i];
        kept += !tracks->track[i].old;
    }
    tracks->tracks = kept;
}

int halo_tracks_count(const struct halo_tracks *tracks)
{
    return tracks->tracks;
}

/* ---- shapes ---- */

static struct halo_motion motion_of(enum halo_shape_kind kind, struct halo_box box)
{
    return (struct halo_motion){.kind = kind, .relative = true, .box = box};
}

static void put_hidden(struct halo_tracks *tracks, struct halo_region_list *list,
                       const struct mark *mark, int most)
{
    /* An ellipse contains the box around which it was drawn if the margin is large enough. */
    const bool fits = 1 + 2 * tracks->settings.margin >= sqrt(2);
    const enum halo_shape_kind kind =
        tracks->find == HALO_FIND_FACES && fits ? HALO_SHAPE_ELLIPSE : HALO_SHAPE_RECT;
    struct halo_motion from = motion_of(kind, mark->from), to = motion_of(kind, mark->to);
    from.track = to.track = mark->track;
    (void)halo_motion_put(list, &from, &to, tracks->settings.margin + mark->growth, most);
}

/* The margin is for what is hidden; it would leave a nose of a face, or nothing. */
static void put_shown(struct halo_tracks *tracks, const struct frame *frame)
{
    struct halo_region_list list = {.now = &tracks->shown};
    for (int i = 0; i < frame->marks; i++) {
        const struct halo_motion box = motion_of(HALO_SHAPE_ELLIPSE, frame->mark[i].box);
        if (frame->mark[i].sure)
            halo_motion_put_less(&list, &box, 0);
    }
}

/* Returns whether the frame's marks are known, and adds them to the shapes. */
static bool put_frame(struct halo_tracks *tracks, const struct frame *frame)
{
    struct halo_region_list list = {.now = &tracks->hidden};
    const int most =
        frame->marks < HALO_MAX_SHAPES ? HALO_MAX_SHAPES / (frame->marks + !frame->marks) : 1;
    for (int i = 0; i < frame->marks; i++)
        put_hidden(tracks, &list, &frame->mark[i], most);
    put_shown(tracks, frame);
    return !frame->full;
}

/* A frame after the newest: all tracks are as if they were missing in it. */
static void put_later(struct halo_tracks *tracks, int64_t at)
{
    struct halo_region_list list = {.now = &tracks->hidden};
    const int most =
        tracks->tracks < HALO_MAX_SHAPES ? HALO_MAX_SHAPES / (tracks->tracks + !tracks->tracks) : 1;
    for (int i = 0; i < tracks->tracks; i++) {
        const struct mark mark = mark_held(&tracks->track[i], at);
        if (tracks->track[i].reported || at <= tracks->track[i].end)
            put_hidden(tracks, &list, &mark, most);
    }
}

bool halo_tracks_get(struct halo_tracks *tracks, int64_t at_us, struct halo_verdict_shapes *hidden,
                     struct halo_verdict_shapes *shown)
{
    bool known = false;
    tracks->hidden.count = tracks->hidden.corners = 0;
    tracks->shown.count = tracks->shown.corners = 0;
    if (tracks->frames && at_us > tracks_frame(tracks, tracks->frames - 1)->at) {
        put_later(tracks, at_us);
        known = at_us > tracks->crowded;
    }
    for (int i = 0; i < tracks->frames; i++)
        if (tracks_frame(tracks, i)->at == at_us) {
            known = put_frame(tracks, tracks_frame(tracks, i));
            break;
        }
    if (hidden)
        *hidden = (struct halo_verdict_shapes){tracks->hidden.shape, tracks->hidden.count};
    if (shown)
        *shown = (struct halo_verdict_shapes){tracks->shown.shape, tracks->shown.count};
    return known;
}
