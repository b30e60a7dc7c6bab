# SPDX-License-Identifier: BSD-2-Clause
# Jobs: manifests, and what their files say.
import atexit
import hashlib
import itertools
import json
import os
import shutil
import signal
import tempfile
import time

from halotest import (RUN_TIMEOUT, HaloTest, audio_source, clip, ffmpeg, is_sanitized, start_halod,
                      state_of, video_source)
from halotest.detector import STANDIN
from halotest.warm import first_libraries

GOP = ['-c:v', 'libx264', '-preset', 'veryfast', '-threads', '1', '-bf', '2', '-g', '10', '-pix_fmt',
       'yuv420p']


def sha256(path):
    with open(path, 'rb') as file:
        return hashlib.sha256(file.read()).hexdigest()


def canonical(value):
    """As jansson writes it."""
    if isinstance(value, dict):
        return '{' + ','.join(f'{json.dumps(key)}:{canonical(value[key])}' for key in sorted(value)) + '}'
    if isinstance(value, list):
        return '[' + ','.join(map(canonical, value)) + ']'
    if isinstance(value, float):
        text = f'{value:.17g}'
        return text if '.' in text or 'e' in text else text + '.0'
    return json.dumps(value, ensure_ascii=False)


def stopping(**where):
    """The environment in which a process stops where this says: NEW is the beginning of the name of
    a file that it creates, STOP the name of one that it is to remove."""
    names = {'NEW': 'HALO_STANDIN_NFS_STOP_NEW', 'STOP': 'HALO_STANDIN_NFS_STOP'}
    return {'LD_PRELOAD': first_libraries() + os.environ['HALO_STANDIN_NFS'],
            **{names[key]: name for key, name in where.items()}}


def wait_stopped(process):
    """Whether it has stopped, and not ended."""
    os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
    return process.poll() is None


def source(seconds=4, size='160x120', suffix='.mp4'):
    """A clip with sound and a keyframe every 0.4 s."""
    return clip(suffix, *video_source(size, seconds=seconds), *audio_source(seconds), *GOP, '-c:a', 'aac')


class JobTest(HaloTest):
    ENCODE = ['-preset', 'ultrafast']
    rows = {}  # what detectors find, by the names of files
    summary = staticmethod(sha256)
    summaries = {}  # of what one process has made, by what says that
    jobs = {}  # folders of jobs whose segments are encoded, by what says that

    def setUp(self):
        super().setUp()
        self.output = self.path('out.mp4')
        self.parts = self.output + '.parts'
        self.input = source()

    def split(self, *options, code=0, output=None, chain='gblur=sigma=2', seconds='1', **more):
        return self.halod('job', 'split', '-segment_time', seconds, '-i', self.input, '-vf', chain,
                          *self.ENCODE, *options, output or self.output, code=code, **more)

    def segment(self, *arguments, code=0, **more):
        return self.halod('job', 'segment', self.parts, *arguments, code=code, **more)

    def encode_all(self):
        for number in range(self.count()):
            self.segment(number)

    def encoded(self, *options, **more):
        """A job whose segments are encoded. The same is not encoded again for another test: its paths
        are relative to OUT's folder."""
        key = repr((self.input, os.path.basename(self.output), self.ENCODE, options, more))
        if key in self.jobs:
            shutil.copytree(self.jobs[key], self.parts)
            return
        self.split(*options, **more)
        self.encode_all()
        kept = tempfile.mkdtemp(prefix='halotest-jobs-')
        atexit.register(shutil.rmtree, kept, ignore_errors=True)
        self.jobs[key] = shutil.copytree(self.parts, os.path.join(kept, 'parts'))

    def join(self, code=0, wait=False, **more):
        return self.halod('job', 'join', *['--wait'] * wait, self.parts, code=code, **more)

    def stopped(self, *words, **where):
        """A process that has stopped where stopping() says."""
        process = start_halod('job', *words, environment=stopping(**where))
        self.addCleanup(process.kill)
        self.assertTrue(wait_stopped(process), words)
        return process

    def join_that_stops(self, name):
        """A process that has completed OUT, and stops when it is to remove this file."""
        join = self.stopped('join', self.parts, STOP=name)
        self.assertTrue(os.path.exists(self.output))
        return join

    def assert_ends_soon(self, end):
        """end() ends something, and says how long that took."""
        self.assert_once(end, 3 if is_sanitized() else 1, 5)

    def seconds_to_end(self, process, number, code):
        begin = time.monotonic()
        process.send_signal(number)
        process.send_signal(signal.SIGCONT)
        _, err = process.communicate(timeout=RUN_TIMEOUT)
        self.assertEqual(process.returncode, code, err)
        return time.monotonic() - begin

    def status(self, parts=None):
        return json.loads(self.halod('job', 'status', '--json', parts or self.parts).out)

    def manifest(self, parts=None):
        with open(os.path.join(parts or self.parts, 'manifest.json'), encoding='utf-8') as file:
            return json.load(file)

    def write_manifest(self, manifest, seal=True):
        if seal:
            manifest.pop('seal', None)
            manifest['seal'] = hashlib.sha256(canonical(manifest).encode()).hexdigest()
        with open(os.path.join(self.parts, 'manifest.json'), 'w', encoding='utf-8') as file:
            json.dump(manifest, file)

    def count(self):
        return len(self.manifest()['segments'])

    def part(self, number):
        return os.path.join(self.parts, f'{number:06}.part')

    def audit(self, output=None):
        with open((output or self.output) + '.job.json', encoding='utf-8') as file:
            return json.load(file)

    def whole(self, *options, chain='gblur=sigma=2', seconds='1', **more):
        """SHA-256 of what one process makes."""
        return self.made('-segments', '-segment_time', seconds, '-vf', chain, *self.ENCODE, *options, **more)

    def made(self, *words, **more):
        """The summary of what such a run makes; the same is not run again for another test."""
        path = self.path('whole' + os.path.splitext(self.output)[1])
        key = repr((state_of(self.input), words, os.path.basename(path), more, self.rows))
        for name in self.rows:
            key = key.replace(self.path(name), name)
        if key not in self.summaries or self.folder in key:
            self.halod('run', '-y', '-i', self.input, *words, path, **more)
            self.summaries[key] = self.summary(path)
        return self.summaries[key]

    def assert_done(self, want=None):
        self.assertFalse(os.path.exists(self.parts))
        self.assertEqual(sha256(self.output), want or self.whole())
        self.assertEqual(self.audit()['output']['sha256'], sha256(self.output))
        self.assertEqual(sorted(name for name in os.listdir(os.path.dirname(self.output))
                                if name.startswith(('out.', '.halod'))),
                         [os.path.basename(self.output), os.path.basename(self.output) + '.job.json'])

    def assert_nothing(self):
        for name in ('', '.job.json'):
            self.assertFalse(os.path.exists(self.output + name))


