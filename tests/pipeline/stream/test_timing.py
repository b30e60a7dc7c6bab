# SPDX-License-Identifier: BSD-2-Clause
# Timestamps: constant and variable rate, offsets, odd rates, -ss and -t.
import os
from fractions import Fraction

import halotest
from halotest import (HaloTest, X264, X264_B, audio_source, clip, frame_hashes, frame_times, need,
                      packet_times, plain_clip, probe, probe_video, silent_clip, streams,
                      video_source)


def variable_clip(suffix='.mkv', codec=X264, extra=()):
    """Steps of 10, 55 and 55 ms."""
    path = clip(suffix, *video_source(seconds=2), *audio_source(2), '-vf',
                "settb=1/1000,setpts='N*40+15*mod(N*7,3)'", '-fps_mode', 'passthrough',
                '-enc_time_base', '1/1000', *codec, '-c:a', 'libmp3lame', *extra)
    times = frame_times(path)
    steps = {b - a for a, b in zip(times, times[1:])}
    need(len(steps) > 1 and min(steps) > 0 and len(times) == 50, 'a variable rate', path)
    return path


class Rates(HaloTest):
    def test_variable_rate_in_mkv(self):
        source = variable_clip()
        self.assert_whole(source, self.filtered(source, 'out.mkv', chain='gblur=sigma=1'))

    def test_variable_rate_in_mp4(self):
        source = variable_clip('.mp4')
        self.assert_whole(source, self.filtered(source, 'out.mp4'))

    def test_variable_rate_with_b_frames(self):
        for name in ('out.mkv', 'out.mp4'):
            source = variable_clip('.mkv', X264_B)
            with self.subTest(name):
                self.assert_whole(source, self.filtered(source, name))

    def test_variable_rate_lossless_keeps_which_frame_is_when(self):
        source = variable_clip()
        output = self.lossless(source)
        self.assert_video_times(source, output)
        self.assertEqual(frame_hashes(output), frame_hashes(source))

    def test_a_gap(self):
        source = clip('.mkv', *video_source(seconds=2), '-vf', "select='not(between(n,10,39))'",
                      '-fps_mode', 'passthrough', *X264)
        times = frame_times(source)
        need(max(b - a for a, b in zip(times, times[1:])) > 1, 'a gap', source)
        for name in ('out.mkv', 'out.mp4'):
            with self.subTest(name):
                self.assert_video_times(source, self.filtered(source, name))

    def test_more_frames_than_a_fixed_rate_has(self):
        """AVI counts frames: 47 a second after 10 would come later and later."""
        names = [silent_clip('.mkv', 3, rate=rate) for rate in ('10', '47')]
        with open(self.path('list.txt'), 'w', encoding='utf-8') as file:
            file.writelines(f"file '{name}'\n" for name in names)
        source = self.path('in.mkv')
        halotest.ffmpeg('-f', 'concat', '-safe', '0', '-i', self.path('list.txt'), '-c', 'copy',
                        source)
        self.refused('run', '-i', source, '-vf', 'null', '-v', 'error', '-c:v', 'mpeg4',
                     self.path('out.avi'), code=1, says=('late', 'fixed rate'))
        self.assertFalse(os.path.exists(self.path('out.avi')))
        self.assert_video_times(source, self.filtered(source, 'out.mkv'))

    def test_a_rate_above_the_nominal_one(self):
        """Phones: 30.03 frames a second, each some milliseconds off, for two minutes."""
        source = clip('.mp4', *video_source('32x32', 30, 120), '-vf',
                      "setpts='N/(30.03*TB)+mod(N*7,5)*0.001/TB'", '-fps_mode', 'passthrough',
                      '-enc_time_base', '1/90000', *X264)
        need(probe_video(source)['r_frame_rate'] == '30/1', 'a nominal rate', source)
        wanted = frame_times(source)
        got = frame_times(self.filtered(source, 'out.avi', '-c:v', 'mpeg4'))
        self.assertEqual(len(got), len(wanted))
        self.assertLess(max(abs(w - g) for w, g in zip(wanted, got)), Fraction(1, 20))

    def test_odd_rates(self):
        for rate in ('30000/1001', '24000/1001', '15', '12.5', '120', '7/3', '1'):
            for suffix in ('.mp4', '.mkv'):
                with self.subTest(rate + suffix):
                    source = silent_clip(suffix, 2, rate=rate)
                    output = self.filtered(source, 'out' + suffix, '-preset', 'ultrafast')
                    self.assert_video_times(source, output)
                    self.assert_duration(source, output, 0.002)

    def test_average_rate_is_kept(self):
        source = silent_clip('.mp4', 2, rate='30000/1001')
        output = self.filtered(source, 'out.mp4')
        self.assertEqual(probe_video(output)['avg_frame_rate'], '30000/1001')

    def test_no_drift(self):
        """24000/1001 in whole milliseconds for a minute."""
        source = silent_clip('.mkv', 60, size='32x32', rate='24000/1001')
        need(len(frame_times(source)) > 1400, 'many frames', source)
        output = self.filtered(source, 'out.mkv', '-preset', 'ultrafast')
        self.assert_video_times(source, output, shift=Fraction(0))

    def test_mp4_duration_is_the_tracks(self):
        source = plain_clip('.mp4', 2)
        output = self.filtered(source, 'out.mp4')
        for kind in ('video', 'audio'):
            wanted, got = streams(source, kind)[0], streams(output, kind)[0]
            self.assertAlmostEqual(float(got['duration']), float(wanted['duration']), delta=0.002,
                                   msg=kind)


