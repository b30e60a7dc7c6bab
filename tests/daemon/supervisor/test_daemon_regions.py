# SPDX-License-Identifier: BSD-2-Clause
# Region feeds through the real daemon: played detectors, silent ones, wrong ones, and too fast ones.
import json
import os
import queue
import signal
import subprocess
import threading
import time

from halotest.daemon import (HALOCTL, HEIGHT, PATIENCE, UNNOTICED, WIDTH, Control, DaemonTest,
                             Refused, is_sanitized, main, wait_until)
import halotest
from halotest import Waits, alone
from halotest.feed_probe import FrameClient
from halotest.standin import INTERFACE


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
        return self.stream(region_feed={'margin': '20%', **self.LIMITS}, **more)

    def tell(self, daemon, *regions, name='one', picture=None):
        return daemon.control('SetRegions', name=name, picture=picture or seen_us(),
                              regions=list(regions))

    def feed_of(self, daemon, name='one'):
        return daemon.status(name)['region_feed']

    def wait_seen(self, daemon, name='one'):
        """Until the session has pictures as old as those of seen_us()."""
        self.until(lambda: daemon.status(name)['filtered'] > 10)

    def taken(self, daemon, *regions):
        """The picture of an update that the engine has taken: it refuses those of pictures that it
        has not got yet, because the machine is late."""
        before, pictures = self.feed_of(daemon)['updates'], []

        def is_taken():
            pictures.append(seen_us())
            self.tell(daemon, *regions, picture=pictures[-1])
            wait_until(lambda: self.feed_of(daemon)['updates'] > before, 2)
            return self.feed_of(daemon)['updates'] > before
        self.until(is_taken)
        return pictures[-1]


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


class SeenTest(RegionTest):
    """What viewers see."""

    def begin(self, **more):
        self.daemon = self.start({'one': self.feed(
            suffix='fd', filters='solid=region=feed', outputs=[
                {'unix': self.path('one.fd'), 'video': {'codec': 'raw'}}], **more)})
        self.daemon.wait_state('one', 'running')
        self.viewer = Viewer(self.path('one.fd'))
        self.addCleanup(self.viewer.close)


class Unseen(SeenTest):
    def test_nobody_has_said_a_word(self):
        """Everything is hidden: at first, and again by an engine that takes the place of one that had
        heard something."""
        self.begin(input=f'test:size={WIDTH}x{HEIGHT}:rate=5')
        self.until(lambda: len(self.viewer.pictures) > 10)
        self.assert_nothing_seen(0)
        self.until(lambda: self.tell(self.daemon, rect(1, 2, 3, 4)) is not None and
                   self.feed_of(self.daemon)['updates'] > 0)
        self.daemon.kill_engine_of('one')
        after = now_us() + 200_000
        self.until(lambda: self.daemon.status('one')['restarts'] == 1)

        def come():
            if not self.viewer.is_alive():  # of an encoding that began again
                self.viewer = Viewer(self.path('one.fd'))
                self.addCleanup(self.viewer.close)
            return len(self.viewer.since(after)) > 10
        self.until(come)
        self.assert_nothing_seen(after)

    def assert_nothing_seen(self, since):
        self.assertEqual([p for p in self.viewer.since(since) if p[1] or p[2]], [])