# ---- with detectors ----

RATE = 25


def scenes(*lengths):
    """A clip with a keyframe every ten frames, and with such scenes, in frames."""
    inputs, kinds = [], itertools.cycle(('testsrc2=size=160x120:rate=25', 'mandelbrot=size=160x120:rate=25'))
    for length, kind in zip(lengths, kinds):
        inputs += ['-f', 'lavfi', '-t', f'{length / RATE}', '-i', kind]
    joined = ''.join(f'[{i}:v]format=yuv420p,setsar=1[v{i}];' for i in range(len(lengths)))
    joined += ''.join(f'[v{i}]' for i in range(len(lengths))) + f'concat=n={len(lengths)}'
    return clip('.mkv', *inputs, '-filter_complex', joined, *GOP, '-sc_threshold', '0')


def frames(path):
    """Time and hash of each frame."""
    text = ffmpeg('-i', path, '-map', '0:v', '-f', 'framemd5', '-').decode()
    lines = [line.split(',') for line in text.splitlines() if not line.startswith('#')]
    return [(int(words[2]), words[5].strip()) for words in lines]


class DetectTest(JobTest):
    summary = staticmethod(frames)
    ENCODE = ['-c:v', 'ffv1']
    CHAIN = 'solid=gray:region=faces'
    LENGTH = 50  # frames: two segments, for processes cost more than frames

    def setUp(self):
        super().setUp()
        self.output = self.path('out.mkv')
        self.parts = self.output + '.parts'
        self.input = scenes(self.LENGTH)
        self.rows = {}
        self.trusted = []
        self.say(range(20, 70), 0.2, 0.2)

    def halod(self, *words, **more):
        # Who has detect and submit start a detector says which.
        if words[0] == 'job' and words[1] in ('detect', 'submit'):
            words = (*words[:2], *self.trusted, *words[2:])
        return super().halod(*words, **more)

    def say(self, numbers, x, y, width=0.2, height=0.3, score=0.9, *, rows='rows', speed=0.025, grows=0):
        """The detector will find this in these frames, moving to the right; the speed is for a second."""
        lines = self.rows.setdefault(rows, [])
        for n in numbers:
            size = 1 + grows * n / RATE
            lines.append(f'{n * 1000000 // RATE} {x + n * speed / RATE} {y} {width * size} {height * size} '
                         f'{score}\n')
        with open(self.path(rows), 'w', encoding='ascii') as file:
            file.writelines(lines)

    def detector(self, *options, rows='rows'):
        words = ' '.join((STANDIN, '--look', 'rows', '--rows', self.path(rows), '--within', '1000', *options))
        return 'command=' + words.replace(':', '\\:')

    def split(self, *options, **more):
        words = ['-faces', self.detector(), *options]
        self.trusted = [word for i, name in enumerate(words) if name in ('-faces', '-people')
                        for word in ('-' + name, words[i + 1])]
        return super().split(*words, **{'chain': self.CHAIN, **more})

    def whole(self, *options, chain=None):
        """The frames of one run."""
        return self.made('-vf', chain or self.CHAIN, '-faces', self.detector(), *self.ENCODE, *options)

    def detect(self, *arguments, code=0, **more):
        return self.halod('job', 'detect', self.parts, *arguments, code=code, **more)

    def merge(self, code=0, **more):
        return self.halod('job', 'merge', self.parts, code=code, **more)

    def detect_all(self):
        for number in range(self.count()):
            self.detect(number)

    def in_parts(self, ending):
        return sorted(name for name in os.listdir(self.parts) if name.endswith(ending))

    def detections(self, number):
        return os.path.join(self.parts, f'{number:06}.detections')

    @property
    def merged(self):
        return os.path.join(self.parts, 'all.detections')

    def complete(self, order=None):
        numbers = list(order or range(self.count()))
        for number in numbers:
            self.detect(number)
        self.merge()
        for number in reversed(numbers):
            self.segment(number)
        self.join()

    def assert_done(self, want=None):
        self.assertFalse(os.path.exists(self.parts))
        self.assertEqual(frames(self.output), want or self.whole())
        self.assertEqual(self.audit()['output']['sha256'], sha256(self.output))
        self.assertEqual([name for name in os.listdir(self.folder) if 'detections' in name], [])
