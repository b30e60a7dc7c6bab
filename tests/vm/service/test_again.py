# SPDX-License-Identifier: BSD-2-Clause
# After a reboot: what is enabled runs. Then a newer package, and the package's end.
import glob
import hashlib
import json
import os
import re
import unittest

from servicetest import (ETC, RUN, SETTINGS, files, is_active, main, main_pid, ran, show,
                         stream, systemctl, until, write)
from test_install import BEFORE, HOME

NEWER = '/share/newer'


def status(unit):
    return show(unit, 'StatusText')


def version():
    return ran('dpkg-query', '-W', '-f', '${Version}', 'halod')


class Again(unittest.TestCase):
    """In this order."""

    def test_1_start_on_boot(self):
        self.assertTrue(is_active('halod'))
        self.assertEqual(show('halod', 'NRestarts'), '0')
        until(lambda: re.match('1 stream, 1 filtering on cpu', status('halod')),
              lambda: status('halod'))
        with open('/proc/uptime', encoding='ascii') as file:
            print('up', file.read().split()[0], 's, ready after',
                  int(show('halod', 'ActiveEnterTimestampMonotonic')) / 1e6, 's')

    def test_2_upgrade(self):
        """What runs is the new one, the settings are as they were, and so is what was off."""
        write({'one': stream(folder=f'{RUN}/door')}, f'{ETC}/door.yaml')
        systemctl('start', 'halod@door')
        units, old, was = ('halod', 'halod@door'), version(), self.settings()
        before = [main_pid(unit) for unit in units]
        ran('apt-get', 'install', '-y', *glob.glob(f'{NEWER}/*.deb'))
        self.assertNotEqual(version(), old)
        for unit, pid in zip(units, before):
            until(lambda u=unit, p=pid: is_active(u) and main_pid(u) not in (0, p),
                  f'{unit} is the old one')
            self.assertEqual(os.readlink(f'/proc/{main_pid(unit)}/exe'), '/usr/bin/halod')
        self.assertEqual(self.settings(), was)
        self.assertEqual([show(unit, 'UnitFileState') for unit in (*units, 'halod.socket')],
                         ['enabled', 'disabled', 'disabled'])
        self.assertEqual(systemctl('--failed', '--no-legend'), '')

    def settings(self):
        with open(SETTINGS, 'rb') as file:
            return hashlib.sha256(file.read()).hexdigest()

    def test_3_remove(self):
        """Nothing runs on, settings and state stay."""
        ran('apt-get', 'remove', '-y', 'halod', 'halod-tools')
        self.assertEqual(systemctl('list-units', '--no-legend', 'halod*'), '')
        self.assertEqual(ran('pgrep', '-l', 'halo', code=1), '')
        self.assertTrue(os.path.exists(SETTINGS))

    def test_4_purge(self):
        """What the machine's owner made is theirs; else all is as it was before."""
        ran('dpkg', '--purge', 'halod', 'halod-tools')
        self.assertTrue(os.path.exists(SETTINGS))
        ran('rm', '-r', ETC)
        with open(BEFORE, encoding='utf-8') as file:
            before, after = json.load(file), json.loads(json.dumps(files()))
        self.assertEqual({path: after[path] for path in after if after[path] != before.get(path)},
                         {})
        self.assertEqual([path for path in before if path not in after], [])
        self.assertFalse(os.path.exists(RUN))
        self.assertEqual(systemctl('list-unit-files', '--no-legend', 'halod*', code=None), '')
        self.assertTrue(os.path.exists(HOME))


if __name__ == '__main__':
    main()
