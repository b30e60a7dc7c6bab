/* SPDX-License-Identifier: BSD-2-Clause
 * Drawing shapes (shapes.h). A row of samples is a band of the frame. A shape covers spans of each
 * band; a sample belongs to the shape if a span touches any part of it, or, with invert, if the
 * shape contains all of it. Coordinates are integers in units of 1/4096 pixel, so that edges are
 * exact. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/region/mask_image.h"
#include "pipeline/region/shapes_private.h"

/* The smallest rectangle that contains both `a` and `b`. An empty rectangle is ignored. */
static struct halo_rect both_of(struct halo_rect a, struct halo_rect b)
{
    if (b.x0 >= b.x1 || b.y0 >= b.y1)
        return a;
    if (a.x0 >= a.x1 || a.y0 >= a.y1)
        return b;
    return (struct halo_rect){a.x0 < b.x0 ? a.x0 : b.x0, a.y0 < b.y0 ? a.y0 : b.y0,
                              a.x1 > b.x1 ? a.x1 : b.x1, a.y1 > b.y1 ? a.y1 : b.y1};
}

/* ---- feather ---- */

/* Feathers: the exact distance of each sample to the nearest hidden one, by the algorithm of P.
 * Felzenszwalb and D. Huttenlocher: first along columns, then along rows, as the lower envelope of
 * the parabolas that the columns yield. */

/* A part of the mask in which weights may change. */
struct field {
    uint8_t *mask; /* its upper left sample */
    ptrdiff_t stride;
    int width, height;
    int step_x, step_y; /* luma pixels between samples */
    double reach;       /* luma pixels */
    int16_t *rows;      /* for each sample, rows down to the nearest hidden one in its column */
    int16_t *bottom;    /* for a row, rows down to the nearest hidden sample below, or FAR */
    int *at;            /* the envelope: its columns, */
    double *from;       /* and the x from which each of them is the lowest */
};

enum { FAR = INT16_MAX };

/* Ensures that *memory has at least `bytes` bytes. *size is the current size of *memory, and is
 * updated. If *memory has to be enlarged, its content is lost. Returns *memory, or NULL if memory
 * runs out. */
static void *shapes_room(void **memory, size_t *size, size_t bytes)
{
    if (*size < bytes) {
        free(*memory);
        *memory = malloc(bytes);
        *size = *memory ? bytes : 0;
    }
    return *memory;
}

/* Rows down to the nearest hidden sample in column x of row y where those above and below are
 * equally near: to that with the larger weight. */
static int16_t stronger(const struct field *f, int x, int y, int distance)
{
    const uint8_t *mask = f->mask + x;
    if (distance == 0 || distance == FAR)
        return (int16_t)-distance;
    const bool below = mask[(y - distance) * f->stride] < mask[(y + distance) * f->stride];
    return (int16_t)(below ? distance : -distance);
}

/* Ends the scan of row y: its distances to the samples above are known, and all rows below are
 * done. */
static void scan_up(struct field *f, int y)
{
    const int width = f->width;
    const uint8_t *restrict row = f->mask + y * f->stride;
    int16_t *restrict to = f->rows + (ptrdiff_t)y * width;
    int16_t *restrict bottom = f->bottom;
    int ties = 0;
    for (int x = 0; x < width; x++) {
        const int16_t up = to[x], below = (int16_t)(bottom[x] < FAR ? bottom[x] + 1 : FAR);
        const int16_t down = row[x] ? 0 : below;
        bottom[x] = down;
        to[x] = (int16_t)(up <= down ? -up : down);
        ties |= (up == down) & (up > 0) & (up < FAR);
    }
    for (int x = 0; ties && x < width; x++)
        if (to[x] == -bottom[x])
            to[x] = stronger(f, x, y, bottom[x]);
}

/* Finds the nearest hidden sample of each column: first above each sample, then below. Outside of
 * the field all distances are FAR. */
