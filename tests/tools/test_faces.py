# SPDX-License-Identifier: BSD-2-Clause
# halo-faces: its words without OpenCV, its way to the daemon with a played one, and faces with the
# real one, where that is installed.
"""The program under test is $HALO_FACES, beside $HALOD. $HALOD_MEDIA may name a folder of footage
with people."""
import glob
import os
import re
import shutil
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..'))

from halotest.daemon import FFMPEG, PATIENCE, DaemonTest, main, wait_until  # noqa: E402

FACES = os.environ.get('HALO_FACES', '')
MANUAL = os.path.join(HERE, '..', '..', 'docs', 'halo-faces.1.scd')
PYTHON = '/usr/bin/python3'  # the distribution's, which has the distribution's OpenCV
SIZE = 320, 240

# What the real one gives is in the test with the real one. This one finds the stream's whole middle.
PLAYED = '''
import os
INTER_AREA = 3
class CascadeClassifier:
    def load(self, path):
        return 'broken' not in path
    def detectMultiScale(self, gray, scaleFactor, minNeighbors, minSize):
        height, width = gray.shape
        return [(width // 4, height // 4, width // 2, height // 2)]
def equalizeHist(gray):
    return gray
def resize(gray, size, interpolation):
    return gray[:size[1], :size[0]]
'''

# A face, moving from the left to the right, as gray pictures on standard output.
DRAW = '''
import sys
import cv2, numpy as np
width, height, count = map(int, sys.argv[1:])
y, x = np.mgrid[0:height, 0:width].astype(float)
for i in range(count):
    size = height / 8
    u, v = (x - width * (0.3 + 0.4 * i / count)) / size, (y - height / 2) / size
    picture = np.full((height, width), 70.0)
    def ellipse(a, b, ra, rb, value):
        picture[((u - a) / ra) ** 2 + ((v - b) / rb) ** 2 <= 1] = value
    ellipse(0, -.15, 1.15, 1.5, 35)
    ellipse(0, .1, 1, 1.3, 190)
    for k in -1, 1:
        ellipse(.42 * k, -.33, .3, .08, 70)
        ellipse(.42 * k, -.12, .27, .17, 105)
        ellipse(.42 * k, -.1, .13, .1, 40)
        ellipse(.62 * k, .45, .25, .3, 205)
        ellipse(.12 * k, .48, .08, .06, 110)
    ellipse(0, .1, .1, .4, 215)
    ellipse(0, .82, .38, .1, 90)
    sys.stdout.buffer.write(cv2.GaussianBlur(picture.astype('u1'), (0, 0), size * .05).tobytes())
'''


def has(code):
    return subprocess.run([PYTHON, '-c', code], capture_output=True, timeout=60).returncode == 0


HAS_NUMPY = has('import numpy')
HAS_OPENCV = has('import cv2, os; assert os.path.exists("/usr/share/opencv4/haarcascades") or '
                 'os.path.exists("/usr/share/opencv/haarcascades")')


class FacesTest(DaemonTest):
    def environment(self, cv2=None, numpy=None):
        """With these modules in the place of the real ones."""
        folder = self.path('modules')
        os.makedirs(folder, exist_ok=True)
        for name, text in (('cv2', cv2), ('numpy', numpy)):
            if text is not None:
                with open(os.path.join(folder, name + '.py'), 'w') as file:
                    file.write(text)
        return {**os.environ, 'PYTHONPATH': folder, 'PYTHONDONTWRITEBYTECODE': '1'}

    def faces(self, *words, environment=None):
        return subprocess.run([PYTHON, FACES, *words], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                              timeout=60 * PATIENCE, env=environment or self.environment())

    def begin(self, *words, environment=None, frames='faces.fd'):
        log = open(self.path('faces.log'), 'w')
        process = subprocess.Popen([PYTHON, FACES, '--stream', 'one', '--socket', self.path('control.sock'),
                                    '--frames', self.path(frames), *words], stdout=log, stderr=log,
                                   stdin=subprocess.DEVNULL, env=environment or self.environment())
        log.close()

        def end():
            if process.poll() is None:
                process.terminate()
            process.wait(10 * PATIENCE)
        self.addCleanup(end)
        return process

    def logged(self):
        with open(self.path('faces.log')) as file:
            return file.read()

    def streams(self, **more):
        return {'one': self.stream(
            region_feed={}, renditions={'detector': {'filters': 'gblur=sigma=1'}}, outputs=[
                {'unix': self.path('one.ts')},
                {'unix': self.path('faces.fd'), 'rendition': 'detector', 'video': {'codec': 'raw', 'fps': 15}}],
            **more)}


