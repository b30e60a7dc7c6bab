# SPDX-License-Identifier: BSD-2-Clause
# haloctl: commands, words, exit codes, the live table in a terminal.
import fcntl
import json
import os
import pty
import re
import select
import signal
import socket
import struct
import subprocess
import termios
import time
import unittest

from halotest import PATIENCE, wait_until
from halotest.control import HALOCTL, ServedTest

COMMANDS = ('list', 'status', 'set', 'hide', 'keep', 'forget', 'start', 'stop', 'restart',
            'record', 'snapshot', 'reload', 'events', 'user', 'token', 'doctor')


class HaloctlTest(ServedTest):
    def change(self, *pairs):
        """halod.yaml: each text of its first place becomes the other one."""
        with open(self.path('halod.yaml')) as file:
            text = file.read()
        for old, new in pairs:
            self.assertIn(old, text)
            text = text.replace(old, new, 1)
        with open(file.name, 'w') as file:
            file.write(text)

    def bad(self, code, says, *words, **options):
        done = self.ctl(*words, **options)
        line = done.stderr.decode()
        self.assertEqual(done.returncode, code, line)
        self.assertRegex(line, r'\Ahaloctl: [^\n]+\n\Z')
        self.assertIn(says, line)
        return done.stdout.decode()


class Commands(HaloctlTest):
    def test_list(self):
        lines = self.good('list').splitlines()
        self.assertEqual([line.split()[0] for line in lines], ['door', 'road', 'bad'])
        self.assertRegex(lines[2], r'bad +waiting: .*no "such" file')

    def test_json(self):
        self.assertEqual(len(json.loads(self.good('--json', 'list'))['streams']), 3)
        self.assertIn('status', json.loads(self.good('status', '--json')))
        self.assertEqual(json.loads(self.good('-j', 'status', 'road'))['stream']['name'], 'road')
        self.assertEqual(json.loads(self.good('stop', 'door', '--json')), {})
        self.assertIn('added', json.loads(self.good('--json', 'reload')))
        answer = json.loads(self.bad(1, 'door', '--json', 'stop', 'dor'))
        self.assertEqual(answer['error'], 'io.halod.Control.NoSuchStream')

    def test_status(self):
        lines = self.good('status').splitlines()
        self.assertTrue(lines[0].startswith('NAME  STATE'), lines[0])
        self.assertEqual(len(lines), 4)
        self.assertNotIn('\x1b', ''.join(lines))
        self.assertIn('GPU MEMORY', lines[0])
        self.assertRegex(lines[1], r'^door .* cuda +1: 4\.7/74\.5 GiB *$')
        self.assertRegex(lines[2], r'^road .* cpu  ')
        at = lines[0].index('WHY')
        self.assertTrue(lines[3][at:].endswith('no "such" file'))
        self.assertRegex(self.good('status', 'door'), r'(?m)^gpu +1: 4\.7 of 74\.5 GiB used$')
        self.assertNotIn('gpu', self.good('status', 'road'))
        one = self.good('status', 'door')
        self.assertIn('2 late', one)
        self.assertIn('11.0 ms (99 %: 22.0 ms, most: 33.0 ms)', one)

    def test_set(self):
        self.assertEqual(self.good('set', 'door', 'filters=gblur=sigma=3,solid'), '')
        self.assertIn('gblur=sigma=3,solid', self.good('status', 'door'))
        self.bad(1, 'nearest: gblur', 'set', 'door', 'filters=gblr')
        self.assertIn('gblur=sigma=3,solid', self.good('status', 'door'))
        self.bad(64, 'nearest: filters', 'set', 'door', 'filter=x')
        self.assertEqual(self.good('set', 'door', 'control.brightness=128'), '')
        self.bad(64, 'a whole number', 'set', 'door', 'control.brightness=much')
        self.bad(64, 'a whole number', 'set', 'door', 'control.=1')
        self.bad(64, 'filters=CHAIN', 'set', 'door', 'solid')

    def test_states(self):
        for command, state in (('stop', 'stopped'), ('start', 'running'), ('restart', 'running')):
            self.assertEqual(self.good(command, 'door'), '')
            self.assertTrue(wait_until(lambda: re.search(f'door +{state}', self.good('list'))))
        self.good('record', 'door', 'start')
        self.good('record', 'door', 'stop')
        self.bad(1, "of the kind 'file'", 'record', 'road', 'start')
        self.bad(64, "'start' or 'stop'", 'record', 'road', 'on')

    def test_snapshot(self):
        for name in ('a.png', 'b.JPG', 'c.jpeg'):
            self.assertEqual(self.good('snapshot', 'door', self.path(name)), '')
            with open(self.path(name), 'rb') as file:
                self.assertEqual(file.read(), b'image')
            mask = os.umask(0)
            os.umask(mask)
            self.assertEqual(os.stat(self.path(name)).st_mode & 0o777, 0o666 & ~mask)
        self.assertEqual(self.ctl('snapshot', 'door', '-').stdout, b'image')
        self.bad(64, '.png, .jpg or .jpeg', 'snapshot', 'door', self.path('a.gif'))
        self.bad(1, 'No such file', 'snapshot', 'door', self.path('none/a.png'))
        self.bad(1, 'directory', 'snapshot', 'door', self.directory('b.png'))
        self.assertEqual([n for n in os.listdir(self.folder) if n.startswith('.halod-')], [])

    def directory(self, name):
        os.mkdir(self.path(name))
        return self.path(name)

    def test_reload(self):
        self.assertIn('nothing changed', self.good('reload'))
        self.assertEqual(self.good('reload', '--check'), 'the settings are valid\n')
        self.change(('sigma=12', 'sigma=5'), ('  bad:', '  new: {input: "test:", filters: solid, enabled: true}\n  bad:'))
        self.assertEqual(self.good('reload', '--check'), 'the settings are valid\n')
        self.assertNotIn('new', self.good('list'))
        text = self.good('reload')
        self.assertIn('added: new', text)
        self.assertIn('set: door', text)
        self.assertRegex(self.good('status', 'door'), '(?m)^restarts +0$')
        self.assertIn('new', self.good('list'))
        self.change(('enabled', 'enabeld'), ('sigma=5', 'sigma=-5'))
        for words in (('reload',), ('reload', '--check')):
            done = self.ctl(*words)
            self.assertEqual(done.returncode, 1)
            lines = done.stderr.decode().splitlines()
            self.assertEqual(len(lines), 3, lines)
            self.assertIn('sigma=-5', lines[0])
            self.assertIn('enabeld', lines[1])
        self.assertIn('new', self.good('list'))

    def test_passwords(self):
        """None is said."""
        self.change(('"test:"', 'http://me:geheim@127.0.0.1:9/x?key=geheim'))
        self.good('reload')
        for words in (['list'], ['status'], ['status', 'road'], ['--json', 'status'], ['doctor'],
                      ['--json', 'doctor']):
            said = self.ctl(*words).stdout
            self.assertIn(b'road' if words[-1] != 'doctor' else b'inputs', said)
            self.assertNotIn(b'geheim', said)

    def test_events(self):
        process = subprocess.Popen([HALOCTL, '--socket', self.socket, 'events'],
                                   stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)

        def comes():  # once it listens
            self.good('start', 'road')
            self.good('stop', 'road')
            return select.select([process.stdout], [], [], 0.25)[0]
        self.assertTrue(wait_until(comes), 'no event comes')
        # What was done until then may be told, too: only the order matters.
        output = iter(process.stdout)
        for words in r'asked +road Stop by user \d+ \(process \d+\)', 'state +road stopped':
            self.assertTrue(any(re.search(words, line) for line in output), words)

    def test_closed_output(self):
        with open('/dev/full', 'w') as full:
            done = subprocess.run([HALOCTL, '--socket', self.socket, 'list'], stdout=full,
                                  stderr=subprocess.PIPE, timeout=20 * PATIENCE)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b'standard output', done.stderr)


