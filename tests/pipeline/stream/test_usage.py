# SPDX-License-Identifier: BSD-2-Clause
# What is refused: exit codes and the one line that says what, where and what to do.
import os
import re
import subprocess

import halotest
from halotest import HaloTest, each, plain_clip, silent_clip


class Refusals(HaloTest):
    def run_refused(self, *arguments, says=(), code=64, name='out.mkv'):
        """halod run -i CLIP ARGUMENTS OUT is refused and nothing is made."""
        line = self.refused('run', '-i', plain_clip(), *arguments, self.path(name), says=says,
                            code=code)
        self.assertEqual(os.listdir(self.folder), [])
        return line

    def test_no_filters(self):
        self.run_refused(says='-vf')

    def test_no_input(self):
        self.refused('run', '-vf', 'null', self.path('out.mkv'), says='-i')

    def test_no_output(self):
        self.refused('run', '-i', plain_clip(), '-vf', 'null')

    def test_two_outputs(self):
        self.refused('run', '-i', plain_clip(), '-vf', 'null', self.path('a.mkv'),
                     self.path('b.mkv'))
        self.assertEqual(os.listdir(self.folder), [])

    def test_no_words_at_all(self):
        run = halotest.run_halod()
        self.assertEqual(run.code, 64, self.logged(run))

    def test_unknown_command(self):
        self.refused('rum', says='run')

    def test_unknown_option(self):
        self.run_refused('-vf', 'null', '-progres', 'x', says='-progress')
        self.run_refused('-vf', 'null', '-preste', 'fast', says='-preset')
        self.run_refused('-vf', 'null', '-zzzzzzzz', '1', says='-zzzzzzzz')

    def test_option_without_its_argument(self):
        self.refused('run', '-i', plain_clip(), '-vf', says='-vf')

    def test_bad_chain_names_the_nearest(self):
        for chain, nearest in (('gblurr=sigma=5', 'gblur'), ('gblur=sigm=5', 'sigma'),
                               ('avgbluur=sizeX=3', 'avgblur'), ('avgblur=sizex=3', 'sizeX'),
                               ('null,convolutio', 'convolution'), ('boxblur=lrr=3', 'lr'),
                               ('gblur=sigma=2:border=replicat', 'replicate')):
            with self.subTest(chain):
                line = self.run_refused('-vf', chain)
                self.assertIn(nearest, line)

    def test_bad_chain(self):
        for chain in ('', ',', 'null,', 'gblur=sigma=x', 'gblur=sigma=201', 'gblur=sigma=-1',
                      'gblur=sigma=nan', 'gblur=sigma', 'gblur=sigma=', '[a]gblur[b]', 'gblur;null',
                      "convolution=0m='1 2 3 4 5 6 7 8'", "convolution=0m='1 2 x 4 5 6 7 8 9'",
                      "convolution=0m='1 2 1", 'avgblur=sizeX=-3', 'gblur=planes=99',
                      'gblur=border=nowhere', 'gblur=strategy=nothing', 'gblur=sigma=1:sigma',
                      "convolution=0m='" + ' '.join(['1'] * 65 * 65) + "'",
                      'gblur=1:2:3:4:5:6:7:8:9:10:11'):
            with self.subTest(chain[:40]):
                self.run_refused('-vf', chain, says='-vf, column ')

    def test_given_twice(self):
        self.run_refused('-vf', 'gblur', '-vf', 'null', says=('-vf', 'gblur', 'null'))
        self.run_refused('-vf', 'gblur=sigma=1:sigma=2', says=('column 15', 'twice'))

    def test_empty_values(self):
        for name in ('-preset', '-c:v', '-c:a', '-f', '-crf'):
            with self.subTest(name):
                self.run_refused('-vf', 'null', name, '', says=name + ': its value is empty')

    def test_too_many_filters(self):
        self.run_refused('-vf', ','.join(['null'] * 1000))

    def test_unknown_encoder_names_the_nearest(self):
        self.run_refused('-vf', 'null', '-c:v', 'libx2644', says='libx264')
        self.run_refused('-vf', 'null', '-c:v', 'fffv1', says='ffv1')

    def test_encoder_that_is_not_for_video(self):
        self.run_refused('-vf', 'null', '-c:v', 'aac', says='aac')

    def test_copying_video_is_no_filtering(self):
        self.run_refused('-vf', 'gblur', '-c:v', 'copy', says='copy')

    def test_unknown_muxer(self):
        self.run_refused('-vf', 'null', '-f', 'matroskaa', says='matroska')

    def test_unknown_suffix(self):
        self.run_refused('-vf', 'null', name='out.xyzzy')

    def test_unknown_demuxer(self):
        self.refused('run', '-f', 'matroskaa', '-i', plain_clip(), '-vf', 'null',
                     self.path('out.mkv'), says='matroskaa')

    def test_formats_of_several_files(self):
        for name in ('out.m3u8', 'out.mpd', 'out%03d.png', 'out%d.jpg', 'out.png'):
            with self.subTest(name):
                self.run_refused('-vf', 'null', name=name)
        for name in ('hls', 'dash', 'segment', 'image2', 'stream_segment', 'tee'):
            with self.subTest(name):
                self.run_refused('-vf', 'null', '-f', name)

    def test_progress_and_output_on_one_stream(self):
        self.refused('run', '-i', plain_clip(), '-vf', 'null', '-f', 'nut', '-progress', '-', '-',
                     says='-progress')

    def test_yes_and_no(self):
        self.run_refused('-vf', 'null', '-y', '-n')

    def test_bad_log_level(self):
        self.run_refused('-vf', 'null', '-v', 'loud', says='loud')


