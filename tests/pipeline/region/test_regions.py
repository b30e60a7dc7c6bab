# SPDX-License-Identifier: BSD-2-Clause
# Regions through halod run: inside is what the filter gives for the whole picture, outside what
# came in, sample by sample; and what cannot be is refused in words.
import functools
import math
import os
import struct
import zlib

import halotest
from halotest import (HaloTest, all_frames, clip, each, ffmpeg, ffprobe, need, probe_video, raw_frames,
                      with_colours, y4m_frames)

WIDTH, HEIGHT, FRAMES = 97, 61, 2


def source(pixel_format='yuv420p'):
    return clip('.mkv', '-f', 'lavfi', '-i',
                f'nullsrc=size={WIDTH}x{HEIGHT}:rate=5,geq=lum=random(1)*255:cb=random(2)*255'
                f':cr=random(3)*255', '-frames:v', FRAMES, '-pix_fmt', pixel_format,
                '-c:v', 'ffv1')


def png(path, width, height, gray, damage=False, missing=0):
    """An 8-bit gray PNG of gray(x, y); without the last rows."""
    rows = b''.join(b'\0' + bytes(gray(x, y) for x in range(width)) for y in range(height - missing))

    def chunk(kind, data):
        crc = zlib.crc32(kind + data) ^ (1 if damage and kind == b'IDAT' else 0)
        return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', crc)
    head = struct.pack('>IIBBBBB', width, height, 8, 0, 0, 0, 0)
    with open(path, 'wb') as file:
        file.write(b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', head)
                   + chunk(b'IDAT', zlib.compress(rows)) + chunk(b'IEND', b''))
    return path


def in_rect(x, y, w, h):
    return lambda u, v: x < u < x + w and y < v < y + h


def in_ellipse(x, y, w, h):
    return lambda u, v: ((u - x - w / 2) / (w / 2)) ** 2 + ((v - y - h / 2) / (h / 2)) ** 2 < 1


def in_polygon(*corners):
    def inside(u, v):
        odd = False
        for (x0, y0), (x1, y1) in zip(corners, corners[1:] + corners[:1]):
            if (y0 > v) != (y1 > v) and u < (x1 - x0) * (v - y0) / (y1 - y0) + x0:
                odd = not odd
        return odd
    return inside


PARTS = [(i + 0.5) / 4 for i in range(4)]  # where a luma pixel is looked at
SHAPES = {
    'rect 10 7 33 21': in_rect(10, 7, 33, 21),
    'rect 10% 20% 30.5% 40%': in_rect(9.7, 12.2, 29.585, 24.4),
    'rect -10 -10 30 25+rect 80 50 100 100':
        lambda u, v: in_rect(-10, -10, 30, 25)(u, v) or in_rect(80, 50, 100, 100)(u, v),
    'ellipse 20 10 41 37.5': in_ellipse(20, 10, 41, 37.5),
    'polygon 5 5 90 12.5 40 58': in_polygon((5, 5), (90, 12.5), (40, 58)),
}


def frames_of(path, pixel_format):
    return all_frames(raw_frames(path, pixel_format=pixel_format), pixel_format, WIDTH, HEIGHT)


@functools.cache
def before(pixel_format):
    return frames_of(source(pixel_format), pixel_format)