class Offsets(HaloTest):
    def offset_clip(self, suffix, seconds):
        path = clip(suffix, *video_source(), *audio_source(), *X264_B, '-c:a', 'libmp3lame',
                    '-output_ts_offset', seconds)
        need(frame_times(path)[0] > Fraction(seconds) - 1, 'a start offset', path)
        return path

    def test_start_offset(self):
        for suffix in ('.mp4', '.mkv'):
            for seconds in ('5', '3600.2'):
                with self.subTest(suffix + ' ' + seconds):
                    source = self.offset_clip(suffix, seconds)
                    output = self.filtered(source, 'out' + suffix)
                    self.assert_video_times(source, output, shift=Fraction(0))
                    self.assert_audio_same(source, output, shift=Fraction(0))
                    self.assertAlmostEqual(float(probe(output)['format']['start_time']),
                                           float(probe(source)['format']['start_time']), delta=0.03)

    def test_video_starts_later_than_audio(self):
        for suffix in ('.mp4', '.mkv'):
            source = clip(suffix, *video_source(), *audio_source(2), '-vf', 'setpts=PTS+0.52/TB',
                          '-fps_mode', 'passthrough', *X264_B, '-c:a', 'libmp3lame')
            need(frame_times(source)[0] >= Fraction(1, 2), 'a late picture', source)
            with self.subTest(suffix):
                self.assert_whole(source, self.filtered(source, 'out' + suffix))

    def test_audio_starts_later_than_video(self):
        for suffix in ('.mp4', '.mkv'):
            source = clip(suffix, *video_source(seconds=2), '-itsoffset', '0.7', *audio_source(),
                          *X264_B, '-c:a', 'libmp3lame')
            need(packet_times(source, 'a:0')[0] >= Fraction(6, 10), 'late sound', source)
            with self.subTest(suffix):
                self.assert_whole(source, self.filtered(source, 'out' + suffix))


