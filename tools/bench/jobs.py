#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What halod job costs beyond the work itself, on this machine, and what follows for more machines.

    tools/bench/jobs.py [--halod PATH] [--seconds N] [--size WxH] [--segment N] [--workers N,N,...]

Makes a clip, encodes it as a whole, with -segments, and as a job with each number of workers, and
compares the bytes. Prints wall-clock and processor seconds. The model for more machines has the
assumptions that it prints."""
import argparse
import glob
import hashlib
import json
import math
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--halod', default='build-release/daemon/halod')
    parser.add_argument('--seconds', type=int, default=600)
    parser.add_argument('--size', default='1280x720')
    parser.add_argument('--segment', default='30')
    parser.add_argument('--workers', default='1,2,4')
    parser.add_argument('--options', default='-vf gblur=sigma=5 -preset veryfast')
    return parser.parse_args()


def timed(words):
    """Wall-clock and processor seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.monotonic()
    subprocess.run(words, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    wall = time.monotonic() - begin
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


class Bench:
    def __init__(self, args, folder):
        self.args, self.folder = args, folder
        self.halod = os.path.abspath(args.halod)
        self.clip = os.path.join(folder, 'in.mp4')
        self.out = os.path.join(folder, 'out.mp4')

    def timed(self, *words):
        return timed([self.halod, *map(str, words)])

    def make_clip(self):
        subprocess.run(['ffmpeg', '-nostdin', '-v', 'error', '-y', '-f', 'lavfi', '-i',
                        f'testsrc2=size={self.args.size}:rate=25:duration={self.args.seconds}',
                        '-f', 'lavfi', '-i', f'sine=duration={self.args.seconds}',
                        '-c:v', 'libx264', '-preset', 'ultrafast',
                        '-g', '50', '-pix_fmt', 'yuv420p', '-c:a', 'aac',
                        self.clip], check=True)

    def options(self):
        return ['-i', self.clip, *self.args.options.split()]

    def say(self, what, wall, cpu):
        print(f'| {what} | {wall:.2f} | {cpu:.2f} |', flush=True)

    def digest(self):
        with open(self.out, 'rb') as file:
            ret = hashlib.sha256(file.read()).hexdigest()
        for path in glob.glob(glob.escape(self.out) + '*'):
            os.unlink(path)
        return ret

    def run(self):
        self.make_clip()
        print('| | wall, s | processors, s |\n| --- | --- | --- |')
        self.say('halod run', *self.timed('run', '-y', *self.options(), self.out))
        self.digest()
        self.say('halod run -segments', *self.timed(
            'run', '-segments', '-segment_time', self.args.segment, *self.options(), self.out))
        want = self.digest()
        for workers in map(int, self.args.workers.split(',')):
            last = self.job(workers, want)
        self.model(*last)

    def job(self, workers, want):
        parts = self.out + '.parts'
        split = self.timed('job', 'split', '-segment_time', self.args.segment, *self.options(),
                           self.out)
        with open(os.path.join(parts, 'manifest.json'), encoding='utf-8') as file:
            count = len(json.load(file)['segments'])
        # The join is measured by itself, so this is not job submit.
        line = f'seq 0 {count - 1} | xargs -P {workers} -n 1 "$1" job segment "$2"'
        wall, cpu = timed(['sh', '-ec', line, 'sh', self.halod, parts])
        again = self.timed('job', 'segment', parts, 0)  # nothing to do: what a task costs by itself
        join = self.timed('job', 'join', parts)
        self.say(f'job, {workers} at the same time: split', *split)
        self.say(f'{count} segments', wall, cpu)
        self.say('a segment that is done already', *again)
        self.say('join', *join)
        if self.digest() != want:
            sys.exit(f'{workers} workers: other bytes')
        share = 100 * (split[1] + join[1]) / cpu
        print(f'split and join: {share:.1f} % of the processor time of the segments', flush=True)
        return count, cpu, split, join

    def model(self, count, cpu, split, join):
        cores = os.cpu_count()
        each = cpu / count / cores
        print(f'\nModel: machines like this one ({cores} processors), each encoding one segment '
              f'at a time in {each:.2f} s\n(all processors busy), a shared folder that is never '
              'the limit, no time to start tasks.\n')
        print('| machines | s | efficiency |\n| --- | --- | --- |')
        one = split[0] + count * each + join[0]
        for machines in (1, 2, 4, 8, 16, 32):
            total = split[0] + math.ceil(count / machines) * each + join[0]
            print(f'| {machines} | {total:.1f} | {one / total / machines:.2f} |')


def main():
    args = parse()
    folder = tempfile.mkdtemp(prefix='bench-jobs-')
    try:
        Bench(args, folder).run()
    finally:
        shutil.rmtree(folder)


if __name__ == '__main__':
    main()
