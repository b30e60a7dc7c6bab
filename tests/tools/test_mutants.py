# SPDX-License-Identifier: BSD-2-Clause
# Mutation runs: what rules make of a text; the verdict of tests/kernels/mutants.py, from what
# kernel checks print; that of tests/pipeline/mutants.py, from tests that pass or fail; and that the
# places that both tables name are there.
import contextlib
import importlib.util
import io
import os
import stat
import tempfile
import unittest

TESTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..')


def table(name):
    spec = importlib.util.spec_from_file_location(name + '_mutants',
                                                  os.path.join(TESTS, name, 'mutants.py'))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


kernels, privacy = table('kernels'), table('pipeline')
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
            return kernels.verdict(program, strategy)

    def test_caught(self):
        for strategy, line in (
                ('cpu/rows', 'FAIL cpu/rows: case 7 (--seed 1): 7x1'),
                ('cuda/output-tile/steps', 'FAIL cuda/output-tile/steps: case 7: 7x1'),
                ('cuda/direct', 'FAIL cuda/auto: a frame of 5 planes in one call: plane 1'),
                ('cuda/', 'FAIL cuda/auto: round 3 of calls with several planes'),
                ('cuda/', 'FAIL cuda/tensor: case 7: 7x1')):
            self.assertEqual(self.of(strategy, 'cuda: one', line, 'FAIL cpu/nodes: case 9'),
                             (True, 'caught'), line)

    def test_others(self):
        for strategy, line in (
                ('cuda/direct', 'FAIL cuda/tensor: case 7: 7x1'),
                ('cuda/output-tile', 'FAIL cuda/output-tile/steps: case 7: 7x1'),
                ('cuda/output-tile/steps', 'FAIL cuda/output-tile: case 7: 7x1'),
                ('cuda/direct', 'FAIL cpu/auto: case 7: 7x1'),
                ('cuda/', 'FAIL cpu/rows: case 7: 7x1'),
                ('cuda/', 'FAIL the reference itself: case 7')):
            self.assertEqual(self.of(strategy, line), (False, 'another strategy failed: ' + line))

    def test_not_caught(self):
        for words, strategy, status in (('LIVES: the kernel check passes', 'cpu/rows', 0),
                                        ('no device here', 'cuda/direct', 77),
                                        ('the kernel check ended with status 3', 'cpu/rows', 3)):
            self.assertEqual(self.of(strategy, status=status), (False, words))
        self.assertEqual(self.of('cpu/rows', status='$(kill -SEGV $$)'),
                         (True, 'killed by signal 11'))

    def test_each_extent(self):
        line = 'FAIL cpu/rows: case 7'
        for needs in ('--thin', '--random 300', '--backend cpu'):
            self.assertTrue(self.of('cpu/rows', line, needs=needs)[0], needs)


TEXT = '''
enum { PAUSE_MS = 250, MOST = 2 };

/* if (a < b) */
static bool first(int a, int b)
{
    if (a < b && b != 3)
        log_it("a < b");
    return FFMIN(a, b) + 2 == one(a) ? a : b;
}

static void second(struct s *s)
{
    s->a = 1e6;
    if (s->b)
        wake(s);
    free(s->c);
}
'''


class Rules(unittest.TestCase):
    maxDiff = None

    def test_rules(self):
        """Each place and what stands there instead, for all rules that are in the text."""
        found = {}
        for mutant in mutation.sites(TEXT, mutation.RULES):
            found.setdefault((mutant.function, mutant.rule), []).append(
                (TEXT[mutant.start:mutant.end], mutant.new))
        self.assertEqual(found, {
            ('', 'ten times'): [('PAUSE_MS = 250', 'PAUSE_MS = 2500'), ('MOST = 2', 'MOST = 20')],
            ('', 'a tenth'): [('PAUSE_MS = 250', 'PAUSE_MS = 25'), ('MOST = 2', 'MOST = 0.2')],
            ('first', 'negate'): [('a < b && b != 3', '!(a < b && b != 3)')],
            ('first', 'never'): [('a < b && b != 3', 'false && (a < b && b != 3)')],
            ('first', 'always'): [('a < b && b != 3', 'true || (a < b && b != 3)')],
            ('first', 'compare'): [('<', '<='), ('!=', '=='), ('==', '!=')],
            ('first', 'logic'): [('&&', '||')],
            ('first', 'operand'): [(' && b != 3', '')],
            ('first', 'number'): [('3', '4'), ('2', '3')],
            ('first', 'sign'): [('+', '-')],
            ('first', 'extreme'): [('FFMIN', 'FFMAX')],
            ('first', 'branches'): [('a : b', 'b : a')],
            ('first', 'give'): [('FFMIN(a, b) + 2 == one(a) ? a : b',
                                 '!(FFMIN(a, b) + 2 == one(a) ? a : b)')],
            ('first', 'later'): [('if (a < b && b != 3)\n        log_it("a < b");\n    '
                                  'return FFMIN(a, b) + 2 == one(a) ? a : b;',
                                  'return FFMIN(a, b) + 2 == one(a) ? a : b;\n    '
                                  'if (a < b && b != 3)\n        log_it("a < b");')],
            ('second', 'number'): [('1e6', '10 * 1e6')],
            ('second', 'drop'): [('s->a = 1e6', ''), ('wake(s)', '')],
            ('second', 'negate'): [('s->b', '!(s->b)')],
            ('second', 'never'): [('s->b', 'false && (s->b)')],
            ('second', 'always'): [('s->b', 'true || (s->b)')],
            ('second', 'later'): [('s->a = 1e6;\n    if (s->b)\n        wake(s);',
                                   'if (s->b)\n        wake(s);\n    s->a = 1e6;'),
                                  ('if (s->b)\n        wake(s);\n    free(s->c);',
                                   'free(s->c);\n    if (s->b)\n        wake(s);'),
                                  ('wake(s);\n    free(s->c);', 'free(s->c);\n    wake(s);')]})

    def test_draw(self):
        """One of each function first; the same after a rename, or a change of another function."""
        def drawn(text):
            return [mutant[1:3] for mutant in mutation.chosen(text, 5)
                    if mutant.function.startswith('sec')]
        some = [mutant.function for mutant in mutation.chosen(TEXT, 5)]
        self.assertEqual(some[:3], ['first', 'second', 'first'])
        self.assertEqual(len(some), len(mutation.sites(TEXT)))
        self.assertEqual(drawn(TEXT.replace('second', 'section')), drawn(TEXT))
        self.assertEqual(drawn(TEXT.replace('a < b', 'a')), drawn(TEXT))

    def test_known(self):
        self.assertEqual(mutation.known(TEXT, '', 'ten times', 'MOST').new, 'MOST = 20')
        self.assertEqual(mutation.known(TEXT, 'second', 'drop', 'free')[1:3], ('drop', 3))
        put = mutation.known(TEXT, 'second', ('put', 'more();'), 'wake')
        self.assertEqual((TEXT[put.start - 8:put.end], put.new), ('wake(s);', ' more();'))
        for function, word in (('second', 's'), ('second', 'wak'), ('first', 'wake')):
            self.assertIsNone(mutation.known(TEXT, function, 'drop', word))


