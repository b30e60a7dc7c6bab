/* SPDX-License-Identifier: BSD-2-Clause
 * What a region feed hides (expected.h). */
#include "tests/proof/expected.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    UPDATES = 100, /* of a session; more are not told */
    AHEAD_US = 100000,
    POINTS = 2 * 4 * PROOF_CORNERS,
};

#define TIE      1e-6 /* of a step of 1/4096 pixel */
#define NEAR     1e-9 /* of parts of ways, and of cross products */
#define FARTHEST 3.9  /* parts of a frame */

/* A shape in one unit: pixels, or parts of the frame. */
struct motion {
    enum proof_shape_kind kind;
    bool relative;
    double x0, y0, x1, y1;
    double corner[PROOF_CORNERS][2];
    int corners;
    bool joined; /* a box around more than was told */
};

struct proof_expected {
    struct proof_expected_settings set;
    int64_t session, newest;
    struct proof_update update[UPDATES]; /* since the session began, or all was forgotten */
    int count;
    int64_t last; /* the frame of the last update, forgotten or not */
};

struct proof_expected *proof_expected_open(const struct proof_expected_settings *settings)
{
    struct proof_expected *t = calloc(1, sizeof *t);
    if (!t)
        abort();
    t->set = *settings;
    proof_expected_forget(t);
    return t;
}

void proof_expected_close(struct proof_expected *t)
{
    free(t);
}

void proof_expected_begin(struct proof_expected *t, int64_t frame)
{
    t->count = 0;
    t->session = frame;
}

void proof_expected_pass(struct proof_expected *t, int64_t frame)
{
    t->newest = frame;
}

static bool is_silent(const struct proof_expected *t, int64_t now)
{
    return t->count == 0 || now - t->update[t->count - 1].came > t->set.limit * 1000;
}

int proof_expected_update(struct proof_expected *t, const struct proof_update *update)
{
    if (update->frame > t->newest + AHEAD_US)
        return -ERANGE;
    if (update->frame < t->session || (update->frame < t->last && !is_silent(t, update->came)))
        return -ESTALE;
    proof_expected_add(t, update);
    return 0;
}

/* About an older frame only after silence, when all is forgotten. */
void proof_expected_add(struct proof_expected *t, const struct proof_update *update)
{
    if (t->count == UPDATES || (t->count > 0 && update->frame < t->last))
        t->count = 0;
    t->update[t->count++] = *update;
    t->last = update->frame;
}

void proof_expected_forget(struct proof_expected *t)
{
    t->count = 0;
    t->session = t->newest = t->last = INT64_MIN;
}

bool proof_expected_mixes(const struct proof_expected *t, const struct proof_update *u)
{
    bool ret = false;
    for (int i = 0; i < t->count; i++)
        for (int k = 0; k < t->update[i].count; k++)
            for (int n = 0; n < u->count && t->update[i].frame == u->frame; n++)
                ret |= *u->thing[n].id && !strcmp(u->thing[n].id, t->update[i].thing[k].id) &&
                       proof_shape_is_relative(&u->thing[n].shape) !=
                           proof_shape_is_relative(&t->update[i].thing[k].shape);
    return ret;
}

/* ---- shapes in time ---- */

static double number(const struct proof_length *length)
{
    return length->relative ? (double)length->value / PROOF_EIGHTHS
                            : (double)length->value / PROOF_UNIT;
}

static void read_motion(const struct proof_shape *s, struct motion *ret)
{
    *ret = (struct motion){.kind = s->kind, .corners = s->corners};
    ret->relative = proof_shape_is_relative(s);
    if (s->kind != PROOF_POLYGON) {
        ret->x0 = number(&s->at[0]);
        ret->y0 = number(&s->at[1]);
        ret->x1 = ret->x0 + number(&s->size[0]);
        ret->y1 = ret->y0 + number(&s->size[1]);
        return;
    }
    ret->x0 = ret->y0 = HUGE_VAL;
    ret->x1 = ret->y1 = -HUGE_VAL;
    for (int i = 0; i < s->corners; i++) {
        const double x = number(&s->corner[i][0]), y = number(&s->corner[i][1]);
        ret->corner[i][0] = x;
        ret->corner[i][1] = y;
        ret->x0 = fmin(ret->x0, x);
        ret->y0 = fmin(ret->y0, y);
        ret->x1 = fmax(ret->x1, x);
        ret->y1 = fmax(ret->y1, y);
    }
}