class Words(FacesTest):
    def assert_says(self, done, code, words):
        self.assertEqual((done.returncode, done.stdout), (code, ''), done.stderr)
        self.assertRegex(done.stderr, words)
        self.assertEqual(done.stderr.count('\n'), 1, done.stderr)

    def test_usage(self):
        must = ('--stream', 'a', '--frames', 'b')
        for words, said in ((('--stream', 'a'), '--frames'), (('--frames', 'a'), '--stream'),
                            ((*must, '--scale', '7'), '7: must be between 0.05 and 1'),
                            ((*must, '--scale', 'x'), 'invalid number'), ((*must, '--shape', 'star'), 'star'),
                            ((*must, '--what'), '--what')):
            with self.subTest(words):
                self.assert_says(self.faces(*words), 64, said)

    def test_help_and_manual(self):
        done = self.faces('--help')
        self.assertEqual((done.returncode, done.stderr), (0, ''))
        options = set(re.findall(r'(?m)^  (?:-h, )?(--[a-z]+)', done.stdout))
        with open(MANUAL, encoding='utf-8') as file:
            self.assertEqual(options, set(re.findall(r'(?m)^\*(--[a-z]+)\*', file.read().split('# OPTIONS')[1])))

    def test_without_opencv(self):
        environment = self.environment(cv2='raise ImportError("No module named cv2")')
        self.assert_says(self.faces('--stream', 'a', '--frames', 'b', environment=environment), 1,
                         'OpenCV is missing .*apt-get install python3-opencv')

    def test_without_cascades(self):
        environment = self.environment(cv2=PLAYED, numpy='')
        for name, said in (('nosuch', 'haarcascade_nosuch.xml is in none of .*apt-get install opencv-data'),
                           ('./nosuch.xml', 'not a cascade'), (__file__.replace('test_', './broken/'), 'not a cascade')):
            with self.subTest(name):
                self.assert_says(self.faces('--stream', 'a', '--frames', 'b', '--cascade', name,
                                            environment=environment), 1, said)


@unittest.skipUnless(HAS_NUMPY, 'the distribution\'s Python has no numpy (python3-numpy)')
class Played(FacesTest):
    def played(self, *words):
        cascade = self.path('cascade.xml')
        with open(cascade, 'w') as file:
            file.write('played')
        return self.begin('--cascade', cascade, *words, environment=self.environment(cv2=PLAYED))

    def feed(self, daemon):
        return daemon.status('one')['region_feed']

    def test_tells(self):
        daemon = self.start(self.streams())
        daemon.wait_state('one', 'running')
        process = self.played('--verbose', '--count', '10', '--scale', '0.5')
        self.assertEqual(process.wait(20 * PATIENCE), 0, self.logged())
        feed = self.feed(daemon)
        self.assertTrue(wait_until(lambda: self.feed(daemon)['updates'] == 10), feed)
        self.assertEqual((feed['regions'], feed['refused']), (1, 0))
        self.assertEqual(self.logged().count('1 faces: 1 at 0.25 0.25 (0.50 x 0.50)'), 10, self.logged())

    def test_formats(self):
        """Of more than 8 bits, and of odd width."""
        for suffix, options in (('10', ['-pix_fmt', 'yuv420p10le']), ('odd', ['-pix_fmt', 'yuv444p', '-s', '321x241'])):
            clip = self.path(suffix + '.mkv')
            subprocess.run([FFMPEG, '-v', 'error', '-f', 'lavfi', '-i', 'testsrc2=size=320x240:rate=25:duration=2',
                            *options, '-c:v', 'ffv1', clip], check=True, timeout=60)
            with self.subTest(suffix):
                daemon = self.start(self.streams(input=clip, loop=True, realtime=True))
                daemon.wait_state('one', 'running')
                process = self.played('--count', '3')
                self.assertEqual(process.wait(20 * PATIENCE), 0, self.logged())
                self.end(daemon)

    def test_comes_back(self):
        """After an engine's end, and the daemon's."""
        daemon = self.start(self.streams())
        daemon.wait_state('one', 'running')
        process = self.played()
        self.assertTrue(wait_until(lambda: self.feed(daemon)['state'] == 'told'), self.logged())
        daemon.kill_engine_of('one')
        self.assertTrue(wait_until(lambda: self.feed(daemon)['state'] == 'silent'))
        self.assertTrue(wait_until(lambda: self.feed(daemon)['state'] == 'told', 20), self.logged())
        self.end(daemon)
        self.assertTrue(wait_until(lambda: 'trying again' in self.logged()), self.logged())
        daemon = self.start(self.streams())
        self.assertTrue(wait_until(lambda: self.feed(daemon)['state'] == 'told', 20), self.logged())
        self.assertIsNone(process.poll())
        self.assertLess(len(self.logged().splitlines()), 12, self.logged())

    def test_streams_that_cannot(self):
        streams = self.streams()
        del streams['one']['region_feed']
        daemon = self.start(streams)
        daemon.wait_state('one', 'running')
        process = self.played()
        self.assertEqual(process.wait(20 * PATIENCE), 1)
        self.assertRegex(self.logged(), '^halo-faces: .*has no region_feed')


