# SPDX-License-Identifier: BSD-2-Clause
# The few V4L2 calls that the tests make themselves, to see each errno (x86_64's layout).
import errno
import fcntl
import mmap
import os
import re
import select
import struct

CAPTURE, OUTPUT, MMAP = 1, 2, 1
ERROR = 0x40  # of a buffer's flags
SOURCE_CHANGE = 5
BUFFER = struct.Struct('=5I4x2q16x2I2Q8x')  # index type bytesused flags field, time, sequence ...
FORMAT = struct.Struct('=I4x4I')


def number(direction, which, size):
    return direction << 30 | size << 16 | ord('V') << 8 | which


READ, WRITE, BOTH = 2, 1, 3
QUERYCAP = number(READ, 0, 104)
G_FMT, S_FMT = number(BOTH, 4, 208), number(BOTH, 5, 208)
REQBUFS = number(BOTH, 8, 20)
QUERYBUF, QBUF, DQBUF = (number(BOTH, which, 88) for which in (9, 15, 17))
STREAMON, STREAMOFF = number(WRITE, 18, 4), number(WRITE, 19, 4)
DQEVENT, SUBSCRIBE = number(READ, 89, 136), number(WRITE, 90, 32)
QUERY_TIMINGS = number(READ, 99, 132)
QUERYCTRL, S_CTRL, NEXT = number(BOTH, 36, 68), number(BOTH, 28, 8), 0x80000000


def fourcc(text):
    return int.from_bytes(text.encode(), 'little')


class Picture:
    def __init__(self, data, sequence, flags, seconds):
        self.data, self.sequence, self.flags, self.seconds = data, sequence, flags, seconds


class Device:
    """An open video node; errors are OSError, as the kernel gives them."""

    def __init__(self, path):
        self.fd = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        self.buffers = []
        self.form = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def call(self, request, data):
        held = bytearray(data)
        fcntl.ioctl(self.fd, request, held)
        return held

    def fails(self, request, data):
        """The name of the errno that a call ends with, or None."""
        try:
            self.call(request, data)
        except OSError as error:
            return errno.errorcode[error.errno]
        return None

    def capabilities(self):
        return struct.unpack_from('=I', self.call(QUERYCAP, bytes(104)), 88)[0]

    def format(self, kind=CAPTURE):
        """(width, height, fourcc)"""
        _, *form = FORMAT.unpack_from(self.call(G_FMT, struct.pack('=I204x', kind)))
        return form[0], form[1], form[2].to_bytes(4, 'little').decode()

    def set_format(self, width, height, code, kind=CAPTURE):
        wish = FORMAT.pack(kind, width, height, fourcc(code), 1).ljust(208, b'\0')
        self.call(S_FMT, wish)

    def request(self, count):
        made = self.call(REQBUFS, struct.pack('=5I', count, CAPTURE, MMAP, 0, 0))
        return struct.unpack_from('=I', made)[0]

    @staticmethod
    def buffer(index):
        return BUFFER.pack(index, CAPTURE, 0, 0, 0, 0, 0, 0, MMAP, 0, 0)

    def start(self, count=4):
        for index in range(self.request(count)):
            found = self.call(QUERYBUF, self.buffer(index))
            *_, offset, length = BUFFER.unpack(found)
            self.buffers.append(mmap.mmap(self.fd, length & 0xffffffff, offset=offset & 0xffffffff))
            self.call(QBUF, self.buffer(index))
        self.call(STREAMON, struct.pack('=I', CAPTURE))

    def stop(self):
        """Returns the name of the errno of STREAMOFF, or None."""
        failed = self.fails(STREAMOFF, struct.pack('=I', CAPTURE))
        for held in self.buffers:
            held.close()
        self.buffers = []
        if not failed:
            self.request(0)
        return failed

    def wait(self, seconds=5):
        """poll's events; 0 where nothing came."""
        poll = select.poll()
        poll.register(self.fd, select.POLLIN | select.POLLPRI)
        found = poll.poll(seconds * 1000)
        return found[0][1] if found else 0

    def read(self, seconds=5):
        """The next picture; None where none came in time."""
        if not self.wait(seconds):
            return None
        taken = self.call(DQBUF, self.buffer(0))
        index, _, used, flags, _, sec, usec, sequence, *_ = BUFFER.unpack(taken)
        data = self.buffers[index][:used]
        self.call(QBUF, self.buffer(index))
        return Picture(data, sequence, flags, sec + usec / 1e6)

    def pictures(self, count):
        return [self.read() for _ in range(count)]

    def control_ids(self):
        """{name as v4l2-ctl has it: id}"""
        found, last = {}, 0
        while not self.fails(QUERYCTRL, struct.pack('=I64x', last | NEXT)):
            output = self.call(QUERYCTRL, struct.pack('=I64x', last | NEXT))
            last, _, name = struct.unpack_from('=2I32s', output)
            words = re.findall('[a-z0-9]+', name.split(b'\0')[0].decode().lower())
            found['_'.join(words)] = last
        return found

    def set_control(self, name, value):
        self.call(S_CTRL, struct.pack('=Ii', self.control_ids()[name], value))

    def subscribe(self, event, which=0):
        self.call(SUBSCRIBE, struct.pack('=2I24x', event, which))

    def event(self):
        """The type of the next event."""
        return struct.unpack_from('=I', self.call(DQEVENT, bytes(136)))[0]

    def close(self):
        for held in self.buffers:
            held.close()
        self.buffers = []
        if self.fd >= 0:
            os.close(self.fd)
        self.fd = -1
