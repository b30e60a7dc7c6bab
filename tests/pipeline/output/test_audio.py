# SPDX-License-Identifier: BSD-2-Clause
"""Re-encoding the sound (-c:a): it stays in its place in time, and whole."""
import array
import re
from fractions import Fraction

import halotest
from halotest import (HaloTest, X264, audio_source, call, clip, ffmpeg, ffprobe, frame_times,
                      kind_stream, need, packet_times, probe, seconds_of, streams, video_source)

RATE = 48000
BEEP = 0.5  # seconds from the start of one to the next


def beeps(seconds=4, rate=44100):
    """20 ms of tone, from 0.1 s on every BEEP seconds."""
    tone = f'0.8*sin(2*PI*1000*t)*between(mod(t-0.1\\,{BEEP})\\,0\\,0.02)*gte(t\\,0.1)'
    return ['-f', 'lavfi', '-i', f'aevalsrc={tone}:sample_rate={rate}:duration={seconds}']


def sound_starts(path):
    """Time of the first sample that is heard: the priming of a codec is taken off pts only."""
    frames = ffprobe(path, '-select_streams', 'a:0', '-show_entries', 'frame=pts')['frames']
    return seconds_of(next(f['pts'] for f in frames if 'pts' in f), kind_stream(path, 'a:0'))


def onsets(path, select='0:a:0'):
    """The times at which silence ends, on the clock of the file."""
    data = call([halotest.FFMPEG, '-nostdin', '-v', 'error', '-i', path, '-map', select, '-ac', '1',
                 '-ar', RATE, '-f', 'f32le', '-'])
    samples = array.array('f', data)
    start = sound_starts(path)
    found, quiet = [], RATE
    for number, sample in enumerate(samples):
        if abs(sample) > 0.2:
            if quiet > RATE // 10:
                found.append(float(start + Fraction(number, RATE)))
            quiet = 0
        else:
            quiet += 1
    return found


def beeping_clip(*extra, suffix='.mkv', seconds=4):
    return clip(suffix, *video_source(seconds=seconds), *extra, *beeps(seconds), '-map', '0:v',
                '-map', '1:a', *X264, '-g', '12', '-c:a', 'flac')


