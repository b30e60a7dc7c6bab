# SPDX-License-Identifier: BSD-2-Clause
"""What the benches share: options, programs that must succeed, their times, footage, and tables."""
import argparse
import importlib.util
import os
import shutil
import subprocess
import sys
import time

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..'))
BUILD = os.path.join(ROOT, 'build-release')
PYTHON = '/usr/bin/python3'  # the distribution's, which has the distribution's modules
FAILED, USAGE, SKIPPED = 1, 64, 77
FFMPEG = 'ffmpeg', '-nostdin', '-v', 'error', '-y'


class Error(Exception):
    """A program failed, or did not do what was asked."""


class Missing(Exception):
    """Something that is required is not here."""


def leave(code, text):
    print(f'{os.path.basename(sys.argv[0]).removesuffix(".py")}: {text}', file=sys.stderr)
    sys.exit(code)


def start(main, failed=FAILED):
    """Runs a bench, whose exit status main() returns (None: success); failed: that of an Error."""
    try:
        sys.exit(main())
    except Missing as missing:
        leave(SKIPPED, f'skipped: {missing}')
    except Error as error:
        leave(failed, error)


# ---- options ----

class Parser(argparse.ArgumentParser):
    """Of a bench of halod; about: its help."""

    def __init__(self, about):
        super().__init__(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
        self.add_argument('--halod', default=os.path.join(BUILD, 'daemon', 'halod'),
                          help='(%(default)s)')

    def error(self, message):
        leave(USAGE, f'{message}: see --help')


def whole(text):
    if not text.isdigit() or not 0 < int(text) < 10 ** 7:
        raise argparse.ArgumentTypeError(f'{text}: must be a whole number, 1 to 9999999')
    return int(text)


# ---- what is required ----

def require(**packages):
    """Modules, and the packages of Debian that have them: if one is missing, Debian's Python is
    tried."""
    for module, package in packages.items():
        if not importlib.util.find_spec(module):
            if os.path.exists(PYTHON) and not os.path.samefile(PYTHON, sys.executable):
                os.execv(PYTHON, [PYTHON, *sys.argv])
            leave(SKIPPED, f'skipped: {module} is missing: install {package}')


def program(name, how='build it, or name it with --halod'):
    """Its absolute path."""
    if not shutil.which(name):
        raise Missing(f'{name} is missing: {how}')
    return os.path.abspath(shutil.which(name))


def footage():
    """The files in the folder HALOD_MEDIA: {name: path}."""
    folder = os.environ.get('HALOD_MEDIA', '')
    if not os.path.isdir(folder):
        raise Missing('HALOD_MEDIA names no folder with footage')
    return {entry.name: entry.path for entry in sorted(os.scandir(folder), key=lambda e: e.name)
            if entry.is_file()}


# ---- programs ----

def failure(words, code, said):
    lines = said.decode(errors='replace').strip().splitlines()
    return Error(f'{os.path.basename(words[0])}: exit {code}' + (f': {lines[-1]}' if lines else ''))


def output(*words, **more):
    """Standard output of a program that must succeed."""
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, check=False, **more)
    if done.returncode:
        raise failure(words, done.returncode, done.stderr)
    return done.stdout


def timed(*words):
    """Wall-clock and processor seconds of a program that must succeed, with its children."""
    begin = time.monotonic()
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE) as process:
        said = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.monotonic() - begin
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise failure(words, process.returncode, said)
    return wall, usage.ru_utime + usage.ru_stime


def in_turns(tasks, measure, rounds, patience=float('inf')):
    """{task: [what measure(task) returned]}: each task once a round, in alternating order; the number
    of rounds is odd if it is patience (seconds) that ends them. None is left out."""
    results, begin = {task: [] for task in tasks}, time.monotonic()
    for number in range(rounds):
        for task in tasks[::-1 if number % 2 else 1]:
            result = measure(task)
            if result is not None:
                results[task].append(result)
        if time.monotonic() - begin > patience and number % 2 == 0:
            break
    return results


# ---- tables, in Markdown ----

def row(*cells):
    print('| ' + ' | '.join(map(str, cells)) + ' |', flush=True)


def head(*cells):
    row(*cells)
    print('|' + ' --- |' * len(cells), flush=True)
