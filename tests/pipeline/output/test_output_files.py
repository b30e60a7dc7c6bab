# SPDX-License-Identifier: BSD-2-Clause
# The output is whole or not there: kills, signals, full disks.
import errno
import os
import select
import signal
import stat
import subprocess

import halotest
from halotest import (Feeder, HaloTest, decodes_cleanly, frame_count, frame_hashes, long_clip,
                      probe, start_halod, wait_until)


def long_bytes():
    with open(long_clip(), 'rb') as file:
        return file.read()


def start_shell(script, *arguments):
    """Starts halod from a line of sh, in which "$@" is its command."""
    return subprocess.Popen(['sh', '-c', script, 'sh', *halotest.halod_command(*arguments)],
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, env=halotest.halod_environment())


def catches(process, number):
    """Whether it has a handler of its own: before that a signal is just its end."""
    with open(f'/proc/{process.pid}/status', encoding='ascii') as file:
        caught = next(line for line in file if line.startswith('SigCgt:'))
    return int(caught.split()[1], 16) >> (number - 1) & 1


class Interrupted(HaloTest):
    """halod reads a clip that never ends from stdin, so it is surely in the middle of its work."""

    def begin(self, name='out.mkv', options=(), trickle=True, source='-'):
        self.output = self.path(name)
        progress = self.path('progress')
        encoder = () if '-c:v' in options else ('-preset', 'ultrafast')
        process = start_halod('run', '-i', source, '-vf', 'gblur=sigma=1', '-progress', progress,
                              *encoder, *options, self.output, stdin=subprocess.PIPE)
        self.addCleanup(self.end, process)
        data = long_bytes()
        feeder = Feeder(process, data, len(data) // 2, trickle)
        self.addCleanup(feeder.close)

        def working():
            if process.poll() is not None:
                return True
            try:
                with open(progress, encoding='ascii') as file:
                    return any(line.startswith('frame=') and int(line[6:]) > 1 for line in file)
            except OSError:
                return False
        self.assertTrue(wait_until(working), 'no two frames')
        if process.poll() is not None:
            self.fail(f'ended by itself with {process.returncode}: '
                      + process.stderr.read().decode(errors='replace'))
        return process, feeder

    def end(self, process):
        if process.poll() is None:
            process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()

    def finish(self, process):
        """Waits without closing stdin first; returns exit code and stderr."""
        try:
            code = process.wait(30 * halotest.PATIENCE)
        except subprocess.TimeoutExpired:
            self.fail('still running half a minute after the signal')
        return code, process.stderr.read().decode(errors='replace')

    def old(self, name='out.mkv'):
        with open(self.path(name), 'wb') as file:
            file.write(b'old')

    def assert_old(self, name='out.mkv'):
        with open(self.path(name), 'rb') as file:
            self.assertEqual(file.read(), b'old', 'the old file was touched')

    def test_kill(self):
        """Nothing is under the final name, but beside it, while it runs and afterwards."""
        process, _ = self.begin()
        self.assertFalse(os.path.exists(self.output))
        self.assertTrue(wait_until(lambda: len(os.listdir(self.folder)) > 1),
                        'no file in the folder of the output')
        process.kill()
        process.wait()
        self.assertFalse(os.path.exists(self.output))
        self.filtered(halotest.silent_clip(), 'out.mkv')
        self.assertEqual(frame_count(self.output), 25)

    def test_kill_leaves_the_old_file(self):
        self.old()
        process, _ = self.begin(options=('-y',))
        self.assert_old()
        process.kill()
        process.wait()
        self.assert_old()

    def interrupted(self, number, code, name='out.mkv', partial='out.partial.mkv', **more):
        process, feeder = self.begin(name, **more)
        process.send_signal(number)
        got, error = self.finish(process)
        self.assertEqual(got, code, error)
        self.assertTrue(os.path.exists(self.path(partial)), os.listdir(self.folder))
        self.assertEqual(sorted(set(os.listdir(self.folder)) - {'progress', name}), [partial])
        self.assertTrue(decodes_cleanly(self.path(partial)), 'the partial file does not play')
        self.assertGreater(frame_count(self.path(partial)), 1)
        lines = [line for line in error.splitlines() if partial in line]
        self.assertEqual(len(lines), 1, 'one line says where the partial file is:\n' + error)
        return self.path(partial)

    def test_interrupt_leaves_the_old_file(self):
        """But replaces an old partial one, with leave."""
        self.old()
        self.old('out.partial.mkv')
        self.interrupted(signal.SIGINT, 130, options=('-y',))
        self.assert_old()

    def test_interrupt_leaves_an_old_partial_file(self):
        """The next free name is taken, and said."""
        self.old('out.partial.mkv')
        self.old('out.partial-2.mkv')
        process, feeder = self.begin()
        process.send_signal(signal.SIGINT)
        code, error = self.finish(process)
        self.assertEqual(code, 130, error)
        self.assert_old('out.partial.mkv')
        self.assert_old('out.partial-2.mkv')
        self.assertGreater(frame_count(self.path('out.partial-3.mkv')), 1)
        self.assertIn('out.partial-3.mkv', error)

    def test_interrupted_mp4_has_its_index(self):
        partial = self.interrupted(signal.SIGINT, 130, 'out.mp4', 'out.partial.mp4')
        self.assertIn('mp4', probe(partial)['format']['format_name'])
        self.assertFalse(os.path.exists(self.output))

    def test_terminate_while_the_input_is_silent(self):
        self.interrupted(signal.SIGTERM, 143, trickle=False)
        self.assertFalse(os.path.exists(self.output))

    def test_partial_frames(self):
        """They are the first ones, filtered."""
        process, feeder = self.begin(options=('-c:v', 'ffv1'))
        process.send_signal(signal.SIGINT)
        self.assertEqual(self.finish(process)[0], 130)
        got = frame_hashes(self.path('out.partial.mkv'))
        raw = set(frame_hashes(long_clip()))
        self.assertGreater(len(got), 1)
        self.assertTrue(raw.isdisjoint(got), 'a raw frame in the partial file')
        got = halotest.packet_times(self.path('out.partial.mkv'))
        wanted = halotest.frame_times(long_clip())[:len(got)]
        shift = got[0] - wanted[0]
        for w, g in zip(wanted, got):
            self.assertLessEqual(abs(g - w - shift), halotest.Fraction(1, 1000))

    @halotest.alone
    def test_two_signals_at_once_are_one_wish(self):
        """timeout(1) signals its child and then the child's group. Two of one kind may come as one:
        hence two kinds. They come together where it is stopped meanwhile."""
        process, feeder = self.begin()
        for number in (signal.SIGSTOP, signal.SIGINT, signal.SIGTERM, signal.SIGCONT):
            process.send_signal(number)
        code, error = self.finish(process)
        self.assertIn(code, (130, 143), error)
        self.assertGreater(frame_count(self.path('out.partial.mkv')), 1)

    def test_hang_up(self):
        self.interrupted(signal.SIGHUP, 129)

    def test_hang_up_that_is_ignored(self):
        """As under nohup(1)."""
        process = start_shell('trap "" HUP; exec "$@"', 'run', '-i', long_clip(), '-vf',
                              'gblur=sigma=3', '-preset', 'ultrafast', self.path('out.mkv'))
        self.addCleanup(self.end, process)
        self.assertTrue(wait_until(lambda: os.listdir(self.folder)), 'no file')
        process.send_signal(signal.SIGHUP)
        _, error = process.communicate(timeout=halotest.RUN_TIMEOUT)
        self.assertEqual(process.returncode, 0, error)
        self.assertEqual(os.listdir(self.folder), ['out.mkv'])

    def test_second_interrupt_ends_at_once(self):
        process, feeder = self.begin()
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGINT)
        code, error = self.finish(process)
        self.assertIn(code, (130, -signal.SIGINT), error)
        self.assertFalse(os.path.exists(self.output))

    def test_interrupt_before_the_first_frame(self):
        """Nothing was sent yet: no final file, and the exit code is still the signal's."""
        process = start_halod('run', '-i', '-', '-vf', 'null', self.path('out.mkv'),
                              stdin=subprocess.PIPE)
        self.addCleanup(self.end, process)
        self.addCleanup(process.stdin.close)
        self.assertTrue(wait_until(lambda: catches(process, signal.SIGINT)))
        halotest.time.sleep(1)  # it waits for its input
        process.send_signal(signal.SIGINT)
        code, error = self.finish(process)
        self.assertEqual(code, 130, error)
        self.assertFalse(os.path.exists(self.path('out.mkv')))