class Words(HaloctlTest):
    def test_usage(self):
        self.bad(64, 'nearest: status', 'satus')
        self.bad(64, 'nearest: socket', '--sokcet', 'x')
        self.bad(64, 'usage: haloctl set NAME', 'set', 'door')
        self.bad(64, 'usage', 'list', 'x')
        self.bad(64, 'no command was given')
        self.bad(64, 'does not accept this option', 'list', '--watch')
        self.bad(64, 'between 0.1', 'status', '--interval', '0')
        self.bad(64, 'requires a value', 'status', '--interval')
        self.bad(1, 'nearest: door', 'status', 'dorr')
        self.bad(1, 'UTF-8', 'stop', b'\xff\xfe')

    def test_no_daemon(self):
        nowhere = self.path('nowhere.sock')
        for words in (('list',), ('status', '--watch'), ('events',), ('stop', 'door'),
                      ('snapshot', 'door', self.path('x.png')), ('reload',)):
            self.bad(69, 'start it', *words, socket_path=nowhere)
        stale = self.path('stale.sock')
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(stale)
        self.bad(69, 'start it', 'list', socket_path=stale)
        self.bad(69, 'too long', 'list', socket_path='/tmp/' + 'x' * 300)

    def test_a_closed_socket(self):
        """As nobody, where the tests run as root, for whom nothing is closed."""
        os.chmod(self.folder, 0o755)
        os.chmod(self.socket, 0)
        other = {'user': 65534, 'group': 65534, 'extra_groups': []} if os.getuid() == 0 else {}
        try:
            done = subprocess.run([HALOCTL, '--socket', self.socket, 'list'], timeout=20 * PATIENCE, cwd='/',
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, **other)
        except PermissionError:
            self.skipTest('another user cannot run this haloctl')
        self.assertEqual(done.returncode, 69, done.stderr)
        self.assertRegex(done.stderr, rb'\Ahaloctl: you are not permitted to open .*: .*usermod -aG \w+')

    def test_the_users_own_daemon(self):
        os.mkdir(self.path('halod'))
        os.symlink(self.socket, self.path('halod/control.sock'))
        if os.path.exists('/run/halod/control.sock'):
            self.skipTest('a daemon of the system is here')
        done = subprocess.run([HALOCTL, 'list'], stdout=subprocess.PIPE, timeout=20 * PATIENCE,
                              env=dict(os.environ, XDG_RUNTIME_DIR=self.folder))
        self.assertEqual(done.returncode, 0)
        self.assertIn(b'door', done.stdout)

    def test_strange_daemons(self):
        answers = (b'hello\0', b'[]\0', b'{"parameters": 7}\0', b'{"error": 7}\0', b'', b'{',
                   b'{"parameters": {"streams": 7}}\0',
                   b'{"parameters": {"streams": [7, {"name": 8}]}}\0',
                   b'{"error": "a.b", "parameters": {"what": "\\u001b[31m\\nred"}}\0')
        for answer in answers:
            path = self.path('strange.sock')
            with socket.socket(socket.AF_UNIX) as server:
                server.bind(path)
                server.listen()
                process = subprocess.Popen([HALOCTL, '--socket', path, 'list'],
                                           stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                client, _ = server.accept()
                client.recv(1000)
                client.sendall(answer)
                client.close()
                out, err = process.communicate(timeout=20 * PATIENCE)
            os.unlink(path)
            self.assertIn(process.returncode, (0, 1), (answer, err))
            self.assertNotIn(b'\x1b', out + err)
            self.assertEqual(process.returncode == 1, bool(err), (answer, err))

    def test_help_and_version(self):
        text = self.good('--help')
        for command in COMMANDS:
            self.assertRegex(text, rf'\n  {command} ')
        for option in ('--socket', '--json', '--watch', '--interval', '--check'):
            self.assertIn(option, text)
        self.assertRegex(self.good('--version'), r'^haloctl \d+\.\d+\.\d+\n$')

    def completions(self, *words):
        script = self.path('completion')
        with open(script, 'w') as file:
            file.write(self.good('--completion'))
        path = self.directory_with_haloctl()
        code = f'. {script}; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _haloctl 2>/dev/null; ' \
               'printf "%s\\n" "${COMPREPLY[@]}"'
        done = subprocess.run(['bash', '-c', code, 'x', 'haloctl', *words], stdout=subprocess.PIPE,
                              env=dict(os.environ, PATH=path + ':' + os.environ['PATH']),
                              text=True, timeout=20 * PATIENCE)
        return done.stdout.split()

    def directory_with_haloctl(self):
        folder = self.path('bin')
        if not os.path.isdir(folder):
            os.mkdir(folder)
            with open(os.path.join(folder, 'haloctl'), 'w') as file:
                file.write(f'#!/bin/sh\nexec {HALOCTL} --socket {self.socket} "$@"\n')
            os.chmod(file.name, 0o755)
        return folder

    def test_completion(self):
        self.assertEqual(sorted(self.completions('')), sorted(COMMANDS))
        self.assertEqual(sorted(self.completions('st')), ['start', 'status', 'stop'])
        self.assertEqual(sorted(self.completions('status', '')), ['bad', 'door', 'road'])
        self.assertEqual(self.completions('set', 'door', 'f'), ['filters='])
        self.assertEqual(self.completions('record', 'road', ''), ['start', 'stop'])
        self.assertEqual(self.completions('--socket', 'x', 'record', 'road', 'sto'), ['stop'])
        for words in (('--socket', self.socket), ('-s', self.socket), ('--socket', '=', self.socket)):
            self.assertEqual(sorted(self.completions(*words, 'stop', '')), ['bad', 'door', 'road'])
        self.assertEqual(self.completions('--socket', '/nobody', 'stop', ''), [])
        self.assertEqual(self.completions('--ch'), ['--check'])
        self.assertEqual(self.completions('list', ''), [])


class Watch(HaloctlTest):
    def test_lines_without_a_terminal(self):
        process = subprocess.Popen([HALOCTL, '--socket', self.socket, 'status', '--watch', '-n',
                                    '0.1'], stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        for name in ('door', 'road', 'bad'):
            self.assertTrue(process.stdout.readline().startswith(name))
        time.sleep(0.5)  # counters change, and are no news
        self.good('stop', 'road')
        self.assertRegex(process.stdout.readline(), '^road +stopped: ')

    def test_the_end_of_the_daemon(self):
        process = subprocess.Popen([HALOCTL, '--socket', self.socket, 'status', '--watch'],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stdout.readline()
        self.stop()
        _, err = process.communicate(timeout=20 * PATIENCE)
        self.assertEqual(process.returncode, 1)
        self.assertIn(b'closed the connection', err)

    def terminal(self, columns, rows, *words):
        pid, fd = pty.fork()
        if pid == 0:
            self.resize(0, columns, rows)  # before it looks
            os.environ['TERM'] = 'xterm'
            os.execv(HALOCTL, [HALOCTL, '--socket', self.socket, 'status', '--watch', '-n', '0.2',
                               *words])
        self.addCleanup(os.close, fd)
        return pid, fd

    def resize(self, fd, columns, rows):
        fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack('HHHH', rows, columns, 0, 0))

    def read_until(self, fd, happened):
        """What comes until happened(text), or until the program ends."""
        data, end = b'', time.monotonic() + 60 * PATIENCE
        while not happened(data.decode(errors='replace')) and time.monotonic() < end:
            if select.select([fd], [], [], 0.05)[0]:
                try:
                    data += os.read(fd, 65536)
                except OSError:
                    break
        return data.decode(errors='replace')

    def read_to_end(self, fd):
        return self.read_until(fd, lambda text: False)

    def read_words(self, fd, *words):
        text = self.read_until(fd, lambda text: all(word in text for word in words))
        for word in words:
            self.assertIn(word, text)

    def read_begin(self, fd):
        """Until it has a screen of its own, and all else that it needs."""
        self.read_words(fd, '\x1b[?1049h')

    def read_picture(self, fd, is_it):
        """The lines of the first whole picture that is_it(lines): the next one has begun."""
        def found(said):
            for picture in said.split('\x1b[H')[1:-1]:
                text = re.sub(r'\x1b\[[?0-9]*[A-Za-z]|\r', '', picture)
                lines = text.split('\n')
                if is_it(lines):
                    return lines
            return None
        said = self.read_until(fd, found)
        self.assertTrue(found(said), said)
        return found(said)

    def test_the_live_table(self):
        pid, fd = self.terminal(120, 24)
        self.read_words(fd, '\x1b[?1049h', '\x1b[32mrunning', 'q: quit')
        self.resize(fd, 30, 3)
        lines = self.read_picture(fd, lambda lines: len(lines) <= 3)
        self.assertTrue(all(len(line) <= 30 for line in lines), lines)
        os.write(fd, b'q')
        self.assertIn('\x1b[?1049l', self.read_to_end(fd))
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0)

    def test_all_of_one_stream(self):
        """What status NAME shows, cut to the terminal."""
        whole = self.good('status', 'door').splitlines()
        wanted = {line[:10].strip() for line in whole} - {''}
        pid, fd = self.terminal(40, 60, 'door')
        lines = self.read_picture(fd, lambda lines: wanted <= {line[:10].strip() for line in lines})
        self.assertTrue(all(len(line) <= 40 for line in lines[:-1]), lines)
        os.write(fd, b'q')
        self.read_to_end(fd)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0)

    def test_interrupts(self):
        for act in (lambda pid, fd: os.write(fd, b'\x03'),
                    lambda pid, fd: os.kill(pid, signal.SIGTERM)):
            pid, fd = self.terminal(100, 24, 'door')
            self.read_begin(fd)
            act(pid, fd)
            self.assertIn('\x1b[?25h\x1b[?1049l', self.read_to_end(fd))
            self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0)

    def test_a_daemon_that_ends(self):
        pid, fd = self.terminal(100, 24)
        self.read_begin(fd)
        self.stop()
        text = self.read_to_end(fd)
        self.assertIn('closed the connection', text.split('\x1b[?1049l')[1])
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 1)