static void scan_columns(struct field *f)
{
    const int width = f->width;
    for (int x = 0; x < width; x++)
        f->bottom[x] = FAR;
    for (int y = 0; y < f->height; y++) {
        const uint8_t *restrict row = f->mask + y * f->stride;
        int16_t *restrict to = f->rows + (ptrdiff_t)y * width;
        const int16_t *restrict above = y ? to - width : f->bottom;
        for (int x = 0; x < width; x++) {
            const int up = above[x] + 1 > FAR ? FAR : above[x] + 1;
            to[x] = (int16_t)(row[x] ? 0 : up);
        }
    }
    for (int y = f->height - 1; y >= 0; y--)
        scan_up(f, y);
}

static double squared(double v)
{
    return v * v;
}

/* Finds the columns with the hidden samples nearest to this row's samples, from left to right.
 * Returns their number. */
static int build_envelope(struct field *f, const int16_t *row)
{
    int count = 0;
    const double scale = squared(f->step_x);
    for (int x = 0; x < f->width; x++) {
        if (abs(row[x]) * f->step_y >= f->reach)
            continue;
        if (!row[x] && x > 0 && x + 1 < f->width && !row[x - 1] && !row[x + 1])
            continue; /* within a run of hidden samples: its ends are nearer to all others */
        const double height = squared(row[x] * f->step_y);
        double from = -HUGE_VAL;
        while (count > 0) {
            const int q = f->at[count - 1];
            const double other = squared(row[q] * f->step_y);
            from = ((height + scale * x * x) - (other + scale * q * q)) / (2 * scale * (x - q));
            if (from >= f->from[count - 1])
                break;
            count--;
        }
        f->at[count] = x;
        f->from[count] = count ? from : -HUGE_VAL;
        count++;
    }
    return count;
}

/* The weight of the hidden sample nearest to sample x, which is in column k of the envelope; of
 * several equally near ones, the largest weight. */
static uint8_t strongest(const struct field *f, const int16_t *row, const uint8_t *mask, int x,
                         int k, int count)
{
    uint8_t most = mask[row[f->at[k]] * f->stride + f->at[k]];
    for (k++; k < count && f->from[k] <= x; k++) {
        const uint8_t other = mask[row[f->at[k]] * f->stride + f->at[k]];
        most = other > most ? other : most;
    }
    return most;
}

/* Writes only samples that were not hidden before; mask is read only at samples that were, so a
 * feathered sample never counts as hidden. */
static void shade_row(struct field *f, int y, const uint8_t *mask)
{
    const int16_t *row = f->rows + (ptrdiff_t)y * f->width;
    uint8_t *to = f->mask + y * f->stride;
    if (!memchr(to, 0, (size_t)f->width))
        return;
    const int count = build_envelope(f, row);
    const double almost = f->reach * f->reach * (1 + 1e-9);
    for (int x = 0, k = 0; count > 0 && x < f->width; x++) {
        while (k + 1 < count && f->from[k + 1] < x)
            k++;
        if (row[x] == 0)
            continue;
        const int q = f->at[k], down = row[q];
        const double both = squared((x - q) * f->step_x) + squared(down * f->step_y);
        const double d = both < almost ? sqrt(both) : f->reach;
        if (d < f->reach) {
            const uint8_t *here = mask + y * f->stride;
            const uint8_t most = strongest(f, row, here, x, k, count);
            const double weight = most * (f->reach - d) / f->reach;
            to[x] = (uint8_t)weight;
            to[x] = (uint8_t)(to[x] + (to[x] < weight)); /* rounded up */
        }
    }
}

/* Divides the scratch memory among the field's arrays. */
static int place(struct field *f, struct halo_drawn_region *region)
{
    const size_t width = (size_t)f->width;
    const size_t samples = width * (size_t)f->height;
    const size_t bytes = (width + 1) * (sizeof(double) + sizeof(int)) + 2 * (samples + width);
    char *at = shapes_room(&region->scratch, &region->scratch_bytes, bytes);
    if (!at)
        return -ENOMEM;
    f->from = (double *)at;
    f->at = (int *)(at + (width + 1) * sizeof(double));
    f->bottom = (int16_t *)(f->at + width + 1);
    f->rows = f->bottom + width;
    return 0;
}

