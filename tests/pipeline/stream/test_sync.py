# SPDX-License-Identifier: BSD-2-Clause
# Pictures and sound of files stay together, from each container into each.
# HALOTEST_MATRIX=whole takes every pair with every start; otherwise a part of them, in which each
# container is.
import os
import subprocess
from fractions import Fraction

import halotest
from halotest.flashbeep import ONE_FRAME, SOURCES, STARTS, at_once, is_whole, lead, source
from halotest import HaloTest, X264, audio_source, clip, need, packet_times, probe, run_halod, video_source

# Container: options for the pictures, and sound that it holds.
OUTPUTS = {
    '.mp4': ('aac', '-preset', 'ultrafast'),
    '.mov': ('aac', '-preset', 'ultrafast'),
    '.mkv': ('libopus', '-preset', 'ultrafast'),
    '.webm': ('libopus', '-c:v', 'libvpx'),
    '.ts': ('mp2', '-preset', 'ultrafast'),
    '.mpg': ('mp2', '-c:v', 'mpeg2video'),
    '.avi': ('libmp3lame', '-preset', 'veryfast'),
    '.flv': ('aac', '-preset', 'ultrafast'),
    '.nut': ('libvorbis', '-preset', 'ultrafast'),
    '.ogv': ('libvorbis', '-c:v', 'libtheora'),
    '.asf': ('libmp3lame', '-preset', 'ultrafast'),
    '.3gp': ('aac', '-preset', 'ultrafast'),
    '.mxf': ('pcm_s16le', '-c:v', 'mpeg2video'),
}
# ASF of FFmpeg's muxer declares more than it has where a stream begins late.
PAIRS = [(given, made, start) for made in OUTPUTS for given in SOURCES for start in STARTS
         if given != '.asf' or start == 'together']


def some():
    """Three sources for each output, each with another start."""
    names = list(SOURCES)
    chosen = [(names[(5 * number + 3 * turn) % len(names)], made, start)
              for number, made in enumerate(OUTPUTS) for turn, start in enumerate(STARTS)]
    always = [('.ts', '.avi', 'together'), ('.mp4', '.avi', 'late sound'),
              ('.flac.mkv', '.ogv', 'late sound'), ('.mkv', '.mxf', 'late pictures'),
              ('.ogv', '.mpg', 'together')]
    return [pair for pair in PAIRS if pair in chosen + always]


class Matrix(HaloTest):
    def off(self, pair):
        """(milliseconds by which sound comes later than before, what failed)."""
        given, made, start = pair
        sound, *options = OUTPUTS[made]
        name = self.path('-'.join(pair).replace(' ', '-') + made)
        command = ['run', '-y', '-i', source(given, start), '-vf', 'null', *options]
        run = run_halod(*command, name)
        if run.code == 64:
            run = run_halod(*command, '-c:a', sound, name)
        if run.code:
            return None, run.err
        return 1000 * (lead(name) - lead(source(given, start))), run.err

    def test_every_pair(self):
        pairs = PAIRS if is_whole() else some()
        worst = 0
        for pair, (off, output) in at_once(self.off, pairs):
            with self.subTest(' '.join(pair)):
                self.assertIsNotNone(off, output)
                self.assertLessEqual(abs(off), 1000 * ONE_FRAME, 'ms off; ' + output)
                worst = max(worst, abs(off))
        print(f'{len(pairs)} pairs, at worst {worst:.1f} ms off')


