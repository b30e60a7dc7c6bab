# SPDX-License-Identifier: BSD-2-Clause
# Filters from end to end against witnesses that are not ours: float64 in Python, FFmpeg's convolution and
# gblur. All borders, depths and sizes: tests/kernels/accuracy.c; what each option means: test_plan.c.
import functools
import math
import os
import random
import re

import halotest
from halotest import (WHOLE, HaloTest, Plane, all_frames, clip, each, largest_difference, psnr, raw_clip,
                      raw_frames, silent_clip, video_source, y4m_frames)

MASKS = {
    3: ('1 2 1 2 4 2 1 2 1', 0.0625),
    5: ('1 4 6 4 1 4 16 24 16 4 6 24 36 24 6 4 16 24 16 4 1 4 6 4 1', 0.00390625),
    7: (' '.join(str(1 + (x * y) % 5) for y in range(7) for x in range(7)), None),
}
SHARPEN = ('0 -1 0 -1 5 -1 0 -1 0', 1.0)
SLOPE = ('-1 0 1 -2 0 2 -1 0 1', 1.0)
LOPSIDED = ('9 0 0 0 3 0 0 0 0', 1 / 12)
# FFmpeg 5.1 takes rdiv and then uses 1 / sum whatever it is, so masks that are compared with it are
# divided by their sum; float64 is the witness of other divisors.


# ---- float64 witnesses ----

def gauss(sigma):
    if sigma == 0:
        return [1]
    radius = math.ceil(3 * sigma)
    weights = [math.exp(-x * x / (2 * sigma * sigma)) for x in range(-radius, radius + 1)]
    total = math.fsum(weights)
    return [w / total for w in weights]


def clamped(i, size):
    return min(max(i, 0), size - 1)


def reflected(i, size):
    i %= 2 * size
    return i if i < size else 2 * size - 1 - i


def reflected101(i, size):
    if size == 1:
        return 0
    i %= 2 * size - 2
    return i if i < size else 2 * size - 2 - i


def wrapped(i, size):
    return i % size


def separable(plane, row, column, index=clamped):
    """Real samples of the plane after a row and a column mask."""
    w, h = plane.width, plane.height
    rx, ry = len(row) // 2, len(column) // 2
    xs = [[index(x + i - rx, w) for i in range(len(row))] for x in range(w)]
    ys = [[index(y + j - ry, h) for j in range(len(column))] for y in range(h)]
    rows = []
    for y in range(h):
        line = plane.samples[y * w:(y + 1) * w]
        rows.append([sum(weight * line[at] for weight, at in zip(row, places)) for places in xs])
    return Plane(w, h, [sum(weight * rows[at][x] for weight, at in zip(column, ys[y]))
                        for y in range(h) for x in range(w)])


