# SPDX-License-Identifier: BSD-2-Clause
"""Identities: licence plates and name signs in fonts of Debian, faces drawn from parameters, and
parts of footage. Each is a gray image that is SUPER times finer than the camera's pixels, so that
it can be recorded at positions between pixels."""
import os
from collections import namedtuple

import numpy
from PIL import Image, ImageDraw, ImageFont

from benchlib import FFMPEG, Error, Missing, footage, output

SUPER = 4
FLAT = 110  # level of the area around an identity
FONTS = '/usr/share/fonts/truetype'
MARGIN = 5  # pixels by which an identity may move inside its region

# Height and width, in pixels, of the regions; MARGIN of them lies around the identity.
KINDS = {'plates': (32, 128), 'signs': (32, 160), 'faces': (64, 64), 'photos': (64, 64)}

Set = namedtuple('Set', 'gallery captures')  # [identity, y, x]: as enrolled, and as recorded later


def size(kind):
    """Height and width of an identity in fine samples."""
    height, width = KINDS[kind]
    return (height - 2 * MARGIN) * SUPER, (width - 2 * MARGIN) * SUPER


def font(name, height):
    path = os.path.join(FONTS, name)
    if not os.path.exists(path):
        raise Missing(f'{path} is missing: install fonts-dejavu-core and fonts-liberation')
    return ImageFont.truetype(path, height)


def board(text, kind, face, ink, ground, fill):
    """Text in the middle of a board with a frame line; `fill` is the text's part of the width."""
    height, width = size(kind)
    image = Image.new('L', (width, height), ground)
    draw = ImageDraw.Draw(image)
    draw.rectangle((4, 4, width - 5, height - 5), outline=ink, width=3)
    left, top, right, bottom = draw.textbbox((0, 0), text, font=face)
    if right - left > width * fill:
        face = face.font_variant(size=int(face.size * width * fill / (right - left)))
        left, top, right, bottom = draw.textbbox((0, 0), text, font=face)
    draw.text(((width - left - right) / 2, (height - top - bottom) / 2), text, font=face, fill=ink)
    return numpy.asarray(image)


def distinct(make, count, rng):
    seen = {}  # in the order in which they were drawn
    while len(seen) < count:
        seen[make(rng)] = True
    return list(seen)


def pick(rng, letters, count=1):
    return ''.join(letters[i] for i in rng.integers(0, len(letters), count))


def plate(rng):
    return (pick(rng, 'ABCDEFGHKLMNPRSTUVWXYZ', 2) + ' ' + pick(rng, '0123456789', 3) + ' ' +
            pick(rng, 'ABCDEFGHKLMNPRSTUVWXYZ', 2))


def name(rng):
    def part():
        return ''.join(pick(rng, 'bdfghklmnprstvw') + pick(rng, 'aeiou')
                       for _ in range(rng.integers(2, 4))).capitalize()
    return part() + ' ' + part() + pick(rng, 'nrstk')


def texts(kind, count, rng):
    if kind == 'plates':
        face = font('dejavu/DejaVuSansMono-Bold.ttf', 64)
        words, look = distinct(plate, count, rng), (25, 225, 0.9)
    else:
        face = font('liberation/LiberationSerif-Bold.ttf', 64)
        words, look = distinct(name, count, rng), (235, 60, 0.92)
    made = numpy.stack([board(text, kind, face, *look) for text in words])
    return Set(made, made)


# ---- faces ----

FACE = {  # parameter: mean and standard deviation between people, in parts of the picture's width
    'head width': (0.34, 0.025), 'head height': (0.43, 0.025), 'jaw': (0.75, 0.12),
    'skin': (160, 28), 'hair': (70, 35), 'hair line': (0.27, 0.035), 'hair side': (0.45, 0.12),
    'eye distance': (0.15, 0.014), 'eye height': (0.45, 0.018), 'eye size': (0.045, 0.006),
    'brow height': (0.075, 0.012), 'brow thickness': (0.018, 0.006), 'brow slope': (0, 0.12),
    'nose length': (0.17, 0.02), 'nose width': (0.05, 0.01), 'mouth width': (0.11, 0.016),
    'mouth height': (0.74, 0.018), 'lip': (0.022, 0.006), 'beard': (-5, 22), 'glasses': (-0.6, 1)}
MOOD = {  # what changes from one recording to the next
    'light': (0, 0.12), 'open': (0.008, 0.008), 'gaze': (0, 0.008), 'turn': (0, 0.008),
    'raise': (0, 0.006)}


