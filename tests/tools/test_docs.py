# SPDX-License-Identifier: BSD-2-Clause
# The documentation agrees with the programs and with itself.
import ast
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

from halotest.docs import FOLDERS, MANUALS, MARKDOWN, ROOT, help_of, quoted, read, section, table

# scdoc writes paragraph macros that no reader sees.
# What mandoc says of scdoc's pages; newer versions escape the hyphens of the date.
OF_SCDOC = re.compile('skipping paragraph macro|cannot parse date')


def anchors(text):
    """As Forgejo and GitHub make them from headings."""
    return {re.sub(r'[^\w\- ]', '', title.lower()).replace(' ', '-')
            for title in re.findall(r'(?m)^#+ (.*)$', text)}


class Links(unittest.TestCase):
    def test_lead_somewhere(self):
        self.assertIn('docs/filters.md', MARKDOWN)
        for name in MARKDOWN:
            for path, anchor in re.findall(r'\]\(([^)#\s]*)(?:#([^)\s]*))?\)', read(name)):
                if re.match(r'\w+:', path):
                    continue
                with self.subTest(name, link=path, anchor=anchor):
                    target = os.path.normpath(os.path.join(os.path.dirname(name), path)
                                              if path else name)
                    self.assertTrue(os.path.exists(os.path.join(ROOT, target)), 'no such file')
                    if anchor:
                        self.assertIn(anchor, anchors(read(target)))

    def test_every_page_is_linked(self):
        linked = {os.path.normpath(os.path.join(os.path.dirname(name), path))
                  for name in MARKDOWN for path in re.findall(r'\]\(([^)#\s]*)', read(name))}
        self.assertEqual([name for name in MARKDOWN if name not in linked and name != 'README.md'],
                         [])


class Builds(unittest.TestCase):
    def test_kernels_alone_need_nothing_of_the_rest(self):
        """-Dkernels_only=true of docs/building.md, which the kernels for 64-bit Arm are built with."""
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(['meson', 'setup', folder, ROOT, '-Dkernels_only=true', '-Dcuda=disabled'],
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout)


class Installed(unittest.TestCase):
    def test_links_lead_to_installed_files(self):
        plan = json.loads(subprocess.run(['meson', 'introspect', '--install-plan', os.environ['BUILD']],
                                         check=True, stdout=subprocess.PIPE).stdout)
        installed = {row['destination']: path for rows in plan.values() for path, row in rows.items()
                     if '/doc/halod/' in row['destination']}
        pages = {place: path for place, path in installed.items() if place.endswith('.md')}
        self.assertGreater(len(pages), 10)
        for page, made in pages.items():
            with open(made, encoding='utf-8') as file:
                links = re.findall(r'\]\(([^)#\s]*)(?:#[^)\s]*)?\)', file.read())
            for path in links:
                if re.match(r'\w+:', path) or not path:
                    continue
                place = os.path.normpath(os.path.join(os.path.dirname(page), path))
                folder = installed.get(os.path.dirname(place))
                self.assertTrue(
                    place in installed or
                    folder and os.path.exists(os.path.join(folder, os.path.basename(place))),
                    f'{page}: {path}')


class Files(unittest.TestCase):
    def test_exist(self):
        """A file that a page names lies in the page's folder, below the top, or, named alone, anywhere."""
        files = {os.path.relpath(os.path.join(folder, name), ROOT)
                 for top in FOLDERS for folder, _, names in os.walk(os.path.join(ROOT, top))
                 for name in names}
        known = files | {os.path.basename(name) for name in files}
        for name in MARKDOWN:
            text = re.sub(r'(?ms)^```.*?^```', '', read(name))
            for path in re.findall(r'`([\w./-]+\.(?:c|h|py|cu|cuh|def|in|scd|md|build|supp))`', text):
                beside = os.path.normpath(os.path.join(os.path.dirname(name), path))
                if not re.search('[A-Z]{3}', path):
                    self.assertTrue({path, beside} & known, f'{name}: {path}')


class Length(unittest.TestCase):
    def test_readme(self):
        """The first screen has an image and a command; half of what it once was is enough."""
        lines = read('README.md').splitlines()
        self.assertLessEqual(len(lines), 166)
        first = '\n'.join(lines[:30])
        self.assertIn('![', first)
        self.assertRegex(first, r'(?m)^halod run ')


