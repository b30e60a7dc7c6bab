# SPDX-License-Identifier: BSD-2-Clause
"""Virtual cameras that are not there (tests/standin/loopback.c), as their readers see them."""
import os
import socket
import threading
import time

from halotest import wait_until

WIDTH, HEIGHT = 320, 240


class Device(threading.Thread):
    """/dev/videoN as its readers see it: notes when which pictures came."""

    def __init__(self, folder, name='video10', pause=0, size=(WIDTH, HEIGHT)):
        super().__init__(daemon=True)
        self.path, self.pause, self.size = os.path.join(folder, name), pause, size
        self.formats, self.pictures = [], []  # (time, bytes)
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        made = os.path.join(folder, '..', name)  # until it can be opened
        self.listener.bind(made)
        self.listener.listen()
        os.rename(made, self.path)
        self.open = None
        self.start()

    def run(self):
        while True:
            try:
                self.open, _ = self.listener.accept()
            except OSError:
                return
            self.formats.append(self.open.recv(100).decode())
            while self.take():
                time.sleep(self.pause)

    def take(self):
        try:
            picture = self.open.recv(1 << 22)
        except OSError:
            return False
        if picture:
            self.pictures.append((time.monotonic(), picture))
        return bool(picture)

    def unplug(self):
        os.unlink(self.path)
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        if self.open:
            self.open.shutdown(socket.SHUT_RDWR)
            self.open.close()
        self.join(5)

    def since(self, when):
        return [(t, p) for t, p in list(self.pictures) if t >= when]

    def wait(self, card, since=0, timeout=30):
        """When the first card, or picture that is none, came."""
        def find():
            return next((t for t, p in self.since(since) if is_card(p, self.size) == card), None)
        wait_until(find, timeout)
        return find()

    def gaps(self, since):
        times = [since] + [t for t, _ in self.since(since)]
        return [b - a for a, b in zip(times, times[1:])]


def luma(picture, size=(WIDTH, HEIGHT)):
    pixels = size[0] * size[1]
    return picture[::2] if len(picture) == pixels * 2 else picture[:pixels]


def is_card(picture, size=(WIDTH, HEIGHT)):
    """Cards are of one colour above and below their words, test patterns are not."""
    rows = size[1] // 30 * size[0]
    edges = luma(picture, size)[:rows] + luma(picture, size)[-rows:]
    return max(edges) - min(edges) <= 4
