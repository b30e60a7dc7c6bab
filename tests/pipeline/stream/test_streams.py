# SPDX-License-Identifier: BSD-2-Clause
# What is in the file besides pictures: audio, subtitles, chapters, tags, attachments, data.
# HALOTEST_MATRIX=whole takes HDR10 of every container to every encoder.
import base64
import os
import struct
from fractions import Fraction

import halotest
from halotest import (BT2020_PQ, WHOLE, HaloTest, X264, audio_source, clip, each, ffmpeg, need, plain_clip,
                      probe, probe_video, real_videos, streams, video_source, with_colours)
from halotest.flashbeep import is_whole


def frame_fields(path):
    frames = halotest.ffprobe(path, '-select_streams', 'v', '-show_entries', 'frame=interlaced_frame')
    return {frame['interlaced_frame'] for frame in frames['frames']}


class Whole(HaloTest):
    def test_b_frames_and_aac(self):
        """By the encoder that is taken where none is named; and a copy of sound may be said openly."""
        for suffix, options in (('.mp4', ()), ('.mkv', ('-c:a', 'copy'))):
            with self.subTest(suffix):
                source = plain_clip(suffix)
                output = self.filtered(source, 'out' + suffix, *options, chain='gblur=sigma=2')
                self.assert_whole(source, output)
                self.assertEqual(probe_video(output)['codec_name'], 'h264')
                self.assertEqual(probe_video(output).get('field_order'), 'progressive')

    def test_chosen_encoder_and_its_options(self):
        source = plain_clip()
        output = self.filtered(source, 'out.mkv', '-c:v', 'mpeg4', '-b:v', '300k')
        self.assertEqual(probe_video(output)['codec_name'], 'mpeg4')
        self.assert_whole(source, output)

    def test_quality_reaches_the_encoder(self):
        for fine, rough in (('-crf', '10'), ('-crf', '45')), (('-b:v', '2M'), ('-b:v', '50k')):
            sizes = [os.path.getsize(self.filtered(plain_clip(), 'out.mp4', '-an', '-preset', 'ultrafast', *options))
                     for options in (fine, rough)]
            self.assertGreater(sizes[0], 2 * sizes[1], fine)

    def test_unknown_preset(self):
        """x264 would print a line of its own."""
        for codec in ('libx264', 'libx265'):
            self.refused('run', '-i', plain_clip(), '-vf', 'null', '-c:v', codec, '-preset', 'fats',
                         self.path('out.mkv'), says=('fats', 'nearest: fast'))

    def test_single_frame(self):
        source = clip('.mp4', *video_source(), *X264, '-frames:v', '1')
        output = self.filtered(source, 'out.mp4', chain='gblur=sigma=3')
        self.assert_video_times(source, output)

    def test_audio_and_video_of_other_lengths(self):
        for suffix, (pictures, sound) in each(('.mp4', '.mkv'), ((1, 2), (2, 1))):
            source = clip(suffix, *video_source(seconds=pictures), *audio_source(sound), *X264, '-c:a', 'aac')
            with self.subTest(suffix):
                self.assert_whole(source, self.filtered(source, 'out' + suffix))

    def test_open_gop(self):
        source = clip('.mkv', *video_source(seconds=2), '-c:v', 'libx264', '-pix_fmt', 'yuv420p',
                      '-x264-params', 'open-gop=1:keyint=10:min-keyint=10:bframes=3:b-adapt=0')
        need(probe_video(source)['has_b_frames'] > 0, 'B-frames', source)
        self.assert_whole(source, self.filtered(source, 'out.mkv'))

    def test_no_audio(self):
        output = self.filtered(plain_clip(), 'out.mp4', '-an')
        self.assertEqual(streams(output, 'audio'), [])
        self.assert_video_times(plain_clip(), output)

    def test_two_video_streams(self):
        source = clip('.mp4', *video_source(), '-f', 'lavfi', '-i',
                      'smptebars=size=96x80:rate=10:duration=1', '-map', '0', '-map', '1', *X264)
        need(len(real_videos(source)) == 2, 'two video streams', source)
        output = self.filtered(source, 'out.mp4', chain='gblur=sigma=4')
        self.assert_whole(source, output)
        self.assertEqual([(s['width'], s['height']) for s in real_videos(output)],
                         [(160, 120), (96, 80)])