class Inputs(HaloTest):
    def test_missing(self):
        self.refused('run', '-i', self.path('missing.mp4'), '-vf', 'null', self.path('out.mkv'),
                     code=1, says='missing.mp4')
        self.assertEqual(os.listdir(self.folder), [])

    def test_a_folder(self):
        self.refused('run', '-i', self.folder, '-vf', 'null', self.path('out.mkv'), code=1)
        self.assertEqual(os.listdir(self.folder), [])

    def test_not_a_video(self):
        with open(self.path('words.txt'), 'w', encoding='utf-8') as file:
            file.write('nothing to see here\n' * 400)
        self.refused('run', '-i', self.path('words.txt'), '-vf', 'null', self.path('out.mkv'),
                     code=1, says='words.txt')
        self.assertEqual(os.listdir(self.folder), ['words.txt'])

    def test_random_bytes_named_mp4(self):
        with open(self.path('random.mp4'), 'wb') as file:
            file.write(halotest.hashlib.sha512(b'x').digest() * 500)
        self.refused('run', '-i', self.path('random.mp4'), '-vf', 'null', self.path('out.mkv'),
                     code=1)
        self.assertEqual(os.listdir(self.folder), ['random.mp4'])

    def test_empty(self):
        with open(self.path('empty.mkv'), 'wb'):
            pass
        self.refused('run', '-i', self.path('empty.mkv'), '-vf', 'null', self.path('out.mkv'),
                     code=1)

    def test_not_readable(self):
        if os.getuid() == 0:
            self.skipTest('root reads everything')
        with open(self.path('closed.mkv'), 'wb') as file:
            file.write(b'closed')
        os.chmod(self.path('closed.mkv'), 0)
        self.refused('run', '-i', self.path('closed.mkv'), '-vf', 'null', self.path('out.mkv'),
                     code=1, says='permission')

    def test_unknown_protocol(self):
        self.refused('run', '-i', 'nosuch://host/clip', '-vf', 'null', self.path('out.mkv'), code=1)


