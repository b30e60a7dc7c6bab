# SPDX-License-Identifier: BSD-2-Clause
# Odd names of files, and several runs at once.
import os
import shutil

import halotest
from halotest import (HaloTest, decodes_cleanly, frame_count, frame_hashes, plain_clip, silent_clip,
                      start_halod)


class Names(HaloTest):
    def both_ways(self, name, given_in=None, given_out=None):
        """A clip of that name is read and one is written, in the current folder."""
        source_folder, folder = self.path('in'), self.path('out')
        for path in (source_folder, folder):
            shutil.rmtree(path, ignore_errors=True)
            os.mkdir(path)
        shutil.copyfile(silent_clip('.mp4'), os.path.join(source_folder, name))
        self.halod('run', '-i', given_in or name, '-vf', 'null', os.path.join(folder, 'plain.mp4'),
                   cwd=source_folder)
        self.assertEqual(frame_count(os.path.join(folder, 'plain.mp4')), 25)
        self.halod('run', '-i', silent_clip('.mp4'), '-vf', 'null', given_out or name, cwd=folder)
        self.assertEqual(sorted(os.listdir(folder)), sorted([name, 'plain.mp4']))
        self.assertEqual(frame_count('file:' + os.path.join(folder, name)), 25)

    def test_spaces(self):
        self.both_ways('a clip  with spaces .mp4')

    def test_percent(self):
        self.both_ways('100%.mp4')
        self.both_ways('a%03d%s%n.mp4')

    def test_quotes_and_brackets(self):
        self.both_ways('it\'s "quoted" [x] {y} $HOME \\ ; & * ?.mp4')

    def test_colon(self):
        self.both_ways('a:b.mp4', './a:b.mp4', './a:b.mp4')

    def test_utf8(self):
        self.both_ways('\u00e4\u00f6\u00fc \u65e5\u672c \U0001f441.mp4')

    def test_leading_dash(self):
        self.both_ways('-clip.mp4', './-clip.mp4', './-clip.mp4')

    def test_leading_dash_as_argument_of_i(self):
        shutil.copyfile(silent_clip('.mp4'), self.path('-clip.mp4'))
        self.halod('run', '-i', '-clip.mp4', '-vf', 'null', 'out.mp4', cwd=self.folder)
        self.assertEqual(frame_count(self.path('out.mp4')), 25)

    def test_several_dots(self):
        self.both_ways('a.b.partial.mp4')

    def test_hidden(self):
        self.both_ways('.hidden.mp4')

    def test_long(self):
        self.both_ways('x' * 251 + '.mp4')

    def test_bytes_that_are_not_utf8(self):
        name = os.fsdecode(b'latin1-\xe4.mp4')
        shutil.copyfile(silent_clip('.mp4'), self.path(name))
        self.halod('run', '-i', name, '-vf', 'null', 'out.mp4', cwd=self.folder)
        self.assertEqual(frame_count(self.path('out.mp4')), 25)


class AtOnce(HaloTest):
    def all_end(self, processes):
        ends = []
        for process in processes:
            _, error = process.communicate(timeout=halotest.RUN_TIMEOUT)
            ends.append((process.returncode, error.decode(errors='replace')))
        return ends

    def test_two_runs(self):
        source = plain_clip('.mp4', 2)
        ends = self.all_end([start_halod('run', '-i', source, '-vf', 'gblur=sigma=3',
                                         self.path(name)) for name in ('a.mp4', 'b.mp4')])
        self.assertEqual([code for code, _ in ends], [0, 0], ends)
        for name in ('a.mp4', 'b.mp4'):
            self.assert_whole(source, self.path(name))

    def test_two_runs_to_one_name(self):
        """Whoever is last wins, whole; nothing is mixed and nothing is left beside it."""
        sources = [silent_clip('.mkv', 2), silent_clip('.mkv', 2, size='96x80')]
        ends = self.all_end([start_halod('run', '-y', '-i', source, '-vf', 'gblur=sigma=3', '-c:v',
                                         'ffv1', self.path('out.mkv')) for source in sources])
        self.assertIn(0, [code for code, _ in ends], ends)
        for code, error in ends:
            self.assertIn(code, (0, 1, 64), error)
        self.assertEqual(os.listdir(self.folder), ['out.mkv'])
        self.assertTrue(decodes_cleanly(self.path('out.mkv')))
        alone = [frame_hashes(self.lossless(source, f'{n}.mkv', 'gblur=sigma=3'))
                 for n, source in enumerate(sources)]
        self.assertIn(frame_hashes(self.path('out.mkv')), alone)

    def test_two_runs_to_one_name_without_leave(self):
        """Without -y exactly one may make the file."""
        ends = self.all_end([start_halod('run', '-i', plain_clip('.mp4', 2), '-vf', 'gblur=sigma=3',
                                         self.path('out.mp4')) for _ in range(2)])
        codes = sorted(code for code, _ in ends)
        self.assertEqual(codes[0], 0, ends)
        self.assertIn(codes[1], (0, 1, 64), ends)
        self.assert_whole(plain_clip('.mp4', 2), self.path('out.mp4'))
        self.assertEqual(os.listdir(self.folder), ['out.mp4'])

    def test_eight_runs(self):
        source = silent_clip('.mp4')
        names = [f'{n}.mp4' for n in range(8)]
        ends = self.all_end([start_halod('run', '-i', source, '-vf', 'gblur=sigma=1',
                                         self.path(name)) for name in names])
        self.assertEqual([code for code, _ in ends], [0] * 8, ends)
        for name in names:
            self.assertEqual(frame_count(self.path(name)), 25)


if __name__ == '__main__':
    halotest.main()
