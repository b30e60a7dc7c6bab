# SPDX-License-Identifier: BSD-2-Clause
"""Clips with known faces: people cut from footage, in front of moving backgrounds.

The footage is in the folder HALOD_MEDIA. Where its faces are was found once (CenterFace, every tenth
frame, threshold 0.3), checked by eye, and is kept below as numbers. A person's outline is found
again at each run (GrabCut, from an ellipse around the face and a trapezoid below it)."""
import itertools
import math
import subprocess

import cv2
import numpy

import scoring
from benchlib import FFMPEG, Error, footage

WIDTH, HEIGHT, RATE = 640, 360, 25
CALL = (1280, 720)  # size of calls()
CORE = 0.6      # part of a face's box that is its core, from the middle
NEARBY = 0.75   # of a face's box, on each side: hiding that is not needless
ROAD = 'car-detection.mp4'

# File: {frame: face's box (x, y, width, height)}; between these frames, boxes are interpolated.
FACES = {
    'webcam-person-hungry.mkv': {
        0: (283, 21, 69, 90), 10: (279, 22, 70, 88), 20: (281, 26, 67, 80), 30: (285, 22, 64, 80),
        40: (277, 23, 66, 78), 48: (277, 23, 66, 78)},
    'webcam-person-yes.mkv': {
        0: (270, 76, 71, 92), 10: (271, 74, 69, 89), 20: (272, 74, 67, 87), 30: (273, 66, 66, 87),
        40: (267, 69, 64, 81), 50: (258, 73, 63, 81), 60: (234, 82, 64, 80), 64: (234, 82, 64, 80)},
}
HUNGRY, YES = FACES


def each_frame(path):
    """Frames of a file, BGR."""
    capture = cv2.VideoCapture(path)
    while True:
        more, frame = capture.read()
        if not more:
            break
        yield frame
    capture.release()


def read_frames(path, first=0, count=None):
    return list(itertools.islice(each_frame(path), first, None if count is None else first + count))


def box_at(name, number):
    rows = FACES[name]
    before = max(n for n in rows if n <= number)
    after = min(n for n in rows if n >= number)
    part = (number - before) / (after - before) if after > before else 0
    return tuple(a + (b - a) * part for a, b in zip(rows[before], rows[after]))


class Person:
    """Head and chest. picture: BGR; alpha: 0 to 1; face: box in it."""

    def __init__(self, picture, alpha, face):
        self.picture, self.alpha, self.face = picture, alpha, face


def cut(frame, face):
    """Cuts a person out of a frame."""
    x, y, width, height = face
    left, right = int(max(0, x - 1.6 * width)), int(min(frame.shape[1], x + 2.6 * width))
    top, bottom = int(max(0, y - 0.6 * height)), int(min(frame.shape[0], y + 2.6 * height))
    part = frame[top:bottom, left:right]
    x, y = x - left, y - top
    mask = numpy.full(part.shape[:2], cv2.GC_BGD, numpy.uint8)
    middle = (round(x + width / 2), round(y + height / 2))
    axes = (round(width * 0.85), round(height * 0.85))
    cv2.ellipse(mask, middle, axes, 0, 0, 360, cv2.GC_PR_FGD, -1)
    neck, chest = y + height * 0.9, y + height * 1.5
    outline = [(x, neck), (x + width, neck), (x + width * 2.1, chest), (x + width * 2.4, 9999),
               (x - width * 1.4, 9999), (x - width * 1.1, chest)]
    cv2.fillPoly(mask, [numpy.array(outline).clip(-999, 9999).round().astype(numpy.int32)],
                 cv2.GC_PR_FGD)
    cv2.ellipse(mask, middle, (round(width * 0.4), round(height * 0.45)), 0, 0, 360, cv2.GC_FGD, -1)
    cv2.rectangle(mask, (round(x), round(y + height * 1.5)), (round(x + width), 9999), cv2.GC_FGD, -1)
    cv2.setRNGSeed(1)
    cv2.grabCut(part, mask, None, numpy.zeros((1, 65)), numpy.zeros((1, 65)), 4,
                cv2.GC_INIT_WITH_MASK)
    person = ((mask == cv2.GC_FGD) | (mask == cv2.GC_PR_FGD)).astype(numpy.uint8)
    # What is not connected with the face is not the person.
    count, parts = cv2.connectedComponents(person)
    del count
    person = (parts == parts[middle[1], middle[0]]).astype(numpy.uint8)
    person = cv2.morphologyEx(person, cv2.MORPH_CLOSE, numpy.ones((5, 5), numpy.uint8))
    alpha = cv2.GaussianBlur(person.astype(numpy.float32), (0, 0), 1.0)
    return Person(part, alpha, (x, y, width, height))