def box(plane, radius_x, radius_y, passes=1):
    """The contract's integers: a running sum and one rounding division."""
    w, h = plane.width, plane.height
    area = (2 * radius_x + 1) * (2 * radius_y + 1)
    for _ in range(passes):
        rows = [[sum(plane.samples[y * w + clamped(x + i, w)]
                     for i in range(-radius_x, radius_x + 1)) for x in range(w)] for y in range(h)]
        plane = Plane(w, h, [(sum(rows[clamped(y + j, h)][x]
                                  for j in range(-radius_y, radius_y + 1)) + area // 2) // area
                             for y in range(h) for x in range(w)])
    return plane


@functools.cache
def noise_clip(pixel_format, width=64, height=48, seed=5):
    """Half noise, half a hard edge: what finds wrong weights and wrong borders."""
    shift_x, shift_y, planes, size = halotest.LAYOUTS[pixel_format]
    generator, data = random.Random(seed), b''
    top = halotest.top_of(pixel_format)
    for index in range(planes):
        w = width if index == 0 else -(-width >> shift_x)
        h = height if index == 0 else -(-height >> shift_y)
        for y in range(h):
            for x in range(w):
                value = generator.randint(0, top) if x < w // 2 else top * ((y // 9) % 2)
                data += value.to_bytes(size, 'little')
    if size == 1:
        return raw_clip(data, pixel_format, width, height)
    return clip('.mkv', '-f', 'rawvideo', '-pixel_format', pixel_format, '-video_size',
                f'{width}x{height}', '-i', '-', '-c:v', 'ffv1', data=data)


@functools.cache
def decoded(source, pixel_format, width, height):
    """The first frame of a clip of that format."""
    return all_frames(raw_frames(source), pixel_format, width, height)[0]


class Witnessed(HaloTest):
    def frames_of(self, source, chain, pixel_format, width, height):
        """Filtered, without a program between where the file can be read here. (The Y4M of FFmpeg 5.1
        with deep samples lacks the last column and row of chroma where sizes are odd.)"""
        odd = 'le' in pixel_format and 'gray' not in pixel_format and (width | height) & 1
        if not odd and not pixel_format.startswith('gbr'):
            output = self.filtered(source, 'out.y4m', '-y', chain=chain)
            return y4m_frames(output, pixel_format, width, height)
        output = self.lossless(source, 'out.mkv', chain, '-y')
        held = 'bgr0' if pixel_format == 'gbrp' else pixel_format  # what FFV1 has of 8 bits
        self.assertEqual(halotest.probe_video(output)['pix_fmt'], held)
        return all_frames(raw_frames(output, pixel_format=pixel_format), pixel_format, width, height)

    def planes_of(self, source, chain, pixel_format, width, height):
        """The first frame before and after."""
        return (decoded(source, pixel_format, width, height),
                self.frames_of(source, chain, pixel_format, width, height)[0])

    def assert_within_one(self, wanted, got, what, most=1.0):
        self.assertEqual((got.width, got.height), (wanted.width, wanted.height), what)
        worst = max(abs(w - g) for w, g in zip(wanted.samples, got.samples))
        self.assertLessEqual(worst, most, f'{what}: off by {worst} from float64')


    def dense(self, plane, mask, bias=0, top=255, index=clamped):
        """mask: rows of real weights."""
        ry, rx, w, h, wanted = len(mask) // 2, len(mask[0]) // 2, plane.width, plane.height, []
        taps = [(j - ry, i - rx, weight) for j, row in enumerate(mask)
                for i, weight in enumerate(row) if weight]
        for y in range(h):
            for x in range(w):
                total = sum(weight * plane.samples[index(y + j, h) * w + index(x + i, w)]
                            for j, i, weight in taps)
                wanted.append(min(max(total + bias, 0), top))
        return Plane(w, h, wanted)

    def check_flat(self, chain):
        values = (0, 1, 16, 127, 254, 255)
        source = raw_clip(b''.join(bytes([value]) * (64 * 48) for value in values), 'gray', 64, 48)
        found = self.frames_of(source, chain, 'gray', 64, 48)
        self.assertEqual([set(plane.samples) for [plane] in found], [{value} for value in values], chain)


class Gaussian(Witnessed):
    def check(self, chain, pixel_format, sigmas, size=(48, 36), index=clamped, sigmas_v=None):
        source = noise_clip(pixel_format, *size)
        before, after = self.planes_of(source, chain, pixel_format, *size)
        for number, (plane, got) in enumerate(zip(before, after)):
            across, down = sigmas[number], (sigmas_v or sigmas)[number]
            wanted = separable(plane, gauss(across), gauss(down), index)
            self.assert_within_one(wanted, got, f'{chain} on {pixel_format} plane {number}',
                                   2.0 if max(across, down) > 21 else 1.0)

    def test_gray(self):
        """The last one in both of its number formats."""
        for pixel_format, sigmas, some in (('gray', (0.5, 1, 2, 5, 12.3, 21), (0.5, 5, 21)),
                                           ('gray10le', (0.7, 2, 5), (2,)),
                                           ('gray12le', (0.7, 2, 5, 6, 12, 21), (0.7, 12, 21))):
            for sigma in sigmas if WHOLE else some:
                with self.subTest(pixel_format, sigma=sigma):
                    self.check(f'gblur=sigma={sigma}:border=replicate', pixel_format, [sigma])

    def test_wide(self):
        """Above sigma 21 on a smaller plane: a kind of its own, within 2 code values."""
        self.check('gblur=sigma=100', 'gray', [100], (32, 24))
        self.check('gblur=sigma=30:border=wrap', 'yuv420p', [30, 15, 15], (37, 29), wrapped)
        self.check('gblur=sigma=60:sigmaV=5:border=reflect', 'yuv422p10le', [60, 30, 30], (32, 24),
                   index=reflected, sigmas_v=[5, 5, 5])
        self.check('gblur=sigma=22:sigmaV=200', 'gray12le', [22], (32, 24), sigmas_v=[200])

    def test_sigma_is_in_luma_pixels(self):
        """So chroma of 4:2:2 is blurred less across only."""
        self.check('gblur=sigma=4:border=replicate', 'yuv420p10le', [4, 2, 2])
        self.check('gblur=sigma=12:border=replicate', 'yuv420p12le', [12, 6, 6])
        self.check('gblur=sigma=4:border=replicate', 'yuv422p', [4, 2, 2], sigmas_v=[4, 4, 4])
        self.check('gblur=sigma=3:border=replicate', 'yuv444p', [3, 3, 3])
        self.check('gblur=sigma=8:sigmaV=0:border=replicate', 'gbrp12le', [8] * 3, (61, 47), sigmas_v=[0] * 3)
        self.check('gblur=sigma=3:border=reflect101', 'gbrp', [3, 3, 3], index=reflected101)
        self.check('gblur=sigma=2:border=replicate', 'yuv420p', [2, 1, 1], (61, 47))

    def test_values_alone(self):
        """FFmpeg's order: sigma, steps, planes, sigmaV."""
        self.check('gblur=3', 'gray', [3])
        self.check('gblur=sigma=1:sigmaV=4:border=replicate', 'gray', [1], sigmas_v=[4])

    def test_planes(self):
        source = noise_clip('yuv420p')
        before, after = self.planes_of(source, 'gblur=sigma=3:planes=1', 'yuv420p', 64, 48)
        self.assertGreater(largest_difference(before[0], after[0]), 10)
        for number in (1, 2):
            self.assertEqual(list(after[number].samples), list(before[number].samples))
        before, after = self.planes_of(source, 'gblur=sigma=3:planes=6', 'yuv420p', 64, 48)
        self.assertEqual(list(after[0].samples), list(before[0].samples))
        for number in (1, 2):
            self.assertGreater(largest_difference(before[number], after[number]), 10)

    def test_flat_stays_flat(self):
        self.check_flat('gblur=sigma=7')

    def test_chain_is_run_in_order(self):
        source = noise_clip('gray')
        chained = self.lossless(source, 'c.mkv', 'gblur=sigma=2,avgblur=sizeX=3')
        first = self.lossless(source, 'a.mkv', 'gblur=sigma=2')
        second = self.lossless(first, 'b.mkv', 'avgblur=sizeX=3')
        self.assertEqual(raw_frames(chained), raw_frames(second))
        self.assertNotEqual(raw_frames(chained), raw_frames(first))

    def test_near_ffmpegs_gblur(self):
        """FFmpeg's is off by up to 25 code values: a floor, not a match."""
        source = silent_clip('.mkv', 1)
        output = self.lossless(source, 'out.mkv', 'gblur=sigma=5')
        wanted = all_frames(raw_frames(source, filters='gblur=sigma=5'), 'yuv420p', 160, 120)
        got = all_frames(raw_frames(output), 'yuv420p', 160, 120)
        self.assertEqual(len(got), len(wanted))
        for number in (0, 12, 24):
            self.assertGreater(psnr(wanted[number][0], got[number][0]), 28, f'frame {number}')

    def test_steps_are_ignored_and_that_is_said_once(self):
        source = silent_clip('.mkv', 1)
        run = self.halod('run', '-i', source, '-vf', 'gblur=sigma=2:steps=3,gblur=sigma=1:steps=2',
                         '-c:v', 'ffv1', self.path('a.mkv'))
        self.says_once(run, 'steps')
        b = self.lossless(source, 'b.mkv', 'gblur=sigma=2:strategy=auto,gblur=sigma=1')
        self.assertEqual(raw_frames(self.path('a.mkv')), raw_frames(b))


class Boxes(Witnessed):
    def check(self, chain, pixel_format, radii, passes=1, size=(48, 36)):
        source = noise_clip(pixel_format, *size)
        before, after = self.planes_of(source, chain, pixel_format, *size)
        for plane, got, (rx, ry) in zip(before, after, radii):
            self.assertEqual(list(got.samples), list(box(plane, rx, ry, passes).samples), chain)

    def test_avgblur(self):
        self.check('avgblur=sizeX=3:sizeY=7:border=replicate', 'gray', [(3, 7)])
        self.check('avgblur=sizeX=4:border=replicate', 'gray10le', [(4, 4)])
        self.check('avgblur=sizeX=4:border=replicate', 'gray12le', [(4, 4)])
        self.check('avgblur=sizeX=4:border=replicate', 'yuv420p', [(4, 4), (2, 2), (2, 2)])

    def test_boxblur(self):
        """Its chroma radius is in samples of chroma, or follows luma."""
        self.check('boxblur=lr=2:lp=2:border=replicate', 'gray', [(2, 2)], passes=2)
        self.check('boxblur=lr=2:lp=3:border=replicate', 'gray12le', [(2, 2)], passes=3)
        self.check('boxblur=lr=4:lp=1:cr=3:cp=1:border=replicate', 'yuv420p',
                   [(4, 4), (3, 3), (3, 3)])
        self.check('boxblur=lr=4:lp=1:border=replicate', 'yuv420p', [(4, 4), (2, 2), (2, 2)])


class Convolution(Witnessed):
    def compare(self, chain, pixel_format, margin, reference=None, size='160x120'):
        """Frame by frame against FFmpeg's filter of the same name, without the edges."""
        source = clip('.mkv', *video_source(), '-vf', 'noise=alls=20:all_seed=3,scale='
                      + size.replace('x', ':'), '-frames:v', '2', '-pix_fmt', pixel_format,
                      '-c:v', 'ffv1')
        width, height = map(int, size.split('x'))
        witness = raw_frames(source, filters=reference or chain, pixel_format=pixel_format)
        wanted = all_frames(witness, pixel_format, width, height)
        got = self.frames_of(source, chain, pixel_format, width, height)
        self.assertEqual(len(got), 2)
        for w, g in zip(wanted, got):
            for number, (a, b) in enumerate(zip(w, g)):
                worst = largest_difference(a, b, margin)
                self.assertLessEqual(worst, 1, f'{chain} on {pixel_format} plane {number}')

    def chain(self, mask, scale, planes=(0,), bias=None):
        total = sum(map(float, mask.split()))
        scale = scale if scale is not None else 1 / total
        words = []
        for plane in planes:
            words += [f"{plane}m='{mask}'", f'{plane}rdiv={scale:.9g}']
            if bias is not None:
                words.append(f'{plane}bias={bias}')
        return 'convolution=' + ':'.join(words)

    def test_all_planes(self):
        for pixel_format, size in each(
                ('yuv420p', 'yuv422p', 'yuv444p', 'yuv444p10le', 'yuv422p12le', 'gray', 'gray10le', 'gray12le'),
                tuple(MASKS)):
            with self.subTest(f'{size}x{size} {pixel_format}'):
                planes = (0,) if pixel_format.startswith('gray') else (0, 1, 2)
                self.compare(self.chain(*MASKS[size], planes), pixel_format, size // 2)

    def test_signed_and_lopsided(self):
        for (mask, scale), pixel_format in each((SHARPEN, SLOPE, LOPSIDED),
                                                ('yuv444p', 'yuv420p10le')):
            with self.subTest(f'{mask} {pixel_format}'):
                self.compare(self.chain(mask, scale, (0, 1, 2)), pixel_format, 1)

    def test_words(self):
        """A bias, a mask for each plane, and a divisor that is a ratio or follows from the mask."""
        mask, scale = SLOPE
        self.compare(self.chain(mask, scale, (0, 1, 2), bias=128), 'yuv444p', 1)
        chain = ("convolution=0m='1 2 1 2 4 2 1 2 1':0rdiv=0.0625"
                 ":1m='0 -1 0 -1 5 -1 0 -1 0':1rdiv=1:2m='1 1 1 1 1 1 1 1 1':2rdiv=0.111111111")
        self.compare(chain, 'yuv444p', 1)
        self.compare("convolution=0m='1 2 1 2 4 2 1 2 1'", 'yuv420p', 1)
        self.compare("convolution=0m='1 2 1 2 4 2 1 2 1':0rdiv=1/16", 'yuv420p', 1,
                     reference="convolution=0m='1 2 1 2 4 2 1 2 1':0rdiv=0.0625")

    def test_odd_size(self):
        mask, scale = MASKS[5]
        self.compare(self.chain(mask, scale, (0, 1, 2)), 'yuv420p', 2, size='81x61')

    def test_masks_are_never_scaled(self):
        """A shift by one pixel is one chroma sample in chroma planes."""
        source = noise_clip('yuv420p')
        shift = "'0 0 0 0 0 1 0 0 0'"
        chain = f'convolution=0m={shift}:1m={shift}:2m={shift}:border=replicate'
        before, after = self.planes_of(source, chain, 'yuv420p', 64, 48)
        for plane, got in zip(before, after):
            for y in range(plane.height):
                line = list(plane.samples[y * plane.width:(y + 1) * plane.width])
                self.assertEqual(list(got.samples[y * plane.width:(y + 1) * plane.width]),
                                 line[1:] + line[-1:])

    @staticmethod
    def rows(mask, scale):
        side = math.isqrt(len(mask))
        return [[scale * weight for weight in mask[at:at + side]] for at in range(0, len(mask), side)]

    def test_divisor_and_bias(self):
        for pixel_format, (mask, divisor, scale, bias) in each(
                ('gray', 'gray10le', 'gray12le'),
                ((SLOPE[0], '0.25', 0.25, 128), (SLOPE[0], '1/9', 1 / 9, -3),
                 (MASKS[3][0], '0.03', 0.03, 0), (MASKS[3][0], '1/5', 0.2, 40.5))):
            source = noise_clip(pixel_format, 32, 24)
            chain = f"convolution=0m='{mask}':0rdiv={divisor}:0bias={bias}:border=replicate"
            with self.subTest(f'{chain} {pixel_format}'):
                before, after = self.planes_of(source, chain, pixel_format, 32, 24)
                weights = [float(w) for w in mask.split()]
                wanted = self.dense(before[0], self.rows(weights, scale), bias, halotest.top_of(pixel_format))
                self.assert_within_one(wanted, after[0], chain)

    def test_real_weights_and_large_masks(self):
        """What FFmpeg cannot: any odd size, real weights. Float64 is the witness, edges too."""
        generator = random.Random(9)
        for side in (1, 11):
            mask = [round(generator.uniform(0, 2), 3) for _ in range(side * side)]
            scale = 1 / sum(mask)
            with self.subTest(side):
                source = noise_clip('gray', 32, 24)
                chain = (f"convolution=0m='{' '.join(map(str, mask))}':0rdiv={scale:.12g}"
                         ':border=replicate')
                before, after = self.planes_of(source, chain, 'gray', 32, 24)
                wanted = self.dense(before[0], self.rows(mask, scale))
                self.assert_within_one(wanted, after[0], f'{side}x{side}')


class Masks(Witnessed):
    """Filters that are one dense mask."""

    def check(self, chain, pixel_format, masks, bias=0, size=(36, 28), index=clamped):
        """masks: one for each plane, None where it is not filtered."""
        with self.subTest(f'{chain} {pixel_format}'):
            before, after = self.planes_of(noise_clip(pixel_format, *size), chain, pixel_format,
                                           *size)
            for plane, got, mask in zip(before, after, masks):
                if mask is None:
                    self.assertEqual(list(got.samples), list(plane.samples))
                    continue
                wanted = self.dense(plane, mask, bias, halotest.top_of(pixel_format), index)
                self.assert_within_one(wanted, got, f'{chain} on {pixel_format}')

    def unsharp(self, width, height, amount):
        mask = [[-amount * math.comb(width - 1, i) * math.comb(height - 1, j)
                 / 2 ** (width + height - 2) for i in range(width)] for j in range(height)]
        mask[height // 2][width // 2] += 1 + amount
        return mask

    def test_unsharp(self):
        for pixel_format, (width, height, amount) in each(
                ('gray', 'gray10le', 'gray12le'), ((5, 5, 1), (3, 7, 5), (13, 3, -1), (23, 23, -2))):
            self.check(f'unsharp={width}:{height}:{amount}', pixel_format,
                       [self.unsharp(width, height, amount)])
        self.check('unsharp=lx=7:la=0.3:border=reflect101', 'gray', [self.unsharp(7, 5, 0.3)],
                   index=reflected101)

    def test_unsharp_on_chroma(self):
        luma, chroma = self.unsharp(5, 5, 1), self.unsharp(3, 9, 2)
        self.check('unsharp', 'yuv420p', [luma, None, None])
        self.check('unsharp=la=0:cx=3:cy=9:ca=2', 'yuv420p', [None, chroma, chroma])
        self.check('unsharp=cx=3:cy=9:ca=2:aa=3', 'yuv422p12le', [luma, chroma, chroma])
        self.check('unsharp=la=1', 'gbrp', [luma, luma, luma])

    def test_unsharp_beside_ffmpegs(self):
        """FFmpeg rounds the blur, which amount multiplies, and then the product downwards. (That of
        FFmpeg 5.1 does next to nothing to deeper samples: no witness.)"""
        for pixel_format, (options, amount) in each(
                ('yuv420p', 'yuv422p', 'yuv444p'),
                (('5:5:1:5:5:1', 1), ('3:3:5:3:23:5', 5), ('23:3:-2:3:7:-2', 2),
                 ('7:13:0.5:9:9:0.5', 0.5))):
            with self.subTest(f'{options} {pixel_format}'):
                source = clip('.mkv', *video_source(), '-vf', 'noise=alls=20:all_seed=3',
                              '-frames:v', '2', '-pix_fmt', pixel_format, '-c:v', 'ffv1')
                chain = 'unsharp=' + options
                wanted = all_frames(raw_frames(source, filters=chain, pixel_format=pixel_format),
                                    pixel_format, 160, 120)
                got = self.frames_of(source, chain, pixel_format, 160, 120)
                worst = max(largest_difference(a, b, 12)
                            for w, g in zip(wanted, got) for a, b in zip(w, g))
                self.assertLessEqual(worst, math.floor(amount / 2 + 1.5))

    LAPLACIANS = {4: [[0, 1, 0], [1, -4, 1], [0, 1, 0]], 8: [[1, 1, 1], [1, -8, 1], [1, 1, 1]]}

    def test_laplacian(self):
        for (neighbours, mask), pixel_format, (scale, delta) in each(
                tuple(self.LAPLACIANS.items()), ('gray', 'gray10le', 'gray12le'),
                ((1, 0), (0.25, 128), (3, -7.5), (0, 90))):
            self.check(f'laplacian=scale={scale}:delta={delta}:neighbours={neighbours}',
                       pixel_format, [[[scale * w for w in row] for row in mask]], delta)
        mask = self.LAPLACIANS[4]
        self.check('laplacian', 'yuv420p', [mask, mask, mask])
        self.check('laplacian=1:1:128', 'yuv420p12le', [mask, None, None], 128)

    def test_laplacian_beside_ffmpegs_convolution(self):
        for neighbours, mask in self.LAPLACIANS.items():
            text = ' '.join(str(w) for row in mask for w in row)
            source = clip('.mkv', *video_source(), '-frames:v', '2', '-pix_fmt', 'yuv444p', '-c:v',
                          'ffv1')
            reference = 'convolution=' + ':'.join(f"{p}m='{text}':{p}rdiv=1" for p in range(3))
            wanted = all_frames(raw_frames(source, filters=reference), 'yuv444p', 160, 120)
            got = self.frames_of(source, f'laplacian=neighbours={neighbours}', 'yuv444p', 160, 120)
            self.assertEqual(len(got), 2)
            for w, g in zip(wanted, got):
                for a, b in zip(w, g):
                    self.assertEqual(largest_difference(a, b, 1), 0)

    def disc(self, radius, radius_v=None):
        """Exact areas of pixels in an ellipse."""
        radius_v = radius_v or radius

        def area(x, y):
            """Of the unit disc between the axes, x and y."""
            sign, a, b = math.copysign(1, x * y), min(abs(x), 1), min(abs(y), 1)
            if a * a + b * b <= 1:
                return sign * a * b
            corner = math.sqrt(1 - b * b)
            return sign * (b * corner + (a * math.sqrt(1 - a * a) + math.asin(a)
                                         - corner * b - math.asin(corner)) / 2)

        def pixel(x, y):
            left, right = (x - 0.5) / radius, (x + 0.5) / radius
            top, bottom = (y - 0.5) / radius_v, (y + 0.5) / radius_v
            return area(right, bottom) - area(left, bottom) - area(right, top) + area(left, top)

        rx, ry = math.ceil(radius - 0.5), math.ceil(radius_v - 0.5)
        return [[pixel(x, y) / math.pi for x in range(-rx, rx + 1)] for y in range(-ry, ry + 1)]

    def test_discblur(self):
        for pixel_format, radius in each(('gray', 'gray10le', 'gray12le'), (0.7, 1, 2.5, 6.3)):
            self.check(f'discblur=radius={radius}', pixel_format, [self.disc(radius)])
        self.check('discblur=5:radiusV=2.2:border=wrap', 'gray', [self.disc(5, 2.2)],
                   index=wrapped)
        self.check('discblur=31', 'gray', [self.disc(31)], size=(20, 14))

    def test_discblur_is_in_luma_pixels(self):
        self.check('discblur=5', 'yuv420p', [self.disc(5), self.disc(2.5), self.disc(2.5)])
        self.check('discblur=5', 'yuv422p12le', [self.disc(5)] + [self.disc(2.5, 5)] * 2)
        self.check('discblur=1', 'yuv420p', [self.disc(1), None, None])

    def test_flat_stays_flat(self):
        for chain in ('unsharp=23:23:5:23:23:5', 'discblur=31', 'discblur=3.3'):
            self.check_flat(chain)

    def test_bad_values(self):
        for chain, says in (('unsharp=lx=6', ('column 12', 'odd')),
                            ('null,unsharp=la=6', ('column 17', 'between -2 and 5')),
                            ('laplacian=neighbours=5', ('column 22', '4, 8')),
                            ('laplacian=scale=x', ('column 17', 'number')),
                            ('discblur=radius=31.5', ('column 17', 'between 0.5 and 31')),
                            ('discblur=radius=5:radiusV=0', ('column 27', 'between'))):
            with self.subTest(chain):
                self.refused('run', '-i', silent_clip(), '-vf', chain, 'null:', says=says)


class Edges(Witnessed):
    """Float64 is the witness, edges of the picture too; and FFmpeg, without those."""
    MASKS = {'sobel': (1, 2, 1), 'prewitt': (1, 1, 1), 'scharr': (47 / 256, 162 / 256, 47 / 256)}
    SCALES = ('', '=scale=0.3', '=scale=2:delta=-40', '=scale=0.125:delta=12.5')

    def gradient(self, plane, name, scale, delta, top, index=clamped):
        edge, middle, _ = self.MASKS[name]
        w, h, wanted = plane.width, plane.height, []
        for y in range(h):
            above, here, below = (index(y + j, h) * w for j in (-1, 0, 1))
            for x in range(w):
                left, right, p = index(x - 1, w), index(x + 1, w), plane.samples
                down = (edge * (p[below + left] - p[above + left])
                        + middle * (p[below + x] - p[above + x])
                        + edge * (p[below + right] - p[above + right]))
                across = (edge * (p[above + right] - p[above + left])
                          + middle * (p[here + right] - p[here + left])
                          + edge * (p[below + right] - p[below + left]))
                wanted.append(min(max(math.hypot(down, across) * scale + delta, 0), top))
        return Plane(w, h, wanted)

    def check(self, name, options, pixel_format, size=(64, 48), border='replicate', index=clamped):
        source = noise_clip(pixel_format, *size)
        chain = f'{name}{options or "="}:border={border}'.replace('=:', '=')
        before, after = self.planes_of(source, chain, pixel_format, *size)
        values = dict(part.split('=') for part in options[1:].split(':') if part)
        scale, delta = float(values.get('scale', 1)), float(values.get('delta', 0))
        top = 1023 if halotest.LAYOUTS[pixel_format][3] == 2 else 255
        for number, (plane, got) in enumerate(zip(before, after)):
            wanted = self.gradient(plane, name, scale, delta, top, index)
            what = f'{chain} on {pixel_format} plane {number}'
            self.assert_within_one(wanted, got, what)
            self.assertTrue(all(g <= w + 0.01 for w, g in zip(wanted.samples, got.samples)),
                            f'{what} is not rounded down')

    def test_float64(self):
        for name, options in each(tuple(self.MASKS), self.SCALES):
            with self.subTest(f'{name}{options}'):
                self.check(name, options, 'yuv420p', (61, 47))
                self.check(name, options, 'gray10le')

    def test_ffmpeg(self):
        """Its C code: the one for x86 wraps around where a result is below zero."""
        for name, options, pixel_format in each(tuple(self.MASKS), self.SCALES,
                                                ('yuv444p', 'yuv420p10le')):
            with self.subTest(f'{name}{options} {pixel_format}'):
                source = noise_clip(pixel_format)
                _, after = self.planes_of(source, name + options, pixel_format, 64, 48)
                data = raw_frames(source, filters=name + options, pixel_format=pixel_format,
                                  options=('-cpuflags', '0'))
                wanted = all_frames(data, pixel_format, 64, 48)[0]
                for number, (a, b) in enumerate(zip(wanted, after)):
                    self.assertLessEqual(largest_difference(a, b, 1), 1, f'plane {number}')


class Tables(Witnessed):
    SETTINGS = ((0.5, 0.1, 0.5, 1, 1), (1.7, -0.05, 2, 1, 1), (1, 0, 1, 2, 1), (2, 0, 0, 0.5, 1),
                (1.5, 0, 1, 2, 0.3), (1, 0.1, 1, 0.5, 0), (-1, 0, 1, 1, 1))

    def chain(self, values):
        return 'eq=' + ':'.join(map(str, values[:4])) + f':gamma_weight={values[4]}'

    def test_integers(self):
        for pixel_format, values in each(('yuv420p', 'yuv422p10le', 'gray12le', 'gbrp'), self.SETTINGS):
            with self.subTest(pixel_format, values=values):
                contrast, brightness, saturation, gamma, weight = values
                top = halotest.top_of(pixel_format)
                before, after = self.planes_of(noise_clip(pixel_format), self.chain(values), pixel_format,
                                               64, 48)
                for number, (plane, got) in enumerate(zip(before, after)):
                    if number and pixel_format.startswith('yuv'):
                        gray = top // 2 + 1
                        wanted = [gray + saturation * (p - gray) for p in plane.samples]
                    else:
                        levels = [max(0, contrast * (p / top - 0.5) + 0.5 + brightness)
                                  for p in plane.samples]
                        wanted = [top * ((1 - weight) * v + weight * v ** (1 / gamma)) for v in levels]
                    wanted = Plane(plane.width, plane.height, [min(max(w, 0), top) for w in wanted])
                    self.assert_within_one(wanted, got, f'plane {number}', 0.5001)

    def test_beside_ffmpegs(self):
        source = clip('.mkv', *video_source(), '-frames:v', '1', '-pix_fmt', 'yuv420p', '-c:v', 'ffv1')
        for values in self.SETTINGS[:6]:
            chain = self.chain(values)
            [wanted] = all_frames(raw_frames(source, filters=chain), 'yuv420p', 160, 120)
            [got] = self.frames_of(source, chain, 'yuv420p', 160, 120)
            for a, b in zip(wanted, got):
                self.assertLessEqual(largest_difference(a, b), 4, chain)


class Pixelize(Witnessed):
    MODES = {'avg': lambda c: (sum(c) + len(c) // 2) // len(c), 'min': min, 'max': max}

    def blocks(self, plane, block_w, block_h, mode):
        w, h, p = plane.width, plane.height, list(plane.samples)
        for y in range(0, h, block_h):
            for x in range(0, w, block_w):
                rows = [slice(r * w + x, r * w + min(x + block_w, w))
                        for r in range(y, min(y + block_h, h))]
                value = self.MODES[mode]([v for row in rows for v in p[row]])
                for row in rows:
                    p[row] = [value] * (row.stop - row.start)
        return p

    def test_integers(self):
        for pixel_format, (block_w, block_h), mode in each(
                ('yuv420p', 'yuv422p10le'), ((16, 16), (2, 3), (7, 1), (100, 20), (1024, 1024)),
                tuple(self.MODES)):
            chain = f'pixelize=w={block_w}:h={block_h}:m={mode}'
            with self.subTest(f'{chain} {pixel_format}'):
                source = noise_clip(pixel_format, 61, 47)
                before, after = self.planes_of(source, chain, pixel_format, 61, 47)
                for number, (plane, got) in enumerate(zip(before, after)):
                    sub_x, sub_y = halotest.LAYOUTS[pixel_format][:2] if number else (0, 0)
                    size = max(1, block_w >> sub_x), max(1, block_h >> sub_y)
                    self.assertTrue(list(got.samples) == self.blocks(plane, *size, mode),
                                    f'plane {number}')

    def test_ffmpeg(self):
        """Its mean is rounded down, ours to nearest, and on 4:2:0 it makes odd sizes even."""
        for pixel_format, chain in (('yuv420p', 'pixelize'), ('yuv420p', 'pixelize=w=10:h=30:m=min'),
                                    ('yuv444p10le', 'pixelize=5:7'), ('yuv444p10le', 'pixelize=w=3:h=3:mode=2')):
            with self.subTest(f'{chain} {pixel_format}'):
                source = noise_clip(pixel_format)
                _, after = self.planes_of(source, chain, pixel_format, 64, 48)
                data = raw_frames(source, filters=chain, pixel_format=pixel_format)
                wanted = all_frames(data, pixel_format, 64, 48)[0]
                for number, (a, b) in enumerate(zip(wanted, after)):
                    self.assertLessEqual(largest_difference(a, b), 'm' not in chain, f'plane {number}')


class Idle(HaloTest):
    """A filter that lets every picture through is warned of; null is asked for openly."""

    def said(self, *chain):
        run = self.halod('run', '-i', silent_clip(), '-vf', ','.join(chain), '-v', 'warning', 'null:')
        return [line for line in run.err.splitlines() if 'changes nothing' in line]

    def test_warned_of(self):
        chain = ('gblur=planes=0', 'gblur=planes=8', 'gblur=sigma=0', 'boxblur=0',
                 'boxblur=luma_power=0', 'convolution', "convolution=3m='1 1 1 1 1 1 1 1 1'",
                 'unsharp=la=0', 'unsharp=la=0:aa=1', 'discblur=0.5', 'pixelize=w=1:h=1')
        others = ('avgblur', 'null', 'gblur=planes=4', 'boxblur=lr=0:cr=1', 'convolution=2bias=1')
        said = self.said(*others, *chain)
        self.assertEqual(len(said), len(chain), said)
        for at, (name, line) in enumerate(zip(chain, said), len(others) + 1):
            self.assertIn(f'filter {at}, ' + name.split('=')[0], line)
        self.assertEqual(self.said('null'), [])


class Help(HaloTest):
    def test_filters(self):
        """They are in order, and examples with blanks or quotes run as they are printed, as all do in C
        (test_examples.c)."""
        examples = halotest.filter_examples()
        self.assertIn('gblur', examples)
        self.assertEqual(list(examples), sorted(examples))
        for name, chain in examples.items():
            if set(chain) & set(' \'"'):
                with self.subTest(name):
                    self.halod('run', '-i', silent_clip(), '-vf', chain, '-t', '0.1', 'null:')
        self.refused('filter', 'gblurr', says='gblur')

    def test_filter(self):
        for name, words in (('gblur', ('sigma', 'sigmaV', 'steps', 'planes', 'border', '200')),
                            ('avgblur', ('sizeX', 'sizeY', 'planes')),
                            ('boxblur', ('lr', 'lp', 'cr', 'cp')),
                            ('convolution', ('0m', '0rdiv', '0bias', '3m', 'strategy')),
                            ('sobel', ('scale', 'delta', 'planes', '65535')),
                            ('pixelize', ('width', 'height', 'w=', 'avg', 'max', '1024')),
                            ('null', ('null',))):
            text = self.halod('filter', name).out.decode()
            for word in words:
                self.assertIn(word, text, f'halod filter {name}')

    def test_manual_page(self):
        """halod-filters(7) has every option that all filters have."""
        page = os.path.join(os.path.dirname(__file__), '../../..', 'docs', 'halod-filters.7.scd')
        with open(page, encoding='utf-8') as file:
            section = re.search(r'(?ms)^# OPTIONS OF EVERY FILTER\n(.*?)^# ', file.read())[1]
        text = self.halod('filter', 'null').out.decode()
        lines = re.search(r'(?ms)^options of every filter:\n(.*?)\n\n', text)[1].splitlines()
        self.assertGreater(len(lines), 5)
        for line in lines:
            self.assertIn(f'*{re.match(r" +([a-z_]+)=", line)[1]}*', section)


if __name__ == '__main__':
    halotest.main()
