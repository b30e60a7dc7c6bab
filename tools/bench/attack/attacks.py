# SPDX-License-Identifier: BSD-2-Clause
"""Attacks. Images are [probe, y, x] in float32; a probe is what a filter left of one identity.

Those with a model invert the chain; their prior is the mean of all candidates, which is what every
attacker knows about plates or faces. They are compared with the candidates afterwards."""
import numpy

import grids

try:
    import torch
except ImportError:
    torch = None

QUANTIZED = 0.3  # standard deviation of what rounding adds to a sample, in levels
SYSTEMATIC = 0.1  # of errors that are alike in all frames, as of measured movement
SPREAD = 45.0  # standard deviation of an image around the mean of all, in levels


# Standard deviations of a recording's gain, brightness (levels) and position beside a candidate's.
GAIN, LEVEL, AWAY = 0.05, 4.0, 0.25


class Metric:
    """Inner product of differences between images. Differences that come from the recording count
    less, the more probable they are: brightness, gain, and a small shift of the mean of all
    candidates. moves: the mean's change by a shift of one pixel down, and right. product: the
    symmetric matrix of the inner product before; None: the identity."""

    def __init__(self, mean, moves, product=None):
        y, x = moves
        table = [GAIN * mean, LEVEL * numpy.ones_like(mean), AWAY * y, AWAY * x]
        self.mean, self.product = mean.ravel(), product
        self.table = numpy.stack([t.ravel() for t in table]).astype(numpy.float32)
        self.weighted = self.table if product is None else self.table @ product
        inner = self.weighted @ self.table.T.astype(float)
        self.inverse = numpy.linalg.inv(inner + QUANTIZED ** 2 * numpy.eye(len(table)))

    def nearest(self, products, candidates):
        """[probe, candidate]: squared distance, up to a constant of the probe, of the best shift.
        products: of the probes, less the mean, with each sample. candidates: [shift, candidate, y,
        x]."""
        best, probes = None, (products @ self.table.T).astype(float) @ self.inverse
        for shifted in candidates:
            c = shifted.reshape(len(shifted), -1).astype(numpy.float32) - self.mean
            whole = c if self.product is None else c @ self.product
            sides = (c @ self.weighted.T).astype(float)
            cc = (c * whole).sum(1, dtype=float) - ((sides @ self.inverse) * sides).sum(1)
            found = cc - 2 * ((products @ c.T).astype(float) - probes @ sides.T)
            best = found if best is None else numpy.minimum(best, found)
        return best


def mean_of(candidates):
    return numpy.mean([c.mean(0, dtype=float) for c in candidates], 0).astype(numpy.float32)


def moves_of(candidates, shifts):
    """How the mean of all candidates changes if they move down and right by a pixel."""
    if len(shifts) == 1:
        return numpy.gradient(candidates[0].mean(0, dtype=float))
    shifts = numpy.array(shifts, float) / grids.QUARTER
    means = numpy.stack([c.mean(0, dtype=float) for c in candidates])
    return [numpy.tensordot(by, means - means.mean(0), 1) / (by * by).sum()
            for by in (shifts - shifts.mean(0)).T]


def nearest(probes, candidates, shifts, rng):
    """Index of the best candidate of each probe; shifts of the candidates in quarter pixels."""
    mean, moves = mean_of(candidates), moves_of(candidates, shifts)
    p = (probes - mean).reshape(len(probes), -1)
    return choose(Metric(mean, moves).nearest(p, candidates), rng)


def alike(images, candidates, mean, rng):
    """Index of the candidate that a recovered image resembles most: by correlation of what differs
    from the mean, so that detail that could not be recovered counts for no one."""
    p, best = (images - mean).reshape(len(images), -1), None
    for shifted in candidates:
        c = (shifted - mean).reshape(len(shifted), -1)
        found = -(p @ (c / (numpy.linalg.norm(c, axis=1, keepdims=True) + 1e-6)).T)
        best = found if best is None else numpy.minimum(best, found)
    return choose(best, rng)


