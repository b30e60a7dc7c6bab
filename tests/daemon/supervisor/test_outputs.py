# SPDX-License-Identifier: BSD-2-Clause
# What the daemon writes itself: segments on disks, a full one too, and URLs whose other side dies.
import contextlib
import glob
import os
import subprocess

from halotest.daemon import FFMPEG, HALOCTL, PATIENCE, DaemonTest, free_port, main
from halotest import Waits, alone, decodes_cleanly, frame_count

OUTAGE = 0.5 * PATIENCE  # seconds; after them a card would come
HARD = {'codec': 'libx264', 'preset': 'ultrafast', 'crf': 10, 'gop': 0.5}  # of test: much, so that disks fill


class OutputTest(DaemonTest):
    def output(self, daemon, kind, index=0, name='one'):
        found = [o for o in daemon.status(name)['outputs'] if o['kind'] == kind]
        return {'state': '', 'why': '', 'bytes': 0, **found[index]}  # numbers come a little later

    def wait_output(self, daemon, state, **which):
        """What it says when it comes to that state."""
        seen = {}

        def look():
            seen.update(self.output(daemon, **which))
            return seen['state'] == state
        self.until(look, f'not {state}')
        return seen

    def assert_goes_on(self, daemon, **which):
        """It is written to, now."""
        before = self.output(daemon, **which)['bytes']
        self.until(lambda: self.output(daemon, **which)['bytes'] > before,
                   lambda: self.output(daemon, **which))

    def ctl(self, *words):
        subprocess.run([HALOCTL, '--socket', self.path('control.sock'), *words], check=True,
                       stdin=subprocess.DEVNULL, timeout=30 * PATIENCE)

    def recorded(self, *files, **more):
        """A stream with these outputs, and a socket."""
        return {'one': self.stream(filters='null', privacy='off',
                                   outputs=[{'unix': self.path('one.ts')}, *files],
                                   **{'input': 'test:size=320x240:rate=25', **more})}

    def segments(self, folder='', **more):
        return {'file': self.path(os.path.join(folder, 'v-%Y%m%d-%H%M%S.mkv')), 'segment_time': 1,
                'video': HARD, **more}

    def files(self, folder=''):
        return sorted(glob.glob(self.path(os.path.join(folder, 'v-*.mkv'))))

    def hooked(self):
        """What hooks were told, and have done."""
        try:
            with open(self.path('told')) as file:
                return sorted(file.read().split())
        except FileNotFoundError:
            return []


class Recording(OutputTest):
    def test_record_and_hook(self):
        """haloctl record: files end and begin, viewers notice nothing. Each file that has ended is
        whole, and is given to the hook. Who stopped the recording finds it stopped after a crash."""
        hook = self.path('hook')
        with open(hook, 'w') as file:
            file.write(f'#!/bin/sh\ncp "$1" {self.path("kept")}/ && echo "$1" >> {self.path("told")}\n')
        os.chmod(hook, 0o755)
        os.mkdir(self.path('kept'))
        daemon = self.start(self.recorded(self.segments(hook=hook)))
        self.wait_output(daemon, 'writing', kind='file')
        reader = self.reader('one.ts')
        self.until(lambda: len(self.files()) >= 3)
        self.ctl('record', 'one', 'stop')
        self.wait_output(daemon, 'idle', kind='file')
        self.assertIs(daemon.status('one')['recording'], False)
        stopped = self.files()
        self.until(lambda: len(self.hooked()) == len(stopped))
        daemon.kill_engine_of('one')
        self.until(lambda: daemon.status('one')['restarts'] == 1)
        daemon.wait_state('one', 'running')
        daemon.wait_pictures('one', 40)  # a segment has 25
        self.assertEqual(self.files(), stopped, 'recorded after all')
        self.assertEqual(self.hooked(), stopped)
        for path in stopped:
            name = os.path.basename(path)
            self.assertTrue(decodes_cleanly(self.path('kept/' + name)), name)
            self.assertGreater(frame_count(path), 0)
        self.ctl('record', 'one', 'start')
        self.until(lambda: len(self.files()) > len(stopped))
        self.assertIs(daemon.status('one')['recording'], True)
        self.assertFalse(reader.ended)


