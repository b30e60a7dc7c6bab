#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What halod job costs beyond the work itself, on this machine, and what follows for more machines.

Makes a clip, encodes it as a whole, with -segments, and as a job with each number of workers, and
compares the bytes. Prints wall-clock and processor seconds. The model for more machines has the
assumptions that it prints."""
import glob
import hashlib
import json
import math
import os
import tempfile

from benchlib import FFMPEG, Error, Parser, head, output, program, row, start, timed, whole


def parse():
    parser = Parser(__doc__)
    parser.add_argument('--seconds', type=whole, default=600)
    parser.add_argument('--size', default='1280x720')
    parser.add_argument('--segment', default='30')
    parser.add_argument('--workers', default='1,2,4')
    parser.add_argument('--options', default='-vf gblur=sigma=5 -preset veryfast')
    return parser.parse_args()


class Bench:
    def __init__(self, args, folder):
        self.args, self.folder = args, folder
        self.halod = program(args.halod)
        self.clip = os.path.join(folder, 'in.mp4')
        self.out = os.path.join(folder, 'out.mp4')

    def timed(self, *words):
        return timed(self.halod, *map(str, words))

    def make_clip(self):
        output(*FFMPEG, '-f', 'lavfi', '-i',
               f'testsrc2=size={self.args.size}:rate=25:duration={self.args.seconds}',
               '-f', 'lavfi', '-i', f'sine=duration={self.args.seconds}', '-c:v', 'libx264',
               '-preset', 'ultrafast', '-g', '50', '-pix_fmt', 'yuv420p', '-c:a', 'aac', self.clip)

    def options(self):
        return ['-i', self.clip, *self.args.options.split()]

    @staticmethod
    def say(what, wall, cpu):
        row(what, f'{wall:.2f}', f'{cpu:.2f}')

    def digest(self):
        with open(self.out, 'rb') as file:
            ret = hashlib.sha256(file.read()).hexdigest()
        for path in glob.glob(glob.escape(self.out) + '*'):
            os.unlink(path)
        return ret

    def run(self):
        self.make_clip()
        head('', 'wall, s', 'processors, s')
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
            segments = len(json.load(file)['segments'])
        # The join is measured by itself, so this is not job submit.
        line = f'seq 0 {segments - 1} | xargs -P {workers} -n 1 "$1" job segment "$2"'
        wall, cpu = timed('sh', '-ec', line, 'sh', self.halod, parts)
        again = self.timed('job', 'segment', parts, 0)  # nothing to do: what a task costs by itself
        join = self.timed('job', 'join', parts)
        self.say(f'job, {workers} at the same time: split', *split)
        self.say(f'{segments} segments', wall, cpu)
        self.say('a segment that is done already', *again)
        self.say('join', *join)
        if self.digest() != want:
            raise Error(f'{workers} workers: other bytes')
        share = 100 * (split[1] + join[1]) / cpu
        print(f'split and join: {share:.1f} % of the processor time of the segments', flush=True)
        return segments, cpu, split, join

    def model(self, segments, cpu, split, join):
        cores = os.cpu_count()
        each = cpu / segments / cores
        print(f'\nModel: machines like this one ({cores} processors), each encoding one segment '
              f'at a time in {each:.2f} s\n(all processors busy), a shared folder that is never '
              'the limit, no time to start tasks.\n')
        head('machines', 's', 'efficiency')
        one = split[0] + segments * each + join[0]
        for machines in (1, 2, 4, 8, 16, 32):
            total = split[0] + math.ceil(segments / machines) * each + join[0]
            row(machines, f'{total:.1f}', f'{one / total / machines:.2f}')


def main():
    args = parse()
    with tempfile.TemporaryDirectory(prefix='bench-jobs-') as folder:
        Bench(args, folder).run()


if __name__ == '__main__':
    start(main)
