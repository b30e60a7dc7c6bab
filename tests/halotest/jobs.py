# SPDX-License-Identifier: BSD-2-Clause
# Jobs: manifests, and what their files say.
import hashlib
import json
import os

from halotest import HaloTest, audio_source, clip, video_source

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


def source(seconds=4, size='160x120', suffix='.mp4'):
    """A clip with sound and a keyframe every 0.4 s."""
    return clip(suffix, *video_source(size, seconds=seconds), *audio_source(seconds), *GOP, '-c:a', 'aac')


class JobTest(HaloTest):
    ENCODE = ['-preset', 'ultrafast']

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

    def join(self, code=0, **more):
        return self.halod('job', 'join', self.parts, code=code, **more)

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
        path = self.path('whole' + os.path.splitext(self.output)[1])
        self.halod('run', '-y', '-segments', '-segment_time', seconds, '-i', self.input, '-vf', chain,
                   *self.ENCODE, *options, path, **more)
        return sha256(path)

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
