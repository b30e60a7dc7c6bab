# SPDX-License-Identifier: BSD-2-Clause
# Region feeds through the real daemon: what is seen while a detector speaks, is silent, or never spoke.
import queue
import subprocess
import threading
import time

from halotest.daemon import (HALOCTL, PATIENCE, Control, DaemonTest, Refused, main, wait_until)
import halotest
from halotest import alone
from halotest.feed_probe import FrameClient

WIDTH, HEIGHT = 320, 240


def now_us():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000


def seen_us():
    """The time of a picture that has been given out, on a busy machine too."""
    return now_us() - 200_000


def rect(x, y, w, h, **more):
    return {'kind': 'rect', 'x': x, 'y': y, 'w': w, 'h': h, **more}


class RegionTest(DaemonTest):
    LIMITS = {'hold': '500ms', 'limit': '700ms'}

    def feed(self, **more):
        return self.stream(region_feed={'margin': '20%', **self.LIMITS},
                           **{'input': f'test:size={WIDTH}x{HEIGHT}:rate=25', **more})

    def tell(self, daemon, *regions, name='one', picture=None):
        return daemon.control('SetRegions', name=name, picture=picture or seen_us(),
                              regions=list(regions))

    def feed_of(self, daemon, name='one'):
        return daemon.status(name)['region_feed']


def is_raw(luma, x, y, w, h):
    """Whether the test pattern can be seen there: a chequer, so that no sample is near its neighbours."""
    x0, x1, y0, y1 = max(0, int(x)), min(WIDTH, int(x + w)), max(0, int(y)), min(HEIGHT, int(y + h))
    seen = all_of_it = 0
    for row in range(y0, y1, 2):
        line = luma[row * WIDTH + x0:row * WIDTH + x1]
        seen += sum(abs(a - b) > 30 and abs(b - c) > 30 for a, b, c in zip(line, line[1:], line[2:]))
        all_of_it += max(len(line) - 2, 0)
    return seen > all_of_it / 50


class Thing:
    """What a detector is to find. It stands on the left, and goes to the right, faster and faster: of
    what was seen once nobody knows where it goes. Who knows its way until 0.7 seconds ago is wrong
    by less than the margin."""
    SIZE, Y, ACCELERATION, FASTER = 40, 90, 10, 6  # pixels, and seconds

    def __init__(self):
        self.began = None

    def begin(self):
        """Anew, on the left."""
        self.began = time.monotonic_ns() // 1000

    def box(self, us):
        t = max(0, (us - self.began) / 1e6)
        x = self.ACCELERATION * (min(t, self.FASTER)**2 / 2 + self.FASTER * max(0, t - self.FASTER))
        return x, self.Y, self.SIZE, self.SIZE


class Viewer(threading.Thread):
    """Looks at every picture of a .fd socket, and notes of each its time, whether the thing could be
    seen, and whether anything could, far from it."""

    def __init__(self, path, thing=None):
        super().__init__(daemon=True)
        self.client, self.thing, self.over = FrameClient(path), thing or Thing(), False
        self.times, self.pictures = queue.Queue(), []  # (us, thing seen, corner seen)
        self.start()

    def run(self):
        try:
            while not self.over:
                frame = self.client.frame()
                if frame is None:
                    return
                luma = self.client.pixels(frame)[:WIDTH * HEIGHT]
                self.client.release(frame)
                us = frame.pts // 1000
                if self.thing.began is None:
                    self.thing.began = us
                self.times.put(us)
                self.pictures.append((us, is_raw(luma, *self.thing.box(us)), is_raw(luma, 4, 180, 300, 50)))
        except (EOFError, OSError):
            pass

    def since(self, us):
        return [picture for picture in list(self.pictures) if picture[0] >= us]

    def close(self):
        self.over = True
        self.join(10 * PATIENCE)
        self.client.close()


