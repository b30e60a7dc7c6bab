# SPDX-License-Identifier: BSD-2-Clause
# The leak checker is to be trusted, and finds nothing: the short form of tools/prove-privacy.
"""$HALO_PROVE, $HALOD and $HALOCTL are programs of a build with -Dfaults=true."""
import os
import re
import subprocess

from halotest import PATIENCE, HaloTest, is_sanitized, main
from served import Served

PROVE = os.environ['HALO_PROVE']
PROGRAMS = {'halod': os.environ['HALOD'], 'haloctl': os.environ['HALOCTL'], 'halo-prove': PROVE}
SHARE = 20 if is_sanitized() else 1  # of the work, one of so many
JUDGED = 200 // min(SHARE, 4)  # pictures of the daemon's, sample by sample


def figure(text, name):
    return float(re.search(rf'^figures: .*\b{name}=([0-9.]+)', text, re.M).group(1))


class Proof(HaloTest):
    def prove(self, *words, code=0):
        done = subprocess.run([PROVE, *words, '--out', self.folder], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=500 * PATIENCE, check=False)
        out = done.stdout.decode()
        self.assertEqual(done.returncode, code, out + done.stderr.decode(errors='replace')[-3000:])
        return out

    def saved(self):
        return [name for name in os.listdir(self.folder) if name.startswith('leak-')]

    def test_the_checker(self):
        """No false alarm, and every leak is found."""
        out = self.prove('checker', '--frames', str(16000 // SHARE), '--leaks', str(200 // SHARE))
        self.assertIn('checker: sound', out)
        self.assertIn(': 1000 of 1000 found', out)
        alarms, *_ = out.split('leaks on purpose:\n')
        self.assertLess(figure(alarms, 'cell'), 0.125, 'the margin to 0.25 is too small')
        leaks = re.findall(r'(\d+) of (\d+) found, +(\d+) after (\w+)', out)
        self.assertEqual(len(leaks), 3 * 16)
        for now, of, coded, _ in leaks:
            self.assertEqual({now, of, coded}, {str(200 // SHARE)})
        samples = re.findall(r'(\d+) of (\d+) found:', out)
        self.assertEqual(len(samples), 16)
        self.assertEqual(set(samples), {(str(200 // SHARE), str(200 // SHARE))})
        self.assertIn('false alarms: 0\n', out)

    def test_every_sample(self):
        """Of the filters alone: every format, kind of region and size, with the edges."""
        out = self.prove('exact', '--cases', str(1500 // SHARE), '--seed', str(os.getpid()))
        print(out)
        samples = re.findall(r'(\d+) hidden, (\d+) shown, (\d+) between; wrong pictures: 0', out)
        written, heard = [list(map(int, found)) for found in samples]
        self.assertGreater(min(written), 100000 // SHARE)
        self.assertGreater(min(heard), 100 // SHARE)  # few seeds have many between
        counts = re.search(r'(\d+) were told of, in (\d+) something moved, in (\d+) something was '
                           r'held; left out: (\d+); words: (\d+), and (\d+) refused', out)
        updates, moved, held, left_out, words, refused = map(int, counts.groups())
        self.assertGreater(min(moved, held, words, refused), 200 // SHARE)
        self.assertLess(left_out, updates / 2)

    def test_streams_that_leak(self):
        """By a build that does so on purpose: all are found, and the pictures are saved."""
        out = self.prove('run', '--leak', '--frames', str(2000 // SHARE), '--seconds',
                         str(200 * PATIENCE), '--round', '1')
        found, of = re.search(r'(\d+) of (\d+) leaks found', out).groups()
        self.assertEqual(found, of)
        self.assertGreaterEqual(int(found), 2000 // SHARE)
        self.assertTrue(self.saved())

    def test_streams_with_regions_that_leak(self):
        """Now and then, and so little: they are judged sample by sample."""
        out = self.prove('run', '--wish', 'leak:p=0.02', '--frames', str(2000 // SHARE),
                         '--faults', '1', '--seconds', str(200 * PATIENCE), '--round', '1', '--workers', '2', code=1)
        self.assertIn('chains in force', out)
        self.assertGreater(figure(out, 'leaks'), 0)

    def test_streams_with_a_feed(self):
        """In which things move: each frame hides what had been told until then, and no less."""
        out = self.prove('run', '--feed', '--wish', '', '--frames',
                         str(1000 // SHARE), '--faults', '0', '--seconds', str(200 * PATIENCE),
                         '--round', '4', '--workers', '1', '--streams', '2')
        print(out)
        self.assertGreater(figure(out, 'told'), 200 // SHARE)
        self.assertEqual(figure(out, 'leaks'), 0)

    def test_streams_that_are_blank(self):
        """All filters are skipped: nothing leaks, and nothing is proved."""
        out = ''
        for seconds in (2, 4, 8, 16, 32, 64, 128, 256):
            if 'blank all the time' in out:  # enough has come out
                break
            out = self.prove('run', '--wish', 'skip:1+', '--frames', '10', '--faults', '1',
                             '--seconds', str(seconds), '--round', str(min(seconds // 2, 30)), code=1)
            self.assertEqual(figure(out, 'judged'), 0)
        self.assertGreater(figure(out, 'blank'), figure(out, 'pictures'))
        self.assertIn('blank all the time', out)

    def test_streams_under_faults(self):
        print('seed', os.getpid())
        out = self.prove('run', '--frames', str(30000 // SHARE), '--faults', str(150 // SHARE),
                         '--points', str(40 // SHARE), '--seconds', str(300 * PATIENCE), '--round',
                         '1', '--workers', '2', '--seed', str(os.getpid()))
        print(out)
        self.assertGreater(figure(out, 'judged'), 200 // SHARE)
        self.assertEqual(figure(out, 'leaks'), 0)
        self.assertEqual(self.saved(), [])

    def test_the_daemon_under_faults(self):
        print('seed', os.getpid())
        served = Served(PROGRAMS.get, self.folder, os.getpid(),
                        loopback=None if is_sanitized() else
                        os.environ.get('HALO_STANDIN_LOOPBACK_LIBRARY'))
        served.patience, served.rate = PATIENCE, 200 // min(SHARE, 4)
        figures = served.figures
        for number in range(1, 5):  # by chance, the chains of a round hide little
            served.round(9 / min(SHARE, 3), least=number * JUDGED, most=300 * PATIENCE)
            if served.failures or (figures.hidden >= 100 * JUDGED and figures.pictures > 2 * JUDGED):
                break
        print(figures.kinds, 'sample by sample:', figures.judged, 'blank:', figures.blank)
        self.assertEqual(served.failures, [])
        self.assertEqual(figures.leaks, 0)
        self.assertGreater(figures.pictures, 2 * JUDGED)
        self.assertGreaterEqual(figures.judged, JUDGED)
        self.assertGreaterEqual(figures.hidden, 100 * JUDGED)

    def test_usage(self):
        for words in ((), ('what',), ('run', '--frames', 'x'), ('run', 'more'),
                      ('run', '--backend', 'none'), ('run', '--workers', '0')):
            with self.subTest(words):
                done = subprocess.run([PROVE, *words], stdout=subprocess.PIPE,
                                      stderr=subprocess.PIPE, check=False)
                self.assertEqual((done.returncode, done.stdout), (64, b''))
                self.assertEqual(done.stderr.count(b'\n'), 1)


if __name__ == '__main__':
    main()
