# SPDX-License-Identifier: BSD-2-Clause
"""Models that find faces.

Each has size(width, height, live), the size in which it wants frames of a stream of that size, and
find(image, inside): boxes (boxes.py) relative to `inside`, the frame without its padding. A box
reaches from the forehead to the chin."""
import math
import os

import numpy as np

from halodetect import decode, names
from halodetect.boxes import NONE, enlarged, limited, suppressed, united
from halodetect.failure import CONFIG, USAGE, Failure
from halodetect.picture import fitted, mirrored, padded, scaled, sized
from halodetect.place import imported
from halodetect.runtime import Lite, load_onnx, planes

CASCADES = ('/usr/share/opencv4/haarcascades', '/usr/share/opencv/haarcascades')


def relative(boxes, inside):
    """From pixels of what was sent to shares of the frame."""
    x, y, width, height = inside
    return (boxes - np.array([x, y, 0, 0, 0], np.float32)) / np.array(
        [width, height, width, height, 1], np.float32)


class Model:
    """SIZE: the shorter side of the frames that it looks at in time for a live stream. Where halod
    waits, it looks at more: half of the frame, within BOUNDS. MIRROR: pixels that it adds on each
    side of a frame; the sum is a multiple of MULTIPLE."""
    BOUNDS, MULTIPLE, MIRROR = (352, 544), 1, 0

    def __init__(self, options):
        self.least, self.wished, self.shorter = options.score, options.size, self.SIZE

    def size(self, width, height, live):
        least, most = self.BOUNDS
        half = min(most, max(least, min(width, height) // 2))
        self.shorter = self.wished or (self.SIZE if live else max(self.SIZE, half))
        added = 2 * self.MIRROR
        return tuple(side - added for side in sized(width, height, self.shorter + added, self.MULTIPLE))


class CenterFace(Model):
    """A map of the centres of faces, at a quarter of the resolution. The frame is mirrored at its
    edges, because otherwise a face that is half outside has no centre that could be found."""
    NAME, SIZE = 'centerface', 208
    MULTIPLE, MIRROR = 32, 8
    OUTPUTS = ['537', '538', '539', '540']

    def __init__(self, options):
        super().__init__(options)
        self.net = load_onnx(options, options.installed.model(names.FACES[self.NAME]), self.OUTPUTS)

    def find(self, image, inside):
        x, y, width, height = inside
        part = mirrored(image[y:y + height, x:x + width], self.MIRROR)
        heat, size, offset = self.net(planes(padded(part, self.MULTIPLE)))[:3]
        found = decode.centerface(heat[0, 0], size[0], offset[0], self.least)
        return relative(suppressed(decode.check(found)), (self.MIRROR, self.MIRROR, width, height))


class BlazeFace(Model):
    """MediaPipe's detector for faces at up to five metres. Its input is a square with sides of 192
    pixels, so it looks at the whole frame, and at squares that together cover it and overlap. Faces
    that no square contains completely are large enough to be found in the whole frame."""
    NAME, SIZE = 'blazeface', 192
    SIDE, GRIDS = 192, ((48, 1),)
    OVERLAP = 0.22  # of a square
    # From the model's boxes, which end above the eyes and at the cheeks.
    GROW = 0.05, 0.25, 0.05, 0.05

    def __init__(self, options):
        super().__init__(options)
        self.net = Lite(options, names.FACES[self.NAME])
        self.anchors = decode.blazeface_anchors(self.SIDE, self.GRIDS)

    def find(self, image, inside):
        lists = [self.look(image, square) for square in self.squares(*inside)]
        return relative(enlarged(united(lists), *self.GROW), inside)

    def squares(self, x, y, width, height):
        """(x, y, width, height) of each look at the image."""
        found = [(x, y, width, height)]
        side = min(width, height, self.SIDE)
        if side >= max(width, height) * 0.9 or self.shorter < self.SIDE:
            return found
        side = min(width, height) * self.SIDE // max(self.shorter, self.SIDE)
        return found + [(x + across, y + down, side, side)
                        for down in self.places(height, side) for across in self.places(width, side)]

    def places(self, length, side):
        """Where squares begin so that neighbours overlap."""
        if length <= side:
            return [0]
        count = 1 + math.ceil((length - side) / (side * (1 - self.OVERLAP)))
        return [round(i * (length - side) / (count - 1)) for i in range(count)]

    def look(self, image, square):
        """Boxes in a part of the image, in pixels of the image."""
        x, y, width, height = square
        w, h = fitted(width, height, self.SIDE, self.SIDE)
        left, top = (self.SIDE - w) // 2, (self.SIDE - h) // 2
        whole = np.full((self.SIDE, self.SIDE, 3), -1, np.float32)
        whole[top:top + h, left:left + w] = scaled(
            image[y:y + height, x:x + width], w, h) * np.float32(1 / 127.5) - 1
        boxes, logits = sorted(self.net(whole), key=lambda output: -output.shape[-1])
        found = suppressed(decode.check(decode.blazeface(boxes, logits, self.anchors, self.least)))
        found[:, :4] -= np.array([left, top, 0, 0], np.float32)
        found[:, :4] *= np.array([width / w, height / h] * 2, np.float32)
        found[:, :4] += np.array([x, y, 0, 0], np.float32)
        return found


class BlazeFaceShort(BlazeFace):
    """The same for faces at up to two metres, at a third of the time."""
    NAME, SIZE = 'blazeface-short', 128
    SIDE, GRIDS = 128, ((16, 2), (8, 6))


class Haar(Model):
    """A cascade of OpenCV 4, from the distribution's packages alone. It finds upright faces that
    look into the camera."""
    NAME, FILE, SIZE = 'haar', 'haarcascade_frontalface_alt2.xml', 270

    def __init__(self, options):
        super().__init__(options)
        self.cv2 = options.installed.note_version(imported('cv2'))
        if not hasattr(self.cv2, 'CascadeClassifier'):
            raise Failure(CONFIG, 'the model haar needs OpenCV 4 and cannot be joined with others')
        path = cascade()
        if not path:
            raise Failure(CONFIG, f'{self.FILE} is in none of {", ".join(CASCADES)}: run apt-get '
                                  'install opencv-data, or halo-detect install for better models')
        self.cv2.setNumThreads(options.threads)
        self.cascade = self.cv2.CascadeClassifier(options.installed.note(path))

    def find(self, image, inside):
        x, y, width, height = inside
        gray = self.cv2.cvtColor(image[y:y + height, x:x + width], self.cv2.COLOR_RGB2GRAY)
        found, hits = self.cascade.detectMultiScale2(self.cv2.equalizeHist(gray), scaleFactor=1.1,
                                                     minNeighbors=1, minSize=(18, 18))
        if not len(found):
            return NONE
        # One hit is next to nothing; four of them are a face.
        scores = 1 - np.exp(-np.array(hits, np.float32).reshape(-1) / 4)
        boxes = np.concatenate([np.array(found, np.float32), scores[:, None]], axis=1)
        return relative(boxes[scores >= self.least], (0, 0, width, height))


def cascade():
    return next(filter(os.path.exists, (os.path.join(folder, Haar.FILE) for folder in CASCADES)),
                None)


class OwnModel(Model):
    """An ONNX file of the user's, whose outputs have a layout that is known."""
    SIZE, MULTIPLE = 320, 32

    def __init__(self, options, path, layout):
        self.NAME = os.path.basename(path)
        super().__init__(options)
        if not os.path.isfile(path):
            raise Failure(CONFIG, f'{path}: no such file')
        options.installed.note(path)
        self.path, self.layout, self.net = path, layout, load_onnx(options, path)

    def find(self, image, inside):
        image = padded(image, self.MULTIPLE)
        height, width = image.shape[:2]
        if self.layout == 'yunet':  # blue first
            outputs = self.net(planes(image, swap=True))
            found = decode.yunet(outputs, width, height, self.least)
        else:
            outputs = self.net((planes(image) - 127.5) / 128)
            found = decode.scrfd(outputs, width, height, self.least)
        if found is None:
            shapes = ' '.join('x'.join(map(str, output.shape)) for output in outputs)
            raise Failure(CONFIG, f'{self.path}: the outputs are not those of {self.layout}: '
                                  f'{shapes}')
        return relative(suppressed(decode.check(found)), inside)


class Joined:
    """Several models: whatever one of them finds is a face."""

    def __init__(self, models):
        self.models = models
        self.NAME = '+'.join(model.NAME for model in models)

    def size(self, width, height, live):
        return max((model.size(width, height, live) for model in self.models),
                   key=lambda size: size[0] * size[1])

    def find(self, image, inside):
        return united([model.find(image, inside) for model in self.models])


MODELS = {model.NAME: model for model in (CenterFace, BlazeFace, BlazeFaceShort, Haar)}


class Faces:
    FIND, ANSWERS, FORMAT = 'faces', 'boxes', 'rgb24'

    def __init__(self, options):
        models = []
        for name in options.model.split(','):
            if name in MODELS:
                models.append(MODELS[name](options))
            elif os.path.sep in name and options.layout:
                models.append(OwnModel(options, name, options.layout))
            else:
                hint = ' (a path needs --layout)' if os.path.sep in name else ''
                raise Failure(USAGE, f'unknown model {name}{hint} (see halo-detect --help)')
        self.model = models[0] if len(models) == 1 else Joined(models)
        self.name, self.installed = self.model.NAME, options.installed

    def ready(self, width, height, live):
        """The fields of `ready`, for frames of this size."""
        width, height = self.model.size(width, height, live)
        self.model.find(np.zeros((height, width, 3), np.uint8), (0, 0, width, height))  # allocates
        return {'width': width, 'height': height}

    def look(self, image, inside, _ready):
        """The fields of a verdict, and the mask's bytes or None."""
        boxes = np.clip(limited(self.model.find(image, inside)), -4, 5)
        boxes[:, 2:4] = np.maximum(boxes[:, 2:4], 0)
        boxes[:, 4] = np.clip(boxes[:, 4], 0, 1)
        return {'boxes': [[round(float(value), 5) for value in box] for box in boxes]}, None
