#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Compares what `halod run` chooses by default (backend, decoders) with fixed choices. Each cell is
a clip, a codec, a length, a chain and an output; they are drawn by lot from all combinations. The
clips are given, one for each size, of a minute or more; halod converts them to the other codecs. A
cell's runs alternate. For each cell, it prints the medians of wall-clock time in seconds, and the
default's as a multiple of the smallest; then the largest multiple, and how many are above 1.1.
Exit status: 0 success, 1 a run failed, 64 wrong usage, 77 halod is missing."""
import itertools
import os
import random
import statistics
import tempfile

from benchlib import Parser, in_turns, output, program, start, timed, whole

ENCODERS = {'h264': ['libx264', '-preset', 'veryfast'], 'hevc': ['libx265', '-preset', 'ultrafast'],
            'vp9': ['libvpx-vp9', '-b:v', '8M'], 'ffv1': ['ffv1']}
SECONDS = (10, 60)
CHAINS = ('null', 'gblur=sigma=5', 'sobel', 'discblur=radius=15')
OUTPUTS = ('null:', 'x264')
CHOICES = {'default': [],
           'cpu': ['-backend', 'cpu'],
           'cpu, 1': ['-backend', 'cpu', '-decoders', '1'],
           'cuda': ['-backend', 'cuda'],
           'cuda, 1': ['-backend', 'cuda', '-decoders', '1'],
           'cuda, software': ['-backend', 'cuda', '-hwaccel', 'none']}


def convert(halod, clip, codec, folder):
    """The clip in a codec, made once."""
    made = os.path.join(folder, f'{os.path.basename(clip)}.{codec}.mkv')
    if not os.path.exists(made):
        output(halod, 'run', '-y', '-v', 'error', '-t', str(max(SECONDS)), '-i', clip, '-vf',
               'null', '-an', '-c:v', *ENCODERS[codec], made + '.part.mkv')
        os.rename(made + '.part.mkv', made)
    return made


def time_cell(args, cell, folder):
    """{choice: median of its times}"""
    clip, codec, seconds, chain, output = cell
    source = convert(args.halod, clip, codec, folder)
    to = (['null:'] if output == 'null:' else
          ['-c:v', 'libx264', '-preset', 'veryfast', os.path.join(folder, 'out.mkv')])

    def run(name):
        return timed(args.halod, 'run', '-y', '-v', 'error', '-t', str(seconds), '-i', source,
                     '-vf', chain, '-an', *CHOICES[name], *to)[0]

    times = in_turns([name for name in CHOICES if args.cuda or not name.startswith('cuda')], run,
                     args.rounds, args.patience)
    return {name: statistics.median(taken) for name, taken in times.items()}


def main():
    parser = Parser(__doc__)
    add = parser.add_argument
    add('clips', nargs='+', metavar='CLIP')
    add('--cells', type=whole, default=24, help='(%(default)s)')
    add('--first', type=int, default=0, help='number of the first cell, to go on after a break')
    add('--seed', type=int, default=1, help='(%(default)s)')
    add('--rounds', type=whole, default=3, help='of each cell (%(default)s)')
    add('--patience', type=float, default=20, metavar='SECONDS',
        help='no more rounds of a cell after this time (%(default)s)')
    add('--no-cuda', dest='cuda', action='store_false', help='without choices that need a GPU')
    add('--folder', help='keeps the converted clips')
    args = parser.parse_args()
    args.halod = program(args.halod)
    every = list(itertools.product(args.clips, ENCODERS, SECONDS, CHAINS, OUTPUTS))
    drawn = random.Random(args.seed).sample(every, min(args.cells, len(every)))[args.first:]
    ratios = []
    with tempfile.TemporaryDirectory() as scratch:
        for cell in drawn:
            times = time_cell(args, cell, args.folder or scratch)
            best = min(taken for name, taken in times.items() if name != 'default')
            ratios.append(times['default'] / best)
            print('  '.join(map(str, (os.path.basename(cell[0]), *cell[1:]))), '|',
                  '  '.join(f'{name} {taken:.2f}' for name, taken in times.items()),
                  f'| {ratios[-1]:.2f}', flush=True)
    print(f'default / best: at most {max(ratios):.2f}, median {statistics.median(ratios):.2f}, '
          f'{sum(ratio > 1.1 for ratio in ratios)} of {len(ratios)} above 1.1')


if __name__ == '__main__':
    start(main)
