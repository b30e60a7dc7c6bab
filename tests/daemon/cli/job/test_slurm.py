# SPDX-License-Identifier: BSD-2-Clause
# halod job on Slurm: the same bytes from any number of nodes, whatever is killed.
"""Real Slurm, with its nodes on this machine. HALOTEST_SLURM=whole: ten minutes of video on 1, 2 and
4 nodes, and 500 segments under kills."""
import contextlib
import os
import random
import shutil
import tempfile
import time

import halotest
from halotest import audio_source, clip, video_source
from halotest.jobs import GOP, DetectTest, JobTest, frames, sha256
from halotest.slurm import Slurm, missing, parent, processes

LONG = 600 * halotest.PATIENCE  # seconds
WHOLE = os.environ.get('HALOTEST_SLURM') == 'whole'


def long_source(seconds):
    return clip('.mp4', *video_source('192x144', seconds=seconds), *audio_source(seconds), *GOP, '-g', '25',
                '-keyint_min', '25', '-sc_threshold', '0', '-c:a', 'aac')


class SlurmTest(JobTest):
    SLEEP = 0

    def setUp(self):
        super().setUp()
        if missing():
            self.skipTest(missing())
        os.environ.update({name: '' for name in ('PARALLEL_SEQ', 'SLURM_ARRAY_TASK_ID')})
        self.program = self.path('halod')
        self.starts = self.path('starts')
        self.write_program(f'sleep {self.SLEEP}')

    def write_program(self, first):
        """What tasks run: halod, after this has been done where segments are encoded."""
        with open(self.program, 'w', encoding='ascii') as file:
            file.write('#!/bin/sh\n'
                       f'[ "$2" != segment ] || {{ echo "$6" >>{self.starts}; {first}; }}\n'
                       f'exec {halotest.HALOD} "$@"\n')
        os.chmod(self.program, 0o755)

    def start(self, nodes):
        folder = tempfile.mkdtemp(prefix='slurm-', dir='/tmp')
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        slurm = Slurm(folder, nodes)
        self.addCleanup(slurm.stop)
        self.assertTrue(halotest.wait_until(slurm.is_up, 60), self.said(slurm))
        return slurm

    def said(self, slurm):
        text = ''
        for name in ('slurmctld.log', 'slurmctld.out', 'n1.log'):
            path = os.path.join(slurm.folder, name)
            if os.path.exists(path):
                with open(path, encoding='utf-8', errors='replace') as file:
                    text += f'{name}:\n{file.read()[-1500:]}\n'
        if os.path.exists(self.output + '.job.log'):
            with open(self.output + '.job.log', encoding='utf-8') as file:
                text += file.read()[-3000:]
        return text

    def submit(self, slurm, *more):
        self.halod('job', 'submit', '--engine', 'slurm', '--program', self.program, *more,
                   environment=slurm.environment)

    def finish(self, slurm, seconds, each=None):
        self.assertTrue(slurm.wait_for_end(seconds, each), self.said(slurm))
        self.assertTrue(os.path.exists(self.output), self.said(slurm))

    def forget(self):
        for name in (self.output, self.output + '.job.json', self.output + '.job.log'):
            os.unlink(name)


class Nodes(SlurmTest):
    def meet(self, nodes):
        """Tasks wait until each node has begun one: or the first node could do them all."""
        place = self.path(f'met-{nodes}')
        os.mkdir(place)
        self.write_program(f'touch {place}/$SLURMD_NODENAME; '
                           f'while [ -e {place} ] && [ $(ls {place} | wc -l) -lt {nodes} ]; '
                           'do sleep 0.1; done')

    def test_same_bytes(self):
        self.input = long_source(600 if WHOLE else 6)
        seconds = '30' if WHOLE else '1'
        want = self.whole(seconds=seconds, timeout=LONG)
        self.split(seconds=seconds)
        self.halod('job', 'submit', '--engine', 'local', self.parts, timeout=LONG)
        self.assertEqual(sha256(self.output), want, 'on this machine')
        for name in (self.output, self.output + '.job.json'):
            os.unlink(name)
        for nodes in (1, 2, 4) if WHOLE else (3,):
            slurm = self.start(nodes)
            self.meet(nodes)
            self.split(seconds=seconds)
            self.submit(slurm, self.parts)
            self.finish(slurm, 600)
            self.assertEqual(sha256(self.output), want, f'{nodes} nodes')
            hosts = {segment['host'] for segment in self.audit()['segments']}
            self.assertEqual(hosts, set(slurm.names))
            slurm.stop()
            self.forget()

    def test_several_jobs_in_fewer_tasks(self):
        other = self.path('other.mp4')
        slurm = self.start(2)
        self.split()
        self.split('-crf', '30', output=other)
        self.submit(slurm, '--tasks', 3, self.parts, other + '.parts')
        self.finish(slurm, 120)
        self.assertEqual(sha256(self.output), self.whole())
        self.assertEqual(sha256(other), self.whole('-crf', '30'))

    def test_job_that_cannot_succeed(self):
        """The join is cancelled, instead of waiting for ever."""
        slurm = self.start(1)
        self.split()
        manifest = self.manifest()
        self.submit(slurm, self.parts)
        manifest['job']['mixed'] = True
        self.write_manifest(manifest, seal=False)
        self.assertTrue(slurm.wait_for_end(120), self.said(slurm))
        self.assert_nothing()


