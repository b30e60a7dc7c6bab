# SPDX-License-Identifier: BSD-2-Clause
# Pictures that players turn or mirror: a region hides what lies there in the picture as it is shown.
import os
import re
import struct

import halotest
from halotest import ClipError, HaloTest, clip, ffmpeg, probe_video, psnr, raw_frames, split_planes
from test_regions import png

WIDTH, HEIGHT, FRAMES = 60, 40, 1  # as shown

# Of the matrix a, b, c, d; what undoes it; angle against the clock and mirroring for SEI; EXIF.
TURNS = {
    'upright': ((1, 0, 0, 1), 'null', (0, 0, 0), 1),
    'mirrored': ((-1, 0, 0, 1), 'hflip', (0, 1, 0), 2),
    '180': ((-1, 0, 0, -1), 'hflip,vflip', (180, 0, 0), 3),
    'upside down': ((1, 0, 0, -1), 'vflip', (0, 0, 1), 4),
    'transposed': ((0, 1, 1, 0), 'transpose=cclock_flip', (270, 0, 1), 5),
    '90': ((0, 1, -1, 0), 'transpose=cclock', (270, 0, 0), 6),
    'across': ((0, -1, -1, 0), 'transpose=clock_flip', (90, 0, 1), 7),
    '270': ((0, -1, 1, 0), 'transpose=clock', (90, 0, 0), 8),
}


def upright(pixel_format='yuv420p', size=(WIDTH, HEIGHT)):
    return clip('.mov', '-f', 'lavfi', '-i', f'testsrc2=size={size[0]}x{size[1]}:rate=5', '-frames:v', FRAMES,
                '-pix_fmt', pixel_format, '-c:v', 'ffv1')


def patched(path, to, abcd):
    """A copy of an MP4 or MOV file with another matrix."""
    with open(path, 'rb') as file:
        data = bytearray(file.read())
    at = data.index(b'tkhd') + 44
    one = 0x10000
    if data[at:at + 36] != struct.pack('>9i', one, 0, 0, 0, one, 0, 0, 0, 1 << 30):
        raise ClipError('no matrix in ' + path)
    a, b, c, d = (round(v * one) for v in abcd)
    data[at:at + 36] = struct.pack('>9i', a, b, 0, c, d, 0, 0, 0, 1 << 30)
    with open(to, 'wb') as file:
        file.write(data)
    return to


def shown(path, pixel_format='yuv420p'):
    """Frames as a player shows them."""
    return ffmpeg('-i', path, '-fps_mode', 'passthrough', '-pix_fmt', pixel_format, '-f', 'rawvideo', '-')


def sei(codec, angle, hflip, vflip):
    """A display orientation for one picture, to be put before its slice."""
    turn = f'0{hflip}{vflip}{angle * 65536 // 360:016b}'
    if codec == 'h264':
        bits, head = turn + '1' + '0', b'\x06\x2f\x03'  # repetition_period 0: this picture; no extension
    else:
        bits, head = turn + '0', b'\x4e\x01\x2f\x03'
    bits += '1'
    data = head + int(bits.ljust(24, '0'), 2).to_bytes(3, 'big') + b'\x80'
    return b'\0\0\0\1' + re.sub(b'\0\0(?=[\0-\3])', b'\0\0\3', data)


def with_sei(stream, codec, orientations):
    """An Annex B stream, one slice for each picture, with what each of them is to say; None: nothing."""
    out, orientations = b'', iter(orientations)
    for unit in re.split(b'\0*\0\0\1', stream)[1:]:
        is_slice = unit[0] & 31 in (1, 5) if codec == 'h264' else unit[0] >> 1 & 63 < 32
        says = next(orientations) if is_slice else None
        out += (sei(codec, *says) if says else b'') + b'\0\0\0\1' + unit
    return out


def with_exif(jpeg, orientation):
    tiff = b'II*\0\x08\0\0\0' + struct.pack('<HHHII', 1, 0x112, 3, 1, orientation) + bytes(4)
    return jpeg[:2] + b'\xff\xe1' + struct.pack('>H', len(tiff) + 8) + b'Exif\0\0' + tiff + jpeg[2:]