class Region(HaloTest):
    def three(self, filters, options, pixel_format='yuv420p'):
        """Frames before, filtered everywhere, and in the region."""
        return [before(pixel_format), *(self.after(chain, pixel_format)
                                        for chain in (filters, f'{filters}:{options}'))]

    def after(self, chain, pixel_format):
        """Without a program between where the file can be read here."""
        if 'le' in pixel_format or pixel_format == 'gbrp':
            return frames_of(self.lossless(source(pixel_format), 'out.mkv', chain, '-y'), pixel_format)
        return y4m_frames(self.filtered(source(pixel_format), 'out.y4m', '-y', chain=chain), pixel_format,
                          WIDTH, HEIGHT)

    def check(self, filters, options, hidden, pixel_format='yuv420p', invert=False):
        """hidden(x, y, shift_x, shift_y): of a sample, True, False, or None where either may be."""
        for before, full, got in zip(*self.three(filters, options, pixel_format)):
            counts, more = {True: 0, False: 0, None: 0}, 0
            for number, planes in enumerate(zip(before, full, got)):
                width, shifts = planes[0].width, halotest.LAYOUTS[pixel_format][:2] if number else (0, 0)
                for at, (p, f, g) in enumerate(zip(*(plane.samples for plane in planes))):
                    is_hidden = hidden(at % width, at // width, *shifts)
                    counts[is_hidden] += 1
                    more += is_hidden is None and g != p
                    if g != (f if is_hidden else p) and (is_hidden is not None or g != f):
                        self.fail(f'{options}, plane {number}, {at % width}, {at // width}: {g}, hidden: '
                                  f'{is_hidden}, before {p}, filtered {f}')
            self.assertGreater(counts[True], 20)
            self.assertGreater(counts[False], 20)
            self.assertLess(more, 80, options)  # that no point met

    def outward(self, inside, invert):
        """By points of each sample: hidden if any is; those between points may be either."""
        known = {}

        def hidden(x, y, shift_x, shift_y):
            key = (x, y, shift_x, shift_y)
            if key not in known:
                points = [inside(((x + i) * (1 << shift_x)), ((y + j) * (1 << shift_y))) != invert
                          for i in PARTS for j in PARTS]
                corners = [inside((x + i) * (1 << shift_x), (y + j) * (1 << shift_y)) != invert
                           for i in (0, 0.5, 1) for j in (0, 0.5, 1)]
                known[key] = True if any(points) else None if any(corners) else False
            return known[key]
        return hidden

    def test_shapes(self):
        for (text, inside), invert in each(tuple(SHAPES.items()), (False, True)):
            with self.subTest(text, invert=invert):
                self.check('gblur=sigma=3', f'region={text}:invert={int(invert)}',
                           self.outward(inside, invert))

    def test_formats(self):
        inside = SHAPES['ellipse 20 10 41 37.5']
        for pixel_format in ('yuv422p', 'yuv444p', 'yuv420p10le', 'gbrp', 'gray'):
            with self.subTest(pixel_format):
                self.check('avgblur=sizeX=4', 'region=ellipse 20 10 41 37.5',
                           self.outward(inside, False), pixel_format)

    def test_filters(self):
        """Of every kind: what it gives for the whole picture is what it gives in the region."""
        examples = halotest.filter_examples()
        del examples['null']  # it refuses regions
        examples['boxblur'] = 'boxblur=lr=3:lp=1'  # what its later passes read is in test_passes()
        examples['solid'] = 'solid=red'  # its example has a region
        examples['hide'] = 'hide=solid'  # cells follow the region: see test_gate_cells.c
        hidden = self.outward(SHAPES['rect 10 7 33 21'], False)
        for filters in (*examples.values(), 'gblur=sigma=30'):
            with self.subTest(filters):
                self.check(filters, 'region=rect 10 7 33 21', hidden)

    def test_passes(self):
        """Each stays in the region, so that what lies outside is never blurred in."""
        clip_path = source()
        outputs = [self.lossless(clip_path, f'{i}.mkv', chain, '-y') for i, chain in enumerate((
            'boxblur=lr=3:lp=3:region=ellipse 20 10 41 37',
            ','.join(3 * ['boxblur=lr=3:lp=1:region=ellipse 20 10 41 37'])))]
        self.assertEqual(*[raw_frames(path) for path in outputs])

    def test_inside_and_outside(self):
        """The one hides just what the other leaves: together the whole picture."""
        region = 'region=rect 10 6 34 22'
        for planes in self.after(f'solid=red:{region},solid=blue:{region}:invert=1', 'yuv420p'):
            for plane in planes:
                self.assertEqual(len(set(plane.samples)), 2)
                first, last = plane.samples[0], plane.samples[-1]
                self.assertEqual(first, last)

    def test_mask(self):
        """Of the picture's size, and of another; black, white and between."""
        path = png(os.path.join(self.folder, 'mask.png'), WIDTH, HEIGHT,
                   lambda x, y: 255 if 20 <= x < 50 and 10 <= y < 40 else 0)
        hidden = self.outward(in_rect(20, 10, 30, 30), False)
        self.check('gblur=sigma=3', f'region=mask {path}', hidden)
        png(path, 2, 1, lambda x, y: 255 * x)
        self.check('gblur=sigma=3', f'region=mask {path}',
                   lambda x, y, sx, sy: ((x + 1) << sx) * 2 > WIDTH)
        png(path, 1, 1, lambda x, y: 128)
        for before, full, got in zip(*self.three('gblur=sigma=3', f'region=mask {path}')):
            for p, f, g in zip(before, full, got):
                self.assertEqual([(128 * b + 127 * a + 127) // 255
                                  for a, b in zip(p.samples, f.samples)], list(g.samples))

    def test_mask_formats(self):
        path = png(os.path.join(self.folder, 'mask.png'), 16, 16,
                   lambda x, y: 255 if x > 4 and y < 9 else 0)
        wanted = raw_frames(self.lossless(source(), 'png.mkv', f'gblur=9:region=mask {path}'))
        for name, options in (('a.pgm', []), ('a.ppm', []), ('rgb.png', ['-pix_fmt', 'rgb24']),
                              ('pal.png', ['-pix_fmt', 'pal8', '-vf', 'format=rgb24,'
                                           'split[a][b];[a]palettegen[p];[b][p]paletteuse']),
                              ('rgba.png', ['-pix_fmt', 'rgba']), ('mono.png', ['-pix_fmt', 'monob']),
                              ('gray16.png', ['-pix_fmt', 'gray16be'])):
            with self.subTest(name):
                other = os.path.join(self.folder, name)
                ffmpeg('-i', path, *options, other)
                got = self.lossless(source(), 'other.mkv', f'gblur=9:region=mask {other}', '-y')
                self.assertEqual(raw_frames(got), wanted)

    def test_mask_transparent(self):
        """What is transparent is not painted."""
        path = png(os.path.join(self.folder, 'mask.png'), 16, 16, lambda x, y: 255 * (x > 4))
        alpha = os.path.join(self.folder, 'alpha.png')
        ffmpeg('-f', 'lavfi', '-i', 'color=white:size=16x16', '-i', path, '-filter_complex',
               '[0]format=rgb24[c];[1]format=gray[m];[c][m]alphamerge', '-frames:v', 1, alpha)
        wanted, got = (raw_frames(self.lossless(source(), f'{n}.mkv', f'gblur=9:region=mask {p}'))
                       for n, p in enumerate((path, alpha)))
        self.assertEqual(got, wanted)

    def test_feather(self):
        """Weights fall from the edge on, outside: nothing of the inside is weaker."""
        filters, feather = 'solid=black', 12
        for before, full, got in zip(*self.three(
                filters, f'region=rect 30 20 20 10:feather={feather}')):
            plane = got[0]
            for x in range(WIDTH):
                for y in range(HEIGHT):
                    dx, dy = max(30 - x, 0, x - 49), max(20 - y, 0, y - 29)
                    m = math.ceil(255 * max(0, feather - math.hypot(dx, dy)) / feather)
                    at = y * WIDTH + x
                    self.assertEqual(plane.samples[at], (m * full[0].samples[at] + (255 - m)
                                                         * before[0].samples[at] + 127) // 255)

    def test_sizes(self):
        """A strength that follows the region's size is that of a number."""
        for part, number, region in (
                ('gblur=sigma=0.1*w', 'gblur=sigma=4', 'rect 10 7 40 21'),
                ('gblur=sigma=0.5*h', 'gblur=sigma=10.5', 'rect 10 7 40 21'),
                ('pixelize=w=0.25*w:h=0.3*h', 'pixelize=w=10:h=7', 'ellipse 10 7 40 21'),
                ('avgblur=sizeX=0.1 * w', 'avgblur=sizeX=5', 'rect 10 7 20 21+rect 30 7 30 5'),
                ('boxblur=lr=0.1*w', 'boxblur=lr=9', 'rect 0 0 10 10:invert=1'.replace(' 9', ' 9')),
        ):
            with self.subTest(part):
                if 'invert' in region:
                    number = number.replace('lr=9', 'lr=10')  # of the picture's width, 97
                outputs = [self.lossless(source(), f'{i}.mkv', f'{filters}:region={region}', '-y')
                           for i, filters in enumerate((part, number))]
                self.assertEqual(*[raw_frames(path) for path in outputs])

    def test_size_of_the_picture(self):
        outputs = [self.lossless(source(), f'{i}.mkv', filters)
                   for i, filters in enumerate(('pixelize=w=0.1*w', 'pixelize=w=10'))]
        self.assertEqual(*[raw_frames(path) for path in outputs])

    def test_largest(self):
        run = self.halod('run', '-i', source(), '-vf', 'discblur=radius=0.5*w', 'null:')
        self.assertIn('is 48.5 here, but is limited to 31', run.err)


def interlaced(coded, by):
    """Of samples that no filter here makes, lossless; by: who says that there are fields."""
    noise = ('random(1)*99', 'random(2)*99', 'random(3)*99')
    path = clip('.mkv', '-f', 'lavfi', '-i',
                'nullsrc=size=96x64:rate=5,geq=lum={}:cb={}:cr={}'.format(*noise),
                '-frames:v', FRAMES, '-pix_fmt', 'yuv420p', *coded)
    need((probe_video(path).get('field_order') == 'tb') == ('stream' in by), 'the word of the stream', path)
    frames = ffprobe(path, '-show_entries', 'frame=interlaced_frame')['frames']
    need({frame['interlaced_frame'] for frame in frames} == {int('frames' in by)}, 'the word of its frames', path)
    return path


class Interlaced(HaloTest):
    """Chroma rows belong to fields: row 0 to rows 0 and 2 of luma, row 1 to rows 1 and 3."""
    H264 = ('-c:v', 'libx264', '-qp', '0', '-flags', '+ildct+ilme')
    CODED = ((H264, 'frames'), (('-vf', 'setfield=tff', '-c:v', 'ffv1'), 'frames, stream'),
             (('-vf', 'setfield=tff', '-c:v', 'ffvhuff'), 'stream'))
    # Rectangles that begin in each row of a group of four, and are 1 to 4 rows high.
    RECTS = [(24 * (high - 1) + 3 * at, 16 * at + 5 + at, 5, high)
             for high in range(1, 5) for at in range(4)]

    def check(self, path, region, options='', inverted=False):
        """Luma is hidden to the pixel, so it tells what chroma has to hide."""
        path, chain = str(path), f'solid=white:region={region}{options}'
        before, after = (all_frames(raw_frames(p), 'yuv420p', 96, 64)
                         for p in (path, self.lossless(path, 'out.mkv', chain, '-y')))
        for raw, got in zip(before, after):
            luma = got[0]
            hidden = {(at % 96, at // 96) for at in range(96 * 64) if luma.samples[at] == 235}
            touched = {(at % 96, at // 96) for at in range(96 * 64)
                       if luma.samples[at] != raw[0].samples[at]}
            self.assertGreater(len(hidden), 30)
            self.assertGreater(96 * 64 - len(touched), 200)
            wanted = {(x // 2, y // 4 * 2 + y % 2) for x, y in hidden}
            near = {(x // 2, y // 2 + by) for x, y in touched for by in (-1, 0, 1)}
            for p in (1, 2):
                white = {(at % 48, at // 48) for at in range(48 * 32) if got[p].samples[at] == 128}
                self.assertFalse(sorted(wanted - white), 'raw chroma of hidden pixels')
                changed = {(at % 48, at // 48) for at in range(48 * 32)
                           if got[p].samples[at] != raw[p].samples[at]}
                if not options:
                    self.assertFalse(sorted(changed - near), 'hidden without need')

    def test_rectangles(self):
        rects = '+'.join(f'rect {x} {y} {w} {h}' for x, y, w, h in self.RECTS)
        for coded, by in self.CODED:
            with self.subTest(by):
                self.check(interlaced(coded, by), rects)

    def test_shapes(self):
        path = interlaced(self.H264, 'frames')
        for region, options in (('ellipse 10 5 41 38', ''), ('ellipse 10 5 41 38', ':invert=1'),
                                ('polygon 5 5 90 12.5 40 58', ''), ('rect 10 6 41 41', ':invert=1'),
                                ('rect 10 6 41 23', ':feather=7'),
                                ('rect 10 6 61 45', ':invert=1:feather=7')):
            with self.subTest(region + options):
                self.check(path, region, options)


class Solid(HaloTest):
    COLOURS = {'black': (16, 128, 128), 'white': (235, 128, 128), 'red': (81, 90, 240),
               '#0000ff': (41, 240, 110), '0x00ff00': (145, 54, 34)}

    def one(self, chain, pixel_format, codec='ffv1', **tags):
        path = clip('.mkv', '-f', 'lavfi', '-i', 'testsrc2=size=32x16:rate=5:duration=0.2',
                    *with_colours(pixel_format, **tags), '-c:v', codec)
        frames = raw_frames(self.lossless(path, 'out.mkv', chain, '-y'), pixel_format=pixel_format)
        planes = all_frames(frames, pixel_format, 32, 16)[0]
        for plane in planes:
            self.assertEqual(len(set(plane.samples)), 1)
        return tuple(plane.samples[0] for plane in planes)

    def test_colours(self):
        for colour, wanted in self.COLOURS.items():
            self.assertEqual(self.one(f'solid={colour}', 'yuv420p'), wanted)
            self.assertEqual(self.one(f'solid=c={colour}', 'yuv422p10le'),
                             tuple(4 * v + d for v, d in zip(wanted, self.deep(colour))))

    def deep(self, colour):
        """What two more bits tell."""
        return {'red': (2, 1, 0), '#0000ff': (0, 0, -1), '0x00ff00': (-2, -1, 1)}.get(
            colour, (0, 0, 0))

    def test_matrix_and_range(self):
        self.assertEqual(self.one('solid=red', 'yuv444p', colorspace='bt709'), (63, 102, 240))
        self.assertEqual(self.one('solid=white', 'yuv444p', 'libx264', range='pc'),
                         (255, 128, 128))
        self.assertEqual(self.one('solid=#102030', 'gbrp'), (0x20, 0x30, 0x10))

    def test_refused(self):
        for colour in ('rred', 'random', 'red@0.5', '#12'):
            self.refused('run', '-i', source(), '-vf', f'solid={colour}', 'null:',
                         says=f'color={colour}')


class Refused(HaloTest):
    def refuse(self, chain, *says):
        self.refused('run', '-i', source(), '-vf', chain, 'null:', says=says)

    def test_words(self):
        for chain, says in (
                ('gblur=1:region=elipse 1 2 3 4', ('column 16', 'column 1', 'nearest: ellipse')),
                ('gblur=1:region=rect 1 2 3', ('column 16', 'column 11', 'height')),
                ('gblur=1:invert=1', ('column 16', 'without a region')),
                ('gblur=1:feather=3', ('column 17', 'without a region')),
                ('gblur=1:region=rect 1 2 3 4:feather=513', ('feather=513', '512')),
                ('null=region=rect 1 2 3 4', ('column 13', 'does not accept a region')),
                ('gblur=1:region=feed', ('filter 1', 'feed')),
                ('gblur=1,gblur=2:region=rect 200 0 10 10', ('filter 2', 'no pixel', '97x61')),
                ('gblur=2:region=rect 0 0 100% 100%:invert=1', ('inverted', 'no pixel')),
                ('gblur=sigma=2*w', ('sigma=2*w', '0.1*w')),
                ('unsharp=lx=0.1*w', ('expressions are not supported',)),
                ('gblur=sigma=0.01*w:region=rect 0 0 3 3', ('so small',))):
            with self.subTest(chain):
                self.refuse(chain, *says)

    def test_masks(self):
        path = os.path.join(self.folder, 'mask.png')
        self.refuse(f'gblur=2:region=mask {path}', path, 'No such file')
        self.refuse(f'gblur=2:region=mask {self.folder}', 'this is not a regular file')
        with open(path, 'wb'):
            pass
        self.refuse(f'gblur=2:region=mask {path}', 'the file is empty')
        with open(path, 'w', encoding='ascii') as file:
            file.write('<svg/>')
        self.refuse(f'gblur=2:region=mask {path}', 'not PNG')
        png(path, 16, 16, lambda x, y: 0)
        self.refuse(f'gblur=2:region=mask {path}', 'no pixel')
        png(path, 16, 16, lambda x, y: 255, damage=True)
        self.refuse(f'gblur=2:region=mask {path}', 'damaged')
        png(path, 16, 16, lambda x, y: 255, missing=1)
        self.refuse(f'gblur=2:region=mask {path}', 'damaged')
        png(path, 64, 64, lambda x, y: x * y % 251)
        with open(path, 'rb') as file:
            whole = file.read()
        with open(path, 'wb') as file:
            file.write(whole[:len(whole) // 2])
        self.refuse(f'gblur=2:region=mask {path}', 'damaged')
        jpeg = os.path.join(self.folder, 'cut.jpg')
        ffmpeg('-f', 'lavfi', '-i', 'testsrc2=size=320x240', '-frames:v', '1', jpeg)
        with open(jpeg, 'rb') as file:
            whole = file.read()
        for left in (len(whole) - 2, len(whole) // 2):
            with open(jpeg, 'wb') as file:
                file.write(whole[:left])
            self.refuse(f'gblur=2:region=mask {jpeg}', 'damaged')
        png(path, 9000, 1, lambda x, y: 255)
        self.refuse(f'gblur=2:region=mask {path}', '8192')
        png(path, 16, 16, lambda x, y: 255)
        os.chmod(path, 0)
        if os.geteuid() != 0:
            self.refuse(f'gblur=2:region=mask {path}', 'Permission denied')


if __name__ == '__main__':
    halotest.main()
