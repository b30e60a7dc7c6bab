/* SPDX-License-Identifier: BSD-2-Clause
 * Moving shapes (region_motion.h). The path between two positions always includes everything that
 * the shape would cover if it moved there in a straight line:
 *
 *   rectangle   the box around both
 *   ellipse     a row of ellipses, slightly larger than the larger one, so that nothing shows
 *               between them
 *   polygon     the convex hull of both */
#include "pipeline/region/region_motion.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/error.h"

/* The largest lengths that are accepted; STEP: between the ellipses of a path, in half axes. */
static const double MAX_PIXELS = 1e5, MAX_PARTS = 100, STEP = 0.5;
enum { HULL_POINTS = 8 * HALO_MAX_CORNERS };

/* ---- from an update ---- */

static bool is_length(const struct halo_length *length, bool relative)
{
    return length->relative == relative && isfinite(length->value) &&
           fabs(length->value) <= (relative ? MAX_PARTS : MAX_PIXELS);
}

static int refuse(struct halo_error *err)
{
    return halo_fail(
        err, -EINVAL,
        "lengths must be either all in pixels (at most %g) or all relative (at most %g)",
        MAX_PIXELS, MAX_PARTS);
}

static int read_box(struct halo_motion *ret, const struct halo_shape *shape, struct halo_error *err)
{
    const struct halo_length *all[] = {&shape->x, &shape->y, &shape->width, &shape->height};
    for (int i = 0; i < 4; i++)
        if (!is_length(all[i], ret->relative))
            return refuse(err);
    if (shape->width.value <= 0 || shape->height.value <= 0)
        return halo_fail(err, -EINVAL, "width and height must be greater than 0");
    ret->box =
        (struct halo_box){shape->x.value, shape->y.value, shape->x.value + shape->width.value,
                          shape->y.value + shape->height.value};
    return 0;
}

static struct halo_box box_of_points(const double (*point)[2], int count)
{
    struct halo_box box = {point[0][0], point[0][1], point[0][0], point[0][1]};
    for (int i = 1; i < count; i++) {
        box.x0 = fmin(box.x0, point[i][0]);
        box.y0 = fmin(box.y0, point[i][1]);
        box.x1 = fmax(box.x1, point[i][0]);
        box.y1 = fmax(box.y1, point[i][1]);
    }
    return box;
}

static int read_corners(struct halo_motion *ret, const struct halo_shape *shape,
                        struct halo_error *err)
{
    if (shape->corners < 3 || shape->corners > HALO_MAX_CORNERS || !shape->corner)
        return halo_fail(err, -EINVAL, "a polygon must have 3 to %d corners", HALO_MAX_CORNERS);
    for (int i = 0; i < shape->corners; i++)
        for (int axis = 0; axis < 2; axis++) {
            if (!is_length(&shape->corner[i][axis], ret->relative))
                return refuse(err);
            ret->corner[i][axis] = shape->corner[i][axis].value;
        }
    ret->corners = shape->corners;
    ret->box = box_of_points(ret->corner, ret->corners);
    return 0;
}

int halo_motion_read(struct halo_motion *ret, const struct halo_shape *shape,
                     struct halo_error *err)
{
    ret->kind = shape->kind;
    ret->corners = 0;
    ret->track = shape->track;
    switch (shape->kind) {
    case HALO_SHAPE_RECT:
    case HALO_SHAPE_ELLIPSE:
        ret->relative = shape->x.relative;
        return read_box(ret, shape, err);
    case HALO_SHAPE_POLYGON:
        ret->relative = shape->corner && shape->corners > 0 && shape->corner[0][0].relative;
        return read_corners(ret, shape, err);
    default:
        return halo_fail(err, -EINVAL, "a region must be a rectangle, an ellipse or a polygon");
    }
}

/* ---- boxes ---- */

