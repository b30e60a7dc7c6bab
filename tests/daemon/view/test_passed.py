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
        """A client that connected before there was a daemon."""
        client = Reader(self.path(name))
        self.addCleanup(client.close)
        return client

    def test_control_and_stream(self):
        """Who connected before the start is served; the names stay when the daemon ends, and the
        next one takes the same sockets."""
        sockets = [('control', self.listener('control.sock')), ('one.ts', self.listener('one.ts'))]
        inodes = [self.inode(name) for name in ('control.sock', 'one.ts')]
        for _ in range(2):
            early = self.waiting('one.ts')
            daemon = self.passed(sockets)
            self.until(lambda early=early: early.size > 0, daemon.logged)
            self.reader('one.ts')
            self.assertEqual(daemon.status('one')['viewers'], 2)
            self.assertNotIn('was passed', daemon.logged())
            self.end(daemon)
            self.assertEqual([self.inode(name) for name in ('control.sock', 'one.ts')], inodes)

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
            control = Control(self.path('elsewhere.sock'))
            self.assertEqual(len(control('List')['streams']), 1)
            control.close()
        finally:
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(60 * PATIENCE), 0)

    def test_a_name_without_a_place(self):
        """It is said, the place of the settings holds, and the one that was passed is left alone."""
        idle = self.listener('elsewhere.sock')
        daemon = self.passed([('control', idle)])
        self.assertIn(f"passed socket 'control' at {self.path('elsewhere.sock')}, but nothing uses it",
                      daemon.logged())
        self.assertEqual(len(daemon.status()['streams']), 1)
        self.end(daemon)
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(self.path('elsewhere.sock'))

    def test_any_name_will_do(self):
        """What counts is where it listens; through a link, too."""
        os.symlink(self.folder, self.path('link'))
        listener = self.listener('one.ts')
        inode = self.inode('one.ts')
        daemon = self.passed([('halod-stream@x.socket', listener)],
                             {'one': self.stream(outputs=[{'unix': self.path('link/one.ts')}])})
        self.reader('one.ts')
        self.assertNotIn('was passed', daemon.logged())
        self.end(daemon)
        self.assertEqual(self.inode('one.ts'), inode)

    def test_a_stream_that_stops(self):
        """Its socket goes on listening: who comes waits, and is served when it starts again."""
        daemon = self.passed([('one.ts', self.listener('one.ts'))])
        reader = self.reader('one.ts')
        daemon.control('Stop', name='one')
        self.until(lambda: reader.ended, daemon.logged)
        waiting = self.waiting('one.ts')
        time.sleep(1)  # in which something could have come
        self.assertEqual((waiting.size, waiting.ended), (0, False))
        daemon.control('Start', name='one')
        self.until(lambda: waiting.size > 0, daemon.logged)

    def test_a_stream_that_comes_by_reload(self):
        """A socket that nobody had is taken when the settings have its path."""
        daemon = self.passed([('two.ts', self.listener('two.ts'))])
        self.assertIn("socket 'two.ts'", daemon.logged())
        daemon.write({'one': self.stream(), 'two': self.stream('two')})
        daemon.control('Reload')
        daemon.wait_state('two', 'running')
        self.reader('two.ts')
        daemon.write({'one': self.stream()})
        daemon.control('Reload')
        self.until(lambda: len(daemon.status()['streams']) == 1, daemon.logged)
        self.waiting('two.ts')

    def fetch_tcp(self, port):
        with socket.create_connection(('127.0.0.1', port), timeout=60 * PATIENCE) as client:
            client.sendall(f'GET /healthz HTTP/1.0\r\nHost: localhost:{port}\r\n\r\n'.encode())
            return client.makefile('rb').read()

    def test_http(self):
        """At an address, twice; the socket is not shut when the daemon ends."""
        listener = self.tcp()
        port = listener.getsockname()[1]
        for _ in range(2):
            daemon = self.passed([('http', listener)], http={'listen': f'127.0.0.1:{port}'})
            self.assertIn(b'200 OK', self.fetch_tcp(port))
            self.end(daemon)
        with socket.create_connection(('127.0.0.1', port), timeout=60 * PATIENCE):
            pass

    def test_http_at_a_path(self):
        listener = self.listener('http.sock')
        inode = self.inode('http.sock')
        for _ in range(2):
            daemon = self.passed([('http', listener)],
                                 http={'listen': 'unix:' + self.path('http.sock')})
            daemon.wait_state('one', 'running')
            self.assertIn('"streams"', self.fetch('/api/streams'))
            self.end(daemon)
        self.assertEqual(self.inode('http.sock'), inode)

    def test_http_elsewhere(self):
        port = free_port()
        daemon = self.passed([('http', self.tcp())], http={'listen': f'127.0.0.1:{port}'})
        self.assertIn("socket 'http' at 127.0.0.1:", daemon.logged())
        self.assertIn(b'200 OK', self.fetch_tcp(port))

    def test_what_is_no_listening_socket(self):
        for listener in (self.listener('datagram', socket.SOCK_DGRAM), socket.socket()):
            self.addCleanup(listener.close)
            with self.assertRaises(AssertionError) as refused:
                self.passed([('odd', listener)])
            self.assertIn("the socket passed as 'odd' is not a stream socket", str(refused.exception))

    def test_engines_inherit_none(self):
        http = self.tcp()
        daemon = self.passed([('one.ts', self.listener('one.ts')), ('http', http)])
        daemon.wait_state('one', 'running')
        with open('/proc/net/unix') as file:
            listening = {f'socket:[{line.split()[6]}]' for line in file
                         if line.split()[3] == '00010000'}
        listening.add(f'socket:[{os.fstat(http.fileno()).st_ino}]')

        def has(pid):
            return listening & set(links(pid).values())
        self.assertEqual(len(has(daemon.process.pid)), 3)  # and the control socket
        self.assertTrue(daemon.pids())
        for pid in daemon.pids():
            with open(f'/proc/{pid}/environ', 'rb') as file:
                self.assertNotIn(b'LISTEN_', file.read())
            self.assertEqual(has(pid), set())

    def test_for_another_process(self):
        """LISTEN_PID of somebody else: nothing is taken."""
        daemon = self.start(environment={'LISTEN_PID': '1', 'LISTEN_FDS': '1',
                                         'LISTEN_FDNAMES': 'control'})
        daemon.wait_state('one', 'running')
        self.assertNotIn('was passed', daemon.logged())


if __name__ == '__main__':
    main()