class RawInputs(HaloTest):
    def refused_raw(self, *options, says):
        self.refused('run', '-f', 'rawvideo', *options, '-i', '-', '-vf', 'null',
                     self.path('out.mkv'), says=says, data=bytes(64 * 48 * 3))
        self.assertEqual(os.listdir(self.folder), [])

    def test_values_that_mean_nothing(self):
        size = ('-video_size', '64x48')
        for name in ('-s', '-video_size'):
            for value in ('nonsense', '0x0', '64', '99999999x99999999'):
                self.refused_raw(name, value, says=(name, value))
        for name in ('-r', '-framerate'):
            for value in ('nonsense', '0', '-1', '1e9', '1/0'):
                self.refused_raw(*size, name, value, says=(name, value))
        self.refused_raw(*size, '-pixel_format', 'yuv421p', says=('-pixel_format', 'yuv421p'))

    def test_size_is_needed(self):
        self.refused_raw(says='-video_size')
        with open(self.path('in.yuv'), 'wb') as file:
            file.write(bytes(64 * 48 * 3))
        self.refused('run', '-i', self.path('in.yuv'), '-vf', 'null', self.path('out.mkv'),
                     says=('in.yuv', '-video_size'))
        halotest.shutil.copyfile(silent_clip('.h264'), self.path('h264.yuv'))
        self.halod('run', '-i', self.path('h264.yuv'), '-vf', 'null', 'null:')
        self.halod('run', '-i', self.path('in.yuv'), '-s', '64x48', '-r', 'pal', '-vf', 'null',
                   self.path('out.mkv'))
        self.assertEqual(halotest.frame_count(self.path('out.mkv')), 2)

    def test_inputs_that_describe_themselves(self):
        for name, value in (('-s', '64x48'), ('-r', '25'), ('-pixel_format', 'gray')):
            self.refused('run', '-i', plain_clip(), name, value, '-vf', 'null',
                         self.path('out.mkv'), says=(name, 'raw input only', 'mp4'))


