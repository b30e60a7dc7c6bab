# SPDX-License-Identifier: BSD-2-Clause
# Output sockets with real clients: every form, cards, changes, stuck and killed viewers.
"""The program under test is $FEED_PROBE."""
import inspect
import os
import re
import shutil
import signal
import socket
import stat
import struct
import subprocess
import time
import unittest

from halotest import feed_probe as helper
from halotest.feed_probe import FFMPEG, FrameClient, Probe, Recorder, connect, halotest
from halotest import (PATIENCE, HaloTest, frame_times, leave_out_last, packets, probe_video, raw_frames,
                      wait_until, warm)

AREA = {'gray': 1, 'yuv420p': 1.5, 'nv12': 1.5, 'yuv422p': 2, 'yuv444p': 3}
GRAY, FIELD = 128, 48


class ViewerTest(HaloTest):
    def begin(self, *arguments, **options):
        probe = Probe(*arguments, **options)
        self.addCleanup(self.finish, probe)
        probe.wait_for('ready')
        return probe

    def finish(self, probe):
        code = probe.quit()
        self.assertEqual(code, 0, ''.join(probe.err))

    def record(self, path):
        recorder = Recorder(path)
        self.addCleanup(recorder.stop)
        return recorder

    def check_growth(self, probe, before, most):
        if not helper.is_sanitized():
            self.assertLess(probe.memory() - before, most, 'KiB grown')

    def until(self, probe, condition):
        if not wait_until(condition):
            self.fail(f'{inspect.getsource(condition).strip()}: {probe.status()}\n{"".join(probe.err)}')

    def more(self, recorder, parts=20):
        """Waits until so many more packets, or parts of them, have come."""
        before = len(recorder.at)
        self.assertTrue(wait_until(lambda: len(recorder.at) >= before + parts),
                        f'{len(recorder.at)} parts, {before} before; ended: {recorder.ended}')

    def save(self, recorder, name):
        return self.save_bytes(recorder.stop(), name)

    def save_bytes(self, data, name):
        path = self.path(name)
        with open(path, 'wb') as file:
            file.write(data)
        leave_out_last(path)
        return path

    def watch(self, path, seconds=1.5):
        """What ffmpeg makes of a socket with no options, as a file."""
        copy = self.path('copy.nut')
        run = warm.run([FFMPEG, '-nostdin', '-v', 'error', '-xerror', '-y', '-i', f'unix:{path}', '-t',
                        str(seconds), '-c', 'copy', copy], timeout=60 * PATIENCE)
        self.assertEqual((run.returncode, run.stderr), (0, b''))
        return copy

    def kinds(self, path, width=160, height=120):
        """One letter a picture: p(attern), g(ray card); each as often as it follows itself."""
        data, found = raw_frames(path), []
        size = int(width * height * AREA[probe_video(path)['pix_fmt']])
        self.assertEqual(len(data) % size, 0)
        for start in range(0, len(data), size):
            row = data[start + width * (height // 2):start + width * (height // 2 + 1)]
            flat = max(row) - min(row) <= 2
            found.append('p' if not flat and abs(sorted(row)[5] - FIELD) < 16 else
                         'g' if flat and abs(row[0] - GRAY) <= 2 else '?')
        return ''.join(found)

    def check_decodes(self, path):
        run = warm.run([halotest.FFPROBE, '-v', 'error', '-count_frames', '-show_entries',
                        'stream=nb_read_frames', '-i', path], timeout=60 * PATIENCE)
        said = [line for line in run.stderr.decode().splitlines() if not re.search(
            'no index|read_timestamp|Last message', line)]  # what a NUT that was live lacks
        self.assertEqual((run.returncode, said), (0, []))

    def check_times(self, path):
        times = frame_times(path)
        self.assertEqual(times, sorted(set(times)), 'times do not grow')
        return times


def short(letters):
    return re.sub(r'(.)\1+', r'\1', letters)


class Forms(ViewerTest):
    def test_each(self):
        """With the encoder's parameters in the stream and apart. The first picture does not wait for a
        key frame, of which there is none in minutes."""
        for apart in 0, 1:
            paths = [self.path(f'{apart}{suffix}') for suffix in ('.ts', '.mkv', '.nut')]
            probe = self.begin(f'global={apart}', 'gop=6000', *paths)
            for path in paths:
                with self.subTest(path):
                    recorder = self.record(path)
                    if not apart:
                        self.assertEqual(short(self.kinds(self.watch(path, 0.5))), 'p')
                    self.more(recorder)
                    saved = self.save(recorder, 'saved' + os.path.basename(path))
                    self.assertIn('K', packets(saved, 'v:0')[0]['flags'])
                    self.assertEqual(float(self.check_times(saved)[0]), 0)
                    self.check_decodes(saved)
                    self.assertEqual(probe_video(saved)['codec_name'], 'h264')
            probe.quit()

    def test_raw_pictures(self):
        for form in 'yuv420p', 'yuv444p', 'nv12', 'gray', 'yuv422p':
            with self.subTest(form):
                path = self.path(f'raw-{form}.nut')
                self.begin(f'format={form}', path)
                copy = self.watch(path, 0.4)
                self.assertEqual(probe_video(copy)['pix_fmt'], form)
                self.assertEqual(short(self.kinds(copy)), 'p')

    @unittest.skipUnless(shutil.which('mpv'), 'there is no mpv')
    def test_mpv(self):
        paths = [self.path(name) for name in ('a.ts', 'a.mkv', 'a.nut')]
        self.begin('sound=1', *paths)
        for path in paths:
            run = subprocess.run(['mpv', '--no-config', '--vo=null', '--ao=null', '--frames=10',
                                  f'unix://{path}'], stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60 * PATIENCE)
            self.assertEqual(run.returncode, 0, run.stdout)
            self.assertIn(b'VO: [null] 160x120', run.stdout)

    @unittest.skipUnless(shutil.which('ffplay'), 'there is no ffplay')
    def test_ffplay(self):
        """It has no end of its own where the input has none: its clock tells that it plays."""
        path = self.path('a.ts')
        self.begin('sound=1', path)
        player = subprocess.Popen(['ffplay', '-stats', f'unix:{path}'], stdin=subprocess.DEVNULL,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                  env={**os.environ, 'SDL_AUDIODRIVER': 'dummy',
                                       'SDL_VIDEODRIVER': 'dummy'})
        self.addCleanup(helper.end_process, player)
        output, end = b'', time.monotonic() + 30 * PATIENCE
        while time.monotonic() < end and not re.search(rb'\s[1-9]\d*\.\d\d [AM]-V:', output):
            output += os.read(player.stderr.fileno(), 4096)
        self.assertRegex(output, rb'\s[1-9]\d*\.\d\d [AM]-V:')



class GapTest(ViewerTest):
    def play_gap(self, *options, names, cards=2, commands=('silence', 'resume')):
        """So many cards between pictures. Returns the recordings. What was measured, each the least and
        the most: .gap, how long it was silent, and .span, what the times of the first can span."""
        paths = [self.path(name) for name in names]
        probe = self.begin(*options, *paths)
        begun = time.monotonic()
        recorders = [self.record(path) for path in paths]
        for recorder in recorders:
            self.more(recorder)
        silent = time.monotonic()
        probe.tell(commands[0])
        cards += probe.status()['cards']
        is_silent = time.monotonic()
        self.until(probe, lambda: probe.status()['cards'] >= cards)
        for command in commands[1:]:
            resumed = time.monotonic()
            probe.tell(command)
        probe.status()  # it has obeyed
        self.gap = resumed - is_silent, time.monotonic() - silent
        for recorder in recorders:
            self.more(recorder)
            self.assertFalse(recorder.ended)
        saved = [self.save(recorder, 'saved-' + name) for recorder, name in zip(recorders, names)]
        self.span = resumed - recorders[0].at[0][0], time.monotonic() - begun
        self.assertEqual(probe.status()['late'], 0)
        probe.quit()
        return saved


class Silence(GapTest):
    def test_card(self):
        """In each form: also if an encoder comes with the same parameters meanwhile. Pictures come so
        slowly that the reader of raw ones may pause for three seconds."""
        forms = ['a.ts', 'a.mkv', 'a.nut', 'raw.nut']
        for options, names, commands in (
                (['rate=10'], forms, ('silence', 'resume')),
                (['rate=10', 'global=1'], forms[:3], ('silence', 'again', 'resume'))):
            for saved in self.play_gap(*options, names=names, commands=commands):
                with self.subTest(saved):
                    letters, times = self.kinds(saved), self.check_times(saved)
                    self.assertEqual(short(letters), 'pgp')
                    self.assertIn(letters.count('g'), range(2, len(names) * int(self.gap[1] / 0.5) + 2))
                    self.check_decodes(saved)
                    self.assertGreater(float(times[-1]), self.span[0] - 0.2)
                    self.assertLess(float(times[-1]), self.span[1] + 0.01)

    def test_nothing_before_begin(self):
        path = self.path('a.ts')
        probe = self.begin('begin=0', path)
        recorder = self.record(path)
        gone = connect(path)
        half = connect(path)
        half.shutdown(socket.SHUT_WR)
        time.sleep(0.3)  # ten pictures, which nobody can be shown
        self.assertEqual(recorder.data, b'')
        gone.close()
        self.until(probe, lambda: probe.socket()['viewers'] == 2)
        probe.tell('begin')
        self.more(recorder)
        self.assertEqual(short(self.kinds(self.save(recorder, 'saved.ts'))), 'p')
        self.assertTrue(half.recv(100), 'who says nothing may still read')
        half.close()
        self.until(probe, lambda: probe.socket()['viewers'] == 0)


@halotest.alone
class Prompt(GapTest):
    """What has to come in time."""

    def test_sound_is_silent_then_in_sync(self):
        self.best_of(self.check_sound_after_a_gap)

    def check_sound_after_a_gap(self):
        [saved] = self.play_gap('sound=1', names=['a.mkv'])
        video, sound = halotest.packet_times(saved, 'v:0'), halotest.packet_times(saved, 'a:0')
        self.assertLess(abs(float(video[-1] - sound[-1])), 0.5)
        holes = [float(b - a) for a, b in zip(sound, sound[1:]) if b - a > self.gap[0] - 0.2]
        self.assertEqual(len(holes), 1, holes)



class Changes(ViewerTest):
    def test_another_size(self):
        """MPEG-TS goes on; of other forms, viewers are closed and can come again; frames get new caps."""
        names = ['a.ts', 'a.mkv', 'a.nut', 'raw.nut', 'a.fd']
        paths = [self.path(name) for name in names]
        probe = self.begin('rate=10', *paths)
        recorders = [self.record(path) for path in paths[:4]]
        for recorder in recorders:
            self.more(recorder)
        client = FrameClient(paths[4])
        client.release(client.frame())
        held = client.frame()
        probe.tell('size 322x242')
        self.until(probe, lambda: all(recorder.ended for recorder in recorders[1:]))
        self.check_caps(client, held)
        self.more(recorders[0])
        self.assertEqual([one['ended'] for one in probe.status()['sockets']][:4], [0, 1, 1, 1])
        self.check_widths(self.save(recorders[0], 'saved.ts'))
        for path, recorder, name in list(zip(paths, recorders, names))[1:]:
            with self.subTest(path):
                self.assertEqual(short(self.kinds(self.save(recorder, 'saved-' + name))), 'p')
                self.assertEqual(probe_video(self.watch(path, 0.3))['width'], 322)

    def test_another_size_with_parameters_apart(self):
        path = self.path('a.ts')
        probe = self.begin('global=1', path)
        recorder = self.record(path)
        self.more(recorder)
        probe.tell('size 322x242')
        probe.status()
        self.more(recorder)
        self.check_widths(self.save(recorder, 'saved.ts'))

    def check_widths(self, saved):
        self.check_times(saved)
        found = halotest.ffprobe(saved, '-select_streams', 'v:0', '-show_entries',
                                 'frame=width')['frames']
        widths = [frame['width'] for frame in found]
        self.assertEqual(sorted(set(widths)), [160, 322])
        self.assertEqual(widths, sorted(widths))

    def check_caps(self, client, held):
        self.assertIn('width=(int)160', client.caps)
        while 'width=(int)322' not in client.caps:
            client.release(client.frame())
        client.release(held)  # of the old size: still its own
        frame = client.frame()
        self.assertEqual(frame.size, 324 * 242 + 2 * 164 * 121)
        client.release(frame)
        client.close()


class Frames(ViewerTest):
    def test_layout_times_and_seals(self):
        shapes = {  # format: (name, size, width, height, bytes)
            'yuv420p': ('I420', 321, 241, 324 * 242 + 2 * 164 * 121),
            'yuv422p': ('Y42B', 321, 241, 324 * 241 + 2 * 164 * 241),
            'yuv444p': ('Y444', 321, 241, 3 * 324 * 241),
            'nv12': ('NV12', 321, 241, 324 * 242 + 324 * 121),
            'gray': ('GRAY8', 321, 241, 324 * 241),
            'gbrp': ('GBR', 321, 241, 3 * 324 * 241),
        }
        for form, (name, width, height, size) in shapes.items():
            with self.subTest(form):
                path = self.path(f'{form}.fd')
                probe = self.begin(f'format={form}', f'size={width}x{height}', path)
                before = time.monotonic_ns()
                client = FrameClient(path)
                frame = client.frame()
                self.assertEqual(client.caps.split(', ')[:4],
                                 ['video/x-raw', f'format=(string){name}', f'width=(int){width}',
                                  f'height=(int){height}'])
                self.assertIn('framerate=(fraction)30/1', client.caps)
                self.assertEqual(frame.size, size)
                self.assertLess(before, frame.pts)
                self.assertLess(frame.pts, time.monotonic_ns())
                data = client.pixels(frame)
                stride = -(-width // 4) * 4
                for y in range(0, height, 40):
                    row = data[y * stride:y * stride + width]
                    self.assertIn(set(row), ({FIELD, 220}, {FIELD}))
                if form == 'yuv420p':
                    self.assertEqual(set(data[324 * 242:324 * 242 + 161]), {120})
                    self.assertEqual(set(data[324 * 242 + 164 * 121:][:161]), {140})
                with self.assertRaises(PermissionError):
                    helper.mmap.mmap(frame.fd, frame.size)
                with self.assertRaises(PermissionError):
                    os.pwrite(frame.fd, b'x', 0)
                with self.assertRaises(PermissionError):
                    os.ftruncate(frame.fd, 0)
                client.release(frame)
                second = client.frame()
                self.assertGreater(second.pts, frame.pts)
                client.release(second)
                self.check_end(probe, client)

    def check_end(self, probe, client):
        probe.quit()
        while frame := client.frame():
            os.close(frame.fd)
        with self.assertRaises((EOFError, ConnectionResetError)):  # which may not have read all
            client.frame()
        client.close()

    @halotest.alone
    def test_who_keeps_pictures_gets_no_more_and_disturbs_nobody(self):
        path = self.path('a.fd')
        probe = self.begin(path)
        good = FrameClient(path)
        greedy = [FrameClient(path) for _ in range(6)]
        kept = []
        for client in greedy:  # each holds others
            kept.append([client.frame() for _ in range(8)])
            for _ in range(8):
                good.release(good.frame())
        greedy[-1].release(kept[-1].pop(0))
        frame = greedy[-1].frame()
        self.assertGreater(frame.pts, kept[-1][-1].pts)
        os.close(frame.fd)
        pixels, files = good.pixels(kept[0][0]), probe.files()

        def measure():
            made = probe.status()['made']
            for _ in range(50):
                good.release(good.frame())
            self.assertLess(probe.status()['made'] - made, 60, 'it has missed some')
        self.best_of(measure)
        self.assertEqual(good.pixels(kept[0][0]), pixels, 'a picture that is held changed')
        self.assertGreater(probe.socket()['dropped_packets'], 100)
        # A viewer that reads late holds up to 8 frames, and others are under way; a leak would be 50.
        self.assertLessEqual(probe.files(), files + 12)
        end = time.monotonic() + 30 * PATIENCE
        while probe.socket()['cut'] < 5 and time.monotonic() < end:
            good.release(good.frame())
        self.assertGreaterEqual(probe.socket()['cut'], 5)
        for frames, client in zip(kept, greedy):
            for frame in frames:
                os.close(frame.fd)
            client.close()
        good.close()

    def test_nonsense(self):
        path = self.path('a.fd')
        probe = self.begin(path)
        for said in (struct.pack('=IIQ', 1, 8, 12345), struct.pack('=II', 0, 0),
                     struct.pack('=II', 2, 4), struct.pack('=II', 1, 4), struct.pack('=II', 1, 0),
                     struct.pack('=II', 77, 0xffffffff), b'\xff' * 64,
                     struct.pack('=IIQ', 1, 8, 0)):
            client = FrameClient(path)
            client.client.sendall(said)
            with self.assertRaises((EOFError, ConnectionError), msg=said):
                while True:
                    os.close(client.frame().fd)
            client.close()
        patient = FrameClient(path)  # what is unknown is passed over, in pieces too
        for byte in struct.pack('=II', 77, 5) + b'12345':
            patient.client.sendall(bytes([byte]))
        for _ in range(12):
            patient.release(patient.frame())
        patient.close()
        self.until(probe, lambda: probe.socket()['viewers'] == 0)


class Stuck(ViewerTest):
    def dropped(self, probe, count):
        """Waits until so many more packets are dropped."""
        count += probe.socket()['dropped_packets']
        self.until(probe, lambda: probe.socket()['dropped_packets'] >= count)

    def read(self, client, size):
        """So many bytes at least; the queue of a viewer that was stuck has four million."""
        data = bytearray()
        client.settimeout(20 * PATIENCE)
        while len(data) < size:
            part = client.recv(1 << 16)
            self.assertTrue(part, 'it was cut')
            data += part
        client.close()
        return data

    @halotest.alone
    def test_dropping_keeps_whole_pictures(self):
        path = self.path('raw.nut')
        probe = self.begin(path)
        client = connect(path)
        self.dropped(probe, 20)
        late = self.save_bytes(self.read(client, 6 << 20), 'late.nut')
        self.check_decodes(late)
        self.assertEqual(short(self.kinds(late)), 'p')
        times = self.check_times(late)
        self.assertGreater(max(float(b - a) for a, b in zip(times, times[1:])), 0.5)

    def test_killed_viewers_leave_nothing(self):
        paths = [self.path(name) for name in ('a.ts', 'raw.nut', 'a.fd')]
        probe = self.begin(*paths)
        files, memory = probe.files(), None
        for _ in range(3):
            readers = [subprocess.Popen([FFMPEG, '-nostdin', '-v', 'quiet', '-i', f'unix:{path}',
                                         '-f', 'null', '-'], stdin=subprocess.DEVNULL)
                       for path in paths[:2]]
            self.until(probe, lambda: all(s['viewers'] == 1 for s in probe.status()['sockets'][:2]))
            frames = FrameClient(paths[2])
            frames.frame()
            for reader in readers:
                reader.send_signal(signal.SIGKILL)
                reader.wait()
            frames.close()
            self.until(probe, lambda: all(s['viewers'] == 0 for s in probe.status()['sockets']))
            self.until(probe, lambda: probe.files() <= files)
            memory = memory or probe.memory()
        self.check_growth(probe, memory, 1000)



class Names(ViewerTest):
    def refused(self, path, words):
        probe = Probe(path)
        code = probe.process.wait(20 * PATIENCE)
        probe.quit()
        self.assertEqual(code, 1)
        self.assertEqual(len(probe.err), 1, probe.err)
        self.assertIn(words, probe.err[0])
        return probe.err[0]

    def test_mode_and_end(self):
        path = self.path('a.ts')
        for umask in 0o077, 0o000, 0o777:
            probe = Probe(path, umask=umask)
            probe.wait_for('ready')
            self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o660)
            self.assertEqual(probe.quit(), 0)
            self.assertFalse(os.path.lexists(path))

    def test_what_is_no_socket_is_never_touched(self):
        path = self.path('a.ts')
        os.symlink(self.path('file'), path)
        self.refused(path, 'not a socket')
        self.assertTrue(os.path.islink(path))
        os.unlink(path)
        os.mkdir(path)
        self.refused(path, 'not a socket')
        self.assertTrue(os.path.isdir(path))

    def test_longest_path(self):
        path = self.path('')
        path += 'x' * (107 - len(path) - 4) + '.nut'
        self.begin(path)
        self.assertEqual(short(self.kinds(self.watch(path, 0.5))), 'p')


if __name__ == '__main__':
    halotest.HALOD = helper.FEED_PROBE  # the program that has to be there
    halotest.main()
