# SPDX-License-Identifier: BSD-2-Clause
"""halod's side of the contract with detectors (docs/detectors.md), for tests of detectors. It is
written from that page alone, and shares nothing with pipeline/detect/."""
import array
import fcntl
import json
import os
import select
import socket
import subprocess
import time

from halotest import PATIENCE

STANDIN = os.environ.get('HALO_STANDIN_DETECTOR', '')
TYPE = 'type'  # the field of a message that names it
CHANNELS = {'rgb24': 3, 'bgr24': 3, 'gray8': 1}
SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SEAL


class Ended(Exception):
    """The detector has closed the connection."""


def sealed(data, seals=SEALS):
    fd = os.memfd_create('frame', os.MFD_ALLOW_SEALING | os.MFD_CLOEXEC)
    os.truncate(fd, len(data))
    os.pwrite(fd, data, 0)
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, seals)
    return fd


class Connection:
    """One stream. Frames and masks are bytes."""

    def __init__(self, detector):
        self.socket, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        socket.send_fds(detector.control, [b'S'], [other.fileno()])
        other.close()
        self.ready, self.n, self.mask = None, 0, None

    def close(self):
        self.socket.close()

    def send(self, message, fd=None):
        socket.send_fds(self.socket, [json.dumps(message).encode()], [] if fd is None else [fd])

    def packet(self, timeout=60):
        """The bytes of the next packet; the mask that came with it, if any, is in self.mask."""
        if not select.select([self.socket], [], [], timeout * PATIENCE)[0]:
            raise TimeoutError
        fds = array.array('i')
        try:
            data, control, _, _ = self.socket.recvmsg(1 << 20, socket.CMSG_SPACE(16))
        except ConnectionError:
            data, control = b'', []
        for _, _, room in control:
            fds.frombytes(room[:len(room) - len(room) % 4])
        self.mask = None
        for fd in fds:
            self.mask = os.pread(fd, os.fstat(fd).st_size, 0), fcntl.fcntl(fd, fcntl.F_GET_SEALS)
            os.close(fd)
        if not data:
            raise Ended
        return data

    def receive(self, timeout=60):
        return json.loads(self.packet(timeout))

    def hello(self, width, height, find='faces', stream='clip', rate=25, live=True):
        self.send({TYPE: 'hello', 'version': 1, 'stream': stream, 'find': find, 'width': width,
                   'height': height, 'rate': rate, 'live': live})
        self.ready = self.receive()
        return self.ready

    def frame(self, data, n=None, time_us=None, inside=None, seals=SEALS):
        """Sends a frame, and returns its number. data: as the last `ready` asked."""
        self.n = self.n + 1 if n is None else n
        fd = sealed(data, seals)
        self.send({TYPE: 'frame', 'n': self.n,
                   'time': self.n * 40000 if time_us is None else time_us,
                   'inside': inside or [0, 0, self.ready['width'], self.ready['height']]}, fd)
        os.close(fd)
        return self.n

    def boxes(self, data, **more):
        """Sends a frame and returns what was found in it."""
        n = self.frame(data, **more)
        verdict = self.receive()
        assert verdict['n'] == n, verdict
        return verdict['boxes']

    def size(self):
        """Bytes of a frame."""
        return self.ready['width'] * self.ready['height'] * CHANNELS[self.ready['format']]


class Detector:
    """A running detector. close() ends it as halod would, by closing descriptor 3, and returns its
    exit status."""

    def __init__(self, *command, **options):
        self.control, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        # The first of the pair has the lowest free number, so nothing of Popen is overwritten.
        self.process = subprocess.Popen(
            [*map(str, command)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, close_fds=False,
            preexec_fn=lambda: os.dup2(other.fileno(), 3), **options)
        other.close()
        self.connections = []

    def connect(self):
        self.connections.append(Connection(self))
        return self.connections[-1]

    def wait(self, timeout=60):
        """(exit status, lines on standard error) of one that ends."""
        end = time.monotonic() + timeout * PATIENCE
        lines = self.process.communicate(timeout=end - time.monotonic())[1].decode().splitlines()
        return self.process.returncode, lines

    def close(self):
        self.control.close()
        for connection in self.connections:
            connection.close()
        if self.process.stderr.closed:
            return self.process.wait(60 * PATIENCE), []
        return self.wait()

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.close()