class Opening(HaloTest):
    """A signal while an input or an output opens: the status is the signal's, nothing is wrong and
    nothing is left."""

    def ends(self, process, number, code):
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.kill)
        halotest.time.sleep(1)  # it could have ended
        self.assertIsNone(process.poll(), 'ended by itself')
        self.assertTrue(wait_until(lambda: catches(process, number)))
        process.send_signal(number)
        try:
            self.assertEqual(process.wait(30 * halotest.PATIENCE), code)
        except subprocess.TimeoutExpired:
            self.fail('still running half a minute after the signal')
        error = process.stderr.read().decode(errors='replace')
        self.assertEqual(len(error.splitlines()), 2, error)
        self.assertNotRegex(error, '(?i)cannot|damaged|no picture|system call')

    def fifo(self):
        os.mkfifo(self.path('pipe'))
        return self.path('pipe')

    def test_pipe_that_nobody_opens(self):
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)):
            with self.subTest(number):
                self.ends(start_halod('run', '-i', self.fifo(), '-vf', 'null',
                                      self.path('out.mkv')), number, code)
                self.assertEqual(os.listdir(self.folder), ['pipe'])
                os.unlink(self.path('pipe'))

    def test_pipe_that_stalls(self):
        """After nothing, in the header, and in the first packets."""
        pipe = self.fifo()
        for size in (0, 100, 5000):
            with self.subTest(size):
                writer = os.open(pipe, os.O_RDWR)
                os.write(writer, long_bytes()[:size])
                self.ends(start_halod('run', '-i', pipe, '-vf', 'null', self.path('out.mkv')),
                          signal.SIGINT, 130)
                self.assertEqual(os.listdir(self.folder), ['pipe'])
                os.close(writer)

    def test_output_that_nobody_reads(self):
        self.ends(start_halod('run', '-i', halotest.silent_clip(), '-vf', 'null', '-f', 'nut',
                              self.fifo()), signal.SIGTERM, 143)

    def test_output_that_listens(self):
        self.ends(start_halod('run', '-i', halotest.silent_clip(), '-vf', 'null', '-f', 'nut',
                              f'tcp://127.0.0.1:{halotest.free_port()}?listen=1'),
                  signal.SIGINT, 130)


