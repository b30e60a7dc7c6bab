# SPDX-License-Identifier: BSD-2-Clause
# Engines that flood, or that try what only a true process can; tests/world/events has those that lie.
import os
import sys
import time

from halotest.daemon import (HALOD, STANDIN_ENGINE_DAEMON, Control, DaemonTest, is_sanitized, main,
                             wait_until)

HERE = os.path.dirname(os.path.abspath(__file__))


class Hostile(DaemonTest):
    def hostile(self, *does, **more):
        """What the first engine does, and the next ones."""
        return self.start_with_engine(os.path.join(HERE, 'standin_engine.py'), None, {
            'STANDIN_DOES': '|'.join(does), 'HALOD': HALOD,
            'HALOD_FAULT': 'silence:1+,answer:1+', **more})

    def tell(self, name):
        with open(self.path(name), 'w'):
            pass

    def be_honest(self, daemon):
        """From now on engines are real ones: all is well again."""
        self.tell('honest')
        for pid in daemon.pids():
            try:
                os.kill(pid, 9)
            except ProcessLookupError:
                pass
        self.until(lambda: daemon.status('one')['filtered'] > 5)

    def controlled(self):
        try:
            with open(self.path('controlled')) as file:
                return file.read().split('\n')[:-1]
        except FileNotFoundError:
            return []

    def test_control(self):
        """An engine has halod's user, and is not let in, nor who it starts. One that goes on trying is
        killed; the call of one that has died is read after its end was seen."""
        begins = 'hello,start,running,'
        daemon = self.hostile(begins + 'controls,waits,controls_for_ever', begins + 'controls_and_dies')
        self.until(lambda: len(self.controlled()) == 3)
        self.assertEqual(self.controlled(), ['engine 0', 'thread 0', 'grandchild 0'])
        self.assertEqual(daemon.logged().count('tried to control halod: ignored'), 1, daemon.logged())
        self.assertEqual(daemon.state('one'), 'running', daemon.logged())
        self.assertEqual(daemon.engines()['cpu']['ignored_messages'], 3)
        self.assertEqual(daemon.engines()['cpu']['restarts'], 0)
        self.tell('end')
        self.until(lambda: 'it tried to control halod more than 100 times' in daemon.logged())
        self.until(lambda: 'to an engine that has ended, tried' in daemon.logged())
        self.assertNotIn(daemon.state('one'), ('stopped', 'disabled'), daemon.logged())
        self.be_honest(daemon)

    def test_a_flood(self):
        """One that never stops talking does not keep the loop for itself."""
        daemon = self.hostile('hello,start,running,floods')
        daemon.wait_state('one', 'running')
        for _ in range(20):
            daemon.status()
        if not is_sanitized():
            memory = daemon.memory()
            time.sleep(2)  # of the flood, which has no end: what it leaves would be far more by then
            self.assertLess(daemon.memory() - memory, 2048)
        self.be_honest(daemon)

    def test_a_disk_that_hangs(self):
        """It is not waited for at the end; what else there is to do then is done."""
        self.tell('honest')
        daemon = self.hostile(STANDIN_HANGS=self.path('hangs'))
        daemon.wait_state('one', 'running')
        asks = Control(daemon.path)
        self.addCleanup(asks.close)
        asks.send('Facts')
        self.until(lambda: os.path.exists(self.path('hangs')))
        self.assertEqual(daemon.stop(), 0, daemon.logged())
        self.assertFalse(os.path.exists(daemon.path))


if __name__ == '__main__':
    if not os.access(STANDIN_ENGINE_DAEMON, os.X_OK):
        print('STANDIN_ENGINE_DAEMON does not name a program\n0 passed, 0 failed, 1 skipped')
        sys.exit(77)
    main()
