# SPDX-License-Identifier: BSD-2-Clause
"""Scaling with NumPy alone. Images are arrays of height x width x 3 bytes."""
import functools
import math

import numpy as np


@functools.lru_cache(maxsize=64)
def weights(length, size):
    """size x length: each row averages the samples that an output sample covers. Enlarging is
    linear interpolation."""
    matrix = np.zeros((size, length), np.float32)
    step = length / size
    radius = max(step, 1)
    for i in range(size):
        centre = (i + 0.5) * step - 0.5
        for k in range(math.floor(centre - radius), math.ceil(centre + radius) + 1):
            weight = 1 - abs(k - centre) / radius
            if weight > 0:
                matrix[i, min(max(k, 0), length - 1)] += weight
    return matrix / matrix.sum(axis=1, keepdims=True)


def scaled(image, width, height):
    """The image in another size, as floating-point numbers from 0 to 255."""
    rows, columns = image.shape[:2]
    image = image.astype(np.float32)
    if rows != height:
        image = weights(rows, height) @ image.reshape(rows, columns * 3)
        image = image.reshape(height, columns, 3)
    if columns != width:
        image = image.transpose(1, 0, 2).reshape(columns, height * 3)
        image = (weights(columns, width) @ image).reshape(width, height, 3).transpose(1, 0, 2)
    return image


def fitted(width, height, most_width, most_height):
    """The largest size with the aspect ratio of width x height that fits."""
    scale = min(most_width / width, most_height / height)
    return (min(most_width, max(1, round(width * scale))),
            min(most_height, max(1, round(height * scale))))


def sized(width, height, shorter, multiple=1, longest=2048):
    """(width, height), about `shorter` pixels along the shorter side, with the aspect ratio of
    width x height as far as steps of `multiple` allow."""
    scale = min(shorter / min(width, height), longest / max(width, height))
    return tuple(min(longest, max(multiple, 16, round(side * scale / multiple) * multiple))
                 for side in (width, height))


def padded(image, multiple):
    """The image with black rows and columns after it, so that its sides are multiples."""
    height, width = image.shape[:2]
    below, right = -height % multiple, -width % multiple
    return np.pad(image, ((0, below), (0, right), (0, 0))) if below or right else image


def mirrored(image, border):
    """The image with so many rows and columns more on each side, its own ones mirrored."""
    return np.pad(image, ((border, border), (border, border), (0, 0)), mode='symmetric')