class Outputs(HaloTest):
    def existing(self, name='out.mkv', content=b'old'):
        with open(self.path(name), 'wb') as file:
            file.write(content)
        return self.path(name)

    def content(self, path):
        with open(path, 'rb') as file:
            return file.read()

    def test_existing(self):
        for options in ((), ('-n',)):
            with self.subTest(options):
                output = self.existing()
                self.refused('run', '-i', plain_clip(), '-vf', 'null', *options, output,
                             says='out.mkv')
                self.assertEqual(self.content(output), b'old')
                self.assertEqual(os.listdir(self.folder), ['out.mkv'])

    def test_existing_says_what_to_do(self):
        self.refused('run', '-i', plain_clip(), '-vf', 'null', self.existing(), says='-y')

    def test_overwritten(self):
        output = self.existing()
        self.filtered(silent_clip(), 'out.mkv', '-y')
        self.assertEqual(halotest.frame_count(output), 25)
        self.assertEqual(os.listdir(self.folder), ['out.mkv'])

    def test_not_there_yet(self):
        self.filtered(silent_clip(), 'a.mkv', '-n')
        self.filtered(silent_clip(), 'b.mkv', '-y')

    def same_file(self, other):
        source = self.path('clip.mp4')
        halotest.shutil.copyfile(plain_clip(), source)
        before = self.content(source)
        other(source)
        for options in ((), ('-y',)):
            target = self.path('other.mp4') if os.path.lexists(self.path('other.mp4')) else source
            self.refused('run', '-i', source, '-vf', 'null', *options, target)
            self.assertEqual(self.content(source), before)

    def test_output_is_input(self):
        self.same_file(lambda source: None)

    def test_output_is_a_symbolic_link_to_input(self):
        self.same_file(lambda source: os.symlink(source, self.path('other.mp4')))

    def test_output_is_a_hard_link_to_input(self):
        self.same_file(lambda source: os.link(source, self.path('other.mp4')))

    def test_output_is_input_by_another_path(self):
        source = self.path('clip.mp4')
        halotest.shutil.copyfile(plain_clip(), source)
        self.refused('run', '-i', source, '-vf', 'null', '-y', self.folder + '/./clip.mp4')
        self.refused('run', '-i', source, '-vf', 'null', '-y', 'clip.mp4', cwd=self.folder)
        self.refused('run', '-i', 'file:' + source, '-vf', 'null', '-y', source)

    def test_output_is_input_as_a_file_url(self):
        source = self.path('clip.mp4')
        halotest.shutil.copyfile(plain_clip(), source)
        before = self.content(source)
        for scheme in ('file:', 'file://'):
            for names in ((source, scheme + source), (scheme + source, source),
                          (scheme + source, scheme + source)):
                with self.subTest(names):
                    self.refused('run', '-i', names[0], '-vf', 'null', '-y', names[1],
                                 says='same file')
                    self.assertEqual(self.content(source), before)
                    self.assertEqual(os.listdir(self.folder), ['clip.mp4'])

    def test_file_url_that_exists(self):
        output = self.existing()
        for scheme in ('file:', 'file://'):
            self.refused('run', '-i', silent_clip(), '-vf', 'null', scheme + output, says='-y')
            self.assertEqual(self.content(output), b'old')
            run = halotest.run_halod('run', '-i', __file__, '-vf', 'null', '-y', scheme + output)
            self.assertEqual(run.code, 1, self.logged(run))
            self.assertEqual(self.content(output), b'old', 'a failed run left the old file')
            self.halod('run', '-i', silent_clip(), '-vf', 'null', '-y', scheme + output)
            self.assertEqual(halotest.frame_count(output), 25)
            self.assertEqual(os.listdir(self.folder), ['out.mkv'])
            self.existing()

    def test_progress_file_is_input(self):
        source = self.path('clip.mp4')
        halotest.shutil.copyfile(plain_clip(), source)
        os.link(source, self.path('hard.mp4'))
        os.symlink(source, self.path('soft.mp4'))
        before = self.content(source)
        for name, output in each(('clip.mp4', './clip.mp4', 'hard.mp4', 'soft.mp4', 'file:clip.mp4'),
                                 ('out.mp4', 'null:')):
            with self.subTest(name, output=output):
                self.refused('run', '-i', source, '-vf', 'null', '-progress', name, output,
                             cwd=self.folder, says='-progress')
                self.assertEqual(self.content(source), before)

    def test_progress_file_is_output(self):
        """Before either is there."""
        os.symlink('out.mp4', self.path('link.mp4'))
        for name, options in each(('out.mp4', './out.mp4', self.path('out.mp4'), 'link.mp4'),
                                  ((), ('-y',))):
            with self.subTest(name, options=options):
                self.refused('run', *options, '-i', plain_clip(), '-vf', 'null', '-progress',
                             name, 'out.mp4', cwd=self.folder, says='-progress')
                self.assertEqual(os.listdir(self.folder), ['link.mp4'])

    def test_partial_file_would_be_input(self):
        source = self.path('out.partial.mp4')
        halotest.shutil.copyfile(plain_clip(), source)
        for options in ((), ('-y',)):
            self.refused('run', *options, '-i', source, '-vf', 'null', self.path('out.mp4'),
                         says='if interrupted')
            self.assertEqual(os.listdir(self.folder), ['out.partial.mp4'])

    def test_file_as_folder(self):
        self.existing('a.mp4')
        self.refused('run', '-i', plain_clip(), '-vf', 'null', self.path('a.mp4/x.mp4'), code=1,
                     says='not a directory')

    def test_link_to_what_is_not_there_yet(self):
        """A link stays a link, and its target is made."""
        os.mkdir(self.path('other'))
        for options in ((), ('-y',)):
            with self.subTest(options):
                os.symlink('other/real.mkv', self.path('link.mkv'))
                self.halod('run', *options, '-i', silent_clip(), '-vf', 'null',
                           self.path('link.mkv'))
                self.assertTrue(os.path.islink(self.path('link.mkv')))
                self.assertEqual(os.listdir(self.path('other')), ['real.mkv'])
                self.assertEqual(halotest.frame_count(self.path('other/real.mkv')), 25)
                os.unlink(self.path('other/real.mkv'))
                os.unlink(self.path('link.mkv'))

    def test_link_into_a_missing_folder(self):
        os.symlink('nowhere/real.mkv', self.path('link.mkv'))
        self.refused('run', '-i', silent_clip(), '-vf', 'null', '-y', self.path('link.mkv'),
                     code=1, says='nowhere')
        self.assertEqual(os.listdir(self.folder), ['link.mkv'])

    def test_link_to_itself(self):
        os.symlink('link.mkv', self.path('link.mkv'))
        self.refused('run', '-i', silent_clip(), '-vf', 'null', '-y', self.path('link.mkv'),
                     code=1, says='symbolic links')

    def test_missing_folder(self):
        run = halotest.run_halod('run', '-i', plain_clip(), '-vf', 'null',
                                 self.path('nowhere/out.mkv'))
        self.assertIn(run.code, (1, 64), self.logged(run))
        self.assertIn('nowhere', self.assert_one_line(run))

    def test_folder_as_output(self):
        os.mkdir(self.path('folder.mkv'))
        for options in ((), ('-y',)):
            run = halotest.run_halod('run', '-i', plain_clip(), '-vf', 'null', *options,
                                     self.path('folder.mkv'))
            self.assertIn(run.code, (1, 64), self.logged(run))
            self.assert_one_line(run)
        self.assertEqual(os.listdir(self.path('folder.mkv')), [])

    def test_symbolic_link_as_output(self):
        """The file behind it is replaced or the link is; neither is left half done."""
        target = self.existing('real.mkv')
        os.symlink('real.mkv', self.path('link.mkv'))
        self.filtered(silent_clip(), 'link.mkv', '-y')
        self.assertEqual(halotest.frame_count(self.path('link.mkv')), 25)
        self.assertTrue(not os.path.islink(self.path('link.mkv'))
                        or halotest.frame_count(target) == 25)
        self.assertEqual(sorted(os.listdir(self.folder)), ['link.mkv', 'real.mkv'])


