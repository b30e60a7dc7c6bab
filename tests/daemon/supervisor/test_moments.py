# SPDX-License-Identifier: BSD-2-Clause
# on_error: every kind at every moment: start, filter change, reload, restart, device loss, shutdown.
"""Needs a build with -Dfaults=true. A fault lasts as long as a file is there: "alloc" costs pictures,
"launch" ends the engine. Four streams of one daemon have the four kinds, and one viewer each that
gets pictures as they are, by descriptor: no player delays them. In every raw picture each second
column is much brighter than its neighbours, and of another colour, which the filters destroy; the
left half is darker than the right one; and each of 25 has a brightness of its own.
HALOTEST_BACKEND=cuda does it on a GPU."""
import functools
import os
import socket
import threading
import time

from halotest.daemon import HURRIED, DaemonTest, Refused, main
import halotest
from halotest.feed_probe import FrameClient

BACKEND = os.environ.get('HALOTEST_BACKEND', 'cpu')

WIDTH, HEIGHT, RATE = 96, 64, 25
LUMA, PICTURE = WIDTH * HEIGHT, WIDTH * HEIGHT * 3 // 2
KINDS = ('card', 'solid', 'last', 'stop')
LAST_FOR = 1  # second
SHOWN = {'card': 'card', 'solid': 'black', 'last': 'card'}  # in the end
CHAIN, OTHER_CHAIN = 'gblur=sigma=4', 'gblur=sigma=7'


