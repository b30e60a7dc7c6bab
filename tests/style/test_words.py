# SPDX-License-Identifier: BSD-2-Clause
# tools/words finds what is planted into a copy of the sources, and draws the same lot twice.
import os
import shutil
import subprocess
import tempfile
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..')
FOLDERS = ('config', 'daemon', 'docs', 'kernels', 'pipeline', 'systemd')


class Words(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        for name in FOLDERS:
            shutil.copytree(os.path.join(ROOT, name), os.path.join(cls.folder, name))
        os.mkdir(os.path.join(cls.folder, 'tools'))
        shutil.copy(os.path.join(ROOT, 'tools', 'words'), os.path.join(cls.folder, 'tools'))

    def words(self, *args, code=0):
        done = subprocess.run([os.path.join(self.folder, 'tools', 'words'), *args],
                              capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout

    def plant(self, name, text):
        """Appends text, removes it after the test, and returns the place of its last line."""
        path = os.path.join(self.folder, name)
        with open(path, encoding='utf-8') as file:
            before = file.read()

        def restore():
            with open(path, 'w', encoding='utf-8') as file:
                file.write(before)
        self.addCleanup(restore)
        with open(path, 'a', encoding='utf-8') as file:
            file.write(text + '\n')
        return f'{name}:{before.count(chr(10)) + 1 + text.count(chr(10))}: '

    def test_banned_words(self):
        self.assertEqual(self.words('check'), '')
        for name, text, word in (
                ('config/log.c', '/* It is\n * opened anew. */', 'anew'),
                ('config/log.h', '// an URL', 'an URL'),
                ('pipeline/live/live.c', 'static const char *s = "it is opened anew";', 'anew'),
                ('docs/control.md', 'A stream\nis started anew.', 'anew'),
                ('docs/haloctl.1.scd', 'What is no message, what is no call.', 'what is no'),
                ('systemd/sandbox.in', '# an URL of it', 'an URL')):
            with self.subTest(name):
                place = self.plant(name, text)
                self.assertIn(f"{place}'{word}'", self.words('check', code=1))
                self.doCleanups()

    def test_code_is_not_prose(self):
        """Identifiers and includes are no words that a person reads."""
        self.plant('config/log.c', '#include "anew/anew.h"\nint anew;')
        self.assertEqual(self.words('check'), '')

    def test_warn(self):
        place = self.plant('docs/control.md', 'The stream stands where nobody looks.')
        found = self.words('warn', 'docs')
        for word in 'stands', 'where', 'nobody', 'looks':
            self.assertIn(f"{place}'{word}'", found)
        self.assertNotIn('config/', found)

    def test_draw(self):
        lot = self.words('draw', '5')
        self.assertEqual(lot, self.words('draw', '5'))
        self.assertNotEqual(lot, self.words('draw', '6'))
        self.assertRegex(lot, r'(?m)^200 \S+\.h:\d+: ')

    def test_usage(self):
        for args in (('nothing',), ('draw',), ('check', 'docs')):
            self.words(*args, code=64)


if __name__ == '__main__':
    unittest.main()