class Turned(HaloTest):
    def stored(self, name, pixel_format='yuv420p', size=(WIDTH, HEIGHT)):
        """The upright clip, stored so that a player has to turn it, which is looked at."""
        abcd, undo, _, _ = TURNS[name]
        source = upright(pixel_format, size)
        flat = clip('.mov', '-i', source, '-vf', undo, '-pix_fmt', pixel_format, '-c:v', 'ffv1')
        path = patched(flat, self.path(f'{name}.mov'), abcd)
        if shown(path, pixel_format) != shown(source, pixel_format):
            raise ClipError(f'{name}: this ffmpeg shows something else')
        return path

    def made(self, source, chain):
        """What halod makes of it, where the matrix can be said."""
        return self.filtered(source, 'made.mov', '-y', '-c:v', 'libx264', '-crf', '0', chain=chain)

    def chain(self):
        """Every kind of region, with and without invert and feather, pixels and parts; the clip is not
        upright, so that nothing of it is the same when it is turned or mirrored."""
        mask = png(self.path('mask.png'), 30, 20,
                   lambda x, y: 255 if 2 <= x < 9 and 12 <= y < 18 else 100 if 9 <= x < 14 and y >= 15 else 0)
        jpeg = self.path('mask.jpg')
        ffmpeg('-f', 'lavfi', '-i', 'color=black:size=60x40,drawbox=44:30:10:6:white:fill,format=gray', '-frames:v', 1, jpeg)
        return ','.join((
            'solid=blue:region=rect 2 1 48.5 90%:invert=1:feather=3',
            'solid=red:region=rect 10% 5 30% 9.25',
            'solid=lime:region=ellipse 30 3.5 21 12:feather=4',
            'solid=white:region=polygon 5 22 20 25.5 10% 90%+rect 50 20 4 4',
            f'solid=black:region=mask {mask}',
            f'solid=yellow:region=mask {jpeg}:feather=2'))

    def test_every_turn(self):
        """Shown, it is what the same chain makes of the upright clip, sample by sample."""
        for pixel_format, size in (('yuv420p', (WIDTH, HEIGHT)), ('yuv444p', (57, 39))):
            wanted = shown(self.made(upright(pixel_format, size), self.chain()),
                           pixel_format)
            self.assertNotEqual(wanted, shown(upright(pixel_format, size), pixel_format))
            for name in TURNS if size == (WIDTH, HEIGHT) else ('mirrored', 'upside down', '90', 'across'):
                with self.subTest(name, pixel_format=pixel_format):
                    path = self.stored(name, pixel_format, size)
                    got = self.made(path, self.chain())
                    self.assertEqual(shown(got, pixel_format), wanted)
                    before, after = probe_video(path), probe_video(got)
                    self.assertEqual(halotest.rotation(after), halotest.rotation(before))
                    self.assertEqual((after['width'], after['height']), (before['width'], before['height']))

    def test_sizes_that_follow_a_region(self):
        """Its width is the one that is seen."""
        chain = 'gblur=sigma=0.2*w:sigmaV=0.2*w:region=rect 10% 10% 70% 25%'
        wanted = shown(self.made(upright(), chain))
        weak = shown(self.made(upright(), chain.replace('*w', '*h')))
        for name in ('90', 'transposed', '180'):
            got = shown(self.made(self.stored(name), chain))
            near, far = (psnr(split_planes(got, 'yuv420p', WIDTH, HEIGHT)[0][0],
                              split_planes(other, 'yuv420p', WIDTH, HEIGHT)[0][0]) for other in (wanted, weak))
            self.assertGreater(near, 45, name)
            self.assertLess(far, 40, name)

    def hidden(self):
        """What is left where everything is filtered."""
        return raw_frames(self.lossless(upright(), 'hidden.mkv', 'solid=red', '-y'))

    def test_other_matrices(self):
        """Nobody knows where a region lies: all is hidden, with a line."""
        for abcd in ((0.7071, 0.7071, -0.7071, 0.7071), (2, 0, 0, 2), (1, 0.5, 0, 1), (1, 1, 1, 1), (0, 0, 0, 0)):
            with self.subTest(abcd):
                path = patched(upright(), self.path('odd.mov'), abcd)
                run = self.halod('run', '-i', path, '-vf', 'solid=red:region=rect 0 0 10% 10%', '-c:v', 'ffv1',
                                 '-y', self.path('out.mkv'))
                self.says_once(run, 'the rotation of some frames is ambiguous')
                self.assertEqual(raw_frames(self.path('out.mkv')), self.hidden())
        for abcd in ((1, 0, 0, 1), (0, 1, -1, 0)):  # a region alone is asked for
            path = patched(upright(), self.path('even.mov'), abcd)
            run = self.halod('run', '-i', path, '-vf', 'solid=red', '-c:v', 'ffv1', '-y', self.path('out.mkv'))
            self.assertNotIn('ambiguous', run.err)

    REGIONS = 'solid=red:region=rect 2 3 20% 10.5,solid=blue:region=ellipse 50% 50% 30% 40%:invert=1'

    def expected(self, coded, copy, names):
        """Stored frames of the same coded pictures in files whose matrices say it; None: all is hidden."""
        frames = {}
        flat = self.path('flat.mov')
        ffmpeg(*copy, '-i', coded, '-c', 'copy', flat)
        size = os.path.getsize(self.raw(flat)) // len(names)
        for name in set(names):
            chain = self.REGIONS if name else 'solid=red,solid=blue'
            path = patched(flat, self.path('matrix.mov'), TURNS[name or 'upright'][0])
            frames[name] = raw_frames(self.lossless(path, 'expected.mkv', chain, '-y'))
        return b''.join(frames[name][i * size:(i + 1) * size] for i, name in enumerate(names))

    def raw(self, path):
        with open(self.path('raw'), 'wb') as file:
            file.write(raw_frames(path))
        return self.path('raw')

    def check_pictures(self, coded, said, copy, names, *lines):
        """coded: without a word in its pictures; said: with theirs."""
        run = self.halod('run', *copy, '-i', said, '-vf', self.REGIONS, '-c:v', 'ffv1', '-y', self.path('got.mkv'))
        self.assertEqual(raw_frames(self.path('got.mkv')), self.expected(coded, copy, names))
        for line in lines:
            self.says_once(run, line)

    def test_words_of_pictures(self):
        """H.264's and HEVC's SEI, in mid-stream too. Players do not agree how long such a word holds, so
        that of pictures without one, once there was one, all is hidden."""
        plans = {
            'all': (['90', '90', '90', '90'], ['90'] * 4, []),
            'changes': (['mirrored', 'across', '270', 'upside down'], ['mirrored', 'across', '270', 'upside down'],
                        ['mirrored left to right']),
            'late': ([None, None, '180', '180'], ['upright', 'upright', '180', '180'], ['rotated by 180 degrees']),
        }
        for codec, encoder in (('h264', ['libx264', '-qp', '0', '-x264-params', 'keyint=4:bframes=0:slices=1']),
                               ('hevc', ['libx265', '-x265-params',
                                         'log-level=none:lossless=1:keyint=4:bframes=0:slices=1'])):
            flat = clip('.' + codec, '-f', 'lavfi', '-i', 'testsrc2=size=64x48:rate=5', '-frames:v', 4, '-threads', 1,
                        '-pix_fmt', 'yuv420p', '-c:v', *encoder)
            with open(flat, 'rb') as file:
                stream = file.read()
            some = (['270', None, None, '270'], ['270', None, None, '270'], ['rotation of some frames is ambiguous'])
            for name, (says, means, lines) in [*plans.items(), *([('some', some)] if codec == 'h264' else [])]:
                with self.subTest(codec, plan=name):
                    path = self.path(f'{name}.{codec}')
                    with open(path, 'wb') as file:
                        file.write(with_sei(stream, codec, [says and TURNS[says][2] for says in says]))
                    self.check_pictures(flat, path, [], means,
                                        *lines)

    def test_exif(self):
        """Each JPEG of a stream has its own word; one without any (or which says 1), after such, is hidden."""
        images = [ffmpeg('-f', 'lavfi', '-i', f'testsrc2=size=64x48:rate=5:duration=2,select=eq(n\\,{n})', '-frames:v',
                         1, '-pix_fmt', 'yuvj420p', '-c:v', 'mjpeg', '-f', 'mjpeg', '-') for n in range(len(TURNS))]
        files = {}
        for kind, orientations in (('flat', [None] * len(TURNS)), ('said', [turn[3] for turn in TURNS.values()]),
                                   ('some', [6, None, 1] + [6] * 5)):
            files[kind] = self.path(kind + '.mjpeg')
            with open(files[kind], 'wb') as file:
                file.write(b''.join(with_exif(image, o) if o else image for image, o in zip(images, orientations)))
        self.check_pictures(files['flat'], files['said'], [], list(TURNS), 'mirrored left to right')
        self.check_pictures(files['flat'], files['some'], [], ['90', None, None] + ['90'] * 5, 'rotation of some frames is ambiguous')

    def test_masks_that_are_turned(self):
        """Who painted a mask saw it as its EXIF says."""
        jpeg = ffmpeg('-f', 'lavfi', '-i', 'color=black:size=40x60,drawbox=4:30:10:22:white:fill,format=gray',
                      '-frames:v', 1, '-c:v', 'mjpeg', '-f', 'mjpeg', '-')
        for orientation, filters in ((6, 'transpose=clock'), (5, 'transpose=cclock_flip'), (2, 'hflip')):
            masks = [self.path(name) for name in ('said.jpg', 'turned.png')]
            with open(masks[0], 'wb') as file:
                file.write(with_exif(jpeg, orientation))
            ffmpeg('-noautorotate', '-i', masks[0], '-vf', f'{filters},format=gray', '-frames:v', 1, masks[1])
            said, turned = (raw_frames(self.lossless(upright(), 'out.mkv', f'solid=red:region=mask {mask}', '-y'))
                            for mask in masks)
            self.assertEqual(said, turned, orientation)


if __name__ == '__main__':
    halotest.main()
