#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Times halod's CPU kernels and those of other programs alternately, and compares their errors.

The peers are OpenCV (cv2, with numpy), libvips (the library) and FFmpeg (ffmpeg on PATH); those
that are not installed are listed and left out. All filter gray planes of random samples with the
same shape, in memory, at 8 bits or at 10 bits in 16-bit words, with the border replicated if the
peer supports this. Times are milliseconds per plane: the median of all rounds (smallest - largest),
this median as a multiple of halod's with the same number of threads and, for more than one thread,
the gain over one. The rows "N processes" show how much several threads can gain at most on this
machine: N halod processes run at the same time, each with one thread and its own planes, and their
time is divided by N. FFmpeg's times are those of a filter graph minus those of the same graph with
the filter null instead; if they are near 0 or negative, they were too short to measure. The table
of errors requires numpy: it compares with a Gaussian of five sigma in float64."""
import csv
import ctypes
import ctypes.util
import importlib.util
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from benchlib import BUILD, FFMPEG, Parser, in_turns, output, program, start, timed, whole

MASKS = 'gauss:13,31,61,121,dense:3,5,7,15,31,box:5,31'
SIGMAS = (2, 5, 10, 20)
BITS = 8, 10
ERROR_SIZE = 1024, 768
FFMPEG_PLANES = 48  # at least, so that starting the program is not what is timed
CHECKER = 64  # pixels of a square


def raw_path(folder, bits):
    return os.path.join(folder, f'planes{bits}.raw')


def sigma_of(width):
    return (width // 2) / 3


def noise(count, bits=8, seed=1):
    """Random samples, the same on every machine; more than 8 bits in little-endian words."""
    import random
    data = bytearray(random.Random(seed).randbytes(count * (2 if bits > 8 else 1)))
    if bits > 8:
        data[1::2] = data[1::2].translate(bytes(i & ((1 << bits - 8) - 1) for i in range(256)))
    return bytes(data)


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

    def plane(self, data, width, height, bits):
        samples = self.numpy.uint8 if bits == 8 else self.numpy.uint16
        return self.numpy.frombuffer(data, samples).reshape(height, width)

    def filter(self, kind, width, bits, like):
        cv2, out = self.cv2, self.numpy.empty_like(like)
        border = cv2.BORDER_REPLICATE
        if kind == 'gauss':
            sigma = sigma_of(width)
            return lambda src: cv2.GaussianBlur(src, (width, width), sigma, out, sigma, border)
        if kind == 'box':
            return lambda src: cv2.blur(src, (width, width), out, (-1, -1), border)
        weights, divisor = integer_mask(width)
        mask = self.numpy.array(weights, self.numpy.float32).reshape(width, width) / divisor
        bias = 1 << bits - 1
        return lambda src: cv2.filter2D(src, -1, mask, out, (-1, -1), bias, border)


class Vips:
    name = 'libvips'
    UCHAR, USHORT, INTEGER = 0, 2, 0  # of its enumerations

    def __init__(self, threads):
        path = ctypes.util.find_library('vips')
        if not path:
            raise RuntimeError('no library')
        self.lib = ctypes.CDLL(path)
        for name in ('version_string', 'error_buffer'):
            getattr(self.lib, 'vips_' + name).restype = ctypes.c_char_p
        for name in ('new_from_memory', 'new_matrix_from_array', 'write_to_memory'):
            getattr(self.lib, 'vips_image_' + name).restype = ctypes.c_void_p
        if self.lib.vips_init(b'bench-peers'):
            raise RuntimeError('does not start')
        self.lib.vips_concurrency_set(threads)
        self.lib.vips_cache_set_max(0)
        self.version = self.lib.vips_version_string().decode()

    def plane(self, data, width, height, bits):
        """Reads data, which must stay."""
        return ctypes.c_void_p(self.lib.vips_image_new_from_memory(
            data, ctypes.c_size_t(len(data)), width, height, 1,
            self.UCHAR if bits == 8 else self.USHORT))

    def mask(self, width, height, weights, scale, offset):
        array = (ctypes.c_double * len(weights))(*weights)
        mask = ctypes.c_void_p(self.lib.vips_image_new_matrix_from_array(width, height, array,
                                                                         len(weights)))
        self.lib.vips_image_set_double(mask, b'scale', ctypes.c_double(scale))
        self.lib.vips_image_set_double(mask, b'offset', ctypes.c_double(offset))
        return mask

    def run(self, operation, src, *arguments, copy=False):
        """The samples if copy; they are computed in any case."""
        out, size = ctypes.c_void_p(), ctypes.c_size_t()
        data = None
        if not getattr(self.lib, 'vips_' + operation)(src, ctypes.byref(out), *arguments, None):
            data = ctypes.c_void_p(self.lib.vips_image_write_to_memory(out, ctypes.byref(size)))
            self.lib.g_object_unref(out)
        if not data:
            raise RuntimeError(self.lib.vips_error_buffer().decode())
        samples = ctypes.string_at(data, size.value) if copy else None
        self.lib.g_free(data)
        return samples

    def blur(self, src, sigma, amplitude, copy=False):
        return self.run('gaussblur', src, ctypes.c_double(sigma), b'min_ampl',
                        ctypes.c_double(amplitude), copy=copy)

    def filter(self, kind, width, bits, like):
        del like
        if kind == 'gauss':
            # The amplitude at three sigma, where our masks end.
            return lambda src: self.blur(src, sigma_of(width), math.exp(-4.5))
        if kind == 'box':
            name, mask = 'convsep', self.mask(width, 1, [1] * width, width, 0)
        else:
            weights, divisor = integer_mask(width)
            name, mask = 'conv', self.mask(width, width, weights, divisor, 1 << bits - 1)
        return lambda src: self.run(name, src, mask, b'precision', self.INTEGER)


IN_PYTHON = {'opencv': (OpenCV, ('cv2', 'numpy')), 'vips': (Vips, ())}


def work(peer, threads, folder, size, count):
    """The worker's loop: a line 'KIND WIDTH BITS' in, milliseconds for a plane out."""
    width, height = size
    peer = IN_PYTHON[peer][0](threads)
    planes = {}
    for bits in BITS:
        with open(raw_path(folder, bits), 'rb') as raw:
            data = [raw.read(width * height * (2 if bits > 8 else 1)) for _ in range(count)]
        planes[bits] = data, [peer.plane(plane, width, height, bits) for plane in data]
    print(peer.version, flush=True)
    for line in sys.stdin:
        kind, mask, bits = line.split()
        sources = planes[int(bits)][1]
        apply = peer.filter(kind, int(mask), int(bits), sources[0])
        apply(sources[0])
        start = time.perf_counter()
        for plane in sources:
            apply(plane)
        print((time.perf_counter() - start) * 1e3 / count, flush=True)