static struct halo_box around(struct halo_box a, struct halo_box b)
{
    return (struct halo_box){fmin(a.x0, b.x0), fmin(a.y0, b.y0), fmax(a.x1, b.x1),
                             fmax(a.y1, b.y1)};
}

static double area(struct halo_box a)
{
    return (a.x1 - a.x0) * (a.y1 - a.y0);
}

static struct halo_box grown(struct halo_box a, double margin)
{
    const double x = (a.x1 - a.x0) * margin, y = (a.y1 - a.y0) * margin;
    return (struct halo_box){a.x0 - x, a.y0 - y, a.x1 + x, a.y1 + y};
}

static bool is_within(struct halo_box a, double most)
{
    return a.x0 >= -most && a.y0 >= -most && a.x1 <= most && a.y1 <= most;
}

/* The largest length that shapes_draw.c draws; with a longer one it hides everything. */
static double drawn_of(bool relative)
{
    return relative ? HALO_MAX_PARTS : HALO_MAX_LENGTH;
}

static bool can_be_drawn(struct halo_box a, bool relative)
{
    const double most = drawn_of(relative);
    return is_within(a, most) && a.x1 - a.x0 <= most && a.y1 - a.y0 <= most;
}

/* Clips a box. Frames are far smaller than `most`, so none contains the clipped part. */
static struct halo_box within(struct halo_box a, double most)
{
    return (struct halo_box){fmin(fmax(a.x0, -most), most), fmin(fmax(a.y0, -most), most),
                             fmin(fmax(a.x1, -most), most), fmin(fmax(a.y1, -most), most)};
}

void halo_motion_join(struct halo_motion *motion, const struct halo_motion *other)
{
    motion->kind = HALO_SHAPE_RECT;
    motion->box = around(motion->box, other->box);
    if (motion->track != other->track)
        motion->track = 0;
}

/* ---- motion ---- */

static void go_on(double *ret0, double *ret1, const double now[2], const double before[2],
                  double by)
{
    const double size = now[1] - now[0], grows = fmax(size - (before[1] - before[0]), 0);
    const double middle = (now[0] + now[1]) / 2, went = middle - (before[0] + before[1]) / 2;
    const double half = (size + grows * by) / 2;
    *ret0 = middle + went * by - half;
    *ret1 = middle + went * by + half;
}

void halo_motion_go_on(struct halo_motion *ret, const struct halo_motion *motion,
                       const struct halo_motion *before, double by)
{
    const struct halo_box *b = &motion->box, *o = &before->box;
    *ret = *motion;
    go_on(&ret->box.x0, &ret->box.x1, (double[]){b->x0, b->x1}, (double[]){o->x0, o->x1}, by);
    go_on(&ret->box.y0, &ret->box.y1, (double[]){b->y0, b->y1}, (double[]){o->y0, o->y1}, by);
    const double width = b->x1 - b->x0, height = b->y1 - b->y0;
    const double sx = width > 0 ? (ret->box.x1 - ret->box.x0) / width : 1;
    const double sy = height > 0 ? (ret->box.y1 - ret->box.y0) / height : 1;
    for (int i = 0; i < motion->corners; i++) {
        ret->corner[i][0] = ret->box.x0 + (motion->corner[i][0] - b->x0) * sx;
        ret->corner[i][1] = ret->box.y0 + (motion->corner[i][1] - b->y0) * sy;
    }
}

/* ---- into the list ---- */

static struct halo_length length(double value, bool relative)
{
    return (struct halo_length){.value = value, .relative = relative};
}

static void set_box(struct halo_shape *shape, enum halo_shape_kind kind, struct halo_box box,
                    bool relative)
{
    *shape = (struct halo_shape){.kind = kind,
                                 .x = length(box.x0, relative),
                                 .y = length(box.y0, relative),
                                 .width = length(box.x1 - box.x0, relative),
                                 .height = length(box.y1 - box.y0, relative)};
}

static bool is_relative(const struct halo_shape *shape)
{
    return shape->kind == HALO_SHAPE_POLYGON ? shape->corner[0][0].relative : shape->x.relative;
}

