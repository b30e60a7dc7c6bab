# SPDX-License-Identifier: BSD-2-Clause
# Mutation runs: does a test see it when one place of the sources is changed? What the two tables
# (tests/kernels/mutants.py, tests/pipeline/mutants.py) share.
"""A mutant has `what` is wrong with it, the `file`, the `old` text, which stands there once, and the
`new` one; its table adds how it is judged."""
import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..'))


def run(*command, **options):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors='replace', **options)


def made(folder, names):
    """Those of the names in a folder that are not sources."""
    return [name for name in names if name == '.git' or name.startswith(('build', 'demo'))
            and os.path.isdir(os.path.join(folder, name))]


class Tree:
    """A copy of the sources, and a build folder of it."""
    def __init__(self, work, *options):
        self.source, self.folder = os.path.join(work, 'tree'), os.path.join(work, 'build')
        shutil.copytree(ROOT, self.source, ignore=made)
        done = run('meson', 'setup', self.folder, self.source, *options)
        if done.returncode:
            sys.exit(f'mutants: {done.stdout[-2000:]}')

    def program(self, name):
        return os.path.join(self.folder, name)

    def build(self, *targets):
        """None, or what is wrong."""
        done = run('ninja', '-C', self.folder, *targets)
        return f'does not build:\n{done.stdout[-3000:]}' if done.returncode else None

    def write(self, name, text):
        with open(os.path.join(self.source, name), 'w', encoding='utf-8') as file:
            file.write(text)

    @contextmanager
    def changed(self, mutant):
        """Gives what is wrong, or None while the tree has the mutant."""
        with open(os.path.join(self.source, mutant.file), encoding='utf-8') as file:
            whole = file.read()
        count = whole.count(mutant.old)
        if count != 1:
            yield f'NOT FOUND: its text is {count} times in {mutant.file}, not once: the table must ' \
                  'follow the source'
            return
        self.write(mutant.file, whole.replace(mutant.old, mutant.new))
        try:
            yield None
        finally:
            self.write(mutant.file, whole)


@contextmanager
def tree(*options):
    with tempfile.TemporaryDirectory(prefix='halo-mutants-') as work:
        yield Tree(work, *options)


def walk(mutants, numbers, action, name):
    """Applies action to the chosen mutants and reports; the exit status. action gives whether all is
    well (None: left out) and words; name a mutant's place in the table's terms."""
    counts = {True: 0, False: 0, None: 0}
    wrong = []
    for number, mutant in enumerate(mutants, 1):
        if numbers and number not in numbers:
            continue
        right, words = action(number, mutant)
        counts[right] += 1
        if right is not None:
            line = f'{number}: {name(mutant)}: {mutant.what}: {words}'
            print(line, flush=True)
            wrong += [] if right else [line]
    if wrong:
        print('', 'wrong:', *wrong, sep='\n')
    print(f'{counts[True]} passed, {counts[False]} failed, {counts[None]} skipped')
    return 1 if counts[False] else 0