class Unread(HaloTest):
    """Standard output is a pipe that is full, and its reader sleeps."""

    def begin(self):
        process = start_halod('run', '-i', long_clip(), '-vf', 'null', '-c:v', 'rawvideo', '-f',
                              'nut', '-')
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.kill)
        self.assertTrue(select.select([process.stdout], [], [], halotest.RUN_TIMEOUT)[0],
                        'no byte')
        self.assertTrue(wait_until(lambda: halotest.is_full(process.stdout)))
        self.begun = halotest.time.monotonic()
        process.send_signal(signal.SIGINT)
        return process

    def in_time(self, act):
        """What act(process) returns; halod gives up after two seconds."""
        process = self.begin()
        found = act(process)
        error = process.stderr.read()
        self.assertEqual(process.wait(halotest.RUN_TIMEOUT), 130, error)
        self.assertNotIn(b'accepted no data', error)
        return found

    def test_interrupt(self):
        process = self.begin()
        self.assertEqual(process.wait(halotest.RUN_TIMEOUT), 130)
        error = process.stderr.read().decode(errors='replace')
        self.assertIn('accepted no data', error)

    @halotest.alone
    def test_second_interrupt_ends_at_once(self):
        def again(process):
            self.assertTrue(any(b'interrupted: finishing' in line for line in process.stderr))

            def ends():  # those of the first second are echoes of the first
                process.send_signal(signal.SIGINT)
                return process.poll() is not None
            self.assertTrue(wait_until(ends))
            return halotest.time.monotonic() - self.begun
        self.assertGreater(self.in_time(again), 0.9, 'no time was left to the reader')

    @halotest.alone
    def test_reader_that_wakes_up(self):
        """It gets an end, not a cut."""
        def wake_up(process):
            halotest.time.sleep(0.5)  # the reader sleeps
            return process.stdout.read()
        with open(self.path('got.nut'), 'wb') as file:
            file.write(self.in_time(wake_up))
        self.assertTrue(decodes_cleanly(self.path('got.nut')))


@halotest.alone
class Programs(HaloTest):
    """Unit tests that measure time, too."""

    def test_run(self):
        for program in os.environ['HALO_TIMED'].split(':'):
            with self.subTest(program):
                done = subprocess.run([program], stdin=subprocess.DEVNULL, capture_output=True, check=False)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


class StandardStreams(HaloTest):
    """A closed one is no number for other files, and no reason to end."""

    def run_without(self, closed, *arguments, code=0):
        process = start_shell(f'exec "$@" {closed}', 'run', *arguments)
        out, error = process.communicate(timeout=halotest.RUN_TIMEOUT)
        self.assertEqual(process.returncode, code, error.decode(errors='replace'))
        return out, error.decode(errors='replace')

    def test_closed(self):
        for closed in ('>&-', '<&- >&- 2>&-'):
            with self.subTest(closed):
                output = self.path('out.mkv')
                self.run_without(closed, '-y', '-i', halotest.silent_clip(), '-vf', 'gblur=sigma=2',
                                 '-progress', self.path('progress'), output)
                self.assertTrue(decodes_cleanly(output), 'something was written into it')
                self.assertEqual(frame_count(output), 25)
                with open(self.path('progress'), encoding='ascii') as file:
                    self.assertNotIn('halod:', file.read())

    def test_closed_where_it_is_needed(self):
        _, error = self.run_without('<&-', '-i', '-', '-vf', 'null', self.path('out.mkv'), code=1)
        self.assertIn('Bad file descriptor', error)
        self.assertEqual(os.listdir(self.folder), [])
        _, error = self.run_without('>&-', '-i', halotest.silent_clip(), '-vf', 'null', '-f', 'nut',
                                    '-', code=1)
        self.assertIn('Bad file descriptor', error)