static int feather_box(const struct halo_shape_canvas *canvas, struct halo_drawn_region *region,
                       struct halo_rect box)
{
    struct field f = {.stride = canvas->width,
                      .width = box.x1 - box.x0,
                      .height = box.y1 - box.y0,
                      .step_x = 1 << canvas->log2_sub_x,
                      .step_y = 1 << canvas->log2_sub_y,
                      .reach = canvas->feather};
    f.mask = region->mask + (ptrdiff_t)box.y0 * f.stride + box.x0;
    if (place(&f, region) < 0)
        return -ENOMEM;
    scan_columns(&f);
    for (int y = 0; y < f.height; y++)
        shade_row(&f, y, f.mask);
    return 0;
}

static bool meet(struct halo_rect a, struct halo_rect b)
{
    return a.x0 < b.x1 && b.x0 < a.x1 && a.y0 < b.y1 && b.y0 < a.y1;
}

/* Joins boxes that overlap. Returns the number of boxes left. */
static int join(struct halo_rect *boxes, int count)
{
    for (int i = 0; i < count; i++)
        for (int k = i + 1; k < count; k++)
            if (meet(boxes[i], boxes[k])) {
                boxes[i] = both_of(boxes[i], boxes[k]);
                boxes[k] = boxes[--count];
                k = i; /* the larger box may overlap others */
            }
    return count;
}

/* Feathers region's mask: weights decrease to 0 within canvas->feather. Together, `boxes` must
 * contain all samples that differ from region->around. This function enlarges the boxes and merges
 * those that overlap. Returns 0 or -ENOMEM. */
static int shapes_feather(const struct halo_shape_canvas *canvas, struct halo_drawn_region *region,
                          struct halo_rect *boxes, int count)
{
    const bool all = region->around != 0; /* everything around the boxes is hidden */
    const int reach_x = all ? 1 : (int)ceil(ldexp(canvas->feather, -canvas->log2_sub_x));
    const int reach_y = all ? 1 : (int)ceil(ldexp(canvas->feather, -canvas->log2_sub_y));
    for (int i = 0; i < count; i++)
        boxes[i] = halo_rect_grow(boxes[i], reach_x, reach_y, canvas->width, canvas->height);
    /* Boxes must not overlap: a sample feathered in one would count as hidden in another. */
    for (int left = join(boxes, count); left < count; left = join(boxes, count))
        count = left;
    for (int i = 0; i < count; i++) {
        if (feather_box(canvas, region, boxes[i]) < 0)
            return -ENOMEM;
        region->touched = both_of(region->touched, boxes[i]);
    }
    return 0;
}

/* ---- shapes ---- */

enum { FIX = 4096 };

/* Frames are far smaller than this; cross products of two lengths below it fit in 63 bits. */
#define MAX_FIXED ((int64_t)1 << 29)

struct drawing {
    const struct halo_shape_canvas *canvas;
    struct halo_drawn_region *to;
    bool inner;                            /* only samples that lie completely within a shape */
    int64_t unit_x, unit_y;                /* size of a sample, in 1/4096 pixel */
    uint8_t *row;                          /* scratch for polygons: canvas->width */
    struct halo_rect box[HALO_MAX_SHAPES]; /* around the samples that differ */
    int boxes;
};

static int64_t fixed(double pixels)
{
    const int64_t v = llround(pixels * FIX);
    return v < -MAX_FIXED ? -MAX_FIXED : v > MAX_FIXED ? MAX_FIXED : v;
}

/* b > 0 */
static int64_t floor_div(int64_t a, int64_t b)
{
    return a >= 0 ? a / b : -((-a + b - 1) / b);
}

static int64_t ceil_div(int64_t a, int64_t b)
{
    return -floor_div(-a, b);
}

static int limit(int64_t v, int most)
{
    return v < 0 ? 0 : v > most ? most : (int)v;
}

/* One axis of the plane. */
struct scale {
    int64_t unit; /* size of a sample */
    int count;
};

/* The samples that [v0, v1) touches, or, if inner, those that it contains. An interval without
 * length touches the sample in which it lies. */