class Audio(HaloTest):
    def several(self):
        source = clip('.mkv', *video_source(), *audio_source(1, 440), *audio_source(1, 660),
                      *audio_source(1, 880, 48000), '-map', '0', '-map', '1', '-map', '2',
                      '-map', '3', *X264, '-c:a:0', 'aac', '-c:a:1', 'libmp3lame', '-c:a:2', 'ac3',
                      '-metadata:s:a:0', 'language=eng', '-metadata:s:a:1', 'language=deu',
                      '-metadata:s:a:2', 'language=fra', '-metadata:s:a:1', 'title=Kommentar',
                      '-disposition:a:0', '0', '-disposition:a:1', 'default',
                      '-disposition:a:2', 'comment')
        found = streams(source, 'audio')
        need([s['disposition']['default'] for s in found] == [0, 1, 0], 'dispositions', source)
        need(found[2]['disposition']['comment'] == 1, 'a comment track', source)
        return source

    def test_several_tracks(self):
        """With their dispositions and titles."""
        source = self.several()
        wanted = streams(source, 'audio')
        for name in ('out.mkv', 'out.mp4'):
            with self.subTest(name):
                output = self.filtered(source, name)
                self.assert_whole(source, output)
                got = streams(output, 'audio')
                self.assertEqual([s['codec_name'] for s in got], [s['codec_name'] for s in wanted])
                self.assertEqual([s['tags']['language'] for s in got], ['eng', 'deu', 'fra'])
                if name == 'out.mkv':
                    self.assertEqual([s['disposition'] for s in got], [s['disposition'] for s in wanted])
                    self.assertEqual(got[1]['tags']['title'], 'Kommentar')

    def test_codecs(self):
        for codec, rate in (('libopus', 48000), ('flac', 44100), ('pcm_s16le', 44100)):
            suffix = '.mov' if codec == 'pcm_s16le' else '.mkv'
            with self.subTest(codec):
                source = clip(suffix, *video_source(), *audio_source(1, 440, rate), *X264, '-c:a', codec)
                output = self.filtered(source, 'out' + suffix)
                self.assert_video_times(source, output)
                self.assertEqual(streams(output, 'audio')[0]['codec_name'], streams(source, 'audio')[0]['codec_name'])
                self.assertEqual(halotest.audio_samples_md5(output), halotest.audio_samples_md5(source))
                if suffix == '.mkv':
                    self.assert_audio_same(source, output)

    def test_transcoded(self):
        source = clip('.mkv', *video_source(), *audio_source(), *X264, '-c:a', 'pcm_s16le')
        output = self.filtered(source, 'out.mkv', '-c:a', 'flac')
        self.assertEqual(streams(output, 'audio')[0]['codec_name'], 'flac')
        self.assertEqual(halotest.audio_samples_md5(output), halotest.audio_samples_md5(source))

    def test_refused(self):
        self.refused('run', '-i', plain_clip(), '-vf', 'null', '-c:a', 'flacc', self.path('out.mkv'), says='flac')
        source = clip('.m4a', *audio_source(), '-c:a', 'aac')
        self.refused('run', '-i', source, '-vf', 'null', self.path('out.mp4'), code=1, says='video')
        self.assertFalse(os.path.exists(self.path('out.mp4')))


