# SPDX-License-Identifier: BSD-2-Clause
# Engines that die, hang, and come back; what viewers see meanwhile.
import contextlib
import glob
import os
import signal

from halotest.daemon import DaemonTest, is_alive, links, main, wait_until


def engines_of(pid):
    """Processes of the daemon that live, as the kernel has them."""
    found = []
    for path in glob.glob('/proc/[0-9]*/stat'):
        with contextlib.suppress(OSError), open(path) as file:
            fields = file.read().rsplit(')', 1)[1].split()
            if int(fields[1]) == pid and fields[0] not in 'ZX':
                found.append(int(path.split('/')[2]))
    return found


class Engines(DaemonTest):
    def four(self, **more):
        return {name: self.stream(name, suffix, **more)
                for name, suffix in (('a', 'ts'), ('b', 'nut'), ('c', 'mkv'), ('d', 'ts'))}

    def all_run(self, daemon, names):
        for name in names:
            daemon.wait_state(name, 'running')

    def kill_and_wait(self, daemon, name, names):
        before = daemon.status(name)['restarts']
        daemon.kill_engine_of(name)
        self.until(lambda: daemon.status(name)['restarts'] > before)
        self.all_run(daemon, names)

    def test_the_reason_of_crashes(self):
        """A stream that ends its engine again and again is found by halves, and kept apart from the
        others, which share theirs."""
        daemon = self.start(self.four())
        self.all_run(daemon, 'abcd')
        for _ in range(4):
            self.assertNotIn('isolated', daemon.logged())
            self.kill_and_wait(daemon, 'c', 'abcd')
        self.assertIn('stream c: isolated, because engines ended while it was active', daemon.logged())
        self.until(lambda: len(daemon.engines()) < 4)
        engines = daemon.engines()
        self.assertEqual(engines[daemon.status('c')['engine']]['streams'], ['c'])
        before = {name: daemon.status(name)['restarts'] for name in 'abd'}
        self.kill_and_wait(daemon, 'c', 'abcd')
        self.assertEqual({name: daemon.status(name)['restarts'] for name in 'abd'}, before)
        daemon.control('Restart', name='c')  # by hand: nothing is held against it
        self.until(lambda: daemon.status('c')['engine'] == 'cpu')

    def test_crashes_that_all_share(self):
        """Engines that end all at once, again and again: no stream is blamed, and no avalanche."""
        names = [f's{i}' for i in range(8)]
        daemon = self.start({name: self.stream(name, outputs=[{'null': True}]) for name in names})
        for _ in range(5):
            self.all_run(daemon, names)
            pids = daemon.pids()
            self.assertLess(len(pids), 4, daemon.engines())
            daemon.process.send_signal(signal.SIGSTOP)  # all at once, for who sees it
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):  # those that had nothing to do end
                    os.kill(pid, signal.SIGKILL)
            self.assertTrue(wait_until(lambda pids=pids: not any(map(is_alive, pids))), 'SIGKILL has no effect')
            daemon.process.send_signal(signal.SIGCONT)
            self.until(lambda pids=pids: not set(pids) & set(daemon.pids()))
        self.all_run(daemon, names)
        self.assertNotIn('isolated', daemon.logged())
        self.assertIn('none of them is the cause', daemon.logged())

    def test_engines_end_with_the_daemon(self):
        """kill -9 of the supervisor leaves no process; a new one takes its sockets over."""
        daemon = self.start()
        daemon.wait_state('one', 'running')
        pids = daemon.pids()
        daemon.process.kill()
        daemon.process.wait()
        self.until(lambda: not any(os.path.exists(f'/proc/{pid}') for pid in pids))
        again = self.start()
        again.wait_state('one', 'running')
        self.reader('one.ts')

    def test_good_end(self):
        """SIGTERM: exit 0, no process and no socket is left. SIGINT: 130."""
        for number, code in ((signal.SIGTERM, 0), (signal.SIGINT, 130)):
            daemon = self.start()
            daemon.wait_state('one', 'running')
            reader = self.reader('one.ts')
            pids = daemon.pids()
            self.assertEqual(daemon.stop(number), code, daemon.logged())
            self.assertFalse(any(os.path.exists(f'/proc/{pid}') for pid in pids))
            self.assertFalse(os.path.exists(self.path('one.ts')))
            self.assertFalse(os.path.exists(self.path('control.sock')))
            self.until(lambda: reader.ended)

    def test_engine_by_hand(self):
        """The hidden command says what it is, and does nothing."""
        self.halod('engine', code=64)

    def test_descriptors_of_engines(self):
        """Nothing of the supervisor's leaks into an engine."""
        daemon = self.start(self.four())
        for name in 'abcd':
            daemon.wait_state(name, 'running')
        readers = [self.reader(name) for name in ('a.ts', 'b.nut')]
        os.kill(daemon.pids()[0], signal.SIGKILL)
        self.until(lambda: daemon.status('a')['restarts'] == 1)
        daemon.wait_state('a', 'running')
        pid = daemon.pids()[0]
        for name, target in links(pid).items():
            self.assertNotIn(self.folder + '/a', target)
            if target.startswith('socket:'):
                self.assertEqual(name, '3', target)
        self.assertEqual(engines_of(daemon.process.pid), [pid])
        del readers


if __name__ == '__main__':
    main()