static void span(struct scale of, double v0, double v1, bool inner, int *ret0, int *ret1)
{
    const int64_t from = fixed(v0), to = fixed(v1);
    *ret0 = limit(inner ? ceil_div(from, of.unit) : floor_div(from, of.unit), of.count);
    *ret1 = limit(inner ? floor_div(to, of.unit) : ceil_div(to, of.unit), of.count);
    if (*ret1 < *ret0)
        *ret1 = *ret0;
}

static void touch(struct drawing *d, struct halo_rect r)
{
    if (r.x0 < r.x1 && r.y0 < r.y1)
        d->box[d->boxes++] = r;
    d->to->touched = both_of(d->to->touched, r);
}

static uint8_t *mask_row(const struct drawing *d, int y)
{
    return d->to->mask + (size_t)y * (size_t)d->canvas->width;
}

static void fill(struct drawing *d, int y, int x0, int x1)
{
    if (x0 < x1)
        memset(mask_row(d, y) + x0, d->inner ? 0 : 255, (size_t)(x1 - x0));
}

/* The samples that a box touches, or, if inner, those that it contains. */
static struct halo_rect box_of(const struct drawing *d, const struct halo_shape_box *box,
                               bool inner)
{
    struct halo_rect r;
    const struct scale across = {d->unit_x, d->canvas->width},
                       down = {d->unit_y, d->canvas->height};
    span(across, box->x0, box->x1, inner, &r.x0, &r.x1);
    span(down, box->y0, box->y1, inner, &r.y0, &r.y1);
    /* The part of the last sample outside of the frame does not count. */
    if (inner && box->x1 >= d->canvas->frame_width)
        r.x1 = d->canvas->width;
    if (inner && box->y1 >= d->canvas->frame_height)
        r.y1 = d->canvas->height;
    return r;
}

static void draw_rect(struct drawing *d, const struct halo_shape_box *box)
{
    const struct halo_rect r = box_of(d, box, d->inner);
    for (int y = r.y0; y < r.y1; y++)
        fill(d, y, r.x0, r.x1);
    touch(d, r);
}

/* ---- ellipses ---- */

/* The ellipse touches a sample if it does so on the band's line nearest to the centre; it contains
 * a sample if it does so on the farthest line. Rounding errors of the root are compensated towards
 * hiding more. */
static void draw_ellipse(struct drawing *d, const struct halo_shape_box *box)
{
    const double x0 = (double)fixed(box->x0), x1 = (double)fixed(box->x1);
    const double y0 = (double)fixed(box->y0), y1 = (double)fixed(box->y1);
    const double cx = (x0 + x1) / 2, cy = (y0 + y1) / 2;
    const double a = (x1 - x0) / 2, b = (y1 - y0) / 2;
    const struct halo_rect r = box_of(d, box, false);
    if (a <= 0 || b <= 0) { /* thinner than 1/4096 pixel */
        draw_rect(d, box);
        return;
    }
    for (int y = r.y0; y < r.y1; y++) {
        const double above = (double)(y * d->unit_y) - cy;
        const double below = (double)((y + 1) * d->unit_y) - cy;
        const double far = fmax(fabs(above), fabs(below));
        const double near = above <= 0 && below >= 0 ? 0 : fmin(fabs(above), fabs(below));
        const double at = (d->inner ? far : near) / b;
        if (at >= 1)
            continue;
        const double slack = at == 0 ? 0 : 1e-4 + 1e-11 * a; /* in 1/4096 pixel */
        const double reach = a * sqrt((1 - at) * (1 + at)) + (d->inner ? -slack : slack);
        const double left = cx - reach, right = cx + reach;
        const double u = (double)d->unit_x;
        const int first =
            limit((int64_t)(d->inner ? ceil(left / u) : floor(left / u)), d->canvas->width);
        const int last =
            limit((int64_t)(d->inner ? floor(right / u) : ceil(right / u)), d->canvas->width);
        fill(d, y, first, last);
    }
    touch(d, (struct halo_rect){r.x0 - (r.x0 > 0), r.y0, r.x1 + (r.x1 < d->canvas->width), r.y1});
}

/* ---- polygons ---- */

struct edge {
    int64_t x0, y0, x1, y1; /* y0 <= y1 */
};

