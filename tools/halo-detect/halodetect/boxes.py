# SPDX-License-Identifier: BSD-2-Clause
"""Boxes: arrays of n x 5, with x, y, width, height and score in each row."""
import numpy as np

MAX_BOXES = 64  # of a verdict
CANDIDATES = 512  # more are not compared with each other

NONE = np.zeros((0, 5), np.float32)


def best_first(boxes):
    return boxes[np.argsort(-boxes[:, 4], kind='stable')[:CANDIDATES]]


def overlaps(box, others):
    """(area that each of the others shares with the box, the box's area, the others' areas)"""
    right = np.minimum(box[0] + box[2], others[:, 0] + others[:, 2])
    bottom = np.minimum(box[1] + box[3], others[:, 1] + others[:, 3])
    width = np.maximum(right - np.maximum(box[0], others[:, 0]), 0)
    height = np.maximum(bottom - np.maximum(box[1], others[:, 1]), 0)
    return width * height, box[2] * box[3], others[:, 2] * others[:, 3]


def suppressed(boxes, share=0.4):
    """Without those that overlap a better one by more than `share` (intersection over union)."""
    boxes, kept = best_first(boxes), []
    while len(boxes):
        kept.append(boxes[0])
        both, one, other = overlaps(boxes[0], boxes[1:])
        boxes = boxes[1:][both <= share * (one + other - both)]
    return np.array(kept, np.float32).reshape(-1, 5)


def united(lists, share=0.35):
    """The boxes of several detectors, or of several looks at one frame. Boxes that overlap become
    the box that contains them all; a less certain box inside another one is dropped."""
    boxes, kept = best_first(np.concatenate(lists or [NONE])), []
    while len(boxes):
        box, boxes = boxes[0], boxes[1:]
        both, one, other = overlaps(box, boxes)
        same = both > share * (one + other - both)
        inside = both > 0.7 * other
        if same.any():
            box = around(np.concatenate([box[None], boxes[same]]))
        kept.append(box)
        boxes = boxes[~(same | inside)]
    return np.array(kept, np.float32).reshape(-1, 5)


def around(boxes):
    """One box that contains them all, as certain as the best."""
    left, top = boxes[:, 0].min(), boxes[:, 1].min()
    right, bottom = (boxes[:, 0] + boxes[:, 2]).max(), (boxes[:, 1] + boxes[:, 3]).max()
    return np.array([left, top, right - left, bottom - top, boxes[:, 4].max()], np.float32)


def limited(boxes):
    """At most MAX_BOXES, which cover all of them."""
    boxes = best_first(boxes)
    if len(boxes) <= MAX_BOXES:
        return boxes
    return np.concatenate([boxes[:MAX_BOXES - 1], around(boxes[MAX_BOXES - 1:])[None]])


def enlarged(boxes, left, top, right, bottom):
    """By these shares of each box's size."""
    boxes = boxes.copy()
    width, height = boxes[:, 2].copy(), boxes[:, 3].copy()
    boxes[:, 0] -= left * width
    boxes[:, 1] -= top * height
    boxes[:, 2] += (left + right) * width
    boxes[:, 3] += (top + bottom) * height
    return boxes
