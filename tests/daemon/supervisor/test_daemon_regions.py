# SPDX-License-Identifier: BSD-2-Clause
# Region feeds through the real daemon: what is seen while a detector speaks, is silent, or never spoke.
import subprocess
import threading
import time

import halotest
from halotest.daemon import HALOCTL, PATIENCE, DaemonTest, main
from halotest.feed_probe import FrameClient

WIDTH, HEIGHT = 320, 240
# What viewers of each chain see on the left, where the region is, and on the right.
SEEN = {'one': (False, True), 'same': (False, True), 'other': (True, False), 'mask': (False, True)}


def rect(x, y, w, h, **more):
    return {'kind': 'rect', 'x': x, 'y': y, 'w': w, 'h': h, **more}


def is_raw(luma, x, y, w, h):
    """Whether the test pattern can be seen there: a chequer, so that no sample is near its neighbours."""
    x0, x1, y0, y1 = max(0, int(x)), min(WIDTH, int(x + w)), max(0, int(y)), min(HEIGHT, int(y + h))
    seen = all_of_it = 0
    for row in range(y0, y1, 2):
        line = luma[row * WIDTH + x0:row * WIDTH + x1]
        seen += sum(abs(a - b) > 30 and abs(b - c) > 30 for a, b, c in zip(line, line[1:], line[2:]))
        all_of_it += max(len(line) - 2, 0)
    return seen > all_of_it / 50


class Viewer(threading.Thread):
    """Looks at every picture of a .fd socket, and notes of each what can be seen on the left and on the right."""

    def __init__(self, path):
        super().__init__(daemon=True)
        self.client, self.over, self.pictures = FrameClient(path), False, []
        self.start()

    def run(self):
        try:
            while not self.over and (frame := self.client.frame()):
                luma = self.client.pixels(frame)[:WIDTH * HEIGHT]
                self.client.release(frame)
                self.pictures.append((is_raw(luma, 4, 180, 140, 50), is_raw(luma, 240, 180, 70, 50)))
        except (EOFError, OSError):
            pass

    def close(self):
        self.over = True
        self.join(10 * PATIENCE)
        self.client.close()


class Regions(DaemonTest):
    def feed_of(self, daemon):
        return daemon.status('one')['region_feed']

    def test_what_is_seen(self):
        """Everything is hidden while nobody has said a word: at first, and again by an engine that takes the
        place of one that had heard something; and when the detector is silent. Beside it is a phone's clip,
        which players turn."""
        daemon = self.start({'one': self.stream(
            region_feed={'margin': '20%', 'hold': '4s', 'limit': '5s'},
            input=f'test:size={WIDTH}x{HEIGHT}:rate=10', filters='solid=region=feed', renditions={
                'same': {'filters': 'solid=region=feed'},
                'other': {'filters': 'pixelize=w=40:region=feed:invert=1'},
                'mask': {'filters': 'solid=region=rect 0 0 50% 100%'}},
            outputs=[{'unix': self.path(f'{name}.fd'), 'video': {'codec': 'raw'},
                      **({} if name == 'one' else {'rendition': name})} for name in SEEN]), 'phone': self.phone()})
        daemon.wait_state('one', 'running')
        self.assert_nothing_seen()
        self.assert_turned(daemon)
        self.assert_chains(daemon)
        self.until(lambda: self.feed_of(daemon)['why'] == 'silent')
        self.assert_nothing_seen()
        run = subprocess.run([HALOCTL, '--socket', daemon.path, 'status', 'one'], capture_output=True, text=True)
        self.assertRegex(run.stdout, r'(?m)^regions    everything is hidden: silent, updated \d+\.\d s ago$')
        self.assertRegex(run.stdout, r'(?m)^ +\d+ updates, \d+ of them refused; \d+ frames, ')
        daemon.kill_engine_of('one')
        self.until(lambda: daemon.status('one')['restarts'] == 1)
        daemon.wait_state('one', 'running')
        self.assert_nothing_seen()
        self.assertEqual(self.feed_of(daemon)['updates'], 0)

    def assert_chains(self, daemon):
        """Viewers of each chain see another part; the region is told with as many others as there may be. Outputs
        with the same chain share it, and each chain is computed once for a picture."""
        many = [rect(0, 170, 200, 70, id='left')] + [
            {'kind': 'polygon', 'id': 'x' * 29 + str(i), 'unit': 'relative', 'ttl': 4.123456789012345,
             'corners': [[x / 99.1234567890123, x * x / 9e3] for x in range(16)]} for i in range(10, 73)]
        viewers = {name: Viewer(self.path(f'{name}.fd')) for name in SEEN}
        for viewer in viewers.values():
            self.addCleanup(viewer.close)

        def are_shown():
            seen_us = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000 - 200_000  # on a busy machine, too
            daemon.control('SetRegions', name='one', picture=seen_us, regions=many)  # for some seconds
            return {name: v.pictures[-1] for name, v in viewers.items() if v.pictures} == SEEN
        self.until(are_shown, lambda: {name: v.pictures[-9:] for name, v in viewers.items()})
        for name, viewer in viewers.items():
            self.assertLessEqual(set(viewer.pictures), {(False, False), SEEN[name]}, name)
        self.until(lambda: self.feed_of(daemon)['regions'] == 64)
        status = daemon.status('one')
        self.assertAlmostEqual(status['region_feed']['pictures'] / status['filtered'], 2, delta=0.2)

    def assert_nothing_seen(self):
        """By who comes now."""
        viewer = Viewer(self.path('one.fd'))
        self.until(lambda: len(viewer.pictures) > 10)
        self.assertEqual(set(viewer.pictures), {(False, False)})
        viewer.close()

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


if __name__ == '__main__':
    main()
