#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Times whole jobs of halod and the same jobs of FFmpeg (ffmpeg on PATH) alternately: decoding, a
chain of filters (null by default), encoding and writing. Preset, quality and threads are the same.
For each clip and preset, it prints the medians of wall-clock time and of CPU time (user + system),
and halod's medians as multiples of FFmpeg's, with the smallest and the largest multiple of a round.
CPU time shows what a job costs even if other programs use the machine. It also reports whether both
outputs decode to the same frames. If no clips are given, it makes two, 1080p and 4K, by scaling a
given clip (--from) or a test pattern. Exit status: 0 success, 1 failure, 64 wrong usage."""
import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

SIZES = {'1080p': (1920, 1080, 150), '4K': (3840, 2160, 60)}  # width, height, frames


def make_clips(folder, source):
    clips = {}
    for name, (width, height, frames) in SIZES.items():
        clips[name] = os.path.join(folder, f'{name}.mp4')
        given = (['-i', source] if source
                 else ['-f', 'lavfi', '-i', f'testsrc2=size={width}x{height}:rate=25'])
        run('-y', *given, '-an', '-vf', f'scale={width}:{height}:flags=bicubic,format=yuv420p',
            '-frames:v', str(frames), '-c:v', 'libx264', '-preset', 'veryfast', '-crf', '18',
            clips[name])
    return clips


def timed(command):
    """Wall and processor seconds of a command that must succeed."""
    start = time.monotonic()
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        fail(1, f'{" ".join(command)}: exit {process.returncode}')
    return time.monotonic() - start, usage.ru_utime + usage.ru_stime


def fail(code, text):
    print(f'transcode: {text}', file=sys.stderr)
    sys.exit(code)


def run(*command):
    """Standard output of an FFmpeg command; where it fails, what it said last is the reason."""
    done = subprocess.run(['ffmpeg', '-nostdin', '-v', 'error', *command], check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode:
        said = done.stderr.decode(errors='replace').strip().splitlines()
        fail(1, f'ffmpeg: {said[-1] if said else f"exit {done.returncode}"}')
    return done.stdout


def probe(clip):
    """A clip has pictures that can be decoded."""
    run('-i', clip, '-map', '0:v:0', '-frames:v', '1', '-f', 'null', '-')


def pictures(path):
    return run('-i', path, '-map', '0:v', '-f', 'md5', '-')


def commands(halod, clip, folder, chain, encoder, preset, crf):
    same = ['-c:v', encoder, '-preset', preset, '-crf', str(crf), '-an', '-y']
    return {
        'halod': [halod, 'run', '-v', 'error', '-backend', 'cpu', '-i', clip, '-vf', chain, *same,
                  os.path.join(folder, 'halod.mp4')],
        'FFmpeg': ['ffmpeg', '-nostdin', '-v', 'error', '-i', clip, '-map', '0:v', '-vf', chain,
                   *same, os.path.join(folder, 'ffmpeg.mp4')],
    }


def compare(name, clip, preset, given, folder):
    both = commands(given.halod, clip, folder, given.chain, given.encoder, preset, given.crf)
    times = {program: [] for program in both}
    for turn in range(given.rounds + 1):
        for program in sorted(both, reverse=turn % 2):
            result = timed(both[program])
            if turn:  # the first fills caches
                times[program].append(result)
    same = pictures(both['halod'][-1]) == pictures(both['FFmpeg'][-1])
    row = [name, preset]
    for what in range(2):
        ours, theirs = ([t[what] for t in times[p]] for p in ('halod', 'FFmpeg'))
        ratios = [a / b for a, b in zip(ours, theirs)]
        middle = statistics.median(ours) / statistics.median(theirs)
        row += [f'{statistics.median(ours):.2f}', f'{statistics.median(theirs):.2f}',
                f'{middle:.3f} ({min(ratios):.2f} - {max(ratios):.2f})']
    print('| ' + ' | '.join(row + ['yes' if same else 'no']) + ' |', flush=True)


def check(given):
    """Says what is wrong before anything is timed, in one line."""
    if given.rounds < 1:
        fail(64, f'--rounds {given.rounds}: must be at least 1')
    for program in (given.halod, 'ffmpeg'):
        if not shutil.which(program):
            fail(1, f'{program}: no such program')
    for clip in given.clips + ([given.source] if given.source else []):
        if os.path.isdir(clip) or not os.access(clip, os.R_OK):
            fail(1, f'{clip}: no such clip, or it cannot be read')


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('clips', nargs='*')
    parser.add_argument('--halod', default='build/daemon/halod')
    parser.add_argument('--from', dest='source', help='a clip to be scaled to 1080p and 4K')
    parser.add_argument('--chain', default='null')
    parser.add_argument('--encoder', default='libx264')
    parser.add_argument('--presets', default='veryfast,medium')
    parser.add_argument('--crf', type=int, default=23)
    parser.add_argument('--rounds', type=int, default=5)
    try:
        given = parser.parse_args()
    except SystemExit as error:  # argparse has said why
        sys.exit(64 if error.code else 0)
    check(given)
    memory = '/dev/shm' if os.access('/dev/shm', os.W_OK) else None
    folder = tempfile.mkdtemp(prefix='bench-transcode-', dir=memory)
    try:
        clips = ({os.path.basename(clip): clip for clip in given.clips}
                 or make_clips(folder, given.source))
        for clip in clips.values():
            probe(clip)
        print('| clip | preset | halod, s | FFmpeg, s | ratio | halod, CPU s | FFmpeg, CPU s |'
              ' ratio | same pictures |')
        print('|---|---|---|---|---|---|---|---|---|')
        for name, clip in clips.items():
            for preset in given.presets.split(','):
                compare(name, clip, preset, given, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == '__main__':
    main()
