# SPDX-License-Identifier: BSD-2-Clause
# Helpers of the tests of the installed service: systemd asked, settings written, threads held.
"""They run as root in the virtual machine of tests/vm, where nobody else needs the machine: units,
packages and files are changed at will. Times are of the guest's clock."""
import hashlib
import json
import os
import re
import signal
import stat
import subprocess
import sys
import time
import unittest

TESTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..')
sys.path[:0] = [TESTS, os.path.join(TESTS, 'vm')]

from halotest.daemon import Control, Reader, Watcher  # noqa: F401,E402
from halotest import Tally  # noqa: E402

ETC, RUN = '/etc/halod', '/run/halod'
SETTINGS, CONTROL = f'{ETC}/halod.yaml', f'{RUN}/control.sock'
ADMIN = 'admin'  # a user of the machine, who may use sudo
WATCHDOG = 10    # WatchdogSec=
SLACK = 2        # seconds after it until all runs again
NEVER = 20       # TimeoutStopSec=
# What is the machine's and not its disk's, and what any package leaves behind.
PASSING = re.compile('/(proc|sys|dev|share|tmp|run|root|home|lost[+]found|'
                     'var/(log|cache|tmp|lib/(dpkg|apt|systemd/(random-seed|timesync|catalog)))|'
                     'etc/(group|gshadow|passwd|shadow|subuid|subgid|mtab|[.]pwd[.]lock)-?)$')