class Tags(HaloTest):
    def color(self, primaries, transfer, matrix, colour_range='tv', suffix='.mp4'):
        source = clip(suffix, *video_source(), *X264, *with_colours(
            'yuv420p', color_primaries=primaries, color_trc=transfer, colorspace=matrix,
            range=colour_range))
        names = ('color_primaries', 'color_transfer', 'color_space', 'color_range')
        wanted = {name: probe_video(source).get(name) for name in names}
        need(list(wanted.values()) == [primaries, transfer, matrix, colour_range], 'tags', source)
        for output in ('out' + suffix, 'lossless.mkv'):
            options = ('-c:v', 'ffv1') if output == 'lossless.mkv' else ()
            found = probe_video(self.filtered(source, output, *options))
            self.assertEqual({name: found.get(name) for name in names}, wanted, output)

    def test_colours(self):
        self.color('smpte170m', 'smpte170m', 'smpte170m', suffix='.mkv')
        self.color('bt2020', 'smpte2084', 'bt2020nc')
        self.color('bt709', 'iec61966-2-1', 'bt709', 'pc')

    def test_hdr10(self):
        """The mastering display and light levels, from SEI (.ts) and from containers."""
        master = 'G(13250,34500)B(7500,3000)R(34000,16000)WP(15635,16450)L(10000000,50)'
        for suffix in ('.ts', '.mkv', '.mp4'):
            source = clip(suffix, *video_source(), '-frames:v', '8',
                          *with_colours('yuv420p10le', **BT2020_PQ), '-c:v', 'libx265',
                          '-x265-params',
                          f'log-level=none:master-display={master}:max-cll=1000,400')
            need(self.light(source) == {(1000, 400), (Fraction(34, 50), 1000)}, 'HDR10', source)
            outputs = (('libx265', 'out.ts'), ('libx265', 'out.mp4'), ('libx264', 'out.mkv'),
                       ('libsvtav1', 'out.mkv'))  # all of them from one form, of the others one
            for codec, name in outputs if suffix == '.ts' or is_whole() else outputs[2:3]:
                with self.subTest(f'{suffix} to {codec} in {name}'):
                    output = self.filtered(source, name, '-c:v', codec, '-preset',
                                           '12' if codec == 'libsvtav1' else 'ultrafast')
                    self.assertEqual(self.light(output),
                                     {(1000, 400), (Fraction(34, 50), 1000)})
                    self.assert_video_times(source, output)

    @staticmethod
    def light(path):
        """Light levels, and the red primary and largest luminance of the display."""
        frame = halotest.ffprobe(path, '-select_streams', 'v', '-read_intervals', '%+#1',
                                 '-show_frames')['frames'][0]
        found = set()
        for side in frame.get('side_data_list', []) + probe_video(path).get('side_data_list', []):
            if 'max_content' in side:
                found.add((side['max_content'], side['max_average']))
            if 'red_x' in side:
                red = Fraction(side['red_x']).limit_denominator(1000)
                found.add((red, Fraction(side['max_luminance'])))
        return found

    def test_unspecified_stays_unspecified(self):
        source = plain_clip()
        found, wanted = probe_video(self.filtered(source, 'out.mp4')), probe_video(source)
        for name in ('color_primaries', 'color_transfer', 'color_space'):
            self.assertEqual(found.get(name), wanted.get(name), name)

    def test_sample_aspect_ratio(self):
        for suffix in ('.mp4', '.mkv'):
            source = clip(suffix, *video_source(), '-vf', 'setsar=4/3', *X264)
            need(probe_video(source)['sample_aspect_ratio'] == '4:3', 'aspect ratio', source)
            with self.subTest(suffix):
                found = probe_video(self.filtered(source, 'out' + suffix))
                self.assertEqual(found['sample_aspect_ratio'], '4:3')

    def test_interlaced(self):
        def fields(path):
            frames = halotest.ffprobe(path, '-select_streams', 'v', '-show_entries',
                                      'frame=interlaced_frame,top_field_first')['frames']
            return (probe_video(path).get('field_order'),
                    {(f['interlaced_frame'], f['top_field_first']) for f in frames})
        for (order, top), (codec, name) in each(
                (('tff', 1), ('bff', 0)), (('libx264', 'out.mp4'), ('mpeg2video', 'out.ts'), ('mpeg4', 'out.mkv'))):
            source = clip('.mp4', *video_source('160x128', 50), '-vf', 'interlace=scan=' + order,
                          *X264, '-x264opts', order + '=1')
            need(fields(source) == ('tt' if top else 'bb', {(1, top)}), 'fields', source)
            with self.subTest(f'{order} {codec}'):
                self.assertEqual(fields(self.filtered(source, name, '-c:v', codec)), fields(source))

    def test_interlaced_where_only_frames_say_so(self):
        """Neither DV nor AVI declares it."""
        fields = ('-vf', 'setfield=tff', '-flags', '+ilme+ildct', '-c:v')
        for source, codec in each(
                (clip('.dv', *video_source('720x576'), '-target', 'pal-dv', '-an', '-frames:v', '5'),
                 clip('.avi', *video_source(), *fields, 'mpeg4'), clip('.mpg', *video_source(), *fields, 'mpeg2video')),
                ('libx264', 'mpeg2video', 'mpeg4')):
            need(frame_fields(source) == {1}, 'interlaced frames', source)
            with self.subTest(f'{source[-4:]} {codec}'):
                self.assertEqual(frame_fields(self.filtered(source, 'out.mkv', '-c:v', codec)), {1})

    def test_interlaced_where_nothing_can_say_so(self):
        source = clip('.avi', *video_source(), '-flags', '+ilme+ildct', '-c:v', 'mpeg4')
        for options, name in ((('-c:v', 'mjpeg'), 'out.mp4'), (('-c:v', 'rawvideo'), 'out.avi')):
            run = self.halod('run', '-i', source, '-vf', 'null', *options, self.path(name))
            self.says_once(run, 'interlaced')

    def test_interlaced_where_the_container_says_otherwise(self):
        source = clip('.mkv', *video_source(), *X264, '-x264opts', 'tff=1')
        need(probe_video(source)['field_order'] == 'progressive' and frame_fields(source) == {1},
             'frames that are interlaced, and a container that denies it', source)
        self.assertEqual(frame_fields(self.filtered(source, 'out.mp4')), {1})
        for codec in ('ffv1', 'libx265'):
            with self.subTest(codec):
                output = self.filtered(source, 'out.mkv', '-c:v', codec)
                self.assertIn(probe_video(output)['field_order'], ('tt', 'bb'))

    def test_interlaced_says_one_order(self):
        for order, name in each(('tff', 'bff'), ('out.mp4', 'out.mkv', 'out.ts')):
            source = halotest.interlaced_clip(order)
            with self.subTest(f'{order} {name}'):
                self.assert_field_order(self.filtered(source, name), order)

    def write(self, name, data):
        with open(self.path(name), 'wb') as file:
            file.write(data)
        return self.path(name)

    def spherical(self):
        """An MP4 as cameras for 360 degrees mark it (Spherical Video V1)."""
        words = ''.join(f'<GSpherical:{key}>{value}</GSpherical:{key}>' for key, value in (
            ('Spherical', 'true'), ('Stitched', 'true'), ('StitchingSoftware', 'none'),
            ('ProjectionType', 'equirectangular'), ('StereoMode', 'top-bottom')))
        box = (bytes.fromhex('ffcc8263f8554a938814587a02521fdd') +
               f'<rdf:SphericalVideo>{words}</rdf:SphericalVideo>'.encode())
        box = struct.pack('>I4s', len(box) + 8, b'uuid') + box
        with open(clip('.mp4', *video_source(), *X264), 'rb') as file:
            data = bytearray(file.read())
        moov, trak = data.index(b'moov') - 4, data.index(b'trak') - 4
        need(moov > data.index(b'mdat'), 'its header at the end', 'mp4')
        end = trak + struct.unpack_from('>I', data, trak)[0]
        for at in moov, trak:
            struct.pack_into('>I', data, at, struct.unpack_from('>I', data, at)[0] + len(box))
        return self.write('round.mp4', data[:end] + box + data[end:])

    def test_360_degrees(self):
        source = self.spherical()
        need('Spherical Mapping' in str(streams(source)), 'a spherical mark', source)
        for name in ('out.mkv', 'out.mp4', 'out.webm') if WHOLE else ('out.mkv', 'out.mp4'):
            with self.subTest(name):
                found = str(streams(self.filtered(source, name)))
                self.assertIn('Spherical Mapping', found)
                self.assertIn('Stereo 3D', found)
        for name in ('out.mov', 'out.ts'):
            with self.subTest(name):
                run = self.halod('run', '-i', source, '-vf', 'null', self.path(name))
                self.says_once(run, '360-degree video')
                self.says_once(run, 'two views')

    def test_second_layer_of_hevc(self):
        source = clip('.mp4', *video_source(), '-c:v', 'libx265', '-preset', 'ultrafast',
                      '-x265-params', 'log-level=none')
        with open(source, 'rb') as file:
            data = bytearray(file.read())
        data[data.index(b'\x40\x01\x0c', data.index(b'hvcC')) + 3] |= 0x10
        for path, times in ((source, 0), (self.write('layers.mp4', data), 1)):
            run = self.halod('run', '-y', '-i', path, '-vf', 'null', self.path('out.mp4'))
            self.assertEqual(run.err.count('only its first layer'), times)

    def test_profile_of_colours(self):
        with open(clip('.jpg', *video_source(), '-frames:v', '1'), 'rb') as file:
            data = file.read()
        profile = b'ICC_PROFILE\0\x01\x01' + bytes(128)
        data = data[:2] + struct.pack('>HH', 0xffe2, len(profile) + 2) + profile + data[2:]
        run = self.halod('run', '-f', 'mjpeg', '-i', self.write('a.mjpeg', data * 3), '-vf', 'null',
                         self.path('out.mp4'))
        self.says_once(run, 'ICC profile')

    def test_two_views(self):
        source = clip('.mkv', *video_source(), *X264, '-metadata:s:v', 'stereo_mode=left_right')
        need('Stereo 3D' in str(streams(source)), 'a stereo mark', source)
        self.assertIn('Stereo 3D', str(streams(self.filtered(source, 'out.mkv'))))
        run = self.halod('run', '-i', source, '-vf', 'null', self.path('out.ts'))
        self.says_once(run, 'two views')

    def test_rotation(self):
        upright = plain_clip()
        for degrees in (90, 180, 270) if WHOLE else (270,):
            source = halotest.turned_clip(upright, degrees)
            wanted = probe_video(source)
            with self.subTest(degrees):
                output = self.filtered(source, f'out{degrees}.mp4', chain='gblur=sigma=2')
                found = probe_video(output)
                self.assertEqual(halotest.rotation(found), halotest.rotation(wanted))
                self.assertEqual((found['width'], found['height']), (160, 120))
                says = f'{-halotest.rotation(wanted) % 360} degrees clockwise'
                lost = self.halod('run', '-i', source, '-vf', 'null', self.path(f'{degrees}.avi'))
                self.says_once(lost, says)
                # Newer versions of FFmpeg store it in Matroska, too: either there is it, or a line.
                run = self.halod('run', '-i', source, '-vf', 'null', self.path(f'{degrees}.mkv'))
                kept = halotest.rotation(probe_video(self.path(f'{degrees}.mkv')))
                self.assertEqual(run.err.count(says), kept != halotest.rotation(wanted))

    def tagged(self, suffix):
        lines = (';FFMETADATA1\ntitle=A walk: half = done\nartist=Jos\u00e9\ncomment=two\\\nlines\n'
                 '[CHAPTER]\nTIMEBASE=1/1000\nSTART=0\nEND=400\ntitle=One\n'
                 '[CHAPTER]\nTIMEBASE=1/1000\nSTART=400\nEND=1000\ntitle=Zw\u00f6lf\n')
        notes = self.path('notes.ffmeta')
        with open(notes, 'w', encoding='utf-8') as file:
            file.write(lines)
        source = self.path('tagged' + suffix)
        ffmpeg('-i', plain_clip(), '-i', notes, '-map', '0', '-map_metadata', '1',
               '-map_chapters', '1', '-metadata:s:v', 'language=nor', '-c', 'copy', source)
        need(len(probe(source)['chapters']) == 2, 'chapters', source)
        return source

    def test_metadata_and_chapters(self):
        def chapters(path):
            return [(round(float(c['start_time']), 2), round(float(c['end_time']), 2),
                     c['tags']['title']) for c in probe(path)['chapters']]
        for suffix in ('.mp4', '.mkv'):
            source = self.tagged(suffix)
            with self.subTest(suffix):
                output = self.filtered(source, 'out' + suffix)
                wanted = halotest.lower_tags(probe(source)['format'])
                found = halotest.lower_tags(probe(output)['format'])
                for name in ('title', 'artist', 'comment'):
                    self.assertEqual(found.get(name), wanted[name], name)
                self.assertEqual(probe_video(output)['tags'].get('language'), 'nor')
                self.assertEqual(chapters(output), chapters(source))
                output = self.filtered(source, 'out' + suffix, '-map_metadata', '-1')
                found = halotest.lower_tags(probe(output)['format'])
                for name in ('title', 'artist', 'comment'):
                    self.assertNotIn(name, found)
                self.assertEqual(probe(output)['chapters'], [])
        self.refused('run', '-i', plain_clip(), '-vf', 'null', '-map_metadata', 'x',
                     self.path('out.mp4'), says='map_metadata')

    def test_chapters_end_with_the_excerpt(self):
        for suffix in ('.mp4', '.mkv', '.mov'):
            with self.subTest(suffix):
                output = self.filtered(self.tagged('.mp4'), 'out' + suffix, '-ss', '0.2', '-t', '0.4')
                self.assertLess(halotest.length(output), 0.5)
                self.assertLessEqual(float(probe(output)['chapters'][-1]['end_time']), 0.41)

    def test_chapter_track_of_mp4_is_no_stranger(self):
        source = self.tagged('.mp4')
        need(len(streams(source, 'data')) == 1, 'a chapter track', source)
        for options in ((), ('-copy_unfiltered',)):
            run = self.halod('run', '-i', source, '-vf', 'gblur', '-y', *options,
                             self.path('out.mp4'))
            self.assertNotIn('dropped', run.err)

    def test_alpha_is_not_declared(self):
        """The pictures of the output have none."""
        source = clip('.mkv', *video_source(), *X264, '-metadata:s:v', 'alpha_mode=1')
        need(halotest.lower_tags(probe_video(source)).get('alpha_mode') == '1', 'alpha', source)
        output = self.filtered(source, 'out.mkv')
        self.assertNotIn('alpha_mode', halotest.lower_tags(probe_video(output)))


