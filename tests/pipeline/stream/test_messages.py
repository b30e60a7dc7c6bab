# SPDX-License-Identifier: BSD-2-Clause
# What is refused says why, at once; and what only seems wrong is taken.
import os

import halotest
from halotest import (HaloTest, X264, audio_source, clip, ffmpeg, plain_clip, probe_video,
                      run_halod, video_source, with_colours)


def content(path):
    with open(path, 'rb') as file:
        return file.read()


def late_video():
    return clip('.mkv', '-itsoffset', '2', *video_source(), *audio_source(3), *X264, '-c:a', 'aac')


def encrypted():
    return clip('.mp4', '-i', plain_clip(), '-an', '-c', 'copy', '-encryption_scheme',
                'cenc-aes-ctr', '-encryption_key', '76a6c65c5ea762046bd749a2e632ccbb',
                '-encryption_kid', 'a7e61c373e219033c21091fa607bf3b8')


def without_frames(data):
    """With zeros as the content of its packets."""
    begin = data.index(b'mdat') + 4
    end = begin - 8 + int.from_bytes(data[begin - 8:begin - 4], 'big')
    return data[:begin] + bytes(end - begin) + data[end:]


class Messages(HaloTest):
    def source(self, name, data):
        path = self.path(name)
        with open(path, 'wb') as file:
            file.write(data)
        return path

    def test_lines(self):
        """Each row: IN, options, exit status, what the line says, what it must not say."""
        silent = clip('.mp4', *video_source(), *X264)
        rows = (
            (self.source('tag.mp4', content(silent).replace(b'avc1', b'zzzz')), (), 1, 'tag zzzz',
             'none'),
            (encrypted(), (), 1, 'is encrypted', 'damaged'),
            # By chance, FFmpeg finds frames in what is encrypted, or does not.
            (self.source('encrypted.mp4', without_frames(content(encrypted()))), (), 1,
             'is encrypted', 'no frame'),
            (self.source('empty.mp4', without_frames(content(silent))), (), 1, 'no frame was found',
             'encrypted'),
            (late_video(), ('-t', '1'), 1, '-t ends before its first frame', 'decoded$'),
            (silent, ('-c:v', 'libx265', '-crf', '51.5'), 64, '-crf 51.5: .* accepts 0 to 51',
             '-v debug'),
            ('http://me:hunter2@127.0.0.1:1/x.mp4', (), 1, '127.0.0.1/\\*\\*', 'hunter2'),
        )
        for source, options, code, says, not_says in rows:
            with self.subTest(says):
                run = self.halod('run', '-i', source, '-vf', 'null', '-an', *options,
                                 self.path('out.mkv'), code=code)
                self.assertRegex(run.err, says)
                self.assertNotRegex(run.err, not_says)
                self.assertFalse(os.path.exists(self.path('out.mkv')))

    def test_index_at_the_end_of_a_pipe(self):
        large = ('-i', plain_clip(), '-vf', 'noise=alls=80', '-c:v', 'mpeg4', '-q:v', '1')
        late, early = clip('.mp4', *large), clip('.mp4', *large, '-movflags', '+faststart')
        self.assertGreater(content(late).index(b'moov'), 1 << 17)  # more than is kept to go back
        options = '-vf', 'null', '-c:v', 'mpeg4', self.path('out.mkv')
        run = self.halod('run', '-i', '-', *options, data=content(late), code=1)
        self.says_once(run, 'its index .moov. is at the end, .* -movflags .faststart')
        self.halod('run', '-i', late, *options)
        self.halod('run', '-y', '-i', '-', *options, data=content(early))
        small = clip('.mp4', '-i', plain_clip(), '-an', '-frames:v', '2', '-c:v', 'mpeg4')
        self.halod('run', '-y', '-i', '-', *options, data=content(small))

    def test_advice(self):
        """Each row: output, options, what the line ends with; not what is used, nor FFmpeg's."""
        def source(size):
            return clip('.mkv', *video_source(size, 23, '0.2'), '-f', 'lavfi', '-i',
                        'sine=sample_rate=8000:duration=0.2', *X264, '-c:a', 'libmp3lame')

        rows = (
            ('out.mkv', ('-an', '-c:v', 'gif'), 'use -c:v libx264'),
            ('out.webm', ('-an', '-c:v', 'gif'), 'or another container .*mkv.*'),
            ('out.mkv', ('-c:a', 'adpcm_ima_qt'), 'another codec with -c:a, or leave it out with -an'),
            ('out.mkv', ('-c:v', 'rv10'), 'with -c:v and -c:a, or omit the audio with -an'),
            ('out.mkv', ('-an', '-c:v', 'rv10'), 'rv10.: choose another codec with -c:v'),
            ('out.mp4', (), 'mp3 at 8000hz is not standard.: choose .*mkv.*'),
            ('out.mxf', ('-an', '-c:v', 'libx264'), 'frame rate 23/1.: choose .*mkv.*'),
            ('out.avi', ('-an', '-c:v', 'amv'), 'Heights .* with some decoders.'),
        )
        for name, options, says in rows:
            with self.subTest(name, options=options):
                run = run_halod('run', '-v', 'warning', '-i',
                                source('64x50' if 'amv' in options else '64x48'), '-vf', 'null',
                                *options, self.path(name))
                self.assertNotEqual(run.code, 0)
                self.assertRegex(run.err, says + '\n$')
                self.assertNotIn('strict', run.err)

    def test_empty_file(self):
        source = self.source('nothing.mp4', b'')
        run = self.halod('run', '-i', source, '-vf', 'null', self.path('out.mkv'), code=1)
        self.says_once(run, 'is empty')

    def test_names_that_are_too_long(self):
        """Before the work, not after it."""
        run = self.halod('run', '-i', plain_clip(), '-vf', 'null', self.path('a' * 252 + '.mkv'),
                         code=1)
        self.says_once(run, 'the file name has 256 bytes')
        self.assertEqual(os.listdir(self.folder), [])
        self.filtered(plain_clip(), 'a' * 251 + '.mkv')

    def test_what_matroska_cannot_hold(self):
        """It is not recommended where it is the output."""
        source = self.path('data.ts')
        with open(self.path('data'), 'wb') as file:
            file.write(b'data' * 20)
        ffmpeg(*video_source(), '-f', 'data', '-i', self.path('data'), '-map', '0', '-map', '1',
               '-c:v', 'mpeg2video', '-c:d', 'copy', source)
        run = self.halod('run', '-i', source, '-vf', 'null', '-copy_unfiltered',
                         self.path('out.mkv'))
        self.assertNotIn('.mkv supports nearly all', run.err)
        self.says_once(run, 'container cannot store the stream')

    def test_mjpeg_of_limited_range(self):
        source = clip('.mkv', *video_source(), *X264, *with_colours('yuv420p', range='tv'))
        for codec, name in (('mjpeg', 'out.avi'), ('mjpeg', 'out.mkv'), ('mjpeg', 'out.mov'),
                            ('ljpeg', 'lossless.avi')):
            output = self.filtered(source, name, '-c:v', codec)
            self.assertEqual(probe_video(output).get('color_range', 'tv'), 'tv')
            self.assertEqual(halotest.frame_count(output), 25)


if __name__ == '__main__':
    halotest.main()
