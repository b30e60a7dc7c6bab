# SPDX-License-Identifier: BSD-2-Clause
# What bash offers for halod and halo-bench, by the scripts that they print.
import os
import subprocess
import unittest

HALOD, HALO_BENCH = os.environ['HALOD'], os.environ['HALO_BENCH']


def run(*words):
    return subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout


class Completion(unittest.TestCase):
    def offers(self, program, *words):
        """The words; with files: '*' as well."""
        name = os.path.basename(program)
        code = 'compopt() { echo "*"; }; eval "$SCRIPT"; COMP_WORDS=("$@"); ' \
               f'COMP_CWORD=$(($# - 1)); _{name}; printf "%s\\n" "${{COMPREPLY[@]}}"'
        done = subprocess.run(['bash', '-c', code, 'x', name, *words], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True,
                              env={**os.environ, 'SCRIPT': run(program, '--completion')})
        self.assertEqual((done.returncode, done.stderr), (0, ''), words)
        return done.stdout.split()

    def test_halod(self):
        commands = self.offers(HALOD, '')
        for word in ('run', 'devices', 'filters', 'filter', '-c', '--check-config', '--version'):
            self.assertIn(word, commands)
        self.assertEqual(self.offers(HALOD, 'filter', 'gb'), ['gblur'])
        filters = [line.split()[0] for line in run(HALOD, 'filters').splitlines()]
        self.assertEqual(self.offers(HALOD, 'run', '-i', 'x', '-vf', ''), filters)
        self.assertEqual(self.offers(HALOD, 'run', '-backend', 'c'), ['cpu', 'cuda'])
        self.assertEqual(self.offers(HALOD, 'run', '-hwa'), ['*', '-hwaccel'])
        self.assertEqual(self.offers(HALOD, 'run', '-i', ''), ['*'])
        self.assertEqual(self.offers(HALOD, 'run', '-crf', ''), [])
        self.assertEqual(self.offers(HALOD, '-c', ''), ['*'])
        self.assertEqual(self.offers(HALOD, 'devices', ''), ['--json'])
        self.assertEqual(self.offers(HALOD, 'filters', ''), [])
        self.assertEqual(self.offers(HALOD, 'job', 'su'), ['submit'])
        self.assertEqual(self.offers(HALOD, 'job', 'submit', '--engine', 'sl'), ['slurm'])
        self.assertEqual(self.offers(HALOD, 'job', 'join', ''), ['*'])
        self.assertIn('--watch', self.offers(HALOD, 'job', 'status', '--w'))

    def test_every_option(self):
        output = [line.split()[0] for line in run(HALOD, 'run', '--help').splitlines()
                if line.startswith('  -')]
        self.assertGreater(len(output), 20)
        self.assertLessEqual(set(output), set(self.offers(HALOD, 'run', '-')))

    def test_halo_bench(self):
        self.assertEqual(self.offers(HALO_BENCH, '--tu'), ['--tune'])
        self.assertEqual(self.offers(HALO_BENCH, '--backend', ''), [])
        self.assertEqual(self.offers(HALO_BENCH, '--svg', ''), ['*'])


if __name__ == '__main__':
    unittest.main(verbosity=2)
