# SPDX-License-Identifier: BSD-2-Clause
"""The detector's side of the contract with halod (docs/detectors.md)."""
import ctypes
import fcntl
import json
import os
import select
import socket

import numpy as np

from halodetect.failure import OK, PROTOCOL, USAGE, Failure, say

HALOD = 3  # the descriptor on which connections arrive
MESSAGE = 65536
PR_SET_DUMPABLE = 4
SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SEAL


def hide_memory():
    """Keeps other processes of this user from reading frames in this one's memory. halod cannot do
    this for a detector, because executing a program undoes it."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0):
        raise OSError(ctypes.get_errno(), 'the memory cannot be hidden from other processes')


def sealed(data):
    """A descriptor of a memory file that nobody can change."""
    fd = os.memfd_create('mask', os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.write(fd, data)
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, SEALS)
    return fd


def receive(connection):
    """(bytes, descriptor or None); no bytes after the end."""
    try:
        data, fds, _, _ = socket.recv_fds(connection, MESSAGE, 1, socket.MSG_CMSG_CLOEXEC)
    except ConnectionError:
        return b'', None
    return data, fds[0] if fds else None


class Stream:
    """A connection, on which halod asks about the frames of one stream."""

    def __init__(self, connection, detector):
        self.connection, self.detector = connection, detector
        self.ready, self.room = None, bytearray()

    def step(self):
        """Answers one message; false if the connection has ended."""
        data, fd = receive(self.connection)
        try:
            if not data:
                return False
            message = json.loads(data)
            if message.get('type') == 'hello':
                self.hello(message)
            elif message.get('type') == 'frame':
                self.frame(message, fd)
            else:
                raise ValueError('unknown message')
        except BrokenPipeError:
            return False
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise Failure(PROTOCOL, f'halod sent something that docs/detectors.md does not '
                                    f'allow: {error}') from None
        finally:
            if fd is not None:
                os.close(fd)
        return True

    def send(self, message, fd=None):
        socket.send_fds(self.connection, [json.dumps(message).encode()],
                        [] if fd is None else [fd], socket.MSG_NOSIGNAL)

    def hello(self, message):
        if message['version'] != 1:
            raise ValueError(f'version {message["version"]} of the contract')
        if message['find'] != self.detector.FIND:
            raise Failure(USAGE, f'halod wants {message["find"]} found: run halo-detect '
                                 f'{message["find"]} for that')
        self.ready = self.detector.ready(message['width'], message['height'], message['live'])
        self.room = bytearray(self.ready['width'] * self.ready['height'] * 3)
        version = self.detector.installed.version()
        self.send({'type': 'ready', 'name': f'halo-detect {version} {self.detector.name}',
                   'format': self.detector.FORMAT, 'answers': self.detector.ANSWERS, **self.ready})

    def frame(self, message, fd):
        if fd is None or not self.ready or os.preadv(fd, [self.room], 0) != len(self.room):
            raise ValueError('a frame of a wrong size')
        image = np.frombuffer(self.room, np.uint8).reshape(
            self.ready['height'], self.ready['width'], 3)
        fields, mask = self.detector.look(image, message['inside'], self.ready)
        answer = {'type': 'verdict', 'n': message['n'], **fields}
        if mask is None:
            self.send(answer)
            return
        attached = sealed(mask)
        try:
            self.send(answer, attached)
        finally:
            os.close(attached)


def inherited():
    try:
        return socket.socket(fileno=HALOD)
    except OSError:
        raise Failure(USAGE, 'faces and people are started by halod (see halo-detect(1)); try '
                             'shows what they find in an image') from None


def serve(make):
    """Runs the detector that make() returns until halod closes the descriptor."""
    hide_memory()
    control = inherited()
    detector, streams = make(), {}
    poll = select.poll()
    poll.register(control, select.POLLIN)
    while True:
        ready = poll.poll()
        if any(fd == HALOD for fd, _ in ready):
            data, fd = receive(control)
            if fd is None:
                if data:
                    say('halod sent no connection')
                return PROTOCOL if data else OK
            streams[fd] = Stream(socket.socket(fileno=fd), detector)
            poll.register(fd, select.POLLIN)
        for fd, _ in ready:
            if fd in streams and not streams[fd].step():
                poll.unregister(fd)
                streams.pop(fd).connection.close()