class FullDisk(HaloTest):
    def setUp(self):
        super().setUp()
        if os.getuid() != 0:
            self.skipTest('only root mounts')
        self.disk = self.path('disk')
        os.mkdir(self.disk)
        done = subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=256k', 'tmpfs', self.disk],
                              stderr=subprocess.PIPE)
        if done.returncode:
            self.skipTest('no mount here: ' + done.stderr.decode().strip())
        self.addCleanup(subprocess.run, ['umount', self.disk])

    def fill(self, *options, name='out.nut'):
        run = self.halod('run', '-i', halotest.silent_clip('.mkv', 2), '-vf', 'gblur=sigma=1', '-v',
                         'error', '-c:v', 'rawvideo', *options, os.path.join(self.disk, name),
                         code=1)
        self.assertIn('space', self.assert_one_line(run).lower())

    def test_nothing_is_left(self):
        self.fill()
        self.assertEqual(os.listdir(self.disk), [])

    def test_old_file_is_left(self):
        old = os.path.join(self.disk, 'out.nut')
        with open(old, 'wb') as file:
            file.write(b'old')
        self.fill('-y')
        self.assertEqual(os.listdir(self.disk), ['out.nut'])
        with open(old, 'rb') as file:
            self.assertEqual(file.read(), b'old')

    def test_space_ends_in_the_trailer(self):
        """A disk that holds all but the last bytes is full too."""
        source = halotest.silent_clip('.mkv', 1)
        whole = self.filtered(source, 'whole.mp4', '-preset', 'ultrafast')
        used = os.path.getsize(whole)
        room = 256 * 1024 - (used // 4096) * 4096
        with open(os.path.join(self.disk, 'ballast'), 'wb') as file:
            file.write(b'x' * room)
        run = self.halod('run', '-i', source, '-vf', 'null', '-preset', 'ultrafast', '-v', 'error',
                         os.path.join(self.disk, 'out.mp4'), code=1)
        self.assertIn('space', self.assert_one_line(run).lower())
        self.assertEqual(os.listdir(self.disk), ['ballast'])

    def test_full_device(self):
        device = self.path('full')
        try:
            os.mknod(device, stat.S_IFCHR | 0o666, os.makedev(1, 7))
            with open(device, 'wb', buffering=0) as file:
                file.write(b'x')
        except OSError as error:
            if error.errno != errno.ENOSPC:
                self.skipTest(f'no device files here: {error}')
        run = self.halod('run', '-y', '-i', halotest.silent_clip(), '-vf', 'null', '-v', 'error',
                         '-f', 'nut', device, code=1)
        self.assertIn('space', self.assert_one_line(run).lower())
        self.assertTrue(stat.S_ISCHR(os.stat(device).st_mode), 'the device was replaced by a file')


class Limit(HaloTest):
    def test_file_size(self):
        """The signal that comes with it does not kill: the error is said and nothing is left."""
        process = start_shell('ulimit -f 8; exec "$@"', 'run', '-i', halotest.silent_clip(), '-vf',
                              'null', '-v', 'error', '-c:v', 'rawvideo', self.path('out.nut'))
        _, error = process.communicate(timeout=halotest.RUN_TIMEOUT)
        self.assertEqual(process.returncode, 1, error)
        self.assertEqual(len(error.splitlines()), 1, error)
        self.assertIn(b'File too large', error)
        self.assertEqual(os.listdir(self.folder), [])


class Finished(HaloTest):
    def test_nothing_else_is_left(self):
        self.filtered(halotest.plain_clip(), 'out.mp4')
        self.assertEqual(os.listdir(self.folder), ['out.mp4'])

    def test_mode_follows_the_umask(self):
        old = os.umask(0o027)
        try:
            output = self.filtered(halotest.silent_clip(), 'out.mkv')
        finally:
            os.umask(old)
        self.assertEqual(stat.S_IMODE(os.stat(output).st_mode), 0o640)


if __name__ == '__main__':
    halotest.main()
