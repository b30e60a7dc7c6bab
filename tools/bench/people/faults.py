# SPDX-License-Identifier: BSD-2-Clause
"""Clips played by the daemon as a camera would send them, while their detector is killed, stopped and
slowed at random."""
import json
import os
import random
import signal
import subprocess
import time

from benchlib import FFMPEG, Error, output


def join(paths, out):
    """One file of several clips."""
    with open(out + '.txt', 'w', encoding='utf-8') as names:
        names.writelines(f"file '{os.path.abspath(path)}'\n" for path in paths)
    output(*FFMPEG, '-f', 'concat', '-safe', '0', '-i', out + '.txt', '-c', 'copy', out)


def settings(source, out, vf, faces):
    """Of a daemon that plays a file once; faces: keys and values of its detector."""
    stream = {'input': os.path.abspath(source), 'realtime': True, 'backend': 'cpu', 'filters': vf,
              'on_error': 'solid', 'detectors': {'faces': faces},
              'outputs': [{'file': os.path.abspath(out), 'video': {'codec': 'ffv1'}}]}
    return {'version': 1, 'control': {'path': os.path.abspath(out) + '.sock'},
            'streams': {'clip': stream}}


class Trouble:
    """What happens to detectors: the children of the daemon that do not run halod."""
    KINDS = ('killed', 'stopped', 'slowed')

    def __init__(self, daemon, seed):
        self.daemon, self.random = daemon, random.Random(seed)
        self.done = dict.fromkeys(self.KINDS, 0)

    def detectors(self):
        with open(f'/proc/{self.daemon}/task/{self.daemon}/children', encoding='ascii') as file:
            for word in file.read().split():
                try:
                    program = os.path.basename(os.readlink(f'/proc/{word}/exe'))
                except OSError:
                    continue
                if program != 'halod':
                    yield int(word)

    def make(self):
        found = list(self.detectors())
        if not found:
            return
        pid, kind = self.random.choice(found), self.random.choice(self.KINDS)
        try:
            if kind == 'killed':
                os.kill(pid, signal.SIGKILL)
            elif kind == 'stopped':
                self.stop(pid, self.random.uniform(0.05, 1.5))
            else:
                for _ in range(self.random.randrange(3, 20)):
                    self.stop(pid, self.random.uniform(0.01, 0.12))
                    time.sleep(0.02)
            self.done[kind] += 1
        except ProcessLookupError:
            pass

    @staticmethod
    def stop(pid, seconds):
        os.kill(pid, signal.SIGSTOP)
        time.sleep(seconds)
        os.kill(pid, signal.SIGCONT)


def play(halod, config, seconds, seed):
    """Runs the daemon until its stream has ended, or for so long; what went wrong with detectors, as
    counts. seed None: nothing."""
    path = config['streams']['clip']['outputs'][0]['file']
    if os.path.exists(path):
        os.remove(path)
    with open(path + '.yaml', 'w', encoding='utf-8') as file:
        json.dump(config, file)
    with open(path + '.log', 'wb') as log, subprocess.Popen(
            [halod, '-c', path + '.yaml'], stdin=subprocess.DEVNULL, stdout=log, stderr=log) as daemon:
        trouble, end = Trouble(daemon.pid, seed), time.monotonic() + seconds
        while daemon.poll() is None and time.monotonic() < end:
            time.sleep(trouble.random.uniform(0.5, 2.5))
            if seed is not None:
                trouble.make()
        daemon.terminate()
        if daemon.wait(60):
            raise Error(f'halod: exit {daemon.returncode}: see {path}.log')
    return trouble.done
