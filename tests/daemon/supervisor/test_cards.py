# SPDX-License-Identifier: BSD-2-Clause
# Cards with words, from an engine that lives: viewers of a source that is away, and what files get.
import contextlib
import glob
import os
import socket
import subprocess
import threading
import time

from halotest.daemon import (FFMPEG, PATIENCE, DaemonTest, Keeper, Watcher, free_port, main)
from halotest import FFPROBE, Waits, alone, ffmpeg, need_faults, raw_frames, silent_clip

SOON = ['-analyzeduration', '500k']  # no search for further streams
SOURCE = 160, 120  # of silent_clip()


class Source:
    """Sends a clip of two seconds to who connects, when it is let to, in that time, and hangs up."""

    def __init__(self, port, data):
        self.data, self.go, self.over = data, threading.Semaphore(0), False
        self.listener = socket.create_server(('127.0.0.1', port))
        self.listener.settimeout(0.1)
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while not self.over:
            try:
                connection, _ = self.listener.accept()
            except TimeoutError:
                continue
            with connection, contextlib.suppress(ConnectionError):
                if self.go.acquire(timeout=0.1):
                    self.send(connection)

    def send(self, connection):
        step = len(self.data) // 40 + 1
        for at in range(0, len(self.data), step):
            if self.over:
                return
            connection.sendall(self.data[at:at + step])
            time.sleep(0.05)

    def close(self):
        self.over = True
        self.thread.join()
        self.listener.close()


