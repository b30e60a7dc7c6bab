# SPDX-License-Identifier: BSD-2-Clause
# The whole program once: a file, the daemon and its engine, and the search for leaks.
"""$HALOD, $HALOCTL and $HALO_PROVE; without -Dfaults=true there is no $HALO_PROVE, and nothing leaks."""
import os
import re
import subprocess
import time
import unittest

from halotest.daemon import PATIENCE, DaemonTest, Watcher, main, wait_until
from halotest import HaloTest, decodes_cleanly, frame_times, plain_clip, raw_frames

PROVE = os.environ.get('HALO_PROVE')


class File(HaloTest):
    def test_run(self):
        """Each frame is FFmpeg's own mean of 3x3 samples, at its time; sound is copied."""
        mean = ':'.join(f"{plane}m='1 1 1 1 1 1 1 1 1'" for plane in range(3))
        source = plain_clip()
        output = self.lossless(source, chain='convolution=' + mean)
        self.assertTrue(decodes_cleanly(output))
        self.assert_audio_same(source, output)
        self.assertEqual(len(frame_times(output)), 25)
        inside = 'crop=120:80:20:20'
        before, got, wanted = (raw_frames(path, filters=chain) for path, chain in (
            (source, inside), (output, inside), (source, f'convolution={mean},{inside}')))
        self.assertEqual(len(got), len(wanted))
        self.assertLessEqual(max(abs(a - b) for a, b in zip(got, wanted)), 1)
        self.assertGreater(max(abs(a - b) for a, b in zip(got, before)), 20)


class Daemon(DaemonTest):
    def test_set_and_kill(self):
        """From the answer to Set on no viewer sees a picture of the source, whatever dies."""
        daemon = self.start()
        daemon.wait_state('one', 'running')
        watcher = self.watcher('one.ts')
        self.assertTrue(watcher.wait(card=False, timeout=30), daemon.logged())
        subprocess.run([os.environ['HALOCTL'], '--socket', daemon.path, 'set', 'one', 'filters=solid'],
                       check=True, timeout=20 * PATIENCE)
        self.assertEqual(daemon.status('one')['filters'], 'solid')
        self.assertTrue(wait_until(lambda: Watcher.is_card(watcher.pictures[-1][1])))
        hidden = time.monotonic()
        before = daemon.pids()
        daemon.kill_engine_of('one')
        self.assertTrue(wait_until(lambda: daemon.pids() not in ([], before)), daemon.logged())
        daemon.wait_state('one', 'running')
        self.assertTrue(wait_until(lambda: daemon.status('one')['filtered'] > 10), daemon.logged())
        self.assertEqual(daemon.status('one')['filters'], 'solid')
        self.assertTrue(watcher.is_alive_process())
        self.assertTrue(wait_until(lambda: watcher.first(card=True, since=hidden)))
        self.assertIsNone(watcher.first(card=False, since=hidden))


class Leaks(HaloTest):
    @unittest.skipUnless(PROVE, 'built without faults')
    def test_planted_leaks(self):
        """All are found; and without them there are none."""
        for words in (['--leak'], []):
            done = subprocess.run([PROVE, 'run', *words, '--frames', '100', '--faults', '1', '--seconds',
                                   str(60 * PATIENCE), '--round', '1', '--out', self.folder],
                                  capture_output=True, text=True, timeout=100 * PATIENCE)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            leaks = int(re.search(r'^figures: .*\bleaks=(\d+)', done.stdout, re.M)[1])
            if words:
                self.assertGreaterEqual(leaks, 100)
                self.assertIn(f'{leaks} of {leaks} leaks found', done.stdout)
            else:
                self.assertEqual(leaks, 0)
                self.assertGreater(int(re.search(r'\bpictures=(\d+)', done.stdout)[1]), 100)


if __name__ == '__main__':
    main()