class Kills(SlurmTest):
    SEGMENTS = 500 if WHOLE else 24
    SLEEP = 0 if WHOLE else 2  # each task waits, so that there is time to kill

    def setUp(self):
        super().setUp()
        self.input = long_source(self.SEGMENTS)
        self.killed = 0

    def kill_task(self):
        """Not the process that looks for a task's leaks, for which the task would wait for ever."""
        found = {pid for pid, command in processes()
                 if f'{halotest.HALOD} job segment' in command and self.parts in command
                 and not command.startswith('/bin/sh')}
        tasks = [pid for pid in found if parent(pid) not in found]
        if not tasks:
            return
        try:
            os.kill(random.choice(tasks), 9)
            self.killed += 1
        except ProcessLookupError:
            pass

    def is_saved(self, slurm, since):
        """The controller saves its state some seconds after a change: a job that it has just
        accepted is lost with it."""
        with contextlib.suppress(FileNotFoundError):
            return os.stat(os.path.join(slurm.folder, 'state/job_state')).st_mtime > since + 1
        return False

    def test_kills(self):
        """Tasks, nodes and the controller; each costs at most the segment that was encoded."""
        self.ENCODE = ['-preset', 'veryslow'] if not WHOLE else ['-preset', 'medium']
        self.split()
        self.assertEqual(self.count(), self.SEGMENTS)
        # The last ones wait until all has been killed that is to be.
        over = self.path('over')
        self.write_program(
            f'sleep {self.SLEEP}; [ "$6" -lt {self.SEGMENTS * 3 // 4} ] || '
            f'while [ -e {self.starts} ] && [ ! -e {over} ]; do sleep 0.2; done')
        slurm = self.start(4)
        self.submit(slurm, '--cpus', 2, self.parts)
        plan = [(0.1, 'n2'), (0.3, 'slurmctld'), (0.4, 'n4')]
        down, last, submitted = [], time.monotonic(), time.time()
        every = 5 if WHOLE else 1

        def each():
            nonlocal last
            done = self.status()['done'] if os.path.exists(self.parts) else self.SEGMENTS
            if time.monotonic() - last >= every and done < self.SEGMENTS and (WHOLE or self.killed < 3):
                self.kill_task()
                last = time.monotonic()
            saved = plan and (plan[0][1] != 'slurmctld' or self.is_saved(slurm, submitted))
            if plan and saved and done >= plan[0][0] * self.SEGMENTS:
                name = plan.pop(0)[1]
                slurm.kill(name)
                self.killed += name != 'slurmctld'
                down.append((time.monotonic() + (4 if name == 'slurmctld' else 2), name))
            if not plan:
                with open(over, 'wb'):
                    pass
            for at, name in down[:]:
                if time.monotonic() >= at:
                    down.remove((at, name))
                    slurm.start_controller() if name == 'slurmctld' else slurm.start_node(name)

        self.finish(slurm, 3000 if WHOLE else 400, each)
        self.assertEqual(plan, [])
        self.assertEqual(sha256(self.output), self.whole(timeout=LONG))
        self.assertEqual(self.audit()['output']['frames'], 25 * self.SEGMENTS)
        with open(self.starts, encoding='ascii') as file:
            starts = len(file.readlines())
        with open(self.output + '.job.log', encoding='utf-8') as file:
            idle = file.read().count(': 0 encoded')  # the controller had forgotten that it was done
        wasted = starts - idle - self.SEGMENTS
        print(f'{self.SEGMENTS} segments, {self.killed} kills, {starts} starts, {idle} with nothing to do, '
              f'{wasted} wasted', flush=True)
        self.assertGreaterEqual(self.killed, 2)
        # A controller that has forgotten what runs may start each of that a second time.
        self.assertLessEqual(wasted, self.killed + len(slurm.names))


class Detectors(DetectTest, SlurmTest):
    def test_four_steps(self):
        slurm = self.start(2)
        want = self.whole()
        self.split()
        self.submit(slurm, self.parts)
        self.finish(slurm, 120)
        self.assertEqual(frames(self.output), want)
        self.assertFalse(os.path.exists(self.parts))
        self.assertGreater(self.audit()['detectors']['faces']['boxes'], 20)

    def test_detector_that_fails(self):
        """Neither merge nor segments nor join begin."""
        slurm = self.start(1)
        self.split('-faces', self.detector('--mask', '32x32'))
        self.submit(slurm, self.parts)
        self.assertTrue(slurm.wait_for_end(60), self.said(slurm))
        self.assertEqual(self.in_parts('.detections') + self.in_parts('.part'), [])
        self.assertFalse(os.path.exists(self.output))


if __name__ == '__main__':
    halotest.main()
