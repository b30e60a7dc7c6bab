# SPDX-License-Identifier: BSD-2-Clause
# What is left of processes that end, and of what they had.
import contextlib
import glob
import os
import signal

from halotest.daemon import DaemonTest, links, main


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
    def test_ends(self):
        """kill -9 of an engine: the next one has nothing of the supervisor's. kill -9 of the supervisor leaves
        no process, and a new one takes its sockets over. SIGTERM: exit 0, no process and no socket is left.
        SIGINT: 130."""
        streams = {name: self.stream(name, suffix) for name, suffix in (('a', 'ts'), ('b', 'nut'), ('c', 'mkv'))}
        daemon = self.start(streams)
        for name in streams:
            daemon.wait_state(name, 'running')
        readers = [self.reader(name) for name in ('a.ts', 'b.nut')]
        os.kill(daemon.pids()[0], signal.SIGKILL)
        self.until(lambda: daemon.status('a')['restarts'] == 1)
        daemon.wait_state('a', 'running')
        [pid] = daemon.pids()
        for name, target in links(pid).items():
            self.assertNotIn(self.folder + '/a', target)
            if target.startswith('socket:'):
                self.assertEqual(name, '3', target)
        self.assertEqual(engines_of(daemon.process.pid), [pid])
        del readers
        daemon.process.kill()
        daemon.process.wait()
        self.until(lambda: not os.path.exists(f'/proc/{pid}'))
        for number, code in ((signal.SIGTERM, 0), (signal.SIGINT, 130)):
            daemon = self.start(streams)
            daemon.wait_state('a', 'running')
            reader, pids = self.reader('a.ts'), daemon.pids()
            self.assertEqual(daemon.stop(number), code, daemon.logged())
            self.assertFalse(any(os.path.exists(f'/proc/{pid}') for pid in pids))
            self.assertFalse(os.path.exists(self.path('a.ts')))
            self.assertFalse(os.path.exists(self.path('control.sock')))
            self.until(lambda: reader.ended)

    def test_engine_by_hand(self):
        """The hidden command says what it is, and does nothing."""
        self.halod('engine', code=64)


if __name__ == '__main__':
    main()
