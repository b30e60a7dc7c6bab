# SPDX-License-Identifier: BSD-2-Clause
# Clients of the control socket, and the daemon that tests/world serves: its engines are played.
import json
import os
import signal
import socket
import subprocess
import tempfile
import unittest

from halotest import PATIENCE

WORLD = os.environ.get('WORLD', '')
EVENTS = os.path.join(os.path.dirname(__file__), '../world/served.events')
HALOCTL = os.environ.get('HALOCTL', '')
INTERFACE = 'io.halod.Control.'


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


class ServedTest(HaloctlMixin, unittest.TestCase):
    """A test with a daemon that the played world serves. Its end must be clean."""

    def setUp(self):
        self.log = tempfile.TemporaryFile('w+')
        self.addCleanup(self.log.close)
        self.daemon = subprocess.Popen([WORLD, '--events', EVENTS, '--serve'], stdout=subprocess.PIPE,
                                       stderr=self.log)
        self.addCleanup(self.stop)
        word, _, self.folder = self.daemon.stdout.readline().decode().strip().partition(' ')
        self.assertEqual(word, 'ready', self.said())
        self.socket = self.path('control.sock')

    def path(self, name):
        return os.path.join(self.folder, name)

    def said(self):
        self.log.seek(0)
        return self.log.read()

    def stop(self):
        if self.daemon:
            self.daemon.send_signal(signal.SIGTERM)
            code = self.daemon.wait(20 * PATIENCE)
            self.daemon.stdout.close()
            self.daemon = None
            self.assertEqual(code, 0, self.said())
