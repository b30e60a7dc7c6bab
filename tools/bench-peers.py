#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Times halod's CPU kernels beside other programs, in turns, and compares their errors.

Peers: OpenCV (cv2, with numpy), libvips (pyvips) and FFmpeg (ffmpeg on PATH); those that are not
here are named and left out. All filter 8-bit gray planes of random samples and one shape, held in
memory, with the border replicated where the peer can. Times are milliseconds for a plane: the
median of all rounds (smallest - largest). FFmpeg's are those of a filter graph less those of the
same graph with null in its place: where they are near 0, or below, they were too short to tell. The
error table takes numpy: it compares with a Gaussian of five sigma in float64."""
import argparse
import csv
import importlib.util
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
MASKS = 'gauss:13,31,61,121,dense:3,5,7,15,31,box:5,31'
SIGMAS = (2, 5, 10, 20)
ERROR_SIZE = 1024, 768
FFMPEG_PLANES = 48  # at least, so that starting the program is not what is timed
CHECKER = 64  # pixels of a square


def sigma_of(width):
    return (width // 2) / 3


def noise(count, seed=1):
    """Random bytes, the same on every machine."""
    import random
    return random.Random(seed).randbytes(count)


def integer_mask(width):
    """A dense mask without structure, small integers of both signs, and their divisor."""
    import random
    draw = random.Random(width)
    weights = [draw.randint(-9, 9) or 1 for _ in range(width * width)]
    return weights, sum(map(abs, weights))


# ---- peers inside Python, in a process of their own for each number of threads ----

class OpenCV:
    name = 'OpenCV'

    def __init__(self, threads):
        import cv2
        import numpy
        self.cv2, self.numpy = cv2, numpy
        self.version = cv2.__version__
        cv2.setNumThreads(threads)

    def load(self, planes, width, height):
        self.planes = [self.numpy.frombuffer(plane, self.numpy.uint8).reshape(height, width)
                       for plane in planes]
        self.out = self.numpy.empty_like(self.planes[0])

    def filter(self, kind, width):
        cv2, out = self.cv2, self.out
        border = cv2.BORDER_REPLICATE
        if kind == 'gauss':
            sigma = sigma_of(width)
            return lambda src: cv2.GaussianBlur(src, (width, width), sigma, out, sigma, border)
        if kind == 'box':
            return lambda src: cv2.blur(src, (width, width), out, (-1, -1), border)
        weights, divisor = integer_mask(width)
        mask = self.numpy.array(weights, self.numpy.float32).reshape(width, width) / divisor
        return lambda src: cv2.filter2D(src, -1, mask, out, (-1, -1), 128, border)


class Vips:
    name = 'libvips'

    def __init__(self, threads):
        os.environ['VIPS_CONCURRENCY'] = str(threads)  # read when the library starts
        import pyvips
        self.pyvips = pyvips
        self.version = '.'.join(str(pyvips.version(i)) for i in range(3))
        pyvips.cache_set_max(0)

    def load(self, planes, width, height):
        self.planes = [self.pyvips.Image.new_from_memory(plane, width, height, 1, 'uchar')
                       for plane in planes]

    def filter(self, kind, width):
        if kind == 'gauss':
            # The amplitude at three sigma, where our masks end.
            return lambda src: src.gaussblur(sigma_of(width), min_ampl=math.exp(-4.5),
                                             precision='integer').write_to_memory()
        if kind == 'box':
            line = self.pyvips.Image.new_from_array([[1] * width], width)
            return lambda src: src.convsep(line, precision='integer').write_to_memory()
        weights, divisor = integer_mask(width)
        rows = [weights[at:at + width] for at in range(0, width * width, width)]
        mask = self.pyvips.Image.new_from_array(rows, divisor, 128)
        return lambda src: src.conv(mask, precision='integer').write_to_memory()


IN_PYTHON = {'opencv': (OpenCV, ('cv2', 'numpy')), 'vips': (Vips, ('pyvips',))}


def work(peer, threads, path, size, count):
    """The worker's loop: a line 'KIND WIDTH' in, milliseconds for a plane out."""
    width, height = size
    peer = IN_PYTHON[peer][0](threads)
    with open(path, 'rb') as raw:
        peer.load([raw.read(width * height) for _ in range(count)], width, height)
    print(peer.version, flush=True)
    for line in sys.stdin:
        kind, mask = line.split()
        apply = peer.filter(kind, int(mask))
        apply(peer.planes[0])
        start = time.perf_counter()
        for plane in peer.planes:
            apply(plane)
        print((time.perf_counter() - start) * 1e3 / len(peer.planes), flush=True)


