# SPDX-License-Identifier: BSD-2-Clause
"""Frames with many identities, what halod makes of them, and a model of a linear chain.

A grid is a frame with SIDE by SIDE regions, each filtered on its own (`region=`), around which the
frame stays visible. Regions are so far apart that no blur mixes two of them. An attacker gets the
frame that halod wrote, with its visible surroundings, and knows where the regions are."""
import functools
import subprocess
import threading

import numpy

import identities
import scoring
from benchlib import Error

SIDE = 8
TILES = SIDE * SIDE
ROOM = 3967  # numbers of all cells of a filter; each track takes 4 more (docs/filters.md)
GAP = 64  # pixels between regions: more than the radius of gblur=sigma=21
NOISE = 2.0  # standard deviation of the camera's noise, in levels
QUARTER = identities.SUPER  # positions are whole numbers of quarter pixels


class Layout:
    def __init__(self, kind):
        self.height, self.width = identities.KINDS[kind]
        self.pitch = self.height + GAP, self.width + GAP
        self.shape = GAP + SIDE * self.pitch[0], GAP + SIDE * self.pitch[1]

    def chain(self, chain):
        """With the regions, in every filter: each rectangle is a region and a track of its own. A
        filter is repeated where it cannot draw the cells of all of them."""
        rects = [f'rect {GAP + j * self.pitch[1]} {GAP + i * self.pitch[0]} {self.width} '
                 f'{self.height}' for i in range(SIDE) for j in range(SIDE)]
        ret = []
        for text in chain.split(','):
            cells = scoring.cells_of(text)
            room = ROOM // (4 + cells ** 2) if cells else TILES
            for i in range(0, TILES, room):
                ret.append(text if text == UNFILTERED else text + (':' if '=' in text else '=') +
                           'region=' + '+'.join(rects[i:i + room]))
        return ','.join(ret)

    def fill(self, frame, regions):
        """Writes regions into a frame, repeated if fewer than TILES."""
        for i in range(TILES):
            y = GAP + i // SIDE * self.pitch[0]
            x = GAP + i % SIDE * self.pitch[1]
            frame[y:y + self.height, x:x + self.width] = regions[i % len(regions)]

    def windows(self, frame):
        """[tile, y, x]: the regions with GAP pixels around them; a copy."""
        view = numpy.lib.stride_tricks.sliding_window_view(
            frame, (self.height + 2 * GAP, self.width + 2 * GAP))
        view = view[::self.pitch[0], ::self.pitch[1]]
        return view.reshape(TILES, *view.shape[2:])

    def regions(self, frame):
        return self.windows(frame)[:, GAP:-GAP, GAP:-GAP].copy()