class Cuts(HaloTest):
    """25 frames a second, a key frame each 12 frames, 2 seconds."""

    def cut(self, *options, source=None, before=False):
        source = source or plain_clip('.mp4', 2)
        output = self.path('out.mkv')
        front = options if before else ()
        back = () if before else options
        self.halod('run', *front, '-i', source, '-vf', 'null', '-c:v', 'ffv1', *back, output)
        return source, output

    def assert_frames(self, source, output, first, last):
        """output holds the input's frames first .. last-1, moved so that they start near 0."""
        self.assertEqual(frame_hashes(output), frame_hashes(source)[first:last])

    def test_seek_between_key_frames(self):
        source, output = self.cut('-ss', '0.72')
        self.assert_frames(source, output, 18, 50)
        start = frame_times(output)[0]
        self.assertTrue(0 <= start <= Fraction(30, 1000), f'starts at {float(start)} s')

    def test_seek_before_the_input(self):
        source, output = self.cut('-ss', '0.72', before=True)
        self.assert_frames(source, output, 18, 50)

    def test_seek_to_between_frames(self):
        source, output = self.cut('-an', '-ss', '0.7')
        self.assert_frames(source, output, 18, 50)
        self.assertLessEqual(abs(frame_times(output)[0] - Fraction(20, 1000)), Fraction(1, 1000))

    def test_seek_without_audio_starts_at_zero(self):
        source, output = self.cut('-an', '-ss', '0.72')
        self.assertLessEqual(abs(frame_times(output)[0]), Fraction(1, 1000))
        self.assert_frames(source, output, 18, 50)

    def test_duration(self):
        source, output = self.cut('-t', '0.8')
        self.assert_frames(source, output, 0, 20)
        self.assertLessEqual(halotest.duration(probe(output)['format']), 0.9)
        sound = packet_times(output, 'a:0')
        self.assertTrue(0.6 < sound[-1] < 0.9, f'last audio packet at {float(sound[-1])} s')

    def test_seek_and_duration(self):
        source, output = self.cut('-ss', '0.4', '-t', '0.8')
        self.assert_frames(source, output, 10, 30)

    def test_time_syntax(self):
        for text in ('00:00:00.4', '400ms', '0:00.4', '400000us'):
            with self.subTest(text):
                source, output = self.cut('-an', '-y', '-ss', text)
                self.assert_frames(source, output, 10, 50)

    def test_sound_stays_in_sync(self):
        source, output = self.cut('-ss', '0.72')
        def places(path):
            stream = halotest.kind_stream(path, 'a:0')
            return {p['data_hash']: halotest.seconds_of(p['pts'], stream)
                    for p in halotest.packets(path, 'a:0')}
        moved_video = frame_times(source)[18] - frame_times(output)[0]
        wanted, got = places(source), places(output)
        common = [name for name in got if name in wanted]
        self.assertGreater(len(common), 40, 'audio packets of the part after the seek')
        self.assertLessEqual(len(got), len(common) + 1)
        for name in common:
            self.assertLessEqual(abs(wanted[name] - got[name] - moved_video), Fraction(3, 1000))
        first = min(wanted[name] for name in common)
        self.assertGreater(first, Fraction(66, 100), 'sound from before the seek')

    def test_seek_in_a_clip_that_starts_late(self):
        """MPEG-TS has no index, so a seek can land behind the key frame that is needed."""
        source = clip('.ts', *video_source(seconds=2), '-c:v', 'mpeg2video', '-g', '12', '-bf',
                      '0')
        start = float(probe(source)['format']['start_time'])
        first = float(frame_times(source)[0])
        need(start > 1 and abs(first - start) < 0.001, 'a start offset', source)
        source, output = self.cut('-ss', '0.4', source=source)
        self.assert_frames(source, output, 10, 50)

    def test_seek_past_the_end(self):
        output = self.path('out.mkv')
        self.refused('run', '-i', plain_clip(), '-vf', 'null', '-ss', '1000', output, code=1)
        self.assertFalse(os.path.exists(output))

    def test_duration_past_the_end(self):
        source, output = self.cut('-t', '1000')
        self.assert_frames(source, output, 0, 50)

    def test_a_length_beyond_all_clocks(self):
        source, output = self.cut('-t', '10000000000000')
        self.assert_frames(source, output, 0, 50)
        self.refused('run', '-i', source, '-vf', 'null', '-y', '-ss', '10000000000000', output,
                     code=1, says='long')

    def test_no_length(self):
        self.refused('run', '-i', plain_clip(), '-vf', 'null', '-t', '0', self.path('out.mkv'),
                     says='-t 0')

    def test_bad_times(self):
        for option in ('-ss', '-t'):
            for text in ('soon', '-3x', ''):
                with self.subTest(f'{option} {text}'):
                    self.refused('run', '-i', plain_clip(), '-vf', 'null', option, text,
                                 self.path('out.mkv'), says=option[1:])


if __name__ == '__main__':
    halotest.main()