class Streams(HaloTest):
    """Files that are standard input and standard output too."""
    INPUTS = ('-', 'pipe:0', 'pipe:', '/dev/stdin')
    REPORTS = ('-trace', '-stats_json', '-progress')

    def streams(self, *arguments, source=None, out=None, code=64):
        """halod in the folder, with these files as its streams; returns its lines on stderr."""
        with open(source or os.devnull, 'rb') as data, open(out or os.devnull, 'ab') as to:
            done = subprocess.run(halotest.halod_command(*arguments), stdin=data, stdout=to,
                                  stderr=subprocess.PIPE, cwd=self.folder,
                                  env=halotest.halod_environment())
        lines = done.stderr.decode().splitlines()
        self.assertEqual(done.returncode, code, lines)
        if code:
            self.assertEqual(len(lines), 1, lines)
            self.assertRegex(lines[0], '^halod: .*(same file|file, too|name another|use another)')
        return lines

    def test_input(self):
        source = self.path('st.mkv')
        halotest.shutil.copyfile(silent_clip('.mkv'), source)
        os.link(source, self.path('hard.mkv'))
        with open(source, 'rb') as file:
            before = file.read()
        for name in self.INPUTS:
            self.streams('run', '-i', name, '-vf', 'null', '-y', 'st.mkv', source=source)
        for name, option, path in each(self.INPUTS, self.REPORTS,
                                       ('st.mkv', 'hard.mkv', '/dev/stdin', '/proc/self/fd/0')):
            with self.subTest(name, option=option, path=path):
                self.streams('run', '-i', name, '-vf', 'null', option, path, '-y', 'o.mkv',
                             source=source)
        self.assertEqual(sorted(os.listdir(self.folder)), ['hard.mkv', 'st.mkv'])
        with open(source, 'rb') as file:
            self.assertEqual(file.read(), before)
        self.streams('run', '-i', '-', '-vf', 'null', '-stats_json', 'st.json', 'o.mkv',
                     source=source, code=0)
        self.assertEqual(halotest.frame_count(self.path('o.mkv')), 25)

    def test_output(self):
        out = self.path('so.nut')
        for name, option, path in each(('-', 'pipe:1', 'pipe:', '/dev/stdout'), self.REPORTS,
                                       ('so.nut', '/dev/stdout', '/proc/self/fd/1', '/dev/fd/1')):
            with self.subTest(name, option=option, path=path):
                self.streams('run', '-y', '-i', silent_clip(), '-vf', 'null', option, path,
                             '-f', 'nut', name, out=out)
        self.streams('run', '-y', '-i', silent_clip(), '-vf', 'null', '-progress', '-', '-f', 'nut',
                     'pipe:1', out=out)
        self.streams('run', '-i', silent_clip(), '-vf', 'null', '-trace', '/dev/stdout',
                     '-progress', '-', 'null:', out=out)
        self.assertEqual(os.path.getsize(out), 0)
        self.streams('run', '-i', silent_clip(), '-vf', 'null', '-trace', 't.json', '-f', 'nut',
                     '-', out=out, code=0)
        self.assertEqual(halotest.frame_count(out), 25)

    def test_output_that_is_a_pipe(self):
        for option, path, name in (('-trace', '/dev/stdout', '-'),
                                   ('-trace', '/proc/self/fd/1', 'pipe:1'),
                                   ('-stats_json', '/dev/fd/1', '/dev/stdout'),
                                   ('-progress', '-', 'pipe:1')):
            with self.subTest(option, name=name):
                self.refused('run', '-i', silent_clip(), '-vf', 'null', option, path, '-f', 'nut',
                             name, says=(option, 'same file'))
        self.refused('run', '-i', silent_clip(), '-vf', 'null', '-trace', '/dev/stdout',
                     '-progress', '-', 'null:', says=('-trace', '-progress'))

    def test_nothing_to_lose(self):
        for arguments in (('-trace', '/dev/stdout', '-f', 'nut', '-'),
                          ('-trace', os.devnull, '-progress', '-', 'null:'),
                          ('-trace', os.devnull, '-stats_json', os.devnull, 'null:')):
            self.streams('run', '-i', silent_clip(), '-vf', 'null', *arguments, code=0)


