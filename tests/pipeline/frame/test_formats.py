# SPDX-License-Identifier: BSD-2-Clause
# Pixel formats: filtered in their own format, lossless through the null filter, swscale said once.
# HALOTEST_MATRIX=whole takes larger pictures, too.
import random

import halotest
from halotest import (HaloTest, clip, frame_hashes, need, probe_video, raw_clip, raw_frames,
                      silent_clip, video_source, y4m_frames)
from halotest.flashbeep import is_whole

# name, how to make a clip of it, what FFV1 holds it as
PLANAR = ('gray', 'gray10le', 'yuv420p', 'yuv422p', 'yuv444p', 'yuv420p10le', 'yuv422p10le',
          'yuv444p10le', 'gbrp10le', 'gray12le', 'yuv420p12le', 'yuv422p12le', 'yuv444p12le',
          'gbrp12le')


def lossless_clip(pixel_format, size='160x120', count=12):
    path = clip('.mkv', *video_source(seconds=2), '-vf', f'scale={size.replace("x", ":")}',
                '-frames:v', count, '-pix_fmt', pixel_format, '-c:v', 'ffv1')
    found = probe_video(path)
    need(found['pix_fmt'] == pixel_format, pixel_format, path)
    need(f"{found['width']}x{found['height']}" == size, size, path)
    return path


def noise(count, seed=1, top=255):
    generator = random.Random(seed)
    if top == 255:
        return generator.randbytes(count)
    return b''.join(generator.randint(0, top).to_bytes(2, 'little') for _ in range(count))


