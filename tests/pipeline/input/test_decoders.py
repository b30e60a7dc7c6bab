# SPDX-License-Identifier: BSD-2-Clause
# Several decoders of one stream: the output is that of one decoder, byte for byte.
import os
import re
import signal
import subprocess

import halotest
from halotest import (BT2020_PQ, FFMPEG, HaloTest, X264, audio_source, clip, video_source,
                      with_colours)

COUNTS = (2, 3, 7)
FEW = COUNTS if halotest.WHOLE else (3,)
APART = re.compile(r'stream \d: (\d+) groups of frames were decoded separately')
ONE = re.compile(r'stream \d is decoded by one decoder(?: from here on)?: (.*)')
B = ['-c:v', 'libx264', '-preset', 'veryfast', '-threads', '1', '-bf', '3', '-g', '10', '-pix_fmt',
     'yuv420p']
X265 = ['-c:v', 'libx265', '-preset', 'ultrafast', '-pix_fmt', 'yuv420p']


def x265(*more):
    return [*X265, '-x265-params', ':'.join(['log-level=error', 'keyint=10', 'pools=1', *more])]


def short(*codec, suffix='.mkv', seconds=2, source=()):
    return clip(suffix, *(source or video_source('80x60', seconds=seconds)), *codec)


def joined(suffix, *parts):
    """The bytes of several clips, one after the other."""
    data = b''
    for part in parts:
        with open(part, 'rb') as file:
            data += file.read()
    return clip(suffix, '-f', 'mpegts', '-i', '-', '-map', '0', '-c', 'copy', data=data)


def spoiled(data, *shares):
    """A few bytes are changed at each share of the data."""
    data = bytearray(data)
    for share in shares:
        at = int(len(data) * share)
        data[at:at + 24] = bytes(x ^ 0x5a for x in data[at:at + 24])
    return bytes(data)


class Decoders(HaloTest):
    def decode(self, source, count, *options, name='out.nut', code=0, chain='gblur=sigma=1'):
        """(bytes of the output, or None; what the run says). The encoder is lossless: with uneven
        times, x264's rate control is not the same in each run."""
        if '-c:v' not in options:
            options += ('-c:v', 'ffv1')
        output = self.path(name)
        run = self.halod('run', '-y', '-v', 'debug', '-decoders', count, '-hwaccel', 'none', '-i',
                         source, '-vf', chain, *options, output, code=code)
        if code:
            self.assertFalse(os.path.exists(output))
            return None, run.err
        with open(output, 'rb') as file:
            return file.read(), run.err

    def same(self, source, *options, apart=None, reason=None, counts=FEW, **more):
        """apart: the fewest groups that several decoders decode."""
        want = self.decode(source, 1, *options, **more)
        self.assertNotRegex(want[1], APART)
        for count in counts:
            got = self.decode(source, count, *options, **more)
            self.assertEqual(got[0], want[0], f'{count} decoders: other bytes\n{got[1]}')
            found = APART.search(got[1])
            if apart is not None:
                self.assertGreaterEqual(int(found[1]) if found else 0, apart, got[1])
            if reason:
                self.assertIn(reason, (ONE.search(got[1]) or ['', ''])[1], got[1])
        return want


