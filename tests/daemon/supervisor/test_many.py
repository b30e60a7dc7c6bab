# SPDX-License-Identifier: BSD-2-Clause
# Many streams on one GPU, whose driver opens decoders one after the other.
"""HALO_STANDIN_LIBRARIES names stand-ins for the driver's; HALOTEST_STREAMS how many streams."""
import os
import signal
import unittest

from halotest.daemon import UNNOTICED, DaemonTest, main
import halotest

FOLDER = os.environ.get('HALO_STANDIN_LIBRARIES', '')
STREAMS = int(os.environ.get('HALOTEST_STREAMS', 8))
OPENING_S = 10  # of all decoders together: more than one may be at one picture
TURN = r'^waiting for its turn to start \(\d+ ahead of it\)$'


@unittest.skipUnless(FOLDER, 'no stand-ins')
class Many(DaemonTest):
    def clip(self):
        """Long: each time that it begins again its decoder is opened again."""
        clip = self.path('clip.mkv')
        halotest.call([halotest.FFMPEG, '-nostdin', '-v', 'error', '-f', 'lavfi', '-i',
                       'testsrc2=size=64x48:rate=5:duration=120', '-c:v', 'libx264', clip])
        return clip

    def streams(self, count):
        clip = self.clip()
        return {f's{i}': self.stream(input=clip, loop=True, realtime=True, hwaccel='cuda',
                                     threads=1, outputs=[{'null': True}]) for i in range(count)}

    def with_standin(self, streams, more=None, **standin):
        return self.start(streams, environment={
            **(more or {}), 'LD_LIBRARY_PATH': FOLDER,
            **{f'HALO_STANDIN_{key}': str(value) for key, value in standin.items()}})

    def test_a_loop(self):
        """A file that begins again keeps its decoder."""
        clip = self.path('short.mkv')
        halotest.call([halotest.FFMPEG, '-nostdin', '-v', 'error', '-f', 'lavfi', '-i',
                       'testsrc2=size=64x48:rate=25:duration=1', '-c:v', 'libx264', '-bf', '2', clip])
        daemon = self.with_standin({'one': self.stream(
            input=clip, loop=True, realtime=True, hwaccel='cuda', outputs=[{'null': True}])},
            LOG='-')
        self.until(lambda: daemon.status('one')['decoded'] > 125)
        status = daemon.status('one')
        self.assertEqual((status['opened'], status['damaged'], status['restarts']), (1, 0, 0))
        self.assertEqual(daemon.logged().splitlines().count('decoder'), 1)

    def test_openings(self):
        """All come to run, each in its turn, which is told; nothing is taken for a stall. A stream that waits
        for its turn ends when it is told to; the others keep theirs."""
        daemon = self.with_standin(self.streams(STREAMS), UNNOTICED, OPENING=OPENING_S * 1000 // STREAMS, LOG='-')
        self.until(lambda: any(stream['turn'] > 1 for stream in daemon.status()['streams']))
        [engine] = daemon.pids()
        os.kill(engine, signal.SIGSTOP)  # whose turn it is does not change until the call is there
        last = max(daemon.status()['streams'], key=lambda stream: stream['turn'])['name']
        daemon.control('Stop', name=last)
        os.kill(engine, signal.SIGCONT)
        self.until(lambda: not daemon.status(last)['engine'])
        reasons, pids = set(), set()

        def look():
            pids.update(daemon.pids())
            streams = daemon.status()['streams']
            reasons.update(stream['why'] for stream in streams if stream['state'] == 'starting')
            return all(stream['state'] in ('running', 'overloaded') for stream in streams if stream['name'] != last)
        self.until(look, timeout=5 * OPENING_S)
        self.assertEqual(pids, {engine}, daemon.logged())
        self.assertEqual({stream['restarts'] for stream in daemon.status()['streams']}, {0})
        reasons.discard('')
        self.assertGreater(len(reasons), 2, reasons)
        for why in reasons:
            self.assertRegex(why, TURN)
        self.assertEqual(daemon.state(last), 'stopped')
        # It did not wait for its turn, which would have opened its decoder.
        self.assertEqual(daemon.logged().splitlines().count('decoder'), STREAMS - 1, daemon.logged())


if __name__ == '__main__':
    main()
