#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# Damaged files of every container and codec: one verdict, whatever threads decode them.
"""$HALOTEST_DAMAGED is how many files (default 18; tools/check damage has 500). Their damage comes
from their number alone."""
import collections
import concurrent.futures
import os
import random
import re
import unittest

import halotest
from halotest import HaloTest, X264_B, audio_source, clip, probe, video_source

FILES = int(os.environ.get('HALOTEST_DAMAGED', 18))
OF = 500  # the fewer are picked evenly from so many
THREADS = (1, 2, 16)
SECONDS = 1.24
VIDEO, BOTH = video_source(seconds=SECONDS), video_source(seconds=SECONDS) + audio_source(SECONDS)
AAC, G12 = ['-c:a', 'aac'], ['-g', '12']
H264, FRAGMENTS = [*X264_B, *AAC], ['-movflags', 'frag_keyframe+empty_moov']
HEVC = ['-c:v', 'libx265', '-preset', 'ultrafast', '-pix_fmt', 'yuv420p', '-x265-params',
        'log-level=none:pools=1:keyint=12:bframes=3']
FFV1 = ['-c:v', 'ffv1', '-level', '3', '-slicecrc', '1']
AV1 = ['-c:v', 'libsvtav1', '-preset', '12', *G12]
WHOLE, OPEN = True, False  # whether the container declares how long it is
ROWS = (
    ('.mp4', WHOLE, [*BOTH, *H264]),
    ('.mp4', WHOLE, [*BOTH, *H264, *FRAGMENTS]),
    ('.mp4', WHOLE, [*VIDEO, *X264_B, '-movflags', 'frag_every_frame+empty_moov']),
    ('.mkv', WHOLE, [*BOTH, *H264]),
    ('.mkv', WHOLE, [*VIDEO, *X264_B, '-profile:v', 'baseline', '-bf', '0']),
    ('.ts', OPEN, [*BOTH, *H264]),
    ('.flv', WHOLE, [*BOTH, *H264]),
    ('.nut', OPEN, [*VIDEO, *X264_B]),
    ('.h264', OPEN, [*VIDEO, *X264_B]),
    ('.mp4', WHOLE, [*VIDEO, *HEVC]),
    ('.mkv', WHOLE, [*VIDEO, *HEVC]),
    ('.ts', OPEN, [*VIDEO, *HEVC]),
    ('.webm', WHOLE, [*VIDEO, '-c:v', 'libvpx', *G12]),
    ('.webm', WHOLE, [*VIDEO, '-c:v', 'libvpx-vp9', *G12, '-cpu-used', '8', '-deadline',
                      'realtime']),
    ('.mkv', WHOLE, [*VIDEO, *AV1]),
    ('.mp4', WHOLE, [*VIDEO, *AV1]),
    ('.mpg', OPEN, [*BOTH, '-c:v', 'mpeg2video', '-bf', '2', *G12, '-c:a', 'mp2']),
    ('.ts', OPEN, [*BOTH, '-c:v', 'mpeg2video', '-bf', '2', *G12, '-c:a', 'mp2']),
    ('.mkv', WHOLE, [*VIDEO, '-c:v', 'mpeg1video', *G12]),
    ('.mxf', WHOLE, [*VIDEO, '-c:v', 'mpeg2video', *G12]),
    ('.avi', WHOLE, [*BOTH, '-c:v', 'mpeg4', '-bf', '2', *G12, '-c:a', 'libmp3lame']),
    ('.mp4', WHOLE, [*VIDEO, '-c:v', 'mpeg4', *G12]),
    ('.avi', WHOLE, [*VIDEO, '-c:v', 'mjpeg', '-pix_fmt', 'yuvj420p']),
    ('.mov', WHOLE, [*VIDEO, '-c:v', 'mjpeg', '-pix_fmt', 'yuvj420p']),
    ('.mov', WHOLE, [*VIDEO, '-c:v', 'prores']),
    ('.mov', WHOLE, [*VIDEO, '-c:v', 'png']),
    ('.mkv', WHOLE, [*VIDEO, *FFV1]),
    ('.nut', OPEN, [*VIDEO, *FFV1]),
    ('.avi', WHOLE, [*VIDEO, '-c:v', 'huffyuv', '-pix_fmt', 'yuv422p']),
    ('.mkv', WHOLE, [*VIDEO, '-c:v', 'utvideo', '-pix_fmt', 'yuv420p']),
    ('.ogv', OPEN, [*BOTH, '-c:v', 'libtheora', '-c:a', 'libvorbis']),
    ('.asf', WHOLE, [*BOTH, '-c:v', 'wmv2', '-c:a', 'wmav2']),
    ('.avi', WHOLE, [*VIDEO, '-c:v', 'msmpeg4']),
    ('.flv', WHOLE, [*VIDEO, '-c:v', 'flv']),
    ('.gif', WHOLE, [*VIDEO, '-c:v', 'gif']),
)