static int get_edges(const struct drawing *d, const struct halo_shape *shape, struct edge *ret)
{
    const int width = d->canvas->frame_width, height = d->canvas->frame_height;
    for (int i = 0; i < shape->corners; i++) {
        const int next = (i + 1) % shape->corners;
        const int64_t x0 = fixed(halo_shape_length(&shape->corner[i][0], width));
        const int64_t y0 = fixed(halo_shape_length(&shape->corner[i][1], height));
        const int64_t x1 = fixed(halo_shape_length(&shape->corner[next][0], width));
        const int64_t y1 = fixed(halo_shape_length(&shape->corner[next][1], height));
        ret[i] = y0 <= y1 ? (struct edge){x0, y0, x1, y1} : (struct edge){x1, y1, x0, y0};
    }
    return shape->corners;
}

/* The edge's x at y in units of `unit`, rounded down or up; y is within the edge, which is not
 * horizontal. */
static int64_t edge_floor(const struct edge *e, int64_t y, int64_t unit)
{
    const int64_t high = e->y1 - e->y0;
    return floor_div(e->x0 * high + (y - e->y0) * (e->x1 - e->x0), high * unit);
}

static int64_t edge_ceil(const struct edge *e, int64_t y, int64_t unit)
{
    const int64_t high = e->y1 - e->y0;
    return ceil_div(e->x0 * high + (y - e->y0) * (e->x1 - e->x0), high * unit);
}