class Options(unittest.TestCase):
    """Each option that a program lists in its help is in its manual page, and no others are."""

    def compare(self, offered, page, *titles):
        text = '\n'.join(section(read(page), title) for title in titles)
        heads = '\n'.join(re.findall(r'(?m)^\*-.*$', text))
        self.assertEqual(set(re.findall(r'\*(-[\w:-]+)', heads)) - {'-h', '--help'},
                         offered - {'-h', '--help'})

    def test_halod_run(self):
        offered = set()
        for line in section_of_help(help_of(os.environ['HALOD'], 'run'), 'options'):
            offered.update(re.findall(r'^  (-[\w:-]+)', line))
            for names in re.findall(r'; also (.*)$', line):
                offered.update(names.split(', '))
        self.assertGreater(len(offered), 30)
        self.compare(offered, 'daemon/halod.8.scd', 'OPTIONS OF HALOD RUN')

    def test_haloctl(self):
        offered = set(re.findall(r'(?m)^  (?:(-\w), )(--\w+)', help_of(os.environ['HALOCTL'])))
        self.compare({name for names in offered for name in names}, 'docs/haloctl.1.scd', 'OPTIONS')

    def test_halo_bench(self):
        offered = set()
        for line in section_of_help(help_of(os.environ['HALO_BENCH']), 'options'):
            offered.update(re.findall(r'^  (--[\w-]+)', line))
            for names in re.findall(r'; also (.*)$', line):
                offered.update(names.split(', '))
        self.compare(offered, 'tools/halo-bench/halo-bench.1.scd', 'MODES', 'OPTIONS')

    def test_commands(self):
        for program, words, page in (('HALOD', (), 'daemon/halod.8.scd'),
                                     ('HALOCTL', (), 'docs/haloctl.1.scd')):
            text = help_of(os.environ[program], *words)
            commands = re.findall(r'(?m)^  (?:halod )?([a-z]+|--[a-z-]+|-c) +(?:[A-Z\[]|[a-z])', text)
            self.assertGreater(len(commands), 6)
            text = read(page)
            for command in commands:
                if command not in ('--help', '--version'):
                    self.assertRegex(text, rf'\*(halod )?{command}\b', f'{page}: {command}')

    def test_build_options(self):
        options = set(re.findall(r"^option\('(\w+)'", read('meson_options.txt'), re.M))
        rows = table(read('docs/building.md'), 'option')
        self.assertEqual({re.search(r'-D(\w+)=', row[0])[1] for row in rows}, options)


def section_of_help(text, title):
    return re.search(rf'(?ms)^{title}:\n(.*?)\n\n', text)[1].splitlines()