class Kinds(Decoders):
    def test_h264_with_sound(self):
        source = clip('.mp4', *video_source('80x60', seconds=2), *audio_source(2), *B, '-c:a', 'aac')
        self.same(source, apart=4, counts=COUNTS)
        for name in ('out.mp4', 'out.ts')[not halotest.WHOLE:]:  # their packets are also interleaved in the same way
            with self.subTest(name):
                self.same(source, '-c:v', 'libx264', '-preset', 'ultrafast', name=name, apart=4)

    def test_h264_in_transport_streams(self):
        self.same(short(*B, suffix='.ts'), apart=4)

    def test_hevc(self):
        self.same(short(*x265('no-open-gop=1'), suffix='.mp4'), apart=4)
        self.same(short(*x265('no-open-gop=1', 'hdr10=1', 'max-cll=1000,400', 'master-display=G(13250,'
                              '34500)B(7500,3000)R(34000,16000)WP(15635,16450)L(10000000,1)'),
                        *with_colours('yuv420p10le', **BT2020_PQ)), apart=4)

    def test_vp8_and_vp9(self):
        for codec in ('libvpx', 'libvpx-vp9'):
            options = ['-c:v', codec, '-deadline', 'realtime', '-cpu-used', '8', '-g', '10',
                       '-auto-alt-ref', '1', '-lag-in-frames', '8', '-b:v', '300k']
            with self.subTest(codec):
                self.same(short(*options, suffix='.webm'), apart=4)

    def test_ffv1(self):
        self.same(short('-c:v', 'ffv1', '-g', '12'), apart=3)

    def test_every_frame_alone(self):
        self.same(short(*X264, '-g', '1'), apart=25)

    def test_one_group_and_one_frame(self):
        self.same(short(*X264, '-g', '250'))
        self.same(short(*X264, '-frames:v', '1'))

    def test_uneven_times(self):
        """Frames that are missing, and a track that begins late."""
        drops = ['-vf', "select='not(between(n,13,17)+eq(n,31)+eq(n,60))'", '-fps_mode', 'vfr']
        self.same(short(*drops, *B, '-output_ts_offset', '3.3', suffix='.mp4', seconds=3), apart=4)

    def test_edit_list(self):
        """Frames before the cut are decoded and not shown."""
        whole = short(*B, suffix='.mp4')
        self.same(clip('.mp4', '-ss', '0.9', '-i', whole, '-c', 'copy'))

    def test_two_streams(self):
        source = clip('.mkv', *video_source('80x60', seconds=2), *video_source('96x64', seconds=2), '-map',
                      '0', '-map', '1', *B)
        self.same(source, apart=4)

    def test_range(self):
        source = clip('.mp4', *video_source('80x60', seconds=4), *audio_source(4), *B, '-c:a', 'aac')
        ranges = (['-ss', '1.23'], ['-ss', '0.4', '-t', '1'], ['-ss', '3.9'], ['-t', '2.1'], ['-t', '0.01'])
        for options in ranges if halotest.WHOLE else ranges[1:3]:
            with self.subTest(options):
                self.same(source, *options)


class Interleaving(Decoders):
    def lead(self, source, count):
        """Seconds by which video is ahead of sound in the output's order at most; and how many
        packets there are of each."""
        output = self.path('out.mkv')
        self.halod('run', '-y', '-decoders', count, '-hwaccel', 'none', '-i', source, '-vf', 'null',
                   '-preset', 'ultrafast', output)
        lead, newest, numbers = 0, {'video': 0, 'audio': 0}, {'video': 0, 'audio': 0}
        for packet in halotest.ffprobe(output, '-show_packets')['packets']:
            kind = packet['codec_type']
            newest[kind] = max(newest[kind], float(packet['pts_time']))
            numbers[kind] += 1
            lead = max(lead, newest['video'] - newest['audio'])
        return lead, numbers

    def closely(self, source):
        want = self.lead(source, 1)
        self.assertLess(want[0], 2)
        for count in FEW:
            got = self.lead(source, count)
            self.assertEqual(got[1], want[1])
            self.assertLess(got[0], 2, f'{count} decoders')

    def test_stream_that_ends_early(self):
        self.closely(clip('.mkv', *video_source('80x60', seconds=12), *video_source('96x64', seconds=2),
                          *audio_source(12), '-map', '0', '-map', '1', '-map', '2', *B, '-c:a',
                          'aac'))

    def test_video_shorter_than_sound(self):
        self.closely(clip('.mp4', *video_source('80x60', seconds=2), *audio_source(12), *B, '-c:a', 'aac'))


