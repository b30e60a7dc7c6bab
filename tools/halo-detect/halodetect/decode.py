# SPDX-License-Identifier: BSD-2-Clause
"""What the outputs of face detectors mean. All functions return boxes in pixels of the input
(boxes.py), and none below `least`, the lowest score."""
import numpy as np

from halodetect.boxes import NONE


def sigmoid(values):
    return 1 / (1 + np.exp(-np.clip(values, -80, 80)))


def stacked(x, y, width, height, score):
    """Boxes from centres and sizes."""
    return np.stack([x - width / 2, y - height / 2, width, height, score], axis=1
                    ).astype(np.float32)


def blazeface_anchors(side, grids):
    """n x 2: the centres of MediaPipe's anchors. grids: (cells along a side, anchors in a cell)."""
    found = []
    for cells, each in grids:
        y, x = np.mgrid[0:cells, 0:cells].repeat(each, axis=2).reshape(2, -1)
        found.append((np.stack([x, y], axis=1) + 0.5) * (side / cells))
    return np.concatenate(found).astype(np.float32)


def blazeface(boxes, logits, anchors, least):
    """boxes: n x 16, of which the first four are the offset from the anchor and the size."""
    scores = sigmoid(logits[:, 0])
    at = np.nonzero(scores >= least)[0]
    found = boxes[at]
    return stacked(anchors[at, 0] + found[:, 0], anchors[at, 1] + found[:, 1], found[:, 2],
                   found[:, 3], scores[at])


def centerface(heat, size, offset, least):
    """heat: rows x columns, one for each 4x4 pixels; size: logarithms of height and width; offset:
    down and right."""
    rows, columns = np.nonzero(heat >= least)
    height, width = np.exp(np.minimum(size[:, rows, columns], 8)) * 4
    y = (rows + offset[0, rows, columns] + 0.5) * 4
    x = (columns + offset[1, rows, columns] + 0.5) * 4
    return stacked(x, y, width, height, heat[rows, columns])


def by_stride(outputs, width, height, strides=(8, 16, 32)):
    """Yields (stride, anchors in a cell, {number of columns: [arrays]}) for outputs that hold a row
    for each anchor of a grid."""
    flat = [output.reshape(-1, output.shape[-1]) for output in outputs]
    for stride in strides:
        cells = -(-width // stride) * -(-height // stride)
        for each in (1, 2):
            found = {}
            for output in flat:
                if len(output) == cells * each:
                    found.setdefault(output.shape[1], []).append(output)
            if found:
                yield stride, each, found
                break


def centres(width, height, stride, each):
    y, x = np.mgrid[0:-(-height // stride), 0:-(-width // stride)]
    return x.reshape(-1).repeat(each), y.reshape(-1).repeat(each)


def yunet(outputs, width, height, least):
    """OpenCV's YuNet of 2023: for each stride a class and an object score, and a box relative to
    its cell."""
    lists = []
    for stride, each, found in by_stride(outputs, width, height):
        if each != 1 or len(found.get(1, ())) != 2 or len(found.get(4, ())) != 1:
            return None
        scores = np.sqrt(np.clip(found[1][0][:, 0], 0, 1) * np.clip(found[1][1][:, 0], 0, 1))
        at = np.nonzero(scores >= least)[0]
        box = found[4][0][at]
        x, y = centres(width, height, stride, 1)
        lists.append(stacked((x[at] + box[:, 0]) * stride, (y[at] + box[:, 1]) * stride,
                             np.exp(np.minimum(box[:, 2], 8)) * stride,
                             np.exp(np.minimum(box[:, 3], 8)) * stride, scores[at]))
    return np.concatenate(lists) if len(lists) == 3 else None


def scrfd(outputs, width, height, least):
    """SCRFD: for each stride a score, and the distances to the left, top, right and bottom."""
    lists = []
    for stride, each, found in by_stride(outputs, width, height):
        if len(found.get(1, ())) != 1 or len(found.get(4, ())) != 1:
            return None
        scores = found[1][0][:, 0]
        at = np.nonzero(scores >= least)[0]
        left, top, right, bottom = (found[4][0][at] * stride).T
        x, y = centres(width, height, stride, each)
        x, y = x[at] * stride, y[at] * stride
        lists.append(np.stack([x - left, y - top, left + right, top + bottom, scores[at]], axis=1))
    return np.concatenate(lists).astype(np.float32) if len(lists) == 3 else None


def check(boxes):
    """Without boxes that are not finite."""
    return boxes[np.isfinite(boxes).all(axis=1)] if len(boxes) else NONE
