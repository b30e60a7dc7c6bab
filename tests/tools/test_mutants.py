# SPDX-License-Identifier: BSD-2-Clause
# tests/kernels/mutants.py: its verdict, from what kernel checks print.
import os
import stat
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../kernels'))
import mutants  # noqa: E402


class Verdict(unittest.TestCase):
    def of(self, strategy, *lines, status=1, needs=''):
        """needs: the option without which the check would pass."""
        with tempfile.TemporaryDirectory() as folder:
            program = os.path.join(folder, 'kernels-check')
            with open(program, 'w', encoding='utf-8') as file:
                print('#!/bin/sh', f'case "$* " in *"{needs} "*) ;; *) exit 0 ;; esac',
                      *(f"echo '{line}'" for line in lines), f'exit {status}', sep='\n', file=file)
            os.chmod(program, stat.S_IRWXU)
            return mutants.verdict(program, mutants.Mutant('', '', '', '', strategy))

    def test_caught(self):
        for strategy, line in (
                ('cpu/rows', 'FAIL cpu/rows: case 7 (--seed 1): 7x1'),
                ('cuda/output-tile/steps', 'FAIL cuda/output-tile/steps: case 7: 7x1'),
                ('cuda/direct', 'FAIL cuda/auto: a frame of 5 planes in one call: plane 1'),
                ('cuda/', 'FAIL cuda/auto: round 3 of calls with several planes'),
                ('cuda/', 'FAIL cuda/tensor: case 7: 7x1')):
            self.assertIsNone(self.of(strategy, 'cuda: one', line, 'FAIL cpu/nodes: case 9'), line)

    def test_others(self):
        for strategy, line in (
                ('cuda/direct', 'FAIL cuda/tensor: case 7: 7x1'),
                ('cuda/output-tile', 'FAIL cuda/output-tile/steps: case 7: 7x1'),
                ('cuda/output-tile/steps', 'FAIL cuda/output-tile: case 7: 7x1'),
                ('cuda/direct', 'FAIL cpu/auto: case 7: 7x1'),
                ('cuda/', 'FAIL cpu/rows: case 7: 7x1'),
                ('cuda/', 'FAIL the reference itself: case 7')):
            self.assertEqual(self.of(strategy, line), 'another strategy failed: ' + line)

    def test_not_caught(self):
        self.assertEqual(self.of('cpu/rows', status=0), 'LIVES: the kernel check passes')
        self.assertEqual(self.of('cuda/direct', status=77), 'no device here')
        self.assertEqual(self.of('cpu/rows', status=3), 'the kernel check ended with status 3')

    def test_each_extent(self):
        line = 'FAIL cpu/rows: case 7'
        for needs in ('--thin', '--random 300', '--backend cpu'):
            self.assertIsNone(self.of('cpu/rows', line, needs=needs), needs)


if __name__ == '__main__':
    unittest.main(verbosity=2)