@alone
class Seen(SeenTest):
    """A detector tells where a thing is that moves."""

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
        silence, and when that ends."""
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
        self.until(lambda: sum(p[2] for p in list(self.viewer.pictures)) > 25, 'the rest is shown')
        self.assert_hidden(list(self.viewer.pictures))
        self.assertTrue(self.daemon.runs('one'))

    def test_an_engine_that_is_killed(self):
        self.begin()
        detector = self.detect()
        self.wait_shown()
        detector.leave()
        self.daemon.kill_engine_of('one')
        killed = time.monotonic_ns() // 1000
        self.until(lambda: self.daemon.status('one')['restarts'] == 1)
        self.until(lambda: self.daemon.status('one')['filtered'] > 20)

        def come():
            if not self.viewer.is_alive():  # of an encoding that began again
                self.viewer = Viewer(self.path('one.fd'), self.viewer.thing)
                self.addCleanup(self.viewer.close)
                detector.viewer = self.viewer
            return len(self.viewer.since(killed + 200_000)) > 10
        self.until(come)
        after = self.viewer.since(killed + 200_000)
        self.assertEqual([p for p in after if p[1] or p[2]], [], 'the new engine knows nothing')
        self.viewer.thing.begin()
        detector.away = False
        self.wait_shown(after[-1][0])
        self.assert_hidden(self.viewer.pictures)

    def test_other_filters(self):
        """The feed is the stream's, whatever its filters are; and these may come and go."""
        self.begin()
        self.detect()
        self.wait_shown()
        self.daemon.control('Set', name='one', filters='pixelize=w=40:region=feed')
        set_at = time.monotonic_ns() // 1000
        self.wait_shown(set_at)
        time.sleep(1)  # of its way
        self.assert_hidden(self.viewer.pictures)

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


class Turned(RegionTest):
    def test_a_clip_that_players_turn(self):
        """A phone's: the region is the upper quarter of what players show, which is stored on the right. Frames
        are as stored."""
        path = halotest.turned_clip(halotest.clip(
            '.mp4', '-f', 'lavfi', '-i', 'color=white:size=64x48:rate=10', '-t', '1', '-c:v',
            'libx264'), 90)
        daemon = self.start({'one': self.stream(
            input=path, loop=True, realtime=True, filters='solid=black:region=rect 0 0 100% 25%',
            outputs=[{'unix': self.path('one.fd'), 'video': {'codec': 'raw'}}])})
        daemon.wait_state('one', 'running')
        client = FrameClient(self.path('one.fd'))
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


