# SPDX-License-Identifier: BSD-2-Clause
# The RTSP server of docs/streams.md, as it stands there, between the daemon and a real client.
import os
import re
import subprocess
import unittest

from halotest import alone, docs
from halotest.daemon import FFMPEG, PATIENCE, DaemonTest, call, free_port, main, wait_until

PYTHON = '/usr/bin/python3'  # Debian's modules are for this one
NEEDED = '''
import gi
gi.require_version('GstRtspServer', '1.0')
from gi.repository import Gst, GstRtspServer
Gst.init(None)
wanted = 'fdsrc', 'tsdemux', 'h264parse', 'rtph264pay', 'aacparse', 'rtpmp4gpay'
assert all(Gst.ElementFactory.find(name) for name in wanted)
'''
WIDTH, HEIGHT, RATE, SECONDS = 320, 240, 25, 4


def is_there():
    try:
        return subprocess.run([PYTHON, '-c', NEEDED], stderr=subprocess.DEVNULL, check=False,
                              timeout=60 * PATIENCE).returncode == 0
    except OSError:
        return False


class ScriptTest(DaemonTest):
    def script(self, sound):
        text = re.search(r'(?ms)^```python\n(.*?)^```$', docs.section(
            docs.read('docs/streams.md'), 'RTSP'))[1]
        if not sound:
            text, count = re.subn(r"(?m)^    's\. ! audio.*\n", '', text)
            self.assertEqual(count, 1)
        with open(self.path('rtsp.py'), 'w') as file:
            file.write(text)
        return file.name


class Script(ScriptTest):
    def test_is_python(self):
        for sound in True, False:
            with open(self.script(sound)) as file:
                compile(file.read(), file.name, 'exec')


# The server waits twenty seconds for its pipeline.
@alone
@unittest.skipUnless(is_there(), "GStreamer's RTSP server is not installed")
class Rtsp(ScriptTest):
    def serve(self, sound):
        """The stream's left half is black."""
        call([FFMPEG, '-nostdin', '-v', 'error', '-f', 'lavfi', '-i',
              f'testsrc2=size={WIDTH}x{HEIGHT}:rate={RATE}', '-f', 'lavfi', '-i', 'sine', '-t', '10',
              '-c:v', 'libx264', '-preset', 'ultrafast', '-pix_fmt', 'yuv420p', '-c:a', 'aac',
              self.path('in.mp4')])
        daemon = self.start({'clip': {
            'input': self.path('in.mp4'), 'loop': True, 'realtime': True, 'backend': 'cpu',
            'filters': 'solid=region=rect 0 0 50% 100%',
            'on_error': 'last', 'last_for': 60,  # no card where the machine stands still
            'outputs': [{'unix': self.path('clip.ts'), 'audio': 'copy' if sound else 'off'}]}})
        daemon.wait_state('clip', 'running')
        port = free_port()
        environment = {name: value for name, value in os.environ.items() if name != 'PYTHONPATH'}
        server = subprocess.Popen([PYTHON, self.script(sound), self.path('clip.ts'), str(port)],
                                  env=environment)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        url = f'rtsp://127.0.0.1:{port}/stream'
        self.assertTrue(wait_until(lambda: subprocess.run(
            ['ffprobe', '-v', 'quiet', '-rtsp_transport', 'tcp', url], check=False,
            timeout=60 * PATIENCE).returncode == 0))
        return daemon, url

    def check_frames(self, url):
        done = subprocess.run(
            [FFMPEG, '-nostdin', '-v', 'warning', '-rtsp_transport', 'tcp', '-i', url, '-an',
             '-frames:v', str(RATE * SECONDS), '-pix_fmt', 'gray', '-f', 'rawvideo', '-'],
            capture_output=True, check=True, timeout=60 * PATIENCE)
        self.assertNotRegex(done.stderr, b'corrupt|concealing|error')
        frames = [done.stdout[at:at + WIDTH * HEIGHT]
                  for at in range(0, len(done.stdout), WIDTH * HEIGHT)]
        self.assertEqual(len(frames), RATE * SECONDS)
        for frame in frames:
            rows = [frame[y * WIDTH:(y + 1) * WIDTH] for y in range(HEIGHT)]
            self.assertLess(max(max(row[:WIDTH // 2 - 8]) for row in rows), 40)
            self.assertGreater(max(max(row[WIDTH // 2:]) for row in rows), 150)
        self.assertGreater(len(set(frames)), RATE)

    def kinds(self, url):
        return call(['ffprobe', '-v', 'error', '-rtsp_transport', 'tcp', '-show_entries',
                     'stream=codec_name', '-of', 'csv=p=0', url]).decode().split()

    def test_with_sound(self):
        daemon, url = self.serve(True)
        self.assertEqual(self.kinds(url), ['h264', 'aac'])
        self.check_frames(url)
        self.check_frames(url)  # somebody else, later
        self.assertTrue(wait_until(lambda: daemon.status('clip')['viewers'] == 0))

    def test_without_sound(self):
        _, url = self.serve(False)
        self.assertEqual(self.kinds(url), ['h264'])
        self.check_frames(url)


if __name__ == '__main__':
    main()
