# SPDX-License-Identifier: BSD-2-Clause
# What viewers see when a filter fails: card, solid, last, stop, from the file to the viewer.
"""Needs a build with -Dfaults=true. A fault for good, here while a file is there, is of two kinds:
with "alloc" the stream waits in its engine; with "launch" the engine ends, again and again."""
import os
import time

from halotest.daemon import DaemonTest, Reader, main, wait_until
import halotest

FAULTS = ('alloc', 'launch')
GRAY, BLACK = range(100, 156), range(0, 32)


class OnError(DaemonTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        halotest.need_faults()

    def begin(self, fault, **settings):
        daemon = self.start({'one': self.stream(suffix='nut', **settings)},
                            environment={'HALOD_FAULT': f'{fault}:{self.path("fails")},silence:1+'})
        daemon.wait_state('one', 'running')
        return daemon

    def play(self, fault, **settings):
        """The daemon, and a viewer who has seen pictures."""
        daemon = self.begin(fault, **settings)
        watcher = self.watcher('one.nut')
        self.assertTrue(wait_until(lambda: sum(
            not watcher.is_card(p) for _, p in list(watcher.pictures)) > 5), daemon.logged())
        return daemon, watcher

    def fail(self, daemon):
        """When the filter was told to, which it has done."""
        when = time.monotonic()
        with open(self.path('fails'), 'w'):
            pass
        self.wait_failed(daemon)
        return when

    def mend(self):
        os.unlink(self.path('fails'))
        return time.monotonic()

    def wait_cards(self, daemon, watcher):
        """Two one after the other, and none but cards any more. A stream that stands still for a
        moment gets one, too."""
        def found():
            last = [p for _, p in list(watcher.pictures)[-2:]]
            return last if len(last) == 2 and all(map(watcher.is_card, last)) else None
        self.assertTrue(wait_until(found), daemon.logged())
        return found()

    def wait_failed(self, daemon):
        self.assertTrue(wait_until(lambda: 'filter failed' in daemon.logged()
                                   or 'backend failed' in daemon.logged()
                                   or 'memory is full' in daemon.logged()), daemon.logged())

    def end_of(self, daemon, watcher):
        watcher.close()
        self.end(daemon)

    def shows(self, wanted, **settings):
        for fault in FAULTS:
            with self.subTest(fault):
                daemon, watcher = self.play(fault, **settings)
                self.fail(daemon)
                if fault == 'alloc':
                    daemon.wait_state('one', 'waiting')
                else:
                    self.assertTrue(wait_until(lambda d=daemon: d.status('one')['restarts'] > 1))
                cards = self.wait_cards(daemon, watcher)
                count = len(watcher.pictures)
                self.assertTrue(wait_until(lambda w=watcher, c=count: len(w.pictures) > c + 1))
                cards += [p for _, p in watcher.pictures[count:]]
                self.assertTrue(all(p[0] in wanted and watcher.is_card(p) for p in cards))
                mended = self.mend()
                self.assertIsNotNone(watcher.wait(card=False, since=mended),
                                     daemon.logged())
                self.assertTrue(watcher.is_alive_process())
                self.end_of(daemon, watcher)

    def test_card(self):
        self.shows(GRAY, on_error='card')

    def test_card_is_the_default(self):
        daemon, watcher = self.play('alloc')
        self.fail(daemon)
        for picture in self.wait_cards(daemon, watcher):
            self.assertIn(picture[0], GRAY)

    def test_solid(self):
        self.shows(BLACK, on_error='solid')

    def test_last(self):
        """The last filtered key frame, for last_for; then the card."""
        daemon, watcher = self.play('alloc', on_error='last', last_for=2)
        when = self.fail(daemon)
        card = watcher.wait(card=True, since=when)
        self.assertIsNotNone(card, daemon.logged())
        *before, stood = [p for t, p in watcher.pictures if t < card]  # one that was shown already
        self.assertLess(min(max(abs(a - b) for a, b in zip(stood, old)) for old in before), 12)

    def test_stop(self):
        """Viewers are closed; the socket stays, and who comes when it works again sees pictures."""
        for fault in FAULTS:
            with self.subTest(fault):
                daemon = self.begin(fault, on_error='stop')
                reader = self.reader('one.nut')
                self.fail(daemon)
                self.assertTrue(wait_until(lambda r=reader: r.ended), daemon.logged())
                if fault == 'alloc':
                    late = Reader(self.path('one.nut'))
                    self.assertTrue(wait_until(lambda r=late: r.ended), daemon.logged())
                    late.close()
                self.mend()
                daemon.wait_state('one', 'running')
                late = Reader(self.path('one.nut'))
                self.assertTrue(wait_until(lambda r=late: r.size > 0), daemon.logged())
                late.close()
                self.end(daemon)

    def test_at_the_start(self):
        """A filter that never works: never a picture. The card is there as soon as an engine has
        lived long enough to make it."""
        for fault in ('alloc:1+', 'launch:1+'):
            with self.subTest(fault):
                daemon = self.start({'one': self.stream(suffix='nut')},
                                    environment={'HALOD_FAULT': fault})
                watcher = self.watcher('one.nut')
                if fault.startswith('alloc'):
                    self.assertIsNotNone(watcher.wait(card=True), daemon.logged())
                else:
                    self.wait_failed(daemon)
                    self.assertTrue(wait_until(lambda d=daemon: d.status('one')['restarts'] > 2))
                self.assertIsNone(watcher.first(card=False))
                self.end_of(daemon, watcher)


if __name__ == '__main__':
    main()
