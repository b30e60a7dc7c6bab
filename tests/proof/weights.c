/* SPDX-License-Identifier: BSD-2-Clause
 * What a region hides (spec.h), sample by sample: no spans, no envelopes, nothing is kept. */
#include <math.h>
#include <string.h>

#include "pipeline/frame/format.h"
#include "tests/proof/spec.h"

#define TOO_NEAR 1e-7
#define SLACK    (4e-4 / PROOF_UNIT) /* pixels by which halod may draw an ellipse larger */

/* A plane's sample, in luma pixels; its far ends may lie out of the frame. */
struct area {
    double x0, y0, x1, y1;
};

struct frame {
    int width, height;
    bool unsure;
};

static double pixels(const struct proof_length *length, int whole)
{
    return length->relative ? (double)length->value * whole / PROOF_EIGHTHS
                            : (double)length->value / PROOF_UNIT;
}

static struct area box_of(const struct proof_shape *s, const struct frame *p)
{
    const double x = pixels(&s->at[0], p->width), y = pixels(&s->at[1], p->height);
    return (struct area){x, y, x + pixels(&s->size[0], p->width),
                         y + pixels(&s->size[1], p->height)};
}

static bool meets_rect(const struct area *r, const struct area *a)
{
    return r->x0 < a->x1 && a->x0 < r->x1 && r->y0 < a->y1 && a->y0 < r->y1 && r->x0 < r->x1 &&
           r->y0 < r->y1;
}

/* What a sample has out of the frame nobody sees. */
static bool rect_holds(const struct area *r, const struct area *a, const struct frame *p)
{
    return r->x0 <= a->x0 && fmin(a->x1, p->width) <= r->x1 && r->y0 <= a->y0 &&
           fmin(a->y1, p->height) <= r->y1;
}

/* How far a point is from the middle, 1 on the ellipse. */
static double distance(const struct area *e, double x, double y)
{
    const double a = (e->x1 - e->x0) / 2, b = (e->y1 - e->y0) / 2;
    const double dx = (x - (e->x0 + e->x1) / 2) / a, dy = (y - (e->y0 + e->y1) / 2) / b;
    return dx * dx + dy * dy;
}

static double between(double v, double least, double most)
{
    return fmax(least, fmin(v, most));
}

/* The distance, of that ellipse. */
static bool is_within(const struct area *e, double distance, struct frame *p)
{
    const double half = fmin(e->x1 - e->x0, e->y1 - e->y0) / 2;
    p->unsure |= fabs(distance - 1) < TOO_NEAR + 2 * SLACK / half;
    return distance < 1;
}

static bool meets_ellipse(const struct area *e, const struct area *a, struct frame *p)
{
    const double x = between((e->x0 + e->x1) / 2, a->x0, a->x1);
    const double y = between((e->y0 + e->y1) / 2, a->y0, a->y1);
    return is_within(e, distance(e, x, y), p);
}

static bool ellipse_holds(const struct area *e, const struct area *a, struct frame *p)
{
    const double most = fmax(fmax(distance(e, a->x0, a->y0), distance(e, a->x1, a->y0)),
                             fmax(distance(e, a->x0, a->y1), distance(e, a->x1, a->y1)));
    return is_within(e, most, p);
}

/* The part of a line, from 0 to 1, that lies between two others. False: nothing does. */
static bool cut(double from, double by, double least, double most, double part[2])
{
    if (by == 0)
        return least < from && from < most;
    const double t0 = (least - from) / by, t1 = (most - from) / by;
    part[0] = fmax(part[0], fmin(t0, t1));
    part[1] = fmin(part[1], fmax(t0, t1));
    return true;
}

/* Whether the line goes through the area, and not only along its border. */
static bool line_meets(const double from[2], const double to[2], const struct area *a,
                       struct frame *p)
{
    double part[2] = {0, 1};
    if (!cut(from[0], to[0] - from[0], a->x0, a->x1, part) ||
        !cut(from[1], to[1] - from[1], a->y0, a->y1, part))
        return false;
    const bool slanted = from[0] != to[0] && from[1] != to[1];
    p->unsure |= slanted && fabs(part[1] - part[0]) < TOO_NEAR;
    return part[0] < part[1];
}

/* Even-odd. Where no side goes through the area all of it is inside or nothing is. */
static bool meets_polygon(const struct proof_shape *s, const struct area *a, bool *ret_crossed,
                          struct frame *p)
{
    const double x = (a->x0 + a->x1) / 2, y = (a->y0 + a->y1) / 2;
    bool inside = false;
    *ret_crossed = false;
    for (int i = 0; i < s->corners; i++) {
        const struct proof_length *one = s->corner[i], *other = s->corner[(i + 1) % s->corners];
        const double from[2] = {pixels(&one[0], p->width), pixels(&one[1], p->height)};
        const double to[2] = {pixels(&other[0], p->width), pixels(&other[1], p->height)};
        *ret_crossed |= line_meets(from, to, a, p);
        if ((from[1] > y) != (to[1] > y) &&
            x < from[0] + (y - from[1]) / (to[1] - from[1]) * (to[0] - from[0]))
            inside = !inside;
    }
    return inside;
}

/* The most of what is hidden in the mask's pixels under the area. */
static int most_of_mask(const struct proof_shape *s, const struct area *a, bool invert,
                        const struct frame *p)
{
    int most = 0;
    for (int y = 0; y < s->mask_height; y++)
        for (int x = 0; x < s->mask_width; x++) {
            const int weight = s->mask[y * s->mask_width + x];
            const bool under = x * p->width < fmin(a->x1, p->width) * s->mask_width &&
                               (x + 1) * p->width > a->x0 * s->mask_width &&
                               y * p->height < fmin(a->y1, p->height) * s->mask_height &&
                               (y + 1) * p->height > a->y0 * s->mask_height;
            if (under && (invert ? 255 - weight : weight) > most)
                most = invert ? 255 - weight : weight;
        }
    return most;
}

