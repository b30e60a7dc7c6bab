# SPDX-License-Identifier: BSD-2-Clause
# Sockets that a service manager passed: taken by path and address, kept, and left as they were.
import os
import signal
import socket
import subprocess
import time

from halotest.managed import (HALOD, PATIENCE, Control, Reader, ServiceTest, free_port,
                              halod_environment, links, main, passing)


class Passed(ServiceTest):
    def listener(self, name, kind=socket.SOCK_STREAM):
        listener = socket.socket(socket.AF_UNIX, kind)
        self.addCleanup(listener.close)
        listener.bind(self.path(name))
        if kind == socket.SOCK_STREAM:
            listener.listen(16)
        return listener

    def passed(self, sockets, streams=None, **more):
        wrapper, fds = passing(sockets)
        return self.start(streams, wrapper=wrapper, fds=fds, **more)

    def inode(self, name):
        return os.stat(self.path(name)).st_ino

    def waiting(self, name):
        """A client that connected before it is served."""
        client = Reader(self.path(name))
        self.addCleanup(client.close)
        return client

    def fetch_tcp(self, port):
        with socket.create_connection(('127.0.0.1', port), timeout=60 * PATIENCE) as client:
            client.sendall(f'GET /healthz HTTP/1.0\r\nHost: localhost:{port}\r\n\r\n'.encode())
            return client.makefile('rb').read()

    def test_kept(self):
        """What counts is where they listen, through a link, too. Who connected before the start is
        served; the sockets stay when the daemon ends, and the next one takes the same."""
        os.symlink(self.folder, self.path('link'))
        names, http = ('control.sock', 'one.ts', 'two.ts'), self.tcp()
        sockets = [('control', self.listener('control.sock')), ('http', http),
                   ('halod-stream@x.socket', self.listener('one.ts')),
                   ('two.ts', self.listener('two.ts'))]
        inodes = [self.inode(name) for name in names]
        port = http.getsockname()[1]
        one = self.stream(outputs=[{'unix': self.path('link/one.ts')}])
        for turn in range(2):
            early = self.waiting('one.ts')
            daemon = self.passed(sockets, {'one': one}, http={'listen': f'127.0.0.1:{port}'})
            self.until(lambda early=early: early.size > 0)
            self.reader('one.ts')
            self.assertEqual(daemon.status('one')['viewers'], 2)
            self.assertIn(b'200 OK', self.fetch_tcp(port))
            self.assertEqual(daemon.logged().count('was passed'), 0)
            self.assertEqual(daemon.logged().count("socket 'two.ts'"), 1)
            if turn == 0:
                self.check_inherited(daemon, http)
            else:
                self.check_stops_and_comes(daemon, one, http={'listen': f'127.0.0.1:{port}'})
            self.end(daemon)
            self.assertEqual([self.inode(name) for name in names], inodes)
            with socket.create_connection(('127.0.0.1', port), timeout=60 * PATIENCE):
                pass

    def check_inherited(self, daemon, http):
        """By no engine."""
        with open('/proc/net/unix') as file:
            listening = {f'socket:[{line.split()[6]}]' for line in file
                         if line.split()[3] == '00010000'}
        listening.add(f'socket:[{os.fstat(http.fileno()).st_ino}]')

        def has(pid):
            return listening & set(links(pid).values())
        self.assertEqual(len(has(daemon.process.pid)), 4)
        self.assertTrue(daemon.pids())
        for pid in daemon.pids():
            with open(f'/proc/{pid}/environ', 'rb') as file:
                self.assertNotIn(b'LISTEN_', file.read())
            self.assertEqual(has(pid), set())

    def check_stops_and_comes(self, daemon, one, **settings):
        """The socket of a stream that stops goes on listening: who comes waits. One that nobody had is
        taken when new settings have its path."""
        reader = self.reader('one.ts')
        daemon.control('Stop', name='one')
        self.until(lambda: reader.ended)
        waiting = self.waiting('one.ts')
        time.sleep(1)  # in which something could have come
        self.assertEqual((waiting.size, waiting.ended), (0, False))
        daemon.control('Start', name='one')
        self.until(lambda: waiting.size > 0)
        daemon.write({'one': one, 'two': self.stream('two')}, **settings)
        daemon.control('Reload')
        daemon.wait_state('two', 'running')
        self.reader('two.ts')
        daemon.write({'one': one}, **settings)
        daemon.control('Reload')
        self.until(lambda: len(daemon.status()['streams']) == 1)
        self.waiting('two.ts')

    def test_control_by_name(self):
        """Settings without a path: the socket of this name is the control socket."""
        other = self.listener('elsewhere.sock')
        wrapper, fds = passing([('control', other)])
        config = self.path('halod.yaml')
        with open(config, 'w') as file:
            file.write('{version: 1, streams: {one: {input: "test:", filters: gblur=sigma=2, '
                       'outputs: [{"null": true}]}}}')
        with open(self.path('log'), 'wb') as log:
            process = subprocess.Popen([*wrapper, HALOD, '-c', config], pass_fds=fds, stderr=log,
                                       env=halod_environment(), stdin=subprocess.DEVNULL)
        try:
            with Control(self.path('elsewhere.sock')) as control:
                self.assertEqual(len(control('List')['streams']), 1)
        finally:
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(60 * PATIENCE), 0)

    def test_elsewhere(self):
        """Names without a place: it is said, the places of the settings hold, and what was passed is left
        alone."""
        port, idle = free_port(), self.listener('elsewhere.sock')
        daemon = self.passed([('control', idle), ('http', self.tcp())],
                             http={'listen': f'127.0.0.1:{port}'})
        self.assertIn(f"passed socket 'control' at {self.path('elsewhere.sock')}, but nothing uses it",
                      daemon.logged())
        self.assertIn("socket 'http' at 127.0.0.1:", daemon.logged())
        self.assertEqual(len(daemon.status()['streams']), 1)
        self.assertIn(b'200 OK', self.fetch_tcp(port))
        self.end(daemon)
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(self.path('elsewhere.sock'))

    def test_what_is_no_listening_socket(self):
        for listener in (self.listener('datagram', socket.SOCK_DGRAM), socket.socket()):
            self.addCleanup(listener.close)
            with self.assertRaises(AssertionError) as refused:
                self.passed([('odd', listener)])
            self.assertIn("the socket passed as 'odd' is not a stream socket", str(refused.exception))

    def test_for_another_process(self):
        """LISTEN_PID of somebody else: nothing is taken."""
        daemon = self.start(environment={'LISTEN_PID': '1', 'LISTEN_FDS': '1',
                                         'LISTEN_FDNAMES': 'control'})
        self.assertNotIn('was passed', daemon.logged())


if __name__ == '__main__':
    main()