class Lossless(HaloTest):
    """-vf null and a lossless encoder: every sample of every frame comes back."""

    def assert_lossless(self, source, pixel_format, compare=None):
        output = self.lossless(source)
        self.assertEqual(frame_hashes(output, pixel_format=compare),
                         frame_hashes(source, pixel_format=compare))
        if not compare:
            self.assertEqual(probe_video(output)['pix_fmt'], pixel_format)
        return output

    def test_planar(self):
        for name in PLANAR:
            with self.subTest(name):
                self.assert_lossless(lossless_clip(name), name)

    def test_odd_sizes(self):
        for name in PLANAR:
            for size in ('321x241', '33x19', '1x1'):
                if size == '1x1' and name not in ('gray', 'yuv444p') or \
                        size == '321x241' and 'p1' in name and not is_whole():
                    continue
                with self.subTest(f'{name} {size}'):
                    source = lossless_clip(name, size, 2)
                    output = self.assert_lossless(source, name)
                    found = probe_video(output)
                    self.assertEqual(f"{found['width']}x{found['height']}", size)

    def test_gbrp(self):
        source = clip('.nut', *video_source(), '-frames:v', '6', '-pix_fmt', 'gbrp', '-c:v',
                      'rawvideo')
        need(probe_video(source)['pix_fmt'] == 'gbrp', 'gbrp', source)
        output = self.filtered(source, 'out.nut', '-c:v', 'rawvideo')
        self.assertEqual(probe_video(output)['pix_fmt'], 'gbrp')
        self.assertEqual(frame_hashes(output), frame_hashes(source))

    def test_gbrp_in_h264(self):
        source = clip('.mkv', *video_source(), '-frames:v', '6', '-c:v', 'libx264rgb', '-qp', '0')
        need(probe_video(source)['pix_fmt'] == 'gbrp', 'gbrp', source)
        output = self.lossless(source)
        self.assertEqual(frame_hashes(output, pixel_format='gbrp'), frame_hashes(source))

    def test_nv12(self):
        raw = noise(160 * 120 * 3 // 2 * 3)
        source = raw_clip(raw, 'nv12', 160, 120)
        output = self.filtered(source, 'out.nut', '-c:v', 'rawvideo')
        self.assertEqual(probe_video(output)['pix_fmt'], 'nv12')
        self.assertEqual(raw_frames(output), raw)

    def test_nv12_to_an_encoder_without_it(self):
        source = raw_clip(noise(160 * 120 * 3 // 2 * 3), 'nv12', 160, 120)
        output = self.lossless(source)
        self.assertEqual(frame_hashes(output, pixel_format='yuv420p'),
                         frame_hashes(source, pixel_format='yuv420p'))

    def p010(self, width=64, height=48, count=2, depth=10):
        """Random 10 or 12 bits in the high part of 16."""
        import array
        samples = array.array('H')
        samples.frombytes(noise(width * height * 3 // 2 * count, 7, (1 << depth) - 1))
        path = self.path('p010.raw')
        with open(path, 'wb') as file:
            file.write(array.array('H', (s << 16 - depth for s in samples)).tobytes())
        return path, ('-f', 'rawvideo', '-pixel_format', f'p0{depth}le', '-video_size',
                      f'{width}x{height}', '-framerate', '25', '-i', path)

    def test_p010(self):
        path, given = self.p010()
        output = self.path('out.mkv')
        self.halod('run', *given, '-vf', 'null', '-c:v', 'ffv1', output)
        self.assertEqual(raw_frames(output, pixel_format='yuv420p10le'), halotest.ffmpeg(
            *given, '-pix_fmt', 'yuv420p10le', '-f', 'rawvideo', '-'))

    def test_p010_is_filtered_as_yuv420p10_is(self):
        path, given = self.p010()
        planar = clip('.mkv', *given, '-pix_fmt', 'yuv420p10le', '-c:v', 'ffv1')
        self.halod('run', *given, '-vf', 'gblur=sigma=2', '-c:v', 'ffv1', self.path('a.mkv'))
        self.halod('run', '-i', planar, '-vf', 'gblur=sigma=2', '-c:v', 'ffv1', self.path('b.mkv'))
        self.assertEqual(frame_hashes(self.path('a.mkv'), pixel_format='yuv420p10le'),
                         frame_hashes(self.path('b.mkv')))

    def test_p012_is_filtered_as_yuv420p12_is(self):
        if 'p012le' not in halotest.call([halotest.FFMPEG, '-v', 'error', '-pix_fmts']).decode():
            self.skipTest('this FFmpeg has no P012')
        path, given = self.p010(depth=12)
        planar = clip('.mkv', *given, '-pix_fmt', 'yuv420p12le', '-c:v', 'ffv1')
        self.halod('run', *given, '-vf', 'gblur=sigma=8', '-c:v', 'ffv1', self.path('a.mkv'))
        self.halod('run', '-i', planar, '-vf', 'gblur=sigma=8', '-c:v', 'ffv1', self.path('b.mkv'))
        self.assertEqual(frame_hashes(self.path('a.mkv'), pixel_format='yuv420p12le'),
                         frame_hashes(self.path('b.mkv')))

    def test_nv12_is_filtered_as_yuv420p_is(self):
        for size in ((66, 50), (160, 120))[:2 if is_whole() else 1]:
            with self.subTest(size):
                width, height = size
                source = raw_clip(noise(width * height * 3 // 2 * 2), 'nv12', width, height)
                planar = clip('.mkv', '-i', source, '-pix_fmt', 'yuv420p', '-c:v', 'ffv1')
                for chain in halotest.filter_examples().values():
                    a, b = (y4m_frames(self.filtered(path, 'out.y4m', '-y', chain=chain), 'yuv420p',
                                       *size) for path in (source, planar))
                    self.assertEqual(len(a), 2)
                    self.assertEqual(a, b, chain)

    def test_full_range(self):
        source = clip('.mp4', *video_source(), '-vf', 'scale=out_range=pc', '-frames:v', '8',
                      '-pix_fmt', 'yuvj420p', '-color_range', 'pc', '-c:v', 'libx264')
        need(probe_video(source)['color_range'] == 'pc', 'full range', source)
        output = self.lossless(source)
        self.assertEqual(probe_video(output)['color_range'], 'pc')
        self.assertEqual(frame_hashes(output), frame_hashes(source))
        h264 = probe_video(self.filtered(source, 'out.mp4'))
        self.assertEqual(h264['color_range'], 'pc')

    def test_motion_jpeg(self):
        source = clip('.avi', *video_source(), '-frames:v', '8', '-c:v', 'mjpeg', '-pix_fmt',
                      'yuvj422p')
        output = self.lossless(source)
        self.assertEqual(frame_hashes(output), frame_hashes(source))
        self.assertEqual(probe_video(output)['color_range'], 'pc')

    def test_limited_range_is_not_clipped(self):
        """Samples outside 16 .. 235 pass as they are."""
        raw = noise(64 * 48 * 3 // 2, 3)
        output = self.lossless(raw_clip(raw, 'yuv420p', 64, 48))
        self.assertEqual(raw_frames(output), raw)

    def test_h264(self):
        source = silent_clip('.mkv', 2, codec=halotest.X264_B)
        self.assertEqual(frame_hashes(self.lossless(source)), frame_hashes(source))

    def test_same_bytes_each_time(self):
        source = silent_clip('.mkv', 1)
        a = self.lossless(source, 'a.mkv', 'gblur=sigma=3')
        b = self.lossless(source, 'b.mkv', 'gblur=sigma=3')
        self.assertEqual(frame_hashes(a), frame_hashes(b))


class Encoded(HaloTest):
    """What libx264 makes of each format by default."""

    def test_formats_that_h264_has(self):
        for name in ('gray', 'yuv420p', 'yuv422p', 'yuv444p', 'yuv420p10le', 'yuv422p10le',
                     'yuv444p10le'):
            with self.subTest(name):
                source = lossless_clip(name)
                output = self.filtered(source, 'out.mp4', '-y', chain='gblur=sigma=1')
                found = probe_video(output)['pix_fmt']
                if name == 'gray':  # FFmpeg's H.264 wrapper may have no gray
                    self.assertIn(found, ('gray', 'yuv420p', 'yuvj420p'))
                else:
                    self.assertEqual(found, name)
                self.assert_video_times(source, output)

    def test_gray_keeps_its_brightness(self):
        """Whatever H.264 holds it as, it decodes to the same gray."""
        source = lossless_clip('gray')
        output = self.filtered(source, 'out.mp4', '-crf', '5')
        wanted = halotest.all_frames(raw_frames(source), 'gray', 160, 120)
        got = halotest.all_frames(raw_frames(output, pixel_format='gray'), 'gray', 160, 120)
        self.assertEqual(len(got), len(wanted))
        for (w,), (g,) in zip(wanted, got):
            self.assertGreater(halotest.psnr(w, g), 38)

    def test_12_bits(self):
        """HEVC and Y4M hold them."""
        for name, options in (('out.mp4', ('-c:v', 'libx265')), ('out.y4m', ())):
            with self.subTest(name):
                source = lossless_clip('yuv420p12le', count=4)
                output = self.filtered(source, name, *options, chain='gblur=sigma=1')
                self.assertEqual(probe_video(output)['pix_fmt'], 'yuv420p12le')

    def test_12_bits_as_h264(self):
        """libx264 has 10 at most, and that is said."""
        source = lossless_clip('yuv420p12le')
        run = self.halod('run', '-i', source, '-vf', 'gblur=sigma=1', self.path('out.mp4'))
        self.says_once(run, 'yuv420p12le.*yuv420p10le')
        self.assertEqual(probe_video(self.path('out.mp4'))['pix_fmt'], 'yuv420p10le')

    def test_h264_high10(self):
        source = clip('.mp4', *video_source(), '-c:v', 'libx264', '-pix_fmt', 'yuv420p10le')
        need(probe_video(source)['profile'] == 'High 10', 'High 10', source)
        output = self.filtered(source, 'out.mp4', chain='gblur=sigma=1')
        self.assertEqual(probe_video(output)['pix_fmt'], 'yuv420p10le')
        self.assert_whole(source, output)

    def test_odd_444(self):
        source = lossless_clip('yuv444p', '321x241', 4)
        found = probe_video(self.filtered(source, 'out.mp4', chain='gblur=sigma=1'))
        self.assertEqual((found['width'], found['height']), (321, 241))

    def test_odd_420_is_refused_with_advice(self):
        source = lossless_clip('yuv420p', '321x241', 4)
        for codec in ('libx264', 'libx265'):
            with self.subTest(codec):
                self.refused('run', '-i', source, '-vf', 'gblur=sigma=1', '-c:v', codec,
                             self.path('out.mp4'), says=('321x241', '-c:v ffv1'))
                self.assertEqual(halotest.os.listdir(self.folder), [])
        found = probe_video(self.filtered(source, 'out.mp4', '-c:v', 'mpeg4'))
        self.assertEqual((found['width'], found['height']), (321, 241))

    def test_gbrp(self):
        source = clip('.mkv', *video_source(), '-frames:v', '6', '-c:v', 'libx264rgb', '-qp', '0')
        self.assert_video_times(source, self.filtered(source, 'out.mp4', chain='gblur=sigma=1'))


class Converted(HaloTest):
    """Other formats go through swscale, which is said once."""

    def test_said_once(self):
        for name, codec, suffix in (('rgb24', 'rawvideo', '.nut'), ('bgr0', 'ffv1', '.mkv'),
                                    ('yuv410p', 'ffv1', '.mkv'), ('yuyv422', 'rawvideo', '.avi')):
            with self.subTest(name):
                source = clip(suffix, *video_source(seconds=2), '-pix_fmt', name, '-c:v', codec)
                need(probe_video(source)['pix_fmt'] == name, name, source)
                run = self.halod('run', '-i', source, '-vf', 'gblur=sigma=1', '-y',
                                 self.path('out.mkv'))
                self.says_once(run, rf'\b{name}\b')
                self.assert_video_times(source, self.path('out.mkv'))

    def test_nothing_said_of_own_formats(self):
        for name in PLANAR:
            with self.subTest(name):
                run = self.halod('run', '-i', lossless_clip(name), '-vf', 'gblur=sigma=1', '-c:v',
                                 'ffv1', '-v', 'warning', '-y', self.path('out.mkv'))
                self.assertEqual(run.err, '')

    def test_rgb24_stays_close(self):
        source = clip('.nut', *video_source(), '-frames:v', '3', '-pix_fmt', 'rgb24', '-c:v',
                      'rawvideo')
        output = self.lossless(source)
        wanted = halotest.all_frames(raw_frames(source, pixel_format='gbrp'), 'gbrp', 160, 120)
        got = halotest.all_frames(raw_frames(output, pixel_format='gbrp'), 'gbrp', 160, 120)
        self.assertEqual(len(got), len(wanted))
        for w, g in zip(wanted, got):
            for a, b in zip(w, g):
                self.assertGreater(halotest.psnr(a, b), 30)

    def test_lost_transparency_is_warned_of(self):
        for name, codec, suffix in (('yuva420p', 'ffv1', '.mkv'), ('bgra', 'ffv1', '.mkv'),
                                    ('yuva444p10le', 'prores_ks', '.mov'),
                                    ('yuva420p', 'libvpx-vp9', '.webm')):
            with self.subTest(f'{name} {codec}'):
                source = clip(suffix, *video_source(), '-frames:v', '2', '-pix_fmt', name, '-c:v',
                              codec)
                run = self.halod('run', '-i', source, '-vf', 'gblur', '-v', 'warning', '-c:v',
                                 'libvpx-vp9', '-y', self.path('out.mkv'))
                self.says_once(run, 'transparency')
                found = halotest.lower_tags(probe_video(self.path('out.mkv')))
                self.assertNotIn('alpha_mode', found)

    def test_palette_is_as_rgb_is(self):
        """In HD, where a wrong matrix shows."""
        red = ['-f', 'lavfi', '-i', 'color=red:size=1280x720:rate=25', '-frames:v', '1']
        palette = ['-vf', 'format=rgb24,split[a][b];[a]palettegen=stats_mode=single[p];'
                   '[b][p]paletteuse=new=1', '-pix_fmt', 'pal8']
        held = []
        for name, options in (('rgb24', ('-pix_fmt', 'rgb24')), ('pal8', palette)):
            source = clip('.nut', *red, *options, '-c:v', 'rawvideo')
            need(probe_video(source)['pix_fmt'] == name, name, source)
            output = self.filtered(source, name + '.mp4', '-crf', '1')
            found = probe_video(output)
            self.assertEqual((found.get('color_range'), found.get('color_space')), ('tv', 'bt709'))
            held.append(raw_frames(output, pixel_format='yuv444p'))
        self.assertLessEqual(max(abs(a - b) for a, b in zip(*(h[::999] for h in held))), 1)

    def test_said_of_14_bits(self):
        """The nearest is 12 bits."""
        source = clip('.mkv', *video_source(), '-pix_fmt', 'yuv420p14le', '-c:v', 'ffv1')
        run = self.halod('run', '-i', source, '-vf', 'gblur=sigma=1', '-c:v', 'ffv1',
                         self.path('out.mkv'))
        self.says_once(run, 'yuv420p14')
        self.assertEqual(probe_video(self.path('out.mkv'))['pix_fmt'], 'yuv420p12le')


class Changed(HaloTest):
    """A size or format that changes inside a stream is brought back to the first, said once."""

    def parts(self):
        with_size = [clip('.h264', *video_source(size), '-vf', f'format={name}', *halotest.X264[:-2])
                     for size, name in (('160x120', 'yuv420p'), ('320x180', 'yuv422p'))]
        joined = b''
        for path in (with_size[0], with_size[1], with_size[0]):
            with open(path, 'rb') as file:
                joined += file.read()
        with open(self.path('joined.h264'), 'wb') as file:
            file.write(joined)
        return with_size, self.path('joined.h264')

    def test_size_and_format(self):
        (small, large), joined = self.parts()
        output = self.path('out.mkv')
        run = self.halod('run', '-i', joined, '-vf', 'null', '-c:v', 'ffv1', output)
        self.says_once(run, '320x180 yuv422p')
        found = probe_video(output)
        self.assertEqual((found['width'], found['height'], found['pix_fmt']),
                         (160, 120, 'yuv420p'))
        first = raw_frames(small)
        scaled = raw_frames(large, filters='scale=160:120:flags=bicubic', pixel_format='yuv420p')
        frames = raw_frames(output)
        self.assertEqual(len(frames), 2 * len(first) + len(scaled))
        self.assertEqual(frames[:len(first)], first)
        self.assertEqual(frames[-len(first):], first)
        between = frames[len(first):-len(first)]
        for got, wanted in zip(halotest.all_frames(between, 'yuv420p', 160, 120),
                               halotest.all_frames(scaled, 'yuv420p', 160, 120)):
            for a, b in zip(got, wanted):
                self.assertGreater(halotest.psnr(a, b), 30)

    def test_each_picture_is_filtered(self):
        (small, large), joined = self.parts()
        output = self.path('out.mkv')
        self.halod('run', '-i', joined, '-vf', "convolution=0m='0 0 0 0 0 0 0 0 0':0bias=16",
                   '-c:v', 'ffv1', output)
        luma = 160 * 120
        frames = raw_frames(output, pixel_format='gray')
        self.assertEqual(set(frames), {frames[0]})
        self.assertEqual(len(frames), luma * 75)


if __name__ == '__main__':
    halotest.main()