def people(name, step=8):
    """A person in several frames of a file."""
    ret = []
    for number in range(0, max(FACES[name]) + 1, step):
        frames = read_frames(footage()[name], number, 1)
        if frames:
            ret.append(cut(frames[0], box_at(name, number)))
    return ret


def texture(number, seed=1, width=WIDTH, height=HEIGHT):
    """A background of our own: soft shapes that drift."""
    draw = numpy.random.default_rng(seed)
    small = draw.integers(30, 220, (10, 18, 3), numpy.uint8)
    large = cv2.resize(small, (width * 2, height * 2), interpolation=cv2.INTER_CUBIC)
    x, y = int((math.sin(number / 40) + 1) * width / 2), int((math.cos(number / 55) + 1) * height / 2)
    ret = large[y:y + height, x:x + width].copy()
    for i in range(6):
        at = (int(width * (i / 6 + number / 90)) % width, int(height * (0.2 + i * 0.13)) % height)
        cv2.circle(ret, at, 14 + 5 * i, draw.integers(0, 255, 3).tolist(), -1)
    return ret


class Scene:
    """A canvas for one frame, and its truth."""

    def __init__(self, background):
        self.picture = background.astype(numpy.float32)
        self.labels = numpy.zeros(background.shape[:2], numpy.uint8)
        self.alpha = numpy.zeros(background.shape[:2], numpy.float32)

    def place(self, person, label, x, y, size, angle=0.0, squeeze=1.0, gain=1.0):
        """Places a person: x, y is the middle of the face, size is the width of its box, all in
        pixels. squeeze: relative width, as of a head that turns away. Faces with smaller labels
        that it covers are not visible."""
        face = person.face
        scale = size / face[2]
        turn = math.radians(angle)
        matrix = numpy.array([
            [scale * squeeze * math.cos(turn), -scale * math.sin(turn), 0],
            [scale * squeeze * math.sin(turn), scale * math.cos(turn), 0]])
        middle = numpy.array([face[0] + face[2] / 2, face[1] + face[3] / 2])
        matrix[:, 2] = numpy.array([x, y]) - matrix[:, :2] @ middle
        shape = (self.picture.shape[1], self.picture.shape[0])
        how = cv2.INTER_AREA if scale < 0.7 else cv2.INTER_CUBIC
        source, mask = person.picture, person.alpha
        if scale < 0.7:  # warpAffine does not average
            small = (max(1, round(source.shape[1] * scale)), max(1, round(source.shape[0] * scale)))
            matrix[:, :2] = matrix[:, :2] @ numpy.diag(
                [source.shape[1] / small[0], source.shape[0] / small[1]])
            source = cv2.resize(source, small, interpolation=how)
            mask = cv2.resize(mask, small, interpolation=how)
            how = cv2.INTER_LINEAR
        else:
            small = (source.shape[1], source.shape[0])
        self.blend(cv2.warpAffine(source, matrix, shape, flags=how, borderMode=cv2.BORDER_REPLICATE),
                   cv2.warpAffine(mask, matrix, shape, flags=cv2.INTER_LINEAR), gain)
        ratio = numpy.array([small[0] / person.picture.shape[1], small[1] / person.picture.shape[0]])
        self.mark(label, [self.corners(face, part, matrix, ratio) for part in (CORE, 1 + 2 * NEARBY)])

    def blend(self, picture, alpha, gain):
        alpha = alpha.clip(0, 1)
        weight = alpha[..., None]
        self.picture = self.picture * (1 - weight) + picture.astype(numpy.float32) * gain * weight
        self.labels[alpha > 0.5] &= scoring.NEAR
        self.alpha = numpy.maximum(self.alpha, alpha)

    @staticmethod
    def corners(face, part, matrix, ratio):
        """Of the box's inner part, in the picture."""
        x, y = face[0] + face[2] / 2, face[1] + face[3] / 2
        points = [(x + sx * face[2] * part / 2, y + sy * face[3] * part / 2)
                  for sx, sy in ((-1, -1), (1, -1), (1, 1), (-1, 1))]
        return (numpy.array(points) * ratio) @ matrix[:, :2].T + matrix[:, 2]

    def mark(self, label, polygons):
        core, near = (numpy.zeros_like(self.labels), numpy.zeros_like(self.labels))
        for plane, polygon in zip((core, near), polygons):
            cv2.fillConvexPoly(plane, polygon.round().astype(numpy.int32), 1)
        self.labels[core > 0] = (self.labels[core > 0] & scoring.NEAR) | label
        self.labels[near > 0] |= scoring.NEAR

    def cover(self, left, right, colour):
        """A pillar in front of everybody."""
        left, right = max(0, int(left)), max(0, int(right))
        self.picture[:, left:right] = colour
        self.labels[:, left:right] &= scoring.NEAR

    def finish(self, gain=1.0, noise=0.0, blur=0.0, seed=0):
        if blur:
            self.picture = cv2.GaussianBlur(self.picture, (0, 0), blur)
        if noise:
            draw = numpy.random.default_rng(seed)
            self.picture = self.picture * gain + draw.normal(0, noise, self.picture.shape)
        else:
            self.picture = self.picture * gain
        return self.picture.clip(0, 255).astype(numpy.uint8), self.labels


