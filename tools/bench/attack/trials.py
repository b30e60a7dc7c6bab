# SPDX-License-Identifier: BSD-2-Clause
"""Recordings of identities, filtered by halod, and the attacks on them."""
import numpy

import attacks
import grids
import identities
import scoring

ONE = ('nearest', 'wiener', 'richardson-lucy', 'tv', 'learned', *(['network'] if attacks.torch else []),
       'cells')
MANY = 'average', 'registered', 'stack', 'super-resolution', 'learned-clip'
FEW = 200  # trials of attacks on one frame that take long
CLIPS = 128  # trials with many frames, of chains without a bound
SHIFTS = [(y, x) for y in range(-4, 5, 2) for x in range(-4, 5, 2)]  # of candidates, quarter pixels


class Scene:
    """All about one kind that no chain changes."""

    def __init__(self, kind, wish, number):
        self.wish, self.kind = wish, kind
        self.rng = numpy.random.default_rng([wish.seed, number])
        train = 40 if wish.quick else 192
        made = identities.make(kind, wish.identities + train, self.rng)
        if len(made.gallery) < wish.identities + train:
            train = min(train, len(made.gallery) // 4)
        self.known = grids.phases(made.gallery[train:])
        self.recorded = (self.known if made.captures is made.gallery else
                         grids.phases(made.captures[train:]))
        self.others = grids.phases(made.gallery[:train]), grids.phases(made.captures[:train])
        self.camera = grids.Camera(kind, self.rng)
        self.layout = self.camera.layout
        self.shifts = SHIFTS[::6] if wish.quick else SHIFTS
        self.clean = numpy.stack([self.still(self.known, shift) for shift in self.shifts])
        self.mean = attacks.mean_of(self.clean)
        angle = numpy.arange(wish.frames)[:, None] / wish.frames * 2 * numpy.pi
        turns, phase = numpy.array([3, 2]), self.rng.random(2) * 6
        path = 8 * (numpy.sin(turns * angle + phase) - numpy.sin(phase))
        self.path = numpy.rint(path).clip(-16, 16).astype(int)

    def still(self, images, shift):
        return (self.camera.place(images, shift) + 0.5).astype(numpy.uint8)

    def grids(self, number):
        """Slices of the identities that share a frame."""
        return [slice(i, min(i + grids.TILES, number)) for i in range(0, number, grids.TILES)]

    def records(self, number, each, path=((0, 0),)):
        """(names, groups): recordings of the first `number` identities, `each` times."""
        names, groups = [], []
        for _ in range(each):
            for which in self.grids(number):
                names.append(numpy.arange(number)[which])
                groups.append(self.group(self.recorded[which], path))
        return numpy.concatenate(names), groups

    def group(self, images, path, noise=True):
        """Frames of identities that move along the path. With noise, it is a recording, with light
        and positions of its own."""
        away = self.rng.integers(-4, 5, (len(images), 2)) * noise
        light = 1 + 0.03 * self.rng.uniform(-1, 1), 3 * self.rng.uniform(-1, 1)

        def frames():
            for shift in path:
                placed = numpy.concatenate([self.camera.place(images[i:i + 1], shift + away[i])
                                            for i in range(len(images))])
                yield self.camera.frame(placed, shift, light if noise else None)
        return frames()


class Trials:
    """The attacks on one chain. found: {attack: (right, trials)}; seen: {attack: images}, for the
    first identities."""

    def __init__(self, scene, chain, wanted):
        self.scene, self.chain, self.wish, self.wanted = scene, chain, scene.wish, set(wanted)
        self.known = grids.noiseless(chain)
        self.bounded = scoring.promised(chain, len(scene.known)) is not None
        self.each = self.wish.draws if self.bounded else 1
        self.rng = numpy.random.default_rng([self.wish.seed, 77])
        scene.camera.rng = scene.rng = numpy.random.default_rng([self.wish.seed, 78])
        raw = [next(scene.group(scene.recorded[:grids.TILES], ((0, 0),)))]
        self.model = grids.model(self.wish.halod, chain, scene.layout, raw[0],
                                 next(iter(self.filtered(chain, [raw]))))
        self.found, self.seen = {}, {}
        if self.wants(*ONE):
            self.one_frame()
        if self.wants(*MANY):
            self.many_frames()

    def wants(self, *names):
        return bool(self.wanted & set(names))

    def filtered(self, chain, groups):
        return grids.filtered(self.wish.halod, chain, self.scene.layout, groups)

    def count(self, attack, guess, names, images=None):
        if attack in self.wanted:
            self.found[attack] = int((guess == names).sum()), len(names)
            if images is not None:
                self.seen[attack] = images[:8]

    def candidates(self):
        """[shift, candidate, y, x]: all candidates, filtered by halod."""
        scene = self.scene
        groups = [[scene.camera.frame(shifted[which])]
                  for shifted in scene.clean for which in scene.grids(len(scene.known))]
        frames = self.filtered(self.known, groups)
        ret = numpy.empty_like(scene.clean)
        for shifted in ret:
            for which in scene.grids(len(scene.known)):
                shifted[which] = scene.layout.regions(next(frames))[:which.stop - which.start]
        return ret

    def learn(self, path, rows):
        """A matcher that has seen these rows of both_means() of other people's recordings."""
        shots = []
        for images in (self.scene.others[0], *(3 * [self.scene.others[1]])):
            slices = self.scene.grids(len(images))
            groups = [self.scene.group(images[which], path) for which in slices]
            shots.append(self.means(self.chain, groups, slices, path)[:, rows])
        return attacks.Learned(numpy.stack(shots, 1))

    def clips(self, chain, groups, slices, length, path=None):
        """Yields (windows of each frame, movement since the first one) of each group. The movement
        is measured if it is not known. What a track keeps does not move."""
        frames = self.filtered(chain, groups)
        for which in slices:
            clip, moved = [self.scene.layout.windows(next(frames)) for _ in range(length)], path
            if length == 1 or grids.frozen(chain):
                moved = numpy.zeros((length, 2))
            elif path is None:
                moved = grids.register(clip[0][0], [w[0] for w in clip], self.scene.layout)
            yield [windows[:which.stop - which.start] for windows in clip], moved
        next(frames, None)

    def means(self, chain, groups, slices, path):
        """[identity, y, x]: both_means() of the attacker's own recordings."""
        known = numpy.array(path) / grids.QUARTER
        return numpy.concatenate([both_means(clip, moved) for clip, moved in self.clips(
            chain, groups, slices, len(path), known)])

    def one_frame(self):
        scene = self.scene
        number = min(self.wish.probes or len(scene.known), len(scene.known))
        names, groups = scene.records(number, self.each)
        slices = scene.grids(number) * self.each
        shots = [clip[0] if self.model else inside(clip[0])
                 for clip, _ in self.clips(self.chain, groups, slices, 1)]
        windows = numpy.concatenate(shots)
        probes = inside(windows) if self.model else windows
        probes = probes.astype(numpy.float32)
        self.seen['recorded'] = scene.still(scene.recorded[:8], (0, 0))
        self.seen['filtered'] = probes[:8]
        cells = scoring.cells_of(self.chain)
        if self.wants('nearest', 'learned', 'network', *(['cells'] if cells else [])):
            self.match(probes, names, cells)
        if self.model:
            self.invert(probes[:FEW] - self.model.outside(windows[:FEW]), names[:FEW])

    def match(self, probes, names, cells):
        scene, candidates = self.scene, self.candidates()
        if self.wants('nearest'):
            guess = attacks.nearest(probes, candidates, scene.shifts, self.rng)
            self.count('nearest', guess, names, scene.still(scene.known[guess[:8]], (0, 0)))
        if self.wants('learned', 'network'):
            learned = self.learn(((0, 0),), slice(scene.layout.height))
            self.count('learned', learned.match(probes, candidates, self.rng), names)
        if self.wants('network'):
            network = attacks.Network(learned, candidates, self.wish.seed)
            self.count('network', network.match(probes), names)
        if cells and self.wants('cells'):
            self.count('cells', attacks.cells(probes, candidates, cells, self.rng), names)

    def invert(self, rest, names):
        scene = self.scene
        for attack, invert in (('wiener', attacks.wiener),
                               ('richardson-lucy', attacks.richardson_lucy),
                               ('tv', attacks.total_variation)):
            if attack in self.wanted:
                image = invert(self.model, rest, scene.mean).astype(numpy.float32)
                guess = attacks.alike(image, scene.clean, scene.mean, self.rng)
                self.count(attack, guess, names, image)

    def many_frames(self):
        scene, stack, means, gathered = self.scene, None, [], []
        number = min(self.wish.probes or len(scene.known), len(scene.known))
        number = number if self.bounded else min(number, CLIPS)
        names, groups = scene.records(number, self.each, scene.path)
        slices, length = scene.grids(number) * self.each, len(scene.path)
        for clip, path in self.clips(self.chain, groups, slices, length):
            means.append(both_means(clip, path))
            if self.model and self.wants('stack', 'super-resolution'):
                stack = stack or attacks.Stack(self.model, path)
                gathered.append(stack.gather(
                    inside(windows).astype(numpy.float32) - self.model.outside(windows)
                    for windows in clip))
        means = numpy.concatenate(means)
        if self.wants('average', 'registered', 'learned-clip'):
            self.match_means(means, names)
        if stack:
            self.stacked(stack, numpy.concatenate(gathered), names)

    def match_means(self, means, names):
        scene, height = self.scene, self.scene.layout.height
        slices = scene.grids(len(scene.known))
        groups = [scene.group(scene.known[which], scene.path, noise=False) for which in slices]
        known = self.means(self.known, groups, slices, scene.path)
        for attack, part in (('average', slice(height)), ('registered', slice(height, None))):
            if self.wants(attack):
                guess = attacks.nearest(means[:, part], known[None, :, part], [(0, 0)], self.rng)
                self.count(attack, guess, names, means[:, part])
        if self.wants('learned-clip'):
            learned = self.learn(scene.path, slice(None))
            self.count('learned-clip', learned.match(means, known[None], self.rng), names)

    def stacked(self, stack, gathered, names):
        scene = self.scene
        if self.wants('stack'):
            self.count('stack', stack.nearest(gathered, scene.clean, scene.mean, self.rng), names)
        if self.wants('super-resolution'):
            image = stack.solve(gathered, scene.mean).astype(numpy.float32)
            guess = attacks.alike(image, scene.clean, scene.mean, self.rng)
            self.count('super-resolution', guess, names, image)


def inside(windows):
    return windows[:, grids.GAP:-grids.GAP, grids.GAP:-grids.GAP]


def both_means(clip, path):
    """[identity, y, x]: below each other the mean of the regions of all frames as they are, and
    after each was moved back along the path."""
    plain, moved = 0, 0
    for windows, by in zip(clip, path):
        region = inside(windows).astype(numpy.float32)
        plain = plain + region
        moved = moved + (grids.moved_by(region, -by) if by.any() else region)
    return numpy.concatenate([plain, moved], 1) / len(clip)


def extremes(wish, chain):
    """(right, trials) of telling whether a region was black or white: the two contents that differ
    most. The attacker knows what the chain makes of each, and takes the nearer mean."""
    layout, rng = grids.Layout('faces'), numpy.random.default_rng([wish.seed, 79])

    def frame(white):
        ret = numpy.full(layout.shape, identities.FLAT, numpy.uint8)
        layout.fill(ret, 255 * white[:, None, None])
        return ret

    def means(chain, coins):
        frames = grids.filtered(wish.halod, chain, layout, [[frame(white)] for white in coins])
        return numpy.array([layout.regions(f).mean((1, 2)) for f in frames])

    both = numpy.arange(grids.TILES) % 2
    known = means(grids.noiseless(chain), [both])[0]
    runs = -(-wish.identities * wish.draws // grids.TILES)
    coins = rng.integers(0, 2, (runs, grids.TILES))
    seen = means(chain, coins)
    distance = [abs(seen - known[both == white].mean()) for white in (0, 1)]
    guess = attacks.choose(numpy.stack(distance, -1).reshape(-1, 2), rng)
    return int((guess == coins.ravel()).sum()), coins.size
