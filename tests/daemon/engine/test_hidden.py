# SPDX-License-Identifier: BSD-2-Clause
# Raw pictures in memory: no core dump has them, and no other process of the same user gets there.
"""Root's own processes may look anywhere, so as root the programs run as "nobody" here.
HALOTEST_BACKEND=cuda does it on a GPU."""
import json
import os
import resource
import signal
import subprocess
import sys
import unittest

from halotest import AS_ANOTHER, RUN_TIMEOUT
from halotest.daemon import HALOD, DaemonTest, halod_environment, is_sanitized, main

HIDDEN, DEBUGGABLE = {'HALOD_DEBUGGABLE': '0'}, {'HALOD_DEBUGGABLE': '1'}
# Shared memory that an engine may have: what has left the gate, and tables of the C library.
BACKEND = os.environ.get('HALOTEST_BACKEND', 'cpu')
SHARED = ('/memfd:halod packets', '/memfd:snapshot', 'gconv-modules.cache', 'locale-archive')

# Tried from another process of the same user: what of PID it gets.
LOOK = r'''
import ctypes, json, os, sys
pid, got = int(sys.argv[1]), []
def attempt(name, what):
    try:
        what()
        got.append(name)
    except OSError:
        pass
def attach():
    if ctypes.CDLL(None).ptrace(0x4206, pid, None, None) < 0:  # PTRACE_SEIZE
        raise OSError
def read_memory():
    class Part(ctypes.Structure):
        _fields_ = [('at', ctypes.c_void_p), ('size', ctypes.c_size_t)]
    room = ctypes.create_string_buffer(8)
    with open(f'/proc/{pid}/stat') as file:
        stack = int(file.read().rsplit(')', 1)[1].split()[25])
    ours, theirs = Part(ctypes.addressof(room), 8), Part(stack, 8)
    if ctypes.CDLL(None).process_vm_readv(pid, ctypes.byref(ours), 1, ctypes.byref(theirs), 1, 0) < 0:
        raise OSError
attempt('mem', lambda: open(f'/proc/{pid}/mem', 'rb').close())
attempt('maps', lambda: open(f'/proc/{pid}/maps').close())
attempt('descriptors', lambda: [os.stat(f'/proc/{pid}/fd/{fd}') for fd in os.listdir(f'/proc/{pid}/fd')])
attempt('files', lambda: os.listdir(f'/proc/{pid}/map_files'))
attempt('environment', lambda: open(f'/proc/{pid}/environ', 'rb').read(1))
attempt('ptrace', attach)
attempt('process_vm_readv', read_memory)
print(json.dumps(got))
'''


def look(pid):
    return json.loads(subprocess.run([*AS_ANOTHER, sys.executable, '-c', LOOK, str(pid)], check=True,
                                     capture_output=True, timeout=RUN_TIMEOUT).stdout)


def any_size():
    resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY,) * 2)


def abort(process):
    """Whether the kernel says that there is a core."""
    os.kill(process.pid, signal.SIGABRT)
    _, status = os.waitpid(process.pid, 0)
    process.returncode = -signal.SIGABRT
    if not os.WIFSIGNALED(status):
        raise AssertionError('it was over before')
    return os.WCOREDUMP(status)