/* Merges a box into the shape whose area increases least, which becomes the box around both. False:
 * no shape has this unit. */
static bool fold(struct halo_region_list *list, struct halo_box box, bool relative)
{
    int best = -1;
    double least = INFINITY;
    for (int i = 0; i < list->now->count; i++) {
        const double more = area(around(list->box[i], box)) - area(list->box[i]);
        if (is_relative(&list->now->shape[i]) == relative && more < least) {
            least = more;
            best = i;
        }
    }
    if (best < 0)
        return false;
    list->box[best] = around(list->box[best], box);
    if (!can_be_drawn(list->box[best], relative))
        list->box[best] = within(list->box[best], drawn_of(relative) / 2);
    set_box(&list->now->shape[best], HALO_SHAPE_RECT, list->box[best], relative);
    return true;
}

static bool put_box(struct halo_region_list *list, enum halo_shape_kind kind, struct halo_box box,
                    bool relative)
{
    struct halo_region_now *now = list->now;
    if (!can_be_drawn(box, relative)) {
        kind = HALO_SHAPE_RECT;
        box = within(box, drawn_of(relative) / 2);
    }
    if (now->count == HALO_MAX_SHAPES)
        return fold(list, box, relative);
    list->box[now->count] = box;
    set_box(&now->shape[now->count++], kind, box, relative);
    return true;
}

/* ---- ellipses ---- */

static bool put_ellipses(struct halo_region_list *list, const struct halo_motion *from,
                         const struct halo_motion *to, double margin, int most)
{
    const struct halo_box a = grown(from->box, margin), b = grown(to->box, margin);
    const double rx = fmax(a.x1 - a.x0, b.x1 - b.x0) / 2, ry = fmax(a.y1 - a.y0, b.y1 - b.y0) / 2;
    const double ax = (a.x0 + a.x1) / 2, ay = (a.y0 + a.y1) / 2;
    const double dx = (b.x0 + b.x1) / 2 - ax, dy = (b.y0 + b.y1) / 2 - ay;
    const double way = hypot(dx / rx, dy / ry);
    if (!(ceil(way / STEP) < most))
        return put_box(list, HALO_SHAPE_RECT, around(a, b), from->relative);
    const int steps = (int)ceil(way / STEP);
    const double step = steps ? way / steps : 0;
    const double larger = sqrt(1 + step * step / 4); /* covers the gap halfway between two */
    bool fine = true;
    for (int i = 0; i <= steps; i++) {
        const double at = steps ? (double)i / steps : 0, x = ax + dx * at, y = ay + dy * at;
        const struct halo_box box = {x - rx * larger, y - ry * larger, x + rx * larger,
                                     y + ry * larger};
        fine &= put_box(list, HALO_SHAPE_ELLIPSE, box, from->relative);
    }
    return fine;
}

/* ---- polygons ---- */

static int compare_points(const void *a, const void *b)
{
    const double *p = a, *q = b;
    const int x = (p[0] > q[0]) - (p[0] < q[0]);
    return x ? x : (p[1] > q[1]) - (p[1] < q[1]);
}

static double turn(const double *o, const double *a, const double *b)
{
    return (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0]);
}

/* Sorts the points and writes the corners of their convex hull. Returns the number of corners. */
static int find_hull(double (*point)[2], int count, double (*hull)[2])
{
    int n = 0;
    qsort(point, (size_t)count, sizeof *point, compare_points);
    for (int half = 0; half < 2; half++) {
        const int first = n;
        for (int i = 0; i < count; i++) {
            const double *p = point[half ? count - 1 - i : i];
            while (n >= first + 2 && turn(hull[n - 2], hull[n - 1], p) <= 0)
                n--;
            memcpy(hull[n++], p, sizeof *hull);
        }
        n--; /* the last point begins the other half */
    }
    return n;
}

