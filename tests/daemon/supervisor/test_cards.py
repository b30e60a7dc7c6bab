# SPDX-License-Identifier: BSD-2-Clause
# Cards with words: viewers of a source that is away, and of engines that die.
import contextlib
import os
import socket
import subprocess
import threading
import time

from halotest.daemon import DaemonTest, Keeper, free_port, main
from halotest import FFPROBE, ffmpeg, need_faults, silent_clip

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
    def send(self, port, times=1):
        """A source that comes now, of another shape than the one that was made up."""
        with open(silent_clip('.ts', 2), 'rb') as file:
            source = Source(port, file.read())
        self.addCleanup(source.close)
        for _ in range(times):
            source.go.release()
        return source

    def test_sources_that_come_late(self):
        """Who sees cards in MPEG-TS goes on with the source's own shape on the same connection, and a change of
        filters that was asked for while it was away is in force. Matroska cannot say another size: its viewer
        keeps what it has, and the next one, when nobody looks any more, gets the source's own."""
        ports = {'ts': free_port(), 'mkv': free_port()}
        daemon = self.start({name: self.stream(input=f'tcp://127.0.0.1:{port}', input_timeout=600, outputs=[
            {'unix': self.path('one.' + name)}, *[{'unix': self.path('one.fd')}] * (name == 'ts')])
            for name, port in ports.items()})
        keepers = {}
        for name in ports:
            self.wait_size(daemon, name, (1280, 720))
            keepers[name] = Keeper(self.path('one.' + name))
            self.until(lambda: keepers[name].size > 0)
        daemon.control('Set', name='ts', filters='pixelize=w=16:h=16')
        self.send(ports['ts'], 10000)
        source = self.send(ports['mkv'])
        self.wait_size(daemon, 'ts', SOURCE)
        self.until(lambda: daemon.status('ts')['encoded'] > 20)
        size = keepers['ts'].size
        self.until(lambda: keepers['ts'].size > size + 5000)
        self.until(lambda: daemon.status('mkv')['encoded'] > 2)
        self.wait_size(daemon, 'mkv', (1280, 720))
        for keeper in keepers.values():
            self.assertFalse(keeper.ended)
            keeper.close()
        status = daemon.status('ts')
        self.assertEqual((status['filters'], status['restarts']), ('pixelize=w=16:h=16', 0))
        sizes = [frame.split(',')[:2] for frame in subprocess.run(
            [FFPROBE, '-v', 'error', '-f', 'mpegts', '-show_entries', 'frame=width,height', '-of',
             'csv=p=0', '-'], input=keepers['ts'].data, capture_output=True, check=True
        ).stdout.decode().split()]
        self.assertEqual(sizes[0], ['1280', '720'])
        self.assertEqual(sizes[-1], list(map(str, SOURCE)))
        self.until(lambda: not daemon.status('mkv')['viewers'])
        for _ in range(10000):  # for so long that it is seen
            source.go.release()
        self.wait_size(daemon, 'mkv', SOURCE)
        daemon.wait_state('mkv', 'running')


class Dying(CardTest):
    """Engines that end at their first picture, each time: viewers see cards all the same."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        need_faults()

    def test_killed(self):
        slow = {'preset': 'slower', 'size': '1280x720'}  # not described at once
        daemon = self.start({'one': self.stream(outputs=[
            {'unix': self.path('one.ts'), 'video': slow}, {'unix': self.path('one.nut')},
            {'unix': self.path('raw.nut'), 'video': {'codec': 'raw'}}])},
            environment={'HALOD_FAULT': 'kill:1'})
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


if __name__ == '__main__':
    main()