static int compare(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* Fills the samples whose middle is inside, by the even-odd rule. */
static void fill_middles(const struct drawing *d, const struct edge *edges, int count, int y)
{
    int at[HALO_MAX_CORNERS], crossings = 0;
    const int64_t middle = y * d->unit_y + d->unit_y / 2;
    for (int i = 0; i < count; i++) {
        const struct edge *e = &edges[i];
        if (e->y0 > middle || e->y1 <= middle)
            continue;
        /* The first sample whose middle is not to the left of the crossing. */
        const int64_t halves = edge_ceil(e, middle, d->unit_x / 2);
        at[crossings++] = limit(floor_div(halves, 2), d->canvas->width);
    }
    qsort(at, (size_t)crossings, sizeof *at, compare);
    for (int i = 0; i + 1 < crossings; i += 2)
        memset(d->row + at[i], 255, (size_t)(at[i + 1] - at[i]));
}

/* Marks the samples that an edge passes through: they are partly inside. */
static void mark_edges(const struct drawing *d, const struct edge *edges, int count, int y)
{
    const int64_t above = y * d->unit_y, below = above + d->unit_y;
    for (int i = 0; i < count; i++) {
        const struct edge *e = &edges[i];
        int64_t first, last;
        if (e->y1 <= above || e->y0 >= below)
            continue;
        if (e->y0 == e->y1) {
            first = floor_div(e->x0 < e->x1 ? e->x0 : e->x1, d->unit_x);
            last = ceil_div(e->x0 < e->x1 ? e->x1 : e->x0, d->unit_x);
        } else {
            const int64_t y0 = e->y0 > above ? e->y0 : above, y1 = e->y1 < below ? e->y1 : below;
            const bool right = e->x1 >= e->x0;
            first = edge_floor(e, right ? y0 : y1, d->unit_x);
            last = edge_ceil(e, right ? y1 : y0, d->unit_x);
        }
        const int x0 = limit(first, d->canvas->width), x1 = limit(last, d->canvas->width);
        if (x0 < x1)
            memset(d->row + x0, d->inner ? 0 : 255, (size_t)(x1 - x0));
    }
}

static void draw_polygon(struct drawing *d, const struct halo_shape *shape,
                         const struct halo_shape_box *box)
{
    struct edge edges[HALO_MAX_CORNERS];
    const int count = get_edges(d, shape, edges);
    const struct halo_rect r = box_of(d, box, false);
    for (int y = r.y0; y < r.y1; y++) {
        uint8_t *to = mask_row(d, y);
        memset(d->row + r.x0, 0, (size_t)(r.x1 - r.x0));
        fill_middles(d, edges, count, y);
        mark_edges(d, edges, count, y);
        for (int x = r.x0; x < r.x1; x++)
            to[x] = (uint8_t)(d->inner ? to[x] & ~d->row[x] : to[x] | d->row[x]);
    }
    touch(d, r);
}

/* ---- masks ---- */

/* The mask image's pixels that sample i covers at least partly; step is a sample's size, and whole
 * the frame's, in luma pixels. */
static void mask_span(int i, int step, int whole, int mask, int *ret0, int *ret1)
{
    const int64_t v0 = (int64_t)i * step, end = v0 + step;
    const int64_t v1 = end < whole ? end : whole;
    *ret0 = (int)(v0 * mask / whole);
    *ret1 = (int)ceil_div(v1 * mask, whole);
}

/* The largest weight (after inversion by flip) of the mask image's pixels under one sample. */
static uint8_t under(const struct halo_mask_image *mask, struct halo_rect r, uint8_t flip)
{
    uint8_t most = 0;
    for (int y = r.y0; y < r.y1; y++) {
        const uint8_t *row = mask->weight + (size_t)y * (size_t)mask->width;
        for (int x = r.x0; x < r.x1; x++)
            most = (row[x] ^ flip) > most ? row[x] ^ flip : most;
    }
    return most;
}

static uint8_t larger(uint8_t a, uint8_t b)
{
    return a > b ? a : b;
}

static uint8_t whole(const struct halo_shape_canvas *canvas, uint8_t weight)
{
    return canvas->whole && weight ? 255 : weight;
}

static void draw_scaled_row(struct drawing *d, const struct halo_mask_image *mask, int y)
{
    const struct halo_shape_canvas *c = d->canvas;
    const uint8_t flip = d->inner ? 255 : 0;
    uint8_t *to = mask_row(d, y);
    struct halo_rect r;
    mask_span(y, 1 << c->log2_sub_y, c->frame_height, mask->height, &r.y0, &r.y1);
    for (int x = 0; x < c->width; x++) {
        mask_span(x, 1 << c->log2_sub_x, c->frame_width, mask->width, &r.x0, &r.x1);
        const uint8_t hidden = whole(c, under(mask, r, flip));
        if (d->inner ? hidden < to[x] : hidden > to[x])
            to[x] = hidden;
    }
}

/* Hides samples under a mask image that is not scaled. above and below are rows of the image, or
 * one of them twice. pairs: each sample covers two columns. */
static void hide_row(struct drawing *d, uint8_t *restrict to, const uint8_t *above,
                     const uint8_t *below, bool pairs)
{
    const uint8_t flip = d->inner ? 255 : 0;
    const int columns = d->canvas->frame_width, whole = pairs ? columns / 2 : columns;
    if (pairs) {
        for (int x = 0; x < whole; x++)
            d->row[x] = larger(larger(above[2 * x] ^ flip, above[2 * x + 1] ^ flip),
                               larger(below[2 * x] ^ flip, below[2 * x + 1] ^ flip));
        if (columns % 2)
            d->row[whole] = larger(above[columns - 1] ^ flip, below[columns - 1] ^ flip);
    } else {
        for (int x = 0; x < whole; x++)
            d->row[x] = larger(above[x] ^ flip, below[x] ^ flip);
    }
    const int width = d->canvas->width;
    for (int x = 0; d->canvas->whole && x < width; x++)
        d->row[x] = d->row[x] ? 255 : 0;
    const uint8_t *restrict hidden = d->row;
    if (d->inner)
        for (int x = 0; x < width; x++)
            to[x] = hidden[x] < to[x] ? hidden[x] : to[x];
    else
        for (int x = 0; x < width; x++)
            to[x] = larger(hidden[x], to[x]);
}

static void draw_equal_row(struct drawing *d, const struct halo_mask_image *mask, int y)
{
    const int first = y << d->canvas->log2_sub_y;
    const int second = first + (d->canvas->log2_sub_y && first + 1 < mask->height);
    hide_row(d, mask_row(d, y), mask->weight + (size_t)first * (size_t)mask->width,
             mask->weight + (size_t)second * (size_t)mask->width, d->canvas->log2_sub_x);
}

/* The samples of a row that differ from `around`: from *ret0 to before *ret1. */
static void find_drawn(const uint8_t *row, int width, uint8_t around, int *ret0, int *ret1)
{
    uint64_t eight, same;
    int x0 = 0, x1 = width;
    memset(&same, around, sizeof same);
    for (; x0 + 8 <= x1 && (memcpy(&eight, row + x0, 8), eight == same); x0 += 8)
        ;
    while (x0 < x1 && row[x0] == around)
        x0++;
    for (; x0 + 8 <= x1 && (memcpy(&eight, row + x1 - 8, 8), eight == same); x1 -= 8)
        ;
    while (x0 < x1 && row[x1 - 1] == around)
        x1--;
    *ret0 = x0;
    *ret1 = x1;
}

static void draw_mask(struct drawing *d, const struct halo_mask_image *mask)
{
    const struct halo_shape_canvas *c = d->canvas;
    const bool equal = mask->width == c->frame_width && mask->height == c->frame_height &&
                       c->log2_sub_x <= 1 && c->log2_sub_y <= 1;
    struct halo_rect drawn = {0};
    for (int y = 0; y < c->height; y++) {
        struct halo_rect r = {.y0 = y, .y1 = y + 1};
        if (equal)
            draw_equal_row(d, mask, y);
        else
            draw_scaled_row(d, mask, y);
        find_drawn(mask_row(d, y), c->width, d->inner ? 255 : 0, &r.x0, &r.x1);
        drawn = both_of(drawn, r);
    }
    touch(d, drawn);
}

/* ---- all of them ---- */

static void draw_shape(struct drawing *d, const struct halo_shape *shape)
{
    const struct halo_shape_canvas *c = d->canvas;
    if (shape->kind == HALO_SHAPE_MASK) {
        draw_mask(d, shape->mask);
        return;
    }
    const struct halo_shape_box box = halo_shape_box(shape, c->frame_width, c->frame_height);
    if (shape->kind == HALO_SHAPE_RECT)
        draw_rect(d, &box);
    else if (shape->kind == HALO_SHAPE_ELLIPSE)
        draw_ellipse(d, &box);
    else
        draw_polygon(d, shape, &box);
}

static bool is_length(const struct halo_length *length)
{
    const double most = length->relative ? HALO_MAX_PARTS : HALO_MAX_LENGTH;
    return length->value >= -most && length->value <= most; /* false for NaN */
}

static bool is_shape(const struct halo_shape *s)
{
    bool fine = true;
    switch (s->kind) {
    case HALO_SHAPE_RECT:
    case HALO_SHAPE_ELLIPSE:
        return is_length(&s->x) && is_length(&s->y) && is_length(&s->width) &&
               is_length(&s->height) && s->width.value >= 0 && s->height.value >= 0;
    case HALO_SHAPE_POLYGON:
        for (int i = 0; i < s->corners && i < HALO_MAX_CORNERS; i++)
            fine = fine && is_length(&s->corner[i][0]) && is_length(&s->corner[i][1]);
        return fine && s->corners >= 3 && s->corners <= HALO_MAX_CORNERS;
    case HALO_SHAPE_MASK:
        return s->mask && s->mask->weight;
    }
    return false;
}

static bool draw_rects(struct drawing *d, const struct halo_shape *shapes, int count)
{
    const struct halo_shape_canvas *c = d->canvas;
    int rects = 0;
    for (int i = 0; i < count; i++) {
        const struct halo_shape_box box =
            halo_shape_box(&shapes[i], c->frame_width, c->frame_height);
        const struct halo_rect r = box_of(d, &box, d->inner);
        if (r.x0 < r.x1 && r.y0 < r.y1)
            d->to->rects[rects++] = halo_rect_grow(r, c->spill_x, c->spill_y, c->width, c->height);
    }
    d->to->region =
        (struct halo_region){.rects = d->to->rects, .rect_count = rects, .invert = c->invert};
    if (!c->invert)
        return rects > 0;
    for (int i = 0; i < rects; i++) {
        const struct halo_rect *r = &d->to->rects[i];
        if (r->x0 == 0 && r->y0 == 0 && r->x1 == c->width && r->y1 == c->height)
            return false; /* not checked: several rectangles that cover everything together */
    }
    return true;
}

/* Resets the mask to one weight everywhere, as before the first shape. */
static int clear(struct drawing *d)
{
    struct halo_drawn_region *to = d->to;
    const struct halo_shape_canvas *c = d->canvas;
    const size_t bytes = (size_t)c->width * (size_t)c->height;
    const uint8_t around = d->inner ? 255 : 0;
    const bool same = to->mask && to->mask_width == c->width && to->mask_height == c->height &&
                      to->around == around;
    void *memory = to->mask;
    to->mask = shapes_room(&memory, &to->mask_bytes, bytes);
    if (!to->mask) {
        to->mask_width = to->mask_height = 0;
        return -ENOMEM;
    }
    if (same) {
        for (int y = to->touched.y0; y < to->touched.y1; y++)
            memset(mask_row(d, y) + to->touched.x0, around,
                   (size_t)(to->touched.x1 - to->touched.x0));
    } else {
        memset(to->mask, around, bytes);
    }
    to->around = around;
    to->mask_width = c->width;
    to->mask_height = c->height;
    to->touched = (struct halo_rect){0};
    return 0;
}

static bool any_weight(const struct halo_drawn_region *region)
{
    const struct halo_rect *t = &region->touched;
    const bool outside = t->x1 - t->x0 < region->mask_width || t->y1 - t->y0 < region->mask_height;
    if (region->around && outside)
        return true;
    for (int y = t->y0; y < t->y1; y++) {
        const uint8_t *row = region->mask + (size_t)y * (size_t)region->mask_width;
        uint8_t any = 0;
        for (int x = t->x0; x < t->x1; x++)
            any |= row[x];
        if (any)
            return true;
    }
    return false;
}

static int draw_mask_plane(struct drawing *d, const struct halo_shape *shapes, int count)
{
    const struct halo_shape_canvas *c = d->canvas;
    struct halo_drawn_region *to = d->to;
    if (clear(d) < 0)
        return -ENOMEM;
    d->row = shapes_room(&to->scratch, &to->scratch_bytes, (size_t)c->width);
    if (!d->row)
        return -ENOMEM;
    for (int i = 0; i < count; i++)
        draw_shape(d, &shapes[i]);
    halo_shapes_spread(c, to, d->box, d->boxes);
    if (c->feather > 0 && shapes_feather(c, to, d->box, d->boxes) < 0)
        return -ENOMEM;
    to->region = (struct halo_region){.mask = {.data = to->mask,
                                               .stride = c->width,
                                               .width = c->width,
                                               .height = c->height,
                                               .channels = 1,
                                               .depth = 8}};
    return 0;
}

int halo_shapes_draw(const struct halo_shape *shapes, int count,
                     const struct halo_shape_canvas *canvas, struct halo_drawn_region *ret,
                     bool *ret_hidden)
{
    struct drawing d = {.canvas = canvas,
                        .to = ret,
                        .inner = canvas->invert,
                        .unit_x = (int64_t)FIX << canvas->log2_sub_x,
                        .unit_y = (int64_t)FIX << canvas->log2_sub_y};
    const bool spill = canvas->spill_x || canvas->spill_y;
    bool rects = canvas->feather <= 0 && !(spill && canvas->invert);
    bool fine = count <= HALO_MAX_SHAPES;
    for (int i = 0; i < count && fine; i++) {
        fine = is_shape(&shapes[i]);
        rects = rects && shapes[i].kind == HALO_SHAPE_RECT;
    }
    *ret_hidden = true;
    if (!fine) {
        /* Hides everything with one rectangle. */
        ret->rects[0] = (struct halo_rect){0, 0, canvas->width, canvas->height};
        ret->region = (struct halo_region){.rects = ret->rects, .rect_count = 1};
    } else if (rects)
        *ret_hidden = draw_rects(&d, shapes, count);
    else if (draw_mask_plane(&d, shapes, count) < 0)
        return -ENOMEM;
    else
        *ret_hidden = any_weight(ret);
    return 0;
}

void halo_drawn_region_finish(struct halo_drawn_region *region)
{
    free(region->mask);
    free(region->scratch);
    *region = (struct halo_drawn_region){0};
}