static bool put_corners(struct halo_region_list *list, const double (*corner)[2], int corners,
                        bool relative)
{
    struct halo_region_now *now = list->now;
    const struct halo_box box = box_of_points(corner, corners);
    if (corners < 3 || corners > HALO_MAX_CORNERS || now->count == HALO_MAX_SHAPES ||
        now->corners + corners > HALO_REGION_CORNERS || !can_be_drawn(box, relative))
        return put_box(list, HALO_SHAPE_RECT, box, relative);
    struct halo_length(*to)[2] = &now->corner[now->corners];
    for (int i = 0; i < corners; i++)
        for (int axis = 0; axis < 2; axis++)
            to[i][axis] = length(corner[i][axis], relative);
    now->corners += corners;
    list->box[now->count] = box;
    now->shape[now->count++] = (struct halo_shape){
        .kind = HALO_SHAPE_POLYGON,
        .corner = to,
        .corners = corners,
    };
    return true;
}

static int add_grown(double (*point)[2], int count, const struct halo_motion *motion, double margin)
{
    const double x = (motion->box.x1 - motion->box.x0) * margin;
    const double y = (motion->box.y1 - motion->box.y0) * margin;
    for (int i = 0; i < motion->corners; i++)
        for (int k = 0; k < 4; k++, count++) {
            point[count][0] = motion->corner[i][0] + (k & 1 ? x : -x);
            point[count][1] = motion->corner[i][1] + (k & 2 ? y : -y);
        }
    return count;
}

static bool put_polygon(struct halo_region_list *list, const struct halo_motion *from,
                        const struct halo_motion *to, double margin)
{
    double point[HULL_POINTS][2], hull[2 * HULL_POINTS][2];
    if (from == to && margin <= 0)
        return put_corners(list, from->corner, from->corners, from->relative);
    int count = add_grown(point, 0, from, margin);
    if (from != to)
        count = add_grown(point, count, to, margin);
    const int corners = find_hull(point, count, hull);
    if (corners < 3)
        return put_box(list, HALO_SHAPE_RECT, box_of_points(point, count), from->relative);
    return put_corners(list, hull, corners, from->relative);
}

static bool put_way(struct halo_region_list *list, const struct halo_motion *from,
                    const struct halo_motion *to, double margin, int most)
{
    if (from->kind == HALO_SHAPE_ELLIPSE && to->kind == HALO_SHAPE_ELLIPSE)
        return put_ellipses(list, from, to, margin, most);
    if (from->kind == HALO_SHAPE_POLYGON && to->kind == HALO_SHAPE_POLYGON)
        return put_polygon(list, from, to, margin);
    return put_box(list, HALO_SHAPE_RECT, around(grown(from->box, margin), grown(to->box, margin)),
                   from->relative);
}

bool halo_motion_put(struct halo_region_list *list, const struct halo_motion *from,
                     const struct halo_motion *to, double margin, int most)
{
    if (to && to->relative != from->relative)
        return halo_motion_put(list, from, NULL, margin, 1) &&
               halo_motion_put(list, to, NULL, margin, 1);
    const int first = list->now->count;
    const bool fine = put_way(list, from, to ? to : from, margin, most);
    for (int i = first; i < list->now->count; i++)
        list->now->shape[i].track = from->track;
    return fine;
}

void halo_motion_put_less(struct halo_region_list *list, const struct halo_motion *motion,
                          double margin)
{
    const struct halo_box box = grown(motion->box, -margin);
    const bool polygon = motion->kind == HALO_SHAPE_POLYGON;
    if (list->now->count == HALO_MAX_SHAPES || !can_be_drawn(motion->box, motion->relative))
        return;
    if (polygon && list->now->corners + motion->corners <= HALO_REGION_CORNERS)
        (void)put_corners(list, motion->corner, motion->corners, motion->relative);
    else if (!polygon && box.x0 < box.x1 && box.y0 < box.y1)
        (void)put_box(list, motion->kind, box, motion->relative);
}
