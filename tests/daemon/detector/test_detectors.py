# SPDX-License-Identifier: BSD-2-Clause
"""Processes of detectors: how they are confined, when they are started again, and when they end.
$HALO_CONFINED is 1 where the build has a filter of system calls."""
import errno
import json
import os
import queue
import re
import shutil
import signal
import subprocess
import threading
import unittest

import halotest
from halotest import HaloTest, PATIENCE, calls, wait_until
from halotest.daemon import is_alive

HERE = os.path.dirname(os.path.abspath(__file__))
HOSTILE = os.path.join(HERE, 'hostile.py')
PYTHON = '/usr/bin/python3'  # another one may have its library in a folder that detectors cannot see
CONFINED = os.environ.get('HALO_CONFINED') == '1'

class Probe:
    def __init__(self, test, **environment):
        self.process = subprocess.Popen(
            [os.environ['POOL_PROBE'], os.environ['HALOD']], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0,
            env={**os.environ, **environment})
        self.lines, self.log = queue.Queue(), []
        self.readers = [
            threading.Thread(target=self.read, args=(self.process.stdout, self.lines.put)),
            threading.Thread(target=self.read, args=(self.process.stderr, self.log.append))]
        for reader in self.readers:
            reader.start()
        test.addCleanup(self.close)
        self.test = test

    @staticmethod
    def read(pipe, put):
        for line in pipe:
            put(line.decode(errors='replace').rstrip())

    def close(self):
        if self.process.poll() is None:
            self.process.stdin.close()
            self.process.wait(30 * PATIENCE)
        for reader in self.readers:
            reader.join()
        self.process.stdout.close()
        self.process.stderr.close()
        if not self.process.stdin.closed:
            self.process.stdin.close()

    def tell(self, line):
        self.process.stdin.write(line.encode() + b'\n')

    def expect(self, pattern):
        """The match of the next line, which must be like this."""
        try:
            line = self.lines.get(timeout=30 * PATIENCE)
        except queue.Empty:
            self.test.fail(f'no line like {pattern}; log: {self.log}')
        match = re.fullmatch(pattern, line)
        self.test.assertTrue(match, f'{line!r} is not {pattern!r}; log: {self.log}')
        return match

    def until_logged(self, words):
        self.test.assertTrue(wait_until(lambda: any(words in line for line in self.log)), self.log)


@unittest.skipUnless(os.access(PYTHON, os.X_OK), f'no {PYTHON}')
class DetectorTest(HaloTest):
    def setUp(self):
        super().setUp()
        os.chmod(self.folder, 0o755)

    def hostile(self, *arguments):
        """It attacks a copy of its program."""
        path = self.path('hostile.py')
        shutil.copy(HOSTILE, path)
        return ' '.join([PYTHON, path, *arguments])

    def results(self, probe, *arguments):
        probe.tell(f'want a faces own {self.hostile(*arguments)}')
        probe.expect('a faces: started')
        probe.expect('a faces: answer 1 connected')
        return json.loads(probe.expect(r'a faces: (\{.*\})').group(1))

    def pid(self, probe):
        probe.until_logged('started (process')
        [line] = [line for line in probe.log if 'started (process' in line]
        return int(re.search(r'process (\d+)', line).group(1))


