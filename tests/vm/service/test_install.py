# SPDX-License-Identifier: BSD-2-Clause
# The packages installed, and the service set up, by the commands of docs/service.md.
import json
import os
import re
import shutil
import subprocess
import unittest
import urllib.request

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
    cookies = urllib.request.HTTPCookieProcessor()

    def ask(self, path, body=None, session=None):
        request = urllib.request.Request(
            f'http://127.0.0.1:8480/api/{path}', json.dumps(body).encode() if body else None,
            {'Content-Type': 'application/json',
             'X-Halod-Token': session['token'] if session else ''})
        with urllib.request.build_opener(self.cookies).open(request, timeout=60) as answer:
            return json.load(answer)

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

    def test_2_there_is_a_page(self):
        """Without streams: the first camera is added there, after a user."""
        until(lambda: is_active('halod'), lambda: show('halod', 'StatusText'))
        self.assertEqual(show('halod', 'UnitFileState'), 'enabled')
        self.assertEqual(show('halod-http.socket', 'UnitFileState'), 'enabled')
        with urllib.request.urlopen('http://127.0.0.1:8480/', timeout=60) as answer:
            self.assertIn(b'<title>halod', answer.read())
        session = self.ask('session')
        self.assertEqual((session['role'], session['setup']), ('view', True))
        with open('/var/lib/halod/setup-code', encoding='utf-8') as file:
            code = file.read().strip()
        session = self.ask('setup', {'code': code, 'user': 'anna', 'password': 'correct horse'})
        self.assertEqual(session['role'], 'admin')
        answer = self.ask('call/Keep', {'name': 'first', 'settings': {
            'input': 'test:size=64x48:rate=5', 'filters': 'gblur=sigma=12'}}, session)
        self.assertEqual(answer['added'], ['first'])
        dumped = ran('halod', '--dump-config', SETTINGS)
        self.assertIn('gblur=sigma=12', dumped)
        self.assertEqual(self.ask('call/Forget', {'name': 'first'}, session)['removed'], ['first'])
        systemctl('stop', 'halod')  # other tests begin without users
        os.unlink('/var/lib/halod/users.json')
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
