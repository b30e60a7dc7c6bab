# SPDX-License-Identifier: BSD-2-Clause
# No unfiltered picture reaches the output: first, last and every frame of every video stream.
import halotest
from halotest import (HaloTest, X264, X264_B, all_frames, clip, frame_hashes, need, plain_clip,
                      psnr, raw_frames, real_videos, silent_clip, video_source)


class Privacy(HaloTest):
    def assert_all_filtered(self, source, output, select='0:v:0', count=None):
        raw, got = frame_hashes(source, select), frame_hashes(output, select)
        self.assertEqual(len(got), count or len(raw))
        self.assertTrue(set(raw).isdisjoint(got), 'a raw frame in the output')

    def assert_all_blurred(self, source, output, width=160, height=120, limit=35):
        """Every frame is far from the raw frame of its own time."""
        raw = all_frames(raw_frames(source), 'yuv420p', width, height)
        got = all_frames(raw_frames(output, pixel_format='yuv420p'), 'yuv420p', width, height)
        self.assertEqual(len(got), len(raw))
        for number, (a, b) in enumerate(zip(raw, got)):
            self.assertLess(psnr(a[0], b[0]), limit, f'frame {number} of {len(got)}')

    def test_every_frame(self):
        source = silent_clip('.mkv', 2)
        output = self.lossless(source, 'out.mkv', 'gblur=sigma=5')
        self.assert_all_filtered(source, output)
        self.assert_all_blurred(source, output)

    def test_every_frame_of_h264(self):
        source = silent_clip('.mp4', 1, codec=X264_B)
        output = self.filtered(source, 'out.mp4', '-crf', '1', chain='gblur=sigma=5')
        self.assert_all_blurred(source, output)

    def test_single_frame(self):
        source = clip('.mkv', *video_source(), *X264, '-frames:v', '1')
        self.assert_all_filtered(source, self.lossless(source, 'out.mkv', 'gblur=sigma=5'), count=1)

    def test_every_video_stream(self):
        source = clip('.mkv', *video_source(), '-f', 'lavfi', '-i',
                      'testsrc=size=96x80:rate=10:duration=1', '-f', 'lavfi', '-i',
                      'mandelbrot=size=64x64:rate=5', '-t', '1', '-map', '0', '-map', '1', '-map',
                      '2', *X264)
        need(len(real_videos(source)) == 3, 'three video streams', source)
        output = self.lossless(source, 'out.mkv', 'gblur=sigma=4')
        self.assertEqual(len(real_videos(output)), 3)
        for index in range(3):
            self.assert_all_filtered(source, output, f'0:v:{index}')

    def test_after_a_seek(self):
        source = plain_clip('.mp4', 2)
        for options in (('-ss', '0.72'), ('-t', '0.4'), ('-ss', '0.5', '-t', '0.5')):
            with self.subTest(options):
                output = self.lossless(source, 'out.mkv', 'gblur=sigma=5', '-y', *options)
                self.assertTrue(set(frame_hashes(source)).isdisjoint(frame_hashes(output)))

    def test_both_filters_of_a_chain(self):
        source = silent_clip('.mkv', 1)
        once = self.lossless(source, 'a.mkv', 'gblur=sigma=3')
        twice = self.lossless(source, 'b.mkv', 'gblur=sigma=3,gblur=sigma=3')
        self.assertTrue(set(frame_hashes(once)).isdisjoint(frame_hashes(twice)))

    def test_null_at_the_end_of_a_chain(self):
        source = silent_clip('.mkv', 1)
        for chain in ('gblur=sigma=5,null', 'null,gblur=sigma=5'):
            output = self.lossless(source, 'out.mkv', chain, '-y')
            self.assert_all_filtered(source, output)

    def test_size_change_in_the_middle(self):
        """The second half is another size: filtered too, or a clean error."""
        parts = [clip('.h264', *video_source(size, seconds=1), *X264) for size in
                 ('160x120', '96x80')]
        source = self.path('change.h264')
        with open(source, 'wb') as file:
            for part in parts:
                with open(part, 'rb') as piece:
                    file.write(piece.read())
        output = self.path('out.mkv')
        self.halod('run', '-i', source, '-vf', 'gblur=sigma=5', '-c:v', 'ffv1', output)
        raw = set(frame_hashes(parts[0])) | set(frame_hashes(parts[1]))
        self.assertTrue(raw.isdisjoint(frame_hashes(output)))
        self.assertEqual(halotest.frame_count(output), 50)

    def test_format_change_in_the_middle(self):
        parts = [clip('.h264', *video_source(seconds=1), '-c:v', 'libx264', '-pix_fmt', name)
                 for name in ('yuv420p', 'yuv444p')]
        source = self.path('change.h264')
        with open(source, 'wb') as file:
            for part in parts:
                with open(part, 'rb') as piece:
                    file.write(piece.read())
        output = self.path('out.mkv')
        self.halod('run', '-i', source, '-vf', 'gblur=sigma=5', '-c:v', 'ffv1', output)
        raw = set(frame_hashes(parts[0], pixel_format='yuv420p'))
        self.assertTrue(raw.isdisjoint(frame_hashes(output, pixel_format='yuv420p')))
        self.assertEqual(halotest.frame_count(output), 50)


class Faults(HaloTest):
    """A backend that fails: no picture of that frame, no file, status 75, one line."""

    @classmethod
    def setUpClass(cls):
        halotest.need_faults()

    def fails(self, fault, code=75):
        source = clip('.mkv', *video_source(seconds=1), *X264)
        output = self.path('out.mkv')
        run = halotest.run_halod('run', '-v', 'error', '-backend', 'cpu', '-i', source, '-vf',
                                 'gblur=sigma=5', output, environment={'HALOD_FAULT': fault})
        self.assertEqual(run.code, code, self.logged(run))
        self.assert_one_line(run)
        self.assertEqual(halotest.os.listdir(self.folder), [])

    def test_first_frame(self):
        self.fails('submit:1')

    def test_on_the_way(self):
        self.fails('submit:9')

    def test_at_the_exit_of_the_gate(self):
        self.fails('finish:1')
        self.fails('finish:17')

    def test_another_configuration(self):
        self.fails('epoch:1', code=1)
        self.fails('epoch:12', code=1)


if __name__ == '__main__':
    halotest.main()
