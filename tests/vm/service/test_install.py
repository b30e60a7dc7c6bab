# SPDX-License-Identifier: BSD-2-Clause
# The packages installed, and the service set up, by the commands of docs/service.md.
import json
import os
import re
import shutil
import subprocess
import unittest

from servicetest import ADMIN, RUN, SETTINGS, as_admin, files, is_active, main, ran, show, systemctl, \
    until

PAGE, PACKAGES, BEFORE = '/share/service.md', '/share/packages', '/share/before.json'
HOME = f'/home/{ADMIN}'


def lines(title):
    """Of the first block of commands under a title, as they stand there."""
    with open(PAGE, encoding='utf-8') as file:
        section = re.search(f'^### {title}$(.*?)^##', file.read(), re.M | re.S)[1]
    return re.search('^```sh$(.*?)^```$', section, re.M | re.S)[1].strip().splitlines()


class Install(unittest.TestCase):
    """In this order."""

    def test_1_packages(self):
        """The line that installs; the ones before it made the packages."""
        ran('useradd', '--create-home', '--shell', '/bin/bash', ADMIN)
        with open('/etc/sudoers.d/admin', 'w', encoding='utf-8') as file:
            file.write(f'{ADMIN} ALL=(ALL) NOPASSWD: ALL\n')
        with open(BEFORE, 'w', encoding='utf-8') as file:
            json.dump(files(), file)
        os.makedirs(f'{HOME}/halod')
        for name in os.listdir(PACKAGES):
            shutil.copy(f'{PACKAGES}/{name}', HOME)
        commands = lines('Debian packages')
        self.assertEqual([line.split()[:2] for line in commands[:2]],
                         [['sudo', 'apt-get'], ['dpkg-buildpackage', '-us']])
        for line in commands[2:]:
            print(as_admin(line))
        for name in ('halod', 'halod-tools'):
            self.assertIn('Status: install ok installed', ran('dpkg', '-s', name))

    def test_2_nothing_runs_yet(self):
        """Enabled, and it waits for its settings, which is no failure."""
        self.assertEqual(show('halod', 'ActiveState'), 'inactive')
        self.assertEqual(show('halod', 'UnitFileState'), 'enabled')
        self.assertEqual(systemctl('--failed', '--no-legend'), '')
        about = os.stat(RUN)
        self.assertEqual(about.st_mode & 0o7777, 0o1775)

    def test_3_service(self):
        for line in lines('Install as a service'):
            with self.subTest(line=line):
                if line.startswith('ffplay'):
                    self.play(line)
                else:
                    print('$', line, as_admin(line), sep='\n', flush=True)

    def play(self, line):
        """It plays until it is told to end; there is no screen and no sound."""
        with subprocess.Popen(['su', '-', ADMIN, '-c', 'SDL_VIDEODRIVER=dummy '
                               f'SDL_AUDIODRIVER=dummy exec {line}'], stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as player:
            said = ''
            for words in iter(lambda: player.stderr.read(1), ''):
                said += words
                if 'Video: h264' in said:
                    break
            player.terminate()
        self.assertIn('Video: h264', said)

    def test_4_what_the_words_said(self):
        self.assertTrue(is_active('halod'))
        self.assertEqual(show('halod', 'UnitFileState'), 'enabled')
        self.assertIn('halod', as_admin('id -nG').split())
        until(lambda: re.match('1 stream, 1 filtering on cpu', show('halod', 'StatusText')),
              lambda: show('halod', 'StatusText'))
        self.assertRegex(as_admin('systemctl status halod'), r'Status: "1 stream, 1 filtering on cpu')
        self.assertRegex(as_admin('haloctl list'), 'check')
        self.assertEqual(os.stat(SETTINGS).st_uid, 0)

    def test_5_who_is_not_in_the_group(self):
        self.assertIn('you are not permitted to open',
                      ran('runuser', '-u', 'nobody', 'haloctl', 'list', code=None))
        systemctl('stop', 'halod')  # its pictures are more than this machine is good for


if __name__ == '__main__':
    main()