class Disks(OutputTest):
    def mount(self):
        """A small file system of its own, or the test is skipped."""
        path = self.path('disk')
        os.mkdir(path)
        done = subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=8m,mode=0700', 'halotest', path],
                              capture_output=True, text=True)
        if done.returncode:
            self.skipTest(f'no tmpfs of our own: {done.stderr.strip()}')
        self.addCleanup(subprocess.run, ['umount', '-l', path], check=True)
        return path

    def fill(self, path, keep):
        """Leaves only some bytes of it; what is written there meanwhile may take them."""
        found = os.statvfs(path)
        with contextlib.suppress(OSError), \
                open(os.path.join(path, 'ballast'), 'wb', buffering=0) as file:
            file.write(bytes(found.f_bavail * found.f_bsize - keep))

    def test_a_full_disk(self):
        """Files and playlists there stop, say so once, and go on by themselves; nothing else notices."""
        disk = self.mount()
        daemon = self.start(self.recorded(self.segments('disk'), self.segments('good'), {
            'hls': self.path('disk/hls/v.m3u8'), 'segment_time': 1, 'keep': 100, 'video': HARD}))
        full = {'kind': 'file', 'index': 0}, {'kind': 'hls'}
        for which in (*full, {'kind': 'file', 'index': 1}):
            self.wait_output(daemon, 'writing', **which)
        reader = self.reader('one.ts')
        self.until(lambda: self.output(daemon, 'hls').get('segments'))
        self.fill(disk, 300000)
        for which in full:
            self.assertIn('No space left', self.wait_output(daemon, 'failed', **which)['why'])
        self.assertIn('disk/v-', self.output(daemon, 'file', 0)['why'])
        self.until(lambda: self.output(daemon, 'file', 0)['failures'] >= 2, 'it does not try again')
        self.assertTrue(daemon.runs('one'))
        self.assert_goes_on(daemon, kind='file', index=1)
        self.assertEqual(self.output(daemon, 'file', 1)['failures'], 0)
        self.assertGreater(self.output(daemon, 'file', 0)['dropped_packets'], 10)
        self.assertEqual(daemon.logged().count('No space left'), 2, daemon.logged())
        failed = self.files('disk')
        os.unlink(os.path.join(disk, 'ballast'))
        for which in full:
            self.wait_output(daemon, 'writing', **which)
            self.assert_goes_on(daemon, **which)
        self.until(lambda: daemon.logged().count('continues;') == 2)
        self.until(lambda: not self.output(daemon, 'file', 0)['why'])
        self.until(lambda: len(self.files('disk')) > len(failed))
        self.assertEqual(daemon.status('one')['restarts'], 0)
        self.assertFalse(reader.ended)
        for path in self.files('disk')[:-1] + self.files('good')[:-1]:
            self.assertTrue(decodes_cleanly(path), path)
            self.assertGreater(frame_count(path), 0, path)


@alone
class Pushed(OutputTest):
    LISTEN = {
        'tcp': ['-f', 'mpegts', '-i', 'tcp://127.0.0.1:{}?listen=1'],
        'srt': ['-f', 'mpegts', '-i', 'srt://127.0.0.1:{}?mode=listener'],
        # Seconds: for ever, the default, is out of range in FFmpeg 9.0.
        'rtsp': ['-rtsp_flags', 'listen', '-listen_timeout', '3600', '-i',
                 'rtsp://127.0.0.1:{}/live'],
        'rtmp': ['-f', 'flv', '-listen', '1', '-i', 'rtmp://127.0.0.1:{}/live/one'],
    }
    PUSH = {'tcp': 'tcp://127.0.0.1:{}', 'srt': 'srt://127.0.0.1:{}',
            'rtsp': 'rtsp://127.0.0.1:{}/live', 'rtmp': 'rtmp://127.0.0.1:{}/live/one'}

    def listen(self, kind, port, name):
        """ffmpeg that listens, and writes down what comes."""
        words = [word.format(port) for word in self.LISTEN[kind]]
        listener = subprocess.Popen([FFMPEG, '-nostdin', '-v', 'error', '-analyzeduration', '500k',
                                     *words, '-c', 'copy', '-f', 'mpegts', '-flush_packets', '1',
                                     '-y', self.path(name)], stdin=subprocess.DEVNULL,
                                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(self.kill, listener)
        return listener

    def kill(self, process):
        if process.poll() is None:
            process.kill()
        process.wait()

    def comes(self, name):
        return lambda: os.path.exists(self.path(name)) and os.path.getsize(self.path(name)) > 30000

    def test_the_other_side_dies(self):
        """Each goes on when there is somebody again; others and viewers have not noticed."""
        ports = {kind: free_port() for kind in self.LISTEN}
        kinds = list(ports)
        listeners = {kind: self.listen(kind, port, f'{kind}1.ts') for kind, port in ports.items()}
        daemon = self.start(self.recorded(
            *[{'url': self.PUSH[kind].format(port)} for kind, port in ports.items()]))
        for i, kind in enumerate(kinds):
            self.wait_output(daemon, 'writing', kind='url', index=i)
            self.until(self.comes(f'{kind}1.ts'), lambda: kind + daemon.logged())
        reader, waits = self.reader('one.ts'), Waits()
        for i, kind in enumerate(kinds):
            self.kill(listeners[kind])
            self.assertIn(kind + '://', self.wait_output(daemon, 'failed', kind='url', index=i)['why'])
            for j in range(len(kinds)):
                if j != i:
                    self.assert_goes_on(daemon, kind='url', index=j)
            self.listen(kind, ports[kind], f'{kind}2.ts')
            self.wait_output(daemon, 'writing', kind='url', index=i)
            self.until(self.comes(f'{kind}2.ts'))
        self.assert_no_gap(reader.gaps(reader.times[0]), OUTAGE + waits.seconds())
        self.assertEqual(daemon.status('one')['restarts'], 0)
        for kind in kinds:
            self.assertGreater(frame_count(self.path(f'{kind}2.ts')), 5, kind)


if __name__ == '__main__':
    main()