class Starts(HaloTest):
    def test_what_avi_cannot_say_is_filled(self):
        """Sound gets silence in front, pictures the first of them; both are said or seen."""
        run = self.halod('run', '-i', source('.mp4', 'late sound'), '-vf', 'null',
                         self.path('sound.avi'))
        self.says_once(run, 'stream 1.*re-encoded.*silence')
        given = source('.mp4', 'late pictures')
        made = self.filtered(given, 'pictures.avi')
        self.assertEqual(halotest.frame_count(made), halotest.frame_count(given) + 8)
        hashes = halotest.frame_hashes(self.filtered(given, 'lossless.avi', '-c:v', 'ffv1'))
        self.assertEqual(len(set(hashes[:9])), 1)

    def test_sound_copied_from_avi_to_avi(self):
        """Each packet is a frame; the sizes of blocks in the input's header mean nothing."""
        for codec, rate in (('libmp3lame', 24000), ('libmp3lame', 44100), ('mp2', 44100),
                            ('ac3', 44100), ('aac', 44100), ('flac', 44100)):
            with self.subTest(f'{codec} {rate}'):
                given = clip('.avi', *video_source(seconds=3), *audio_source(3, rate=rate),
                             '-c:v', 'mpeg4', '-c:a', codec)
                made = self.filtered(given, 'out.avi')
                times = packet_times(made, 'a:0'), packet_times(given, 'a:0')
                self.assertEqual(len(times[0]), len(times[1]))
                for got, wanted in zip(*times):
                    self.assertLess(abs(got - wanted), Fraction(1, 1000))

    def test_frames_in_avi_are_in_order(self):
        """It does not say when a frame is shown, and readers would guess."""
        given = clip('.mkv', *video_source(), *halotest.X264_B)
        for codec in ('libx264', 'mpeg2video', 'mpeg4'):
            with self.subTest(codec):
                made = self.filtered(given, 'out.avi', '-c:v', codec)
                self.assertEqual(halotest.frame_times(made)[0], 0)
                self.assertEqual(halotest.frame_hashes(made),
                                 halotest.frame_hashes(self.filtered(made, 'again.mkv', '-c:v', 'ffv1')))

    def test_gaps_where_frames_are_counted(self):
        """What was shown stays in a gap: nothing after it comes too early."""
        given = clip('.mkv', *video_source(seconds=2), '-vf', "select='not(between(n,10,39))'",
                     '-fps_mode', 'passthrough', *X264)
        for name, codec in (('out.mxf', 'mpeg2video'), ('out.avi', 'ffv1'), ('out.mpg', 'mpeg2video'),
                            ('out.ogv', 'libtheora')):
            with self.subTest(name):
                made = self.filtered(given, name, '-c:v', codec)
                times = halotest.frame_times(made)
                self.assertAlmostEqual(float(times[-1] - times[0]), 49 / 25, delta=0.001)

    def test_mp4_says_a_start_exactly(self):
        given = clip('.nut', *video_source(), *audio_source(), *X264, '-c:a', 'libmp3lame',
                     '-output_ts_offset', '0.0104')
        start = halotest.frame_times(given)[0]
        need(start * 1000 % 1 not in (0, 1), 'a start between milliseconds', given)
        for suffix in ('.mp4', '.mov'):
            with self.subTest(suffix):
                made = self.filtered(given, 'out' + suffix)
                self.assertLess(abs(halotest.frame_times(made)[0] - start), Fraction(1, 20000))

    def test_chapters_move_with_the_streams(self):
        """AAC's priming lies before 0, where Matroska has no place for it."""
        with open(self.path('chapters'), 'w', encoding='ascii') as file:
            file.write(';FFMETADATA1\n[CHAPTER]\nTIMEBASE=1/1000\nSTART=400\nEND=800\ntitle=One\n')
        given = self.path('in.mp4')
        halotest.ffmpeg(*video_source(), *audio_source(), '-i', self.path('chapters'),
                        '-map_metadata', '2', *X264, '-c:a', 'aac', given)
        wanted = float(probe(given)['chapters'][-1]['start_time']) - halotest.frame_times(given)[0]
        need(packet_times(given, 'a:0')[0] < 0, 'priming', given)
        for suffix in ('.mkv', '.mp4'):
            with self.subTest(suffix):
                made = self.filtered(given, 'out' + suffix)
                chapter = float(probe(made)['chapters'][-1]['start_time'])
                self.assertAlmostEqual(chapter - float(halotest.frame_times(made)[0]),
                                       float(wanted), delta=0.0011)


if __name__ == '__main__':
    halotest.main()
