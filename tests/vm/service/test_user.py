# SPDX-License-Identifier: BSD-2-Clause
# The unit of a user, with settings and sockets of their own.
import os
import pwd
import unittest

from servicetest import ADMIN, as_admin, main, ran, stream, systemctl, until, write


class User(unittest.TestCase):
    def test_streams_of_ones_own(self):
        systemctl('stop', 'halod')
        about = pwd.getpwnam(ADMIN)
        runtime, settings = f'/run/user/{about.pw_uid}', f'{about.pw_dir}/.config/halod/halod.yaml'
        folder = f'{runtime}/halod'
        as_admin(f'mkdir -p {os.path.dirname(settings)}')
        write({'mine': stream('mine', folder=folder)}, settings)
        ran('chown', ADMIN, settings)
        ran('loginctl', 'enable-linger', ADMIN)
        self.addCleanup(ran, 'loginctl', 'disable-linger', ADMIN)
        until(lambda: os.path.exists(f'{runtime}/systemd/private'), 'no manager of the user')
        within = f'export XDG_RUNTIME_DIR={runtime}; '
        as_admin(within + 'systemctl --user enable --now halod')
        until(lambda: '1 filtering' in as_admin(within + 'systemctl --user status halod'),
              lambda: as_admin(within + 'journalctl --user -u halod', code=None))
        self.assertIn('mine', as_admin(within + 'haloctl list'))
        self.assertTrue(os.path.exists(f'{folder}/mine.ts'))
        as_admin(within + 'systemctl --user disable --now halod')
        self.assertFalse(os.path.exists(folder))


if __name__ == '__main__':
    main()
