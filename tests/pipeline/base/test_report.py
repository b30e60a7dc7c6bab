# SPDX-License-Identifier: BSD-2-Clause
# What a run says: progress files, lines, the bar on a terminal, log levels.
import contextlib
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios

import halotest
from halotest import (HaloTest, clip, long_clip, plain_clip, silent_clip, video_source,
                      wait_until)


def blocks(text):
    """FFmpeg's key=value form, cut after each progress= line."""
    found, block = [], {}
    for line in text.splitlines():
        name, _, value = line.partition('=')
        block[name.strip()] = value.strip()
        if name == 'progress':
            found.append(block)
            block = {}
    return found, block


def fed_in_parts(between, *arguments, **streams):
    """halod, which reads a clip from a pipe; between its halves, between() waits for something."""
    process = subprocess.Popen(halotest.halod_command('run', '-i', '-', '-preset', 'ultrafast', *arguments),
                               stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                               env=halotest.halod_environment(), **streams)
    with open(long_clip(), 'rb') as file:
        data = file.read()
    process.stdin.write(data[:len(data) // 2])
    process.stdin.flush()
    between()
    process.stdin.write(data[len(data) // 2:])
    process.stdin.close()
    process.stdin = None
    return process


class Progress(HaloTest):
    def check(self, text, count):
        for line in text.splitlines():
            self.assertRegex(line, r'^[A-Za-z0-9_]+=\s*\S+', f'not key=value: {line!r}')
        found, rest = blocks(text)
        self.assertEqual(rest, {}, 'words after the last progress=')
        self.assertTrue(text.endswith('progress=end\n'), text[-200:])
        for block in found:
            for name in ('frame', 'fps', 'total_size', 'out_time_us', 'out_time', 'speed'):
                self.assertIn(name, block)
        self.assertEqual([b['progress'] for b in found[:-1]], ['continue'] * (len(found) - 1))
        self.assertEqual(int(found[-1]['frame']), count)
        frames = [int(b['frame']) for b in found]
        self.assertEqual(frames, sorted(frames))
        self.assertRegex(found[-1]['out_time'], r'^\d\d:\d\d:\d\d\.\d+$')
        return found[-1]

    def test_file(self):
        output, progress = self.path('out.mp4'), self.path('progress.txt')
        self.halod('run', '-i', plain_clip('.mp4', 2), '-vf', 'null', '-progress', progress, output)
        with open(progress, encoding='ascii') as file:
            last = self.check(file.read(), 50)
        self.assertAlmostEqual(int(last['out_time_us']) / 1e6, 2, delta=0.1)
        self.assertEqual(int(last['total_size']), os.path.getsize(output))

    def test_stdout(self):
        run = self.halod('run', '-i', silent_clip(), '-vf', 'null', '-progress', '-',
                         self.path('out.mkv'))
        self.check(run.out.decode('ascii'), 25)

    def test_long_run_reports_on_its_way(self):
        progress = self.path('progress.txt')

        def begun():
            with contextlib.suppress(FileNotFoundError), open(progress, encoding='ascii') as file:
                return 'progress=continue' in file.read()
        process = fed_in_parts(lambda: self.assertTrue(wait_until(begun)), '-vf', 'gblur=sigma=1', '-progress',
                               progress, self.path('out.mkv'), stderr=subprocess.PIPE)
        self.assertEqual(process.communicate(timeout=halotest.RUN_TIMEOUT)[1].count(b'500 frames'), 1)
        with open(progress, encoding='ascii') as file:
            self.check(file.read(), 500)

    def test_progress_file_that_cannot_be_made(self):
        run = halotest.run_halod('run', '-i', silent_clip(), '-vf', 'null', '-progress',
                                 self.path('nowhere/progress'), self.path('out.mkv'))
        self.assertIn(run.code, (1, 64), self.logged(run))
        self.assert_one_line(run)
        self.assertFalse(os.path.exists(self.path('out.mkv')))

    def test_progress_file_that_cannot_be_written(self):
        """It is said once, and the job goes on."""
        run = self.halod('run', '-i', long_clip(), '-vf', 'gblur=sigma=3', '-preset', 'ultrafast',
                         '-progress', '/dev/full', self.path('out.mkv'))
        self.says_once(run, '-progress .*continues.*space')
        self.assertEqual(halotest.frame_count(self.path('out.mkv')), 500)

    def test_failed_run_does_not_say_end_well(self):
        """After an error the exit code says so; the progress file must still be key=value."""
        progress = self.path('progress.txt')
        self.halod('run', '-i', self.path('missing.mp4'), '-vf', 'null', '-progress', progress,
                   self.path('out.mkv'), code=1)
        if os.path.exists(progress):
            with open(progress, encoding='ascii') as file:
                for line in file:
                    self.assertRegex(line, r'^[A-Za-z0-9_]+=')


class Lines(HaloTest):
    def test_plain_lines_without_a_terminal(self):
        run = self.halod('run', '-i', plain_clip('.mp4', 2), '-vf', 'gblur=sigma=2',
                         self.path('out.mp4'))
        self.assertNotIn('\r', run.err)
        self.assertNotIn('\x1b', run.err)
        for line in run.err.splitlines():
            self.assertTrue(line.startswith('halod: '), f'not our line: {line!r}')
        self.assertEqual(run.out, b'')

    def test_end_is_said(self):
        run = self.halod('run', '-i', plain_clip('.mp4', 2), '-vf', 'gblur=sigma=2',
                         self.path('out.mp4'))
        self.assertRegex(run.err, r'\b50\b', 'the number of frames')

    def test_end_names_the_output_as_typed(self):
        source = clip('.mkv', *video_source(), '-frames:v', '1', '-c:v', 'ffv1')
        for options in ((), ('-y',)):  # when it is new, and when it is replaced
            run = self.halod('run', '-i', source, '-vf', 'gblur', *options, 'out.mkv',
                             cwd=self.folder)
            self.assertIn('halod: out.mkv: 1 frame at ', run.err)

    def test_quiet(self):
        run = self.halod('run', '-i', plain_clip(), '-vf', 'gblur=sigma=2:steps=2', '-v', 'quiet',
                         self.path('out.mp4'))
        self.assertEqual((run.out, run.err), (b'', ''))

    def test_error_level_is_silent_on_success(self):
        run = self.halod('run', '-i', plain_clip(), '-vf', 'gblur=sigma=2:steps=2', '-v', 'error',
                         self.path('out.mp4'))
        self.assertEqual((run.out, run.err), (b'', ''))

    def test_encoders_that_print_by_themselves_do_not(self):
        for codec, name in (('libx265', 'out.mp4'), ('libsvtav1', 'out.mkv'),
                            ('libwebp_anim', 'out.webp')):
            with self.subTest(codec):
                run = self.halod('run', '-i', silent_clip(), '-vf', 'gblur', '-v', 'warning',
                                 '-c:v', codec, self.path(name))
                self.assertEqual((run.out, run.err), (b'', ''))

    def test_measured_times(self):
        table = os.path.join(self.folder, 'halod', 'tuning-cpu-0.txt')
        os.mkdir(os.path.dirname(table))
        plain = self.filtered(plain_clip(), 'plain.mkv', '-c:v', 'ffv1', chain='gblur=sigma=2')
        for text, level, says in (('halod-tuning 1\nversion 0\n', 'info', ':2: '),
                                  ('halod-tuning 1\nversion 0\n', 'warning', ''),
                                  ('nonsense', 'warning', ':1: ')):
            with open(table, 'w', encoding='utf-8') as file:
                file.write(text)
            run = self.halod('run', '-y', '-i', plain_clip(), '-vf', 'gblur=sigma=2', '-v', level,
                             '-c:v', 'ffv1', self.path('out.mkv'), cache=self.folder)
            printed = [line for line in run.err.splitlines() if table in line]
            self.assertEqual(len(printed), bool(says), run.err)
            self.assertIn(says, ''.join(printed))
            self.assertEqual(halotest.frame_hashes(self.path('out.mkv')),
                             halotest.frame_hashes(plain))

    def test_error_level_says_errors(self):
        self.refused('run', '-i', self.path('missing.mp4'), '-vf', 'null', '-v', 'error',
                     self.path('out.mp4'), code=1)

    def test_warning_level_is_silent_where_nothing_is_odd(self):
        run = self.halod('run', '-i', plain_clip(), '-vf', 'gblur=sigma=2', '-v', 'warning',
                         self.path('out.mp4'))
        self.assertEqual(run.err, '')

    def test_debug_says_more(self):
        info = self.halod('run', '-i', plain_clip(), '-vf', 'gblur=sigma=2', self.path('a.mp4'))
        debug = self.halod('run', '-i', plain_clip(), '-vf', 'gblur=sigma=2', '-v', 'debug',
                           self.path('b.mp4'))
        self.assertGreater(len(debug.err), len(info.err))

    def test_control_characters_in_names_do_not_reach_the_terminal(self):
        name = self.path('a\x1b[31mb\nc.mp4')
        run = self.halod('run', '-i', name, '-vf', 'null', self.path('out.mp4'), code=1)
        self.assertNotIn('\x1b', run.err)
        self.assert_one_line(run)


class Terminal(HaloTest):
    def test_bar(self):
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack('HHHH', 24, 80, 0, 0))
        text = []

        def shown(words=b'fps'):
            while words not in b''.join(text) and select.select([master], [], [], halotest.RUN_TIMEOUT)[0]:
                text.append(os.read(master, 65536))
        process = fed_in_parts(shown, '-vf', 'gblur=sigma=1', self.path('out.mkv'), stderr=slave)
        os.close(slave)
        with contextlib.suppress(OSError):  # the other side is closed
            shown(b'more than this')
        os.close(master)
        self.assertEqual(process.wait(halotest.RUN_TIMEOUT), 0, text[-5:])
        shown = b''.join(text).decode(errors='replace')
        self.assertTrue('\r' in shown.replace('\r\n', '\n') or '\x1b[' in shown, 'no bar')
        self.assertIn('fps', shown)
        self.assertTrue(re.search(r'500\D', shown), 'the number of frames is not said')


if __name__ == '__main__':
    halotest.main()
