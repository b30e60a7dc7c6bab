# SPDX-License-Identifier: BSD-2-Clause
# tools/dev/words finds what is planted into a copy of the sources, and draws a lot that is fair.
import importlib.machinery
import importlib.util
import os
import re
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
        os.makedirs(os.path.join(cls.folder, 'tools', 'dev'))
        cls.script = os.path.join(cls.folder, 'tools', 'dev', 'words')
        shutil.copy(os.path.join(ROOT, 'tools', 'dev', 'words'), cls.script)

    def words(self, *args, code=0):
        done = subprocess.run([self.script, *args], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout

    def program(self):
        """The functions of tools/dev/words, over the copy."""
        loader = importlib.machinery.SourceFileLoader('words', self.script)
        module = importlib.util.module_from_spec(
            importlib.util.spec_from_loader('words', loader))
        loader.exec_module(module)
        return module

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
        places = [f"{self.plant(name, text)}'{word}'" for name, text, word in (
                ('config/base/log.c', '/* It is\n * opened anew. */', 'anew'),
                ('config/base/log.h', '// an URL', 'an URL'),
                ('pipeline/stream/live.c', 'static const char *s = "it is opened anew";', 'anew'),
                ('docs/control.md', 'A stream\nis started anew.', 'anew'),
                ('docs/haloctl.1.scd', 'What is no message, what is no call.', 'what is no'),
                ('systemd/sandbox.in', '# an URL of it', 'an URL'))]
        found = self.words('check', code=1)
        for place in places:
            self.assertIn(place, found)

    def test_code_is_not_prose(self):
        """Identifiers and includes are no words that a person reads."""
        self.plant('config/base/log.c', '#include "anew/anew.h"\nint anew;')
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
        drawn = re.findall(r'(?m)^ *\d+ \S+:\d+: (.*)$', lot)
        self.assertEqual(len(set(drawn)), 200)

    def test_a_long_file_does_not_dominate(self):
        """A file with a third of all messages is drawn from two or three times of fifty (at most nine
        times in 1000 lots)."""
        self.plant('config/base/log.c', 'static const char *words[] = {\n' + '\n'.join(
            f'    "the {chr(97 + i // 26)}{chr(97 + i % 26)} table is long",'
            for i in range(26 * 26)) + '\n};')
        self.plant('config/load.c', 'static const char *words[] = {\n' + '\n'.join(
            '    "one text that is often there",' for i in range(999)) + '\n};')
        lot = self.words('draw', '7')
        self.assertIn(len(re.findall(r'table is long$', lot, re.M)), range(12))
        self.assertLessEqual(lot.count('one text that is often there'), 1)

    def test_messages_are_whole(self):
        """Literals side by side are one message, and what is no message is left out."""
        place = self.plant('config/base/log.c', r'''void f(void)
{
    log("stream %s: waited for %" PRId64
        " ms" /* not read */ ", and then no more");
    log(b ? " and its tail" : "(changed: any change will do)", "{\"count\": %d, \"why\": %s}");
    log("%s %d %s: %d of %d", "out of memory\n", "<p>a page for browsers\n", "the limit is " LIMIT);
}''')
        name, line = place.rstrip(': ').split(':')
        found = [(number - int(line), text) for number, text in self.program().messages(name)
                 if int(line) - number < 8]
        self.assertEqual(found, [(-4, 'stream %s: waited for %d ms, and then no more'),
                                 (-1, 'out of memory'), (-1, 'the limit is <LIMIT>')])

    def test_header_comments_have_their_code(self):
        self.plant('config/base/log.h', '''/* Waits for all who
 * read. Any thread. Words of a list:
 *   first    the one before all others
 *   second   the one that follows the first */
void f(void);
int waits; /* number of those that wait now */''')
        found = [text for _, text in self.program().header_comments('config/base/log.h')][-4:]
        self.assertEqual(found, ['Waits for all who read. [void f(void);]',
                                 'first the one before all others [void f(void);]',
                                 'second the one that follows the first [void f(void);]',
                                 'number of those that wait now [int waits;]'])

    def test_examples_are_not_sentences(self):
        text = ('*-x*\n\tReads it all. Named after W. Hwu of old.\n\n\thalod run -i in -vf gblur out\n\n'
                '\tstreams:++\n  door: one two three++\n    four\n\n1. The first of the steps.\n'
                '2. The second of the steps.\n\n[[ *a table*\n:- with words in cells\n')
        self.assertEqual([sentence for _, sentence in self.program().sentences(1, text)],
                         ['Named after W. Hwu of old.', 'The first of the steps.',
                          'The second of the steps.'])

    def test_command_lines_of_manual_pages_are_not_sentences(self):
        """The sections SYNOPSIS and SEE ALSO have no sentences; line numbers do not change."""
        text = ('x(1)\n\n# NAME\n\nx - shows how the lot is drawn\n\n# SYNOPSIS\n\n'
                '*halod* --check-config _FILE_ of the settings\n\n*halod run* -i in -vf x out\n\n'
                '# DESCRIPTION\n\nThis is the only sentence.\n\n# SEE ALSO\n\n'
                '*halod*(8), *haloctl*(1), _control.md_ of the documentation\n')
        self.assertEqual(list(self.program().sentences(1, text)),
                         [(5, 'x - shows how the lot is drawn'),
                          (15, 'This is the only sentence.')])
        for place, sentence in self.program().pools()['manual page']['daemon/halod.8.scd']:
            self.assertNotRegex(sentence, r'^\*halod\* -', place)

    def test_strings_of_ffmpeg_are_no_messages(self):
        """Text that is searched for in FFmpeg's messages is not halod's; each such text of a table
        still exists."""
        self.plant('config/base/log.c', '''bool f(const char *text)
{
    halo_log("this line is our own");
    return strstr(text, "Failed setup for format") == text || strstr(text,
        "Failed loading of it") || !strncmp(text, "the same for all", 5) ||
        sscanf(text, "frames of %d exceed it", &n) == 1;
}''')
        words = self.program()
        self.assertEqual([text for _, text in words.messages('config/base/log.c')][-1],
                         'this line is our own')
        files = 'pipeline/input/decode_traits.c', 'pipeline/output/nvenc.c'
        found = {text for name in files for _, text in words.messages(name)}
        self.assertFalse(found & words.OF_FFMPEG)
        self.assertIn('no NVENC on this GPU', found)
        code = ''.join(words.read(name) for name in files)
        for text in words.OF_FFMPEG:
            self.assertIn(f'"{text}"', code)

    def test_usage(self):
        for args in (('nothing',), ('draw',), ('check', 'docs')):
            self.words(*args, code=64)


if __name__ == '__main__':
    unittest.main()