def ran(*command, code=0, **more):
    """What a command says, on both channels; code None: whichever way it ends."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors='replace',
                          timeout=180, check=False, **more)
    if code is not None and done.returncode != code:
        raise AssertionError(f'{" ".join(command)}: exit {done.returncode}\n{done.stdout}')
    return done.stdout


def systemctl(*arguments, code=0):
    return ran('systemctl', '--no-pager', *arguments, code=code)


def as_admin(line, code=0):
    """A line of shell in a new login, in the folder of the project."""
    return ran('su', '-', ADMIN, '-c', f'cd halod && export USER={ADMIN} && {line}', code=code)


def show(unit, name):
    """A property."""
    return systemctl('show', '--value', '--property', name, unit).strip()


def number(unit, name):
    return int(show(unit, name))


def main_pid(unit):
    return number(unit, 'MainPID')


def entered(unit):
    """When it became active, of time.monotonic()."""
    return number(unit, 'ActiveEnterTimestampMonotonic') / 1e6


def is_active(unit):
    return show(unit, 'ActiveState') == 'active'


def until(condition, what, timeout=30):
    """Asks seldom: each systemctl takes a tenth of a second of a machine that is emulated."""
    end = time.monotonic() + timeout
    while not (ret := condition()):
        if time.monotonic() > end:
            raise AssertionError(what() if callable(what) else what)
        time.sleep(0.25)
    return ret


def stream(name='one', suffix='ts', folder=RUN, **more):
    """Small and slow: the machine is emulated."""
    return {'input': 'test:size=160x120:rate=5', 'filters': 'gblur=sigma=2',
            'outputs': [{'unix': f'{folder}/{name}.{suffix}', 'video': {'preset': 'ultrafast'}}],
            **more}


def write(streams, path=SETTINGS, **more):
    with open(path + '.new', 'w', encoding='utf-8') as file:
        json.dump({'version': 1, **more, 'streams': streams}, file, indent=1)
    os.rename(path + '.new', path)


def files():
    """{path: what it is} of the disk; of /etc with what is in it."""
    found = {}
    for folder, folders, names in os.walk('/'):
        folders[:] = [name for name in folders if not PASSING.match(os.path.join(folder, name))]
        for path in (os.path.join(folder, name) for name in folders + names):
            if PASSING.match(path):
                continue
            about = os.lstat(path)
            found[path] = [oct(about.st_mode), about.st_uid, about.st_gid]
            if os.path.islink(path):
                found[path].append(os.readlink(path))
            elif folder.startswith('/etc') and stat.S_ISREG(about.st_mode):
                with open(path, 'rb') as file:
                    found[path].append(hashlib.sha256(file.read()).hexdigest())
    for name in ('group', 'passwd'):
        with open('/etc/' + name, encoding='utf-8') as file:
            found['/etc/' + name] = sorted(file.read().split())
    return found


class Journal:
    """What was said from here on."""

    def __init__(self, *units):
        self.units = [f'--unit={unit}' for unit in units]
        self.cursor = re.search('-- cursor: (.*)', ran('journalctl', '-n1', '--show-cursor'))[1]

    def text(self, *arguments):
        ran('journalctl', '--sync')
        return ran('journalctl', '-o', 'short-monotonic', '--no-pager', *self.units,
                   '--after-cursor', self.cursor, *arguments)


# By ptrace(2), of x86_64: where it is in no system call, so not where it waits for work.
HOLD = '''
import ctypes, os, sys, time
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
SEIZE, INTERRUPT, GETREGS, CONT, WALL = 0x4206, 0x4207, 12, 7, 0x40000000
ORIG_RAX, thread, registers = 15, int(sys.argv[1]), (ctypes.c_long * 27)()
def trace(what, data=None):
    if libc.ptrace(what, thread, None, data):
        sys.exit(os.strerror(ctypes.get_errno()))
trace(SEIZE)
while True:
    trace(INTERRUPT)
    os.waitpid(thread, WALL)
    trace(GETREGS, ctypes.addressof(registers))
    if registers[ORIG_RAX] < 0:
        break
    trace(CONT)
    time.sleep(0.007)
print('held', flush=True)
os.waitpid(thread, WALL)  # until it is killed
'''


class Held:
    """One thread of a process, which stands still until the process is killed."""

    def __init__(self, thread):
        self.process = subprocess.Popen([sys.executable, '-c', HOLD, str(thread)],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        if self.process.stdout.readline() != 'held\n':
            raise AssertionError(f'thread {thread} cannot be held')

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def thread_of(pid, name):
    for thread in os.listdir(f'/proc/{pid}/task'):
        with open(f'/proc/{pid}/task/{thread}/comm', encoding='utf-8') as file:
            if file.read().strip() == name:
                return int(thread)
    raise AssertionError(f'process {pid} has no thread {name}')


class ServiceTest(unittest.TestCase):
    """With halod.service running its settings, unless .begin() does something else. What it said is
    shown where a test fails."""
    UNIT = 'halod.service'

    def setUp(self):
        self.controls = {}
        systemctl('stop', self.UNIT)
        systemctl('reset-failed', self.UNIT, code=None)
        self.journal = Journal()
        self.addCleanup(self.tell)
        self.begin()

    def begin(self):
        self.serve({'one': stream()})

    def serve(self, streams, **more):
        write(streams, **more)
        systemctl('start', self.UNIT)

    def tell(self):
        result = self._outcome.result
        if any(test is self for test, _ in result.failures + result.errors):
            print(self.journal.text(), flush=True)

    # ---- the daemon asked ----

    def ask(self, method, **parameters):
        control = Control(CONTROL)
        try:
            return control(method, **parameters)
        finally:
            control.close()

    def status(self, name=None):
        """Of one stream, or of all; None while nobody answers."""
        try:
            if name:
                return self.ask('Status', name=name)['stream']
            return self.ask('Status')['status']
        except OSError:
            return None

    def wait_running(self, name='one', timeout=30):
        def runs():
            status = self.status(name)
            return status and status['state'] == 'running'
        until(runs, lambda: f'{name} does not run: {self.status(name)}', timeout)

    def engine(self):
        """The process of the one engine, once it is there."""
        def pids():
            status = self.status()
            return [e['pid'] for e in status['engines'] if e['pid']] if status else []
        [pid] = until(pids, 'no engine')
        return pid

    def words(self):
        return show(self.UNIT, 'StatusText')

    def wait_words(self, pattern, timeout=30):
        until(lambda: re.search(pattern, self.words()),
              lambda: f'"{self.words()}" is not "{pattern}"', timeout)

    def reader(self, path):
        reader = Reader(path)
        self.addCleanup(reader.close)
        return reader

    def wait_data(self, reader, timeout=30):
        until(lambda: reader.size > 0, 'nothing comes', timeout)

    def assert_soon(self, seconds, most, what):
        print(f'{what}: {seconds:.2f} s, at most {most}')
        self.assertLessEqual(seconds, most, what)


def main():
    """As halotest's, which wants a program: there is none before it is installed."""
    result = unittest.main('__main__', exit=False, testRunner=unittest.TextTestRunner(
        resultclass=Tally, verbosity=2, stream=sys.stdout)).result
    failed = len({test.id() for test, _ in result.failures + result.errors})
    print(f'{result.passed} passed, {failed} failed, {len(result.skipped)} skipped')
    sys.exit(1 if failed else 0)


signal.signal(signal.SIGPIPE, signal.SIG_IGN)