class Doctor(HaloctlTest):
    def findings(self, **options):
        done = self.ctl('--json', 'doctor', **options)
        answer = json.loads(done.stdout)
        self.assertEqual(done.returncode, 1 if answer['failed'] else 0)
        return {check['name']: check for check in answer['checks']}

    def test_no_daemon(self):
        found = self.findings(socket_path=self.path('none.sock'))
        self.assertEqual(found['daemon']['level'], 'failed')
        self.assertIn('systemctl start', found['daemon']['fix'])
        self.assertEqual(found['folders']['level'], 'skipped')
        self.assertGreaterEqual(len(found), 12)

    def test_a_daemon(self):
        found = self.findings()
        self.assertEqual(found['daemon']['level'], 'ok')
        self.assertEqual(found['sockets']['level'], 'ok')
        self.assertEqual(found['streams']['level'], 'warning')
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(self.path('left.sock'))
        self.assertIn('left.sock', self.findings()['sockets']['what'])

    def test_words(self):
        done = self.ctl('doctor')
        self.assertEqual(done.returncode, 1)
        self.assertIn(b'WARN  streams', done.stdout)
        self.assertIn(b'fix: ', done.stdout)

    def nvidia(self, kernel, library):
        root = self.path('root')
        os.makedirs(root + '/proc/driver/nvidia', exist_ok=True)
        os.makedirs(root + '/usr/lib64', exist_ok=True)
        with open(root + '/proc/driver/nvidia/version', 'w') as file:
            file.write(f'NVRM version: NVIDIA UNIX x86_64 Kernel Module  {kernel}  Tue Jul\n')
        name = f'libcuda.so.{library}'
        with open(f'{root}/usr/lib64/{name}', 'w'):
            pass
        if not os.path.lexists(root + '/usr/lib64/libcuda.so.1'):
            os.symlink(name, root + '/usr/lib64/libcuda.so.1')
        return {'HALOCTL_ROOT': root}

    def test_a_driver_and_another_library(self):
        self.change(('cuda, gpu: 1', 'cpu'))
        self.good('reload')
        found = self.findings(environment=self.nvidia('580.95.05', '580.82.07'))
        self.assertEqual(found['library']['level'], 'failed')
        self.assertIn('580.82.07', found['library']['what'])
        self.assertEqual(found['driver']['level'], 'ok')

    def test_what_the_daemon_sees(self):
        """Also of a stream that does not run."""
        self.change((self.folder + '/door-', '/proc/nowhere/%Y/'), ('"test:"', '/nonexistent.mp4'), (
            '  bad:', '  off: {input: "test:", enabled: false, filters: "solid=gray:region=faces", '
                      'detectors: {faces: {command: /nowhere/find geheim}}}\n  bad:'))
        self.good('reload')
        found = self.findings(environment={'HALOCTL_ROOT': self.folder})
        for name in ('folders', 'inputs', 'driver'):
            self.assertEqual(found[name]['level'], 'failed', found[name])
            self.assertTrue(found[name]['fix'])
        self.assertIn('/proc/nowhere', found['folders']['what'])
        self.assertEqual((found['detectors']['level'], found['detectors']['what']), (
            'failed', 'stream off: everything is hidden, because the detector of faces cannot start: '
                      '/nowhere/find: there is no such program'))


if __name__ == '__main__':
    unittest.main()