class Detector(threading.Thread):
    """Tells where the thing was in pictures of a viewer: late, of few, and now and then it misses it,
    but not where it has not seen it before. leave() silences it from the next word that has found
    the thing: after one that has missed it the thing is shown for a while, as nothing was there."""

    def __init__(self, daemon, viewer, delay=0.1, every=3):
        super().__init__(daemon=True)
        self.control, self.viewer = Control(daemon.path), viewer
        self.delay, self.every, self.over = delay, every, False
        self.logged, self.away, self.missed, self.turns = [], False, False, 0
        while not viewer.times.empty():
            viewer.times.get()
        self.start()

    def run(self):
        count = found = 0
        while not self.over:
            self.turns += 1
            try:
                us = self.viewer.times.get(timeout=0.1)
            except queue.Empty:
                continue
            count += 1
            found = 0 if self.away else found
            if self.away and not self.missed or count % self.every:
                continue
            time.sleep(max(0, us / 1e6 + self.delay - time.monotonic()))
            x, y, w, h = self.viewer.thing.box(us)
            region = {'id': 'thing', 'kind': 'rect', 'unit': 'relative',
                      'x': x / WIDTH, 'y': y / HEIGHT, 'w': w / WIDTH, 'h': h / HEIGHT}
            missed = count % 5 == 0 and found > 2
            try:
                self.control('SetRegions', name='one', picture=us, regions=[] if missed else [region])
                self.logged.append(us)
                found += 1
            except Refused:
                pass  # the stream is being restarted
            self.missed = missed

    def leave(self):
        """Until it says no more: its next turn but one has begun, and its last word has found
        the thing."""
        self.away, turns = True, self.turns
        assert wait_until(lambda: self.turns > turns + 1 and not self.missed)

    def close(self):
        self.over = True
        self.join(10 * PATIENCE)
        self.control.close()