class Help(HaloTest):
    def test_help(self):
        for words in (('--help',), ('run', '--help')):
            text = self.halod(*words).out.decode()
            self.assertIn('-vf', text + self.halod('run', '--help').out.decode())
            self.assertIn('halod', text)

    def test_every_command_has_help(self):
        for word in ('run', 'plan', 'job', 'devices', 'filters', 'filter', 'hide-report', '-c',
                     '--check-config', '--dump-config', '--schema'):
            for option in ('--help', '-h'):
                with self.subTest(word):
                    self.assertIn('usage:', self.halod(word, option).out.decode())

    def test_help_names_every_option(self):
        text = self.halod('run', '--help').out.decode()
        for name in ('-i', '-f', '-vf', '-c:v', '-b:v', '-crf', '-preset', '-c:a', '-ss', '-t',
                     '-an', '-map_metadata', '-copy_unfiltered', '-progress', '-y', '-n', '-v'):
            self.assertRegex(text, rf'(?<!\S){re.escape(name)}(?!\w)', name)

    def test_standard_output_that_is_full(self):
        for words in (('--help',), ('--version',), ('run', '--help'), ('filters',),
                      ('filter', 'gblur')):
            with self.subTest(words), open('/dev/full', 'wb') as full:
                done = subprocess.run(halotest.halod_command(*words), stdout=full,
                                      stderr=subprocess.PIPE, env=halotest.halod_environment())
                self.assertEqual(done.returncode, 1)
                self.assertRegex(done.stderr, rb'^halod: cannot write to standard output: .*No space.*\n$')

    def test_version(self):
        text = self.halod('--version').out.decode()
        self.assertRegex(text, r'halod \d+\.\d+')
        self.assertRegex(text, r'(?i)ffmpeg|libavcodec')
        self.assertRegex(text, r'(?i)cpu')
        self.assertRegex(text, r'(?i)cuda')


if __name__ == '__main__':
    halotest.main()
