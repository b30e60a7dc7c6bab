# SPDX-License-Identifier: BSD-2-Clause
# Streams of which a stage stalls, beside others.
"""Needs a build with -Dfaults=true; HALO_STANDIN_LIBRARIES names stand-ins for the driver's. The
fault meets files alone: a test pattern has no decoder."""
import os
import unittest

from halotest.daemon import DaemonTest, main
import halotest

FOLDER = os.environ.get('HALO_STANDIN_LIBRARIES', '')
STALL_S = 8
RATE = 10  # so few, and so small, that none is late beside other tests
WORDS = 'the decoder has been stuck at one frame for 8 seconds'
APART = 'isolated from the others, because it stalled'


class Stalls(DaemonTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        halotest.need_faults()

    def file(self, *outputs, **more):
        clip = halotest.silent_clip('.mkv', seconds=2, size='64x48', rate=RATE)
        return self.stream(input=clip, loop=True, realtime=True,
                           outputs=list(outputs) or [{'null': True}], **more)

    def pattern(self):
        return self.stream(input=f'test:size=64x48:rate={RATE}', outputs=[{'null': True}])

    def begin(self, streams, fault, **more):
        daemon = self.start(streams, environment={'HALOD_FAULT': fault, **more})
        for name in streams:
            self.until(lambda name=name: daemon.status(name)['filtered'] > 0)
        return daemon

    def wait_told(self, daemon, words, count=1):
        self.until(lambda: daemon.logged().count(words) >= count, timeout=4 * STALL_S)

    def test_one_of_two(self):
        """It ends and is back on another engine, with its file whole; the other one goes on while it is stuck.
        What is stuck comes back later, and is freed."""
        stuck = self.path('stuck')
        daemon = self.begin({'a': self.pattern(), 'b': self.file({'file': self.path('b.mkv')})}, f'decoder:{stuck}')
        [pid] = daemon.pids()
        with open(stuck, 'w'):
            pass
        self.wait_told(daemon, APART)
        self.assertIn('stream b: restarting: ' + WORDS, daemon.logged())
        daemon.wait_state('b', 'starting')
        seen = daemon.status('a')['filtered']
        self.until(lambda: daemon.status('a')['filtered'] > seen + RATE)
        os.unlink(stuck)
        daemon.wait_state('b', 'running')
        self.wait_told(daemon, 'the stuck threads have returned')
        engines = daemon.engines()
        self.assertEqual({name: engine['streams'] for name, engine in engines.items()},
                         {'cpu': ['a'], 'cpu+1': ['b']})
        self.assertEqual((engines['cpu']['pid'], engines['cpu']['restarts']), (pid, 0))
        self.assertEqual([daemon.status(name)['restarts'] for name in 'ab'], [0, 1])
        self.assertEqual(daemon.stop(), 0, daemon.logged())
        self.assertGreater(len(halotest.packets(self.path('b.mkv'), 'v:0')), 0)

    def test_several(self):
        """More than two are not their own fault: the engine ends."""
        stuck = self.path('stuck')
        daemon = self.begin({'a': self.pattern(), **{name: self.file() for name in 'bcd'}},
                            f'decoder:{stuck}')
        with open(stuck, 'w'):
            pass
        self.wait_told(daemon, 'engine cpu: the engine ended with status 1; requested by stream')
        os.unlink(stuck)
        self.assertEqual(daemon.logged().count(APART), 2)
        for name in 'abcd':
            daemon.wait_state(name, 'running')

    @unittest.skipUnless(FOLDER, 'no stand-ins')
    def test_in_a_driver(self):
        """What waits for a device may hold what others need: the engine ends."""
        daemon = self.begin({'a': self.pattern(), 'b': self.file(hwaccel='cuda')},
                            f'decoder:{4 * RATE}', LD_LIBRARY_PATH=FOLDER)
        self.wait_told(daemon, 'requested by stream b: ' + WORDS)
        self.assertNotIn(APART, daemon.logged())
        self.until(lambda: daemon.engines()['cpu']['restarts'])


if __name__ == '__main__':
    main()