class Tables(unittest.TestCase):
    def test_folders(self):
        """docs/architecture.md lists each folder of the code, in the order of the libraries."""
        listed = [quoted(row[0])[0].rstrip('/') for row in
                  table(read('docs/architecture.md'), 'folder')]
        order = []
        names = re.search(r'(?s)pipeline_folders = \[(.*?)\]', read('pipeline/meson.build'))[1]
        order += [f'pipeline/{name}' for name in re.findall(r"'(\w+)'", names)]
        order += [f'daemon/{name}' for name in
                  re.findall(r"(?m)^subdir\('([\w/]+)'\)", read('daemon/meson.build'))]
        self.assertEqual([name for name in listed if re.match(r'(pipeline|daemon)/', name)], order)

    def test_strategies(self):
        """kernels/cuda/README.md lists each strategy; a slash names a variant in the same row."""
        code = ''.join(read(f'kernels/cuda/{name}') for name in os.listdir(os.path.join(ROOT, 'kernels/cuda'))
                       if name.endswith('.cu'))
        names = re.findall(r'\.base = \{"([a-z0-9/-]+)"', code)
        self.assertGreater(len(names), 10)
        listed = []
        for row in table(read('kernels/cuda/README.md'), 'strategy'):
            first, *variants = quoted(row[0])
            listed += [first, *(first + name for name in variants)]
        self.assertEqual(sorted(listed), sorted(names))

    def test_targets_and_tests(self):
        """CONTRIBUTING.md names tests that exist."""
        offered = set(re.findall(r"(?m)test\('([\w-]+)'", '\n'.join(
            read(os.path.relpath(os.path.join(folder, 'meson.build'), ROOT))
            for folder, _, files in os.walk(os.path.join(ROOT, 'tests')) if 'meson.build' in files)))
        self.assertIn('style', offered)
        build = os.environ['BUILD']
        listed = subprocess.run(['meson', 'introspect', '--tests', build], check=True,
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
        names = {test['name'] for test in json.loads(listed)} | offered
        for row in table(read('CONTRIBUTING.md'), 'you change'):
            for name in quoted(row[1]):
                if not re.search(r'[/ ]', name):
                    self.assertIn(name, names, row[0])


def tests_of(path):
    """CLASS.NAME of each test in a Python file, NAME of each in a C file."""
    text = read(path)
    if path.endswith('.c'):
        return set(re.findall(r'cmocka_unit_test\w*\((\w+)', text))
    return {f'{group.name}.{test.name}' for group in ast.parse(text).body
            if isinstance(group, ast.ClassDef) for test in group.body
            if isinstance(test, ast.FunctionDef) and test.name.startswith('test_')}


class Threats(unittest.TestCase):
    def test_tests_exist(self):
        """Each threat in docs/page-security.md has tests."""
        files = {os.path.splitext(name)[0]: os.path.relpath(os.path.join(folder, name), ROOT)
                 for folder, _, names in os.walk(os.path.join(ROOT, 'tests'))
                 for name in names if re.fullmatch(r'test_\w+\.(py|c)', name)}
        rows = table(read('docs/page-security.md'), 'threat')
        self.assertGreater(len(rows), 20)
        for threat, _, names in rows:
            self.assertTrue(quoted(names), threat)
            for name in quoted(names):
                module, _, test = name.partition('.')
                with self.subTest(threat, test=name):
                    if test == 'events':
                        self.assertIn('\nat ', read(f'tests/world/events/{name}'))
                    else:
                        self.assertIn(test, tests_of(files[module]))


def paths_of_http():
    """Each path that HTTP serves, from the tables in http_request.c."""
    code = read('daemon/http/http_request.c')

    def names(name):
        rows = re.search(rf'(?s)\nstatic const struct path {name}\[\] = {{\n(.*?)\n}};', code)[1]
        return re.findall(r'{"([^"]+)", HALO_HTTP_\w+, HALO_ROLE_\w+, \w+},', rows)
    return (names('pages') + ['/page/FILE', '/api/call/METHOD'] + [f'/NAME/{name}' for name in names('files')] +
            [f'{folder}?action={name}' for folder in ('/NAME/', '/') for name in names('actions')])


def exit_codes():
    """{name without HALO_EXIT_: number}, from config/base/error.h."""
    return {name: int(number) for name, number in
            re.findall(r'(?m)^    HALO_EXIT_(\w+) = (\d+),$', read('config/base/error.h'))}


class Code(unittest.TestCase):
    """Tables of the documentation against those of the code."""

    def test_paths_of_http(self):
        served = paths_of_http()
        self.assertGreater(len(served), 9)
        rows = table(section(read('docs/control.md'), 'HTTP'), 'path')
        listed = [path for row in rows for path in quoted(row[0])]
        self.assertEqual(sorted(listed), sorted(served))

    def check_exit_codes(self, listed, numbers):
        """listed: pairs of numbers, as text with commas, and their meaning; signals that a meaning
        names are in the order of their numbers."""
        found = []
        for codes, meaning in listed:
            codes = [int(code) for code in re.findall(r'\d+', codes)]
            found += codes
            signals = [numbers[name] for name in re.findall(r'\bSIG[A-Z]+', meaning)]
            self.assertEqual(signals, [code for code in codes if code > 128], meaning)
        self.assertEqual(sorted(found), sorted(numbers.values()))

    def test_exit_status(self):
        codes = exit_codes()
        self.assertGreater(len(codes), 7)
        entries = re.findall(r'(?m)^(\*\d[^\n]*)\n\t((?:.+\n)*)',
                             section(read('daemon/halod.8.scd'), 'EXIT STATUS'))
        self.check_exit_codes(entries, codes)
        # halod run has no file of settings.
        self.assertNotIn('HALO_EXIT_CONFIG', ''.join(
            read(os.path.join('daemon/cli/run', name))
            for name in os.listdir(os.path.join(ROOT, 'daemon/cli/run')) if name.endswith('.c')))
        self.check_exit_codes(
            table(section(read('docs/transcoding.md'), 'Exit status'), '| |'),
            {name: code for name, code in codes.items() if name != 'CONFIG'})

    def test_exit_status_of_errors(self):
        """CONTRIBUTING.md lists those that errors and success have, without signals."""
        text = re.search(r'exit\s+code \(([^)]*)\)', read('CONTRIBUTING.md'))[1]
        self.assertEqual([int(code) for code in re.findall(r'\d+', text)],
                         [code for name, code in exit_codes().items() if 'SIG' not in name])


class ManualPages(unittest.TestCase):
    @unittest.skipUnless(shutil.which('mandoc') and shutil.which('scdoc'),
                         'mandoc or scdoc is missing')
    def test_lint(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in MANUALS:
                page = os.path.join(folder, os.path.basename(name).removesuffix('.scd'))
                with open(os.path.join(ROOT, name), 'rb') as source, open(page, 'wb') as made:
                    subprocess.run(['scdoc'], stdin=source, stdout=made, check=True)
                done = subprocess.run(['mandoc', '-T', 'lint', '-W', 'warning', page],
                                      stdout=subprocess.PIPE, text=True, check=False)
                self.assertEqual([line for line in done.stdout.splitlines()
                                  if not OF_SCDOC.search(line)], [], name)


if __name__ == '__main__':
    unittest.main(verbosity=2)
