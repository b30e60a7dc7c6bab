# SPDX-License-Identifier: BSD-2-Clause
"""halo-detect try: what a detector finds in an image."""
import os
import time

import numpy as np

from halodetect.failure import CANNOT_CREATE, CONFIG, OK, Failure
from halodetect.picture import fitted
from halodetect.place import imported


def letterboxed(cv2, image, ready):
    """(what halod would send of this image, where the image is within it)"""
    width, height = ready['width'], ready['height']
    w, h = fitted(image.shape[1], image.shape[0], width, height)
    x, y = (width - w) // 2, (height - h) // 2
    whole = np.zeros((height, width, 3), np.uint8)
    whole[y:y + h, x:x + w] = cv2.resize(image, (w, h), interpolation=cv2.INTER_AREA)
    return whole, [x, y, w, h]


def draw_boxes(cv2, image, boxes):
    height, width = image.shape[:2]
    for x, y, w, h, score in boxes:
        left, top = round(x * width), round(y * height)
        right, bottom = round((x + w) * width), round((y + h) * height)
        print(f'x {left} y {top} width {right - left} height {bottom - top} score {score:.2f}')
        colour = (0, 0, 255) if score >= 0.5 else (0, 255, 255)
        cv2.rectangle(image, (left, top), (right, bottom), colour, max(1, height // 240))
    return image


def paint_background(cv2, image, mask, size):
    """What is not a person becomes green."""
    height, width = image.shape[:2]
    mask = np.frombuffer(mask, np.uint8).reshape(size[1], size[0])
    print(f'{mask.mean() / 2.55:.1f} % of the image belongs to people')
    share = cv2.resize(mask, (width, height))[..., None] / np.float32(255)
    return (image * share + np.array([0, 160, 0], np.float32) * (1 - share)).astype(np.uint8)


def attempt(options, make):
    if not os.path.isfile(options.image):
        raise Failure(CONFIG, f'{options.image}: no such file')
    detector = make()
    cv2 = imported('cv2', options.installed)
    image = cv2.imread(options.image)
    if image is None:
        raise Failure(CONFIG, f'{options.image}: not an image that OpenCV can read')
    ready = detector.ready(image.shape[1], image.shape[0], True)
    small, inside = letterboxed(cv2, image[..., ::-1], ready)
    took = []
    for _ in range(options.repeat):
        start = time.perf_counter()
        fields, mask = detector.look(small, inside, ready)
        took.append(time.perf_counter() - start)
    if mask is None:
        image = draw_boxes(cv2, image, fields['boxes'])
    else:
        image = paint_background(cv2, image, mask, ready['mask'])
    took.sort()
    print(f'{detector.name}: {ready["width"]}x{ready["height"]}, '
          f'{took[len(took) // 2] * 1000:.1f} ms')
    if options.result and not written(cv2, options.result, image):
        raise Failure(CANNOT_CREATE, f'{options.result}: cannot be written')
    return OK


def written(cv2, path, image):
    try:
        return cv2.imwrite(path, image)
    except cv2.error:  # no format has this suffix
        return False
