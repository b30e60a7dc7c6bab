# SPDX-License-Identifier: BSD-2-Clause
# The control socket of a process: its path, and its descriptors. Methods, errors and limits are a list:
# tests/world/events/control.events.
import os
import re
import socket
import subprocess
import unittest

from halotest import RUN_TIMEOUT
from halotest.standin import INTERFACE, StandinTest

SERVICE = 'org.varlink.service.'


class Process(StandinTest):
    def test_a_snapshot_that_waits_is_no_engine_s(self):
        """An engine that is started meanwhile does not get the image's descriptor."""
        client = self.client()
        for _ in range(100):  # more than the socket takes
            client.send('GetInterfaceDescription', {'interface': INTERFACE[:-1]}, SERVICE)
        client.send('Snapshot', {'name': 'door', 'format': 'jpg'})
        self.until(lambda: len(self.memory_files()) == 1, self.memory_files)
        self.assertTrue(self.memory_files()[0] & os.O_CLOEXEC)

    def memory_files(self):
        """Flags of the daemon's descriptors of them."""
        found, folder = [], f'/proc/{self.daemon.pid}/fd'
        for fd in os.listdir(folder):
            try:
                if os.readlink(f'{folder}/{fd}').startswith('/memfd:'):
                    with open(f'{folder}info/{fd}') as file:
                        found.append(int(re.search(r'flags:\s*(\d+)', file.read())[1], 8))
            except FileNotFoundError:
                pass  # closed meanwhile
        return found


class Socket(StandinTest):
    def refused(self, why):
        done = subprocess.run(self.command(), capture_output=True, text=True, timeout=RUN_TIMEOUT)
        self.assertEqual(done.returncode, 1)
        self.assertIn(why, done.stderr)

    def test_what_stands_at_its_path(self):
        self.refused('another process is listening on')
        self.assertIn('parameters', self.client().call('List'))
        self.daemon.kill()
        self.daemon.wait()
        self.daemon.stdout.close()
        self.assertTrue(os.path.exists(self.socket))
        self.http = 'unix:' + self.path('http.sock')
        self.start()  # in the place of the one that was killed
        self.assertIn('parameters', self.client().call('List'))
        self.assertTrue(os.path.exists(self.path('http.sock')))
        self.stop()
        self.assertEqual([os.path.exists(self.path(name)) for name in ('control.sock', 'http.sock')],
                         [False, False])
        with open(self.socket, 'w') as file:
            file.write('mine')
        self.refused('not a socket')
        with open(self.socket) as file:
            self.assertEqual(file.read(), 'mine')
        os.unlink(self.socket)
        self.start()
        os.unlink(self.socket)
        with socket.socket(socket.AF_UNIX) as other:
            other.bind(self.socket)
            self.stop()
            self.assertTrue(os.path.exists(self.socket), 'that of another is left')
        self.socket = '/tmp/' + 'x' * 200
        self.refused('at most 107 bytes')


if __name__ == '__main__':
    unittest.main()