class Worker:
    """A peer in a process of its own, as the library's threads are set once."""

    def __init__(self, key, threads, path, size, count):
        self.name = IN_PYTHON[key][0].name
        self.process = subprocess.Popen(
            [sys.executable, os.path.abspath(__file__), '--worker', key, str(threads), path,
             f'{size[0]}x{size[1]}', str(count)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.version = self.process.stdout.readline().strip()
        if not self.version:
            raise RuntimeError('does not start')

    def measure(self, kind, width):
        self.process.stdin.write(f'{kind} {width}\n')
        self.process.stdin.flush()
        return float(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait()


# ---- programs ----

class HaloBench:
    name, version = 'halod', ''

    def __init__(self, program, threads, size, count):
        self.command = [program, '--backend', 'cpu', '--csv', '--strategies', 'auto', '--threads',
                        str(threads), '--size', f'{size[0]}x{size[1]}', '--planes', str(count),
                        '--rounds', '1', '--limit', '600']

    def measure(self, kind, width):
        done = subprocess.run(self.command + ['--masks', f'{kind}:{width}'], check=True,
                              stdout=subprocess.PIPE, text=True)
        for row in csv.DictReader(done.stdout.splitlines()):
            if row['strategy'] == 'auto' and row['depth'] == '8':
                return float(row['median_us']) / 1e3
        raise RuntimeError('halo-bench says nothing of it')

    def close(self):
        pass


class FFmpeg:
    name = 'FFmpeg'

    def __init__(self, threads, path, size, count):
        words = subprocess.run(['ffmpeg', '-version'], stdout=subprocess.PIPE, text=True,
                               check=True).stdout.split()
        self.version = words[2]
        self.count, self.loops = count, math.ceil(FFMPEG_PLANES / count)
        self.command = ['ffmpeg', '-nostdin', '-v', 'error', '-f', 'rawvideo', '-pix_fmt', 'gray',
                        '-s', f'{size[0]}x{size[1]}', '-i', path, '-threads', str(threads),
                        '-filter_threads', str(threads), '-f', 'null', '-vf']

    def run(self, graph):
        graph = f'loop=loop={self.loops}:size={self.count},{graph}'
        start = time.perf_counter()
        subprocess.run([*self.command, graph, '-'], check=True)
        return time.perf_counter() - start

    def measure(self, kind, width):
        if kind == 'gauss':
            graph = f'gblur=sigma={sigma_of(width)}'
        elif kind == 'box':
            graph = f'avgblur=sizeX={width // 2}'
        elif width <= 7:
            weights, divisor = integer_mask(width)
            graph = "convolution=0m='{}':0rdiv={}:0bias=128".format(
                ' '.join(map(str, weights)), 1 / divisor)
        else:
            return None  # its masks end at 7x7
        seconds = self.run(graph) - self.run('null')
        return seconds * 1e3 / (self.count * (self.loops + 1))

    def close(self):
        pass


# ---- the table of times ----

def open_peers(arguments, threads, path):
    """Those that are here, and lines about those that are not."""
    size, count = arguments.size, arguments.planes
    peers, missing = [HaloBench(arguments.halo_bench, threads, size, count)], []
    for key, (cls, modules) in IN_PYTHON.items():
        lacks = [module for module in modules if not importlib.util.find_spec(module)]
        try:
            if lacks:
                raise RuntimeError('no Python module ' + ' and '.join(lacks))
            peers.append(Worker(key, threads, path, size, count))
        except (OSError, RuntimeError) as error:
            missing.append(f'{cls.name}: {error}')
    if shutil.which('ffmpeg'):
        peers.append(FFmpeg(threads, path, size, count))
    else:
        missing.append('FFmpeg: no ffmpeg on PATH')
    return peers, missing


def print_times(masks, threads, peers, times):
    for kind, width in masks:
        ours = None
        for peer in peers:
            values = times[peer.name, kind, width]
            if not values:
                continue
            median = statistics.median(values)
            ours = ours or median
            print(f'{kind + ":" + str(width):<10} {threads:>7}  {peer.name:<8} {median:>10.3f}  '
                  f'{f"({min(values):.3f} - {max(values):.3f})":<22} {median / ours:>7.2f}')
    sys.stdout.flush()


def compare_times(arguments, folder):
    width, height = arguments.size
    path = os.path.join(folder, 'planes.raw')
    with open(path, 'wb') as raw:
        for i in range(arguments.planes):
            raw.write(noise(width * height, i))
    missing = []
    print(f'{width}x{height}, 8 bits, {arguments.planes} planes in rotation, {arguments.rounds} '
          'rounds; ms for a plane')
    print(f'{"mask":<10} {"threads":>7}  {"program":<8} {"median":>10}  '
          f'{"(smallest - largest)":<22} {"x halod":>7}')
    for threads in arguments.threads:
        peers, missing = open_peers(arguments, threads, path)
        times = {(peer.name, *mask): [] for peer in peers for mask in arguments.masks}
        for _ in range(arguments.rounds):
            for mask in arguments.masks:
                for peer in peers:
                    value = peer.measure(*mask)
                    if value is not None:
                        times[peer.name, *mask].append(value)
        print_times(arguments.masks, threads, peers, times)
        for peer in peers:
            peer.close()
    for peer in peers:
        if peer.version:
            print(f'{peer.name}: {peer.version}')
    for line in missing:
        print(f'missing: {line}')


# ---- the table of errors ----

def exact_blur(numpy, picture, sigma):
    """In float64, taps to five sigma, border replicated."""
    radius = math.ceil(5 * sigma)
    taps = numpy.exp(-numpy.arange(-radius, radius + 1, dtype=float) ** 2 / (2 * sigma ** 2))
    taps /= taps.sum()
    out = picture.astype(numpy.float64)
    for _ in range(2):
        padded = numpy.pad(out, ((radius, radius), (0, 0)), 'edge')
        out = sum(tap * padded[i:i + out.shape[0]] for i, tap in enumerate(taps)).T
    return out


def run_raw(numpy, command, picture, folder):
    """A program that reads in.gray and writes out.gray in folder."""
    with open(os.path.join(folder, 'in.gray'), 'wb') as raw:
        raw.write(picture.tobytes())
    subprocess.run(command, check=True, cwd=folder, stdin=subprocess.DEVNULL)
    with open(os.path.join(folder, 'out.gray'), 'rb') as raw:
        return numpy.frombuffer(raw.read(), numpy.uint8).reshape(picture.shape)


def blurs(numpy, arguments, folder):
    """(name, function of picture and sigma) of every program that is here."""
    size = '{}x{}'.format(*ERROR_SIZE)
    halod = os.path.abspath(arguments.halod)

    def ours(picture, sigma):
        return run_raw(numpy, [halod, 'run', '-y', '-v', 'error', '-f', 'rawvideo', '-pixel_format',
                               'gray', '-video_size', size, '-i', 'in.gray', '-vf',
                               f'gblur=sigma={sigma}', '-c:v', 'rawvideo', '-f', 'rawvideo',
                               'out.gray'], picture, folder)

    def ffmpeg(steps):
        return lambda picture, sigma: run_raw(
            numpy, ['ffmpeg', '-y', '-v', 'error', '-f', 'rawvideo', '-pix_fmt', 'gray', '-s', size,
                    '-i', 'in.gray', '-vf', f'gblur=sigma={sigma}:steps={steps}', '-f', 'rawvideo',
                    'out.gray'], picture, folder)

    found = [('halod', ours)]
    if importlib.util.find_spec('cv2'):
        import cv2
        found.append(('OpenCV', lambda picture, sigma: cv2.GaussianBlur(
            picture, (0, 0), sigma, borderType=cv2.BORDER_REPLICATE)))
    if importlib.util.find_spec('pyvips'):
        import pyvips

        def vips(amplitude):
            return lambda picture, sigma: pyvips.Image.new_from_array(picture).gaussblur(
                sigma, min_ampl=amplitude).numpy()
        found += [('libvips', vips(0.2)), ('libvips min_ampl=0.01', vips(0.01))]
    if shutil.which('ffmpeg'):
        found += [('FFmpeg', ffmpeg(1)), ('FFmpeg steps=6', ffmpeg(6))]
    return found


def compare_errors(arguments, folder):
    if not importlib.util.find_spec('numpy'):
        print('\nmissing: numpy, so there is no table of errors')
        return
    import numpy
    width, height = ERROR_SIZE
    rows, columns = numpy.indices((height, width))
    pictures = {
        'noise': numpy.frombuffer(noise(width * height), numpy.uint8).reshape(height, width),
        'checker': ((rows // CHECKER + columns // CHECKER) % 2 * 255).astype(numpy.uint8),
    }
    print(f'\nmax / mean |error| of a Gaussian, in codes of 255, against float64 with five sigma; '
          f'{width}x{height},\nwithout the outermost five sigma\n'
          f'{"program":<22} {"picture":<8}' + ''.join(f'{f"sigma {s}":>16}' for s in SIGMAS))
    exact = {(name, sigma): exact_blur(numpy, picture, sigma)
             for name, picture in pictures.items() for sigma in SIGMAS}
    for program, blur in blurs(numpy, arguments, folder):
        for name, picture in pictures.items():
            cells = []
            for sigma in SIGMAS:
                inner = (slice(5 * sigma, -5 * sigma),) * 2
                error = numpy.abs(blur(picture, sigma).astype(float) - exact[name, sigma])[inner]
                cells.append(f'{error.max():.2f} / {error.mean():.3f}')
            print(f'{program:<22} {name:<8}' + ''.join(f'{cell:>16}' for cell in cells))


# ---- command line ----

def parse_size(text):
    width, height = map(int, text.split('x'))
    if width < 1 or height < 1:
        raise ValueError
    return width, height


def parse_masks(text):
    masks, kind = [], ''
    for item in text.split(','):
        *before, width = item.split(':')
        kind = before[0] if before else kind
        if kind not in ('gauss', 'dense', 'box') or int(width) < 3 or int(width) % 2 == 0:
            raise ValueError
        masks.append((kind, int(width)))
    return masks


def main():
    if sys.argv[1:2] == ['--worker']:
        peer, threads, path, size, count = sys.argv[2:]
        work(peer, int(threads), path, parse_size(size), int(count))
        return 0
    build = os.path.join(HERE, '..', 'build-release')
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--halo-bench', default=os.path.join(build, 'tools/halo-bench/halo-bench'))
    parser.add_argument('--halod', default=os.path.join(build, 'daemon/halod'))
    parser.add_argument('--masks', type=parse_masks, default=MASKS, metavar='LIST',
                        help='as for halo-bench')
    parser.add_argument('--size', type=parse_size, default='3840x2160', metavar='WxH')
    parser.add_argument('--planes', type=int, default=8)
    parser.add_argument('--rounds', type=int, default=5)
    parser.add_argument('--threads', type=lambda text: [int(n) for n in text.split(',')],
                        default='1,2', metavar='LIST')
    parser.add_argument('--errors-only', action='store_true', help='no table of times')
    arguments = parser.parse_args()
    for program in (arguments.halo_bench, arguments.halod):
        if not os.access(program, os.X_OK):
            print(f'bench-peers: no program {program}: build a release, or name it',
                  file=sys.stderr)
            return 1
    with tempfile.TemporaryDirectory() as folder:
        if not arguments.errors_only:
            compare_times(arguments, folder)
        compare_errors(arguments, folder)
    return 0


if __name__ == '__main__':
    sys.exit(main())
