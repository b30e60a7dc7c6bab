# SPDX-License-Identifier: BSD-2-Clause
# NVENC without a GPU: stand-ins for the driver's libraries (tests/standin) that refuse sessions for
# all the reasons that drivers have, or encode gray pictures and keep what they were given.
import os
import re
import shutil
import unittest

import halotest
from halotest import (HaloTest, clip, frame_count, frame_times, packet_times, packets, plain_clip,
                      probe_video, raw_clip, raw_frames, silent_clip, streams)

FOLDER = os.environ.get('HALO_STANDIN_LIBRARIES', '')
SIZE = '320x240'
UNSUPPORTED, OUT_OF_MEMORY, OLD_INTERFACE, GENERIC, WRONG_KEY = 2, 10, 15, 20, 21


def has_encoder(name):
    return f' {name} ' in halotest.call([halotest.FFMPEG, '-hide_banner', '-encoders']).decode()


@unittest.skipUnless(FOLDER and has_encoder('h264_nvenc'), 'no stand-in, or FFmpeg has no NVENC')
class Nvenc(HaloTest):
    def run_nvenc(self, source, output, *options, codec='h264_nvenc', chain='gblur=sigma=2',
                  folder=FOLDER, code=0, trouble='', **standin):
        environment = {'LD_LIBRARY_PATH': folder, 'HALO_STANDIN': trouble}
        environment.update((f'HALO_STANDIN_NVENC_{key}', str(value))
                           for key, value in standin.items())
        return self.halod('run', '-i', source, '-vf', chain, '-c:v', codec, *options,
                          self.path(output), code=code, environment=environment)

    def encoder_of(self, output):
        """The name that x264 and x265 leave in their streams; the stand-in leaves none."""
        with open(self.path(output), 'rb') as file:
            found = re.search(rb'x264|x265', file.read())
        return found.group().decode() if found else None

    def assert_software(self, run, source, output, *says, encoder='x264'):
        self.says_once(run, 'is not available')
        line = next(line for line in run.err.splitlines() if 'is not available' in line)
        for word in says:
            self.assertIn(word, line)
        self.assertNotIn('out of memory', run.err.lower())
        self.assertNotIn('cannot allocate', run.err.lower())
        self.assertEqual(self.encoder_of(output), encoder)
        self.assertEqual(frame_count(self.path(output)), len(frame_times(source)))

    # ---- NVENC encodes ----

    def test_whole_stream(self):
        source = plain_clip('.mp4', 2, SIZE)
        for name in ('out.mp4', 'out.mkv'):
            run = self.run_nvenc(source, name)
            self.assertNotIn('is not available', run.err)
            self.assert_whole(source, self.path(name))
            self.assertIsNone(self.encoder_of(name))
            self.assertEqual(probe_video(self.path(name))['width'], 320)

    def test_pictures_held_back_come_in_order(self):
        source = plain_clip('.mp4', 2, SIZE)
        for between in (1, 2, 3):
            for name in ('out.mp4', 'out.mkv'):
                with self.subTest(between=between, name=name):
                    self.run_nvenc(source, name, '-y', B=between)
                    output = self.path(name)
                    self.assertEqual(len(packet_times(output)), len(frame_times(source)))
                    self.assert_video_times_of_packets(source, output)

    def assert_video_times_of_packets(self, source, output):
        """Shown at the input's times, decoded in time: the stand-in's key pictures say no order."""
        times = frame_times(source)
        shift = packet_times(output)[0] - times[0]
        for wanted, got in zip(times, packet_times(output)):
            self.assertLessEqual(abs(got - wanted - shift), 0.0011)
        last = None
        for packet in packets(output, 'v:0'):
            if not output.endswith('.mkv'):  # has none: readers invent them
                self.assertLessEqual(int(packet['dts']), int(packet['pts']))
                self.assertTrue(last is None or int(packet['dts']) > last)
                last = int(packet['dts'])

    def test_uneven_times_are_kept(self):
        source = clip('.mkv', *halotest.video_source(SIZE), '-vf',
                      "select='not(eq(n,3)+eq(n,4)+eq(n,11))'", '-vsync', 'vfr', *halotest.X264)
        for name in ('out.mkv', 'out.mp4'):
            self.run_nvenc(source, name, B=2)
            self.assert_video_times_of_packets(source, self.path(name))

    def test_gets_the_filtered_pictures(self):
        """Byte for byte, and nothing else, in each format that it takes."""
        for pixel_format, of_frame in (('yuv420p', 3), ('nv12', 3), ('yuv444p', 6)):
            with self.subTest(pixel_format):
                noise = os.urandom(320 * 240 * of_frame // 2 * 3)
                source = raw_clip(noise, pixel_format, 320, 240)
                self.run_nvenc(source, 'out.mkv', '-y', DUMP=self.path('dump'))
                self.assert_dump(self.filtered(source, 'want.nut', '-c:v', 'rawvideo', '-y',
                                               chain='gblur=sigma=2'), pixel_format)

    def test_ten_bits(self):
        noise = os.urandom(320 * 240 * 3)
        source = raw_clip(bytes(byte & 3 if i % 2 else byte for i, byte in enumerate(noise)),
                          'yuv420p10le', 320, 240)
        run = self.run_nvenc(source, 'out.mkv', DUMP=self.path('dump'))
        self.says_once(run, 'yuv420p10le frames are converted to p010le')
        self.assert_dump(self.lossless(source, 'want.mkv', 'gblur=sigma=2'), 'p010le')

    def assert_dump(self, wanted, pixel_format):
        with open(self.path('dump'), 'rb') as file:
            self.assertEqual(file.read(), raw_frames(wanted, pixel_format=pixel_format))

    def test_many_short_streams_end(self):
        """An encoder that holds back more pictures than there are, and than queues take."""
        for frames in (1, 2, 3, 40):
            source = clip('.mkv', *halotest.video_source(SIZE, 25, 2), *halotest.X264,
                          '-frames:v', frames)
            self.run_nvenc(source, 'out.mkv', '-y', B=3)
            self.assertEqual(len(packet_times(self.path('out.mkv'))), frames)

    def test_quality_is_said_in_its_words(self):
        source = silent_clip('.mkv', 1, SIZE)
        for options, says in ((('-crf', '30'), r'CQ\(7680\)'), ((), r'CQ\(5888\)')):
            run = self.run_nvenc(source, 'out.mkv', '-y', '-v', 'debug', *options)
            self.assertRegex(run.err, says)
        run = self.run_nvenc(source, 'out.mkv', '-y', '-v', 'debug', '-b:v', '3M')
        self.assertNotIn('CQ(', run.err)
        self.says_once(self.run_nvenc(source, 'out.mkv', '-y', '-crf', '0'), 'not lossless')

    def test_presets_of_others_are_mapped(self):
        source = silent_clip('.mkv', 1, SIZE)
        run = self.run_nvenc(source, 'out.mkv', '-preset', 'veryfast')
        self.says_once(run, 'preset veryfast becomes p2')
        run = self.run_nvenc(source, 'out.mkv', '-y', '-preset', 'p6')
        self.assertNotIn('becomes', run.err)

    def test_wrong_options_are_refused(self):
        source = silent_clip('.mkv', 1, SIZE)
        for options in (('-preset', 'bogus'), ('-crf', '99'), ('-crf', 'x')):
            run = self.run_nvenc(source, 'out.mkv', *options, code=64)
            self.assertIn(options[1], self.assert_one_line(run))
            self.assertFalse(os.path.exists(self.path('out.mkv')))

    def test_a_failure_on_the_way(self):
        """No file, and another try may do."""
        source = silent_clip('.mkv', 1, SIZE)
        run = self.run_nvenc(source, 'out.mkv', code=75, FAIL=7)
        self.assertIn('h264_nvenc failed', self.assert_one_line(run))
        self.assertEqual(os.listdir(self.folder), [])

    # ---- NVENC cannot be had ----

    def test_reasons(self):
        source = silent_clip('.mkv', 1, SIZE)
        for says, standin in (('no NVENC on this GPU', {'OPEN': UNSUPPORTED}),
                              ('no NVENC on this GPU', {'OPEN': 1}),
                              ('session limit reached', {'OPEN': OUT_OF_MEMORY}),
                              ('session limit reached', {'OPEN': WRONG_KEY}),
                              ('session limit reached', {'INIT': OUT_OF_MEMORY}),
                              ('driver too old', {'OPEN': OLD_INTERFACE}),
                              ('driver too old', {'VERSION': 0x50}),
                              ('does not accept this size', {'INIT': 8}),
                              ('generic error', {'OPEN': GENERIC}),
                              ('no CUDA-capable device', {'trouble': 'no-device'})):
            with self.subTest(standin):
                run = self.run_nvenc(source, 'out.mkv', '-y', **standin)
                self.assert_software(run, source, 'out.mkv', says, 'libx264 is used instead')

    def test_no_driver(self):
        source = silent_clip('.mkv', 1, SIZE)
        os.mkdir(self.path('empty'))
        if shutil.which('nvidia-smi'):
            self.skipTest('a real driver is here')
        run = self.run_nvenc(source, 'out.mkv', folder=self.path('empty'))
        self.assert_software(run, source, 'out.mkv', 'no NVIDIA driver')

    def test_driver_without_the_encoder(self):
        source = silent_clip('.mkv', 1, SIZE)
        os.mkdir(self.path('part'))
        shutil.copy(os.path.join(FOLDER, 'libcuda.so.1'), self.path('part'))
        if shutil.which('nvidia-smi'):
            self.skipTest('a real driver is here')
        run = self.run_nvenc(source, 'out.mkv', folder=self.path('part'))
        self.assert_software(run, source, 'out.mkv', 'no NVENC library')

    def test_a_codec_that_it_lacks(self):
        source = silent_clip('.mkv', 1, SIZE)
        run = self.run_nvenc(source, 'out.mkv', codec='hevc_nvenc')
        self.assert_software(run, source, 'out.mkv', 'does not support this codec', 'libx265',
                             encoder='x265')
        self.assertEqual(probe_video(self.path('out.mkv'))['codec_name'], 'hevc')

    def test_options_reach_the_software_encoder(self):
        source = silent_clip('.mkv', 1, SIZE)
        for options, written, says in (
                (('-preset', 'p1', '-crf', '30'), b'crf=30.0', '-preset superfast for p1'),
                (('-preset', 'p7'), b'me=umh', '-preset veryslow for p7'),
                (('-preset', 'llhq'), b'crf=23.0', 'without -preset llhq'),
                (('-preset', 'veryfast', '-b:v', '300k'), b'bitrate=300', 'is used instead')):
            with self.subTest(options):
                run = self.run_nvenc(source, 'out.mkv', '-y', *options, OPEN=UNSUPPORTED)
                self.assert_software(run, source, 'out.mkv', says)
                with open(self.path('out.mkv'), 'rb') as file:
                    self.assertIn(written, file.read())

    def test_same_pictures_as_without(self):
        """The software encoder gets what it would have got by its own name."""
        source = plain_clip('.mp4', 1, SIZE)
        self.run_nvenc(source, 'fell.mp4', '-crf', '20', OPEN=UNSUPPORTED)
        self.filtered(source, 'named.mp4', '-c:v', 'libx264', '-crf', '20', chain='gblur=sigma=2')
        self.assertEqual(raw_frames(self.path('fell.mp4')), raw_frames(self.path('named.mp4')))

    def test_each_stream_for_itself(self):
        source = clip('.mkv', *halotest.video_source(SIZE), '-f', 'lavfi', '-i',
                      'testsrc=size=160x160:rate=10:duration=1', '-map', '0', '-map', '1',
                      *halotest.X264)
        run = self.run_nvenc(source, 'out.mkv', OPEN=OUT_OF_MEMORY)
        self.assertEqual(len(re.findall('session limit reached', run.err)), 2)
        self.assertEqual(len(streams(self.path('out.mkv'), 'video')), 2)


if __name__ == '__main__':
    halotest.main()
