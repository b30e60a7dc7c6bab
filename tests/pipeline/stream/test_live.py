# SPDX-License-Identifier: BSD-2-Clause
# Live streams (pipeline/stream/live.h), driven by live-probe: times, drops, swaps, faults, and that nothing
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


@functools.cache
def luma_row(y):
    return bytes(16 + ((x ^ y) & 127) + ((x ^ y) & 1) * 80 for x in range(256))


def draw(n):
    """Picture number n of test:, as pipeline/input/source_test.c says."""
    luma = b''.join(luma_row((y + n) & 127)[2 * n & 127:][:WIDTH] for y in range(HEIGHT))
    u, v = (128, 16, 166, 54, 202, 90, 240, 128), (128, 146, 16, 34, 222, 240, 110, 128)
    half = WIDTH // 2
    return luma + b''.join(bytes(c[(x + n) * 8 // half % 8] for x in range(half)) * (HEIGHT // 2)
                           for c in (u, v))


@functools.cache
def pattern():
    return [draw(n) for n in range(COUNT)]


def md5s(data, size):
    return [hashlib.md5(data[i:i + size]).hexdigest() for i in range(0, len(data), size)]


@functools.cache
def reference(chain):
    """md5 of each picture of the pattern as `halod run` filters it: {md5: number}."""
    made = halotest.call([HALOD, 'run', '-f', 'rawvideo', '-video_size', f'{WIDTH}x{HEIGHT}', '-framerate', '50',
                          '-i', '-', '-vf', chain, '-c:v', 'rawvideo', '-f', 'nut', '-v', 'warning', '-'],
                         b''.join(pattern()))
    raw = ffmpeg('-i', '-', '-f', 'rawvideo', '-', data=made)
    found = md5s(raw, len(pattern()[0]))
    assert len(set(found)) == COUNT, 'pictures that are not told apart'
    return {md5: n for n, md5 in enumerate(found)}


def run_reference(path, chain):
    """The same of a clip, in order."""
    made = halotest.call([HALOD, 'run', '-i', path, '-vf', chain, '-c:v', 'rawvideo', '-f', 'nut', '-v', 'warning',
                          '-'])
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
        """Ends it; in seconds, without what a sanitizer does when all is over."""
        begin = time.monotonic()
        self.tell('stop')
        self.wait('destroyed')
        took = time.monotonic() - begin
        self.end()
        return took

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
        late = [p['now'] - p['pts'] for p in packets]
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

    def test_loops_of_containers(self):
        """Each turn is the same pictures, whether a file can be rewound or is opened again."""
        for suffix, codec in (('.mp4', X264_B), ('.mkv', X264_B), ('.ts', X264_B), ('.h264', X264_B),
                              ('.avi', ['-c:v', 'mpeg4']), ('.webm', ['-c:v', 'libvpx-vp9']),
                              ('.gif', ['-c:v', 'gif']), ('.apng', ['-c:v', 'apng']),
                              ('.mpg', ['-c:v', 'mpeg2video', '-bf', '2'])):
            with self.subTest(suffix):
                path = silent_clip(suffix, 0.4, codec=codec)
                live = self.live(f'input={path}', 'loop=1', 'filters=gblur=sigma=2', *RAW)
                packets = live.wait_packets(32)
                live.stop()
                md5s = [p['md5'] for p in packets]
                self.assertEqual(len(set(md5s)), 10)
                self.assertEqual(md5s[:30], md5s[:10] * 3)
                self.assert_grow(packets)
                if suffix == '.mp4':
                    self.assertEqual(md5s[:10], run_reference(path, 'gblur=sigma=2'))
                    self.assert_steps(packets, 40000)

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

    @alone
    def test_refused_settings_are_that_encodings_alone(self):
        live = self.live('input=test:size=97x65:rate=25', *RAW, 'output=file')
        self.assertIn('odd sizes', live.wait('failed')[1])
        live.wait_packets(len(live.packets()) + 30)
        live.stop()
        self.assertLess(len(live.found('failed')), 8)  # in pauses that grow


class Swap(LiveTest):
    """The order of events, also when something is late or fails, is tested in tests/box."""
    FIRST, SECOND = 'gblur=sigma=3', 'avgblur=sizeX=5'

    def test_at_one_picture(self):
        live = self.live(test_input(), f'filters={self.FIRST}', *RAW)
        live.wait_packets(20)
        live.tell(f'set 7 {self.SECOND}')
        answer, _ = live.wait('set')
        live.wait_packets(len(live.packets()) + 10)
        stats = live.stop()
        self.assertEqual(answer['id'], 7)
        self.assertEqual(stats['epoch'], 1)
        a, b = reference(self.FIRST), reference(self.SECOND)
        packets = live.packets()
        kinds = ['a' if p['md5'] in a else 'b' if p['md5'] in b else '?' for p in packets]
        self.assertRegex(''.join(kinds), '^a+b+$')
        numbers = [(a if p['md5'] in a else b)[p['md5']] for p in packets]
        if self.dropped(stats) == 0:
            self.assertEqual(numbers, [(numbers[0] + i) % COUNT for i in range(len(numbers))])


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


class Sources(LiveTest):
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

    def test_no_password_in_words(self):
        port = halotest.free_port()
        live = self.live(f'input=http://user:s3cret@127.0.0.1:{port}/x?token=t0ken', *RAW)
        _, words = live.wait_state('waiting')
        self.assertIn('http://127.0.0.1/***: cannot be read', words)
        live.stop()
        self.assertNotRegex(live.logged(), 's3cret|t0ken')

    def test_a_pattern_has_no_time_limit(self):
        live = self.live(test_input(rate=25, more=':duration=1'), 'input_timeout=0.3', 'loop=1', *RAW)
        live.wait_packets(40)
        live.stop()
        self.assertFalse(live.found('state', lambda f, rest: rest.startswith('waiting')), live.logged())

    def test_silent_sender(self):
        with socket.create_server(('127.0.0.1', 0)) as server:
            live = self.live(f'input=tcp://127.0.0.1:{server.getsockname()[1]}', 'input_timeout=1',
                             *RAW)
            live.wait_state('waiting')  # in time, as Prompt has it
            live.stop()

    def test_sockets(self):
        """Of TCP, with a session that follows, and of this machine."""
        data = open(silent_clip('.ts', 2), 'rb').read()
        for family, address, rounds in ((socket.AF_INET, ('127.0.0.1', 0), 2), (socket.AF_UNIX, self.path('in'), 1)):
            with socket.socket(family) as server:
                server.bind(address)
                server.listen()
                name = f'unix:{address}' if rounds == 1 else f'tcp://127.0.0.1:{server.getsockname()[1]}'
                live = self.live(f'input={name}', 'output=file')
                for number in range(1, rounds + 1):
                    connection, _ = server.accept()
                    with connection:
                        connection.sendall(data)
                        live.wait_state('running', number)
                    live.wait_state('waiting', number)
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

    def test_an_end_is_no_silence(self):
        """The pictures that wait for their time at the end of a clip take longer than the limit."""
        ffmpeg(*video_source('96x64', 2, 3), *X264_B, self.path('clip.mkv'))
        handler = functools.partial(QuietHandler, directory=self.folder)
        with http.server.ThreadingHTTPServer(('127.0.0.1', 0), handler) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            for _ in range(5):  # the server may have stood still for as long, but not every time
                live = self.live(f'input=http://127.0.0.1:{server.server_address[1]}/clip.mkv', 'loop=1',
                                 'input_timeout=0.4', *RAW)
                live.wait_packets(8)
                live.stop()
                waited = live.found('state', lambda f, rest: rest.startswith('waiting'))
                if not waited:
                    break
            server.shutdown()
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
                done = warm.run([PROBE, *words], timeout=20 * PATIENCE)
                self.assertEqual(done.returncode, 64, done.stderr)
                self.assertIn(part, done.stderr.decode())


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
        """Key frames all, after the pictures and before those that come again; files get none."""
        port, serve = self.sender(open(silent_clip('.ts', 2), 'rb').read())
        live = self.live(f'dump={self.folder}', 'name=front-door', f'input=tcp://127.0.0.1:{port}',
                         'input_timeout=60', *VIEWED, *RAW)
        live.tell('watch 0 on')
        connection = serve()
        live.wait_state('running')
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

    def test_a_filter_that_fails(self):
        """And what on_error says of it."""
        halotest.need_faults()
        for words in [], ['on_error=solid']:
            with self.subTest(words):
                live = self.live(f'dump={self.folder}', 'name=x', test_input(rate=25), *words,
                                 *VIEWED, 'output=url', 'codec=mpeg4', *RAW,
                                 environment={'HALOD_FAULT': 'alloc:20+'})
                live.tell('watch 0 on')
                live.wait_state('waiting')
                self.wait_cards(live, 1)
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
    def test_formats_and_previews(self):
        """The filters of a preview are seen in its snapshot alone."""
        live = self.live(f'dump={self.folder}', test_input(), 'filters=gblur=sigma=3', *RAW,
                         environment={'HALOD_FAULT': 'snapshot:1+'})
        live.wait_packets(5)
        for words, what in (('png gblurr', 'unknown'), ('png solid=region=faces', 'detector'),
                            ('png solid=region=feed', 'detector'), ('gif', 'png or jpg')):
            live.tell(f'snapshot 9 {words}')
            live.wait('refused', lambda _, rest, what=what: what in rest)
        live.tell('snapshot 1 png')
        live.tell('snapshot 2 jpg')
        live.tell('snapshot 3 png solid=color=white:region=rect 0 0 50% 100%')
        live.wait('snapshot', lambda f, rest: rest.endswith(' ok'), 3)
        live.stop()
        for number, form in ((1, 'png'), (2, 'mjpeg')):
            path = self.path(f'snapshot{number}')
            self.assertEqual(halotest.probe_video(path)['codec_name'], form)
            luma = raw_frames(path, pixel_format='gray')
            self.assertEqual(len(luma), WIDTH * HEIGHT)
            rows = [luma[i:i + WIDTH] for i in range(0, len(luma), WIDTH)]
            steps = [abs(a - b) for row in rows for a, b in zip(row, row[1:])]
            self.assertLess(max(steps), 60, 'not blurred')
        shown, plain = (raw_frames(self.path(f'snapshot{n}'), pixel_format='gray') for n in (3, 1))
        left = [shown[y * WIDTH + x] for y in range(HEIGHT) for x in range(WIDTH // 2 - 2)]
        self.assertGreater(min(left), 250)
        right = [abs(shown[y * WIDTH + x] - shown[y * WIDTH + x + 1]) for y in range(HEIGHT)
                 for x in range(WIDTH // 2 + 2, WIDTH - 1)]
        self.assertTrue(0 < max(right) < 60, 'not the frame that viewers see')
        self.assertLess(min(plain), 200)


class Faults(LiveTest):
    """Whatever fails: what comes out is in the reference of the chain, or does not come."""

    @classmethod
    def setUpClass(cls):
        halotest.need_faults()

    def test_kinds(self):
        for kind, when in halotest.each(('submit', 'finish', 'upload', 'poison', 'launch', 'download', 'event',
                                         'alloc', 'open'), ('7', '1+', '1', '7+')):
            is_final = kind in ('submit', 'launch', 'download')
            with self.subTest(f'{kind}:{when}'):
                live = self.live(test_input(rate=100, more='' if is_final else ':duration=0.5'),
                                 'filters=gblur=sigma=3', *RAW, environment={'HALOD_FAULT': f'{kind}:{when}'})
                live.end()
                self.assertTrue(reference('gblur=sigma=3').keys() >= {p['md5'] for p in live.packets()})
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


class Abandoned(LiveTest):
    """A call that does not come back for a while, and by then nobody listens any more."""

    def test_in_its_decoder(self):
        """What is asked for is not answered yet when it is abandoned. (Its encoder: tests/box.)"""
        halotest.need_faults()
        stuck, log = self.path('stuck'), self.path('faults')
        live = self.live('input=' + halotest.plain_clip('.mkv', seconds=2), 'loop=1', 'realtime=1',
                         'filters=gblur=sigma=3', 'output=file', 'codec=mpeg4',
                         environment={'HALOD_FAULT': f'decoder:{stuck}', 'HALOD_FAULT_LOG': log})
        live.wait_packets(10)
        with open(stuck, 'w'):
            pass
        self.assertTrue(halotest.wait_until(lambda: os.path.getsize(log)), live.logged())
        live.tell('set 1 avgblur=sizeX=5')
        live.tell('snapshot 2 png')
        live.tell('abandon')
        live.wait('abandoned')
        os.unlink(stuck)
        live.wait('destroyed')
        live.end()
        kinds = [kind for kind, _, _ in live.lines]
        after = kinds[kinds.index('abandoned') + 1:]
        self.assertEqual([kind for kind in after if kind not in ('stats', 'destroyed')], [],
                         live.logged())


@alone
class Prompt(LiveTest):
    """What has to come in time, by the best of several."""

    def test_pictures(self):
        def late():
            live = self.live(test_input(rate=25, more=':duration=2'), *RAW)
            live.end()
            return statistics.median(p['now'] - p['pts'] for p in live.packets()) / 1e6
        self.assert_prompt(late, 0.2)

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


if __name__ == '__main__':
    halotest.main()