class Worker:
    """A peer in a process of its own, as the library's threads are set once."""

    def __init__(self, key, threads, folder, size, count):
        self.name, self.threads = IN_PYTHON[key][0].name, threads
        self.process = subprocess.Popen(
            [sys.executable, os.path.abspath(__file__), '--worker', key, str(threads), folder,
             f'{size[0]}x{size[1]}', str(count)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.version = self.process.stdout.readline().strip()
        if not self.version:
            raise RuntimeError(self.process.communicate()[1].strip().rpartition('\n')[2])

    def measure(self, kind, width, bits):
        self.process.stdin.write(f'{kind} {width} {bits}\n')
        self.process.stdin.flush()
        return float(self.process.stdout.readline())

    def close(self):
        self.process.communicate()


# ---- programs ----

class HaloBench:
    version = ''

    def __init__(self, program, threads, size, count, processes=1):
        self.name = f'{processes} processes' if processes > 1 else 'halod'
        self.threads, self.processes = threads * processes, processes
        self.command = [program, '--backend', 'cpu', '--csv', '--strategies', 'auto', '--threads',
                        str(threads), '--size', f'{size[0]}x{size[1]}', '--planes', str(count),
                        '--rounds', '1', '--limit', '600']
        self.spare = {}  # both depths come from one run

    def measure(self, kind, width, bits):
        if (kind, width, bits) not in self.spare:
            started = [subprocess.Popen(self.command + ['--masks', f'{kind}:{width}'],
                                        stdout=subprocess.PIPE, text=True)
                       for _ in range(self.processes)]
            rows = [row for process in started
                    for row in csv.DictReader(process.communicate()[0].splitlines())]
            for depth in BITS:
                times = [float(row['median_us']) / 1e3 for row in rows
                         if row['strategy'] == 'auto' and row['depth'] == str(depth)]
                self.spare[kind, width, depth] = sum(times) / self.processes ** 2
        return self.spare.pop((kind, width, bits))

    def close(self):
        pass


class FFmpeg:
    name = 'FFmpeg'

    def __init__(self, threads, folder, size, count):
        self.version, self.threads = output('ffmpeg', '-version').decode().split()[2], threads
        self.folder, self.size = folder, f'{size[0]}x{size[1]}'
        self.count, self.loops = count, math.ceil(FFMPEG_PLANES / count)

    def run(self, graph, bits):
        graph = f'loop=loop={self.loops}:size={self.count},{graph}'
        return timed(*FFMPEG, '-f', 'rawvideo', '-pix_fmt',
                     'gray' if bits == 8 else f'gray{bits}le', '-s', self.size, '-i',
                     raw_path(self.folder, bits), '-threads', str(self.threads), '-filter_threads',
                     str(self.threads), '-f', 'null', '-vf', graph, '-')[0]

    def measure(self, kind, width, bits):
        if kind == 'gauss':
            graph = f'gblur=sigma={sigma_of(width)}'
        elif kind == 'box':
            graph = f'avgblur=sizeX={width // 2}'
        elif width <= 7:
            weights, divisor = integer_mask(width)
            graph = "convolution=0m='{}':0rdiv={}:0bias={}".format(
                ' '.join(map(str, weights)), 1 / divisor, 1 << bits - 1)
        else:
            return None  # its masks end at 7x7
        seconds = self.run(graph, bits) - self.run('null', bits)
        return seconds * 1e3 / (self.count * (self.loops + 1))

    def close(self):
        pass


# ---- the table of times ----

def open_peers(arguments, threads, folder):
    """Those that are here, and lines about those that are not."""
    size, count = arguments.size, arguments.planes
    peers, missing = [HaloBench(arguments.halo_bench, threads, size, count)], []
    if threads > 1:
        peers.append(HaloBench(arguments.halo_bench, 1, size, count, threads))
    for key, (cls, modules) in IN_PYTHON.items():
        lacks = [module for module in modules if not importlib.util.find_spec(module)]
        try:
            if lacks:
                raise RuntimeError('no Python module ' + ' and '.join(lacks))
            peers.append(Worker(key, threads, folder, size, count))
        except (OSError, RuntimeError) as error:
            missing.append(f'{cls.name}: {error}')
    if shutil.which('ffmpeg'):
        peers.append(FFmpeg(threads, folder, size, count))
    else:
        missing.append('FFmpeg: no ffmpeg on PATH')
    return peers, missing


def print_mask(mask, peers, times):
    """All rows of one mask at one depth."""
    kind, width, bits = mask
    medians = {key: statistics.median(values) for key, values in times.items() if values}
    for peer in peers:
        median = medians.get((peer.name, peer.threads))
        if median is None:
            continue
        values = times[peer.name, peer.threads]
        one = medians.get(('halod' if peer.name.endswith('processes') else peer.name, 1))
        gain = f'{one / median:.2f}' if one and peer.threads > 1 else ''
        print(f'{f"{kind}:{width}":<10} {bits:>4} {peer.threads:>7}  {peer.name:<11} {median:>9.3f}'
              f'  {f"({min(values):.3f} - {max(values):.3f})":<20}'
              f' {median / medians["halod", peer.threads]:>7.2f} {gain:>6}'.rstrip())
    sys.stdout.flush()


def compare_times(arguments, folder):
    width, height = arguments.size
    for bits in BITS:
        with open(raw_path(folder, bits), 'wb') as raw:
            for i in range(arguments.planes):
                raw.write(noise(width * height, bits, i))
    print(f'{width}x{height}, {arguments.planes} planes in rotation, {arguments.rounds} rounds; '
          'ms for a plane')
    print(f'{"mask":<10} {"bits":>4} {"threads":>7}  {"program":<11} {"median":>9}  '
          f'{"(smallest - largest)":<20} {"x halod":>7} {"gain":>6}')
    peers, missing = [], []
    for threads in arguments.threads:
        found, missing = open_peers(arguments, threads, folder)
        peers += found
    for kind, taps in arguments.masks:
        times = in_turns([(bits, peer) for bits in BITS for peer in peers],
                         lambda task: task[1].measure(kind, taps, task[0]), arguments.rounds)
        for bits in BITS:
            print_mask((kind, taps, bits), peers,
                       {(peer.name, peer.threads): times[bits, peer] for peer in peers})
    for peer in peers:
        peer.close()
    for line in dict.fromkeys(f'{peer.name}: {peer.version}' for peer in peers if peer.version):
        print(line)
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
    output(*command, cwd=folder)
    with open(os.path.join(folder, 'out.gray'), 'rb') as raw:
        return numpy.frombuffer(raw.read(), numpy.uint8).reshape(picture.shape)


def blurs(numpy, arguments, folder):
    """(name, function of picture and sigma) of every program that is here."""
    size = '{}x{}'.format(*ERROR_SIZE)

    def ours(picture, sigma):
        return run_raw(numpy, [arguments.halod, 'run', '-y', '-v', 'error', '-f', 'rawvideo',
                               '-pixel_format', 'gray', '-video_size', size, '-i', 'in.gray', '-vf',
                               f'gblur=sigma={sigma}', '-c:v', 'rawvideo', '-f', 'rawvideo',
                               'out.gray'], picture, folder)

    def ffmpeg(steps):
        return lambda picture, sigma: run_raw(
            numpy, [*FFMPEG, '-f', 'rawvideo', '-pix_fmt', 'gray', '-s', size, '-i', 'in.gray',
                    '-vf', f'gblur=sigma={sigma}:steps={steps}', '-f', 'rawvideo', 'out.gray'],
            picture, folder)

    found = [('halod', ours)]
    if importlib.util.find_spec('cv2'):
        import cv2
        found.append(('OpenCV', lambda picture, sigma: cv2.GaussianBlur(
            picture, (0, 0), sigma, borderType=cv2.BORDER_REPLICATE)))
    try:
        library = Vips(1)
    except (OSError, RuntimeError):
        library = None
    if library:
        def vips(amplitude):
            def blur(picture, sigma):
                height, width = picture.shape
                data = picture.tobytes()
                samples = library.blur(library.plane(data, width, height, 8), sigma, amplitude,
                                       copy=True)
                return numpy.frombuffer(samples, numpy.uint8).reshape(height, width)
            return blur
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
    for peer, blur in blurs(numpy, arguments, folder):
        for name, picture in pictures.items():
            cells = []
            for sigma in SIGMAS:
                inner = (slice(5 * sigma, -5 * sigma),) * 2
                error = numpy.abs(blur(picture, sigma).astype(float) - exact[name, sigma])[inner]
                cells.append(f'{error.max():.2f} / {error.mean():.3f}')
            print(f'{peer:<22} {name:<8}' + ''.join(f'{cell:>16}' for cell in cells))


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
        peer, threads, folder, size, planes = sys.argv[2:]
        work(peer, int(threads), folder, parse_size(size), int(planes))
        return
    parser = Parser(__doc__)
    parser.add_argument('--halo-bench', default=os.path.join(BUILD, 'tools/halo-bench/halo-bench'))
    parser.add_argument('--masks', type=parse_masks, default=MASKS, metavar='LIST',
                        help='as for halo-bench')
    parser.add_argument('--size', type=parse_size, default='3840x2160', metavar='WxH')
    parser.add_argument('--planes', type=whole, default=8)
    parser.add_argument('--rounds', type=whole, default=5)
    parser.add_argument('--threads', type=lambda text: [int(n) for n in text.split(',')],
                        default='1,2', metavar='LIST')
    parser.add_argument('--errors-only', action='store_true', help='no table of times')
    arguments = parser.parse_args()
    arguments.halo_bench = program(arguments.halo_bench, 'build it, or name it with --halo-bench')
    arguments.halod = program(arguments.halod)
    with tempfile.TemporaryDirectory() as folder:
        if not arguments.errors_only:
            compare_times(arguments, folder)
        compare_errors(arguments, folder)


if __name__ == '__main__':
    start(main)