static void join(struct motion *a, const struct motion *b)
{
    a->kind = PROOF_RECT;
    a->joined = true;
    a->x0 = fmin(a->x0, b->x0);
    a->y0 = fmin(a->y0, b->y0);
    a->x1 = fmax(a->x1, b->x1);
    a->y1 = fmax(a->y1, b->y1);
}

/* What it covers along one side. */
struct extent {
    double from, to;
};

/* That if it goes on: the middle as fast as before, and the size grows as it did, or stays. */
static struct extent extend(struct extent now, struct extent before, double by)
{
    const double size = now.to - now.from, more = size - (before.to - before.from);
    const double middle = (now.from + now.to) / 2, way = middle - (before.from + before.to) / 2;
    const double half = (size + (more > 0 ? more * by : 0)) / 2;
    return (struct extent){middle + way * by - half, middle + way * by + half};
}

static void go_on(const struct motion *now, const struct motion *before, double by,
                  struct motion *ret)
{
    const struct extent x =
        extend((struct extent){now->x0, now->x1}, (struct extent){before->x0, before->x1}, by);
    const struct extent y =
        extend((struct extent){now->y0, now->y1}, (struct extent){before->y0, before->y1}, by);
    *ret = *now;
    ret->x0 = x.from;
    ret->x1 = x.to;
    ret->y0 = y.from;
    ret->y1 = y.to;
    for (int i = 0; i < now->corners; i++) {
        const double right = now->x1 > now->x0 ? (ret->x1 - ret->x0) / (now->x1 - now->x0) : 1;
        const double down = now->y1 > now->y0 ? (ret->y1 - ret->y0) / (now->y1 - now->y0) : 1;
        ret->corner[i][0] = ret->x0 + (now->corner[i][0] - now->x0) * right;
        ret->corner[i][1] = ret->y0 + (now->corner[i][1] - now->y0) * down;
    }
}

/* ---- what was told of one thing ---- */

/* In one frame, and in the one before that it was told of in, as the same thing. */
struct track {
    struct motion last, before;
    int64_t at, at_before;
    bool moves, named; /* there is a `before`; the last update named it */
    int64_t until;     /* us, by its ttl */
    int64_t end;       /* us, where it is not named */
};

/* Frames that were told of, in their order: of the one at update i, where that is the first. */
static bool is_new_frame(const struct proof_expected *t, int i)
{
    return i == 0 || t->update[i].frame != t->update[i - 1].frame;
}

