/* SPDX-License-Identifier: BSD-2-Clause
 * Shapes (shapes.h): their memory, their size, and their orientation. */
#include "pipeline/region/shapes.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "pipeline/base/display.h"
#include "pipeline/region/mask_image.h"
#include "pipeline/region/shapes_private.h"

void halo_shape_finish(struct halo_shape *shape)
{
    free(shape->corner);
    halo_mask_image_destroy(shape->mask);
    shape->corner = NULL;
    shape->mask = NULL;
    shape->corners = 0;
}

void halo_shapes_destroy(struct halo_shapes *shapes)
{
    if (!shapes)
        return;
    for (int i = 0; i < shapes->count; i++)
        halo_shape_finish(&shapes->shape[i]);
    free(shapes->shape);
    free(shapes);
}

int halo_shapes_load(struct halo_shapes *shapes, struct halo_error *err)
{
    int code = 0;
    for (int i = 0; i < shapes->count && code == 0; i++)
        if (shapes->shape[i].kind == HALO_SHAPE_MASK)
            code = halo_mask_image_load(shapes->shape[i].mask, err);
    return code;
}

double halo_shape_length(const struct halo_length *length, int whole)
{
    return length->relative ? length->value * whole : length->value;
}

struct halo_shape_box halo_shape_box(const struct halo_shape *shape, int width, int height)
{
    struct halo_shape_box box = {HUGE_VAL, HUGE_VAL, -HUGE_VAL, -HUGE_VAL};
    if (shape->kind == HALO_SHAPE_MASK) {
        const struct halo_mask_image *mask = shape->mask;
        if (!mask->weight)
            return (struct halo_shape_box){0, 0, width, height};
        const double x = (double)width / mask->width, y = (double)height / mask->height;
        return (struct halo_shape_box){mask->inside.x0 * x, mask->inside.y0 * y,
                                       mask->inside.x1 * x, mask->inside.y1 * y};
    }
    if (shape->kind != HALO_SHAPE_POLYGON) {
        box.x0 = halo_shape_length(&shape->x, width);
        box.y0 = halo_shape_length(&shape->y, height);
        box.x1 = box.x0 + halo_shape_length(&shape->width, width);
        box.y1 = box.y0 + halo_shape_length(&shape->height, height);
        return box;
    }
    for (int i = 0; i < shape->corners; i++) {
        const double x = halo_shape_length(&shape->corner[i][0], width);
        const double y = halo_shape_length(&shape->corner[i][1], height);
        box.x0 = fmin(box.x0, x);
        box.y0 = fmin(box.y0, y);
        box.x1 = fmax(box.x1, x);
        box.y1 = fmax(box.y1, y);
    }
    return box;
}

void halo_shapes_size(const struct halo_shape *shapes, int count, int frame_width, int frame_height,
                      double *ret_width, double *ret_height)
{
    struct halo_shape_box all = {HUGE_VAL, HUGE_VAL, -HUGE_VAL, -HUGE_VAL};
    for (int i = 0; i < count; i++) {
        const struct halo_shape_box box = halo_shape_box(&shapes[i], frame_width, frame_height);
        if (fmax(box.x0, 0) >= fmin(box.x1, frame_width) ||
            fmax(box.y0, 0) >= fmin(box.y1, frame_height))
            continue; /* outside of the frame */
        all = (struct halo_shape_box){fmin(all.x0, box.x0), fmin(all.y0, box.y0),
                                      fmax(all.x1, box.x1), fmax(all.y1, box.y1)};
    }
    const bool some = all.x0 < all.x1;
    *ret_width = some ? fmin(all.x1 - all.x0, frame_width) : frame_width;
    *ret_height = some ? fmin(all.y1 - all.y0, frame_height) : frame_height;
}

bool halo_shape_pixels(const struct halo_shape *shape, int frame_width, int frame_height,
                       struct halo_rect *ret)
{
    const struct halo_shape_box box = halo_shape_box(shape, frame_width, frame_height);
    const struct halo_rect r = {(int)floor(fmin(fmax(box.x0, 0), frame_width)),
                                (int)floor(fmin(fmax(box.y0, 0), frame_height)),
                                (int)ceil(fmin(fmax(box.x1, 0), frame_width)),
                                (int)ceil(fmin(fmax(box.y1, 0), frame_height))};
    *ret = r;
    return r.x0 < r.x1 && r.y0 < r.y1;
}

