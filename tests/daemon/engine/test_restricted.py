# SPDX-License-Identifier: BSD-2-Clause
# The daemon at its daily work under what the unit of a camera allows: any other system call ends it.
"""$UNITS has the units, $RESTRICT_PROGRAM the program that does what systemd would."""
import os
import shutil
import socket
import subprocess
import sys

from halotest.calls import need_a_kernel_that_confines
from halotest.managed import Control, ServiceTest, call, main, passing
from halotest.units import OLDEST, UNITS, calls, version

RESTRICT = os.environ.get('RESTRICT_PROGRAM', '')
USER = '65534'
PROBE, HALOD = os.environ.get('POOL_PROBE', ''), os.environ.get('HALOD', '')
HOSTILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'detector', 'hostile.py')


class Restricted(ServiceTest):
    def setUp(self):
        super().setUp()
        os.chmod(self.folder, 0o777)
        with open(self.path('calls'), 'w') as file:
            file.write('\n'.join(sorted(calls(os.path.join(UNITS, 'halod@.service')))))

    def wrapper(self, another=True):
        user = ['-u', USER] if another and os.geteuid() == 0 else []
        return [RESTRICT, *user, self.path('calls')]

    def test_wrapper(self):
        """It does end what makes another call, and there is no memory to write and run."""
        done = subprocess.run([*self.wrapper(False), sys.executable, '-c',
                               'import ctypes; ctypes.CDLL(None).ptrace(0, 0, 0, 0)'])
        self.assertEqual(done.returncode, -31)
        done = subprocess.run([*self.wrapper(False), sys.executable, '-c',
                               'import mmap; mmap.mmap(-1, 4096, prot=7)'], capture_output=True)
        self.assertIn(b'PermissionError', done.stderr)

    def test_a_detector(self):
        """It is confined and started, and sees what it may."""
        shutil.copy(HOSTILE, self.path('hostile.py'))
        os.chmod(self.path('hostile.py'), 0o644)
        probe = subprocess.Popen([*self.wrapper(), PROBE, HALOD], stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.addCleanup(probe.stdout.close)
        probe.stdin.write(b'want a faces own /usr/bin/python3 ' +
                          self.path('hostile.py').encode() + b' look\n')
        probe.stdin.flush()
        lines = []
        while not lines or 'environment' not in lines[-1]:
            lines.append(probe.stdout.readline().decode())
            self.assertTrue(lines[-1], lines)
            self.assertNotIn('failed', lines[-1], lines)
        probe.stdin.close()
        self.assertEqual(probe.wait(), 0, lines)

    def test_daily_work(self):
        """Streams, viewers, files, changes, a lost engine, HTTP that was passed,
        reload and the end."""
        manager = self.manager()
        os.chmod(manager.path, 0o666)
        listener = self.tcp()
        port = listener.getsockname()[1]
        outputs = [{'unix': self.path('one.ts')}, {'unix': self.path('one.fd')},
                   {'file': self.path('one-%H%M%S.mkv'), 'segment_time': '2s'}]
        streams = {'one': self.stream(outputs=outputs),
                   'hevc': self.stream('hevc', outputs=[{'unix': self.path('hevc.mkv'),
                                                         'video': {'codec': 'libx265'}}]),
                   'door': self.stream('door', input='v4l2:serial=none')}
        before, fds = passing([('http', listener)])
        daemon = self.start(streams, wrapper=[*before, *self.wrapper()], fds=fds,
                            environment={'NOTIFY_SOCKET': manager.path},
                            http={'listen': f'127.0.0.1:{port}'})
        for name in ('one', 'hevc'):
            daemon.wait_state(name, 'running')
        self.reader('one.ts')
        self.reader('hevc.mkv')
        self.reader('door.ts')
        daemon.control('Set', name='one', filters='avgblur=sizeX=5')
        Control(self.path('control.sock')).close()
        with socket.create_connection(('127.0.0.1', port)) as client:
            client.sendall(f'GET /one/snapshot.jpg HTTP/1.0\r\nHost: localhost:{port}\r\n\r\n'
                           .encode())
            self.assertIn(b'200 OK', client.makefile('rb').read())
        daemon.kill_engine_of('one')
        self.until(lambda: daemon.status('one')['restarts'] == 1)
        daemon.wait_state('one', 'running')
        daemon.write({'one': streams['one']}, http={'listen': f'127.0.0.1:{port}'})
        daemon.control('Reload')
        filtered = daemon.status('one')['filtered'] + 60
        self.until(lambda: daemon.status('one')['filtered'] > filtered)
        engine = daemon.engines()['cpu']
        self.assertEqual((engine['restarts'], daemon.runs('one')), (1, True), daemon.logged())
        self.assertEqual(daemon.stop(), 0, daemon.logged())
        self.assertNotIn('unconfined', daemon.logged())
        self.assertNotIn('ermission', daemon.logged())
        self.assertNotIn('was refused the system call', daemon.logged())
        files = [name for name in os.listdir(self.folder) if name.endswith('.mkv')]
        self.assertTrue(files)
        call(['ffprobe', '-v', 'error', max(map(self.path, files), key=os.path.getsize)])


if __name__ == '__main__':
    need_a_kernel_that_confines()
    if version() < OLDEST:
        print(f'systemd-analyze of systemd {OLDEST} or later is not installed')
        print('0 passed, 0 failed, 1 skipped')
        sys.exit(77)
    main()
