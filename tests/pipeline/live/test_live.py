# SPDX-License-Identifier: BSD-2-Clause
# Live streams (pipeline/live/live.h), driven by live-probe: times, drops, swaps, faults, and that nothing
# comes out which no filter has seen.
import contextlib
import functools
import hashlib
import http.server
import os
import re
import socket
import statistics
import struct
import subprocess
import threading
import time

import halotest
from halotest import (HALOD, HaloTest, PATIENCE, X264_B, alone, audio_source, clip, ffmpeg,
                      plain_clip, raw_frames, silent_clip, video_source, wait_until, warm, with_colours)

PROBE = os.environ['LIVE_PROBE']
WIDTH, HEIGHT = 96, 64
COUNT = 384  # after so many the pattern of this size repeats
SLIP = 900000  # us: a machine that stood still for a second does not catch up


def draw(n, width=WIDTH, height=HEIGHT):
    """Picture number n of test:, as pipeline/input/source_test.c says."""
    luma = b''.join(bytes(16 + (((x + 2 * n) ^ (y + n)) & 127) + ((x ^ y ^ n) & 1) * 80
                          for x in range(width)) for y in range(height))
    u, v = (128, 16, 166, 54, 202, 90, 240, 128), (128, 146, 16, 34, 222, 240, 110, 128)
    half = (width + 1) // 2
    rows = (height + 1) // 2
    return luma + b''.join(bytes(c[(x + n) * 8 // half % 8] for x in range(half)) * rows
                           for c in (u, v))


@functools.cache
def pattern():
    return [draw(n) for n in range(COUNT)]


def md5s(data, size):
    return [hashlib.md5(data[i:i + size]).hexdigest() for i in range(0, len(data), size)]


@functools.cache
def reference(chain):
    """md5 of each picture of the pattern as `halod run` filters it: {md5: number}."""
    made = subprocess.run([HALOD, 'run', '-f', 'rawvideo', '-video_size', f'{WIDTH}x{HEIGHT}',
                           '-framerate', '50', '-i', '-', '-vf', chain, '-c:v', 'rawvideo', '-f',
                           'nut', '-v', 'warning', '-'], input=b''.join(pattern()),
                          stdout=subprocess.PIPE, check=True).stdout
    raw = ffmpeg('-i', '-', '-f', 'rawvideo', '-', data=made)
    found = md5s(raw, len(pattern()[0]))
    assert len(set(found)) == COUNT, 'pictures that are not told apart'
    return {md5: n for n, md5 in enumerate(found)}


def run_reference(path, chain):
    """The same of a clip, in order."""
    made = subprocess.run([HALOD, 'run', '-i', path, '-vf', chain, '-c:v', 'rawvideo', '-f', 'nut',
                           '-v', 'warning', '-'], stdout=subprocess.PIPE, check=True).stdout
    size = halotest.probe_video(path)
    raw = ffmpeg('-i', '-', '-f', 'rawvideo', '-', data=made)
    return md5s(raw, size['width'] * size['height'] * 3 // 2)


def fields(words):
    return {key: int(value) if re.fullmatch(r'-?\d+', value) else value
            for key, value in re.findall(r'(\w+)=(\S+)', words)}


class Live:
    """live-probe, its lines read as they come."""

    def __init__(self, *words, environment=None):
        self.command = [PROBE, *words]
        self.lines, self.changed = [], threading.Condition()
        self.process = warm.Popen(self.command, stdin=subprocess.PIPE, text=True, bufsize=1,
                                  env={**halotest.halod_environment(), **(environment or {})},
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.errors = []
        self.readers = [threading.Thread(target=self.read), threading.Thread(target=self.read_errors)]
        for reader in self.readers:
            reader.start()

    def read(self):
        for text in self.process.stdout:
            kind, _, rest = text.rstrip('\n').partition(' ')
            with self.changed:
                self.lines.append((kind, fields(rest), rest))
                self.changed.notify_all()

    def read_errors(self):
        self.errors += list(self.process.stderr)

    def tell(self, words):
        self.process.stdin.write(words + '\n')

    def found(self, kind, match=lambda f, rest: True):
        return [(f, rest) for k, f, rest in list(self.lines) if k == kind and match(f, rest)]

    def wait(self, kind, match=lambda f, rest: True, count=1, timeout=30):
        """The count-th such line."""
        end = time.monotonic() + timeout * PATIENCE
        with self.changed:
            while len(found := self.found(kind, match)) < count:
                left = end - time.monotonic()
                if left <= 0 or not self.changed.wait(left):
                    raise AssertionError(f'no {kind}\n{self.logged()}')
        return found[count - 1]

    def wait_state(self, name, count=1, timeout=30):
        return self.wait('state', lambda f, rest: rest.startswith(name + ' '), count, timeout)

    def packets(self, encoding=0, stream=0):
        return [f for f, _ in self.found('packet', lambda f, _: f['enc'] == encoding
                                         and f['stream'] == stream)]

    def wait_packets(self, count, encoding=0, timeout=30):
        self.wait('packet', lambda f, _: f['enc'] == encoding and f['stream'] == 0, count, timeout)
        return self.packets(encoding)

    def stats(self):
        """Of now."""
        count = len(self.found('stats'))
        self.tell('stats')
        return self.wait('stats', count=count + 1)[0]

    def rests(self, over):
        """No packet while so many more pictures are counted as one of these."""
        before, begun = len(self.packets()), self.stats()
        seen = wait_until(lambda: sum(self.stats()[key] - begun[key] for key in over) > 8)
        return seen and len(self.packets()) == before

    def logged(self):
        return '\n'.join(f'{k} {r}' for k, _, r in self.lines if k != 'packet') + '\n' \
            + ''.join(self.errors[-80:])

    def stop(self, timeout=60):
        """Ends it and returns its last statistics."""
        if self.process.poll() is None:
            with contextlib.suppress(BrokenPipeError, ValueError):
                self.tell('stop')
        return self.end(timeout)

    def time_to_stop(self):
        """Ends it; without what a sanitizer does when all is over."""
        took = self.time_to('stop', 'destroyed')
        self.end()
        return took

    def time_to(self, command, kind):
        """Seconds from a command to a line of this kind."""
        begin = time.monotonic()
        self.tell(command)
        self.wait(kind)
        return time.monotonic() - begin

    def end(self, timeout=60):
        self.process.wait(timeout * PATIENCE)
        for reader in self.readers:
            reader.join()
        if self.process.returncode:
            raise AssertionError(f'exit {self.process.returncode}\n{self.logged()}')
        return self.found('stats')[-1][0]

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for reader in self.readers:
            reader.join()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            with contextlib.suppress(BrokenPipeError):
                pipe.close()


def test_input(rate=50, more='', size=f'{WIDTH}x{HEIGHT}'):
    return f'input=test:size={size}:rate={rate}{more}'


RAW = ['output=file', 'codec=raw']


class LiveTest(HaloTest):
    def live(self, *words, environment=None):
        live = Live(*words, environment=environment)
        self.addCleanup(live.close)
        return live

    def assert_grow(self, packets):
        times = [p['dts'] for p in packets]
        self.assertTrue(all(b > a for a, b in zip(times, times[1:])), times)

    def assert_steps(self, packets, step, tolerance=2, slips=False):
        """slips: the source is paced, and the machine may have stood still."""
        for a, b in zip(packets, packets[1:]):
            if not slips or b['pts'] - a['pts'] < SLIP:
                self.assertAlmostEqual(b['pts'] - a['pts'], step, delta=tolerance)

    def assert_prompt(self, measure, seconds):
        self.assert_once(measure, seconds * PATIENCE, 3)

    def dropped(self, stats):
        return sum(value for key, value in stats.items() if key.startswith('drop_'))


class Pictures(LiveTest):
    def test_as_run_filters_them(self):
        live = self.live(test_input(more=':duration=2'), 'filters=gblur=sigma=3', *RAW)
        stats = live.end()
        packets, known = live.packets(), reference('gblur=sigma=3')
        self.assertEqual(stats['decoded'], 100)
        self.assertEqual(len(packets) + self.dropped(stats), 100)
        numbers = [known[p['md5']] for p in packets]  # KeyError: a picture that nobody filtered so
        self.assertTrue(numbers)
        lines = [p['pts'] - n * 20000 for p, n in zip(packets, numbers)]
        for a, b in zip(lines, lines[1:]):
            if b - a < SLIP:
                self.assertAlmostEqual(a, b, delta=2)
        self.assertTrue(live.found('state', lambda f, rest: rest.startswith('ended')))

    def test_pattern(self):
        known = {hashlib.md5(p).hexdigest() for p in pattern()}
        live = self.live(test_input(more=':duration=1'), 'filters=null', 'privacy=off', *RAW)
        live.end()
        self.assertTrue(known.issuperset(p['md5'] for p in live.packets()))

    def test_pace(self):
        live = self.live(test_input(rate=25, more=':duration=2'), *RAW)
        live.end()
        late = [p['now'] - p['pts'] for p in live.packets()]
        self.assertGreaterEqual(min(late), 0, 'a picture came before its time')

    def test_renditions(self):
        live = self.live(test_input(more=':duration=1'), 'filters=gblur=sigma=3',
                         'rendition=a:avgblur=sizeX=5', 'rendition=b:gblur=sigma=3', *RAW, *RAW,
                         'rendition=a', *RAW, 'rendition=b')
        live.end()
        for encoding, chain in enumerate(('gblur=sigma=3', 'avgblur=sizeX=5', 'gblur=sigma=3')):
            packets = live.packets(encoding)
            self.assertTrue(packets)
            self.assertTrue(reference(chain).keys() >= {p['md5'] for p in packets})

    def test_size_and_rate(self):
        live = self.live(f'dump={self.folder}', test_input(more=':duration=2'), *RAW, 'size=48x32',
                         'fps=10', 'output=file', 'size=64x48')
        stats = live.end()
        packets = live.packets(0)
        self.assertTrue(all(p['size'] == 48 * 32 * 3 // 2 for p in packets))
        self.assertEqual({p['dur'] for p in packets}, {100000})
        rates = {f['enc']: re.search(r'rate=(\S+)', rest)[1] for f, rest in live.found('begin')}
        self.assertEqual((rates[0], rates[1]), ('10/1', '50/1'))
        # At most one in each tenth of a second. One that a busy machine has late is near the next.
        times = [p['pts'] for p in packets]
        self.assertLessEqual(len(times), (times[-1] - times[0]) / 100000 + 2, times)
        self.assertTrue(all(b - a > 180000 for a, b in zip(times, times[3:])), times)
        self.assertGreater(stats['drop_rate'], 0)
        self.assertIn('size=48x32', live.found('begin')[0][1] + live.found('begin')[1][1])
        found = halotest.probe_video(self.path('video1'))
        self.assertEqual((found['width'], found['height']), (64, 48))


    def test_a_side_that_follows(self):
        """96x64: a raw frame of another shape is said, for who takes it cannot know."""
        live = self.live(f'dump={self.folder}', test_input(more=':duration=1'), *RAW, 'size=48x-1',
                         'output=file', 'size=-1x16', *RAW, 'size=48x48')
        live.end()
        self.assertEqual({p['size'] for p in live.packets(0)}, {48 * 32 * 3 // 2})
        found = halotest.probe_video(self.path('video1'))
        self.assertEqual((found['width'], found['height']), (24, 16))
        self.assertEqual(live.logged().count('stretches'), 1)
        self.assertIn('48x48 stretches frames of 96x64: a size of 48x-1', live.logged())


class Files(LiveTest):
    def test_nothing_is_lost(self):
        path = silent_clip('.mkv', 2)
        live = self.live(f'input={path}', 'filters=gblur=sigma=2', *RAW)
        stats = live.end()
        packets = live.packets()
        self.assertEqual([p['md5'] for p in packets], run_reference(path, 'gblur=sigma=2'))
        self.assertEqual(self.dropped(stats), 0)
        self.assert_steps(packets, 40000)

    def test_loop(self):
        path = silent_clip('.mp4', 1, codec=X264_B)
        live = self.live(f'input={path}', 'loop=1', 'filters=gblur=sigma=2', *RAW)
        packets = live.wait_packets(130)
        live.stop()
        known = run_reference(path, 'gblur=sigma=2')
        self.assertEqual([p['md5'] for p in packets[:75]], known * 3)
        self.assert_steps(packets, 40000)

    def test_loops_of_containers(self):
        """Each turn is the same pictures, whether a file can be rewound or is opened again."""
        for suffix, codec in (('.mkv', X264_B), ('.ts', X264_B), ('.h264', X264_B),
                              ('.avi', ['-c:v', 'mpeg4']), ('.webm', ['-c:v', 'libvpx-vp9']),
                              ('.gif', ['-c:v', 'gif']), ('.apng', ['-c:v', 'apng']),
                              ('.mpg', ['-c:v', 'mpeg2video', '-bf', '2'])):
            with self.subTest(suffix):
                path = silent_clip(suffix, 1, codec=codec)
                live = self.live(f'input={path}', 'loop=1', 'filters=gblur=sigma=2', *RAW)
                packets = live.wait_packets(80)
                live.stop()
                md5s = [p['md5'] for p in packets]
                self.assertEqual(len(set(md5s)), 25)
                self.assertEqual(md5s[:75], md5s[:25] * 3)
                self.assert_grow(packets)

    @alone
    def test_loop_in_real_time(self):
        path = plain_clip('.mp4', 1)
        begin = time.monotonic()
        live = self.live(f'input={path}', 'loop=1', 'realtime=1', 'filters=gblur=sigma=2', *RAW,
                         'audio=aac')
        packets = live.wait_packets(76)
        self.assertGreater(time.monotonic() - begin, 2.9, 'faster than its clock')
        # the sound has come as far
        live.wait('packet', lambda f, _: f['stream'] == 1 and f['pts'] > packets[-1]['pts'] - 700000)
        stats = live.stop()
        if self.dropped(stats) == 0:
            self.assert_steps(packets, 40000, 20000, slips=True)
        self.assert_grow(packets)
        sound = live.packets(0, 1)
        self.assertGreater(len(sound), 80)
        self.assert_grow(sound)
        gaps = [b['pts'] - a['pts'] for a, b in zip(sound, sound[1:])]
        self.assertLess(max(gap for gap in gaps if gap < SLIP), 120000)

    def test_change_of_size(self):
        parts = [open(silent_clip('.ts', 1, size), 'rb').read() for size in ('160x120', '96x80')]
        path = self.path('both.ts')
        with open(path, 'wb') as out:
            out.write(b''.join(parts))
        live = self.live(f'input={path}', 'filters=gblur=sigma=2', *RAW)
        live.end()
        packets = live.packets()
        self.assertGreater(len(packets), 45, live.logged())
        self.assertEqual({p['size'] for p in packets}, {160 * 120 * 3 // 2})

    def test_damage_is_passed_over(self):
        data = bytearray(open(silent_clip('.ts', 3), 'rb').read())
        for at in range(len(data) // 2, len(data) // 2 + 188 * 20, 188):
            data[at + 20:at + 120] = os.urandom(100)
        path = self.path('torn.ts')
        with open(path, 'wb') as out:
            out.write(data)
        live = self.live(f'input={path}', *RAW)
        stats = live.end()
        self.assertGreater(stats['damaged'], 0)
        self.assertGreater(len(live.packets()), 40)


class Sound(LiveTest):
    def test_copied_and_encoded(self):
        path = plain_clip('.mkv', 2)
        live = self.live(f'input={path}', *RAW, 'audio=copy', *RAW, 'audio=libopus', *RAW)
        live.end()
        kinds = {f['enc']: f['audio'] for f, _ in live.found('begin')}
        self.assertEqual([kinds[i] for i in range(3)], ['aac', 'opus', '-'])
        expected = halotest.packets(path, 'a:0')
        copied = live.packets(0, 1)
        self.assertGreaterEqual(len(copied), len(expected) - 3)
        self.assertEqual([p['md5'] for p in copied],
                         [p['data_hash'].split(':')[1] for p in expected][-len(copied):])
        self.assertFalse(live.packets(2, 1))
        for encoding in (0, 1):
            sound = live.packets(encoding, 1)
            self.assert_grow(sound)
            span = sound[-1]['pts'] - sound[0]['pts']
            self.assertAlmostEqual(span, 2e6, delta=150000)
            self.assertAlmostEqual(sound[0]['pts'], live.packets(encoding)[0]['pts'], delta=100000)


    def test_none_while_the_encoding_has_failed(self):
        """Nobody could place it: what it is was told with an encoder that is closed."""
        live = self.live(f'input={plain_clip(".mkv", 2)}', 'realtime=1', 'loop=1', 'fail=20',
                         'output=file', 'codec=mpeg4', 'audio=libopus')

        def parts():
            """Whether there was sound before, during and after the failure."""
            lines = list(live.lines)
            kinds = [kind for kind, _, _ in lines]
            failed = kinds.index('failed') if 'failed' in kinds else len(kinds)
            begun = kinds.index('begin', failed) if 'begin' in kinds[failed:] else len(kinds)
            sounds = [kind == 'packet' and f['stream'] == 1 for kind, f, _ in lines]
            return any(sounds[:failed]), any(sounds[failed:begun]), any(sounds[begun:])
        wait_until(lambda: parts()[2])
        live.stop()
        self.assertEqual(parts(), (True, False, True), live.logged())


class Encoding(LiveTest):
    def test_key_frames(self):
        live = self.live(f'dump={self.folder}', test_input(rate=25, more=':duration=3'),
                         'output=file', 'output=file', 'gop=0.4', 'output=file', 'codec=mpeg2video')
        live.end()
        for encoding, gop in ((0, 1000000), (1, 400000), (2, 1000000)):
            packets = live.packets(encoding)
            keys = [p['pts'] for p in packets if p['key']]
            self.assertGreater(len(keys), 1)
            self.assertTrue(packets[0]['key'])
            step = max(b['pts'] - a['pts'] for a, b in zip(packets, packets[1:]))
            for a, b in zip(keys, keys[1:]):
                self.assertLessEqual(b - a, gop + step + 20000)
            self.assertTrue(all(p['pts'] == p['dts'] for p in packets))
        for encoding in (0, 1):  # parameter sets with each key frame
            data = open(self.path(f'video{encoding}'), 'rb').read()
            position = 0
            for p in live.packets(encoding):
                if p['key']:
                    self.assertEqual(data[position:position + 5], b'\0\0\0\1\x67')
                position += p['size']

    def test_key_frames_on_demand(self):
        live = self.live(test_input(rate=25), 'output=file', 'gop=100')
        live.wait_packets(5)

        def enough():
            live.tell('key 0')
            return sum(p['key'] for p in live.packets()) > 3
        self.assertTrue(wait_until(enough), live.logged())
        live.stop()
        keys = [p['pts'] for p in live.packets() if p['key']]
        for a, b in zip(keys, keys[1:]):
            self.assertGreaterEqual(b - a, 499000)

    def test_only_while_watched(self):
        live = self.live(test_input(rate=25), 'output=unix')
        live.wait('begin', lambda f, _: f['enc'] == 0)
        live.wait_state('running')
        self.assertTrue(live.rests(('filtered',)))
        self.assertFalse(live.packets())
        live.tell('watch 0 on')
        packets = live.wait_packets(20)
        self.assertTrue(packets[0]['key'])
        live.tell('watch 0 off')
        self.assertTrue(wait_until(lambda: live.rests(('filtered',))), live.logged())
        before = len(live.packets())
        live.tell('watch 0 on')
        packets = live.wait_packets(before + 10)
        self.assertTrue(packets[before]['key'])
        begun = live.found('begin', lambda f, _: f['enc'] == 0)
        self.assertEqual(len(begun), 3, 'known, opened, and opened again')
        self.assertEqual(len({rest for _, rest in begun}), 1)
        self.assertFalse(live.packets(1), 'JPEG that nobody watches')
        live.stop()

    def test_cards(self):
        live = self.live(f'dump={self.folder}', test_input(rate=25, more=':duration=0.5'),
                         'output=file', 'output=file', 'codec=mpeg4', *RAW)
        live.end()
        begun = {f['enc']: f for f, _ in live.found('begin')}
        self.assertEqual(sorted(begun), [0, 1, 2, 3])
        for encoding, form in ((0, 'h264'), (1, 'm4v'), (2, None), (3, 'mjpeg')):
            self.assertEqual(begun[encoding]['key'], 11)
            for name, low, high in (('card', 120, 136), ('solid', 0, 18)):
                raw = open(self.path(f'{name}{encoding}'), 'rb').read()
                if form:
                    raw = ffmpeg('-f', form, '-i', '-', '-pix_fmt', 'yuv420p', '-f', 'rawvideo',
                                 '-', data=raw)
                self.assertEqual(len(raw), WIDTH * HEIGHT * 3 // 2)
                edges = raw[:WIDTH] + raw[WIDTH * (HEIGHT - 1):WIDTH * HEIGHT]
                self.assertTrue(low <= min(edges) and max(edges) <= high, (encoding, name))
                words = sum(value > 200 for value in raw[:WIDTH * HEIGHT])
                self.assertEqual(words > 60, name == 'card', (encoding, name, words))

    def test_slow_one_hurts_nobody(self):
        held = self.path('held')
        with open(held, 'w'):
            pass
        live = self.live(f'hold=1:{held}', test_input(rate=25), *RAW, 'output=file', 'codec=mpeg4')
        live.wait_packets(1, encoding=1)
        live.wait_packets(len(live.packets()) + 25)  # more than wait for a slow one
        self.assertEqual(len(live.packets(1)), 1)
        os.unlink(held)
        live.wait_packets(3, encoding=1)
        stats = live.stop()
        self.assertGreater(stats['drop_encoder'], 10)

    @alone
    def test_refused_settings_are_that_encodings_alone(self):
        live = self.live('input=test:size=97x65:rate=25', *RAW, 'output=file')
        self.assertIn('odd sizes', live.wait('failed')[1])
        live.wait_packets(len(live.packets()) + 30)
        live.stop()
        self.assertLess(len(live.found('failed')), 8)  # in pauses that grow


class Swap(LiveTest):
    def swap(self, *words, first='gblur=sigma=3', second='avgblur=sizeX=5'):
        live = self.live(*words, f'filters={first}', *RAW)
        live.wait_packets(20)
        live.tell(f'set 7 {second}')
        answer, _ = live.wait('set')
        before = len(live.packets())
        live.wait_packets(before + 10)
        live.tell('stats')
        stats = live.stop()
        return live, stats, answer

    def test_at_one_picture(self):
        live, stats, answer = self.swap(test_input())
        self.assertEqual(answer['id'], 7)
        self.assertEqual(stats['epoch'], 1)
        a, b = reference('gblur=sigma=3'), reference('avgblur=sizeX=5')
        packets = live.packets()
        kinds = ['a' if p['md5'] in a else 'b' if p['md5'] in b else '?' for p in packets]
        self.assertRegex(''.join(kinds), '^a+b+$')
        numbers = [(a if p['md5'] in a else b)[p['md5']] for p in packets]
        if self.dropped(stats) == 0:
            self.assertEqual(numbers, [(numbers[0] + i) % COUNT for i in range(len(numbers))])

    @alone
    def test_is_told_at_once(self):
        live, _, _ = self.swap(test_input())
        new = reference('avgblur=sizeX=5')
        kinds = [kind if kind == 'set' else 'new' for kind, f, _ in live.lines
                 if kind == 'set' or (kind == 'packet' and f['md5'] in new)]
        self.assertLess(kinds.index('set'), 50)

    def test_many(self):
        live = self.live(test_input(rate=50), 'filters=gblur=sigma=12', *RAW)
        live.wait_packets(5)
        chains = [f'gblur=sigma={i}' for i in range(2, 12)]
        for i, chain in enumerate(chains):
            live.tell(f'set {i} {chain}')
        live.wait('set', count=len(chains))
        self.assertEqual([f['id'] for f, _ in live.found('set')], list(range(len(chains))))
        self.assertTrue(all(rest.endswith(' ok') for _, rest in live.found('set')))
        self.assertEqual(live.stop()['epoch'], len(chains))

    def test_wrong_ones_change_nothing(self):
        live = self.live(test_input(rate=50), 'filters=gblur=sigma=3', *RAW)
        live.wait_packets(5)
        live.tell('set 1 gblur=sigm=3')
        self.assertIn('sigma', live.wait('refused')[1])
        live.wait_packets(30)
        self.assertEqual(live.stop()['epoch'], 0)
        self.assertTrue(reference('gblur=sigma=3').keys() >= {p['md5'] for p in live.packets()})

    def test_before_the_source_is_there(self):
        path = self.path('late.mkv')
        live = self.live(f'input={path}', 'filters=null', 'privacy=off', *RAW)
        live.wait_state('waiting')
        live.tell('set 3 gblur=sigma=2')
        self.assertTrue(live.wait('set')[1].endswith(' ok'))
        source = silent_clip('.mkv', 1)
        os.symlink(source, path)
        live.end()
        self.assertEqual([p['md5'] for p in live.packets()],
                         run_reference(source, 'gblur=sigma=2'))


class Confirmed(LiveTest):
    """After the answer to a set no picture of older chains comes, wherever one was held up."""
    FIRST, SECOND = 'gblur=sigma=3', 'avgblur=sizeX=5'

    def assert_confirmed(self, live, chains, number=7):
        lines = list(live.lines)
        at = [i for i, (kind, f, rest) in enumerate(lines)
              if kind == 'set' and f['id'] == number and rest.endswith(' ok')]
        self.assertEqual(len(at), 1, live.logged())
        for encoding, chain in enumerate(chains):
            known = reference(chain)
            after = [f['md5'] in known for kind, f, _ in lines[at[0]:]
                     if kind == 'packet' and f['enc'] == encoding]
            self.assertTrue(all(after), f'{after.count(False)} older ones of {len(after)}')

    def test_while_the_filters_stall(self):
        """One picture takes longer than anybody waits for the next."""
        halotest.need_faults()
        other = 'rendition=a:gblur=sigma=7'
        for frame, more, chains in ((10, (), 1), (19, (other, *RAW, *RAW, 'rendition=a'), 2),
                                    (20, (other, *RAW, *RAW, 'rendition=a'), 2)):
            with self.subTest(frame=frame, chains=chains):
                log = self.path(f'faults{frame}')
                open(log, 'w').close()
                live = self.live(test_input(rate=25), f'filters={self.FIRST}', *(more or RAW),
                                 environment={'HALOD_FAULT': f'stall:{frame}',
                                              'HALOD_FAULT_LOG': log})
                self.assertTrue(wait_until(lambda: os.path.getsize(log)), live.logged())
                new = [self.SECOND, 'gblur=sigma=2'][:chains]
                live.tell('set 7 ' + '|'.join(new))
                live.wait('set')
                live.wait_packets(len(live.packets()) + 3)
                live.stop()
                self.assert_confirmed(live, new)

    def test_while_an_encoding_is_slow(self):
        for word, slow in ((test_input(rate=5), 280), (f'input={self.slow_file()}', 150)):
            with self.subTest(word):
                live = self.live(f'slow=0:{slow}', word, f'filters={self.FIRST}', *RAW)
                live.wait_packets(6)  # two more at least wait by now
                live.tell(f'set 7 {self.SECOND}')
                live.wait('set')
                live.wait_packets(len(live.packets()) + 3)
                live.stop()
                self.assert_confirmed(live, [self.SECOND])

    def need_held(self):
        """An encoder that holds pictures."""
        if not halotest.has_encoder('libsvtav1'):
            self.skipTest('FFmpeg has no libsvtav1')

    def test_where_an_encoder_holds_pictures_and_none_comes(self):
        """Nobody watches it either, to whom a card would go: it writes a file."""
        self.need_held()
        os.symlink(silent_clip('.ts', 1), self.path('in.ts'))
        live = self.live(f'input={self.path("in.ts")}', 'realtime=1', 'loop=1', 'filters=null',
                         'privacy=off', *RAW, 'output=file', 'codec=libsvtav1')
        live.wait_packets(10)
        os.unlink(self.path('in.ts'))
        live.wait_state('waiting')
        live.tell('set 7 gblur=sigma=2')
        self.assertTrue(live.wait('set')[1].endswith(' ok'))
        live.stop(30)

    def test_while_an_encoder_holds_pictures(self):
        """It has those of the chain before in it when the first of the new one comes."""
        self.need_held()
        live = self.live(test_input(rate=25), f'filters={self.FIRST}', *RAW, 'output=file',
                         'codec=libsvtav1')
        live.wait_packets(2, encoding=1, timeout=30)
        live.tell(f'set 7 {self.SECOND}')
        live.wait('set')
        live.wait_packets(len(live.packets(1)) + 2, encoding=1, timeout=30)
        live.stop(30)
        known = reference(self.SECOND)
        first = next(p['pts'] for p in live.packets() if p['md5'] in known)
        lines = list(live.lines)
        at = next(i for i, (kind, _, _) in enumerate(lines) if kind == 'set')
        held = [first - f['pts'] for kind, f, _ in lines[at:]
                if kind == 'packet' and f['enc'] == 1 and f['pts'] < first]
        self.assertEqual(held, [], 'microseconds before the change')

    def slow_file(self):
        path = self.path('pattern.nut')
        ffmpeg('-f', 'rawvideo', '-pix_fmt', 'yuv420p', '-s', f'{WIDTH}x{HEIGHT}', '-r', '50', '-i',
               '-', '-c:v', 'rawvideo', path, data=b''.join(pattern()))
        return path

    def test_at_the_stop(self):
        live = self.live('slow=0:300', test_input(), f'filters={self.FIRST}', *RAW)
        live.wait_packets(2)
        live.tell(f'set 7 {self.SECOND}')
        self.assertTrue(wait_until(lambda: live.stats()['epoch'] == 1), live.logged())
        live.stop()
        self.assert_confirmed(live, [self.SECOND])

    def test_where_none_comes(self):
        os.symlink(silent_clip('.ts', 1), self.path('in.ts'))
        live = self.live(f'input={self.path("in.ts")}', 'realtime=1', 'loop=1', 'filters=null',
                         'privacy=off', *RAW)
        live.wait_packets(10)
        os.unlink(self.path('in.ts'))
        live.wait_state('waiting')
        live.tell('set 7 gblur=sigma=2')
        live.wait('set')
        self.assertTrue(live.found('set')[0][1].endswith(' ok'))
        before = len(live.packets())
        os.symlink(silent_clip('.ts', 1), self.path('in.ts'))
        live.wait_packets(before + 10)
        live.stop()
        known = run_reference(silent_clip('.ts', 1), 'gblur=sigma=2')
        self.assertTrue(set(known).issuperset(p['md5'] for p in live.packets()[before:]))

    def test_when_it_fails_first(self):
        """It is not said to be in force when the end came before older pictures were out."""
        halotest.need_faults()
        held, fails = self.path('held'), self.path('fails')
        with open(held, 'w'):
            pass
        live = self.live(f'hold=0:{held}', test_input(rate=100), f'filters={self.FIRST}', *RAW,
                         environment={'HALOD_FAULT': f'launch:{fails}'})
        live.wait_packets(1)
        live.tell(f'set 7 {self.SECOND}')
        self.assertTrue(wait_until(lambda: live.stats()['epoch'] == 1), live.logged())
        with open(fails, 'w'):
            pass
        live.wait_state('failed')
        os.unlink(held)
        live.end()
        self.assertEqual([rest.endswith('the stream has ended') for _, rest in live.found('set')],
                         [True])


class Server:
    """A folder by HTTP, on one port, that can go away."""

    def __init__(self, folder):
        self.folder, self.port, self.server = folder, 0, None

    def start(self):
        handler = functools.partial(QuietHandler, directory=self.folder)
        http.server.ThreadingHTTPServer.allow_reuse_address = True
        self.server = http.server.ThreadingHTTPServer(('127.0.0.1', self.port), handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


class Sources(LiveTest):
    def test_reconnect(self):
        os.symlink(silent_clip('.mkv', 1), self.path('clip.mkv'))
        server = Server(self.folder)
        server.start()
        live = self.live(f'input=http://127.0.0.1:{server.port}/clip.mkv', 'realtime=1', *RAW)
        live.wait_state('running')
        server.stop()
        away, words = live.wait('state', lambda f, rest: 'refused' in rest)
        self.assertRegex(words, '^waiting')
        time.sleep(0.5)  # it is away for a while
        back = time.monotonic() * 1e6
        server.start()
        live.wait_state('running', 2)
        live.wait('packet', lambda f, _: f['pts'] > back, 5)
        stats = live.stop()
        server.stop()
        self.assertGreaterEqual(stats['opened'], 2)
        packets = live.packets()
        self.assert_grow(packets)
        self.assertLess(packets[0]['pts'], away['now'])
        self.assertFalse([p for p in packets if away['now'] < p['pts'] < back],
                         'a time before it was back')

    def test_pauses_grow(self):
        with socket.create_server(('127.0.0.1', 0)) as server:
            server.settimeout(20 * PATIENCE)
            live = self.live(f'input=tcp://127.0.0.1:{server.getsockname()[1]}', *RAW)
            tries = []
            for _ in range(4):
                connection, _ = server.accept()
                tries.append(time.monotonic())
                connection.close()
        stats = live.stop()
        self.assertEqual(stats['opened'], 0)
        for a, b, pause in zip(tries, tries[1:], (0.25, 0.5, 1)):
            self.assertGreater(b - a, 0.8 * pause)

    def test_no_such_file(self):
        live = self.live(f'input={self.path("none.mkv")}', *RAW)
        live.wait_state('waiting')
        self.assertEqual(live.stop()['opened'], 0)
        self.assertIn('No such file', live.found('state')[0][1])

    def test_no_password_in_words(self):
        port = halotest.free_port()
        live = self.live(f'input=http://user:s3cret@127.0.0.1:{port}/x?token=t0ken', *RAW)
        _, words = live.wait_state('waiting')
        self.assertIn('http://127.0.0.1/***: cannot be read', words)
        live.stop()
        self.assertNotRegex(live.logged(), 's3cret|t0ken')

    def test_a_pattern_has_no_time_limit(self):
        for words in ((), ('loop=1',)):
            live = self.live(test_input(rate=25, more=':duration=1'), 'input_timeout=0.3', *words,
                             *RAW)
            if words:
                live.wait_packets(40)
            (live.stop if words else live.end)()
            self.assertTrue(live.packets())
            self.assertFalse(live.found('state', lambda f, rest: rest.startswith('waiting')),
                             live.logged())

    def test_silent_sender(self):
        with socket.create_server(('127.0.0.1', 0)) as server:
            live = self.live(f'input=tcp://127.0.0.1:{server.getsockname()[1]}', 'input_timeout=1',
                             *RAW)
            live.wait_state('waiting')  # in time, as Prompt has it
            live.stop()

    def test_stream_over_tcp(self):
        data = open(silent_clip('.ts', 2), 'rb').read()
        with socket.create_server(('127.0.0.1', 0)) as server:
            live = self.live(f'input=tcp://127.0.0.1:{server.getsockname()[1]}', 'output=file')
            for round_number in (1, 2):
                connection, _ = server.accept()
                with connection:
                    connection.sendall(data)
                    live.wait_state('running', round_number)
                live.wait_state('waiting', round_number)
            live.stop()
        self.assert_grow(live.packets())

    def test_other_sound_comes_back(self):
        """Outputs cannot change their sound: it is left out, with one line."""
        parts = [open(clip('.ts', *video_source('96x64', 25, 1), *audio_source(1, rate=rate), *X264_B,
                           '-c:a', 'libmp3lame'), 'rb').read() for rate in (48000, 44100)]
        with socket.create_server(('127.0.0.1', 0)) as server:
            live = self.live(f'input=tcp://127.0.0.1:{server.getsockname()[1]}', *RAW, 'audio=copy')
            for round_number, part in enumerate(parts, 1):
                connection, _ = server.accept()
                with connection:
                    connection.sendall(part)
                    live.wait_state('running', round_number)
                live.wait_state('waiting', round_number)
            live.stop()
        self.assertAlmostEqual(len(live.packets(0, 1)), 48000 / 1152, delta=4)
        self.assertEqual(live.logged().count('its mp3 audio differs from the audio'), 1,
                         live.logged())

    @alone
    def test_an_end_is_no_silence(self):
        """The pictures that wait for their time at the end of a clip take longer than the limit."""
        ffmpeg(*video_source('96x64', 2, 3), *X264_B, self.path('clip.mkv'))
        server = Server(self.folder)
        server.start()
        for _ in range(5):  # the server may have stood still for as long, but not every time
            live = self.live(f'input=http://127.0.0.1:{server.port}/clip.mkv', 'loop=1',
                             'input_timeout=0.4', *RAW)
            live.wait_packets(8)
            live.stop()
            waited = live.found('state', lambda f, rest: rest.startswith('waiting'))
            if not waited:
                break
        server.stop()
        self.assertFalse(waited, live.logged())

    def test_a_reset_before_the_first_picture(self):
        """Sources of HDR are read ahead for what the first picture says of it."""
        ffmpeg(*video_source('96x64', 25, 3), *X264_B,
               *with_colours('yuv420p', color_trc='smpte2084'), self.path('hdr.ts'))
        data = open(self.path('hdr.ts'), 'rb').read()
        with socket.create_server(('127.0.0.1', 0)) as server:
            server.settimeout(20 * PATIENCE)
            live = self.live(f'input=tcp://127.0.0.1:{server.getsockname()[1]}', *RAW)
            connection, _ = server.accept()
            connection.sendall(data[:188 * 12])
            time.sleep(0.3)  # it may read some
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
            connection.close()
            live.wait('state')
            connection, _ = server.accept()
            with connection:
                connection.sendall(data)
                live.wait_state('running')
            live.stop()

    def test_a_unix_socket(self):
        data = open(silent_clip('.ts', 2), 'rb').read()
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(self.path('in'))
            server.listen()
            live = self.live(f'input=unix:{self.path("in")}', *RAW)
            connection, _ = server.accept()
            with connection:
                connection.sendall(data)
                live.wait_state('running')
            live.wait_state('waiting')
            live.stop()

    @alone
    def test_stop_is_prompt(self):
        """For all that it waits for: the next picture, a sender that says nothing."""
        live = self.live(test_input(rate='1/40'), *RAW)
        live.wait('state')
        self.assertLess(live.time_to_stop(), 20)
        with socket.create_server(('127.0.0.1', 0)) as server:
            server.settimeout(20 * PATIENCE)
            live = self.live(f'input=tcp://127.0.0.1:{server.getsockname()[1]}', 'input_timeout=40',
                             *RAW)
            connection, _ = server.accept()
            with connection:
                self.assertLess(live.time_to_stop(), 20)

    def test_wrong_settings(self):
        for words, part in ((['input=test:size=9'], 'size'), (['input=test:rat=9'], 'rate'),
                            (['input=-'], 'standard input'),
                            (['input=test:', 'filters=gblr'], 'gblur'),
                            (['input=test:', 'output=file', 'codec=libx246'], 'libx264'),
                            (['input=test:', 'output=file', 'size=huge'], 'size'),
                            (['input=test:', 'output=file', 'audio=aacc'], 'aac')):
            with self.subTest(words):
                done = subprocess.run([PROBE, *words], capture_output=True, text=True,
                                      timeout=20 * PATIENCE)
                self.assertEqual(done.returncode, 64, done.stderr)
                self.assertIn(part, done.stderr)


VIEWED = ['output=unix', 'codec=libx264']


class Cards(LiveTest):
    """What watched encodings get while there are no pictures."""

    def cards(self, live, encoding=0):
        return [f for f, _ in live.found('card', lambda f, _: f['enc'] == encoding)]

    def wait_cards(self, live, count, encoding=0, timeout=30):
        live.wait('card', lambda f, _: f['enc'] == encoding, count, timeout)
        return self.cards(live, encoding)

    def picture(self, name, form):
        """A card, decoded: its luma in rows."""
        made = ffmpeg('-f', form, '-i', self.path(name), '-frames:v', '1', '-pix_fmt', 'gray',
                      '-c:v', 'pgm', '-f', 'image2pipe', '-')
        _, size, _, raw = made.split(b'\n', 3)
        width = int(size.split()[0])
        return [raw[i:i + width] for i in range(0, len(raw), width)]

    def sender(self, data):
        """A port, and a function that waits for a connection there and sends data."""
        server = socket.create_server(('127.0.0.1', 0))
        server.settimeout(30 * PATIENCE)
        self.addCleanup(server.close)

        def serve():
            connection, _ = server.accept()
            connection.sendall(data)
            return connection
        return server.getsockname()[1], serve

    def test_a_source_that_ends(self):
        """Twice a second, key frames all, after the pictures and before those that come
        again; files get none."""
        port, serve = self.sender(open(silent_clip('.ts', 2), 'rb').read())
        live = self.live(f'dump={self.folder}', 'name=front-door', f'input=tcp://127.0.0.1:{port}',
                         'input_timeout=60', *VIEWED, *RAW)
        live.tell('watch 0 on')
        connection = serve()
        live.wait_state('running')
        closed = time.monotonic() * 1e6
        connection.close()
        live.wait_state('waiting')
        self.wait_cards(live, 3)
        connection = serve()
        back, _ = live.wait_state('running', 2)  # which a session that is over at once may never say
        connection.close()
        live.wait_state('waiting', 2)
        live.wait('card', lambda f, _: f['enc'] == 0 and f['now'] > back['now'])
        stats = live.stop()
        cards, packets = self.cards(live), live.packets()
        self.assertTrue(all(c['key'] for c in cards))
        first = [c['now'] for c in cards if closed < c['now'] < back['now']]
        self.assertGreaterEqual(first[-1] - closed, (len(first) - 1) * 500000)
        self.assert_grow([dict(f, dts=f['pts']) for k, f, _ in live.lines
                          if k in ('card', 'packet') and f['enc'] == 0])
        line = [(k, f) for k, f, _ in live.lines if k in ('card', 'packet') and f['enc'] == 0]
        for (before, _), (after, f) in zip(line, line[1:]):
            if (before, after) == ('card', 'packet'):
                self.assertTrue(f['key'], 'a picture that refers to a card')
        self.assertFalse(self.cards(live, 1), 'a recording of cards')
        self.assertGreaterEqual(stats['cards'], len(cards))
        self.assertEqual(stats['encoded'], len(packets) + len(live.packets(1)))
        rows = self.picture('words0', 'h264')
        self.assertLess(max(rows[0]) - min(rows[0]), 6)
        self.assertGreater(sum(v > 200 for row in rows for v in row), 100)

    def test_a_source_that_is_away(self):
        """From the start: there is a shape, so there are cards, of each form; the pictures come in
        that shape."""
        port = halotest.free_port()
        live = self.live(f'dump={self.folder}', 'name=front-door', f'input=tcp://127.0.0.1:{port}',
                         *VIEWED, 'output=unix', 'codec=raw', 'output=unix', 'codec=mpeg4')
        for encoding in range(4):
            live.tell(f'watch {encoding} on')
        for encoding in range(4):
            self.wait_cards(live, 2, encoding)
        self.assertFalse(live.found('packet'))
        begun = {f['enc']: f for f, _ in live.found('begin')}
        self.assertEqual({f['size'] for f in begun.values()}, {'1280x720'})
        for name, form in (('words0', 'h264'), ('words2', 'm4v'), ('words3', 'mjpeg')):
            rows = self.picture(name, form)
            self.assertEqual((len(rows[0]), len(rows)), (1280, 720))
            self.assertGreater(sum(v > 200 for row in rows for v in row), 5000, name)
        data = open(silent_clip('.ts', 2), 'rb').read()
        server = socket.create_server(('127.0.0.1', port))
        with server:
            server.settimeout(30 * PATIENCE)
            connection, _ = server.accept()
            with connection:
                connection.sendall(data)
                live.wait_state('running')
        packets = live.wait_packets(1)  # of a burst only the newest, where it is slow
        self.assertTrue(packets[0]['key'])
        live.stop()
        self.assertEqual({f['size'] for f, _ in live.found('begin')}, {'1280x720'})
        rows = self.picture('video0', 'h264')
        self.assertEqual((len(rows[0]), len(rows)), (1280, 720))

    @alone
    def test_its_own_shape_where_it_comes_soon(self):
        for _ in range(5):  # within a second: a busy machine may need more, but not every time
            port, serve = self.sender(open(silent_clip('.ts', 2), 'rb').read())
            live = self.live(f'input=tcp://127.0.0.1:{port}', *VIEWED)
            live.tell('watch 0 on')
            serve()
            live.wait_packets(1)
            live.stop()
            sizes = {f['size'] for f, _ in live.found('begin')}
            self.assertEqual(len(sizes), 1)
            if sizes != {'1280x720'}:
                return
        self.fail(live.logged())

    def test_no_made_up_shape_for_what_is_kept(self):
        """Recordings, and sound, wait for the source's own."""
        port = halotest.free_port()
        lives = [self.live(f'input=tcp://127.0.0.1:{port}', *words)
                 for words in ([*VIEWED, *RAW], ['output=unix', 'audio=copy'], ['output=url'],
                               ['on_error=stop', *VIEWED], VIEWED)]
        for live in lives:
            live.tell('watch 0 on')
        self.wait_cards(lives.pop(), 2)  # where there is nothing to wait for
        for live in lives:
            live.stop()
            self.assertFalse(live.found('begin'), live.command)
            self.assertFalse(live.found('card'), live.command)

    def test_a_source_that_says_nothing(self):
        """It is still being opened when there are cards."""
        with socket.create_server(('127.0.0.1', 0)) as server:
            live = self.live(f'input=tcp://127.0.0.1:{server.getsockname()[1]}',
                             'input_timeout=3600', *VIEWED)
            live.tell('watch 0 on')
            self.wait_cards(live, 2)
            self.assertFalse(live.found('state'))
            live.stop()

    def test_nobody_sees_them(self):
        port = halotest.free_port()
        live = self.live(f'input=tcp://127.0.0.1:{port}', *VIEWED)
        live.wait('begin')
        time.sleep(0.7)  # more than cards are apart
        self.assertFalse(live.found('card'))
        live.tell('watch 0 on')
        self.wait_cards(live, 1)
        live.stop()

    def test_a_filter_that_fails(self):
        """And what on_error says of it."""
        halotest.need_faults()
        for words, first in (([], 0), (['on_error=solid'], 0),
                             (['on_error=last', 'last_for=1.5'], 1.5), (['on_error=stop'], None)):
            with self.subTest(words):
                live = self.live(f'dump={self.folder}', 'name=x', test_input(rate=25), *words,
                                 *VIEWED, 'output=url', 'codec=mpeg4', *RAW,
                                 environment={'HALOD_FAULT': 'alloc:20+'})
                live.tell('watch 0 on')
                state, _ = live.wait_state('waiting')
                if first is None:
                    time.sleep(0.7)  # more than cards are apart
                    live.stop()
                    self.assertFalse(live.found('card'))
                    continue
                card = self.wait_cards(live, 1)[0]
                seen = max((p['pts'] for p in live.packets(2) if p['pts'] < state['now']),
                           default=state['now'])
                self.assertGreater(card['now'] - seen, (first - 0.2) * 1e6)
                self.wait_cards(live, 2, 1)  # URLs too
                live.stop()
                self.assertFalse(self.cards(live, 2))
                rows = self.picture('words0', 'h264')
                bright = sum(v > 200 for row in rows for v in row)
                self.assertEqual(bright > 60, words != ['on_error=solid'], bright)
                if words == ['on_error=solid']:
                    self.assertLess(max(max(row) for row in rows), 20)

    @alone
    def test_one_picture_that_fails(self):
        """No card for what is over at once."""
        halotest.need_faults()
        live = self.live(test_input(rate=25, more=':duration=2'), *VIEWED,
                         environment={'HALOD_FAULT': 'alloc:30'})
        live.tell('watch 0 on')
        live.end()
        lines = [(k, f) for k, f, _ in live.lines if k in ('card', 'packet') and f['enc'] == 0]
        for i, (kind, card) in enumerate(lines):  # a busy machine may cause one
            if kind == 'card':
                before = max(f['pts'] for k, f in lines[:i] if k == 'packet')
                self.assertGreater(card['now'] - before, 300000, live.logged())


class Snapshots(LiveTest):
    def live(self, *words):
        return super().live(*words, environment={'HALOD_FAULT': 'snapshot:1+'})

    def test_png_and_jpg(self):
        live = self.live(f'dump={self.folder}', test_input(), 'filters=gblur=sigma=3', *RAW)
        live.wait_packets(5)
        live.tell('snapshot 1 png')
        live.tell('snapshot 2 jpg')
        live.wait('snapshot', lambda f, rest: rest.endswith(' ok'), 2)
        live.stop()
        for number, form in ((1, 'png'), (2, 'mjpeg')):
            path = self.path(f'snapshot{number}')
            self.assertEqual(halotest.probe_video(path)['codec_name'], form)
            luma = raw_frames(path, pixel_format='gray')
            self.assertEqual(len(luma), WIDTH * HEIGHT)
            rows = [luma[i:i + WIDTH] for i in range(0, len(luma), WIDTH)]
            steps = [abs(a - b) for row in rows for a, b in zip(row, row[1:])]
            self.assertLess(max(steps), 60, 'not blurred')

    def test_preview(self):
        """Its own filters are seen in the snapshot alone."""
        live = self.live(f'dump={self.folder}', test_input(), 'filters=gblur=sigma=3', *RAW)
        live.wait_packets(5)
        live.tell('snapshot 1 png solid=color=white:region=rect 0 0 50% 100%')
        live.tell('snapshot 2 png')
        live.wait('snapshot', lambda f, rest: rest.endswith(' ok'), 2)
        live.stop()
        shown, plain = (raw_frames(self.path(f'snapshot{n}'), pixel_format='gray') for n in (1, 2))
        left = [shown[y * WIDTH + x] for y in range(HEIGHT) for x in range(WIDTH // 2 - 2)]
        self.assertGreater(min(left), 250)
        right = [abs(shown[y * WIDTH + x] - shown[y * WIDTH + x + 1]) for y in range(HEIGHT)
                 for x in range(WIDTH // 2 + 2, WIDTH - 1)]
        self.assertTrue(0 < max(right) < 60, 'not the frame that viewers see')
        self.assertLess(min(plain), 200)

    def test_previews_that_are_refused(self):
        live = self.live(test_input(), 'filters=gblur=sigma=3', *RAW)
        live.wait_packets(1)
        for words, what in (('gblurr', 'unknown'), ('solid=region=faces', 'detector'),
                            ('solid=region=feed', 'detector')):
            live.tell(f'snapshot 1 png {words}')
            live.wait('refused', lambda _, rest, what=what: what in rest)
        live.stop()

    def test_without_a_picture(self):
        live = super().live(f'input={self.path("none.mkv")}', *RAW)
        live.wait_state('waiting')
        begin = time.monotonic()
        live.tell('snapshot 1 png')
        _, words = live.wait('snapshot')
        self.assertGreater(time.monotonic() - begin, 1)
        self.assertIn('two seconds', words)
        live.tell('snapshot 2 gif')
        self.assertIn('png or jpg', live.wait('refused')[1])
        live.stop()


class Faults(LiveTest):
    """Whatever fails: what comes out is in the reference of the chain, or does not come."""

    WHEN = '7', '1+'

    @classmethod
    def setUpClass(cls):
        halotest.need_faults()

    def test_kinds(self):
        for kind in ('submit', 'finish', 'upload', 'poison', 'launch', 'download', 'event',
                     'alloc', 'open'):
            is_final = kind in ('submit', 'launch', 'download')
            lives = {when: self.live(test_input(rate=100, more='' if is_final else ':duration=1'),
                                     'filters=gblur=sigma=3', *RAW,
                                     environment={'HALOD_FAULT': f'{kind}:{when}'})
                     for when in self.WHEN}
            for when, live in lives.items():
                with self.subTest(f'{kind}:{when}'):
                    live.end()
                    self.assertTrue(reference('gblur=sigma=3').keys()
                                    >= {p['md5'] for p in live.packets()})
                    if is_final:
                        failed = live.found('state', lambda f, rest: rest.startswith('failed'))
                        self.assertTrue(failed, live.logged())
                        self.assertEqual(failed[0][0]['device'], 1)

    def test_swap_to_one_that_fails(self):
        fails = self.path('fails')
        live = self.live(test_input(rate=100), 'filters=gblur=sigma=3', *RAW,
                         environment={'HALOD_FAULT': f'launch:{fails}'})
        live.wait_packets(10)
        live.tell('set 1 avgblur=sizeX=5')
        live.wait('packet', lambda f, _: f['md5'] not in reference('gblur=sigma=3'))
        with open(fails, 'w'):
            pass
        live.end()
        known = {**reference('gblur=sigma=3'), **reference('avgblur=sizeX=5')}
        self.assertTrue(known.keys() >= {p['md5'] for p in live.packets()})


class OtherFaults(Faults):
    WHEN = '1', '7+'
    test_swap_to_one_that_fails = None


class Abandoned(LiveTest):
    """A call that does not come back for a while, and by then nobody listens any more."""

    @classmethod
    def setUpClass(cls):
        halotest.need_faults()

    def abandon_in(self, call):
        """What is asked for is not answered yet when it is abandoned."""
        stuck, log = self.path('stuck'), self.path('faults')
        live = self.live('input=' + halotest.plain_clip('.mkv', seconds=2), 'loop=1', 'realtime=1',
                         'filters=gblur=sigma=3', 'output=file', 'codec=mpeg4',
                         environment={'HALOD_FAULT': f'{call}:{stuck}', 'HALOD_FAULT_LOG': log})
        live.wait_packets(10)
        with open(stuck, 'w'):
            pass
        self.assertTrue(halotest.wait_until(lambda: os.path.getsize(log)), live.logged())
        live.tell('set 1 avgblur=sizeX=5')
        live.tell('snapshot 2 png' if call == 'decoder' else 'set 2 gblur=sigma=7')
        live.tell('abandon')
        live.wait('abandoned')
        os.unlink(stuck)
        live.wait('destroyed')
        live.end()
        kinds = [kind for kind, _, _ in live.lines]
        after = kinds[kinds.index('abandoned') + 1:]
        self.assertEqual([kind for kind in after if kind not in ('stats', 'destroyed')], [],
                         live.logged())

    def test_in_its_decoder(self):
        self.abandon_in('decoder')

    def test_in_its_encoder(self):
        self.abandon_in('encoder')


@alone
class Prompt(LiveTest):
    """What has to come in time, by the best of several."""

    def test_pictures(self):
        def late():
            live = self.live(test_input(rate=25, more=':duration=2'), *RAW)
            live.end()
            return statistics.median(p['now'] - p['pts'] for p in live.packets()) / 1e6
        self.assert_prompt(late, 0.2)

    def test_stop(self):
        """In a pause, which are of seconds by then."""
        def stop():
            live = self.live(f'input={self.path("none.mkv")}', *RAW)
            live.wait('state')
            time.sleep(2)  # until pauses are so long
            return live.time_to_stop()
        self.assert_prompt(stop, 1)

    def test_silent_sender(self):
        def notice():
            with socket.create_server(('127.0.0.1', 0)) as server:
                live = self.live(f'input=tcp://127.0.0.1:{server.getsockname()[1]}',
                                 'input_timeout=1', *RAW)
                begin = time.monotonic()
                live.wait_state('waiting')
                took = time.monotonic() - begin
                live.stop()
            return took
        self.assert_prompt(notice, 3)

    def test_snapshot_without_a_picture(self):
        def answer():
            live = self.live(f'input={self.path("none.mkv")}', *RAW)
            live.wait_state('waiting')
            took = live.time_to('snapshot 1 png', 'snapshot')
            live.stop()
            return took
        self.assert_prompt(answer, 2.2)

    def test_card_of_a_filter_that_fails(self):
        halotest.need_faults()

        def show(*words):
            live = self.live(test_input(rate=25), *words, *VIEWED,
                             environment={'HALOD_FAULT': 'alloc:20+'})
            live.tell('watch 0 on')
            state, _ = live.wait_state('waiting')
            card, _ = live.wait('card')
            live.stop()
            return (card['now'] - state['now']) / 1e6
        self.assert_prompt(show, 1.2)
        self.assert_prompt(lambda: show('on_error=last', 'last_for=1.5') - 1.5, 1.2)

    def test_cards_of_every_form(self):
        def show():
            live = self.live(f'input=tcp://127.0.0.1:{halotest.free_port()}', *VIEWED,
                             'output=unix', 'codec=raw', 'output=unix', 'codec=mpeg4')
            for encoding in range(4):
                live.tell(f'watch {encoding} on')
            live.wait('card')
            begin = time.monotonic()
            for encoding in range(4):
                live.wait('card', lambda f, _, e=encoding: f['enc'] == e, 2)
            took = time.monotonic() - begin
            live.stop()
            return took
        self.assert_prompt(show, 3)

    def test_cards(self):
        """To who comes within half a second, and then twice a second."""
        port = halotest.free_port()
        live = self.live(f'input=tcp://127.0.0.1:{port}', *VIEWED)
        live.wait('begin')
        waits = []

        def are_prompt():
            """The least of each."""
            first, others = map(min, zip(*waits))
            return first < 0.5 * PATIENCE and others < 1.2 * PATIENCE
        while len(waits) < 3 or (len(waits) < 8 and not are_prompt()):
            count, begin = len(live.found('card')), time.monotonic()
            live.tell('watch 0 on')
            live.wait('card', count=count + 3)
            cards = [f for f, _ in live.found('card')[count:]]
            waits.append((cards[0]['now'] / 1e6 - begin, (cards[2]['now'] - cards[0]['now']) / 1e6))
            live.tell('watch 0 off')
            live.stats()
        live.stop()
        self.assertTrue(are_prompt(), waits)

    def test_card_of_a_source_that_ends(self):
        data = open(silent_clip('.ts', 2), 'rb').read()
        waits = []
        with socket.create_server(('127.0.0.1', 0)) as server:
            server.settimeout(20 * PATIENCE)
            live = self.live(f'input=tcp://127.0.0.1:{server.getsockname()[1]}', *VIEWED)
            live.tell('watch 0 on')
            for turn in range(1, 4):
                connection, _ = server.accept()
                with connection:
                    connection.sendall(data)
                    live.wait_state('running', turn)
                state, _ = live.wait_state('waiting', turn)
                card, _ = live.wait('card', lambda f, _, since=state['now']: f['now'] >= since)
                waits.append((card['now'] - state['now']) / 1e6)
            live.stop()
        self.assertLess(min(waits), 0.4 * PATIENCE, waits)


if __name__ == '__main__':
    halotest.main()
