# SPDX-License-Identifier: BSD-2-Clause
# Engines that have given up what they do not need, in a daemon that goes on.
"""$HALO_CONFINED is 1 where the build has a filter of system calls."""
import errno
import os
import re
import shutil
import signal
import socket
import socketserver
import subprocess
import threading
import unittest

from halotest.managed import ServiceTest, main
from halotest import (AS_ANOTHER, FFMPEG, PATIENCE, HaloTest, calls, halod_command,
                      halod_environment, need_faults, plain_clip, wait_until)
from halotest.daemon import is_alive
from halotest.detector import STANDIN

GPU = os.path.exists('/dev/nvidiactl')  # its driver has sockets of its own
CONFINED = os.environ.get('HALO_CONFINED') == '1'


def status_of(pid):
    with open(f'/proc/{pid}/status') as file:
        return dict(line.split(':\t', 1) for line in file.read().splitlines() if ':\t' in line)


def children_of(pid):
    with open(f'/proc/{pid}/task/{pid}/children') as file:
        return file.read().split()


class Confined(ServiceTest):
    def test_all_threads_of_engines(self):
        """No new privileges in any; with a filter where the build has one."""
        daemon = self.start()
        self.reader('one.ts')
        [pid] = daemon.pids()
        threads = os.listdir(f'/proc/{pid}/task')
        self.assertGreater(len(threads), 4)
        for thread in threads:
            try:
                output = status_of(f'{pid}/task/{thread}')
            except OSError:  # it has ended
                continue
            self.assertEqual(output['NoNewPrivs'], '1')
            if CONFINED:
                self.assertEqual(output['Seccomp'], '2')
        self.assertNotIn('unconfined', daemon.logged())

    @unittest.skipUnless(CONFINED, 'a build with sanitizers, or without libseccomp')
    def test_a_refused_call(self):
        """It fails, the log names the call and the engine once, and the engine goes on."""
        need_faults()
        daemon = self.start({'one': self.stream(), 'two': self.stream('two')},
                            environment={'HALOD_FAULT': 'call:1+'})
        self.until(lambda: daemon.runs('one') and daemon.runs('two'))
        [pid] = daemon.pids()
        said = re.findall(r'engine cpu: process (\d+) was refused the system call (.*)',
                          daemon.logged())
        self.assertEqual(said, [(str(pid), 'ptrace (101); further ones are not logged')]
                         if calls.HERE else said)
        self.assertEqual(daemon.engines()['cpu']['restarts'], 0)
        self.reader('one.ts')

    @unittest.skipUnless(CONFINED and calls.HERE, 'not confined, or not x86-64')
    def test_every_system_call(self):
        """Those that exist and those that will, and those of x32 and i386."""
        need_faults()
        kinds = calls.kinds()
        daemon = self.start(environment={'HALOD_FAULT': 'probe:1', 'HALOD_PROBE_CALLS': kinds})
        self.until(lambda: calls.is_told(daemon.logged(), kinds))
        calls.check(self, daemon.logged(), kinds)
        daemon.wait_state('one', 'running')

    def hook(self):
        """A program that notes what it was started for."""
        path = self.path('hook')
        with open(path, 'w') as file:
            file.write(f'#!/bin/sh\necho $PPID >> {self.path("parents")}\n'
                       f'echo "$1" >> {self.path("hooked")}\n')
        os.chmod(path, 0o755)
        return path

    def recorded(self, name, **more):
        return self.stream(name, outputs=[{'unix': self.path(f'{name}.ts')}, {
            'file': self.path(name + '-%H%M%S.mkv'), 'segment_time': '1s', **more}])

    def was_started(self, name):
        try:
            with open(self.path('hooked')) as file:
                return name in file.read()
        except OSError:
            return False

    def clip(self, folder):
        os.mkdir(self.path(folder))
        path = self.path(f'{folder}/a.mkv')
        subprocess.run([FFMPEG, '-nostdin', '-v', 'error', '-f', 'lavfi', '-i',
                        'testsrc2=size=320x240:rate=25', '-t', '1', path], check=True)
        return path

    def played(self, path, *outputs):
        return self.stream(input=path, loop=True, realtime=True,
                           outputs=[{'unix': self.path('one.ts')}, *outputs])

    def probed(self, daemon):
        """What an engine tried, and what came of it."""
        self.until(lambda: 'probe: exec: ' in daemon.logged())
        return dict(re.findall(r'probe: (.*): (.*)', daemon.logged()))

    def taken_over(self, *outputs):
        """What one tried that plays a clip to these outputs, and what came of it."""
        need_faults()
        clip = self.clip('in')
        with open(self.path('in/other'), 'w'):
            pass
        paths = [clip, self.path('in/other'), self.path('halod.yaml'), '/etc/shadow',
                 self.path('control.sock')]
        daemon = self.start({'one': self.played(clip, *outputs)},
                            environment={'HALOD_FAULT': 'probe:1', 'HALOD_PROBE': ':'.join(paths)})
        probed = self.probed(daemon)
        if 'has no Landlock' not in daemon.logged():
            self.assertEqual(probed['read ' + clip], 'done')
            for path in paths[1:3 if outputs else 4]:  # of /etc names are looked up
                self.assertEqual(probed['read ' + path], 'Permission denied', path)
        for what in 'kill', 'tkill', 'prlimit', 'exec':
            self.assertEqual(probed[what], 'Operation not permitted', what)
        self.assertNotEqual(probed['control'], 'done')
        daemon.wait_state('one', 'running')
        return daemon, probed

    @unittest.skipUnless(CONFINED, 'a build with sanitizers, or without libseccomp')
    def test_one_that_was_taken_over(self):
        """It may open its stream's input and no file beside it, and reaches nobody."""
        daemon, probed = self.taken_over()
        if not GPU:
            self.assertEqual(probed['control'], os.strerror(errno.EAFNOSUPPORT))
            self.assertNotIn('tried to control halod', daemon.logged())

    @unittest.skipUnless(CONFINED, 'a build with sanitizers, or without libseccomp')
    def test_playlist_that_names_a_file(self):
        """What a URL leads to cannot make an engine read this machine's files."""
        clip = self.path('clip.ts')
        subprocess.run([FFMPEG, '-nostdin', '-v', 'error', '-f', 'lavfi', '-i',
                        'testsrc2=size=320x240:rate=25', '-t', '1', clip], check=True)
        playlist = f'#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nfile://{clip}\n#EXT-X-ENDLIST\n'
        class Camera(socketserver.BaseRequestHandler):
            def handle(self):
                self.request.sendall(playlist.encode())
        server = socketserver.ThreadingTCPServer(('127.0.0.1', 0), Camera)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        for end in thread.join, server.server_close, server.shutdown:
            self.addCleanup(end)
        url = f'tcp://127.0.0.1:{server.server_address[1]}'
        if subprocess.run([FFMPEG, '-nostdin', '-v', 'error', '-i', url, '-f', 'null', '-'],
                          check=False, timeout=60 * PATIENCE).returncode:
            self.skipTest('this FFmpeg does not open such files')
        daemon = self.start({'one': self.stream(input=url)})
        if 'has no Landlock' in daemon.logged():
            self.skipTest('this kernel has no Landlock')
        self.until(lambda: 'cannot be read' in daemon.status('one')['why'])
        self.assertEqual(daemon.status('one')['filtered'], 0)

    def test_file_that_names_others(self):
        """Whoever makes a file does not choose what is played, unless the settings say that it is a playlist."""
        os.mkdir(self.path('in'))
        clip, playlist = self.path('in/clip.ts'), self.path('in/list.m3u8')
        subprocess.run([FFMPEG, '-nostdin', '-v', 'error', '-f', 'lavfi', '-i',
                        'testsrc2=size=320x240:rate=25', '-t', '1', clip], check=True)
        with open(playlist, 'w', encoding='ascii') as file:
            file.write('#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nclip.ts\n#EXT-X-ENDLIST\n')
        daemon = self.start({'one': self.played(playlist)})
        self.until(lambda: 'name other files' in daemon.status('one')['why'])
        self.assertEqual(daemon.status('one')['filtered'], 0)
        daemon.write({'one': {**self.played(playlist), 'input_format': 'hls'}})
        daemon.control('Reload')
        self.until(lambda: daemon.status('one')['filtered'] > 0)
        with socket.create_server(('127.0.0.1', 0)) as server:
            server.setblocking(False)
            url = f'http://127.0.0.1:{server.getsockname()[1]}/clip.ts'
            with open(playlist, 'w', encoding='ascii') as file:
                file.write(f'#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\n{url}\n#EXT-X-ENDLIST\n')
            daemon.control('Restart', name='one')
            self.until(lambda: daemon.status('one')['why'])
            with self.assertRaises(BlockingIOError):
                server.accept()

    @unittest.skipUnless(CONFINED, 'a build with sanitizers, or without libseccomp')
    def test_one_that_has_a_network(self):
        """It has sockets, and the control socket does not let it in."""
        daemon, _ = self.taken_over({'url': 'udp://127.0.0.1:9', 'format': 'mpegts'})
        self.assertIn('tried to control halod', daemon.logged())

    @unittest.skipUnless(CONFINED, 'a build with sanitizers, or without libseccomp')
    def test_a_network_that_comes(self):
        """By a reload, to a stream without: it gets another engine, for none can get more."""
        clip = self.clip('in')
        daemon = self.start({'one': self.played(clip), 'two': self.stream('two')})
        daemon.wait_state('one', 'running')
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taker:
            taker.bind(('127.0.0.1', 0))
            taker.settimeout(20 * PATIENCE)
            url = f'udp://127.0.0.1:{taker.getsockname()[1]}'
            daemon.write({'one': self.played(clip, {'url': url, 'format': 'mpegts'}),
                          'two': self.stream('two')})
            daemon.control('Reload')
            self.assertTrue(taker.recv(2000))
        self.assertGreater(len(daemon.engines()), 1, daemon.engines())

    def test_files_that_come(self):
        """By a reload, or in the place of what was there: then another engine opens them, and the
        other stream does not notice."""
        first, second = self.clip('first'), self.clip('second')
        daemon = self.start({'one': self.played(first), 'two': self.stream('two')})
        daemon.wait_state('one', 'running')
        reader = self.reader('two.ts')
        restarts = daemon.status('two')['restarts']
        recorded = {'file': self.path('rec/%H%M%S.mkv'), 'segment_time': 1}
        daemon.write({'one': self.played(second, recorded), 'two': self.stream('two')})
        daemon.control('Reload')
        self.until(lambda: os.path.isdir(self.path('rec')) and os.listdir(self.path('rec')))
        daemon.wait_state('one', 'running')
        os.rename(self.path('rec'), self.path('gone'))  # at once: the engine writes there
        shutil.rmtree(self.path('gone'), ignore_errors=True)
        self.until(lambda: os.path.isdir(self.path('rec')) and os.listdir(self.path('rec')))
        os.rename(first, second)
        daemon.control('Restart', name='one')
        daemon.wait_state('one', 'running')
        self.assertEqual(daemon.status('two')['restarts'], restarts)
        self.assertFalse(reader.ended)

    def test_hooks(self):
        """One comes by a reload, to the engine that is there; the other stream does not notice. halod starts it,
        and not the engine that writes the files; also for the last file, which halod finishes when it ends."""
        hook, two = self.hook(), self.stream('two')
        daemon = self.start({'one': self.recorded('one'), 'two': two})
        daemon.wait_state('one', 'running')
        reader = self.reader('two.ts')
        restarts = daemon.status('two')['restarts']
        daemon.write({'one': self.recorded('one', hook=hook), 'two': two})
        daemon.control('Reload')
        self.until(lambda: self.was_started('one-'))
        with open(self.path('parents')) as file:
            self.assertEqual(set(file.read().split()), {str(daemon.process.pid)})
        self.assertEqual(list(daemon.engines()), ['cpu'])
        self.assertEqual(daemon.status('two')['restarts'], restarts)
        self.assertFalse(reader.ended)
        last = self.recorded('last', hook=hook, segment_time='1:00:00')
        daemon.write({'last': last, 'two': two})
        daemon.control('Reload')
        self.until(lambda: any(o.get('path') for o in daemon.status('last')['outputs']) and
                   daemon.status('last')['encoded'] > 50)
        self.assertEqual(daemon.stop(), 0)
        self.until(lambda: self.was_started('last-'))

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which('setpriv'), 'only root becomes another')
    def test_the_supervisor_is_out_of_reach(self):
        """As a service: what is in /proc of it is root's, so no engine, of the same user, can look
        into it or change it; nor of engines. No variable changes that."""
        os.chmod(self.folder, 0o777)
        manager = self.manager()
        os.chmod(manager.path, 0o666)
        daemon = self.start(wrapper=AS_ANOTHER,
                            environment={'NOTIFY_SOCKET': manager.path, 'HALOD_DEBUGGABLE': '1'})
        daemon.wait_state('one', 'running')
        self.assertEqual(status_of(daemon.process.pid)['Uid'].split()[0], '65534')
        for pid in (daemon.process.pid, *daemon.pids()):
            self.assertEqual(os.stat(f'/proc/{pid}/mem').st_uid, 0)
        self.until(lambda: manager.times('READY'))