SRT = ('1\n00:00:00,100 --> 00:00:00,500\nHello there\n\n'
       '2\n00:00:00,600 --> 00:00:00,900\nTwo lines\nGr\u00fc\u00dfe\n')


class Subtitles(HaloTest):
    def subtitled(self, suffix, codec):
        text = self.path('words.srt')
        with open(text, 'w', encoding='utf-8') as file:
            file.write(SRT)
        source = self.path('subtitled' + suffix)
        ffmpeg('-i', plain_clip(), '-i', text, '-map', '0', '-map', '1', '-c', 'copy', '-c:s',
               codec, '-metadata:s:s:0', 'language=swe', source)
        need(streams(source, 'subtitle')[0]['codec_name'] == codec, codec, source)
        return source

    def assert_subtitles(self, source, output):
        found = streams(output, 'subtitle')
        self.assertEqual(len(found), 1, 'subtitle streams')
        self.assertEqual(found[0]['tags'].get('language'), 'swe')
        shift = float(self.common_shift(source, output))
        wanted, got = halotest.subtitle_text(source), halotest.subtitle_text(output)
        if abs(shift) < 0.001:
            self.assertEqual(got, wanted)
        self.assertIn('Hello there', got)
        self.assertIn('Gr\u00fc\u00dfe', got)

    def test_kept(self):
        for suffix, codec, name, got in (
                ('.mkv', 'subrip', 'out.mkv', 'subrip'), ('.mp4', 'mov_text', 'out.mp4', 'mov_text'),
                ('.mkv', 'ass', 'out.mkv', 'ass'), ('.mkv', 'subrip', 'out.mp4', 'mov_text'),
                ('.mp4', 'mov_text', 'out.mkv', 'subrip')):
            with self.subTest(f'{codec} to {name}'):
                source = self.subtitled(suffix, codec)
                output = self.filtered(source, name)
                self.assertEqual(streams(output, 'subtitle')[0]['codec_name'], got)
                self.assert_subtitles(source, output)
                if got == codec != 'ass':
                    self.assert_whole(source, output)

    def test_the_one_that_is_shown_at_a_seek(self):
        source = self.subtitled('.mkv', 'subrip')
        output = self.filtered(source, 'out.mkv', '-an', '-ss', '0.28')
        self.assertRegex(halotest.subtitle_text(output),
                         r'^1\n00:00:00,000 --> 00:00:00,2[0-4].\nHello there\n')

    def test_where_the_container_has_no_subtitles(self):
        source, output = self.subtitled('.mkv', 'subrip'), self.path('out.avi')
        run = self.halod('run', '-i', source, '-vf', 'null', '-c:v', 'mpeg4', output)
        self.assertEqual(streams(output, 'subtitle'), [])
        self.says_once(run, 'subtitle')


