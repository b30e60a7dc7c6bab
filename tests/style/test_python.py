# SPDX-License-Identifier: BSD-2-Clause
# No Python file uses a name that nothing defines: some tests run on few machines, and would fail
# only there.
import os
import shutil
import subprocess
import sys
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..')
PYFLAKES = shutil.which('pyflakes3')


def is_python(path):
    if path.endswith('.py'):
        return True
    with open(path, 'rb') as file:
        first = file.readline(100)
    return first.startswith(b'#!') and b'python' in first


def sources():
    for top in 'tests', 'tools':
        for folder, _, names in os.walk(os.path.join(ROOT, top)):
            for name in names:
                path = os.path.join(folder, name)
                if os.path.isfile(path) and not path.endswith('.pyc') and is_python(path):
                    yield path


class Names(unittest.TestCase):
    def undefined(self, *paths, text=None):
        done = subprocess.run([PYFLAKES, *paths], input=text, capture_output=True, text=True,
                              check=False)
        return [line for line in done.stdout.splitlines() + done.stderr.splitlines()
                if 'imported but unused' not in line]

    def test_sources(self):
        paths = list(sources())
        self.assertGreater(len(paths), 100)
        self.assertEqual(self.undefined(*paths), [])

    def test_undefined_name_is_found(self):
        found = self.undefined(text='import os\n\n\ndef f():\n    return wait(os.sep)\n')
        self.assertEqual(len(found), 1, found)
        self.assertIn("undefined name 'wait'", found[0])


if __name__ == '__main__':
    if not PYFLAKES:
        print('pyflakes3 is missing')
        sys.exit(77)
    unittest.main(verbosity=2)
