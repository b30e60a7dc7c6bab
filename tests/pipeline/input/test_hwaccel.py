# SPDX-License-Identifier: BSD-2-Clause
# Decoding on a GPU, seen from outside: with stand-ins for the driver's libraries (tests/standin).
import atexit
import functools
import os
import shutil
import tempfile
import unittest

import halotest
from halotest import (HaloTest, X264, X264_B, clip, need, packet_times, plain_clip, probe_video,
                      silent_clip, video_source)

LIBRARIES = os.environ.get('HALO_STANDIN_LIBRARIES', '')
SOFTWARE = 'by the CPU, not by NVDEC'
INTRA = ['-c:v', 'libx264', '-preset', 'ultrafast', '-threads', '1', '-g', '1', '-pix_fmt', 'yuv420p']


@functools.cache
def picture(number, width, height, deep=False, left=0, top=0):
    """What the stand-in decodes picture number to, as software would lay it out."""
    out = bytearray()
    half = ((width + 1) // 2, (height + 1) // 2)
    planes = ((3 * number + left + 2 * top, 1, 2, (width, height)),
              (number + (left + top) // 2, 1, 1, half),
              (5 * number + left + top // 2, 2, 1, half))
    for base, right, down, (columns, rows) in planes:
        for y in range(rows):
            for x in range(columns):
                value = base + right * x + down * y & 255
                out += (value * 4 + 1).to_bytes(2, 'little') if deep else bytes([value])
    return bytes(out)


@functools.cache
def folder_of(libraries):
    folder = tempfile.mkdtemp(prefix='halotest-libraries-')
    atexit.register(shutil.rmtree, folder)
    for name in libraries:
        shutil.copy(os.path.join(LIBRARIES, name), folder)  # a confined run does not follow links
    return folder


@unittest.skipUnless(os.path.exists(os.path.join(LIBRARIES, 'libcuda.so.1')), 'no stand-ins')
class Standin(HaloTest):
    def environment(self, libraries=('libcuda.so.1', 'libnvcuvid.so.1'), trouble=''):
        return {'LD_LIBRARY_PATH': folder_of(libraries), 'HALO_STANDIN': trouble,
                'HALO_STANDIN_LOG': self.path('loaded')}

    def loaded(self):
        if not os.path.exists(self.path('loaded')):
            return []
        with open(self.path('loaded')) as file:
            return file.read().split()

    def decode(self, source, *options, trouble='', code=0, chain='null', name='out.yuv',
               hwaccel='cuda', libraries=('libcuda.so.1', 'libnvcuvid.so.1')):
        """The run, and the bytes of its output."""
        output = self.path(name)
        run = self.halod('run', '-y', '-backend', 'cpu', '-hwaccel', hwaccel, '-i', source, '-vf',
                         chain, *options, output, code=code,
                         environment=self.environment(libraries, trouble))
        if code:
            self.assertFalse(os.path.exists(output))
            return run, b''
        with open(output, 'rb') as file:
            return run, file.read()

    software = {}  # what it makes of clips, by them

    def in_software(self, source, *options, **more):
        key = repr((halotest.state_of(source), options, more))
        if key not in self.software:
            self.software[key] = self.decode(source, *options, hwaccel='none', **more)[1]
        return self.software[key]

    def assert_frames(self, got, count, width, height, **more):
        size = len(picture(0, width, height, **more))
        self.assertEqual(len(got), count * size)
        for n in range(count):
            self.assertEqual(got[n * size:(n + 1) * size], picture(n, width, height, **more),
                             f'picture {n}')


class Decoding(Standin):
    def test_planes_of_their_own(self):
        """NV12 comes out as the yuv420p that software would have decoded."""
        source = silent_clip('.mp4', size='96x64', codec=INTRA)
        run, got = self.decode(source)
        self.assert_frames(got, 25, 96, 64)
        self.assertNotIn('NVDEC', run.err)
        self.assertIn('libnvcuvid', self.loaded())

    def test_ten_bits(self):
        source = clip('.mkv', *video_source('96x64'), '-c:v', 'libx265', '-x265-params',
                      'keyint=1:bframes=0:log-level=none:pools=1', '-pix_fmt', 'yuv420p10le')
        need(probe_video(source)['pix_fmt'] == 'yuv420p10le', '10 bits', source)
        self.assert_frames(self.decode(source)[1], 25, 96, 64, deep=True)

    def test_odd_sizes(self):
        source = silent_clip('.mkv', codec=['-vf', 'scale=75:45', '-c:v', 'libvpx-vp9', '-g', '1',
                                            '-deadline', 'realtime', '-cpu-used', '8',
                                            '-lag-in-frames', '0', '-pix_fmt', 'yuv420p'])
        need(probe_video(source)['width'] == 75, 'an odd width', source)
        self.assert_frames(self.decode(source)[1], 25, 75, 45)

    def test_cropping_on_all_sides(self):
        plain = silent_clip('.h264', size='96x64', codec=INTRA)
        source = clip('.h264', '-i', plain, '-c:v', 'copy', '-bsf:v',
                      'h264_metadata=crop_left=32:crop_right=6:crop_top=4:crop_bottom=2')
        need((probe_video(source)['width'], probe_video(source)['height']) == (58, 58), 'a crop',
             source)
        self.assert_frames(self.decode(source)[1], 25, 58, 58, left=32, top=4)
        wanted, whole = b'', self.in_software(plain)
        for n in range(25):
            luma = n * 96 * 64 * 3 // 2
            for at, width, left, top, size in ((luma, 96, 32, 4, 58),
                                               (luma + 96 * 64, 48, 16, 2, 29),
                                               (luma + 96 * 64 * 5 // 4, 48, 16, 2, 29)):
                for y in range(top, top + size):
                    wanted += whole[at + y * width + left:at + y * width + left + size]
        self.assertEqual(self.in_software(source), wanted, 'cropped by software')

    def test_codecs_whose_decoders_may_differ(self):
        for codec in (['mjpeg', '-pix_fmt', 'yuvj420p'], ['mpeg2video', '-g', '1'],
                      ['mpeg4', '-g', '1']):
            with self.subTest(codec):
                source = silent_clip('.mkv', size='96x64', codec=['-c:v', *codec])
                self.assert_frames(self.decode(source)[1], 25, 96, 64)

    def test_filtered(self):
        """The same bits out of the filter as when it gets these pictures from software."""
        source = silent_clip('.mp4', size='96x64', codec=INTRA)
        raw = halotest.raw_clip(self.decode(source)[1], 'yuv420p', 96, 64)
        chain = 'gblur=sigma=4'
        self.assertEqual(self.decode(source, chain=chain)[1], self.in_software(raw, chain=chain))

    def test_times_and_sound(self):
        source = plain_clip('.mp4', 1)
        self.decode(source, '-c:v', 'ffv1', name='out.mkv')
        self.assert_whole(source, self.path('out.mkv'))
        for options in (('-ss', '0.72'), ('-t', '0.4')):
            times = []
            for hwaccel in ('cuda', 'none'):
                self.decode(source, *options, '-c:v', 'ffv1', name='out.mkv', hwaccel=hwaccel)
                times.append(packet_times(self.path('out.mkv')))
            self.assertEqual(*times)

    def test_new_size_on_the_way(self):
        parts = [clip('.h264', *video_source(size), *INTRA) for size in ('160x112', '96x80')]
        source = self.path('change.h264')
        with open(source, 'wb') as file:
            for part in parts:
                with open(part, 'rb') as piece:
                    file.write(piece.read())
        run, got = self.decode(source)
        self.assertEqual(len(got), 50 * 160 * 112 * 3 // 2)
        self.says_once(run, 'change from 160x112 yuv420p to 96x80 yuv420p')
        first = halotest.raw_clip(self.decode(parts[0])[1], 'yuv420p', 160, 112)
        self.assertEqual(got[:len(got) // 2], self.in_software(first))


class FallingBack(Standin):
    """One line with the reason, and what software makes of the input."""

    def falls_back(self, source, why, *options, **more):
        run, got = self.decode(source, *options, **more)
        line = [line for line in run.err.splitlines() if SOFTWARE in line]
        self.assertEqual(len(line), 1, self.logged(run))
        for word in why:
            self.assertIn(word, line[0])
        self.assertEqual(got, self.in_software(source))
        self.assertTrue(got)

    VP9 = ['-c:v', 'libvpx-vp9', '-deadline', 'realtime', '-cpu-used', '8']
    X264_OF = ['-c:v', 'libx264', '-pix_fmt']
    JPEG = ['-c:v', 'mjpeg', '-pix_fmt']

    def test_reasons(self):
        for suffix, codec, why, more in (
                ('.mkv', ['-c:v', 'ffv1'], ('ffv1', 'not support NVDEC for this codec'), {}),
                ('.mkv', [*self.X264_OF, 'yuv422p'], ('yuv422p', 'High 4:2:2', 'this format'), {}),
                ('.mkv', [*self.X264_OF, 'yuv422p10le'], ('yuv422p10le', 'High 4:2:2', 'this format'), {}),
                # NVDEC's 4:2:0 must not stand in for 4:2:2 where FFmpeg would let it.
                ('.mkv', [*self.JPEG, 'yuvj422p'], ('yuvj422p', 'this format'), {}),
                # FFmpeg would have NVDEC decode such H.264 as 4:2:0, and get nonsense.
                ('.mp4', [*self.X264_OF, 'gray'], ('h264 without colour',), {}),
                ('.h264', [*self.X264_OF, 'gray'], ('h264 without colour',), {}),
                ('.ts', [*self.X264_OF, 'gray'], ('h264 without colour',), {}),
                ('.mkv', ['-vf', 'scale=75:45', *self.JPEG, 'yuvj420p'], ('75x45', 'this format'), {}),
                ('.mkv', X264_B, ('lacking required capabilities',), {'trouble': 'codec'}),
                ('.webm', self.VP9, ('lacking required capabilities',), {'trouble': 'codec'}),
                # FFmpeg's own AV1 decoder has hardware alone: another one takes over.
                ('.mkv', ['-c:v', 'libsvtav1', '-preset', '12'], ('av1', 'lacking required capabilities'),
                 {'trouble': 'codec'}),
                ('.mkv', X264, ('160x1', 'not within range'), {'trouble': 'size'}),
                ('.mkv', X264, ('cuvidCreateDecoder',), {'trouble': 'surfaces'}),
                ('.mkv', X264, ('no CUDA-capable device',), {'trouble': 'no-device'}),
                ('.mkv', X264, ('libcuda.so.1',), {'libraries': ()}),
                ('.mkv', X264, ('nvcuvid',), {'libraries': ('libcuda.so.1',)})):
            with self.subTest(f'{suffix} {codec} {more}'):
                self.falls_back(silent_clip(suffix, 0.4, codec=codec), why, **more)

    def test_several_decoders(self):
        for codec, why, more in (
                (['-c:v', 'ffv1'], 'ffv1', {}), ([*self.X264_OF, 'gray'], 'h264 without colour', {}),
                (X264, 'lacking required capabilities', {'trouble': 'codec'}),
                (X264, 'libcuda.so.1', {'libraries': ()})):
            with self.subTest(f'{codec} {more}'):
                self.falls_back(silent_clip('.mkv', codec=codec), [why], '-decoders', '3', **more)

    def test_other_gpu(self):
        source = silent_clip('.mkv', codec=X264)
        run, got = self.decode(source, '-gpu', '7')
        self.says_once(run, 'GPU 7: ')
        self.assertEqual(got, self.in_software(source))

    def test_one_line_for_each_stream(self):
        source = clip('.mkv', *video_source(seconds=0.4), *video_source('96x80', seconds=0.4), '-map', '0', '-map',
                      '1', *X264)
        run = self.decode(source, '-c:v', 'ffv1', name='out.mkv', trouble='codec')[0]
        self.assertEqual(run.err.count(SOFTWARE), 2, self.logged(run))

    def test_form_that_changes_on_the_way(self):
        """From what NVDEC decodes to what it does not: software goes on in the same decoder."""
        parts = [clip('.h264', *video_source(), '-c:v', 'libx264', '-bf', '0', '-pix_fmt', name)
                 for name in ('yuv420p', 'yuv422p')]
        source = self.path('change.h264')
        with open(source, 'wb') as file:
            for part in parts:
                with open(part, 'rb') as piece:
                    file.write(piece.read())
        run, got = self.decode(source)
        self.says_once(run, SOFTWARE)
        size = 160 * 120 * 3 // 2
        self.assertEqual(len(got), 50 * size)
        self.assertEqual(got[25 * size:], self.in_software(source)[25 * size:])


class Choosing(Standin):
    def test_cpu_means_software(self):
        """Unless it is asked for, nothing of a GPU's is touched where none filters."""
        source = silent_clip('.mkv', codec=X264)
        for hwaccel in ('auto', 'none'):
            run, got = self.decode(source, hwaccel=hwaccel)
            self.assertNotIn('libnvcuvid', self.loaded())
            self.assertNotIn(SOFTWARE, run.err)
        self.assertEqual(self.loaded(), [])
        self.refused('run', '-hwaccel', 'vaapi', '-i', 'a', '-vf', 'null', 'b', says='hwaccel')

    def test_standin_is_no_gpu_to_filter_on(self):
        """A driver that the CUDA runtime cannot use is none: no crash, and the CPU filters."""
        source = silent_clip('.mkv', codec=X264)
        output = self.path('out.yuv')
        self.halod('run', '-i', source, '-vf', 'gblur', output, environment=self.environment())
        self.assertEqual(os.path.getsize(output), 25 * 160 * 120 * 3 // 2)
        run = halotest.run_halod('run', '-y', '-backend', 'cuda', '-i', source, '-vf', 'gblur',
                                 output, environment=self.environment())
        self.assertEqual(run.code, 1, self.logged(run))
        self.assert_one_line(run)


class Failing(Standin):
    def test_lost_device(self):
        """It is said as such, not as damage of the input, and -keep-going does not go on."""
        source = silent_clip('.mp4', size='96x64', codec=INTRA)
        for options in ((), ('-keep-going',)):
            run = self.decode(source, '-v', 'error', *options, trouble='lost', code=75)[0]
            self.assertIn('the stand-in is lost', self.assert_one_line(run))

    def test_picture_that_is_refused(self):
        source = silent_clip('.mp4', size='96x64', codec=INTRA)
        run = self.decode(source, '-v', 'error', trouble='refuses', code=1)[0]
        self.assertIn('damaged at 00:00:00.360', self.assert_one_line(run))
        run, got = self.decode(source, '-keep-going', trouble='refuses')
        self.says_once(run, 'damaged at 00:00:00.360')
        self.assertEqual(len(got) % len(picture(0, 96, 64)), 0)


if __name__ == '__main__':
    halotest.main()