/* What one frame's updates, from first up to end, say of that id. False: nothing. */
static bool find_updated(const struct proof_expected *t, int first, int end, const char *id,
                         struct motion *ret, int64_t *ret_ttl)
{
    bool found = false;
    *ret_ttl = 0;
    for (int i = first; i < end; i++)
        for (int k = 0; k < t->update[i].count; k++) {
            struct motion motion;
            if (strcmp(t->update[i].thing[k].id, id) != 0)
                continue;
            read_motion(&t->update[i].thing[k].shape, &motion);
            if (found)
                join(ret, &motion);
            else
                *ret = motion;
            *ret_ttl = t->update[i].thing[k].ttl > *ret_ttl ? t->update[i].thing[k].ttl : *ret_ttl;
            found = true;
        }
    return found;
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Through all frames from update `from` on. The track is not there before it is named. */
static bool follow(const struct proof_expected *t, int from, const char *id, struct track *ret)
{
    bool there = false;
    int64_t before = t->update[from].frame;
    for (int i = from, end; i < t->count; i = end) {
        const int64_t at = t->update[i].frame;
        struct motion motion;
        int64_t ttl;
        for (end = i + 1; end < t->count && !is_new_frame(t, end); end++)
            ;
        if (there && ret->named)
            ret->end = later(at + t->set.hold, ret->until);
        if (there && !ret->named && ret->end < before)
            there = false; /* no frame asks for it any more */
        before = at;
        if (!find_updated(t, i, end, id, &motion, &ttl)) {
            ret->named = false;
            continue;
        }
        if (!there)
            *ret = (struct track){.until = INT64_MIN};
        else
            ret->before = ret->last, ret->at_before = ret->at, ret->moves = true;
        there = ret->named = true;
        ret->last = motion;
        ret->at = at;
        ret->until = later(ret->until, at + ttl);
    }
    return there;
}

/* ---- into pixels ---- */

struct sheet {
    struct proof_drawn *to;
    struct proof_place *place;
    int width, height;
    double margin;
    int most; /* shapes for one thing */
};

/* A number of the form's unit, to the nearest 1/4096 pixel. */
static int steps(struct sheet *s, double value, bool relative, int whole)
{
    const double at = (relative ? value * whole : value) * PROOF_UNIT;
    const double tie = fabs(at - floor(at) - 0.5);
    s->place->unsure |= fabs(at) > 1e8 || (tie < TIE && tie > 0);
    return fabs(at) > 1e8 ? 0 : (int)lround(at);
}

static struct proof_shape *add(struct sheet *s)
{
    if (s->to->count == PROOF_EXPECTED_MAX) {
        s->place->unsure = true;
        return &s->to->shape[0];
    }
    return &s->to->shape[s->to->count++];
}

/* So far out, or so long, that halod may hide the box around it instead. */
static bool is_far(double first, double last)
{
    return fabs(first) > FARTHEST || fabs(last) > FARTHEST || last - first > FARTHEST;
}

static void put_box(struct sheet *s, enum proof_shape_kind kind, const double box[4], bool relative)
{
    struct proof_shape *to = add(s);
    *to = (struct proof_shape){.kind = kind};
    for (int d = 0; d < 2; d++) {
        const int whole = d ? s->height : s->width;
        const double size = box[d + 2] - box[d];
        const double first = relative ? box[d] * whole : box[d];
        const double last = first + (relative ? size * whole : size);
        to->at[d].value = steps(s, box[d], relative, whole);
        to->size[d].value = steps(s, last, false, 0) - to->at[d].value;
        s->place->unsure |= relative && is_far(box[d], box[d + 2]);
    }
}

static void put_corners(struct sheet *s, double (*corner)[2], int corners, bool relative)
{
    struct proof_shape *to = add(s);
    *to = (struct proof_shape){.kind = PROOF_POLYGON};
    for (int d = 0; d < 2; d++) {
        double first = corner[0][d], last = first;
        for (int i = 0; i < corners && i < PROOF_CORNERS; i++) {
            to->corner[i][d].value = steps(s, corner[i][d], relative, d ? s->height : s->width);
            first = fmin(first, corner[i][d]);
            last = fmax(last, corner[i][d]);
        }
        s->place->unsure |= relative && is_far(first, last);
    }
    to->corners = corners < PROOF_CORNERS ? corners : PROOF_CORNERS;
    s->place->unsure |= corners > PROOF_CORNERS;
}

static void grow(const struct motion *f, double margin, double ret[4])
{
    const double x = (f->x1 - f->x0) * margin, y = (f->y1 - f->y0) * margin;
    ret[0] = f->x0 - x;
    ret[1] = f->y0 - y;
    ret[2] = f->x1 + x;
    ret[3] = f->y1 + y;
}

static void put_around(struct sheet *s, const double a[4], const double b[4], bool relative)
{
    const double both[4] = {fmin(a[0], b[0]), fmin(a[1], b[1]), fmax(a[2], b[2]), fmax(a[3], b[3])};
    put_box(s, PROOF_RECT, both, relative);
}

/* From one to the other in equal steps of half a semi-axis at most; each as large as the larger of
 * both, and so much more that between two of them it is still as wide as that. */
static void put_ellipses(struct sheet *s, const double a[4], const double b[4], bool relative)
{
    const double rx = fmax(a[2] - a[0], b[2] - b[0]) / 2, ry = fmax(a[3] - a[1], b[3] - b[1]) / 2;
    const double x = (a[0] + a[2]) / 2, dx = (b[0] + b[2]) / 2 - x;
    const double y = (a[1] + a[3]) / 2, dy = (b[1] + b[3]) / 2 - y;
    const double way = hypot(dx / rx, dy / ry), count = ceil(way / 0.5);
    s->place->unsure |= way > 0 && fabs(way / 0.5 - nearbyint(way / 0.5)) < NEAR;
    if (count >= s->most) {
        put_around(s, a, b, relative);
        return;
    }
    const double one = count > 0 ? way / count : 0, more = sqrt(1 + one * one / 4);
    for (int i = 0; i <= (int)count; i++) {
        const double part = count > 0 ? i / count : 0;
        const double box[4] = {x + dx * part - rx * more, y + dy * part - ry * more,
                               x + dx * part + rx * more, y + dy * part + ry * more};
        put_box(s, PROOF_ELLIPSE, box, relative);
    }
}

/* Round the outermost points, from the leftmost on: each time to the one that has all others on one
 * side, the farthest of those on a line. */
static int wrap(struct sheet *s, double (*point)[2], int count, double (*ret)[2])
{
    int first = 0, at, corners = 0;
    for (int i = 1; i < count; i++)
        if (point[i][0] < point[first][0] ||
            (point[i][0] == point[first][0] && point[i][1] < point[first][1]))
            first = i;
    at = first;
    do {
        int next = -1;
        if (corners < PROOF_CORNERS)
            memcpy(ret[corners], point[at], sizeof *ret);
        corners++;
        for (int i = 0; i < count; i++) {
            const double ix = point[i][0] - point[at][0], iy = point[i][1] - point[at][1];
            if (ix == 0 && iy == 0)
                continue;
            if (next < 0) {
                next = i;
                continue;
            }
            const double nx = point[next][0] - point[at][0], ny = point[next][1] - point[at][1];
            const double turn = nx * iy - ny * ix;
            s->place->unsure |= turn != 0 && fabs(turn) < NEAR;
            if (turn < 0 || (turn == 0 && hypot(ix, iy) > hypot(nx, ny)))
                next = i;
        }
        at = next;
    } while (at >= 0 && (point[at][0] != point[first][0] || point[at][1] != point[first][1]) &&
             corners <= PROOF_CORNERS);
    return corners;
}

static int add_points(double (*point)[2], int count, const struct motion *f, double margin)
{
    const double x = (f->x1 - f->x0) * margin, y = (f->y1 - f->y0) * margin;
    for (int i = 0; i < f->corners; i++)
        for (int k = 0; k < 4; k++, count++) {
            point[count][0] = f->corner[i][0] + (k < 2 ? x : -x);
            point[count][1] = f->corner[i][1] + (k % 2 ? y : -y);
        }
    return count;
}

static void put_hull(struct sheet *s, const struct motion *a, const struct motion *b)
{
    double point[POINTS][2], corner[PROOF_CORNERS][2];
    int count = add_points(point, 0, a, s->margin);
    if (b != a)
        count = add_points(point, count, b, s->margin);
    const int corners = wrap(s, point, count, corner);
    s->place->unsure |= corners < 3;
    put_corners(s, corner, corners, a->relative);
}

/* All that lies on the way from a to b; b may be a. */
static void put_way(struct sheet *s, const struct motion *a, const struct motion *b)
{
    double from[4], to[4];
    grow(a, s->margin, from);
    grow(b, s->margin, to);
    if (a->kind == PROOF_ELLIPSE && b->kind == PROOF_ELLIPSE)
        put_ellipses(s, from, to, a->relative);
    else if (a->kind != PROOF_POLYGON || b->kind != PROOF_POLYGON)
        put_around(s, from, to, a->relative);
    else if (a == b && s->margin == 0)
        put_corners(s, (double(*)[2])a->corner, a->corners, a->relative);
    else
        put_hull(s, a, b);
}

static void put_track(struct sheet *s, const struct track *k, int64_t frame)
{
    struct motion there;
    const bool alike = k->moves && k->last.relative == k->before.relative;
    s->place->moving |= k->moves && frame != k->at;
    s->place->held |= !k->named;
    if (k->moves && frame < k->at && alike) {
        put_way(s, &k->before, &k->last);
    } else if (k->moves && frame < k->at) {
        put_way(s, &k->before, &k->before);
        put_way(s, &k->last, &k->last);
    } else if (alike && frame > k->at) {
        go_on(&k->last, &k->before, (double)(frame - k->at) / (double)(k->at - k->at_before),
              &there);
        put_way(s, &k->last, &there);
    } else {
        put_way(s, &k->last, &k->last);
    }
}

static void put_shown(struct sheet *s, const struct track *k)
{
    double box[4];
    if (!k->named || k->last.joined)
        return;
    grow(&k->last, -s->margin, box);
    if (k->last.kind == PROOF_POLYGON)
        put_corners(s, (double(*)[2])k->last.corner, k->last.corners, k->last.relative);
    else
        put_box(s, k->last.kind, box, k->last.relative);
}

/* ---- all things ---- */

/* Whether the thing is the first of its name; those without are one each. */
static bool is_first(const struct proof_expected *t, int update, int thing)
{
    const char *id = t->update[update].thing[thing].id;
    for (int i = 0; *id && i < update; i++)
        for (int k = 0; k < t->update[i].count; k++)
            if (!strcmp(t->update[i].thing[k].id, id))
                return false;
    return true;
}

/* One without a name is told of once, and held. */
static void nameless(const struct proof_expected *t, int update, int thing, struct track *ret)
{
    const struct proof_update *u = &t->update[update];
    *ret = (struct track){.at = u->frame, .named = true, .until = u->frame + u->thing[thing].ttl};
    read_motion(&u->thing[thing].shape, &ret->last);
    for (int i = update + 1; i < t->count && ret->named; i++)
        if (t->update[i].frame != u->frame) {
            ret->named = false;
            ret->end = later(t->update[i].frame + t->set.hold, ret->until);
        }
}

static int find_tracks(const struct proof_expected *t, int64_t frame, struct track *ret, int most)
{
    int count = 0;
    for (int i = 0; i < t->count; i++)
        for (int k = 0; k < t->update[i].count && count < most; k++) {
            const char *id = t->update[i].thing[k].id;
            bool there = is_first(t, i, k);
            if (there && *id)
                there = follow(t, 0, id, &ret[count]);
            else if (there)
                nameless(t, i, k, &ret[count]);
            count += there && (ret[count].named || frame <= ret[count].end);
        }
    return count;
}

/* The frame that was told of before the last one; the last, where there is none. */
static int64_t frame_before(const struct proof_expected *t)
{
    int i = t->count - 1;
    while (i > 0 && t->update[i].frame == t->last)
        i--;
    return t->update[i].frame;
}

void proof_expected_at(const struct proof_expected *t, int64_t frame, int64_t now, int width,
                       int height, struct proof_place *ret)
{
    static _Thread_local struct track track[PROOF_EXPECTED_MAX];
    ret->unsure = ret->moving = ret->held = false;
    ret->hidden.count = ret->shown.count = 0;
    ret->known = !is_silent(t, now) && frame <= t->last + t->set.limit && frame >= frame_before(t);
    if (!ret->known)
        return;
    const int count = find_tracks(t, frame, track, PROOF_EXPECTED_MAX);
    struct sheet sheet = {.to = &ret->hidden,
                          .place = ret,
                          .width = width,
                          .height = height,
                          .margin = (double)t->set.margin / 8,
                          .most = count ? PROOF_EXPECTED_MAX / count : 0};
    for (int i = 0; i < count; i++)
        put_track(&sheet, &track[i], frame);
    sheet.to = &ret->shown;
    for (int i = 0; i < count && frame >= t->last; i++)
        put_shown(&sheet, &track[i]);
}

void proof_place_regions(const struct proof_place *place, struct proof_region ret[2])
{
    ret[0] = (struct proof_region){
        .shape = place->hidden.shape, .count = place->hidden.count, .all = !place->known};
    ret[1] = (struct proof_region){
        .shape = place->shown.shape, .count = place->shown.count, .all = !place->known};
}

/* ---- in halod's words ---- */

static struct halo_length say_length(const struct proof_length *length)
{
    return (struct halo_length){number(length), length->relative};
}

void proof_update_say(const struct proof_update *u, struct halo_region_update *ret,
                      struct halo_length (*corners)[PROOF_CORNERS][2])
{
    static const enum halo_shape_kind kinds[] = {HALO_SHAPE_RECT, HALO_SHAPE_ELLIPSE,
                                                 HALO_SHAPE_POLYGON};
    for (int i = 0; i < u->count; i++) {
        const struct proof_shape *s = &u->thing[i].shape;
        ret[i] = (struct halo_region_update){
            .shape = {.kind = kinds[s->kind], .corners = s->corners, .corner = corners[i]},
            .ttl = (double)u->thing[i].ttl / 1e6};
        memcpy(ret[i].id, u->thing[i].id, sizeof u->thing[i].id);
        for (int k = 0; k < s->corners; k++)
            for (int d = 0; d < 2; d++)
                corners[i][k][d] = say_length(&s->corner[k][d]);
        ret[i].shape.x = say_length(&s->at[0]);
        ret[i].shape.y = say_length(&s->at[1]);
        ret[i].shape.width = say_length(&s->size[0]);
        ret[i].shape.height = say_length(&s->size[1]);
    }
}
