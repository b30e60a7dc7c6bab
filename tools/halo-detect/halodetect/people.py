# SPDX-License-Identifier: BSD-2-Clause
"""Models that find out which pixels belong to people."""
import numpy as np

from halodetect import names
from halodetect.failure import USAGE, Failure
from halodetect.picture import fitted
from halodetect.runtime import Lite

NAME = 'selfie'
LANDSCAPE = names.PEOPLE[NAME][0], 256, 144
SQUARE = names.PEOPLE[NAME][1], 256, 256
# Between the aspect ratios of the two inputs, the square one shows more of the frame.
WIDE = 1.5


class People:
    """MediaPipe's selfie segmentation, for people at up to two metres."""
    FIND, ANSWERS, FORMAT = 'people', 'mask', 'rgb24'

    def __init__(self, options):
        if options.model not in (None, NAME):
            raise Failure(USAGE, f'unknown model {options.model} (see halo-detect --help)')
        self.name, self.options, self.nets = NAME, options, {}
        self.installed = options.installed
        self.net(LANDSCAPE)

    def net(self, model):
        if model not in self.nets:
            self.nets[model] = Lite(self.options, model[0])
        return self.nets[model]

    def ready(self, width, height, _live):
        model = LANDSCAPE if width >= WIDE * height else SQUARE
        self.net(model)(np.zeros((model[2], model[1], 3), np.float32))  # allocates
        mask = [max(16, side) for side in fitted(width, height, model[1], model[2])]
        return {'width': model[1], 'height': model[2], 'mask': mask}

    def look(self, image, inside, ready):
        x, y, width, height = inside
        net = self.net(LANDSCAPE if ready['height'] == LANDSCAPE[2] else SQUARE)
        found = net(image * np.float32(1 / 255))[0][y:y + height, x:x + width, -1]
        columns, rows = ready['mask']
        if (columns, rows) != (width, height):
            found = found[np.arange(rows) * height // rows][:, np.arange(columns) * width // columns]
        # Not a number is a person, because people must not be taken for background.
        found = np.nan_to_num(found, nan=1.0)
        return {}, (np.clip(found, 0, 1) * 255 + 0.5).astype(np.uint8).tobytes()
