/* SPDX-License-Identifier: BSD-2-Clause
 * Where a track is (tracks_private.h): a straight line through its newest boxes. Nobody knows what
 * an object does while no box reports it, so shapes grow meanwhile: by GROW of their size in each
 * second, and by TURN of the distance that they would move, in all directions. */
#include <math.h>

#include "pipeline/detect/tracks_private.h"

static const double GROW = 0.5, GROW_NEW = 1.5, TURN = 0.5, GROW_MAX = 1;
static const double RECENT = 0.4;   /* seconds: boxes from which the speed is computed */
static const double DAMP = 1e-4;    /* s^2: few boxes do not prove a high speed */
static const double MOVE_MAX = 1;   /* seconds for which a movement is continued */
static const double LARGER_MAX = 2; /* how many times as large a box becomes by growing on */
static const double SIZES = 4;      /* ratio of sizes of the same object */
static const double NEAR = 0.35, NEAR_GROW = 0.5, NEAR_MAX = 0.5;
static const double GATE = 0.7, GATE_GROW = 1.5, GATE_MAX = 2;
enum { SEEN_WELL = 4 };

struct halo_box halo_box_around(struct halo_box a, struct halo_box b)
{
    return (struct halo_box){fmin(a.x0, b.x0), fmin(a.y0, b.y0), fmax(a.x1, b.x1),
                             fmax(a.y1, b.y1)};
}

/* Middle and size of a box. */
struct place {
    double x, y, width, height;
};

static struct place place_of(struct halo_box b)
{
    return (struct place){(b.x0 + b.x1) / 2, (b.y0 + b.y1) / 2, b.x1 - b.x0, b.y1 - b.y0};
}

struct speed halo_track_speed(const struct track *track)
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

struct halo_box halo_box_after(struct halo_box box, const struct speed *speed, double seconds)
{
    const double t = limited(seconds, MOVE_MAX);
    const struct place p = place_of(box);
    const double width = fmin(p.width + fmax(speed->width * t, 0), LARGER_MAX * p.width);
    const double height = fmin(p.height + fmax(speed->height * t, 0), LARGER_MAX * p.height);
    const double x = p.x + speed->x * t, y = p.y + speed->y * t;
    return (struct halo_box){x - width / 2, y - height / 2, x + width / 2, y + height / 2};
}

double halo_growth_after(const struct speed *speed, double seconds)
{
    return fmin(fabs(seconds) * ((speed->known ? GROW : GROW_NEW) + TURN * speed->sizes), GROW_MAX);
}

double halo_box_distance(struct halo_box a, struct halo_box b)
{
    const struct place p = place_of(a), q = place_of(b);
    const double width = fmax(p.width, q.width), height = fmax(p.height, q.height);
    if (width > SIZES * fmin(p.width, q.width) || height > SIZES * fmin(p.height, q.height))
        return INFINITY;
    return fmax(fabs(p.x - q.x) / width, fabs(p.y - q.y) / height);
}

double halo_near_after(double seconds)
{
    return fmin(NEAR + NEAR_GROW * fabs(seconds), NEAR_MAX);
}

double halo_gate_after(double seconds)
{
    return fmin(GATE + GATE_GROW * fabs(seconds), GATE_MAX);
}

struct mark halo_mark_held(const struct track *track, int64_t at)
{
    const struct speed speed = halo_track_speed(track);
    const double seconds = (double)(at - track->sight[track->sights - 1].at) / 1e6;
    return (struct mark){.track = track->id,
                         .kind = MARK_HELD,
                         .from = track->kept,
                         .to = halo_box_after(track->kept, &speed, seconds),
                         .growth = halo_growth_after(&speed, seconds)};
}

void halo_mark_put(struct frame *frame, const struct mark *mark)
{
    if (frame->marks < MARKS)
        frame->mark[frame->marks++] = *mark;
    else
        frame->full = true;
}