class Unseen(RegionTest):
    def test_nobody_has_said_a_word(self):
        """Everything is hidden: at first, and again by an engine that takes the place of one that had
        heard something. Beside it is a phone's clip, which players turn."""
        daemon = self.start({'one': self.feed(
            input=f'test:size={WIDTH}x{HEIGHT}:rate=5', filters='solid=region=feed', outputs=[
                {'unix': self.path('one.fd'), 'video': {'codec': 'raw'}}]), 'phone': self.phone()})
        daemon.wait_state('one', 'running')
        self.assert_nothing_seen()
        self.assert_turned(daemon)
        many = [rect(1, 2, 3, 4, id='y' * 31)] + [
            {'kind': 'polygon', 'id': 'x' * 29 + str(i), 'unit': 'relative', 'ttl': 0.123456789012345,
             'corners': [[x / 7.1234567890123, x * x / -9e3] for x in range(16)]} for i in range(10, 73)]
        self.until(lambda: self.tell(daemon, *many) is not None and self.feed_of(daemon)['updates'] > 0)
        self.until(lambda: self.feed_of(daemon)['why'] == 'silent')
        run = subprocess.run([HALOCTL, '--socket', daemon.path, 'status', 'one'], capture_output=True, text=True)
        self.assertRegex(run.stdout, r'(?m)^regions    everything is hidden: silent, updated \d+\.\d s ago$')
        self.assertRegex(run.stdout, r'(?m)^ +\d+ updates, \d+ of them refused; \d+ frames, ')
        daemon.kill_engine_of('one')
        self.until(lambda: daemon.status('one')['restarts'] == 1)
        daemon.wait_state('one', 'running')
        self.assert_nothing_seen()
        self.assertEqual(self.feed_of(daemon)['updates'], 0)

    def assert_nothing_seen(self):
        """By who comes now."""
        viewer = Viewer(self.path('one.fd'))
        self.addCleanup(viewer.close)
        self.until(lambda: len(viewer.pictures) > 10)
        self.assertEqual([picture for picture in viewer.pictures if picture[1] or picture[2]], [])

    def phone(self):
        """The region is the upper quarter of what players show, which is stored on the right. Frames
        are as stored."""
        path = halotest.turned_clip(halotest.clip(
            '.mp4', '-f', 'lavfi', '-i', 'color=white:size=64x48:rate=10', '-t', '1', '-c:v',
            'libx264'), 90)
        return self.stream(
            input=path, loop=True, realtime=True, filters='solid=black:region=rect 0 0 100% 25%',
            outputs=[{'unix': self.path('phone.fd'), 'video': {'codec': 'raw'}}])

    def assert_turned(self, daemon):
        client = FrameClient(self.path('phone.fd'))
        self.addCleanup(client.close)
        frame = client.frame()
        while frame.gap:
            client.release(frame)
            frame = client.frame()
        luma = client.pixels(frame)[:64 * 48]
        dark = {(at % 64 // 16) for at, sample in enumerate(luma) if sample < 100}
        light = {(at % 64 // 16) for at, sample in enumerate(luma) if sample > 150}
        self.assertEqual((dark, light), ({3}, {0, 1, 2}))
        self.assertEqual(daemon.logged().count('rotated by 270 degrees clockwise'), 1, daemon.logged())


@alone
class Seen(RegionTest):
    """A detector tells where a thing is that moves."""

    def begin(self, **more):
        self.daemon = self.start({'one': self.feed(
            suffix='fd', filters='solid=region=feed', outputs=[
                {'unix': self.path('one.fd'), 'video': {'codec': 'raw'}}], **more)})
        self.daemon.wait_state('one', 'running')
        self.viewer = Viewer(self.path('one.fd'))
        self.addCleanup(self.viewer.close)

    def detect(self, **more):
        self.viewer.thing.begin()
        detector = Detector(self.daemon, self.viewer, **more)
        self.addCleanup(detector.close)
        return detector

    def wait_shown(self, since=0):
        self.until(lambda: any(p[2] for p in self.viewer.since(since)), lambda: self.viewer.pictures[-20:])

    def assert_hidden(self, pictures):
        self.assertTrue(pictures)
        began = self.viewer.thing.began
        self.assertEqual([(us - began) / 1e6 for us, thing, _ in pictures if thing], [])

    def test_a_thing_that_moves(self):
        """It is hidden in every picture: before the first word, between two, behind the last one, in a
        silence, and when that ends, also by other filters: the feed is the stream's."""
        self.begin()
        time.sleep(0.6)  # of pictures without a word
        self.assertEqual([p for p in self.viewer.pictures if p[1] or p[2]], [], 'nobody has said a word')
        detector = self.detect()
        self.wait_shown()
        time.sleep(2.5)  # of the thing's way
        detector.leave()
        silent = detector.logged[-1] + 900_000  # of the pictures' time
        self.until(lambda: len(self.viewer.since(silent)) > 10)
        quiet = self.viewer.since(silent)
        self.assertEqual([p for p in quiet if p[1] or p[2]], [], 'the detector is silent')
        detector.away = False
        self.wait_shown(quiet[-1][0])
        time.sleep(0.5)  # more of its way
        self.daemon.control('Set', name='one', filters='pixelize=w=40:region=feed')
        self.wait_shown(time.monotonic_ns() // 1000)
        time.sleep(0.5)
        self.until(lambda: sum(p[2] for p in list(self.viewer.pictures)) > 25, 'the rest is shown')
        self.assert_hidden(list(self.viewer.pictures))
        self.assertTrue(self.daemon.runs('one'))

    def test_chains_of_their_own(self):
        """Live viewers see it with the thing hidden, a recording is masked; outputs with the same chain
        share it, and each chain is computed once for a picture."""
        outputs = [{'unix': self.path(f'{name}.fd'), 'video': {'codec': 'raw'},
                    **({} if name == 'one' else {'rendition': name})} for name in ('one', 'same', 'other', 'mask')]
        daemon = self.start({'one': self.feed(
            filters='solid=region=feed', outputs=outputs, renditions={
                'same': {'filters': 'solid=region=feed'},
                'other': {'filters': 'pixelize=w=40:region=feed:invert=1'},
                'mask': {'filters': 'solid=region=rect 0 0 50% 100%'}})})
        daemon.wait_state('one', 'running')
        viewers = {name: Viewer(self.path(f'{name}.fd')) for name in ('one', 'same', 'other', 'mask')}
        for viewer in viewers.values():
            self.addCleanup(viewer.close)
        self.until(lambda: all(len(v.pictures) > 10 for v in viewers.values()))
        self.until(lambda: daemon.status('one')['filtered'] > 30)
        status = daemon.status('one')
        self.assertAlmostEqual(status['region_feed']['pictures'] / status['filtered'], 2, delta=0.2)

        def are_shown():
            self.tell(daemon, rect(0, 170, 200, 70, id='left'))  # which holds for a short time
            return [sum(p[2] for p in v.pictures[-5:]) for v in viewers.values()] == [5, 5, 5, 5]
        self.until(are_shown)
        at = len(viewers['one'].pictures)
        self.assertGreater(at, 20)
        left, right = (4, 180, 140, 50), (240, 180, 70, 50)
        seen = {}

        def look(name):
            """Whether anything is seen: all is hidden where this took too long."""
            self.tell(daemon, rect(0, 170, 200, 70, id='left'))
            client = FrameClient(self.path(f'{name}.fd'))
            frame = client.frame()
            luma = client.pixels(frame)[:WIDTH * HEIGHT]
            client.release(frame)
            client.close()
            seen[name] = is_raw(luma, *left), is_raw(luma, *right)
            return any(seen[name])
        for name in viewers:
            wait_until(lambda name=name: look(name))
        self.assertEqual(seen, {'one': (False, True), 'same': (False, True), 'other': (True, False),
                                'mask': (False, True)})


if __name__ == '__main__':
    main()
