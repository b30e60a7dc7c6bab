# SPDX-License-Identifier: BSD-2-Clause
# Mutation runs: the verdict of tests/kernels/mutants.py, from what kernel checks print; that of
# tests/pipeline/mutants.py, from tests that pass or fail; and that both tables quote the sources as
# they are.
import contextlib
import importlib.util
import io
import os
import stat
import sys
import tempfile
import unittest

TESTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..')


def table(name):
    spec = importlib.util.spec_from_file_location(name + '_mutants',
                                                  os.path.join(TESTS, name, 'mutants.py'))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


mutants, privacy = table('kernels'), table('pipeline')
from halotest import mutation  # noqa: E402


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


class Copy(mutation.Tree):
    """Of one source, whose build is a test that looks for a word in it."""
    def __init__(self, folder):
        self.source = self.folder = folder
        self.write('gate.c', 'one two three\n')

    def build(self, *targets):
        with open(os.path.join(self.folder, 'gate.c'), encoding='utf-8') as file:
            if 'broken' in file.read():
                return 'does not build'
        for target in targets:
            os.makedirs(os.path.dirname(self.program(target)), exist_ok=True)
            with open(self.program(target), 'w', encoding='utf-8') as file:
                file.write(f'#!/bin/sh\ngrep -q two {self.folder}/gate.c && exit 0\n'
                           'echo "[  FAILED  ] counts"\nexit 1\n')
            os.chmod(self.program(target), stat.S_IRWXU)
        return None


class Privacy(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.copy = Copy(folder.name)
        privacy.TESTS['gate.c'] = ('gate',)

    def of(self, old, new):
        result = privacy.try_mutant(self.copy, privacy.Mutant('', 'gate.c', old, new))
        with open(os.path.join(self.copy.source, 'gate.c'), encoding='utf-8') as file:
            self.assertEqual(file.read(), 'one two three\n')
        return result

    def test_verdicts(self):
        self.assertEqual(self.of('two', 'zwei'), (True, 'caught by gate: counts'))
        self.assertEqual(self.of('three', 'drei'), (False, 'LIVES: gate pass'))
        self.assertEqual(self.of('one', 'broken'), (False, 'does not build'))
        self.assertEqual(self.of('four', 'vier')[0], False)
        self.assertIn('NOT FOUND', self.of('four', 'vier')[1])
        self.assertIn('2 times in gate.c', self.of('t', 'T')[1])

    def test_counts(self):
        rows = [privacy.Mutant('', 'gate.c', old, 'x') for old in ('two', 'three', 'two')]
        with contextlib.redirect_stdout(io.StringIO()) as out:
            status = mutation.walk(rows, [1, 2],
                                   lambda _, mutant: privacy.try_mutant(self.copy, mutant),
                                   lambda mutant: mutant.file)
        self.assertEqual(status, 1)
        self.assertIn('1 passed, 1 failed, 0 skipped', out.getvalue())

    def test_texts_are_there(self):
        for module in (mutants, privacy):
            for number, mutant in enumerate(module.MUTANTS, 1):
                with self.subTest(number=number, file=mutant.file, what=mutant.what):
                    with open(os.path.join(TESTS, '..', mutant.file), encoding='utf-8') as file:
                        self.assertEqual(file.read().count(mutant.old), 1)
                    self.assertNotEqual(mutant.old, mutant.new)

    def test_sources_are_copied(self):
        docs = os.path.join(TESTS, '..', 'docs')
        self.assertIn('building.md', os.listdir(docs))
        self.assertEqual(mutation.made(docs, os.listdir(docs)), [])
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(os.path.join(folder, 'build-check'))
            self.assertEqual(mutation.made(folder, os.listdir(folder)), ['build-check'])

    def test_privacy(self):
        for mutant in privacy.MUTANTS:
            self.assertIn(mutant.file, privacy.TESTS)
        whats = [(mutant.file, mutant.what) for mutant in privacy.MUTANTS]
        self.assertEqual(len(set(whats)), len(whats))
        self.assertGreaterEqual(len(whats), 60)


if __name__ == '__main__':
    unittest.main(verbosity=2)