class Audio(HaloTest):
    def assert_in_place(self, source, output, cut=0.0):
        """Each beep is as far from the first picture as it was."""
        first_in, first_out = float(frame_times(source)[0]) + cut, float(frame_times(output)[0])
        wanted = [t - first_in for t in onsets(source) if t - first_in > 0.01]
        got = [t - first_out for t in onsets(output) if t - first_out > 0.01]
        self.assertGreater(len(wanted), 3, 'beeps of the source')
        self.assertEqual(len(got), len(wanted), f'beeps at {got}, source {wanted}')
        for w, g in zip(wanted, got):
            self.assertLessEqual(abs(w - g), 0.003, f'beeps at {got}, source {wanted}')

    def test_every_encoder_and_container(self):
        for codec, suffix in (('aac', '.mp4'), ('aac', '.mkv'), ('libmp3lame', '.mp4'),
                              ('libmp3lame', '.mkv'), ('libopus', '.mkv'), ('libopus', '.mp4'),
                              ('libvorbis', '.mkv'), ('flac', '.mkv'), ('pcm_s16le', '.mov'),
                              ('ac3', '.ts')):
            with self.subTest(codec + suffix):
                source = beeping_clip()
                output = self.filtered(source, 'out' + suffix, '-c:a', codec)
                self.assert_in_place(source, output)

    def test_containers_of_other_video(self):
        for video, codec, suffix in (('libvpx', 'libopus', '.webm'),
                                     ('mpeg4', 'pcm_s16le', '.avi')):
            with self.subTest(suffix):
                source = beeping_clip()
                output = self.filtered(source, 'out' + suffix, '-c:v', video, '-c:a', codec)
                self.assert_in_place(source, output)

    def test_sound_that_starts_late(self):
        source = beeping_clip('-itsoffset', '0.3')
        need(sound_starts(source) > Fraction(2, 10), 'late sound', source)
        for codec, suffix in (('aac', '.mp4'), ('libopus', '.mkv')):
            with self.subTest(codec):
                self.assert_in_place(source, self.filtered(source, 'out' + suffix, '-c:a', codec))

    def test_after_a_seek(self):
        source = beeping_clip()
        for codec, suffix in (('aac', '.mp4'), ('libopus', '.mkv'), ('pcm_s16le', '.mov')):
            with self.subTest(codec):
                output = self.filtered(source, 'out' + suffix, '-c:a', codec, '-ss', '0.72')
                self.assert_in_place(source, output, cut=0.72)

    def test_lossless_sound_keeps_every_sample(self):
        source = beeping_clip()
        for codec, suffix in (('pcm_s24le', '.mov'), ('flac', '.mkv'), ('alac', '.mp4')):
            with self.subTest(codec):
                output = self.filtered(source, 'out' + suffix, '-c:a', codec)
                self.assertEqual(halotest.audio_samples_md5(output),
                                 halotest.audio_samples_md5(source))

    def test_flac_knows_its_length_and_sum(self):
        """They come in a last packet without samples."""
        output = self.filtered(beeping_clip(), 'out.mkv', '-c:a', 'flac')
        header = streams(output, 'audio')[0]
        need(header['codec_name'] == 'flac', 'FLAC', output)
        info = bytes.fromhex(''.join(
            line[10:49] for line in ffprobe(output, '-select_streams', 'a', '-show_streams',
                                            '-show_data')['streams'][0]['extradata'].splitlines()
        ).replace(' ', ''))
        self.assertEqual(int.from_bytes(info[13:18], 'big') & 0xfffffffff, 4 * 44100)
        self.assertNotEqual(info[18:34], bytes(16), 'no MD5')

    def test_a_gap_of_more_than_an_hour(self):
        jump = "'PTS+gte(T,1)*4000/TB'"
        source = clip('.mkv', *video_source('32x32', 5, 2), *audio_source(2, 440, 8000), '-vf',
                      'setpts=' + jump, '-af', 'asetpts=' + jump, '-fps_mode', 'passthrough', *X264,
                      '-c:a', 'pcm_s16le')
        times = packet_times(source, 'a:0')
        need(max(b - a for a, b in zip(times, times[1:])) > 3900, 'a gap', source)
        output = self.filtered(source, 'out.mkv', '-c:a', 'flac')
        times = packet_times(output, 'a:0')
        self.assertLess(max(b - a for a, b in zip(times, times[1:])), 1)
        self.assertLess(abs(float(times[-1]) - float(packet_times(source, 'a:0')[-1])), 1)
        self.assertLess(abs(len(halotest.ffmpeg('-i', output, '-map', '0:a', '-f', 'u8', '-'))
                            - 4002 * 8000), 8000)

    def test_six_channels(self):
        source = self.path('six.mkv')
        ffmpeg(*video_source(), '-f', 'lavfi', '-i',
               'sine=duration=1,aformat=channel_layouts=5.1', '-map', '0:v', '-map', '1:a', *X264,
               '-c:a', 'flac', source)
        need(streams(source, 'audio')[0]['channels'] == 6, 'six channels', source)
        for codec, channels in (('aac', 6), ('libmp3lame', 2), ('libopus', 6)):
            with self.subTest(codec):
                output = self.filtered(source, 'out.mkv', '-c:a', codec)
                self.assertEqual(streams(output, 'audio')[0]['channels'], channels)
                self.assertLess(abs(float(probe(output)['format']['duration']) - 1), 0.1)

    def test_copied_aac_that_changes(self):
        """MPEG-TS says in each packet how it is coded; most others once: what differs is left out
        of a copy, with a line, and nothing else is."""
        with open(self.path('list'), 'w') as file:
            for rate in (48000, 44100, 48000):
                part = clip('.ts', *video_source(seconds=1), *audio_source(1, rate=rate), *X264, '-c:a', 'aac')
                file.write(f'file {part}\n')
        source = self.path('joint.ts')
        ffmpeg('-f', 'concat', '-safe', 0, '-i', self.path('list'), '-c', 'copy', source)
        sound = len(packet_times(source, 'a:0'))
        for suffix, codec, share in (('.mp4', 'copy', 2 / 3), ('.mkv', 'copy', 2 / 3), ('.ts', 'copy', 1),
                                     ('.mkv', 'aac', 1)):
            with self.subTest(suffix + codec):
                output = self.path('out' + suffix)
                run = self.halod('run', '-y', '-i', source, '-vf', 'null', '-c:a', codec, output)
                changes = re.findall('stream 1: .* of the AAC audio changes at 00:00:0(.*); packets', run.err)
                self.assertEqual(len(changes), share < 1, self.logged(run))
                for time in changes:
                    self.assertAlmostEqual(float(time), 1 + 1.4, delta=0.2)  # MPEG-TS begins at 1.4
                self.assertEqual(halotest.frame_count(output), 75)
                self.assertAlmostEqual(len(packet_times(output, 'a:0')), sound * share, delta=sound / 20)
                ffmpeg('-xerror', '-i', output, '-map', '0:a', '-f', 'null', '-')

    def test_refused(self):
        source = beeping_clip()
        self.refused('run', '-i', source, '-vf', 'null', '-c:a', 'nosuch', self.path('out.mkv'),
                     says='nosuch')
        self.refused('run', '-i', source, '-vf', 'null', '-c:a', 'libopus', self.path('out.avi'),
                     says='opus')


if __name__ == '__main__':
    halotest.main()
