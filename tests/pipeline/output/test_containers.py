# SPDX-License-Identifier: BSD-2-Clause
# From container to container, from stdin, to stdout, to null and to a named pipe.
import os
import threading

import halotest
from halotest import (HaloTest, X264_B, audio_source, clip, frame_count, frame_hashes, frame_times,
                      plain_clip, probe, silent_clip, video_source)


def mp3_clip(suffix):
    return clip(suffix, *video_source(seconds=2), *audio_source(2), *X264_B, '-c:a', 'libmp3lame')


def read(path):
    with open(path, 'rb') as file:
        return file.read()


class Containers(HaloTest):
    def test_every_pair(self):
        formats = ('.mp4', '.mkv', '.ts', '.nut', '.mov')
        for from_suffix in formats:
            for to_suffix in formats:
                with self.subTest(f'{from_suffix} to {to_suffix}'):
                    source = mp3_clip(from_suffix)
                    output = self.filtered(source, f'out{from_suffix}{to_suffix}', '-preset',
                                           'ultrafast')
                    self.assert_whole(source, output)

    def test_aac_out_of_mpegts(self):
        """MPEG-TS has ADTS headers of 7 bytes that MP4 has not; the samples are the same."""
        source = plain_clip('.ts')
        output = self.filtered(source, 'out.mp4')
        self.assertEqual(halotest.audio_samples_md5(output), halotest.audio_samples_md5(source))
        self.assert_video_times(source, output)

    def test_aac_into_mpegts(self):
        source = plain_clip('.mp4')
        output = self.filtered(source, 'out.ts')
        wanted, got = halotest.packets(source, 'a:0'), halotest.packets(output, 'a:0')
        self.assertEqual([int(p['size']) - 7 for p in got], [int(p['size']) for p in wanted])
        self.assert_video_times(source, output)

    def test_webm(self):
        source = clip('.webm', *video_source(), *audio_source(1, 440, 48000), '-c:v', 'libvpx',
                      '-deadline', 'realtime', '-c:a', 'libopus')
        output = self.filtered(source, 'out.webm', '-c:v', 'libvpx', '-b:v', '300k')
        self.assert_whole(source, output)
        self.assertIn('webm', probe(output)['format']['format_name'])

    def test_encoder_that_the_container_cannot_hold(self):
        for name, fits in (('out.webm', 'libvpx'), ('out.yuv', 'rawvideo'), ('out.gif', 'gif'),
                           ('out.y4m', 'wrapped_avframe'), ('out.ogv', 'libtheora')):
            with self.subTest(name):
                self.refused('run', '-i', plain_clip(), '-vf', 'null', '-c:v', 'libx264', '-an',
                             self.path(name), says=('h264', '-c:v ' + fits))
        self.assertEqual(os.listdir(self.folder), [])

    def test_no_video_at_all(self):
        for name in ('out.mp3', 'out.wav', 'out.flac', 'out.mka'):
            with self.subTest(name):
                self.refused('run', '-i', plain_clip(), '-vf', 'null', self.path(name),
                             says='does not support any available video encoder')

    def test_own_encoder_where_the_container_has_no_h264(self):
        source = silent_clip()
        for name, codec in (('out.webm', 'vp9'), ('out.gif', 'gif'), ('out.y4m', 'rawvideo'),
                            ('out.ivf', 'vp8'), ('out.ogv', 'theora')):
            with self.subTest(name):
                run = self.halod('run', '-i', source, '-vf', 'gblur', self.path(name))
                self.says_once(run, 'default for .*-c:v')
                self.assertEqual(halotest.probe_video(self.path(name))['codec_name'], codec)
                self.assertEqual(frame_count(self.path(name)), 25)

    def test_raw_outputs_are_raw(self):
        source = silent_clip()
        raw = halotest.raw_frames(source)
        self.assertEqual(read(self.filtered(source, 'out.yuv')), raw)
        self.assertEqual(halotest.raw_frames(self.filtered(source, 'out.y4m')), raw)

    def test_y4m_of_any_format(self):
        for given, held in (('yuv422p10le', 'yuv422p10le'), ('gbrp10le', 'yuv444p10le'),
                            ('nv12', 'yuv420p'), ('gray', 'gray')):
            with self.subTest(given):
                source = clip('.nut', *video_source(), '-frames:v', '2', '-pix_fmt', given,
                              '-c:v', 'rawvideo')
                output = self.filtered(source, 'out.y4m')
                self.assertEqual(halotest.probe_video(output)['pix_fmt'], held)

    def test_y4m_of_odd_widths(self):
        def source(width, pixel_format):
            return clip('.nut', *video_source(), '-frames:v', '2', '-vf',
                        f'scale={width}:47,format={pixel_format}', '-c:v', 'rawvideo')
        for width, pixel_format in (61, 'yuv420p'), (61, 'yuv444p10le'), (60, 'yuv420p10le'):
            with self.subTest(f'{width} {pixel_format}'):
                self.assertEqual(
                    frame_count(self.filtered(source(width, pixel_format), 'out.y4m', '-y')), 2)
        os.remove(self.path('out.y4m'))
        for pixel_format in 'yuv420p10le', 'yuv422p12le':
            with self.subTest(pixel_format):
                self.refused('run', '-i', source(61, pixel_format), '-vf', 'null',
                             self.path('out.y4m'), says=('odd widths', '61x47', '.nut'))
        self.assertEqual(os.listdir(self.folder), [])

    def test_audio_that_the_container_cannot_hold(self):
        for name in ('out.mxf', 'out.mpg', 'out.ogv', 'out.vob'):
            with self.subTest(name):
                self.refused('run', '-i', plain_clip(), '-vf', 'null', self.path(name),
                             says=('stream 1', 'aac', '-c:a', '-an'))
        self.assertEqual(os.listdir(self.folder), [])
        self.filtered(plain_clip(), 'out.mpg', '-c:a', 'mp2')
        self.filtered(plain_clip(), 'out.ogv', '-c:a', 'libvorbis')

    def test_audio_with_tags_of_windows_in_matroska(self):
        for codec, rate, suffix in (('pcm_alaw', 8000, '.mov'), ('pcm_mulaw', 8000, '.mov'),
                                    ('adpcm_ms', 22050, '.mov'), ('adpcm_ima_wav', 22050, '.mov'),
                                    ('g722', 16000, '.mov'), ('g726', 8000, '.mov'),
                                    ('wmav1', 44100, '.wmv'), ('wmav2', 44100, '.wmv')):
            with self.subTest(codec):
                source = clip(suffix, *video_source(), *audio_source(rate=rate), '-ac', '1',
                              '-c:v', 'mpeg4', '-c:a', codec)
                output = self.filtered(source, 'out.mkv')
                self.assertEqual(halotest.audio_samples_md5(output),
                                 halotest.audio_samples_md5(clip('.mkv', '-i', source, '-c', 'copy')))
                self.assert_audio_same(source, output, shift=0)

    def test_audio_whose_times_avi_cannot_hold(self):
        for codec, rate in (('eac3', 48000), ('g722', 16000)):
            source = clip('.mkv', *video_source(), *audio_source(rate=rate), '-c:v', 'mpeg4',
                          '-c:a', codec)
            self.refused('run', '-i', source, '-vf', 'null', self.path('out.avi'),
                         says=('stream 1', '.mkv'))

    def test_streams_that_the_muxer_refuses(self):
        self.refused('run', '-i', plain_clip(), '-vf', 'null', '-c:a', 'pcm_s16le',
                     self.path('out.mxf'), says=('mxf', '48khz', '-an'))
        self.assertEqual(os.listdir(self.folder), [])

    def test_muxer_by_option(self):
        output = self.filtered(plain_clip(), 'out.bin', '-f', 'matroska')
        self.assertIn('matroska', probe(output)['format']['format_name'])

    def test_avi_input(self):
        source = clip('.avi', *video_source(), *audio_source(), '-c:v', 'mpeg4', '-c:a',
                      'libmp3lame')
        output = self.filtered(source, 'out.mkv')
        self.assert_video_times(source, output)

    def test_elementary_stream_input(self):
        source = silent_clip('.h264')
        output = self.filtered(source, 'out.mkv')
        self.assertEqual(frame_count(output), 25)

    def test_gif_like_rgb_input(self):
        source = clip('.gif', *video_source(seconds=1, rate=10))
        output = self.filtered(source, 'out.mkv')
        self.assert_video_times(source, output)


