#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Times whole jobs of halod and the same jobs of FFmpeg (ffmpeg on PATH) alternately: decoding, a
chain of filters (null by default), encoding and writing. Preset, quality and threads are the same.
For each clip and preset, it prints the medians of wall-clock time and of CPU time (user + system),
and halod's medians as multiples of FFmpeg's, with the smallest and the largest multiple of a round.
CPU time shows what a job costs even if other programs use the machine. It also reports whether both
outputs decode to the same frames. If no clips are given, it makes two, 1080p and 4K, by scaling a
given clip (--from) or a test pattern. Exit status: 0 success, 1 failure, 64 wrong usage, 77 a
program is missing."""
import os
import statistics
import tempfile

from benchlib import FFMPEG, Parser, head, in_turns, output, program, row, start, timed, whole

SIZES = {'1080p': (1920, 1080, 150), '4K': (3840, 2160, 60)}  # width, height, frames


def make_clips(folder, source):
    clips = {}
    for name, (width, height, frames) in SIZES.items():
        clips[name] = os.path.join(folder, f'{name}.mp4')
        given = (['-i', source] if source
                 else ['-f', 'lavfi', '-i', f'testsrc2=size={width}x{height}:rate=25'])
        output(*FFMPEG, *given, '-an', '-vf',
               f'scale={width}:{height}:flags=bicubic,format=yuv420p',
               '-frames:v', str(frames), '-c:v', 'libx264', '-preset', 'veryfast', '-crf', '18',
               clips[name])
    return clips


def pictures(path, *more):
    return output(*FFMPEG, '-i', path, '-map', '0:v', *more, '-f', 'md5', '-')


def commands(halod, clip, folder, chain, encoder, preset, crf):
    same = ['-c:v', encoder, '-preset', preset, '-crf', str(crf), '-an']
    return {
        'halod': [halod, 'run', '-y', '-v', 'error', '-backend', 'cpu', '-i', clip, '-vf', chain,
                  *same, os.path.join(folder, 'halod.mp4')],
        'FFmpeg': [*FFMPEG, '-i', clip, '-map', '0:v', '-vf', chain, *same,
                   os.path.join(folder, 'ffmpeg.mp4')],
    }


def compare(name, clip, preset, given, folder):
    both = commands(given.halod, clip, folder, given.chain, given.encoder, preset, given.crf)
    times = in_turns([*both], lambda program: timed(*both[program]), given.rounds + 1)
    same = pictures(both['halod'][-1]) == pictures(both['FFmpeg'][-1])
    cells = [name, preset]
    for what in range(2):
        # The first round fills caches.
        ours, theirs = ([t[what] for t in times[p][1:]] for p in ('halod', 'FFmpeg'))
        ratios = [a / b for a, b in zip(ours, theirs)]
        middle = statistics.median(ours) / statistics.median(theirs)
        cells += [f'{statistics.median(ours):.2f}', f'{statistics.median(theirs):.2f}',
                  f'{middle:.3f} ({min(ratios):.2f} - {max(ratios):.2f})']
    row(*cells, 'yes' if same else 'no')


def main():
    parser = Parser(__doc__)
    parser.add_argument('clips', nargs='*')
    parser.add_argument('--from', dest='source', help='a clip to be scaled to 1080p and 4K')
    parser.add_argument('--chain', default='null')
    parser.add_argument('--encoder', default='libx264')
    parser.add_argument('--presets', default='veryfast,medium')
    parser.add_argument('--crf', type=int, default=23)
    parser.add_argument('--rounds', type=whole, default=5)
    given = parser.parse_args()
    given.halod = program(given.halod)
    program('ffmpeg', 'install it')
    memory = '/dev/shm' if os.access('/dev/shm', os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix='bench-transcode-', dir=memory) as folder:
        clips = ({os.path.basename(clip): clip for clip in given.clips}
                 or make_clips(folder, given.source))
        for clip in clips.values():  # before anything is timed
            pictures(clip, '-frames:v', '1')
        head('clip', 'preset', 'halod, s', 'FFmpeg, s', 'ratio', 'halod, CPU s', 'FFmpeg, CPU s',
             'ratio', 'same pictures')
        for name, clip in clips.items():
            for preset in given.presets.split(','):
                compare(name, clip, preset, given, folder)


if __name__ == '__main__':
    start(main)
