# SPDX-License-Identifier: BSD-2-Clause
# Starts tests/daemon/standin_daemon.c: the daemon's sockets before a supervisor without engines.
import json
import os
import signal
import socket
import subprocess
import tempfile
import unittest

from halotest import (PATIENCE, descriptors, free_port, memory_kib,  # noqa: F401
                      wait_until as wait_for)

STANDIN = os.environ.get('STANDIN_DAEMON', '')
HALOCTL = os.environ.get('HALOCTL', '')
INTERFACE = 'io.halod.Control.'
STREAMS = ('door', 'road', 'bad')
JPEG = b'\xff\xd8' + b'\xff\xfe\xff\xf0' + b'no picture ' * 5955 + b'\0' * 3 + b'\xff\xd9'


class Client:
    """A connection to the control socket, in Varlink's wire format."""

    def __init__(self, path, timeout=30):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)  # waits where many do
        self.socket.settimeout(timeout * PATIENCE)
        self.rest = b''
        self.fds = []

    def send_bytes(self, data):
        self.socket.sendall(data)

    def send(self, method, parameters=None, interface=INTERFACE, **flags):
        message = {'method': interface + method, **flags}
        if parameters is not None:
            message['parameters'] = parameters
        self.send_bytes(json.dumps(message).encode() + b'\0')

    def receive(self):
        """The next answer; None where the other side has closed."""
        while b'\0' not in self.rest:
            try:
                data, fds, _, _ = socket.recv_fds(self.socket, 65536, 4)
            except ConnectionResetError:
                return None
            self.fds += fds
            if not data:
                return None
            self.rest += data
        message, self.rest = self.rest.split(b'\0', 1)
        return json.loads(message)

    def call(self, method, parameters=None, **flags):
        self.send(method, parameters, **flags)
        return self.receive()

    def close(self):
        for fd in self.fds:
            os.close(fd)
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class HaloctlMixin:
    """haloctl for a test whose daemon listens at self.socket."""

    def ctl(self, *words, environment=None, socket_path=None):
        return subprocess.run([HALOCTL, '--socket', socket_path or self.socket, *words],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              stdin=subprocess.DEVNULL, timeout=30 * PATIENCE,
                              env=dict(os.environ, LC_ALL='C.UTF-8', **(environment or {})))

    def good(self, *words, **options):
        done = self.ctl(*words, **options)
        self.assertEqual((done.returncode, done.stderr.decode()), (0, ''))
        return done.stdout.decode()


class StandinTest(unittest.TestCase):
    """A test with a stand-in daemon. Its end must be clean: all handles closed, exit status 0."""

    environment = {}
    http = '-'  # port 0 in it: any
    jpeg = JPEG

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix='halod-')
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.socket = self.path('control.sock')
        if self.jpeg:
            with open(self.path('picture.jpg'), 'wb') as file:
                file.write(self.jpeg)
        self.daemon = None
        self.start()
        self.addCleanup(self.stop)

    def path(self, name):
        return os.path.join(self.folder, name)

    def command(self):
        return [STANDIN, self.socket, self.http, self.path('picture.jpg') if self.jpeg else '-',
                *STREAMS]

    def start(self):
        self.log = open(self.path('log'), 'w+')
        self.addCleanup(self.log.close)
        self.daemon = subprocess.Popen(self.command(), stdout=subprocess.PIPE, stderr=self.log,
                                       env=dict(os.environ, **self.environment))
        self.assertEqual(self.daemon.stdout.readline(), b'ready\n', self.said())

    def until(self, condition, what=lambda: '', timeout=60):
        self.assertTrue(wait_for(condition, timeout), f'in vain, {what()}\n{self.said()}')

    def said(self):
        self.log.flush()
        with open(self.path('log')) as log:
            return log.read()

    def stop(self):
        if self.daemon:
            self.daemon.send_signal(signal.SIGTERM)
            code = self.daemon.wait(20 * PATIENCE)
            self.daemon.stdout.close()
            self.daemon = None
            self.assertEqual(code, 0, self.said())

    def client(self, **options):
        client = Client(self.socket, **options)
        self.addCleanup(client.close)
        return client

    def assert_error(self, answer, name, says=''):
        self.assertIsNotNone(answer, self.said())
        self.assertIn('error', answer)
        self.assertEqual(answer['error'].rsplit('.', 1)[1], name, answer)
        self.assertIn(says, answer['parameters']['what'])
        self.assertNotIn('\n', answer['parameters']['what'])