class Pipes(HaloTest):
    def test_stdout(self):
        for name, suffix in (('matroska', '.mkv'), ('mpegts', '.ts'), ('nut', '.nut')):
            with self.subTest(name):
                source = mp3_clip('.mkv')
                run = self.halod('run', '-i', source, '-vf', 'null', '-f', name, '-')
                output = self.path('piped' + suffix)
                with open(output, 'wb') as file:
                    file.write(run.out)
                self.assert_video_times(source, output)
                self.assertEqual([p['data_hash'] for p in halotest.packets(output, 'a:0')],
                                 [p['data_hash'] for p in halotest.packets(source, 'a:0')])

    def test_formats_that_do_not_go_into_a_pipe(self):
        for name in ('mp4', 'mov'):
            self.refused('run', '-i', plain_clip(), '-vf', 'null', '-f', name, '-',
                         says=(name, '-f nut', 'matroska', 'mpegts'))

    def test_stdout_needs_a_format(self):
        self.refused('run', '-i', plain_clip(), '-vf', 'null', '-', says='-f')

    def test_stdin(self):
        for suffix in ('.mkv', '.ts', '.nut'):
            with self.subTest(suffix):
                source = mp3_clip(suffix)
                output = self.path('out.mkv')
                self.halod('run', '-i', '-', '-vf', 'null', '-c:v', 'ffv1', '-y', output,
                           data=read(source))
                self.assertEqual(frame_hashes(output), frame_hashes(source))
                self.assert_video_times(source, output)

    def test_stdin_mp4_with_its_index_in_front(self):
        source = plain_clip('.mp4', 2, extra=('-movflags', 'faststart'))
        output = self.path('out.mp4')
        self.halod('run', '-i', '-', '-vf', 'null', output, data=read(source))
        self.assert_whole(source, output)

    def test_stdin_to_stdout(self):
        source = mp3_clip('.mkv')
        run = self.halod('run', '-i', '-', '-vf', 'null', '-c:v', 'ffv1', '-f', 'nut', '-',
                         data=read(source))
        output = self.path('piped.nut')
        with open(output, 'wb') as file:
            file.write(run.out)
        self.assertEqual(frame_hashes(output), frame_hashes(source))

    def test_raw_video_from_stdin(self):
        source = silent_clip('.mkv')
        raw = halotest.raw_frames(source)
        output = self.path('out.mkv')
        self.halod('run', '-f', 'rawvideo', '-pixel_format', 'yuv420p', '-video_size', '160x120',
                   '-framerate', '25', '-i', '-', '-vf', 'null', '-c:v', 'ffv1', output, data=raw)
        self.assertEqual(halotest.raw_frames(output), raw)
        self.assertEqual([round(float(t) * 1000) for t in frame_times(output)],
                         [40 * n for n in range(25)])

    def test_sizes_in_stdout(self):
        """Muxers of AVI go back within what has not been written yet."""
        run = self.halod('run', '-i', silent_clip('.mkv', 1), '-vf', 'null', '-c:v', 'rawvideo',
                         '-f', 'avi', '-')
        with open(self.path('out.avi'), 'wb') as file:
            file.write(run.out)
        self.assertEqual(halotest.raw_frames(self.path('out.avi')),
                         halotest.raw_frames(silent_clip('.mkv', 1)))

    def test_empty_stdin(self):
        self.refused('run', '-i', '-', '-vf', 'null', self.path('out.mkv'), code=1, data=b'')
        self.assertEqual(os.listdir(self.folder), [])

    def test_reader_of_stdout_goes_away(self):
        process = halotest.start_halod('run', '-i', silent_clip('.mkv', 4), '-vf', 'null', '-c:v',
                                       'rawvideo', '-f', 'nut', '-')
        process.stdout.read(1000)
        process.stdout.close()
        error = process.stderr.read().decode()
        self.assertEqual(process.wait(30), 1, error)
        process.stderr.close()
        self.assertEqual(len([x for x in error.splitlines() if 'pipe' in x.lower()]), 1, error)

    def test_null(self):
        run = self.halod('run', '-i', plain_clip('.mp4', 2), '-vf', 'gblur=sigma=2', '-progress',
                         self.path('progress'), 'null:')
        self.assertEqual(run.out, b'')
        self.assertEqual(os.listdir(self.folder), ['progress'])
        self.assertIn('frame=50', read(self.path('progress')).decode().split())

    def test_named_pipe(self):
        """Pipes are not atomic: what comes out is written as it comes."""
        pipe, source, got = self.path('pipe.ts'), mp3_clip('.mkv'), []
        os.mkfifo(pipe)
        reader = threading.Thread(target=lambda: got.append(read(pipe)), daemon=True)
        reader.start()
        self.halod('run', '-y', '-i', source, '-vf', 'null', '-f', 'mpegts', pipe)
        reader.join(halotest.RUN_TIMEOUT)
        self.assertTrue(got, 'nothing came through the pipe')
        output = self.path('piped.ts')
        with open(output, 'wb') as file:
            file.write(got[0])
        self.assert_video_times(source, output)
        self.assertTrue(halotest.call(['stat', '-c', '%F', pipe]).startswith(b'fifo'))

    def test_file_url(self):
        source = plain_clip()
        output = self.path('out.mp4')
        self.halod('run', '-i', 'file:' + source, '-vf', 'null', 'file:' + output)
        self.assert_whole(source, output)


if __name__ == '__main__':
    halotest.main()
