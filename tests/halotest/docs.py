# SPDX-License-Identifier: BSD-2-Clause
# The documentation as tests read it: tables of Markdown, options and examples of manual pages.
import glob
import os
import re
import subprocess

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), '..', '..'))
FOLDERS = ('config', 'daemon', 'docs', 'kernels', 'pipeline', 'systemd', 'tests', 'tools')
MARKDOWN = ['README.md', 'CONTRIBUTING.md', *sorted(
    os.path.relpath(path, ROOT) for folder in FOLDERS
    for path in glob.glob(os.path.join(ROOT, folder, '**/*.md'), recursive=True))]
MANUALS = sorted(os.path.relpath(path, ROOT) for folder in FOLDERS
                 for path in glob.glob(os.path.join(ROOT, folder, '**/*.scd'), recursive=True))


def read(name):
    with open(os.path.join(ROOT, name), encoding='utf-8') as file:
        return file.read()


def quoted(text):
    """What stands in backquotes."""
    return re.findall(r'`([^`]+)`', text)


def table(text, head):
    """Rows, as lists of cells, of the table whose head row begins with these cells."""
    rows = re.search(rf'(?m)^\| {re.escape(head)}[^\n]*\n\|[-| ]+\n((?:\|.*\n)+)', text)[1]
    return [[cell.strip() for cell in line.strip('|').split(' | ')] for line in rows.splitlines()]


def section(text, title):
    """Of Markdown or scdoc, to the next title of its level."""
    found = re.search(rf'(?ms)^(#+) {re.escape(title)}\n(.*?)(?=^\1 |\Z)', text)
    return found[2] if found else None


def help_of(program, *words):
    done = subprocess.run([program, *words, '--help'], check=True, stdout=subprocess.PIPE, text=True,
                          timeout=60)
    return done.stdout