def phases(fine):
    """[identity, phase y, phase x, y, x]: fine images as a camera sees them when they lie up to
    three quarters of a pixel further down and right; with one more row and column."""
    count, height, width = fine.shape
    ret = numpy.empty((count, QUARTER, QUARTER, height // QUARTER + 1, width // QUARTER + 1),
                      numpy.float32)
    for y in range(QUARTER):
        for x in range(QUARTER):
            for i in range(0, count, 100):
                part = fine[i:i + 100]
                wide = numpy.full((len(part), height + QUARTER, width + QUARTER), identities.FLAT,
                                  numpy.float32)
                wide[:, y:y + height, x:x + width] = part
                ret[i:i + 100, y, x] = wide.reshape(len(part), height // QUARTER + 1, QUARTER,
                                                    width // QUARTER + 1, QUARTER).mean((2, 4))
    return ret


def background(layout, rng):
    """Fine texture of one tile, which repeats; flat where the region is and a bit around it."""
    height, width = layout.pitch[0] * QUARTER, layout.pitch[1] * QUARTER
    y, x = numpy.fft.fftfreq(height)[:, None], numpy.fft.rfftfreq(width)[None]
    soft = numpy.exp(-2 * (numpy.pi * 6) ** 2 * (y * y + x * x))
    texture = numpy.fft.irfft2(numpy.fft.rfft2(rng.standard_normal((height, width))) * soft,
                               (height, width))
    texture *= 30 / texture.std()
    reach, half = 8 * QUARTER, GAP // 2 * QUARTER
    texture[half - reach:height - half + reach, half - reach:width - half + reach] = 0
    return (texture + identities.FLAT).clip(0, 255)


class Camera:
    """Records identities. Positions and shifts are (y, x) in quarter pixels."""

    def __init__(self, kind, rng):
        self.layout, self.rng = Layout(kind), rng
        fine = background(self.layout, rng)
        half = GAP // 2
        # The tile begins in the middle of a gap; frames begin half a gap before the first tile.
        self.texture = numpy.empty((QUARTER, QUARTER, *self.layout.pitch), numpy.float32)
        for y in range(QUARTER):
            for x in range(QUARTER):
                moved = numpy.roll(fine, (y, x), (0, 1))
                moved = moved.reshape(self.layout.pitch[0], QUARTER, self.layout.pitch[1], QUARTER)
                self.texture[y, x] = numpy.roll(moved.mean((1, 3)), (half, half), (0, 1))
        height, width = self.layout.shape
        self.pool = [NOISE * rng.standard_normal((height + 99, width + 99), numpy.float32)
                     for _ in range(4)]

    def place(self, image, shift):
        """Regions with images of phases() in them: [identity, y, x]. shift: (y, x)."""
        height, width = self.layout.height, self.layout.width
        ret = numpy.full((len(image), height, width), identities.FLAT, numpy.float32)
        (iy, py), (ix, px) = (divmod(int(s), QUARTER) for s in shift)
        y, x = identities.MARGIN + iy, identities.MARGIN + ix
        part = image[:, py, px][:, :height - y, :width - x]
        ret[:, y:y + part.shape[1], x:x + part.shape[2]] = part
        return ret

    def frame(self, regions, shift=(0, 0), light=None):
        """A frame with regions of place(), repeated if fewer than TILES; its surroundings moved.
        light: gain and brightness of a recording with noise; None: as it is known."""
        height, width = self.layout.shape
        (iy, py), (ix, px) = (divmod(int(s), QUARTER) for s in shift)
        tile = numpy.roll(self.texture[py, px], (iy, ix), (0, 1))
        frame = numpy.tile(tile, (SIDE + 1, SIDE + 1))[:height, :width].copy()
        self.layout.fill(frame, regions)
        if light:
            y, x = self.rng.integers(0, 100, 2)
            noise = self.pool[self.rng.integers(len(self.pool))][y:y + height, x:x + width]
            frame = frame * light[0] + light[1] + noise
        return (frame + 0.5).clip(0, 255).astype(numpy.uint8)


def halod_run(halod, chain, frames, shape, pixels='gray', sample=numpy.uint8):
    """Yields what halod makes of each frame. Raw in, raw out: nothing is lost on the way."""
    height, width = shape
    command = [halod, 'run', '-v', 'error', '-backend', 'cpu', '-f', 'rawvideo', '-pixel_format',
               pixels, '-video_size', f'{width}x{height}', '-framerate', '25', '-i', '-',
               '-vf', chain, '-c:v', 'rawvideo', '-f', 'rawvideo', '-']
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as process:
        fed, said = [], []

        def feed():
            try:
                for frame in frames:
                    process.stdin.write(numpy.ascontiguousarray(frame, sample).tobytes())
                    fed.append(1)
                process.stdin.close()
            except BrokenPipeError:
                pass

        threads = [threading.Thread(target=feed),
                   threading.Thread(target=lambda: said.append(process.stderr.read()))]
        for thread in threads:
            thread.start()
        length, count = height * width * numpy.dtype(sample).itemsize, 0
        try:
            while True:
                data = process.stdout.read(length)
                if len(data) < length:
                    break
                count += 1
                yield numpy.frombuffer(data, sample).reshape(shape)
            for thread in threads:
                thread.join()
            if process.wait() or count != len(fed):
                lines = b''.join(said).decode(errors='replace').strip().splitlines() or ['']
                raise Error(f'{chain.split("region=")[0]}...: halod exits with {process.returncode}, '
                            f'{count} of {len(fed)} frames: {lines[-1]}')
        finally:
            process.kill()


UNFILTERED = 'null'  # takes no region


def frozen(chain):
    """Whether the chain keeps the first frame of a track, so that each grid needs a run of its own:
    a rectangle is one track from the first to the last frame of a run."""
    return scoring.cells_of(chain) > 0


def noiseless(chain):
    """The chain without noise, with which the attacker filters candidates."""
    return ','.join(f'hide=cells:n={scoring.cells_of(text)}:levels=256' if 'noise' in text else text
                    for text in chain.split(','))


def filtered(halod, chain, layout, groups):
    """Yields the frames of all groups, filtered. A group is a sequence of frames in which each
    region shows the same identity."""
    whole = layout.chain(chain)
    if frozen(chain):
        for group in groups:
            yield from halod_run(halod, whole, group, layout.shape)
    else:
        frames = (frame for group in groups for frame in group)
        yield from halod_run(halod, whole, frames, layout.shape)


class Model:
    """A chain that is linear and separable, as two matrices: region = rows . window . columns^T.
    They are measured from halod's answers to edges at each position, at 12 bits."""
    LEVELS = 4095

    def __init__(self, halod, chain, layout):
        self.layout = layout
        shape = layout.height + 2 * GAP, layout.width + 2 * GAP

        def edges():
            for axis in (0, 1):
                for at in range(shape[axis] + 1):
                    frame = numpy.zeros(shape, numpy.uint16)
                    frame[(slice(at, None), slice(None))[::1 - 2 * axis]] = self.LEVELS
                    yield frame

        answers, inside = [], slice(GAP, -GAP)
        for frame in halod_run(halod, chain, edges(), shape, 'gray12le', numpy.uint16):
            answers.append(frame[inside, inside].astype(numpy.float32) / self.LEVELS)
        steps = [numpy.stack([a.mean(1) for a in answers[:shape[0] + 1]], 1),
                 numpy.stack([a.mean(0) for a in answers[shape[0] + 1:]], 1)]
        self.rows, self.columns = (step[:, :-1] - step[:, 1:] for step in steps)
        # What is inside the region and what is outside, of the window.
        self.inner = self.rows[:, inside], self.columns[:, inside]

    def apply(self, windows):
        return self.rows @ windows @ self.columns.T

    def outside(self, windows):
        """What the surroundings, which are visible, contribute to each region."""
        empty = windows.astype(numpy.float32)
        empty[:, GAP:-GAP, GAP:-GAP] = 0
        return self.apply(empty)

    def error(self, before, after):
        """Largest difference, in levels, from what halod made of a frame."""
        made = self.apply(self.layout.windows(before).astype(numpy.float32))
        return float(abs(made - self.layout.regions(after)).max())


def model(halod, chain, layout, before, after):
    """The model of the chain, or None if it has none: it must give halod's own output, up to the
    rounding of halod (1 level, docs/filters.md) and of the measurement."""
    if frozen(chain):
        return None
    ret = Model(halod, chain, layout)
    return ret if ret.error(before, after) <= 1.2 and abs(ret.rows).max() > 0.001 else None


def register(first, frames, layout):
    """Movement of each frame since the first one, (y, x) in pixels, measured on the visible
    surroundings of one region (least squares on the gradient, from one frame to the next)."""
    height, width = first.shape
    seen = numpy.ones((height, width), bool)
    seen[GAP - 8:GAP + layout.height + 8, GAP - 8:GAP + layout.width + 8] = False
    seen[:12] = seen[-12:] = seen[:, :12] = seen[:, -12:] = False
    first, ret, at = first.astype(numpy.float32), [], numpy.zeros(2)
    for frame in frames:
        frame = frame.astype(numpy.float32)
        for _ in range(6):
            moved = moved_by(frame, -at)
            gy, gx = numpy.gradient((moved + first) / 2)
            g = numpy.stack([gy[seen], gx[seen]], 1)
            step = numpy.linalg.lstsq(g, (first - moved)[seen], rcond=None)[0]
            at = at + step
            if abs(step).max() < 0.005:
                break
        ret.append(at.copy())
    return ret


@functools.lru_cache(256)  # more than the movements of one clip
def shift_matrix(size, by):
    """out = matrix . in moves by `by` samples: cubic interpolation, the last sample repeated."""
    rows = numpy.arange(size)
    low = numpy.floor(rows - by).astype(int)
    ret = numpy.zeros((size, size), numpy.float32)
    for i in range(-1, 3):
        far = abs(rows - by - low - i)
        weight = numpy.where(far < 1, (1.5 * far - 2.5) * far ** 2 + 1,
                             ((2.5 - 0.5 * far) * far - 4) * far + 2)
        numpy.add.at(ret, (rows, (low + i).clip(0, size - 1)), weight)
    return ret


def moved_by(image, shift):
    height, width = image.shape[-2:]
    return shift_matrix(height, shift[0]) @ image @ shift_matrix(width, shift[1]).T