@unittest.skipUnless(HAS_OPENCV, 'OpenCV is not installed (python3-opencv, opencv-data)')
class Real(FacesTest):
    def regions(self, daemon, count, *words):
        process = self.begin('--verbose', '--count', str(count), *words)
        self.assertEqual(process.wait(60 * PATIENCE), 0, self.logged() + daemon.logged())
        return [[tuple(map(float, place)) for place in re.findall(r'at (\S+) (\S+) \((\S+) x (\S+)\)', line)]
                for line in self.logged().splitlines()]

    def test_a_drawn_face(self):
        width, height = SIZE
        drawn = subprocess.run([PYTHON, '-c', DRAW, str(width), str(height), '50'], stdout=subprocess.PIPE,
                               check=True, timeout=60).stdout
        clip = self.path('face.mkv')
        subprocess.run([FFMPEG, '-v', 'error', '-f', 'rawvideo', '-pix_fmt', 'gray', '-s', f'{width}x{height}',
                        '-r', '25', '-i', '-', '-pix_fmt', 'yuv420p', '-c:v', 'ffv1', clip], input=drawn,
                       check=True, timeout=60)
        daemon = self.start(self.streams(input=clip, loop=True, realtime=True))
        daemon.wait_state('one', 'running')
        looks = self.regions(daemon, 20)
        self.assertGreaterEqual(sum(len(look) == 1 for look in looks), 15, self.logged())
        for look in looks:
            for x, y, w, h in look:
                self.assertLess(abs(y + h / 2 - 0.5), 0.12, look)
                self.assertTrue(0.2 < x + w / 2 < 0.8, look)
        ids = re.findall(r'(\d+) at ', self.logged())
        self.assertLessEqual(len(set(ids)), 6, self.logged())  # the same face keeps its id

    @unittest.skipUnless(os.environ.get('HALOD_MEDIA'), 'HALOD_MEDIA names no folder of footage')
    def test_footage(self):
        clips = sorted(glob.glob(os.path.join(os.environ['HALOD_MEDIA'], '*person*')))
        self.assertTrue(clips, 'no footage of persons there')
        found = {}
        for clip in clips:
            daemon = self.start(self.streams(input=clip, loop=True, realtime=True))
            daemon.wait_state('one', 'running')
            looks = self.regions(daemon, 30, '--scale', '0.5')
            found[os.path.basename(clip)] = sum(map(bool, looks))
            self.end(daemon)
        print(f'looks of 30 in which there was a face: {found}')
        self.assertTrue(any(found.values()), found)


if __name__ == '__main__':
    if not shutil.which(FFMPEG):
        sys.exit(77)
    main()