def cells(probes, candidates, number, rng):
    """The candidate whose cells differ least in sum from the probe's, of the means over all shifts.
    Under Laplace noise that is the most probable one, also where a cell is at its limit. number:
    of cells across, and down."""
    def middles(images):
        y, x = ((2 * numpy.arange(number) + 1) * size // (2 * number) for size in images.shape[1:])
        return images[:, y[:, None], x].reshape(len(images), -1).astype(numpy.float32)

    known = numpy.mean([middles(shifted) for shifted in candidates], 0)
    distance = numpy.zeros((len(probes), len(known)), numpy.float32)
    for seen, of_known in zip(middles(probes).T, known.T):
        distance += abs(seen[:, None] - of_known[None])
    return choose(distance, rng)


def choose(distance, rng):
    """The nearest; among equals, one by lot. They differ by float rounding."""
    equal = distance <= distance.min(1, keepdims=True) + 1e-3
    return (equal * (1 - rng.random(distance.shape))).argmax(1)


# ---- one frame, with the model ----

def wiener(model, rest, mean):
    """rest: the regions without what the surroundings contributed. Exact for a separable chain."""
    rows, columns = model.inner
    uy, sy, vy = numpy.linalg.svd(rows)
    ux, sx, vx = numpy.linalg.svd(columns)
    gain = sy[:, None] * sx[None]
    gain = gain / (gain ** 2 + (QUANTIZED / SPREAD) ** 2)
    return mean + vy.T @ (gain * (uy.T @ (rest - rows @ mean @ columns.T) @ ux)) @ vx


def richardson_lucy(model, rest, mean, steps=200):
    rows, columns = model.inner
    rest, image = rest.clip(0), numpy.broadcast_to(mean.clip(1), rest.shape).copy()
    norm = rows.sum(0)[:, None] * columns.sum(0)[None] + 1e-6
    for _ in range(steps):
        made = rows @ image @ columns.T
        image *= (rows.T @ (rest / made.clip(1e-3)) @ columns) / norm
    return image.clip(0, 255)


def gradient(image):
    ret = numpy.zeros((2, *image.shape), numpy.float32)
    ret[0, :, :-1] = image[:, 1:] - image[:, :-1]
    ret[1, :, :, :-1] = image[:, :, 1:] - image[:, :, :-1]
    return ret


def divergence(field):
    """Minus the adjoint of gradient()."""
    ret = field[0] + field[1]
    ret[:, 1:] -= field[0, :, :-1]
    ret[:, :, 1:] -= field[1, :, :, :-1]
    return ret


def total_variation(model, rest, mean, steps=300):
    """Least squares of the exact model, plus the total variation of what differs from the mean
    (Chambolle and Pock's primal-dual method), within the range of samples."""
    rows, columns = model.inner
    data, edges, tau = 1 / QUANTIZED ** 2, 0.01, 20.0
    sigma = 1 / (9 * tau)
    rest = rest - rows @ mean @ columns.T
    image = ahead = numpy.zeros_like(rest)
    a, b = numpy.zeros_like(rest), numpy.zeros((2, *rest.shape), numpy.float32)
    for _ in range(steps):
        a = (a + sigma * (rows @ ahead @ columns.T - rest)) / (1 + sigma / data)
        b = b + sigma * gradient(ahead)
        b /= numpy.maximum(1, numpy.sqrt((b * b).sum(0)) / edges)
        before = image
        image = (image - tau * (rows.T @ a @ columns - divergence(b))).clip(-mean, 255 - mean)
        ahead = 2 * image - before
    return mean + image


# ---- a learned matcher ----

class Learned:
    """Linear discriminants: directions in which other people's recordings differ little from each
    other while people differ much."""

    def __init__(self, shots, dimensions=96):
        """shots: [person, recording, y, x] of people who are not among the candidates."""
        people, each = shots.shape[:2]
        flat = shots.reshape(people * each, -1).astype(numpy.float32)
        self.mean = flat.mean(0)
        flat = flat - self.mean
        _, s, v = numpy.linalg.svd(flat, full_matrices=False)
        self.basis = v[:min(dimensions, int((s > 1e-3 * max(s[0], 1e-9)).sum()) or 1)].T
        low = (flat @ self.basis).reshape(people, each, -1)
        inner = (low - low.mean(1, keepdims=True)).reshape(people * each, -1)
        spread = inner.T @ inner / (people * (each - 1)) + 0.02 * numpy.eye(inner.shape[1])
        values, vectors = numpy.linalg.eigh(spread)
        self.basis = self.basis @ (vectors / numpy.sqrt(values.clip(1e-6)))

    def embed(self, images):
        return (images.reshape(len(images), -1).astype(numpy.float32) - self.mean) @ self.basis

    def match(self, probes, candidates, rng):
        """candidates: [shift, candidate, y, x]."""
        p = self.embed(probes)
        c = numpy.mean([self.embed(shifted) for shifted in candidates], 0)
        distance = (c * c).sum(1)[None] - 2 * p @ c.T
        return choose(distance, rng)


class Network:
    """A small network on the discriminants' picture of the image: one hidden layer, trained to name
    candidates from their filtered images at every shift with noise added."""

    def __init__(self, learned, candidates, seed, steps=400):
        torch.manual_seed(seed)
        self.learned = learned
        x = torch.tensor(numpy.stack([learned.embed(c) for c in candidates])).float()
        self.scale = x.std().clamp_min(1e-6)
        shifts, count, width = x.shape
        self.net = torch.nn.Sequential(torch.nn.Linear(width, 256), torch.nn.ReLU(),
                                       torch.nn.Linear(256, count))
        optimizer = torch.optim.Adam(self.net.parameters(), lr=3e-3)
        for _ in range(steps):
            names = torch.randint(count, (512,))
            shots = x[torch.randint(shifts, (512,)), names] + torch.randn(512, width)
            loss = torch.nn.functional.cross_entropy(self.net(shots / self.scale), names)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    def match(self, probes):
        with torch.no_grad():
            x = torch.tensor(self.learned.embed(probes)).float()
            return self.net(x / self.scale).argmax(1).numpy()


# ---- many frames, with the model ----

class Stack:
    """All frames of a clip together, exactly: what each says about the image of the first frame,
    through its movement and the chain, is added up in one system of equations."""

    def __init__(self, model, path):
        height, width = model.layout.height, model.layout.width
        self.parts = [(model.inner[0] @ grids.shift_matrix(height, y),
                       model.inner[1] @ grids.shift_matrix(width, x)) for y, x in path]
        self.shape, self.normal = (height, width), numpy.zeros((height, width) * 2, numpy.float32)
        for my, mx in self.parts:
            self.normal += (my.T @ my)[:, None, :, None] * (mx.T @ mx)[None, :, None, :]
        self.normal = self.normal.reshape(height * width, height * width)

    def gather(self, rests):
        """rests: an iterable, for each frame the regions without the surroundings' part."""
        return sum(my.T @ rest @ mx for rest, (my, mx) in zip(rests, self.parts))

    def solve(self, gathered, mean):
        """Super-resolution: the image of each probe, with the mean of all as the prior."""
        noise = QUANTIZED ** 2 + len(self.parts) * SYSTEMATIC ** 2
        system = self.normal + noise / SPREAD ** 2 * numpy.eye(len(self.normal), dtype='f4')
        right = gathered.reshape(len(gathered), -1) - self.normal @ mean.ravel()
        ret = numpy.linalg.solve(system, right.T).T
        return mean + ret.reshape(-1, *self.shape)

    def nearest(self, gathered, candidates, mean, rng):
        """The candidate that explains all frames best; candidates: [shift, candidate, y, x]."""
        g = gathered.reshape(len(gathered), -1) - self.normal @ mean.ravel()
        return choose(Metric(mean, numpy.gradient(mean), self.normal).nearest(g, candidates), rng)
