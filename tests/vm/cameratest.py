# SPDX-License-Identifier: BSD-2-Clause
# Helpers of the tests of halod with the cameras of devices.py: a stream of a camera, who looks at it,
# and what he must never see.
import json
import os
import re
import subprocess
import sys
import threading
import time
from collections import namedtuple

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))

import v4l2
from halotest.daemon import (FFMPEG, HALOD, PATIENCE, ROUNDS, Daemon, DaemonTest,  # noqa: F401
                        Reader, costs_of, descriptors, main, wait_until)
from devices import detail, luma_of
from halotest import leave_out_last, raw_frames

CHAIN = 'gblur=sigma=3'  # leaves nothing of the canary, and is quick
FPS = 15          # so that the emulator's queues are empty, mostly
LEAK = 20          # detail() of what nobody has blurred is about 200 (160 from uvcsim)
CARD_WITHIN = 0.5  # seconds of an unplug
BACK_WITHIN = 3.0  # seconds of the guest's clock until filtered pictures come again

# Threads have heaps of their own, which grow in steps until each has had the largest that it needs
# at once: in two runs of unplugging that was over after 18 and 19 rounds, and 41 more cost nothing.
# So costs are measured over ROUNDS that come after these, where there is time for that.
WARM_UP = 30 if ROUNDS >= 20 else 1
MEMORY = 1024 if WARM_UP > 1 else 8192  # KiB that ROUNDS faults may cost

Seen = namedtuple('Seen', 'time mean detail')


