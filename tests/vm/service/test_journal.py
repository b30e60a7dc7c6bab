# SPDX-License-Identifier: BSD-2-Clause
# What a whole boot left in the journal.
import re
import unittest

from servicetest import main, ran

DENIED = re.compile('was refused the system call|type=1326|avc:|apparmor="DENIED"|status=31/SYS|'
                    'dumped core|segfault')


class Journal(unittest.TestCase):
    def test_1_nothing_was_denied(self):
        """No system call, nothing by a security module; the units kill for a call that is not
        allowed, here, so that none is missed."""
        ran('journalctl', '--sync')
        output = ran('journalctl', '--boot', '--no-pager', '-o', 'short-monotonic')
        self.assertIn('halod', output)
        self.assertEqual([line for line in output.splitlines() if DENIED.search(line)], [])

    def test_2_a_denial_would_be_seen(self):
        """A service that makes a call that halod's units do not allow."""
        output = ran('systemd-run', '--wait', '--property=SystemCallFilter=~@mount',
                   '--property=SystemCallErrorNumber=kill', '--unit=denied', 'mount', '-t', 'tmpfs',
                   'x', '/mnt', code=None)
        ran('journalctl', '--sync')
        output += ran('journalctl', '--boot', '--no-pager', '--grep', 'denied')
        self.assertTrue(DENIED.search(output), output)
        ran('systemctl', 'reset-failed', 'denied', code=None)


if __name__ == '__main__':
    main()
