# SPDX-License-Identifier: BSD-2-Clause
# What a service manager is told by a true process; tests/world/played_manager.c has when, and what.
import signal
import time

from halotest.daemon import process_state
from halotest.managed import ServiceTest, main


class Notify(ServiceTest):
    def test_from_begin_to_end(self):
        """Its engines know neither the socket nor the watchdog, which a loop that stands does not feed."""
        daemon, manager = self.managed(watchdog=1)
        self.assertEqual(manager.order('STATUS', 'READY')[:2], ['STATUS', 'READY'])
        daemon.wait_state('one', 'running')
        for pid in daemon.pids():
            with open(f'/proc/{pid}/environ', 'rb') as file:
                self.assertNotRegex(file.read(), b'NOTIFY_SOCKET|WATCHDOG_')
        self.until(lambda: '1 filtering on cpu' in manager.status(), manager.logged)
        daemon.process.send_signal(signal.SIGHUP)
        self.until(lambda: manager.order('RELOADING', 'READY') == ['READY', 'RELOADING', 'READY'],
                   manager.logged)
        self.assertLess(int(manager.values('MONOTONIC_USEC')[-1]), time.monotonic() * 1e6)
        self.until(lambda: manager.times('WATCHDOG'), manager.logged)
        daemon.process.send_signal(signal.SIGSTOP)
        self.until(lambda: process_state(daemon.process.pid) == 'T')
        since = time.monotonic()
        time.sleep(1.5)  # three would have come
        self.assertEqual(manager.times('WATCHDOG', since), [])
        daemon.process.send_signal(signal.SIGCONT)
        self.until(lambda: manager.times('WATCHDOG', since), manager.logged)
        self.assertEqual(daemon.stop(), 0)
        manager.hear_all()
        self.assertEqual(manager.order('READY', 'STOPPING')[-1], 'STOPPING')
        self.assertEqual(manager.values('EXTEND_TIMEOUT_USEC')[0], '5000000')


if __name__ == '__main__':
    main()
