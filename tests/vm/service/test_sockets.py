# SPDX-License-Identifier: BSD-2-Clause
# Sockets of systemd's: who connects starts the daemon, which takes them.
import os
import urllib.request

from servicetest import (ETC, RUN, ServiceTest, as_admin, is_active, main, main_pid, ran, stream,
                         systemctl, until, write)


class SocketTest(ServiceTest):
    def begin(self):
        write({'one': stream()})

    def listen(self, *units):
        systemctl('start', *units)
        self.addCleanup(systemctl, 'stop', *units, self.UNIT)
        self.assertFalse(is_active(self.UNIT))


class Control(SocketTest):
    def test_starts_the_daemon(self):
        self.listen('halod.socket')
        self.assertIn('one', as_admin('haloctl list'))
        self.assertTrue(is_active(self.UNIT))
        before = os.stat(f'{RUN}/control.sock').st_ino
        systemctl('restart', self.UNIT)
        self.assertIn('one', as_admin('haloctl list'))
        self.assertEqual(os.stat(f'{RUN}/control.sock').st_ino, before, 'it was made again')

    def test_is_gone_with_its_unit(self):
        self.listen('halod.socket')
        systemctl('stop', 'halod.socket')
        self.assertFalse(os.path.exists(f'{RUN}/control.sock'))


class Output(SocketTest):
    UNITS = 'halod.socket', 'halod-stream@one.ts.socket'

    def test_a_viewer_before_the_daemon(self):
        self.listen(*self.UNITS)
        viewer = self.reader(f'{RUN}/one.ts')
        self.wait_data(viewer)
        self.assertTrue(is_active(self.UNIT))
        self.assertNotIn('nobody', self.journal.text('--unit=' + self.UNIT))

    def test_a_viewer_waits_for_a_new_daemon(self):
        """No connection is refused while it is restarted."""
        self.listen(*self.UNITS)
        self.wait_data(self.reader(f'{RUN}/one.ts'))
        pid = main_pid(self.UNIT)
        systemctl('--no-block', 'restart', self.UNIT)
        until(lambda: main_pid(self.UNIT) != pid, 'no restart')
        self.wait_data(self.reader(f'{RUN}/one.ts'))


class Http(SocketTest):
    def test_without_a_network_of_its_own(self):
        write({'one': stream()}, http={'listen': '127.0.0.1:8480'})
        self.listen('halod-http.socket')
        with urllib.request.urlopen('http://127.0.0.1:8480/metrics', timeout=60) as answer:
            self.assertIn(b'halod_', answer.read())
        names = ran('nsenter', '-t', str(main_pid(self.UNIT)), '-n', 'cat', '/proc/net/dev')
        self.assertEqual([line.split(':')[0].strip() for line in names.splitlines()[2:]], ['lo'])


class Instance(SocketTest):
    UNIT = 'halod@door.service'

    def begin(self):
        path = f'{ETC}/door.yaml'
        write({'one': stream(folder=f'{RUN}/door')}, path)
        self.addCleanup(os.unlink, path)

    def test_control(self):
        self.listen('halod@door.socket')
        self.assertIn('one', as_admin(f'haloctl --socket {RUN}/door.sock list'))
        self.wait_data(self.reader(f'{RUN}/door/one.ts'))


if __name__ == '__main__':
    main()