def samples():
    for number in range(RATE):
        row = bytes((90 if x < WIDTH // 2 else 140) + number + (-80 if x % 2 else 80)
                    for x in range(WIDTH))
        colour = bytes(60 if x % 2 else 190 for x in range(WIDTH // 2))
        yield row * HEIGHT + colour * HEIGHT


def is_striped(row, least):
    """Words of cards are bright on gray: their edges are not so steep."""
    return sum(abs(a - b) > least for a, b in zip(row, row[1:])) > 8


@functools.cache
def kind_of(picture):
    """'raw' if any part of it is; 'black', 'card', 'filtered'; or what it is instead."""
    rows = [picture[y * WIDTH:(y + 1) * WIDTH] for y in range(0, HEIGHT, 3)]
    half = WIDTH // 2
    colours = [picture[at:at + half] for at in range(LUMA, PICTURE, 3 * half)]
    if any(is_striped(row, 120) for row in rows) or any(is_striped(row, 60) for row in colours):
        return 'raw'
    edge = rows[0] + rows[-1]
    if max(picture[:LUMA]) <= 20:
        return 'black'
    if max(edge) - min(edge) <= 6 and 100 < edge[0] < 156:
        return 'card'
    left, right = (sum(sum(row[at:at + 20]) for row in rows) / 20 / len(rows) for at in (8, 68))
    smooth = all(abs(a - b) < 30 for row in rows for a, b in zip(row, row[1:]))
    return 'filtered' if smooth and 30 < right - left < 70 else f'{left:.0f} {right:.0f} {smooth}'


class Viewer(threading.Thread):
    """Keeps what came, each with its own time."""

    def __init__(self, path):
        super().__init__(daemon=True)
        self.client, self.pictures = FrameClient(path), []
        self.client.client.settimeout(None)
        self.start()

    def run(self):
        try:
            while frame := self.client.frame():
                data = self.client.pixels(frame)[:PICTURE]
                self.pictures.append((frame.pts / 1e9, data, frame.gap))
                self.client.release(frame)
        except (EOFError, OSError):
            pass

    def close(self):
        try:
            self.client.client.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.join(5)
        self.client.close()

    def kinds(self, since=0):
        return [kind_of(data) for when, data, _ in list(self.pictures) if when >= since]

    def first(self, kind, since=0):
        """The time of the first one of that kind, or None."""
        return next((when for when, data, _ in list(self.pictures)
                     if when >= since and kind_of(data) == kind), None)


class Moments(DaemonTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        halotest.need_faults()
        assert all(kind_of(picture) == 'raw' for picture in samples())

    def setUp(self):
        super().setUp()
        self.clip = self.path('clip.y4m')
        with open(self.clip, 'wb') as file:
            file.write(f'YUV4MPEG2 W{WIDTH} H{HEIGHT} F{RATE}:1 C420jpeg\n'.encode())
            for picture in samples():
                file.write(b'FRAME\n' + picture)

    def streams(self, chain=CHAIN, **more):
        return {kind: {'input': self.clip, 'loop': True, 'realtime': True, 'filters': chain,
                       'backend': BACKEND, 'on_error': kind, 'last_for': f'{LAST_FOR}s', 'outputs': [
                           {'unix': self.path(f'{kind}.fd')}], **more}
                for kind in KINDS}

    def fail_now(self, fault='alloc'):
        with open(self.path(fault), 'w', encoding='ascii'):
            return time.monotonic()

    def work_again(self, fault='alloc'):
        os.unlink(self.path(fault))
        return time.monotonic()

    def look(self, *kinds):
        for kind in kinds or KINDS:
            path = self.path(f'{kind}.fd')
            self.until(lambda path=path: os.path.exists(path))
            viewer = Viewer(path)
            self.addCleanup(viewer.close)
            self.viewers[kind] = viewer
            self.everyone.append((kind, viewer))

    def sees(self, what, *kinds, since=0):
        for kind in kinds or KINDS:
            def is_there():
                """Of "stop" a machine that is late may be the end, before it."""
                if (kind, what) == ('stop', 'filtered') and not self.viewers[kind].is_alive():
                    self.look(kind)
                return self.viewers[kind].first(what, since)
            self.until(is_there, lambda: f'{kind}: no {what}: {self.viewers[kind].kinds()[-20:]}')

    def is_over(self, kind):
        self.until(lambda: not self.viewers[kind].is_alive(),
                   lambda: f'{kind} goes on: {self.viewers[kind].kinds()[-20:]}\n{self.daemon.logged()}')

    def shows_what_it_should(self, since):
        """From then on every stream fails."""
        self.sees('card', 'card', since=since)
        self.sees('black', 'solid', since=since)
        self.is_over('stop')
        self.sees('card', 'last', since=since)
        viewer = self.viewers['last']
        card = viewer.first('card', since)
        pictures = [(data, gap) for when, data, gap in viewer.pictures if when < card]
        shown = {data for data, gap in pictures if not gap}
        stood = {data for data, gap in pictures if gap and kind_of(data) == 'filtered'}
        self.assertTrue(stood, 'nothing stands for what is missing')
        self.assertTrue(stood <= shown, 'another picture than one that was shown')
        for kind in SHOWN:  # nothing but that, in the end
            viewer, begun = self.viewers[kind], self.viewers[kind].pictures[-1][0]
            self.until(lambda: viewer.pictures[-1][0] > begun)
            self.assertEqual(set(viewer.kinds(begun)), {SHOWN[kind]}, kind)

    def goes_on(self, fault='alloc'):
        """Filtered pictures for those who stayed, and for who was sent away and comes again: soon all that
        there are."""
        since = self.work_again(fault)
        self.sees('filtered', *SHOWN, since=since)
        self.daemon.wait_state('stop', 'running')
        self.look('stop')
        self.sees('filtered', 'stop')

        def has_all(kind):
            """Of "stop" a machine that was elsewhere may be the end."""
            if kind == 'stop' and not self.viewers[kind].is_alive():
                self.look(kind)
                return True
            return len({data for when, data, gap in self.viewers[kind].pictures
                        if when >= since and not gap}) >= RATE
        for kind in KINDS:
            self.until(lambda kind=kind: has_all(kind))

    def finish(self):
        """The daemon ends well, and nobody has ever seen anything raw, or anything else."""
        self.assertEqual(self.daemon.stop(), 0, self.daemon.logged())
        for kind, viewer in self.everyone:
            self.until(lambda v=viewer: not v.is_alive(), lambda: kind)
            may = {'filtered', SHOWN.get(kind, 'filtered')}
            self.assertLessEqual(set(viewer.kinds()), may, kind)
            # A detector must not take for a picture what stands for one.
            true = {('filtered', False), (SHOWN.get(kind, 'card'), True)}
            true |= {('filtered', True)} if kind == 'last' else set()
            self.assertLessEqual({(kind_of(data), gap) for _, data, gap in viewer.pictures}, true, kind)

    def test_every_moment(self):
        self.viewers, self.everyone = {}, []
        self.fail_now()
        self.daemon = self.start(self.streams(), patient=HURRIED, environment={
            'HALOD_FAULT': f'alloc:{self.path("alloc")},launch:{self.path("launch")}'})
        self.at_the_start()
        self.goes_on()
        self.while_filters_change()
        self.goes_on()
        for kind in KINDS:
            self.assertEqual(self.daemon.status(kind)['filters'], OTHER_CHAIN)
        self.reload(self.streams())
        self.goes_on()
        self.restart()
        self.goes_on()
        self.shows_what_it_should(self.fail_now('launch'))  # one engine after the other ends
        self.goes_on('launch')
        self.assertGreaterEqual(self.daemon.status('card')['restarts'], 1)
        self.fail_now()
        time.sleep(4 / RATE)  # some that fail, when the daemon ends
        self.finish()

    def at_the_start(self):
        """Pictures fail from the first on: of "last" there is none to show."""
        self.look()
        for kind, shown in SHOWN.items():
            self.sees(shown, kind)
        self.is_over('stop')
        for kind, viewer in self.viewers.items():
            self.assertLessEqual(set(viewer.kinds()), {SHOWN.get(kind)})

    def while_filters_change(self):
        since = self.fail_now()
        for kind in KINDS:
            self.daemon.control('Set', name=kind, filters=OTHER_CHAIN)
        self.shows_what_it_should(since)
        for kind in KINDS:
            self.daemon.wait_state(kind, 'waiting')
        for kind in ('card', 'last'):
            with self.assertRaisesRegex(Refused, 'no filtered frame'):
                self.daemon.control('Snapshot', name=kind, format='png')

    def reload(self, streams):
        """Of filters alone: nobody is sent away."""
        self.daemon.write(streams)
        since = self.fail_now()
        self.daemon.control('Reload')
        self.shows_what_it_should(since)

    def restart(self):
        """By a reload: viewers are closed; who comes sees what on_error says, from the start."""
        self.daemon.write(self.streams(depth=2))
        self.fail_now()
        self.daemon.control('Reload')
        for kind in KINDS:
            self.is_over(kind)
        self.look()
        for kind, shown in SHOWN.items():
            self.sees(shown, kind)
            self.assertEqual(set(self.viewers[kind].kinds()), {shown})


if __name__ == '__main__':
    main()
