# SPDX-License-Identifier: BSD-2-Clause
"""Detectors that people asks itself, without halod: any program that keeps to
docs/detectors.md, or OpenCV's cascade."""
import os
import sys

import cv2
import numpy

from benchlib import ROOT, Error

sys.path.insert(0, os.path.join(ROOT, 'tests'))

from halotest import detector  # noqa: E402

CASCADE = 'haarcascade_frontalface_alt2.xml'
CASCADES = ('/usr/share/opencv4/haarcascades', '/usr/share/opencv/haarcascades',
            os.path.join(os.path.dirname(cv2.__file__), 'data'))


class Haar:
    """Of another family than every network. Boxes are relative to the frame, with score 1."""

    def __init__(self):
        for folder in CASCADES:
            if os.path.exists(os.path.join(folder, CASCADE)):
                self.cascade = cv2.CascadeClassifier(os.path.join(folder, CASCADE))
                return
        raise Error(f'no {CASCADE}: install opencv-data')

    def find(self, frame):
        height, width = frame.shape[:2]
        gray = cv2.equalizeHist(cv2.cvtColor(frame, cv2.COLOR_BGR2GRAY))
        found = self.cascade.detectMultiScale(gray, 1.1, 3, minSize=(16, 16))
        return [(x / width, y / height, w / width, h / height, 1.0) for x, y, w, h in found]

    def close(self):
        pass


class Program:
    """A detector that is a program. Boxes with a score below `least` are left out."""

    def __init__(self, command, find='faces', least=0.0):
        self.what, self.least, self.size, self.connection = find, least, None, None
        self.detector = detector.Detector(*command.split())

    def send(self, frame):
        height, width = frame.shape[:2]
        if self.size != (width, height):
            self.connection = self.connection or self.detector.connect()
            self.connection.hello(width, height, self.what)
            self.size = width, height
        ready = self.connection.ready
        scale = min(ready['width'] / width, ready['height'] / height)
        inside = max(1, round(width * scale)), max(1, round(height * scale))
        left, top = (ready['width'] - inside[0]) // 2, (ready['height'] - inside[1]) // 2
        canvas = numpy.zeros((ready['height'], ready['width'], 3), numpy.uint8)
        canvas[top:top + inside[1], left:left + inside[0]] = cv2.resize(
            frame, inside, interpolation=cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR)
        if ready['format'] == 'rgb24':
            canvas = canvas[..., ::-1]
        elif ready['format'] == 'gray8':
            canvas = cv2.cvtColor(canvas, cv2.COLOR_BGR2GRAY)
        self.connection.frame(canvas.tobytes(), inside=[left, top, *inside])
        return self.connection.receive()

    def find(self, frame):
        return [tuple(box) for box in self.send(frame)['boxes'] if box[4] >= self.least]

    def mask(self, frame):
        """The mask as it comes, scaled to the frame (bilinear)."""
        self.send(frame)
        width, height = self.connection.ready['mask']
        small = numpy.frombuffer(self.connection.mask[0], numpy.uint8).reshape(height, width)
        return cv2.resize(small, (frame.shape[1], frame.shape[0]), interpolation=cv2.INTER_LINEAR)

    def close(self):
        self.detector.close()


def open_judge(command, least, find='faces'):
    return Haar() if command == 'haar' else Program(command, find, least)