def draw_face(people, moods):
    """people, moods: {parameter: [identity]}. Edges are soft over two fine samples."""
    height, width = size('faces')
    p = {key: value[:, None, None] for key, value in {**people, **moods}.items()}
    y, x = numpy.mgrid[0:height, 0:width].astype(numpy.float32) / width
    y, x = y[None], x[None] - 0.5 - p['turn']

    def inside(value):  # value: distance from the edge, in parts of the width, positive inside
        return numpy.clip(0.5 + value * width / 2, 0, 1)

    def ellipse(cx, cy, rx, ry):
        far = numpy.sqrt(((x - cx) / rx) ** 2 + ((y - cy) / ry) ** 2)
        return inside((1 - far) * numpy.minimum(rx, ry))

    def paint(image, mask, level):
        return image + mask * (level - image)

    turn = p['turn']
    jaw = 1 - (1 - p['jaw']) * numpy.clip((y - 0.5) / 0.45, 0, 1) ** 2
    head = ellipse(0, 0.5, p['head width'] * jaw, p['head height'])
    hair = numpy.maximum(ellipse(0, 0.46, p['head width'] * 1.13, p['head height'] * 1.05) *
                         inside(p['hair side'] + 0.25 - y), 0)
    image = paint(numpy.full_like(head, FLAT), hair, p['hair'])
    image = paint(image, head * inside(y - p['hair line'] + 0.4 * x * x), p['skin'])
    image = image - p['beard'].clip(0) * head * inside(y - 0.66)
    for side in (-1, 1):
        cx, cy = side * p['eye distance'] + turn, p['eye height']
        image = paint(image, ellipse(cx, cy, p['eye size'], p['eye size'] * 0.55), 225)
        pupil = p['eye size'] * 0.5
        image = paint(image, ellipse(cx + p['gaze'], cy, pupil, pupil), 40)
        brow = cy - p['brow height'] - p['raise'] - side * p['brow slope'] * (x - cx)
        image = paint(image, inside(p['brow thickness'] - abs(y - brow)) *
                      inside(p['eye size'] * 1.5 - abs(x - cx)), p['hair'] * 0.8)
        ring = abs(numpy.hypot(x - cx, y - cy) - p['eye size'] * 1.7)
        image = paint(image, inside(0.012 - ring) * (p['glasses'] > 0), 35)
    tip = p['eye height'] + p['nose length']
    image = paint(image, ellipse(turn, tip, p['nose width'], 0.02), p['skin'] * 0.72)
    image = paint(image, ellipse(0.03 + turn, tip - 0.07, 0.012, 0.07), p['skin'] * 0.85)
    image = paint(image, ellipse(turn, p['mouth height'], p['mouth width'],
                                 p['lip'] + p['open'].clip(0)), p['skin'] * 0.55)
    return numpy.clip(image * (1 + p['light'] * x * 2), 0, 255).astype(numpy.uint8)


def faces(count, rng):
    def vary(table):
        return {key: (mean + spread * rng.standard_normal(count)).astype(numpy.float32)
                for key, (mean, spread) in table.items()}
    people = vary(FACE)
    shots = []
    for moods in ({key: numpy.full(count, mean, numpy.float32) for key, (mean, _) in MOOD.items()},
                  vary(MOOD)):
        shots.append(numpy.concatenate([
            draw_face({k: v[i:i + 50] for k, v in people.items()},
                      {k: v[i:i + 50] for k, v in moods.items()}) for i in range(0, count, 50)]))
    return Set(*shots)


# ---- photographs ----

PATCH = 104  # pixels of the footage; half of the fine samples of an identity
FRAMES = 60  # of each file, at most


def decode(path):
    """Pairs of frames: one of each second, and the one after it; gray."""
    try:
        width, height = map(int, output(
            'ffprobe', '-v', 'error', '-select_streams', 'v:0', '-show_entries',
            'stream=width,height', '-of', 'csv=p=0', path).split(b',')[:2])
    except (Error, ValueError):
        return []  # no footage
    raw = output(*FFMPEG, '-i', path, '-vf', "select='lt(mod(n,12),2)'", '-vsync', '0', '-frames:v',
                 str(2 * FRAMES), '-f', 'rawvideo', '-pix_fmt', 'gray', '-')
    count = len(raw) // (width * height)
    frames = numpy.frombuffer(raw[:count * width * height], numpy.uint8)
    frames = frames.reshape(count, height, width)
    return [(frames[i], frames[min(i + 1, count - 1)]) for i in range(0, count, 2)]


def coarse(patch):
    """The patch at an eighth of its size, without its mean, as a unit vector; its length before."""
    small = patch.reshape(PATCH // 8, 8, PATCH // 8, 8).mean((1, 3)).ravel()
    small = small - small.mean()
    length = numpy.linalg.norm(small)
    return small / max(length, 1e-9), length


def photos(count, rng):
    """Patches with detail, no two alike, each recorded again in the next frame, whatever that shows
    there."""
    pairs = [pair for path in footage().values() for pair in decode(path)]
    places = [(i, y, x) for i, (frame, _) in enumerate(pairs)
              for y in range(0, frame.shape[0] - PATCH + 1, PATCH // 2)
              for x in range(0, frame.shape[1] - PATCH + 1, PATCH // 2)]
    kept, shots = numpy.zeros((0, (PATCH // 8) ** 2)), ([], [])
    for at in rng.permutation(len(places)):
        i, y, x = places[at]
        both = [frame[y:y + PATCH, x:x + PATCH] for frame in pairs[i]]
        small, length = coarse(both[0])
        if length < 15 * PATCH / 8 or (kept.size and (kept @ small).max() > 0.9):
            continue
        kept = numpy.vstack([kept, small])
        for shot, patch in zip(shots, both):
            shot.append(patch.repeat(2, 0).repeat(2, 1))
        if len(kept) == count:
            break
    if len(kept) < 100:
        raise Missing(f'the footage in HALOD_MEDIA has {len(kept)} different parts, fewer than 100')
    return Set(numpy.stack(shots[0]), numpy.stack(shots[1]))


def make(kind, count, rng):
    """At most `count` identities."""
    if kind == 'faces':
        return faces(count, rng)
    return photos(count, rng) if kind == 'photos' else texts(kind, count, rng)