def lacks(stream):
    """What this halod says that it cannot do yet of a stream, or None. Anything else that it may
    have against it is for the tests to find."""
    text = json.dumps({'version': 1, 'streams': {'one': {'filters': CHAIN, **stream}}})
    done = subprocess.run([HALOD, '--check-config', '/dev/stdin'], input=text, text=True,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    return next((line for line in done.stderr.splitlines()
                 if re.search('not there yet|unknown', line)), None)


NO_CAMERAS = lacks({'input': '/dev/video0', 'capture': {'size': '320x180'},
                    'outputs': [{'null': True}]})
NO_VIRTUAL_CAMERAS = NO_CAMERAS or lacks({'input': 'test:', 'outputs': [{'v4l2': '/dev/video9'}]})


class Viewer(threading.Thread):
    """Reads pictures without end, notes each one's brightness and detail. It is never let go: what
    ends it is a failure, unless the test closes it."""

    def __init__(self, width, height, *source):
        super().__init__(daemon=True)
        self.width, self.height, self.seen = width, height, []
        self.process = subprocess.Popen(
            [FFMPEG, '-nostdin', '-v', 'fatal', '-fflags', 'nobuffer', '-flags', 'low_delay',
             '-probesize', '32', '-threads', '1', *source, '-an', '-fps_mode', 'passthrough', '-vf',
             f'scale={width}:{height},format=yuv420p,extractplanes=y', '-f', 'rawvideo',
             '-flush_packets', '1', '-'], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        self.start()

    def run(self):
        size = self.width * self.height
        while len(luma := self.process.stdout.read(size)) == size:
            now, rows = time.monotonic(), range(0, self.height, 16)
            mean = sum(sum(luma[y * self.width:(y + 1) * self.width]) for y in rows)
            self.seen.append(Seen(now, mean / len(rows) / self.width,
                                  detail(luma, self.width, self.height)))

    def is_there(self):
        return self.process.poll() is None

    def close(self):
        self.process.kill()
        self.process.wait()
        self.join(5)
        self.process.stdout.close()


class Recorder(Reader):
    """Of coded pictures, which are looked at later: decoding takes time that the rest would lack."""

    def __init__(self, path, copy):
        self.copy = open(copy, 'wb')  # pylint: disable=consider-using-with
        super().__init__(path)

    def run(self):
        try:
            while data := self.socket.recv(1 << 16):
                self.copy.write(data)
                self.size += len(data)
        except OSError:
            pass
        self.ended = True
        self.copy.close()


class CameraTest(DaemonTest):
    """A stream `one` of a camera whose unfiltered picture is the canary; .level is the brightness of
    the blurred picture, which no card has. At the end of each test nobody has seen the canary and
    nobody was let go."""

    WIDTH, HEIGHT = 320, 180

    def watch(self, camera, level=None, **more):
        """Starts the stream and looks at it until pictures come, of the brightness that the camera's
        have now where no other is given."""
        self.level = level or self.level_of(camera.node)
        self.daemon = self.start({'one': self.camera_stream(camera.node, **more)})
        self.eye = self.look('-i', 'unix:' + self.path('one.nut'))
        self.packets = Recorder(self.path('one.ts'), self.path('seen.ts'))
        self.addCleanup(self.close_packets)
        self.wait_pictures()

    def camera_stream(self, node, capture=None, outputs=(), **more):
        return self.stream(
            input=node, filters=CHAIN,
            capture={'size': f'{self.WIDTH}x{self.HEIGHT}', 'format': 'yuyv', 'stall': 1,
                     'fps': FPS, **(capture or {})},
            outputs=[{'unix': self.path('one.nut'), 'video': {'codec': 'raw'}},
                     {'unix': self.path('one.ts'), 'video': {'preset': 'ultrafast'}}, *outputs],
            **more)

    def look(self, *source):
        eye = Viewer(self.WIDTH, self.HEIGHT, *source)
        self.addCleanup(self.close_eye, eye)
        return eye

    def close_eye(self, eye):
        there = eye.is_there()
        eye.close()
        leaks = [seen for seen in eye.seen if seen.detail > LEAK]
        self.assertEqual(leaks, [], 'unfiltered pictures came out')
        self.assertTrue(there, 'a viewer was let go')

    def close_packets(self):
        there = not self.packets.ended
        self.packets.close()
        self.assertTrue(there, 'a reader was let go')
        leave_out_last(self.path('seen.ts'))
        found = self.details_of(self.path('seen.ts'))
        self.assertTrue(found, 'nothing was coded')
        self.assertLess(max(found), LEAK, 'unfiltered pictures were encoded')

    def details_of(self, path):
        luma = raw_frames(path, filters='format=yuv420p,extractplanes=y')
        size = self.WIDTH * self.HEIGHT
        return [detail(luma[at:at + size], self.WIDTH, self.HEIGHT)
                for at in range(0, len(luma) - size + 1, size)]

    def level_of(self, node):
        with v4l2.Device(node) as device:
            device.set_format(self.WIDTH, self.HEIGHT, 'YUYV')
            device.start()
            picture = device.pictures(3)[2]
            luma = luma_of(picture.data)
        self.assertGreater(detail(luma, self.WIDTH, self.HEIGHT), 5 * LEAK)
        level = sum(luma) / len(luma)
        self.assertGreater(abs(level - 128), 15, 'too near to the gray of a card')
        return level

    # ---- what was seen ----

    def is_frame(self, seen):
        return abs(seen.mean - self.level) < 5

    def first(self, since, picture, eye=None):
        """When the first picture (or card) came after since, or None."""
        for seen in list((eye or self.eye).seen):
            if seen.time >= since and self.is_frame(seen) == picture:
                return seen.time
        return None

    def wait_first(self, since, picture, eye=None, timeout=20):
        found = wait_until(lambda: self.first(since, picture, eye), timeout)
        what = 'picture' if picture else 'card'
        self.assertTrue(found, f'no {what}: {(eye or self.eye).seen[-3:]}, level {self.level}\n'
                        f'{self.daemon.status("one")}\n{self.daemon.logged()[-3000:]}')
        return self.first(since, picture, eye) - since

    def wait_pictures(self, eye=None):
        """From now on; seconds until then."""
        return self.wait_first(time.monotonic(), True, eye)

    def wait_card(self, since):
        return self.wait_first(since, False)

    def wait_why(self, words):
        """The stream waits, and says so in these words."""
        def says():
            status = self.daemon.status('one')
            return status['state'] == 'waiting' and words in status['why']
        self.assertTrue(wait_until(says), f'{self.daemon.status("one")} does not say "{words}"')

    def opened(self):
        return self.daemon.status('one')['opened']

    def wait_opened(self, before):
        self.assertTrue(wait_until(lambda: self.opened() > before),
                        f'not opened again: {self.daemon.status("one")}')

    def assert_soon(self, times, most, what):
        print(f'{what}: {len(times)} rounds, {min(times):.2f} to {max(times):.2f} s, '
              f'mean {sum(times) / len(times):.2f} s')
        self.assertLessEqual(max(times), most * PATIENCE, what)

    # ---- what it costs ----

    def costs(self):
        """Descriptors, and KiB of their own, of supervisor and engines."""
        costs = [costs_of(pid) for pid in [self.daemon.process.pid, *self.daemon.pids()]]
        return [(cost['descriptors'], cost['KiB']) for cost in costs]

    def assert_costs(self, before):
        wait_until(lambda: [d for d, _ in self.costs()] == [d for d, _ in before], 5)
        after = self.costs()
        self.assertEqual([d for d, _ in after], [d for d, _ in before], 'descriptors')
        print(f'descriptors and KiB of supervisor and engine: {before}, {ROUNDS} rounds later {after}')
        for (_, old), (_, new) in zip(before, after):
            self.assertLess(new - old, MEMORY, f'memory, KiB: {before} {after}')
