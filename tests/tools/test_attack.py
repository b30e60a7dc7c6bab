# SPDX-License-Identifier: BSD-2-Clause
# What tools/bench/attack counts, and, where numpy and Pillow are installed, its attacks on halod.
import os
import re
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = os.path.join(HERE, '..', '..', 'tools', 'bench', 'attack')
sys.path.insert(0, FOLDER)

import scoring  # noqa: E402


class Rates(unittest.TestCase):
    def test_intervals_are_the_exact_ones(self):
        # From tables of the binomial distribution.
        for right, trials, low, high in ((0, 10, 0, 0.3085), (1, 10, 0.0025, 0.4450),
                                         (5, 10, 0.1871, 0.8129), (10, 10, 0.6915, 1),
                                         (50, 1000, 0.0373, 0.0654)):
            found = scoring.rate(right, trials)
            self.assertAlmostEqual(found.low, low, 3, (right, trials))
            self.assertAlmostEqual(found.high, high, 3, (right, trials))

    def test_more_tests_widen_intervals(self):
        one, many = scoring.rate(20, 1000), scoring.rate(20, 1000, tests=9)
        self.assertLess(many.low, one.low)
        self.assertGreater(many.high, one.high)


class Bounds(unittest.TestCase):
    def test_of_chains(self):
        for chain, expected in (
                ('gblur=sigma=20', None), ('pixelize', None), ('solid', 0.001),
                ('solid=color=black', 0.001), ('hide=solid', 0.001), ('hide', 0.001),
                ('hide=cells:n=2:levels=2', 0.016), ('hide=cells', 1.0),
                ('hide=how=cells:levels=2:n=1', 0.002),
                ('gblur=sigma=5,hide=cells:n=1:levels=8', 0.008),
                ('hide=noise:n=16:epsilon=1', 0.002713616), ('hide=noise', 0.002713616),
                ('hide=noise:epsilon=99', 1.0)):
            found = scoring.promised(chain, 1000)
            if expected is None:
                self.assertIsNone(found, chain)
            else:
                self.assertAlmostEqual(found, expected, 6, chain)

    def test_verdicts(self):
        for right, bound, expected in ((0, 0.01, 'within'), (9, 0.01, 'open'), (30, 0.01, 'above'),
                                       (30, None, ''), (1000, 1.0, 'within'), (0, 0.001, 'chance'),
                                       (2, 0.001, 'chance'), (9, 0.001, 'above')):
            found = scoring.verdict(scoring.rate(right, 1000), bound, 0.001)
            self.assertEqual(found, expected, (right, bound))


class Attacks(unittest.TestCase):
    def attack(self, *args, **env):
        done = subprocess.run([sys.executable, os.path.join(FOLDER, 'attack'),
                               '--halod', os.environ['HALOD'], *args],
                              capture_output=True, text=True, timeout=3000, check=False,
                              env={**os.environ, **env})
        if done.returncode == 77:
            self.skipTest((done.stdout + done.stderr).strip().splitlines()[-1])
        return done

    def test_blurs_fail_and_one_colour_holds(self):
        done = self.attack('--quick')
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_a_rate_above_its_bound_fails(self):
        done = self.attack('--kind', 'plates', '--identities', '64', '--only', 'nearest', '--vf',
                           'gblur=sigma=5', '--at-most', '0.5')
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn('| 50.0 % | above |', done.stdout)

    def test_black_and_white_regions_are_told_apart_as_far_as_a_chain_allows(self):
        # Of the noise, 69.7 % are expected, and 81.6 % if it were half as strong.
        chains = {'gblur=sigma=20': (1, 1), 'hide=cells:n=1:levels=2': (1, 1),
                  'hide=solid': (0.4, 0.6), 'hide=noise:n=1:epsilon=1': (0.61, 0.78),
                  'hide=noise:n=1:epsilon=20': (0.99, 1)}
        done = self.attack('--kind', 'extremes', '--identities', '640',
                           *(word for chain in chains for word in ('--vf', chain)))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for chain, (low, high) in chains.items():
            rate = float(re.search(rf'`{chain}` \| ([0-9.]+) %', done.stdout)[1]) / 100
            self.assertTrue(low <= rate <= high, (chain, rate))

    def test_the_seed_decides_everything(self):
        args = ['--kind', 'plates', '--identities', '64', '--frames', '3', '--vf', 'gblur=sigma=20',
                '--only', 'nearest,average', '--seed']
        tables = [self.attack(*args, seed, PYTHONHASHSEED=order).stdout
                  for seed, order in (('1', '1'), ('1', '2'), ('2', '1'))]
        self.assertEqual(tables[0], tables[1])
        self.assertNotEqual(tables[0], tables[2])

    def test_wrong_chains_and_options_are_refused(self):
        for code, args in ((64, ['--at-most', '2']), (64, ['--only', 'magic']),
                           (64, ['--identities', '0']),
                           (70, ['--kind', 'plates', '--identities', '64', '--vf', 'nosuchfilter'])):
            done = self.attack(*args)
            self.assertEqual((done.returncode, len(done.stderr.splitlines())), (code, 1), done.stderr)


if __name__ == '__main__':
    unittest.main()