class Copy(mutation.Tree):
    """Of one source, whose build is a test that looks for a word in it."""
    def __init__(self, folder):
        self.source = self.folder = folder
        self.write('gate.c', 'one two three\n')

    def build(self, *targets):
        text = mutation.read('gate.c', self.folder)
        if 'broken' in text:
            return 'does not build'
        for target in targets:
            os.makedirs(os.path.dirname(self.program(target)), exist_ok=True)
            with open(self.program(target), 'w', encoding='utf-8') as file:
                file.write(f'#!/bin/sh\ngrep -q two {self.folder}/gate.c && exit 0\n'
                           'echo "[  FAILED  ] counts"\nexit 1\n')
            os.chmod(self.program(target), stat.S_IRWXU)
        return None


class Verdicts(unittest.TestCase):
    def test_tests(self):
        with tempfile.TemporaryDirectory() as folder:
            copy = Copy(folder)
            for start, end, new, wanted in ((4, 7, 'zwei', (True, 'caught by gate: counts')),
                                            (8, 13, 'drei', (False, 'LIVES: gate pass')),
                                            (0, 3, 'broken', (None, 'does not build'))):
                mutant = mutation.Mutant('', 'drop', 1, start, end, new, 'gate.c')
                self.assertEqual(privacy.try_mutant(copy, mutant, ('gate',)), wanted)
                self.assertEqual(mutation.read('gate.c', folder), 'one two three\n')

    def walked(self, verdicts, **more):
        """The status and what is printed, where mutants of a file have these verdicts."""
        verdicts = iter(verdicts)
        with contextlib.redirect_stdout(io.StringIO()) as out:
            status = mutation.walk([('pipeline/gate/gate.c', 3)],
                                   lambda _: (next(verdicts), 'said'), **more)
        return status, out.getvalue()

    def test_walk(self):
        """What is no program is passed over."""
        status, text = self.walked((True, None, True, None, True))
        self.assertEqual((status, text.count('said')), (0, 3))
        self.assertIn('3 passed, 0 failed', text)
        status, text = self.walked((True, True, False))
        self.assertEqual(status, 1)
        self.assertIn('2 passed, 1 failed', text)
        name = 'pipeline/gate/gate.c'
        first = next(mutation.chosen(mutation.read(name), 1))[:3]
        status, text = self.walked((True, True), survivors={name: {first: 'why'}})
        self.assertEqual((status, text.count('said')), (0, 2))
        self.assertIn('1 known to live', text)

    def test_places_are_there(self):
        for module in (kernels, privacy):
            for name, (count, _) in module.FILES.items():
                with self.subTest(name):
                    self.assertGreaterEqual(len(mutation.sites(mutation.read(name))), count)
            for name, places in module.SURVIVORS.items():
                found = {m[:3] for m in mutation.sites(mutation.read(name), mutation.RULES)}
                self.assertEqual(set(places) - found, set(), name)
        for name, rows in privacy.KNOWN.items():
            self.assertIn(name, privacy.FILES)
            for what, *place in rows:
                with self.subTest(name, what=what):
                    self.assertIsNotNone(mutation.known(mutation.read(name), *place))

    def test_sources_are_copied(self):
        docs = os.path.join(TESTS, '..', 'docs')
        self.assertIn('building.md', os.listdir(docs))
        self.assertEqual(mutation.made(docs, os.listdir(docs)), [])
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(os.path.join(folder, 'build-check'))
            self.assertEqual(mutation.made(folder, os.listdir(folder)), ['build-check'])


if __name__ == '__main__':
    unittest.main(verbosity=2)
