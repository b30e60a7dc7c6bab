/* SPDX-License-Identifier: BSD-2-Clause
 * Lists of boxes (boxes.h). A list that is not sorted is a heap whose first box is the last one in
 * the order, so this is the one that makes room for a better box. */
#include "pipeline/detect/boxes.h"

#include <stdbool.h>

#define INSIDE 0.7F /* share of a box that lies in another one, so that it shows nothing else */
/* of coordinates and sizes in struct halo_detect_box */
#define MIN_PLACE -4
#define MAX_PLACE 5

static float limited(float v, float least, float most)
{
    return v > least ? v < most ? v : most : least;
}

static float lower(float a, float b)
{
    return a < b ? a : b;
}

static float higher(float a, float b)
{
    return a > b ? a : b;
}

/* ---- the order ---- */

/* Whether box i of the list comes after box k. */
static bool is_after(const struct halo_boxes *b, int i, int k)
{
    return b->box[i].score != b->box[k].score ? b->box[i].score < b->box[k].score
                                              : b->number[i] > b->number[k];
}

static void swap(struct halo_boxes *b, int i, int k)
{
    const struct halo_detect_box box = b->box[i];
    const int32_t number = b->number[i];
    b->box[i] = b->box[k];
    b->number[i] = b->number[k];
    b->box[k] = box;
    b->number[k] = number;
}

/* Moves box i down until no box below it, of the first `count`, comes after it. */
static void sink(struct halo_boxes *b, int i, int count)
{
    for (int next = 2 * i + 1; next < count; i = next, next = 2 * i + 1) {
        if (next + 1 < count && is_after(b, next + 1, next))
            next++;
        if (!is_after(b, next, i))
            return;
        swap(b, i, next);
    }
}

static void make_heap(struct halo_boxes *b)
{
    for (int i = b->count / 2; i >= 0; i--)
        sink(b, i, b->count);
    b->sorted = false;
}

void halo_boxes_clear(struct halo_boxes *boxes)
{
    boxes->count = 0;
    boxes->added = 0;
    boxes->sorted = false;
}

void halo_boxes_add(struct halo_boxes *b, const struct halo_detect_box *box)
{
    const struct halo_detect_box added = {
        .x = limited(box->x, -HALO_BOXES_MAX, HALO_BOXES_MAX),
        .y = limited(box->y, -HALO_BOXES_MAX, HALO_BOXES_MAX),
        .width = limited(box->width, 0, HALO_BOXES_MAX),
        .height = limited(box->height, 0, HALO_BOXES_MAX),
        .score = box->score,
    };
    const int32_t number = b->added++;
    if (b->sorted)
        make_heap(b);
    if (b->count == HALO_BOXES_ROOM) {
        if (!(added.score > b->box[0].score)) /* of the same score, it comes later */
            return;
        b->box[0] = added;
        b->number[0] = number;
        sink(b, 0, b->count);
        return;
    }
    int i = b->count++;
    b->box[i] = added;
    b->number[i] = number;
    for (; i > 0 && is_after(b, i, (i - 1) / 2); i = (i - 1) / 2)
        swap(b, i, (i - 1) / 2);
}

void halo_boxes_append(struct halo_boxes *boxes, struct halo_boxes *more)
{
    halo_boxes_sort(more);
    for (int i = 0; i < more->count; i++)
        halo_boxes_add(boxes, &more->box[i]);
}

void halo_boxes_sort(struct halo_boxes *b)
{
    if (b->sorted)
        return;
    for (int end = b->count - 1; end > 0; end--) {
        swap(b, 0, end);
        sink(b, 0, end);
    }
    b->sorted = true;
}

/* ---- which of them show the same ---- */

/* The area that both cover. */
static float common(const struct halo_detect_box *a, const struct halo_detect_box *b)
{
    const float right = lower(a->x + a->width, b->x + b->width);
    const float bottom = lower(a->y + a->height, b->y + b->height);
    const float width = higher(right - higher(a->x, b->x), 0);
    const float height = higher(bottom - higher(a->y, b->y), 0);
    return width * height;
}

static bool is_same(const struct halo_detect_box *a, const struct halo_detect_box *b, float share)
{
    const float both = common(a, b);
    return both > share * (a->width * a->height + b->width * b->height - both);
}

static bool is_inside(const struct halo_detect_box *inner, const struct halo_detect_box *outer)
{
    return common(inner, outer) > INSIDE * (inner->width * inner->height);
}

/* Enlarges a box so that it contains another one. */
static void extend(struct halo_detect_box *box, const struct halo_detect_box *by)
{
    const float right = higher(box->x + box->width, by->x + by->width);
    const float bottom = higher(box->y + box->height, by->y + by->height);
    box->x = lower(box->x, by->x);
    box->y = lower(box->y, by->y);
    box->width = right - box->x;
    box->height = bottom - box->y;
}

/* Drops what overlaps a better box. With `unite`, that one becomes larger instead, but overlaps are
 * those with the box as it was. */
static void reduce(struct halo_boxes *b, float share, bool unite)
{
    halo_boxes_sort(b);
    for (int best = 0; best < b->count; best++) {
        const struct halo_detect_box box = b->box[best];
        int left = best + 1;
        for (int i = best + 1; i < b->count; i++) {
            const struct halo_detect_box *other = &b->box[i];
            if (is_same(&box, other, share)) {
                if (unite)
                    extend(&b->box[best], other);
            } else if (!unite || !is_inside(other, &box)) {
                b->box[left] = *other;
                b->number[left++] = b->number[i];
            }
        }
        b->count = left;
    }
}

void halo_boxes_suppress(struct halo_boxes *boxes, float share)
{
    reduce(boxes, share, false);
}

void halo_boxes_unite(struct halo_boxes *boxes, float share)
{
    reduce(boxes, share, true);
}

/* ---- places ---- */

void halo_boxes_grow(struct halo_boxes *boxes, const float share[4])
{
    for (int i = 0; i < boxes->count; i++) {
        struct halo_detect_box *box = &boxes->box[i];
        const float width = box->width, height = box->height;
        box->x -= share[0] * width;
        box->y -= share[1] * height;
        box->width += (share[0] + share[2]) * width;
        box->height += (share[1] + share[3]) * height;
    }
}

void halo_boxes_map(struct halo_boxes *boxes, const float from[4], const float to[4])
{
    for (int i = 0; i < boxes->count; i++) {
        struct halo_detect_box *box = &boxes->box[i];
        box->x = (box->x - from[0]) / from[2] * to[2] + to[0];
        box->y = (box->y - from[1]) / from[3] * to[3] + to[1];
        box->width = box->width / from[2] * to[2];
        box->height = box->height / from[3] * to[3];
    }
}

void halo_boxes_judge(struct halo_boxes *boxes, struct halo_detect_verdict *ret)
{
    const int most = HALO_DETECT_MAX_BOXES, last = most - 1;
    halo_boxes_sort(boxes);
    ret->boxed = true;
    ret->count = boxes->count < most ? boxes->count : most;
    for (int i = 0; i < boxes->count; i++) {
        if (i < most)
            ret->box[i] = boxes->box[i];
        else
            extend(&ret->box[last], &boxes->box[i]);
    }
    for (int i = 0; i < ret->count; i++) {
        struct halo_detect_box *box = &ret->box[i];
        box->x = limited(box->x, MIN_PLACE, MAX_PLACE);
        box->y = limited(box->y, MIN_PLACE, MAX_PLACE);
        box->width = limited(box->width, 0, MAX_PLACE);
        box->height = limited(box->height, 0, MAX_PLACE);
        box->score = limited(box->score, 0, 1);
    }
}
