# SPDX-License-Identifier: BSD-2-Clause
# haloctl and HTTP before the real daemon: what they show is what engines make.
import json
import shutil
import subprocess
import threading
import time
import unittest
import urllib.error
import urllib.request

from halotest.daemon import FFMPEG, PATIENCE, DaemonTest, call, free_port, main, wait_until
from halotest import alone
from halotest.control import HaloctlMixin


def detail(image):
    """How much neighbouring pixels of a whole picture differ: less where it is blurred."""
    size = 160
    gray = call([FFMPEG, '-nostdin', '-v', 'error', '-i', 'pipe:0', '-vf', f'scale={size}:120,'
                 'format=gray', '-frames:v', '1', '-f', 'rawvideo', '-'], data=image)
    return sum(abs(a - b) for a, b in zip(gray, gray[1:])) / len(gray)


class Parts(threading.Thread):
    """Takes a stream over HTTP and notes when each picture was whole."""

    def __init__(self, url):
        super().__init__(daemon=True)
        self.answer = urllib.request.urlopen(url, timeout=60 * PATIENCE)
        self.pictures, self.ended, self.enough = [], False, False
        self.start()

    def run(self):
        try:
            while not self.enough:
                length = None
                for line in iter(self.answer.readline, b'\r\n'):
                    if not line:
                        return
                    if line.lower().startswith(b'content-length:'):
                        length = int(line.split(b':')[1])
                picture = self.answer.read(length)
                self.answer.readline()
                self.pictures.append((time.monotonic(), picture))
        except (OSError, ValueError, TypeError):
            pass
        finally:
            self.answer.close()
            self.ended = True

    def close(self):
        self.enough = True
        self.join()


class Served(HaloctlMixin, DaemonTest):
    def serve(self, streams=None, **more):
        self.port, self.socket = free_port(), self.path('control.sock')
        return self.start(streams or {'one': self.stream(), 'two': self.stream('two')},
                          http={'listen': f'127.0.0.1:{self.port}'}, **more)

    def url(self, path):
        return f'http://127.0.0.1:{self.port}{path}'

    def get(self, path):
        with urllib.request.urlopen(self.url(path), timeout=60 * PATIENCE) as answer:
            return answer.read()

    def snapshot(self):
        """Asked for again while there is no picture within five seconds."""
        found = []

        def ask():
            try:
                found.append(self.get('/one/snapshot.jpg'))
            except urllib.error.HTTPError as error:
                self.assertEqual(error.code, 503)
                error.close()
            return found
        self.assertTrue(wait_until(ask), 'no picture')
        return found[0]


@alone
class Clients(Served):
    """Programs that people have, at the streams of one daemon, while an engine dies."""

    def begin(self, *command):
        client = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT)
        self.addCleanup(client.stdout.close)
        self.addCleanup(client.kill)
        return client

    def mpv(self, name):
        return self.begin('mpv', '--no-config', '--vo=null', '--ao=null', '--frames=150',
                          f'unix://{self.path(name)}')

    def count_pictures(self, curl, wanted):
        """Reads until so many more have begun."""
        while wanted > 0:
            line = curl.stdout.readline()
            self.assertTrue(line, f'{wanted} pictures are missing')
            wanted -= line.startswith(b'X-Timestamp')

    @unittest.skipUnless(shutil.which('mpv') and shutil.which('curl'), 'there is no mpv, or no curl')
    def test_all_at_once(self):
        suffixes = {'a': 'ts', 'b': 'mkv', 'c': 'nut', 'd': 'ts'}
        daemon = self.serve({n: self.stream(n, suffix) for n, suffix in suffixes.items()})
        for name in suffixes:
            daemon.wait_state(name, 'running')
        players = [self.mpv(f'{n}.{suffixes[n]}') for n in 'ab']
        ffmpeg = self.begin(FFMPEG, '-nostdin', '-v', 'error', '-i', 'unix:' + self.path('c.nut'),
                            '-frames:v', '150', '-f', 'framemd5', '-')
        curl = self.begin('curl', '-s', '-m', str(60 * PATIENCE), self.url('/d/stream.mjpeg'))
        self.assertTrue(wait_until(lambda: all(daemon.status(n)['viewers'] for n in suffixes)))
        self.count_pictures(curl, 25)
        daemon.kill_engine_of('a')
        self.count_pictures(curl, 75)
        curl.terminate()
        curl.wait()
        for player in players:
            output = player.communicate(timeout=60 * PATIENCE)[0]
            self.assertEqual(player.returncode, 0, output)
            self.assertIn(b'VO: [null] 160x120', output)
        output = ffmpeg.communicate(timeout=60 * PATIENCE)[0]
        self.assertEqual((ffmpeg.returncode, output.count(b'\n0,')), (0, 150), output)
        self.assertEqual([daemon.status(n)['restarts'] for n in suffixes], [1] * 4)
        self.assertRegex(self.ctl('doctor').stdout.decode(), '(?m)^ok +port +')


class Http(Served):
    def test_pictures_are_filtered_and_made_on_demand(self):
        null = {'outputs': [{'null': True}], 'input': 'test:size=160x120:rate=10'}
        daemon = self.serve({'one': {**self.stream(filters='gblur=sigma=20'), **null},
                             'two': {**self.stream(filters='null', privacy='off'), **null}})
        daemon.wait_state('one', 'running')
        self.wait_numbers(daemon, 3)
        self.assertEqual(daemon.status('one')['encoded'], 0)  # nobody looks
        blurred = detail(self.snapshot())
        details = []
        for chain, name in (('null', 'a.png'), ('gblur=sigma=20', 'b.png'),
                            ('gblur=sigma=20', 'b.jpg')):
            self.good('set', 'two', f'filters={chain}')
            self.good('snapshot', 'two', self.path(name))
            with open(self.path(name), 'rb') as file:
                data = file.read()
            self.assertTrue(data.startswith(b'\x89PNG' if name.endswith('png') else b'\xff\xd8'))
            details.append(detail(data))
        self.assertGreater(details[0], 3 * max(details[1:] + [blurred]), details)
        parts = Parts(self.url('/one/stream.mjpeg'))
        self.assertTrue(wait_until(lambda: len(parts.pictures) > 20))
        self.assertEqual(json.loads(self.get('/api/streams'))['streams'][0]['viewers'], 1)
        for _, picture in parts.pictures[::10]:
            self.assertLess(detail(picture), blurred * 2)
        parts.close()
        self.assertTrue(wait_until(lambda: daemon.status('one')['viewers'] == 0))

        def rests():
            encoded = daemon.status('one')['encoded']
            self.wait_numbers(daemon, 3)
            return daemon.status('one')['encoded'] == encoded
        self.assertTrue(wait_until(rests), 'it goes on for nobody')

    def wait_numbers(self, daemon, count):
        """Until the engine has told of its frames so often."""
        for _ in range(count):
            before = daemon.status('one')['filtered']
            self.assertTrue(wait_until(lambda: daemon.status('one')['filtered'] != before))


if __name__ == '__main__':
    main()
