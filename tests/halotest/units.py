# SPDX-License-Identifier: BSD-2-Clause
# What the units say, resolved by the systemd-analyze that is there.
import os
import re
import shutil
import subprocess

UNITS = os.environ.get('UNITS', '')
OLDEST = 252  # what it knows, and how it counts, is of Debian 12's


def analyze(*arguments, cwd=None):
    done = subprocess.run(['systemd-analyze', *arguments], cwd=cwd, text=True,
                          capture_output=True, timeout=60,
                          env={**os.environ, 'LC_ALL': 'C.UTF-8', 'SYSTEMD_PAGER': ''})
    return done.returncode, done.stdout, done.stderr


def version():
    """Of systemd-analyze; 0: there is none."""
    if not shutil.which('systemd-analyze'):
        return 0
    found = re.match(r'systemd (\d+)', analyze('--version')[1])
    return int(found[1]) if found else 0


def calls(unit):
    """What the SystemCallFilter= of a unit, by its path, allows."""
    sets, name = {}, None
    for line in analyze('syscall-filter', '--no-pager')[1].splitlines():
        if line.startswith('@'):
            name = line.strip()
            sets[name] = []
        elif name and line.strip() and not line.strip().startswith('#'):
            sets[name].append(line.strip())

    def resolve(word):
        return set().union(*map(resolve, sets[word])) if word.startswith('@') else {word}
    allowed = resolve('@default')
    with open(unit) as file:
        for line in file:
            if line.startswith('SystemCallFilter='):
                words = line.split('=', 1)[1].strip()
                found = set().union(*map(resolve, words.lstrip('~').split()))
                allowed = allowed - found if words[0] == '~' else allowed | found
    return allowed