/* What one shape hides; with invert, what it leaves hidden. */
static int weight_of(const struct proof_shape *s, const struct area *a, bool invert,
                     struct frame *p)
{
    const struct area box = box_of(s, p);
    bool crossed, inside;
    switch (s->kind) {
    case PROOF_RECT:
        return (invert ? !rect_holds(&box, a, p) : meets_rect(&box, a)) ? 255 : 0;
    case PROOF_ELLIPSE:
        return (invert ? !ellipse_holds(&box, a, p) : meets_ellipse(&box, a, p)) ? 255 : 0;
    case PROOF_POLYGON:
        inside = meets_polygon(s, a, &crossed, p);
        return (invert ? crossed || !inside : crossed || inside) ? 255 : 0;
    default:
        return most_of_mask(s, a, invert, p);
    }
}

/* 255 (1 - d / feather), rounded up, of squares of whole numbers. */
static int faded(long squared_distance, int feather)
{
    int ret = 0;
    while ((long)(255 - ret) * (255 - ret) * feather * feather > 255L * 255 * squared_distance)
        ret++;
    return ret;
}

/* Of a plane. */
struct samples {
    int width, height;
    int log2_x, log2_y; /* pixels of the frame to one */
};

/* Of what lies outside of all that is hidden, from the nearest that is. */
static int feathered(const struct samples *of, const uint8_t *hard, int feather, int x, int y)
{
    const int reach_x = (feather >> of->log2_x) + 1, reach_y = (feather >> of->log2_y) + 1;
    long nearest = (long)feather * feather;
    for (int v = y - reach_y; v <= y + reach_y; v++)
        for (int u = x - reach_x; u <= x + reach_x; u++) {
            const long dx = (long)(u - x) * (1 << of->log2_x);
            const long dy = (long)(v - y) * (1 << of->log2_y);
            if (u >= 0 && u < of->width && v >= 0 && v < of->height && hard[v * of->width + u] &&
                dx * dx + dy * dy < nearest)
                nearest = dx * dx + dy * dy;
        }
    return faded(nearest, feather);
}

static void feather(const struct samples *of, int feather, uint8_t *weights)
{
    static _Thread_local uint8_t hard[1 << 18];
    if (!feather)
        return;
    memcpy(hard, weights, (size_t)of->width * (size_t)of->height);
    for (int y = 0; y < of->height; y++)
        for (int x = 0; x < of->width; x++)
            if (!hard[y * of->width + x])
                weights[y * of->width + x] = (uint8_t)feathered(of, hard, feather, x, y);
}

/* Of each sample the largest of those that are so near. */
static void spread(const struct samples *of, int by_x, int by_y, uint8_t *weights)
{
    const int width = of->width, height = of->height;
    static _Thread_local uint8_t own[1 << 18];
    memcpy(own, weights, (size_t)width * (size_t)height);
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            for (int v = y - by_y; v <= y + by_y; v++)
                for (int u = x - by_x; u <= x + by_x; u++)
                    if (u >= 0 && u < width && v >= 0 && v < height &&
                        own[v * width + u] > weights[y * width + x])
                        weights[y * width + x] = own[v * width + u];
}

bool proof_weights(const struct proof_region *region, int frame_width, int frame_height, int log2_x,
                   int log2_y, uint8_t *ret)
{
    struct frame p = {frame_width, frame_height, false};
    const int across = 1 << log2_x, down = 1 << log2_y;
    const struct samples of = {(frame_width + across - 1) / across,
                               (frame_height + down - 1) / down, log2_x, log2_y};
    for (int y = 0; y < of.height; y++)
        for (int x = 0; x < of.width; x++) {
            const struct area a = {x * across, y * down, (x + 1) * across, (y + 1) * down};
            int weight = region->invert || region->all ? 255 : 0;
            for (int i = 0; i < region->count && !region->all; i++) {
                const int one = weight_of(&region->shape[i], &a, region->invert, &p);
                weight = region->invert == (one < weight) ? one : weight;
            }
            ret[y * of.width + x] = (uint8_t)(region->whole && weight ? 255 : weight);
        }
    spread(&of, log2_x && region->spill & HALO_SPILL_X, log2_y && region->spill & HALO_SPILL_Y,
           ret);
    feather(&of, region->feather, ret);
    return !p.unsure;
}

/* 0 is at the same place in every size. */
static bool is_in_pixels(const struct proof_length length[2])
{
    return (!length[0].relative && length[0].value) || (!length[1].relative && length[1].value);
}

struct proof_region proof_step_region(const struct proof_step *step)
{
    return (struct proof_region){
        step->shape,   step->count, step->count == 0,           step->invert,
        step->feather, step->spill, step->filter == PROOF_BLACK};
}

bool proof_step_has_pixels(const struct proof_step *step)
{
    bool ret = false;
    for (int i = 0; i < step->count; i++) {
        const struct proof_shape *s = &step->shape[i];
        for (int c = 0; c < s->corners; c++)
            ret |= is_in_pixels(s->corner[c]);
        if (s->kind == PROOF_RECT || s->kind == PROOF_ELLIPSE)
            ret |= is_in_pixels(s->at) || is_in_pixels(s->size);
    }
    return ret;
}