class Told(RegionTest):
    LIMITS = {'hold': '4s', 'limit': '5s'}

    def test_status_events_and_metrics(self):
        daemon = self.start({'one': self.feed(), 'two': self.stream('two')},
                            http={'listen': 'unix:' + self.path('http.sock')})
        daemon.wait_state('one', 'running')
        listener = Control(daemon.path)
        self.addCleanup(listener.close)
        listener.send('Events', {}, more=True)
        listener.receive()
        self.assertNotIn('region_feed', daemon.status('two'))
        self.wait_seen(daemon)
        feed = self.feed_of(daemon)
        self.assertEqual((feed['state'], feed['why'], feed['everything_hidden'], feed['age_s']),
                         ('silent', 'none yet', True, None))
        feed = {}

        def is_told():
            self.tell(daemon, rect(1, 2, 3, 4), rect(5, 6, 7, 8))  # which holds for a short time
            feed.update(self.feed_of(daemon))
            return feed['state'] == 'told' and \
                'halod_region_feed_silent{stream="one"} 0' in self.fetch('/metrics')
        self.until(is_told)
        self.assertEqual((feed['regions'], feed['everything_hidden']), (2, False))
        self.assertGreaterEqual(feed['updates'], 1)
        self.until(lambda: self.feed_of(daemon)['why'] == 'silent')
        text = self.fetch('/metrics')
        self.assertIn('halod_region_feed_silent{stream="one"} 1', text)
        self.assertNotIn('halod_region_feed_silent{stream="two"}', text)
        self.assertTrue(daemon.runs('one'))
        seen = []
        while len(seen) < 2:
            event = listener.receive()['event']
            if event['event'] == 'region-feed':
                seen.append((event['stream'], event['state'], event['why']))
        self.assertEqual([event[:2] for event in seen], [('one', 'told'), ('one', 'silent')])
        self.assertIn(seen[1][2], ('silent', 'late'))  # late before it is silent: a busy machine
        self.assertIn('its detector is sending regions', daemon.logged())
        run = subprocess.run([HALOCTL, '--socket', daemon.path, 'status', 'one'], capture_output=True, text=True)
        self.assertRegex(run.stdout, r'(?m)^regions    everything is hidden: silent, updated \d+\.\d s ago$')
        self.assertRegex(run.stdout, r'(?m)^ +\d+ updates, \d+ of them refused; \d+ frames, ')

    def test_what_is_refused(self):
        daemon = self.start({'one': self.feed(), 'two': self.stream('two'),
                             'off': self.feed(name='off', enabled=False)})
        daemon.wait_state('one', 'running')
        good = rect(1, 2, 3, 4)
        wrong = {
            'must be an object': 7,
            "has an unknown field 'wdth'": {**good, 'wdth': 3},
            'kind: must be rect, ellipse or polygon': {**good, 'kind': 'mask'},
            'w: is missing': {k: v for k, v in good.items() if k != 'w'},
            'h: must be a number': {**good, 'h': '4'},
            'greater than 0': {**good, 'h': 0},
            'unit: must be pixels or relative': {**good, 'unit': 'percent'},
            'at most': {**good, 'x': 1e9},
            'id: must consist of': {**good, 'id': 'a b'},
            'ttl: must be a number': {**good, 'ttl': []},
            'ttl must be between': {**good, 'ttl': 1e9},
            'corners: only polygons': {**good, 'corners': []},
            'x: is not allowed for a polygon, which is specified by its corners only': {**good, 'kind': 'polygon'},
            'corners: must be a list': {'kind': 'polygon', 'corners': [[1, 2], [3, 4]]},
            'corners: each corner must be': {'kind': 'polygon', 'corners': [[1, 2], [3, 4], [5]]},
        }
        for words, region in wrong.items():
            with self.subTest(words), self.assertRaisesRegex(Refused, words.replace('[', r'\[')) as caught:
                self.tell(daemon, good, region)
            self.assertEqual(caught.exception.error, 'Refused')
        corners = [[i, i * i] for i in range(64)]
        many = {
            '65 regions, but at most 64 are allowed': [good] * 65,
            'all regions together have more than 1024 corners': [{'kind': 'polygon', 'corners': corners}] * 17,
            "another region has the id 'a'": [{**good, 'id': 'a'}] * 2,
        }
        for words, regions in many.items():
            with self.subTest(words), self.assertRaisesRegex(Refused, words):
                self.tell(daemon, *regions)
        for picture in (now_us() - 61_000_000, now_us() + 3600_000_000, 5):
            with self.assertRaisesRegex(Refused, 'within a minute'):
                self.tell(daemon, good, picture=picture)
        with self.assertRaisesRegex(Refused, 'has no region_feed') as caught:
            self.tell(daemon, good, name='two')
        self.assertEqual(caught.exception.error, 'Refused')
        with self.assertRaisesRegex(Refused, 'nearest: one') as caught:
            self.tell(daemon, good, name='on')
        self.assertEqual(caught.exception.error, 'NoSuchStream')
        with self.assertRaisesRegex(Refused, 'not running') as caught:
            self.tell(daemon, good, name='off')
        self.assertEqual(caught.exception.error, 'Failed')
        self.assertEqual(self.feed_of(daemon)['updates'], 0)
        # The largest that is allowed reaches the engine.
        self.wait_seen(daemon)
        self.taken(daemon, *[{'kind': 'polygon', 'id': 'x' * 30 + str(i), 'unit': 'relative',
                              'ttl': 0.123456789012345,
                              'corners': [[x / 7.1234567890123, y / -9e3] for x, y in corners]}
                             for i in range(10)], *[{**good, 'id': f'y{i}'} for i in range(54)])
        self.until(lambda: self.feed_of(daemon)['regions'] == 64)

    def test_older_updates_are_counted(self):
        daemon = self.start({'one': self.feed()})
        daemon.wait_state('one', 'running')
        self.wait_seen(daemon)

        def is_refused():
            """But not of a feed that was silent meanwhile."""
            at, before = self.taken(daemon), self.feed_of(daemon)
            self.tell(daemon, rect(1, 2, 3, 4), picture=at - 1000)

            def count(key):
                return self.feed_of(daemon)[key] - before[key]
            self.until(lambda: count('refused') or count('updates'))
            return (count('refused'), count('updates')) == (1, 0)
        self.until(is_refused)

    def test_updates_about_pictures_to_come_are_counted(self):
        """Nobody has found nothing there: all stays hidden."""
        daemon = self.start({'one': self.feed()})
        daemon.wait_state('one', 'running')
        self.wait_seen(daemon)
        for count, ahead in enumerate((50_000_000, 52_000_000, 54_000_000, 56_000_000), 1):
            self.tell(daemon, picture=now_us() + ahead)
            self.until(lambda count=count: self.feed_of(daemon)['refused'] == count)
        feed = self.feed_of(daemon)
        self.assertEqual((feed['updates'], feed['everything_hidden'], feed['why']), (0, True, 'none yet'))

    def test_an_engine_that_is_killed(self):
        """A new one begins with everything hidden."""
        daemon = self.start({'one': self.feed()})
        daemon.wait_state('one', 'running')
        self.until(lambda: self.tell(daemon, rect(1, 2, 3, 4)) is not None and
                   self.feed_of(daemon)['state'] == 'told')
        daemon.kill_engine_of('one')
        self.until(lambda: self.feed_of(daemon)['why'] == 'none yet')
        daemon.wait_state('one', 'running')
        self.assertTrue(self.feed_of(daemon)['everything_hidden'])
        self.until(lambda: self.feed_of(daemon)['updates'] == 0)

    def test_an_engine_that_does_not_read(self):
        """Updates of thirty KiB each, far more than a socket holds: none waits but the newest."""
        daemon = self.start({'one': self.feed()}, environment=UNNOTICED)
        daemon.wait_state('one', 'running')
        pid, memory = daemon.engines()['cpu']['pid'], daemon.memory()
        corners = [[i / 3, i * i / 7] for i in range(64)]
        self.wait_seen(daemon)
        os.kill(pid, signal.SIGSTOP)
        try:
            for _ in range(200):
                self.tell(daemon, *[{'kind': 'polygon', 'corners': corners}] * 15)
        finally:
            os.kill(pid, signal.SIGCONT)
        grown = daemon.memory() - memory
        self.taken(daemon, rect(1, 2, 3, 4), rect(5, 6, 7, 8))
        self.until(lambda: self.feed_of(daemon)['regions'] == 2)
        self.assertEqual(daemon.engines()['cpu']['pid'], pid, daemon.logged())
        if not is_sanitized():
            self.assertLess(grown, 8192, 'KiB')

    @alone
    def test_a_flood(self):
        """Ten thousand updates a second, unanswered: the stream goes on, and the newest counts."""
        daemon = self.start({'one': self.feed()})
        daemon.wait_state('one', 'running')
        reader = self.reader('one.ts')
        flooder = Control(daemon.path)
        self.addCleanup(flooder.close)
        before = daemon.rate('one', 1.5)  # on this machine, with all that it has to do
        began, sent, memory, waits = time.monotonic(), 0, daemon.memory(), Waits()
        filtered = daemon.status('one')['filtered']
        while time.monotonic() - began < 3:
            batch = b''
            for _ in range(100):
                call = {'method': INTERFACE + 'SetRegions', 'oneway': True, 'parameters': {
                    'name': 'one', 'picture': seen_us(), 'regions': [rect(sent % 100, 2, 30, 40, id='a')]}}
                batch += json.dumps(call).encode() + b'\0'
                sent += 1
            flooder.socket.sendall(batch)
            ahead = sent / 10000 - (time.monotonic() - began)
            if ahead > 0:
                time.sleep(ahead)
        took = time.monotonic() - began
        self.assertIsNone(daemon.process.poll(), daemon.logged())
        late = waits.seconds()
        self.assertTrue(daemon.runs('one'))
        status = daemon.status('one')
        self.assertGreater((status['filtered'] - filtered) / took, 0.3 * before / PATIENCE,
                           daemon.logged())
        self.assertLess(status['region_feed']['updates'], 1100 * took)
        self.assertGreater(status['region_feed']['updates'], 10 * took / PATIENCE)
        self.assertEqual(status['restarts'], 0)
        self.assert_no_gap(reader.gaps(began), 1 * PATIENCE + late)
        if not is_sanitized():
            self.assertLess(daemon.memory() - memory, 4096)
        print(f'{sent / took:.0f} updates a second, {status["region_feed"]["updates"]} reached the engine')


if __name__ == '__main__':
    main()
