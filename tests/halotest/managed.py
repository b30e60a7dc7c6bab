# SPDX-License-Identifier: BSD-2-Clause
# Helpers of the tests in which the test is the service manager.
"""Manager: the socket of sd_notify(3). passing(): a wrapper that passes listening sockets on, with
descriptors from 3 and the environment of sd_listen_fds(3)."""
import os
import socket
import struct
import sys
import threading
import time

from halotest.daemon import (HALOD, PATIENCE, Control, DaemonTest, Reader, call,  # noqa: F401
                        free_port, halod_environment, links, main, wait_until)


SO_TIMESTAMPNS = 35
TIMESPEC = struct.Struct('@qq')


def sent_at(control):
    """When the kernel got a datagram, which says it by the other clock."""
    [stamp] = [data for _, kind, data in control if kind == SO_TIMESTAMPNS]
    seconds, ns = TIMESPEC.unpack(stamp)
    begun = ended = -1
    while ended < 0 or ended - begun > 0.001:  # both clocks at one time
        begun, now, ended = time.monotonic(), time.time_ns(), time.monotonic()
    return begun - (now - seconds * 10**9 - ns) / 1e9


class Manager(threading.Thread):
    """Notes each message and when it was sent, however late this process reads it: .messages is a
    list of (time, {KEY: value})."""

    def __init__(self, path):
        super().__init__(daemon=True)
        self.path, self.messages = path, []
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        self.socket.bind(path)
        self.heard = None  # called with each message, at once
        self.over = False
        self.start()

    def run(self):
        while True:
            try:
                data, control, _, _ = self.socket.recvmsg(1 << 16, 256)
            except OSError:
                return
            if data == b'end':
                return
            message = dict(line.split('=', 1) for line in data.decode().splitlines() if '=' in line)
            self.messages.append((sent_at(control), message))
            if self.heard:
                self.heard(message)

    def hear_all(self):
        """Until all that was told has been noted; nothing is noted any more."""
        if not self.over:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as end:
                end.sendto(b'end', self.path)
        self.over = True
        self.join()

    def close(self):
        self.hear_all()
        self.socket.close()

    def times(self, key, since=0):
        return [when for when, message in list(self.messages) if key in message and when >= since]

    def values(self, key):
        return [message[key] for _, message in list(self.messages) if key in message]

    def logged(self):
        return '\n'.join(map(str, self.messages))

    def status(self):
        return (self.values('STATUS') or [''])[-1]

    def order(self, *keys):
        """The keys in the order in which they came, others left out."""
        return [key for _, message in list(self.messages) for key in message if key in keys]


def passing(sockets):
    """(wrapper, descriptors) for a program that gets these: a list of (name, listening socket)."""
    code = ('import os, sys\n'
            'count = int(sys.argv[1])\n'
            'fds = [os.dup(int(fd)) for fd in sys.argv[2:2 + count]]\n'
            'fds = [os.dup2(fd, 100 + i) for i, fd in enumerate(fds)]\n'
            'for i, fd in enumerate(fds):\n'
            '    os.dup2(fd, 3 + i)\n'
            'os.closerange(3 + count, 200)\n'
            'os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS=str(count),\n'
            '                  LISTEN_FDNAMES=sys.argv[2 + count])\n'
            'os.execv(sys.argv[3 + count], sys.argv[3 + count:])\n')
    fds = [listener.fileno() for _, listener in sockets]
    names = ':'.join(name for name, _ in sockets)
    return [sys.executable, '-c', code, str(len(fds)), *map(str, fds), names], fds


class ServiceTest(DaemonTest):
    def tcp(self):
        listener = socket.socket()
        self.addCleanup(listener.close)
        listener.bind(('127.0.0.1', 0))
        listener.listen(16)
        return listener

    def manager(self):
        manager = Manager(self.path('notify'))
        self.addCleanup(manager.close)
        return manager

    def managed(self, streams=None, watchdog=0, environment=None, **more):
        """(daemon, manager)"""
        manager = self.manager()
        words = {'NOTIFY_SOCKET': manager.path, **(environment or {})}
        if watchdog:  # without WATCHDOG_PID it is for whoever asks
            words['WATCHDOG_USEC'] = str(int(watchdog * 1e6))
        return self.start(streams, environment=words, **more), manager
