/* SPDX-License-Identifier: BSD-2-Clause
 * Lists of boxes that networks find: the best ones of many, without those that show the same object
 * twice. Numbers are single precision, and each operation is rounded in the order in which it is
 * written, so equal boxes give equal results on every machine.
 *
 * Boxes are in a total order: higher scores come first, and of equal scores the box that was found
 * first. Until halo_boxes_map() makes them relative to a frame, they are in pixels.
 *
 * Functions may be called on any thread, and one list is used by one thread at a time. */
#ifndef HALO_BOXES_H
#define HALO_BOXES_H

#include <stdbool.h>
#include <stdint.h>

#include "pipeline/detect/detect_wire.h"

enum {
    HALO_BOXES_ROOM = 4096,  /* the best boxes of a list; more are left out */
    HALO_BOXES_MAX = 1 << 20 /* coordinates are at most this far from 0, and so are sizes */
};

struct halo_boxes {
    int count;
    bool sorted;
    int32_t added; /* boxes that were ever added: the number of the next one */
    struct halo_detect_box box[HALO_BOXES_ROOM];
    int32_t number[HALO_BOXES_ROOM]; /* in the order in which boxes were added */
};

void halo_boxes_clear(struct halo_boxes *boxes); /* also begins a new list */

/* Adds a box with its coordinates limited to HALO_BOXES_MAX, and its sizes to 0 at least. If
 * the list is full, the last box in the order is left out. */
void halo_boxes_add(struct halo_boxes *boxes, const struct halo_detect_box *box);

/* Adds all boxes of the other list, in the order that they have there. Sorts that list. */
void halo_boxes_append(struct halo_boxes *boxes, struct halo_boxes *more);

/* Puts the list in the order. */
void halo_boxes_sort(struct halo_boxes *boxes);

/* Sorts the list, and drops each box that overlaps a better one that is kept, if what both cover is
 * more than `share` of what either covers. */
void halo_boxes_suppress(struct halo_boxes *boxes, float share);

/* For what several networks, or several looks, found in one frame: boxes that overlap so become the
 * box that contains them, and a worse box of which more than 0.7 is inside of one is dropped. The
 * list is then in order. */
void halo_boxes_unite(struct halo_boxes *boxes, float share);

/* Moves each edge outwards, by shares of the box's size: left, top, right, bottom. */
void halo_boxes_grow(struct halo_boxes *boxes, const float share[4]);

/* Maps boxes so that the rectangle `from` becomes `to`: x, y, width and height, which are above 0.
 * */
void halo_boxes_map(struct halo_boxes *boxes, const float from[4], const float to[4]);

/* Fills ret->boxed, ret->count and ret->box from boxes that are relative to the frame, limited to
 * what struct halo_detect_box allows. If there are too many, the last one covers all that have no
 * place. The list is then in order. */
void halo_boxes_judge(struct halo_boxes *boxes, struct halo_detect_verdict *ret);

#endif