@unittest.skipIf(is_sanitized(), 'sanitizers abort in their own way')
class Hidden(DaemonTest):
    def setUp(self):
        super().setUp()
        os.chmod(self.folder, 0o777)

    def begin(self, *command, environment=HIDDEN):
        process = subprocess.Popen(
            [*AS_ANOTHER, *command], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, cwd=self.folder, preexec_fn=any_size,
            env={**halod_environment(), **environment})
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.addCleanup(process.stdin.close)
        return process

    def wait_name(self, process, name):
        """Until it is that program, and not the one before that changes its user."""
        with open(f'/proc/{process.pid}/comm') as file:
            self.until(lambda: file.seek(0) == 0 and file.read() == name + '\n')

    def run_one(self, environment=HIDDEN):
        """halod run in the middle of its work: some pictures have come, and more may."""
        process = self.begin(HALOD, 'run', '-y', '-i', '-', '-vf', 'gblur=sigma=5', '-backend',
                             BACKEND, '-c:v', 'mpeg4',
                             self.path('out.mkv'), environment=environment)
        process.stdin.write(b'YUV4MPEG2 W64 H48 F25:1 C420jpeg\n')
        for _ in range(10):
            process.stdin.write(b'FRAME\n' + os.urandom(64 * 48 * 3 // 2))
        process.stdin.flush()
        self.wait_name(process, 'halod')
        self.until(lambda: len(os.listdir(f'/proc/{process.pid}/task')) > 3)
        return process

    def serve(self, environment=HIDDEN):
        """The daemon and its engine, which may write to the folder, as a core does."""
        daemon = self.start({'one': self.stream(backend=BACKEND, outputs=[
            {'unix': self.path('one.ts')}, {'unix': self.path('raw.nut'), 'video': {'codec': 'raw'}},
            {'unix': self.path('one.fd')}, {'file': self.path('one.mkv')}])},
            wrapper=['prlimit', '--core=unlimited', *AS_ANOTHER], environment=environment)
        daemon.wait_state('one', 'running')
        self.reader('one.ts')
        self.reader('raw.nut')
        return daemon

    def test_others_of_the_same_user(self):
        control = self.begin('sleep', 'infinity')
        self.wait_name(control, 'sleep')
        seen = look(control.pid)
        control.kill()
        control.wait()
        self.assertTrue({'mem', 'maps', 'descriptors'} <= set(seen), f'the look sees only {seen}')
        daemon = self.serve()
        [engine] = daemon.pids()
        self.assertEqual(look(engine), [])
        self.assertEqual(look(daemon.process.pid), [])
        run = self.run_one()
        self.assertEqual(look(run.pid), [])
        self.assertIn('mem', look(self.run_one(DEBUGGABLE).pid))

    def test_no_core_of_a_run(self):
        control = self.begin('sleep', 'infinity')
        self.wait_name(control, 'sleep')
        if not abort(control):
            self.skipTest('there are no cores on this machine')
        self.assertFalse(abort(self.run_one()))
        self.assertTrue(abort(self.run_one(DEBUGGABLE)))

    def kill_engine(self, environment):
        """The files of cores."""
        daemon = self.serve(environment)
        [pid] = daemon.pids()
        daemon.kill_engine_of('one', signal.SIGABRT)
        # One that writes its core for long is killed for its silence.
        self.until(lambda: 'the engine was' in daemon.logged())
        self.until(lambda: daemon.pids() not in ([], [pid]))
        self.end(daemon)
        return [name for name in os.listdir(self.folder) if name.startswith('core')]

    def test_no_core_of_an_engine(self):
        with open('/proc/sys/kernel/core_pattern') as file:
            if file.read().strip() not in ('core', 'core.%p'):
                self.skipTest('cores of this machine go elsewhere')
        self.assertEqual(self.kill_engine(HIDDEN), [])
        self.assertNotEqual(self.kill_engine(DEBUGGABLE), [])

    @unittest.skipUnless(BACKEND == 'cpu', 'the memory of a driver is another thing')
    def test_memory_that_is_shared(self):
        """With packets, raw ones too, and a snapshot under way."""
        daemon = self.serve(DEBUGGABLE)  # to be looked at without being root
        daemon.control('Snapshot', name='one', format='png')
        with open(f'/proc/{daemon.pids()[0]}/maps') as file:
            shared = [line.split(None, 5) for line in file if line.split()[1][3] == 's']
        self.assertTrue(any('halod packets' in line[5] for line in shared), shared)
        for line in shared:
            self.assertTrue(any(name in line[5] for name in SHARED), line)


if __name__ == '__main__':
    main()