static bool is_pixels(const struct halo_length *length)
{
    return !length->relative && length->value != 0;
}

bool halo_shapes_in_pixels(const struct halo_shapes *shapes)
{
    bool has = false;
    for (int i = 0; shapes && i < shapes->count; i++) {
        const struct halo_shape *s = &shapes->shape[i];
        has |=
            is_pixels(&s->x) || is_pixels(&s->y) || is_pixels(&s->width) || is_pixels(&s->height);
        for (int corner = 0; corner < s->corners; corner++)
            has |= is_pixels(&s->corner[corner][0]) || is_pixels(&s->corner[corner][1]);
    }
    return has;
}

halo_find_set halo_shapes_finds(const struct halo_shapes *shapes)
{
    switch (shapes ? shapes->from : HALO_SHAPES_WRITTEN) {
    case HALO_SHAPES_FACES:
        return halo_find_bit(HALO_FIND_FACES);
    case HALO_SHAPES_PEOPLE:
    case HALO_SHAPES_BACKGROUND:
        return halo_find_bit(HALO_FIND_PEOPLE);
    default:
        return 0;
    }
}

/* ---- from the frame as displayed to the frame as stored ---- */

struct turning {
    int turn;
    int width, height;             /* of the frame as stored, luma pixels */
    int shown_width, shown_height; /* of the frame as displayed */
};

static struct halo_length pixels(double value)
{
    return (struct halo_length){.value = value};
}

static struct halo_shape_box store_box(const struct turning *t, const struct halo_shape_box *shown)
{
    struct halo_shape_box box = *shown;
    if (t->turn & HALO_DISPLAY_SIDEWAYS)
        box = (struct halo_shape_box){shown->y0, shown->x0, shown->y1, shown->x1};
    if (t->turn & HALO_DISPLAY_X)
        box = (struct halo_shape_box){t->width - box.x1, box.y0, t->width - box.x0, box.y1};
    if (t->turn & HALO_DISPLAY_Y)
        box = (struct halo_shape_box){box.x0, t->height - box.y1, box.x1, t->height - box.y0};
    return box;
}

static int store_polygon(const struct turning *t, const struct halo_shape *shown,
                         struct halo_shape *ret)
{
    ret->corner = calloc((size_t)shown->corners, sizeof *ret->corner);
    if (!ret->corner)
        return -ENOMEM;
    ret->corners = shown->corners;
    for (int i = 0; i < shown->corners; i++) {
        const double x = halo_shape_length(&shown->corner[i][0], t->shown_width);
        const double y = halo_shape_length(&shown->corner[i][1], t->shown_height);
        const struct halo_shape_box at = store_box(t, &(struct halo_shape_box){x, y, x, y});
        ret->corner[i][0] = pixels(at.x0);
        ret->corner[i][1] = pixels(at.y0);
    }
    return 0;
}

static int store_shape(const struct turning *t, const struct halo_shape *shown,
                       struct halo_shape *ret)
{
    ret->kind = shown->kind;
    if (shown->kind == HALO_SHAPE_MASK)
        return halo_mask_image_store(&ret->mask, shown->mask, t->turn);
    if (shown->kind == HALO_SHAPE_POLYGON)
        return store_polygon(t, shown, ret);
    const struct halo_shape_box box = halo_shape_box(shown, t->shown_width, t->shown_height);
    const struct halo_shape_box at = store_box(t, &box);
    ret->x = pixels(at.x0);
    ret->y = pixels(at.y0);
    ret->width = pixels(at.x1 - at.x0);
    ret->height = pixels(at.y1 - at.y0);
    return 0;
}

int halo_shapes_store(struct halo_shapes **ret, const struct halo_shapes *shown, int turn,
                      int width, int height)
{
    const bool sideways = turn & HALO_DISPLAY_SIDEWAYS;
    const struct turning t = {turn, width, height, sideways ? height : width,
                              sideways ? width : height};
    struct halo_shapes *shapes = calloc(1, sizeof *shapes);
    if (shapes)
        shapes->shape = calloc((size_t)shown->count, sizeof *shapes->shape);
    int code = shapes && shapes->shape ? 0 : -ENOMEM;
    for (int i = 0; i < shown->count && code == 0; i++) {
        code = store_shape(&t, &shown->shape[i], &shapes->shape[i]);
        shapes->count++;
    }
    if (code < 0)
        halo_shapes_destroy(shapes);
    else
        *ret = shapes;
    return code;
}
