# SPDX-License-Identifier: BSD-2-Clause
# halod plan: what a run would do, from a trial that writes nothing.
import os
import re
import unittest

import halotest
from halotest import HaloTest, X264, audio_source, clip, video_source


class Plan(HaloTest):
    def plan(self, *arguments, output='out.mkv', code=0):
        run = self.halod('plan', *arguments, output if ':' in output else self.path(output), code=code)
        self.assertEqual(os.listdir(os.path.dirname(self.path('x'))), [])
        return run.out.decode()

    def source(self, seconds=2, rate=25, *more):
        return clip('.mkv', *video_source(seconds=seconds, rate=rate), *audio_source(seconds), *X264, '-g',
                    '10', *more)

    @halotest.alone
    def test_streams(self):
        text = self.plan('-i', self.source(seconds=0.2), '-vf', 'gblur=sigma=2', '-preset',
                         'ultrafast', '-c:a', 'aac', '-backend', 'cpu')
        self.assertIn('a trial of all of it', text)
        self.assertRegex(text, r'stream 0: h264, 160x120 yuv420p, 25 frames a second: filtered')
        self.assertRegex(text, r'decode: 1 decoder on the CPU.*, 0.03 MB a frame')
        self.assertIn('filter: gblur=sigma=2, on cpu', text)
        self.assertIn('encode: libx264, on the CPU', text)
        self.assertRegex(text, r'stream 1: \w+: encoded again')
        self.assertRegex(text, r'stats: cpu, 1 lane: 5 frames in ')
        self.assertRegex(text, r'bound: \w+')
        self.assertRegex(text, r'expected: 5 frames in about ')

    def test_conversions(self):
        source = clip('.mkv', *video_source(), '-c:v', 'ffv1', '-pix_fmt', 'yuv444p')
        text = self.plan('-i', source, '-vf', 'null', '-c:v', 'mpeg4')
        self.assertRegex(text, r'encode: mpeg4.*converted from yuv444p to yuv420p before it, 0.03 MB')
        text = self.plan('-i', clip('.mkv', *video_source(), '-c:v', 'rawvideo', '-pix_fmt', 'yuyv422'),
                         '-vf', 'null')
        self.assertRegex(text, r'filter: null.*converted from yuyv422 to yuv422p before it')

    def test_why_one_decoder(self):
        source = clip('.mkv', *video_source(), '-c:v', 'mpeg4')
        text = self.plan('-i', source, '-vf', 'null', '-decoders', '3', output='null:')
        self.assertIn('1 decoder on the CPU (streams with this codec cannot be divided)', text)
        self.assertIn('encode: nothing', text)
        text = self.plan('-i', self.source(), '-vf', 'null', '-decoders', '3')
        self.assertIn('3 decoders', text)

    @halotest.alone
    def test_beginning_of_a_long_file(self):
        source = self.source(seconds=60, rate=50)
        text = self.plan('-i', source, '-vf', 'gblur=sigma=9', '-preset', 'veryslow')
        self.assertIn('a trial of its first seconds', text)
        tried = int(re.search(r'(\d+) frames in', text)[1])
        self.assertLess(tried, 3000)
        self.assertIn('expected: 3000 frames in', text)

    def test_segments(self):
        text = self.plan('-segments', '-segment_time', '1', '-i', self.source(seconds=4), '-vf', 'null')
        self.assertRegex(text, r'4 segments of 0.80 to 1.20 s, besides the last')
        self.plan('-segments', '-i', '/nowhere.mkv', '-vf', 'null', code=1)

    def test_same_errors(self):
        self.refused('plan', '-i', self.source(), '-vf', 'gblurr', self.path('out.mkv'), says='gblurr')
        self.refused('plan', '-i', self.source(), self.path('out.mkv'), says='-vf')
        self.refused('plan', '-i', '/dev/video99', '-vf', 'null', self.path('out.mkv'), says='camera')
        self.halod('plan', '-i', '/nowhere.mkv', '-vf', 'null', self.path('out.mkv'), code=1)

    def test_output_stays(self):
        path = self.path('out.mkv')
        with open(path, 'wb') as file:
            file.write(b'before')
        self.halod('plan', '-i', self.source(), '-vf', 'null', path)
        with open(path, 'rb') as file:
            self.assertEqual(file.read(), b'before')

    def test_stats_describe_too(self):
        run = self.halod('run', '-stats', '-i', self.source(), '-vf', 'null', self.path('out.mkv'))
        self.assertIn('filter: null, on ', run.err)
        self.assertIn('stream 1: ', run.err)

    def test_help(self):
        run = self.halod('plan', '--help')
        self.assertTrue(run.out.startswith(b'usage: halod plan '), run.out[:60])


if __name__ == '__main__':
    halotest.main()
