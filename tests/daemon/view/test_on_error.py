# SPDX-License-Identifier: BSD-2-Clause
# What viewers see when a filter fails: card, solid, last, stop, from the file to the viewer.
"""Needs a build with -Dfaults=true. A fault for good, here while a file is there, is of two kinds:
with "alloc" the stream waits in its engine; with "launch" the engine ends, again and again."""
import os
import time

from halotest.daemon import DaemonTest, Reader, main
import halotest

COLOURS = {'card': range(100, 156), 'solid': range(0, 32), 'default': range(100, 156)}


class OnError(DaemonTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        halotest.need_faults()

    def begin(self, fault, names):
        settings = {'card': {'on_error': 'card'}, 'solid': {'on_error': 'solid'}, 'default': {},
                    'last': {'on_error': 'last', 'last_for': 2}, 'stop': {'on_error': 'stop'}}
        return self.start({name: self.stream(name, 'nut', **settings[name]) for name in names},
                          environment={'HALOD_FAULT': f'{fault},silence:1+'})

    def wait_pictures(self, watcher):
        self.until(lambda: sum(not watcher.is_card(p) for _, p in list(watcher.pictures)) > 5)

    def wait_cards(self, watcher):
        """Four one after the other. A stream that stands still for a moment gets one, too."""
        self.until(lambda: len(watcher.pictures) > 3 and
                   all(watcher.is_card(p) for _, p in list(watcher.pictures)[-4:]))
        return [p for _, p in list(watcher.pictures)[-4:]]

    def test_each(self):
        """All at once, with each kind of fault, until it is mended."""
        for fault, names in (('alloc', ('card', 'solid', 'default', 'last', 'stop')),
                             ('launch', ('card', 'solid', 'stop'))):
            with self.subTest(fault):
                daemon = self.begin(f'{fault}:{self.path("fails")}', names)
                watchers = {name: self.watcher(name + '.nut') for name in names if name != 'stop'}
                reader = self.reader('stop.nut')
                for watcher in watchers.values():
                    self.wait_pictures(watcher)
                failed = time.monotonic()
                with open(self.path('fails'), 'w'):
                    pass
                self.check_failed(daemon, fault, watchers, reader, failed)
                os.unlink(self.path('fails'))
                mended = time.monotonic()
                for watcher in watchers.values():
                    self.assertIsNotNone(watcher.wait(card=False, since=mended), daemon.logged())
                    self.assertTrue(watcher.is_alive_process())
                daemon.wait_state('stop', 'running')
                self.reader('stop.nut')
                self.end(daemon)

    def check_failed(self, daemon, fault, watchers, reader, failed):
        self.until(lambda: reader.ended)
        for name, watcher in watchers.items():
            if fault == 'alloc':
                daemon.wait_state(name, 'waiting')
            else:
                self.until(lambda name=name: daemon.status(name)['restarts'] > 1)
            if name == 'last':
                self.check_last(watcher, failed)
                continue
            for picture in self.wait_cards(watcher):
                self.assertIn(picture[0], COLOURS[name])
        if fault == 'alloc':  # the socket stays, and who comes is sent away
            late = Reader(self.path('stop.nut'))
            self.until(lambda: late.ended)
            late.close()

    def check_last(self, watcher, failed):
        """The last filtered key frame, for last_for; then the card."""
        card = watcher.wait(card=True, since=failed)
        *before, stood = [p for t, p in watcher.pictures if t < card]  # one that was shown already
        self.assertLess(min(max(abs(a - b) for a, b in zip(stood, old)) for old in before), 12)

    def test_at_the_start(self):
        """A filter that never works: never a picture. The card is there as soon as an engine has
        lived long enough to make it."""
        for fault in 'alloc', 'launch':
            with self.subTest(fault):
                daemon = self.begin(f'{fault}:1+', ['default'])
                watcher = self.watcher('default.nut')
                if fault == 'alloc':
                    self.assertIsNotNone(watcher.wait(card=True), daemon.logged())
                else:
                    self.until(lambda d=daemon: d.status('default')['restarts'] > 2)
                self.assertIsNone(watcher.first(card=False))
                watcher.close()
                self.end(daemon)


if __name__ == '__main__':
    main()