def names():
    return [name[5:].replace('_', ' ') for name in dir(Clips) if name.startswith('clip_')]


def centres(labels):
    """The middles of the cores that are in the picture by half at least, relative to its size."""
    height, width = labels.shape
    ret, faces = [], labels & (scoring.NEAR - 1)
    for face in numpy.unique(faces[faces > 0]):
        rows, columns = numpy.nonzero(faces == face)
        if rows.size >= 0.5 * (columns.max() - columns.min() + 1) * (rows.max() - rows.min() + 1) and \
                columns.min() > 0 and columns.max() < width - 1 and rows.min() > 0:
            ret.append((columns.mean() / width, rows.mean() / height))
    return ret


class Clips:
    """All clips; each function yields (picture, labels) frame by frame."""

    def __init__(self):
        self.road = [cv2.resize(f, (WIDTH, HEIGHT), interpolation=cv2.INTER_AREA)
                     for f in read_frames(footage()[ROAD], 0, 120)]
        self.cast = {name: people(name) for name in FACES}
        self.kinds = {name[5:].replace('_', ' '): getattr(self, name)
                      for name in dir(self) if name.startswith('clip_')}

    def background(self, number, kind=0):
        if kind == 0:
            turn = number % (2 * len(self.road) - 2)
            return self.road[min(turn, 2 * len(self.road) - 2 - turn)]
        return texture(number, kind)

    def person(self, name, number):
        frames = self.cast[name]
        return frames[number // 4 % len(frames)]

    def across(self, name, start, end, frames=60, size=60, kind=0, **more):
        for n in range(frames):
            part = n / (frames - 1)
            scene = Scene(self.background(n, kind))
            scene.place(self.person(name, n), 1, start[0] + (end[0] - start[0]) * part,
                        start[1] + (end[1] - start[1]) * part, size, **more)
            yield scene.finish()

    def clip_enters_left(self):
        return self.across(HUNGRY, (-60, 150), (330, 160))

    def clip_enters_right(self):
        return self.across(YES, (WIDTH + 60, 140), (300, 150), kind=2)

    def clip_enters_from_above(self):
        return self.across(YES, (250, -70), (260, 170))

    def clip_enters_from_below(self):
        return self.across(HUNGRY, (400, HEIGHT + 70), (390, 130), kind=3)

    def clip_runs_through(self):
        return self.across(HUNGRY, (-60, 140), (WIDTH + 60, 150), frames=18, size=70)

    def clip_peeks_in(self):
        """Half a face at the side, then gone again."""
        for n in range(60):
            scene = Scene(self.background(n))
            x = -50 + 56 * math.sin(math.pi * n / 59)
            scene.place(self.person(YES, n), 1, x, 170, 90)
            yield scene.finish()

    def clip_grows(self):
        for n in range(90):
            scene = Scene(self.background(n))
            scene.place(self.person(HUNGRY, n), 1, 320, 120 + n * 0.6, 10 * 1.035 ** n)
            yield scene.finish()

    def clip_small(self):
        for n in range(60):
            scene = Scene(self.background(n, 4))
            scene.place(self.person(YES, n), 1, 100 + n * 3, 150, 18)
            scene.place(self.person(HUNGRY, n), 2, 520 - n * 2, 210, 15)
            yield scene.finish()

    def clip_large(self):
        return self.across(YES, (250, 190), (390, 180), size=190)

    def clip_turns(self):
        """Leans to both sides, up to 50 degrees."""
        for n in range(80):
            scene = Scene(self.background(n, 5))
            scene.place(self.person(HUNGRY, n), 1, 320, 150, 75, angle=50 * math.sin(n / 80 * 2 * math.pi))
            yield scene.finish()

    def clip_turns_away(self):
        """As narrow as 45 %, and wide again."""
        for n in range(60):
            scene = Scene(self.background(n))
            scene.place(self.person(YES, n), 1, 320, 150, 80,
                        squeeze=0.725 + 0.275 * math.cos(n / 60 * 2 * math.pi))
            yield scene.finish()

    def clip_dark(self):
        for n in range(75):
            scene = Scene(self.background(n))
            scene.place(self.person(YES, n), 1, 150 + 4 * n, 150, 60)
            yield scene.finish(gain=max(0.14, 1 - n / 50), noise=3, seed=n)

    def clip_out_of_focus(self):
        for n in range(60):
            scene = Scene(self.background(n, 2))
            scene.place(self.person(HUNGRY, n), 1, 200 + 3 * n, 150, 60)
            yield scene.finish(blur=0.3 + 3.2 * n / 60)

    def clip_two_cross(self):
        for n in range(70):
            scene = Scene(self.background(n))
            scene.place(self.person(HUNGRY, n), 1, 60 + 8 * n, 140, 60)
            scene.place(self.person(YES, n), 2, 580 - 8 * n, 160, 70)
            yield scene.finish()

    def clip_behind_a_pillar(self):
        for n in range(70):
            scene = Scene(self.background(n, 3))
            scene.place(self.person(YES, n), 1, 120 + 6 * n, 150, 60)
            scene.cover(270, 370, (70, 80, 90))
            yield scene.finish()

    def clip_cuts(self):
        """Every 12 frames a new scene, in which somebody is from the first frame on."""
        draw = numpy.random.default_rng(7)
        for shot in range(7):
            x, y, size = draw.integers(120, 520), draw.integers(120, 220), draw.integers(30, 110)
            name = (HUNGRY, YES)[shot % 2]
            for n in range(12):
                scene = Scene(self.background(n + 12 * shot, 0 if shot % 3 == 0 else shot))
                scene.place(self.person(name, n), 1, x + n, y, size)
                yield scene.finish()

    def clip_flashes(self):
        """Somebody is there for 1, 2 and 3 frames of 20."""
        for n in range(80):
            scene = Scene(self.background(n))
            if n % 20 >= 19 - n // 20 % 3:
                scene.place(self.person(HUNGRY, n), 1, 150 + n * 4, 150, 70)
            yield scene.finish()

    def clip_starts_with_a_face(self):
        return self.across(HUNGRY, (320, 150), (340, 150), frames=30, size=65)

    def clip_nobody(self):
        for n in range(60):
            yield Scene(self.background(n, 0 if n < 30 else 6)).finish()


def calls():
    """Names, and pictures with their mattes (planes of 0 to 255): somebody in front of a camera, who
    sits still, also before a background that moves, leans to both sides, nods, or is there with
    somebody else. The pictures have noise, and each person is the same in all of them, so that
    masks change only by motion and by what a detector gets wrong. The lower edge of what the footage
    shows of a person is so many pixels below the picture's."""
    cast = {name: people(name)[1] for name in (HUNGRY, YES)}

    def shot(number, places, seed, moves):
        scene = Scene(texture(number if moves else 0, seed, *CALL))
        for label, (name, x, lower, width, angle) in enumerate(places, 1):
            person = cast[name]
            face = person.face
            below = (person.picture.shape[0] - face[1] - face[3] / 2) * width / face[2]
            scene.place(person, label, x, CALL[1] - below + lower, width, angle)
        picture, _ = scene.finish(noise=2.5, seed=number)
        return picture, (scene.alpha * 255).round().astype(numpy.uint8)

    def swing(number, most):
        return most * math.sin(number / 75 * 2 * math.pi)

    ways = {
        'sits still': lambda n: [(HUNGRY, 640, 10, 150, 0)],
        'before a moving background': lambda n: [(YES, 600, 30, 160, 0)],
        'leans': lambda n: [(YES, 640 + swing(n, 140), 60, 160, swing(n, 12))],
        'nods': lambda n: [(HUNGRY, 600, 35 + swing(2 * n, 25), 190, 0)],
        'two': lambda n: [(YES, 380 + swing(n, 30), 20, 120, 0),
                          (HUNGRY, 900 + swing(n, 20), 20, 130, 0)],
    }
    for seed, (name, places) in enumerate(ways.items(), 2):
        yield name, (shot(n, places(n), seed, 'moving' in name) for n in range(75))


def write_clip(path, frames, size=(WIDTH, HEIGHT), rate=RATE, quality=14):
    """Encodes BGR pictures as H.264; returns the labels of all frames."""
    labels = []
    command = [*FFMPEG, '-f', 'rawvideo', '-pix_fmt', 'bgr24', '-s',
               f'{size[0]}x{size[1]}', '-r', str(rate), '-i', 'pipe:0', '-pix_fmt', 'yuv420p',
               '-c:v', 'libx264', '-preset', 'veryfast', '-crf', str(quality), path]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        for picture, label in frames:
            process.stdin.write(picture.tobytes())
            labels.append(label)
        process.stdin.close()
    if process.returncode:
        raise Error(f'ffmpeg: exit {process.returncode}')
    return labels


def read_planes(path, size=(WIDTH, HEIGHT)):
    """Frames of a file as lists of three planes."""
    width, height = size
    half = (-(-width // 2), -(-height // 2))
    whole = width * height + 2 * half[0] * half[1]
    command = [*FFMPEG, '-i', path, '-fps_mode', 'passthrough', '-f', 'rawvideo', '-pix_fmt',
               'yuv420p', 'pipe:1']
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        try:
            while len(data := process.stdout.read(whole)) == whole:
                samples = numpy.frombuffer(data, numpy.uint8)
                luma, chroma = width * height, half[0] * half[1]
                yield [samples[:luma].reshape(height, width),
                       samples[luma:luma + chroma].reshape(half[1], half[0]),
                       samples[luma + chroma:].reshape(half[1], half[0])]
        finally:
            process.kill()  # where the caller has enough
