# SPDX-License-Identifier: BSD-2-Clause
# What viewers see when a filter fails: card, solid, last, stop, from the file to the viewer.
"""Needs a build with -Dfaults=true. A fault for good is of two kinds: with "alloc" the stream waits
in its engine; with "launch" the engine ends, at first so briefly that nobody sees a card, and later
ones restart after pauses that grow."""
import time

from halotest.daemon import PATIENCE, DaemonTest, Reader, main, wait_until
import halotest

FAULTS = ('alloc:250+', 'launch:60+')  # pictures, 25 a second
GRAY, BLACK = range(100, 156), range(0, 32)


class OnError(DaemonTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        halotest.need_faults()

    def play(self, fault, **settings):
        """The daemon, and a viewer who has seen pictures by the time that the filter fails."""
        daemon = self.start({'one': self.stream(suffix='nut', **settings)},
                            environment={'HALOD_FAULT': fault})
        daemon.wait_state('one', 'running')
        watcher = self.watcher('one.nut')
        self.assertTrue(wait_until(lambda: sum(
            not watcher.is_card(p) for _, p in list(watcher.pictures)) > 20), daemon.told())
        return daemon, watcher

    def failed(self, daemon):
        """When, once it has. The viewer saw pictures until then."""
        self.assertTrue(wait_until(lambda: 'filter failed' in daemon.told()
                                   or 'backend failed' in daemon.told()
                                   or 'memory is full' in daemon.told(), 20), daemon.told())
        return time.monotonic()

    def end_of(self, daemon, watcher):
        watcher.close()
        self.end(daemon)

    def shows(self, wanted, **settings):
        for fault in FAULTS:
            with self.subTest(fault):
                daemon, watcher = self.play(fault, **settings)
                when = self.failed(daemon)
                again = fault.startswith('launch')
                card = watcher.wait(card=True, since=when - 1, timeout=30 if again else 10)
                self.assertIsNotNone(card, daemon.told())
                self.assertLess(card - when, (30 if again else 1.5) * PATIENCE)
                picture = next(p for t, p in watcher.pictures if t >= card)
                self.assertIn(picture[0], wanted)
                self.assertTrue(watcher.is_alive_process())
                if again:
                    self.assertIsNotNone(watcher.wait(card=False, since=card), daemon.told())
                    self.assertGreaterEqual(daemon.status('one')['restarts'], 1)
                else:
                    self.assertEqual(daemon.state('one'), 'waiting')
                    time.sleep(1)
                    self.assertTrue(all(p[0] in wanted and watcher.is_card(p)
                                        for t, p in watcher.pictures if t >= card))
                self.end_of(daemon, watcher)

    def test_card(self):
        self.shows(GRAY, on_error='card')

    def test_card_is_the_default(self):
        daemon, watcher = self.play(FAULTS[0])
        card = watcher.wait(card=True, since=self.failed(daemon) - 1)
        self.assertIsNotNone(card, daemon.told())
        self.assertIn(next(p for t, p in watcher.pictures if t >= card)[0], GRAY)

    def test_solid(self):
        self.shows(BLACK, on_error='solid')

    def test_last(self):
        """The last filtered key frame, for last_for; then the card."""
        last_for = 3 * PATIENCE
        daemon, watcher = self.play(FAULTS[0], on_error='last', last_for=last_for)
        when = self.failed(daemon)
        card = watcher.wait(card=True, since=when - 1, timeout=10 * PATIENCE)
        self.assertIsNotNone(card, daemon.told())
        self.assertGreater(card - when, last_for - 1)
        self.assertLess(card - when, last_for + 2 * PATIENCE)
        stood = [p for t, p in watcher.pictures if when + 1 * PATIENCE < t < card]
        self.assertGreaterEqual(len(stood), 1)
        before = [p for t, p in watcher.pictures if t < when]
        for picture in stood:  # one that was shown already, and nothing else
            self.assertLess(min(max(abs(a - b) for a, b in zip(picture, old)) for old in before),
                            12)

    def test_stop(self):
        """Viewers are closed; the socket stays, and who comes when it works again sees pictures."""
        for fault in FAULTS:
            with self.subTest(fault):
                daemon = self.start({'one': self.stream(suffix='nut', on_error='stop')},
                                    environment={'HALOD_FAULT': fault})
                daemon.wait_state('one', 'running')
                reader = self.reader('one.nut')
                when = self.failed(daemon)
                self.assertTrue(wait_until(lambda: reader.ended, 30), daemon.told())
                again = fault.startswith('launch')
                self.assertLess(time.monotonic() - when, (30 if again else 4) * PATIENCE)
                late = Reader(self.path('one.nut'))
                if again:
                    self.assertTrue(wait_until(lambda: late.size > 0, 20), daemon.told())
                else:
                    self.assertTrue(wait_until(lambda: late.ended, 10), daemon.told())
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
                    self.assertIsNotNone(watcher.wait(card=True, timeout=20), daemon.told())
                else:
                    self.failed(daemon)
                    time.sleep(2)
                self.assertIsNone(watcher.first(card=False))
                self.end_of(daemon, watcher)


if __name__ == '__main__':
    main()