class CardTest(DaemonTest):
    def decode(self, data, form, name):
        """The last picture of it, as PNG and as rows of luma."""
        with open(self.path(name + '.' + form), 'wb') as file:
            file.write(data)
        made = ffmpeg('-f', form, '-i', self.path(name + '.' + form), '-an', '-frames:v', '1',
                      '-pix_fmt', 'gray', '-c:v', 'pgm', '-f', 'image2pipe', '-')
        _, size, _, raw = made.split(b'\n', 3)
        width = int(size.split()[0])
        if folder := os.environ.get('HALOTEST_CARDS'):  # to be looked at
            with open(os.path.join(folder, name + '.pgm'), 'wb') as file:
                file.write(made)
        return [raw[i:i + width] for i in range(0, len(raw), width)]

    def assert_words(self, rows):
        height, width = len(rows), len(rows[0])
        for row in rows[:height // 8] + rows[-height // 8:]:
            self.assertLess(max(row) - min(row), 10)
        bright = sum(value > 200 for row in rows for value in row)
        self.assertGreater(bright, width * height // 200)
        self.assertLess(bright, width * height // 4)

    def wait_size(self, daemon, name, size):
        def logged():
            status = daemon.status(name)
            return (status['width'], status['height'])
        self.until(lambda: logged() == size, logged)


class Cards(CardTest):
    @alone
    def test_away_from_the_start(self):
        """Viewers of every form have a stream within 500 ms, and see why."""
        port = free_port()
        daemon = self.start({'front-door': self.stream(
            input=f'tcp://127.0.0.1:{port}', outputs=[
                {'unix': self.path('one.ts')}, {'unix': self.path('one.mkv')},
                {'unix': self.path('one.nut')},
                {'unix': self.path('raw.nut'), 'video': {'codec': 'raw'}}])})
        daemon.wait_state('front-door', 'waiting')
        time.sleep(1.5 * PATIENCE)  # in the first second its own shape may come
        waits, late = [], Waits()
        for name in ('one.ts', 'one.mkv', 'one.nut', 'raw.nut'):
            keeper = Keeper(self.path(name))
            self.until(lambda: keeper.size > 0)
            waits.append(keeper.times[0] - keeper.begun)
            time.sleep(1.2 * PATIENCE)  # of cards, to be decoded
            keeper.close()
            form = {'ts': 'mpegts', 'mkv': 'matroska', 'nut': 'nut'}[name.rpartition('.')[2]]
            rows = self.decode(keeper.data, form, 'away-' + name)
            self.assertEqual((len(rows[0]), len(rows)), (1280, 720), name)
            self.assert_words(rows)
        self.assert_no_gap(waits, 0.5 * PATIENCE + late.seconds())
        keeper = Keeper(self.path('one.ts'))
        self.until(lambda: daemon.status('front-door')['cards'] > 2)
        self.until(lambda: daemon.status('front-door')['card'])
        status = daemon.status('front-door')
        self.assertEqual((status['filtered'], status['encoded']), (0, 0))
        watcher = self.watcher('one.nut', '-fpsprobesize', '0', *SOON)
        self.assertIsNotNone(watcher.wait(card=True), daemon.logged())
        with open(silent_clip('.ts', 2), 'rb') as file:
            source = Source(port, file.read())
        self.addCleanup(source.close)
        source.go.release()
        self.assertIsNotNone(watcher.wait(card=False), daemon.logged())
        self.assertTrue(watcher.is_alive_process())
        keeper.close()

    @alone
    def test_players_without_options(self):
        """ffmpeg looks at some seconds of pictures before it shows one: it gets so many soon."""
        daemon = self.start({'one': self.stream(input=f'tcp://127.0.0.1:{free_port()}', outputs=[
            {'unix': self.path('one.' + form)} for form in ('ts', 'mkv', 'nut')])})
        self.wait_size(daemon, 'one', (1280, 720))
        for form in ('ts', 'mkv', 'nut'):
            def first():
                begun = time.monotonic()
                subprocess.run(
                    [FFMPEG, '-nostdin', '-v', 'error', '-i', 'unix:' + self.path('one.' + form),
                     '-frames:v', '1', '-f', 'null', '-'], check=True, timeout=60 * PATIENCE)
                return time.monotonic() - begun
            with self.subTest(form):
                self.assert_once(first, 4.5 * PATIENCE)  # it would be 5

    def test_files_have_none(self):
        """A recording of a source that comes, goes and comes: pictures alone, in one file."""
        port = free_port()
        daemon = self.start({'one': self.stream(input=f'tcp://127.0.0.1:{port}', input_timeout=600, outputs=[
            {'unix': self.path('one.ts')}, {'file': self.path('v.mkv')}])})
        daemon.wait_state('one', 'waiting')
        time.sleep(1.5)  # of cards that nobody sees: a recording would have begun
        self.assertFalse(glob.glob(self.path('v*.mkv')), 'a file without a picture')
        with open(silent_clip('.ts', 2), 'rb') as file:
            source = Source(port, file.read())
        self.addCleanup(source.close)
        watcher = None
        for _ in range(2):
            before = daemon.status('one')['filtered']
            source.go.release()
            self.until(lambda: daemon.status('one')['filtered'] > before)
            watcher = watcher or self.watcher('one.ts', *SOON)
            daemon.wait_state('one', 'waiting')
            cards = daemon.status('one')['cards']
            self.until(lambda: daemon.status('one')['cards'] > cards + 2)
        self.assertIsNotNone(watcher.wait(card=True), daemon.logged())
        status = daemon.status('one')
        self.end(daemon)
        files = glob.glob(self.path('v*.mkv'))
        self.assertEqual(len(files), 1)
        frames = raw_frames(files[0], filters='scale=12:8:flags=area', pixel_format='gray')
        shown = [frames[i:i + 96] for i in range(0, len(frames), 96)]
        self.assertGreater(len(shown) + sum(status['dropped'].values()), 40)  # of both times
        self.assertLessEqual(len(shown), status['filtered'])
        self.assertFalse([n for n, picture in enumerate(shown) if Watcher.is_card(picture)])

    def send(self, port, times=1):
        """A source that comes now, of another shape than the one that was made up."""
        with open(silent_clip('.ts', 2), 'rb') as file:
            source = Source(port, file.read())
        self.addCleanup(source.close)
        for _ in range(times):
            source.go.release()
        return source

    def test_a_source_that_comes_late(self):
        """It gets its own shape: who sees cards in MPEG-TS goes on with it on the same connection,
        and a change of filters that was asked for while it was away is in force."""
        port = free_port()
        daemon = self.start({'one': self.stream(input=f'tcp://127.0.0.1:{port}', input_timeout=600, outputs=[
            {'unix': self.path('one.ts')}, {'unix': self.path('one.fd')}])})
        self.wait_size(daemon, 'one', (1280, 720))
        keeper = Keeper(self.path('one.ts'))
        self.until(lambda: keeper.size > 0)
        daemon.control('Set', name='one', filters='pixelize=w=16:h=16')
        width, height = SOURCE
        self.send(port, 10000)
        self.wait_size(daemon, 'one', (width, height))
        self.until(lambda: daemon.status('one')['encoded'] > 20)
        size = keeper.size
        self.until(lambda: keeper.size > size + 5000)
        self.assertFalse(keeper.ended)
        status = daemon.status('one')
        self.assertEqual((status['filters'], status['restarts']), ('pixelize=w=16:h=16', 0))
        keeper.close()
        sizes = [frame.split(',')[:2] for frame in subprocess.run(
            [FFPROBE, '-v', 'error', '-f', 'mpegts', '-show_entries', 'frame=width,height', '-of',
             'csv=p=0', '-'], input=keeper.data, capture_output=True, check=True
        ).stdout.decode().split()]
        self.assertEqual(sizes[0], ['1280', '720'])
        self.assertEqual(sizes[-1], [str(width), str(height)])

    def test_a_viewer_that_cannot_be_told(self):
        """Matroska cannot say another size: its viewer keeps what it has, and the next one, when
        nobody looks any more, gets the source's own."""
        port = free_port()
        daemon = self.start({'one': self.stream(input=f'tcp://127.0.0.1:{port}', input_timeout=600, outputs=[
            {'unix': self.path('one.mkv')}])})
        self.wait_size(daemon, 'one', (1280, 720))
        keeper = Keeper(self.path('one.mkv'))
        self.until(lambda: keeper.size > 0)
        source = self.send(port)
        self.until(lambda: daemon.status('one')['encoded'] > 2)
        self.wait_size(daemon, 'one', (1280, 720))
        self.assertFalse(keeper.ended)
        keeper.close()
        self.until(lambda: not daemon.status('one')['viewers'])
        for _ in range(10000):  # for so long that it is seen
            source.go.release()
        self.wait_size(daemon, 'one', SOURCE)
        daemon.wait_state('one', 'running')


class Dying(CardTest):
    """Engines that end at their first picture, each time: viewers see cards all the same."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        need_faults()

    def dies(self, fault):
        slow = {'preset': 'slower', 'size': '1920x1080'}  # not described at once
        daemon = self.start({'one': self.stream(outputs=[
            {'unix': self.path('one.ts'), 'video': slow}, {'unix': self.path('one.nut')},
            {'unix': self.path('raw.nut'), 'video': {'codec': 'raw'}}])},
            environment={'HALOD_FAULT': fault})
        keepers = {name: Keeper(self.path(name)) for name in ('one.ts', 'one.nut', 'raw.nut')}
        for name, keeper in keepers.items():
            self.until(lambda k=keeper: k.size > 0, name)
        self.until(lambda: daemon.status('one')['restarts'] > 1)
        before = {name: keeper.size for name, keeper in keepers.items()}
        for name, keeper in keepers.items():
            self.until(lambda k=keeper, b=before[name]: k.size > b + 1000, name)
            self.assertFalse(keeper.ended, name)
            keeper.close()
            form = 'mpegts' if name.endswith('.ts') else 'nut'
            self.assert_words(self.decode(keeper.data, form, 'dying-' + name))
        self.until(lambda: not daemon.status('one')['card'], 'nobody looks now')
        self.assertEqual(daemon.status('one')['filtered'], 0)

    def test_killed(self):
        self.dies('kill:1')

    def test_the_gpu_is_lost(self):
        self.dies('submit:1+')


if __name__ == '__main__':
    main()
