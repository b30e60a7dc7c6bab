# SPDX-License-Identifier: BSD-2-Clause
# Helpers of the viewers' tests: the probe (feed-probe.c), and clients of our own.
"""The program under test is $FEED_PROBE."""
import array
import json
import mmap
import os
import queue
import select
import signal
import socket
import struct
import subprocess
import threading
import time
from collections import namedtuple

import halotest

FEED_PROBE = os.environ.get('FEED_PROBE', '')
FFMPEG = halotest.FFMPEG


def is_sanitized():
    """Whether memory grows for reasons of the build."""
    return halotest.is_sanitized(program=FEED_PROBE)


class Probe:
    """A running feed-probe."""

    def __init__(self, *arguments, environment=None, umask=None):
        def prepare():
            if umask is not None:
                os.umask(umask)
        self.process = subprocess.Popen(
            [FEED_PROBE, *map(str, arguments)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, preexec_fn=prepare, env={**os.environ, **(environment or {})})
        self.said, self.err = queue.Queue(), []
        self.threads = [threading.Thread(target=self.listen, daemon=True),
                        threading.Thread(target=self.listen_err, daemon=True)]
        for thread in self.threads:
            thread.start()

    def listen(self):
        for line in self.process.stdout:
            self.said.put((time.monotonic(), json.loads(line)))

    def listen_err(self):
        for line in self.process.stderr:
            self.err.append(line.decode(errors='replace'))

    def wait_for(self, key, timeout=20):
        end = time.monotonic() + timeout * halotest.PATIENCE
        while time.monotonic() < end:
            try:
                at, said = self.said.get(timeout=0.2)
            except queue.Empty:
                if self.process.poll() is not None and self.said.empty():
                    break
                continue
            if key in said:
                return at, said
        raise AssertionError(f'the probe did not say {key}; exit {self.process.poll()}: '
                             f'{"".join(self.err)}')

    def tell(self, command):
        self.process.stdin.write(command.encode() + b'\n')
        self.process.stdin.flush()
        return time.monotonic()

    def status(self):
        self.tell('status')
        return self.wait_for('sockets')[1]

    def socket(self, index=0):
        return self.status()['sockets'][index]

    def memory(self):
        """KiB that are resident, without what is shared with files."""
        with open(f'/proc/{self.process.pid}/status', encoding='ascii') as file:
            found = dict(line.split(':', 1) for line in file)
        return int(found['RssAnon'].split()[0]) + int(found['RssShmem'].split()[0])

    def files(self):
        return halotest.descriptors(self.process.pid)

    def quit(self):
        """The exit status; what sanitizers said is in err."""
        if self.process.poll() is None:
            try:
                self.tell('quit')
            except BrokenPipeError:
                pass
            try:
                self.process.wait(20 * halotest.PATIENCE)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
                self.err.append('it did not quit\n')
        for thread in self.threads:
            thread.join()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            try:
                pipe.close()
            except OSError:
                pass
        return self.process.returncode


def connect(path):
    client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    client.connect(path)
    return client


class Recorder(threading.Thread):
    """Reads a socket into memory until it ends or is stopped."""

    def __init__(self, path):
        super().__init__(daemon=True)
        self.client, self.data, self.at, self.ended = connect(path), bytearray(), [], False
        self.stopping = False
        self.start()

    def run(self):
        while not self.stopping:
            if not select.select([self.client], [], [], 0.1)[0]:
                continue
            try:
                part = self.client.recv(1 << 20)
            except OSError:
                part = b''
            if not part:
                self.ended = True
                break
            self.at.append((time.monotonic(), len(part)))
            self.data += part

    def stop(self):
        self.stopping = True
        self.join()
        self.client.close()
        return bytes(self.data)


# ---- frames by descriptor ----

NEW_BUFFER, RELEASE_BUFFER, CAPS, END = range(4)
Frame = namedtuple('Frame', 'id pts at size fd gap')
GAP = 1 << 11  # of GStreamer's flags: no picture, but what stands for one


class FrameClient:
    """A viewer of a .fd socket, written from the description of the wire format alone."""

    def __init__(self, path):
        self.client = connect(path)
        self.client.settimeout(30 * halotest.PATIENCE)
        self.caps, self.over, self.frames = None, False, 0

    def receive_exactly(self, size):
        data = b''
        while len(data) < size:
            part = self.client.recv(size - len(data))
            if not part:
                raise EOFError
            data += part
        return data

    def command(self):
        """(type, payload, descriptors); EOFError where the socket has ended."""
        fds = array.array('i')
        head, control, _, _ = self.client.recvmsg(8, socket.CMSG_SPACE(4 * 4))
        for level, kind, data in control:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                fds.frombytes(data[:len(data) - len(data) % fds.itemsize])
        if not head:
            raise EOFError
        if len(head) < 8:
            head += self.receive_exactly(8 - len(head))
        kind, size = struct.unpack('=II', head)
        return kind, self.receive_exactly(size), list(fds)

    def frame(self):
        """The next picture; its descriptor is the caller's. None: the stream is over."""
        while True:
            kind, payload, fds = self.command()
            if kind == CAPS:
                assert payload[-1:] == b'\0' and not fds, (payload, fds)
                self.caps = payload[:-1].decode()
            elif kind == END:
                self.over = True
                return None
            else:
                assert kind == NEW_BUFFER and len(fds) == 1, (kind, fds)
                (number, pts, dts, _, offset, offset_end, flags, memory, memories, none, size,
                 start) = struct.unpack('=QQQQQQIBBHQQ', payload)
                assert dts == offset == offset_end == 2**64 - 1, payload
                assert flags in (0, GAP), payload
                assert (memory, memories, none, start) == (0, 1, 0, 0), payload
                self.frames += 1
                return Frame(number, pts, time.monotonic(), size, fds[0], flags == GAP)

    def pixels(self, frame):
        with mmap.mmap(frame.fd, frame.size, mmap.MAP_SHARED, mmap.PROT_READ) as memory:
            return memory[:]

    def release(self, frame):
        self.client.sendall(struct.pack('=IIQ', RELEASE_BUFFER, 8, frame.id))
        os.close(frame.fd)

    def close(self):
        self.client.close()


def end_process(process):
    if process.poll() is None:
        process.send_signal(signal.SIGKILL)
    process.wait()
    for pipe in (process.stdout, process.stderr):
        if pipe:
            pipe.close()