class Run(HaloTest):
    """halod run, plan and the steps of jobs decode confined; a helper that decodes nothing starts
    detectors."""

    def settled(self, *more):
        """A run that waits for the rest of its input, when it has filtered frames of it."""
        run = subprocess.Popen([*halod_command('run', '-v', 'debug', '-progress', 'progress', *more,
                                               '-i', '-', '-vf', 'gblur=sigma=9', 'out.mkv')],
                               cwd=self.folder, stdin=subprocess.PIPE, stderr=subprocess.PIPE,
                               env=halod_environment())
        self.addCleanup(run.stderr.close)
        self.addCleanup(run.wait)
        self.addCleanup(run.kill)
        self.addCleanup(run.stdin.close)
        with open(plain_clip('.ts', seconds=20), 'rb') as file:
            run.stdin.write(file.read())
        run.stdin.flush()
        def frames():
            try:
                with open(self.path('progress')) as file:
                    return [int(n) for n in re.findall(r'frame=(\d+)', file.read())]
            except OSError:
                return []
        self.assertTrue(wait_until(lambda: any(frames())))
        return run

    def test_all_threads(self):
        run = self.settled()
        threads = os.listdir(f'/proc/{run.pid}/task')
        self.assertGreater(len(threads), 2)
        for thread in threads:
            output = status_of(f'{run.pid}/task/{thread}')
            self.assertEqual(output['NoNewPrivs'], '1')
            self.assertEqual(output['Seccomp'], '2' if CONFINED else status_of('self')['Seccomp'])

    def test_its_helper_ends_with_it(self):
        """Also if it is killed; and no signal of the terminal ends the helper first."""
        run = self.settled()
        [helper] = map(int, children_of(run.pid))
        for number in signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGTSTP:
            os.kill(helper, number)
        self.assertTrue(is_alive(helper))
        run.kill()
        self.assertTrue(wait_until(lambda: not is_alive(helper)))

    def test_signals(self):
        """They come to the process that was started, and stop, continue and end it."""
        run = self.settled()
        run.send_signal(signal.SIGSTOP)  # SIGTSTP does nothing where no shell is
        self.assertTrue(wait_until(lambda: status_of(run.pid)['State'].startswith('T')))
        run.send_signal(signal.SIGCONT)
        self.assertTrue(wait_until(lambda: not status_of(run.pid)['State'].startswith('T')))
        run.send_signal(signal.SIGINT)
        self.assertEqual(run.wait(60 * PATIENCE), 130)

    @unittest.skipUnless(CONFINED and calls.HERE, 'not confined, or not x86-64')
    def test_every_system_call(self):
        need_faults()
        kinds = calls.kinds()
        run = self.halod('run', '-i', plain_clip(), '-vf', 'null', self.path('out.mkv'), environment={
            'HALOD_FAULT': 'probe:1', 'HALOD_PROBE_CALLS': kinds})
        self.assertEqual(run.err.count('halod run: process'), 1, run.err)
        self.assertIn('was refused the system call', run.err)
        calls.check(self, run.err, kinds)

    @unittest.skipUnless(CONFINED, 'a build with sanitizers, or without libseccomp')
    def test_what_it_may_read(self):
        need_faults()
        clip, other = self.path('in.mkv'), self.path('other')
        shutil.copy(plain_clip('.mkv'), clip)
        os.mkdir(self.path('out'))
        with open(other, 'w'):
            pass
        for words, more in (('run', ['-y']), ('plan', []), ('run', ['-segments', '-y'])):
            run = self.halod(words, *more, '-i', clip, '-vf', 'null', self.path('out/out.mkv'),
                             environment={'HALOD_FAULT': 'probe:1', 'HALOD_PROBE': f'{clip}:{other}'})
            if 'no Landlock' in run.err:
                self.skipTest('this kernel has no Landlock')
            told = dict(re.findall(r'probe: (.*): (.*)', run.err))
            self.assertEqual(told[f'read {clip}'], 'done')
            self.assertEqual(told[f'read {other}'], 'Permission denied')
            self.assertEqual(told['exec'], 'Operation not permitted')
            self.assertEqual(told['kill'], 'Operation not permitted')

    def test_it_says_what_holds(self):
        run = self.halod('run', '-v', 'debug', '-i', plain_clip(), '-vf', 'null',
                         self.path('out.mkv'))
        [line] = [line for line in run.err.splitlines() if 'confined' in line]
        if CONFINED and 'no Landlock' not in line:
            self.assertEqual(line, f'halod: confined: it cannot start programs; it can read '
                                   f'{plain_clip()}, write in {self.folder}')

    def test_jobs(self):
        """Each of several has its own files, so each gets a process, in every step."""
        need_faults()
        detector = f'command={STANDIN} --look none --box 0.2,0.2,0.3,0.3'
        secret = self.path('secret')
        with open(secret, 'w'):
            pass
        for name in 'one', 'two':
            os.mkdir(self.path(name))
            self.halod('job', 'split', '-i', plain_clip(), '-vf', 'solid=gray:region=faces',
                       '-faces', detector, self.path(f'{name}/{name}.mkv'))
        parts = [self.path(f'{name}/{name}.mkv.parts') for name in ('one', 'two')]
        fault = {'HALOD_FAULT': 'probe:1', 'HALOD_PROBE': secret} if CONFINED else {}
        for jobs, step, *number in ((1, 'detect', '0'), (1, 'detect', '1'), (2, 'merge'),
                                    (1, 'segment', '0'), (1, 'segment', '1'), (2, 'join')):
            trusted = ['--faces', detector] if step == 'detect' else []
            run = self.halod('job', step, *trusted, *parts, *number, environment=fault)
            told = re.findall(f'probe: read {secret}: (.*)', run.err)
            if fault and 'no Landlock' not in run.err:
                self.assertEqual(told, ['Permission denied'] * jobs, run.err)
        for name in 'one', 'two':
            self.assertTrue(os.path.exists(self.path(f'{name}/{name}.mkv')))
            self.assertEqual(sorted(os.listdir(self.path(name))),
                             [f'{name}.mkv', f'{name}.mkv.job.json'])

    def test_a_file_keeps_its_mode(self):
        """Of all modes of files it can give only that of the file it replaces."""
        path = self.path('out.mkv')
        for mode in 0o600, 0o666, 0o640:
            with open(path, 'w'):
                pass
            os.chmod(path, mode)
            self.halod('run', '-y', '-i', plain_clip(), '-vf', 'null', path)
            self.assertEqual(os.stat(path).st_mode & 0o777, mode)


if __name__ == '__main__':
    calls.need_a_kernel_that_confines()
    main()