class OneDecoder(Decoders):
    """What cannot be cut, or not everywhere."""

    def test_open_groups(self):
        self.same(short('-c:v', 'libx264', '-preset', 'veryfast', '-threads', '1', '-bf', '3', '-pix_fmt',
                        'yuv420p', '-x264-params', 'open-gop=1:keyint=10:scenecut=0'))
        self.same(short(*x265('open-gop=1')))

    def test_other_codecs(self):
        self.same(short('-c:v', 'mjpeg', '-pix_fmt', 'yuvj420p'),
                  reason='streams with this codec cannot be divided')
        self.same(short('-c:v', 'mpeg4', '-g', '10', suffix='.mp4'), reason='this codec')

    def test_interlaced(self):
        self.same(halotest.interlaced_clip('tff'))

    def test_other_size_in_the_middle(self):
        source = joined('.ts', short(*B, suffix='.ts'),
                        short(*B, suffix='.ts', source=video_source('192x144', seconds=2)))
        self.same(source, reason='its parameter sets change', chain='null')

    def test_orientation_in_the_frames(self):
        source = short(*B, '-bsf:v', 'h264_metadata=display_orientation=insert:rotate=90')
        err = self.decode(source, 3)[1]
        self.assertEqual(err.count('metadata in the input'), 1, err)

    def test_times_that_jump_back(self):
        part = short(*B, suffix='.ts', seconds=2)
        with open(part, 'rb') as file:
            data = file.read()
        source = self.path('twice.ts')
        with open(source, 'wb') as file:
            file.write(data + data)
        self.same(source)

    def test_pipe(self):
        with open(short(*B, suffix='.ts'), 'rb') as file:
            data = file.read()
        run = self.halod('run', '-v', 'debug', '-decoders', '4', '-i', '-', '-vf', 'null',
                         self.path('out.nut'), data=data)
        self.assertNotRegex(run.err, APART)


class Damage(Decoders):
    def clip(self):
        return clip('.mkv', *video_source('160x120', seconds=4), *B)

    def spoil(self, source, *shares):
        with open(source, 'rb') as file:
            data = file.read()
        path = self.path('spoiled' + os.path.splitext(source)[1])
        with open(path, 'wb') as file:
            file.write(spoiled(data, *shares))
        return path

    def test_is_an_error(self):
        """A spoiled file, and one that is cut."""
        with open(self.clip(), 'rb') as file:
            data = file.read()
        cut = self.path('cut.mkv')
        with open(cut, 'wb') as file:
            file.write(data[:len(data) * 2 // 3])
        for source in self.spoil(self.clip(), 0.4, 0.61), cut:
            for count in (1, *FEW):
                with self.subTest((source, count)):
                    self.decode(source, count, code=1)

    def test_is_kept_where_it_may_be(self):
        """Frames before it are decoded apart."""
        source = self.spoil(self.clip(), 0.8)
        for count in (1, *FEW):
            with self.subTest(count):
                got, err = self.decode(source, count, '-keep-going')
                self.assertTrue(got)
                self.assertIn('damage', err)
                if count > 1:
                    self.assertRegex(err, APART)
                    self.assertRegex(err, ONE)

    def test_beyond_the_end_is_not_read(self):
        source = self.spoil(self.clip(), 0.7, 0.8, 0.9)
        self.same(source, '-t', '1')


class Usage(Decoders):
    def test_bad_numbers(self):
        source = short(*B)
        for value in ('-1', '65', 'many', ''):
            with self.subTest(value):
                self.refused('run', '-i', source, '-vf', 'null', '-decoders', value,
                             self.path('out.mkv'), says='decoders')

    def test_ended_early(self):
        """What is done is kept, and it is whole."""
        source = clip('.mkv', *video_source('160x120', seconds=20), *audio_source(20), *X264, '-g',
                      '10', '-c:a', 'aac')
        run = self.stopped_at(200, 'run', '-decoders', '4', '-i', source, '-vf', 'gblur=sigma=1', '-c:v', 'libx264',
                              '-preset', 'ultrafast', self.path('out.mkv'))
        err, code = self.ended_by(run, signal.SIGTERM)
        self.assertEqual(code, 143, err)
        partial = self.path('out.partial.mkv')
        self.assertTrue(os.path.exists(partial), err)
        self.assertLess(halotest.frame_count(partial), 500)
        self.assertEqual(subprocess.run([FFMPEG, '-v', 'error', '-i', partial, '-f', 'null', '-'],
                                        capture_output=True).stderr, b'')


if __name__ == '__main__':
    halotest.main()