def flip(data, draw, count=1):
    for _ in range(count):
        data[draw.randrange(len(data) // 20, len(data))] ^= draw.randrange(1, 256)


def cut_out(data, draw):
    size = min(2000, len(data) // 10)
    at = draw.randrange(len(data) // 20, len(data) - size)
    del data[at:at + size]


def blank(data, draw):
    size = min(512, len(data) // 10)
    at = draw.randrange(len(data) // 20, len(data) - size)
    data[at:at + size] = bytes(size)


def insert(data, draw):
    at = draw.randrange(len(data) // 20, len(data))
    data[at:at] = draw.randbytes(100)


def truncate(data, draw):
    del data[draw.randrange(len(data) // 10, len(data) * 19 // 20):]


DAMAGE = (flip, truncate, cut_out, lambda data, draw: flip(data, draw, 10), blank, insert, flip)


# Of H.264: what tells the demuxer that a frame is a key frame, and is another type of unit then.
KEY, OTHER = re.compile(rb'\0\0..(?=[\x65\x25])', re.S), 0x61
WITHOUT_KEY = (('.mp4', [*BOTH, *H264]), ('.mp4', [*BOTH, *H264, *FRAGMENTS]),
               ('.mov', [*VIDEO, *X264_B]), ('.mkv', [*BOTH, *H264]), ('.flv', [*BOTH, *H264]))


class Matrix(HaloTest):
    def go(self, source, threads, output):
        """The exit code, and the frames and the end of what was written."""
        preload = os.path.join(os.environ['HALO_STANDIN_LIBRARIES'], 'libstandin-cores.so')
        more = {'HALOTEST_CORES': str(threads), 'LD_PRELOAD': preload}
        if halotest.is_sanitized():
            more['ASAN_OPTIONS'] = os.environ.get('ASAN_OPTIONS', '') + ':verify_asan_link_order=0'
        run = halotest.run_halod('run', '-y', '-i', source, '-vf', 'null', '-c:v', 'ffv1', '-an',
                                 '-v', 'error', output, environment=more)
        self.assertIn(run.code, (0, 1), self.logged(run))
        return run.code

    @staticmethod
    def end(path):
        times = halotest.packets(path, 'v:0')
        return max(float(p['pts_time']) + float(p.get('duration_time', 0)) for p in times)

    def one(self, number):
        """How it was judged; what was wrong with that, or None."""
        suffix, declares, command = ROWS[number % len(ROWS)]
        damage = DAMAGE[number // len(ROWS) % len(DAMAGE)]
        with open(clip(suffix, *command), 'rb') as file:
            data = bytearray(file.read())
        damage(data, random.Random(number))
        source, output = self.path(f'{number}{suffix}'), self.path(f'{number}.out.mkv')
        with open(source, 'wb') as file:
            file.write(data)
        codes, wrong = [], None
        for threads in THREADS:
            codes.append(self.go(source, threads, output))
        name = f'number {number}: {suffix} {damage.__name__} {" ".join(command[-6:])}: '
        if len(set(codes)) > 1:
            wrong = f'{name}exit {codes} by {THREADS} threads'
        elif not codes[0] and declares:
            declared = float(probe(source)['format'].get('duration', 0))
            if self.end(output) + 0.13 < declared:
                wrong = f'{name}{self.end(output)} s of {declared} are accepted'
        os.remove(source)
        if os.path.exists(output):
            os.remove(output)
        return 'refused' if codes[0] else 'accepted', wrong

    def test_verdicts(self):
        count = collections.Counter()
        with concurrent.futures.ThreadPoolExecutor(min(os.cpu_count(), 4)) as pool:
            for verdict, wrong in pool.map(self.one, range(0, OF, max(1, OF // FILES))):
                count[verdict] += 1
                with self.subTest(wrong):
                    self.assertIsNone(wrong)
        print(dict(count), 'of', sum(count.values()), 'damaged files')

    def test_without_the_first_key_frame(self):
        """All up to the next one is lost, in files that say how long they are."""
        for suffix, command in WITHOUT_KEY:
            with self.subTest(f'{suffix} {command[-4:]}'):
                whole = clip(suffix, *command)
                with open(whole, 'rb') as file:
                    data = bytearray(file.read())
                begin = int(halotest.packets(whole, 'v:0')[0]['pos'])
                data[KEY.search(data, begin).end()] = OTHER
                source, output = self.path('damaged' + suffix), self.path('out.mkv')
                with open(source, 'wb') as file:
                    file.write(data)
                self.assertEqual(self.go(source, 2, output), 1)
                run = self.halod('run', '-keep-going', '-y', '-i', source, '-vf', 'null', '-an',
                                 output)
                self.assertRegex(run.err, r'damaged at 00:00:00\.\d+: stream 0 \(h264\): '
                                          r'no keyframe in its first \d+ packets; continuing')
                self.assertIn('1 damaged place in the input skipped', run.err)
                self.assertIn(halotest.frame_count(output),
                              range(1, halotest.frame_count(whole)))

    @unittest.skipUnless(FILES >= OF, 'the other tests have whole files of most kinds')
    def test_whole_files(self):
        for suffix, _, command in ROWS:
            for threads in THREADS:
                with self.subTest(f'{suffix} {command[-4:]} {threads}'):
                    self.assertEqual(self.go(clip(suffix, *command), threads,
                                             self.path('out.mkv')), 0)


if __name__ == '__main__':
    halotest.main()
