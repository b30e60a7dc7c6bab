# SPDX-License-Identifier: BSD-2-Clause
# Cards with words, from an engine that lives: viewers of a source that is away, and what files get.
import glob
import os
import socket
import subprocess
import threading
import time

from daemontest import (FFMPEG, PATIENCE, DaemonTest, Reader, Watcher, free_port, main, wait_until)
from halotest import raw_frames, silent_clip


SOON = ['-analyzeduration', '500k']  # no search for further streams


class Keeper(Reader):
    """A client that keeps what came."""

    def __init__(self, path):
        self.data, self.begun = b'', time.monotonic()
        super().__init__(path)

    def run(self):
        while data := self.socket.recv(1 << 16):
            self.times.append(time.monotonic())
            self.size += len(data)
            self.data += data


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
            with connection:
                if self.go.acquire(timeout=0.1):
                    self.send(connection)

    def send(self, connection):
        step = len(self.data) // 40 + 1
        for at in range(0, len(self.data), step):
            connection.sendall(self.data[at:at + step])
            time.sleep(0.05)

    def close(self):
        self.over = True
        self.thread.join()
        self.listener.close()


class Cards(DaemonTest):
    def decode(self, data, form, name):
        """The last picture of it, as PNG and as rows of luma."""
        with open(self.path(name + '.' + form), 'wb') as file:
            file.write(data)
        made = subprocess.run([FFMPEG, '-nostdin', '-v', 'error', '-f', form, '-i',
                               self.path(name + '.' + form), '-an', '-frames:v', '1', '-pix_fmt',
                               'gray', '-c:v', 'pgm', '-f', 'image2pipe', '-'],
                              stdin=subprocess.DEVNULL, capture_output=True, check=True).stdout
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
        for name in ('one.ts', 'one.mkv', 'one.nut', 'raw.nut'):
            keeper = Keeper(self.path(name))
            self.assertTrue(wait_until(lambda: keeper.size > 0), daemon.told())
            self.assertLess(keeper.times[0] - keeper.begun, 0.5 * PATIENCE, name)
            time.sleep(1.2 * PATIENCE)
            keeper.close()
            form = {'ts': 'mpegts', 'mkv': 'matroska', 'nut': 'nut'}[name.rpartition('.')[2]]
            rows = self.decode(keeper.data, form, 'away-' + name)
            self.assertEqual((len(rows[0]), len(rows)), (1280, 720), name)
            self.assert_words(rows)
        keeper = Keeper(self.path('one.ts'))
        self.assertTrue(wait_until(lambda: daemon.status('front-door')['cards'] > 2))
        self.assertTrue(wait_until(lambda: daemon.status('front-door')['card']), daemon.told())
        status = daemon.status('front-door')
        self.assertEqual((status['filtered'], status['encoded']), (0, 0))
        watcher = self.watcher('one.nut', '-fpsprobesize', '0', *SOON)
        self.assertIsNotNone(watcher.wait(card=True, timeout=20), daemon.told())
        with open(silent_clip('.ts', 2), 'rb') as file:
            source = Source(port, file.read())
        self.addCleanup(source.close)
        source.go.release()
        self.assertIsNotNone(watcher.wait(card=False), daemon.told())
        self.assertTrue(watcher.is_alive_process())
        keeper.close()

    def test_files_have_none(self):
        """A recording of a source that comes, goes and comes: pictures alone, in one file."""
        port = free_port()
        daemon = self.start({'one': self.stream(input=f'tcp://127.0.0.1:{port}', outputs=[
            {'unix': self.path('one.ts')}, {'file': self.path('v.mkv')}])})
        daemon.wait_state('one', 'waiting')
        time.sleep(1.5)
        self.assertFalse(glob.glob(self.path('v*.mkv')), 'a file without a picture')
        with open(silent_clip('.ts', 2), 'rb') as file:
            source = Source(port, file.read())
        self.addCleanup(source.close)
        watcher = None
        for _ in range(2):
            before = daemon.status('one')['filtered']
            source.go.release()
            self.assertTrue(wait_until(lambda: daemon.status('one')['filtered'] > before + 20),
                            daemon.told())
            watcher = watcher or self.watcher('one.ts', *SOON)
            daemon.wait_state('one', 'waiting')
            cards = daemon.status('one')['cards']
            self.assertTrue(wait_until(lambda: daemon.status('one')['cards'] > cards + 2),
                            daemon.told())
        self.assertIsNotNone(watcher.wait(card=True), daemon.told())
        status = daemon.status('one')
        self.end(daemon)
        files = glob.glob(self.path('v*.mkv'))
        self.assertEqual(len(files), 1)
        frames = raw_frames(files[0], filters='scale=12:8:flags=area', pixel_format='gray')
        shown = [frames[i:i + 96] for i in range(0, len(frames), 96)]
        self.assertGreater(len(shown), 60)
        self.assertLessEqual(len(shown), status['filtered'])
        self.assertFalse([n for n, picture in enumerate(shown) if Watcher.is_card(picture)])


if __name__ == '__main__':
    main()