def font(*tables):
    """A TrueType file of these tables behind the one that all have; parsers ask no more of it."""
    tables = ((b'head', bytes(12) + bytes.fromhex('5f0f3cf5') + bytes(38)), *tables)
    directory, data = b'', b''
    for name, content in tables:
        place = 12 + 16 * len(tables) + len(data)
        directory += name + struct.pack('>III', 0, place, len(content))
        data += content + bytes(-len(content) % 4)
    return struct.pack('>IHHHH', 0x10000, len(tables), 0, 0, 0) + directory + data


def picture(size=4000):
    """What begins as a picture and has a mark that is found wherever it comes out again."""
    return b'\x89PNG\r\n\x1a\n' + (b'the raw picture ' * (size // 16))


MARK_64 = base64.b64encode(bytes(8) + b'the raw picture the raw picture')[12:36]  # behind 8 bytes


class Attachments(HaloTest):
    def attached(self, *files):
        source, command = self.path('attached.mkv'), ['-i', plain_clip('.mkv'), '-c', 'copy']
        for index, (name, mime, content) in enumerate(files):
            with open(self.path(name), 'wb') as file:
                file.write(content)
            command += ['-attach', self.path(name), f'-metadata:s:t:{index}', 'mimetype=' + mime,
                        f'-metadata:s:t:{index}', 'filename=' + name]
        ffmpeg(*command, source)
        return source

    def test_font_is_kept(self):
        """And what is beside it dropped, with a line."""
        content = font((b'glyf', bytes(range(256))), (b'name', b'halo'))
        source = self.attached(('halo.ttf', 'application/x-truetype-font', content),
                               ('notes.txt', 'text/plain', b'the raw truth'))
        need(streams(source, 'attachment')[0]['codec_name'] == 'ttf', 'a font', source)
        output = self.path('out.mkv')
        run = self.halod('run', '-i', source, '-vf', 'gblur=sigma=2', output)
        self.says_once(run, 'attach|notes.txt')
        found = streams(output, 'attachment')
        self.assertEqual([s['tags']['filename'] for s in found], ['halo.ttf'])
        self.assertEqual(found[0]['tags']['mimetype'], 'application/x-truetype-font')
        ffmpeg('-dump_attachment:t:0', self.path('dumped.ttf'), '-i', output, '-map', '0:v', '-f',
               'null', '-')
        with open(self.path('dumped.ttf'), 'rb') as file:
            self.assertEqual(file.read(), content)

    def test_font_is_judged_by_its_bytes(self):
        """What claims to be one may show what the filters hide; its own label is no proof (test_embedded.c)."""
        source = self.attached(('halo.ttf', 'application/x-truetype-font', font() + picture()))
        need(len(streams(source, 'attachment')) == 1, 'an attachment', source)
        run = self.halod('run', '-i', source, '-vf', 'gblur=sigma=8', self.path('out.mkv'))
        self.assertEqual(streams(self.path('out.mkv'), 'attachment'), [])
        self.says_once(run, 'an attachment may show')
        with open(self.path('out.mkv'), 'rb') as file:
            self.assertNotIn(b'the raw picture', file.read())
        self.filtered(source, 'out.mkv', '-copy_unfiltered')
        self.assertEqual(len(streams(self.path('out.mkv'), 'attachment')), 1)

    def test_picture_attached_to_mkv_is_not_passed_on(self):
        picture = clip('.png', *video_source(), '-frames:v', '1')
        with open(picture, 'rb') as file:
            source = self.attached(('cover.png', 'image/png', file.read()))
        need(any(s['disposition']['attached_pic'] for s in streams(source, 'video')),
             'a cover', source)
        run = self.halod('run', '-i', source, '-vf', 'gblur=sigma=8', self.path('out.mkv'))
        self.assert_cover_gone_or_filtered(source, self.path('out.mkv'), run)

    def assert_cover_gone_or_filtered(self, source, output, run):
        self.assertEqual(len(real_videos(output)), 1)
        covers = [s for s in streams(output, 'video') if s['disposition']['attached_pic']]
        if not covers:
            self.says_once(run, 'cover|attached|picture|thumbnail')
        kept = [s['index'] for s in covers]
        raw = {h for s in streams(source, 'video') for h in
               halotest.frame_hashes(source, f"0:{s['index']}", 'yuv444p')}
        for index in kept:
            self.assertTrue(raw.isdisjoint(halotest.frame_hashes(output, f'0:{index}', 'yuv444p')),
                            'the cover came through unfiltered')
        self.assertEqual(streams(output, 'attachment'), [])

    def test_cover_art_in_mp4(self):
        picture = clip('.png', *video_source(), '-frames:v', '1')
        source = clip('.mp4', '-i', plain_clip(), '-i', picture, '-map', '0', '-map', '1', '-c',
                      'copy', '-disposition:v:1', 'attached_pic')
        need(streams(source, 'video')[1]['disposition']['attached_pic'], 'a cover', source)
        run = self.halod('run', '-i', source, '-vf', 'gblur=sigma=8', self.path('out.mp4'))
        self.assert_cover_gone_or_filtered(source, self.path('out.mp4'), run)
        self.assert_video_times(source, self.path('out.mp4'))

    def test_picture_in_a_tag(self):
        """Of the file, of a stream; other tags stay."""
        secret = 'AAAAA' * 50
        source = clip('.mkv', '-i', plain_clip(), '-map', '0', '-c', 'copy',
                      '-metadata', 'METADATA_BLOCK_PICTURE=' + secret,
                      '-metadata', 'COVERART=' + secret, '-metadata', 'coverartist=Anna',
                      '-metadata:s:a', 'METADATA_BLOCK_PICTURE-eng=' + secret,
                      '-metadata:s:v', 'CoverArt=' + secret, '-metadata:s:v', 'title=Sunday')
        with open(source, 'rb') as file:
            need(file.read().count(secret.encode()) == 4, 'pictures in tags', source)
        for name in ('out.mkv', 'out.nut', 'out.mp4'):
            with self.subTest(name):
                run = self.halod('run', '-i', source, '-vf', 'gblur=sigma=8', self.path(name))
                self.says_once(run, 'tag METADATA_BLOCK_PICTURE is dropped: a cover')
                with open(self.path(name), 'rb') as file:
                    self.assertNotIn(b'AAAAA', file.read())
        found = probe(self.path('out.mkv'))
        self.assertEqual(found['format']['tags'].get('COVERARTIST'), 'Anna')
        self.assertEqual(probe_video(self.path('out.mkv'))['tags'].get('title'), 'Sunday')


class PicturesInMetadata(HaloTest):
    """In tags under any name, and in headers of codecs that are copied: what is one, is asked in
    tests/pipeline/input/test_embedded.c."""

    def test_in_tags_of_chapters(self):
        text = base64.b64encode(picture(1600)).decode().rstrip('=')
        chapters = self.path('chapters')
        with open(chapters, 'w', encoding='ascii') as file:
            file.write(';FFMETADATA1\n[CHAPTER]\nTIMEBASE=1/1\nSTART=0\nEND=1\ntitle=One\n'
                       f'comment={text}\n')
        source = self.path('chapters.mkv')
        ffmpeg('-i', plain_clip(), '-f', 'ffmetadata', '-i', chapters, '-map', '0', '-map_chapters', '1', '-c', 'copy',
               source)
        with open(source, 'rb') as file:
            need(MARK_64 in file.read(), 'a picture in its metadata', source)
        for name in ('out.mkv', 'out.mp4'):
            run = self.halod('run', '-i', source, '-vf', 'gblur=sigma=8', self.path(name))
            with open(self.path(name), 'rb') as file:
                self.assertNotIn(MARK_64, file.read(), name)
            self.says_once(run, '(?i)the tag comment is dropped: a cover')

    def test_in_the_comments_of_vorbis(self):
        """They travel in the headers of the codec, which every container copies."""
        made = clip('.mkv', *video_source(), *audio_source(), *X264, '-c:a', 'libvorbis',
                    '-write_crc32', '0')
        vendor, secret = b'Xiph.Org libVorbis I ', b'METADATA_BLOCK_PICTURE='
        with open(made, 'rb') as file:
            data = bytearray(file.read())
        at = data.find(vendor)
        need(at > 0, 'the headers of Vorbis', made)
        data[at:at + len(secret)] = secret
        source = self.path('vorbis.mkv')
        with open(source, 'wb') as file:
            file.write(data)
        run = self.halod('run', '-i', source, '-vf', 'gblur', self.path('out.mkv'))
        with open(self.path('out.mkv'), 'rb') as file:
            self.assertNotIn(secret, file.read())
        self.says_once(run, r'\(vorbis\): an image or file in its headers is removed')
        self.assertEqual(halotest.audio_samples_md5(self.path('out.mkv')),
                         halotest.audio_samples_md5(source))


class Data(HaloTest):
    def with_data(self):
        secret = self.path('secret.bin')
        with open(secret, 'wb') as file:
            file.write(b'an unfiltered secret ' * 8)
        source = self.path('data.ts')
        ffmpeg(*video_source(), '-f', 'data', '-i', secret, '-map', '0', '-map', '1', '-c:v',
               'mpeg2video', '-c:d', 'copy', source)
        need(len(streams(source, 'data')) == 1, 'a data stream', source)
        return source

    def test_dropped(self):
        """With a line."""
        for name in ('out.ts', 'out.mkv', 'out.mp4'):
            with self.subTest(name):
                run = self.halod('run', '-i', self.with_data(), '-vf', 'gblur', '-preset', 'veryfast', self.path(name))
                self.says_once(run, 'data')
                self.assertEqual(streams(self.path(name), 'data'), [])
                with open(self.path(name), 'rb') as file:
                    self.assertNotIn(b'unfiltered secret', file.read())

    def test_kept_when_asked_for(self):
        output = self.filtered(self.with_data(), 'out.ts', '-copy_unfiltered', chain='gblur')
        self.assertEqual(len(streams(output, 'data')), 1)
        with open(output, 'rb') as file:
            self.assertIn(b'unfiltered secret', file.read())

    def test_time_code_track(self):
        source = clip('.mov', *video_source(), *X264, '-timecode', '01:00:00:00')
        need(len(streams(source, 'data')) == 1, 'a tmcd stream', source)
        output = self.filtered(source, 'out.mkv', chain='gblur')
        self.assertEqual(streams(output, 'data'), [])
        self.assert_video_times(source, output)


if __name__ == '__main__':
    halotest.main()