class Confinement(DetectorTest):
    def setUp(self):
        super().setUp()
        self.secret = self.path('secret')
        with open(self.secret, 'w', encoding='utf-8') as file:
            file.write('#!/bin/true\n')
        os.chmod(self.secret, 0o700)
        self.other = subprocess.Popen(['sleep', '600'])
        self.addCleanup(self.other.wait)
        self.addCleanup(self.other.kill)

    @unittest.skipUnless(CONFINED, 'a build with sanitizers, or without libseccomp')
    def test_it_can_do_nothing_else(self):
        probe = Probe(self)
        results = self.results(probe, str(self.other.pid), self.secret[1:])
        for name, code in results['tried'].items():
            with self.subTest(name):
                self.assertIn(code, (errno.EPERM, errno.EACCES, errno.EAFNOSUPPORT), name)
        for name, code in results['allowed'].items():
            with self.subTest(name):
                self.assertEqual(code, 0)
        with open(self.secret, encoding='utf-8') as file:
            self.assertEqual(file.read(), '#!/bin/true\n')
        self.assertIsNone(self.other.poll())
        self.assertFalse(os.path.lexists(self.secret + '-new'))
        probe.until_logged('was refused the system call')
        lines = [line for line in probe.log if 'was refused the system call' in line]
        self.assertEqual(len(lines), 1, 'one line for each process')
        self.assertRegex(lines[0], r'the detector of faces: process \d+ was refused the system call '
                                   r'\w+ \(\d+\); further ones are not logged')

    @unittest.skipUnless(CONFINED and calls.HERE, 'not confined, or not x86-64')
    def test_every_system_call(self):
        """Those that exist and those that will, and those of x32."""
        results = self.results(Probe(self), 'walk', str(calls.COUNT))
        self.assertEqual(calls.differences('-', *results['native']), [])
        self.assertEqual(results['x32'], [[], []])

    def test_what_it_inherits(self):
        """Neither descriptors nor variables that it could use; in every build."""
        probe = Probe(self, LD_DEBUG_OUTPUT='/tmp/x', https_proxy='http://x', SECRET='x',
                      NOTIFY_SOCKET='/x', XDG_RUNTIME_DIR='/x', OMP_NUM_THREADS='1')
        results = self.results(probe, 'look')
        pid = self.pid(probe)
        allowed = {'PATH', 'HOME', 'LANG', 'TZ', 'XDG_DATA_HOME', 'OMP_NUM_THREADS', 'LC_ALL',
                   'LC_CTYPE', 'PYTHONDONTWRITEBYTECODE', 'PYTHONUNBUFFERED'}
        self.assertLessEqual(set(results['environment']), allowed)
        self.assertIn('OMP_NUM_THREADS', results['environment'])
        # 3, its connection, and the folder that it lists
        self.assertLessEqual(len(results['descriptors']), 6, results['descriptors'])
        with open(f'/proc/{pid}/status', encoding='utf-8') as file:
            status = file.read()
        self.assertIn('NoNewPrivs:\t1', status)
        if CONFINED:
            self.assertIn('Seccomp:\t2', status)
        self.assertEqual(os.getsid(pid), pid)
        with open(f'/proc/{pid}/limits', encoding='utf-8') as file:
            self.assertRegex(file.read(), r'Max core file size +1 +1 ')


class Life(DetectorTest):
    """tests/world/events/detectors.events has the rest of it."""

    def test_ends_with_its_parent(self):
        """Also if the parent is killed."""
        probe = Probe(self)
        self.results(probe, 'look')
        pid = self.pid(probe)
        probe.process.send_signal(signal.SIGKILL)
        probe.process.wait()
        self.assertTrue(wait_until(lambda: not is_alive(pid)), f'process {pid} is still there')

    def test_a_program_that_cannot_be_executed(self):
        path = self.path('broken')
        with open(path, 'w', encoding='utf-8') as file:
            file.write('#!/nonexistent/interpreter\n')
        os.chmod(path, 0o755)
        probe = Probe(self)
        probe.tell(f'want a faces own {path}')
        probe.expect('a faces: started')
        probe.expect('a faces: answer 1 connected')
        seen = sorted(probe.expect('a faces: .*').group(0) for _ in range(2))
        self.assertEqual(seen, ['a faces: closed', 'a faces: failed: it could not be executed: '
                                f'{path}: No such file or directory'])
        probe.until_logged(f'{path}: No such file or directory')


class Services(DetectorTest):
    """Which programs a service of the system starts."""

    def probe(self):
        environment = {'NOTIFY_SOCKET': '/nonexistent'}
        os.environ.pop('XDG_RUNTIME_DIR', None)
        return Probe(self, **environment)

    def test_a_name_without_a_path(self):
        probe = self.probe()
        probe.tell('want a faces own python3 -V')
        probe.expect("a faces: failed: python3: a service needs the program's absolute path")

    @unittest.skipIf(os.geteuid() == 0, 'root may change every program')
    def test_a_program_that_the_service_could_change(self):
        path = self.path('mine')
        with open(path, 'w', encoding='utf-8') as file:
            file.write('#!/bin/true\n')
        os.chmod(path, 0o755)
        probe = self.probe()
        probe.tell(f'want a faces own {path}')
        probe.expect(f"a faces: failed: {path}: the service's user could change this program.*")


if __name__ == '__main__':
    calls.need_a_kernel_that_confines()
    halotest.main()
