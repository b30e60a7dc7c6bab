# SPDX-License-Identifier: BSD-2-Clause
# halod job: split, segment, join, status; whatever happens to tasks and files.
import hashlib
import json
import os
import shlex
import shutil
import signal
import socket
import subprocess
import time

import halotest
from halotest import alone, halod_command, halod_environment, start_halod
from halotest.jobs import JobTest, sha256, source, wait_stopped
from halotest.played import other_libraries
from halotest.warm import first_libraries

CLEAN = ('SLURM_ARRAY_TASK_ID', 'SLURM_ARRAY_TASK_COUNT', 'JOB_COMPLETION_INDEX',
         'AWS_BATCH_JOB_ARRAY_INDEX', 'PBS_ARRAY_INDEX', 'PARALLEL_SEQ')
for variable in CLEAN:
    os.environ.pop(variable, None)


def can_unshare():
    return not subprocess.run(['unshare', '-rm', 'mount', '-t', 'tmpfs', 'none', '/mnt'], check=False,
                              stderr=subprocess.DEVNULL).returncode


def ends(process):
    out, err = process.communicate(timeout=halotest.RUN_TIMEOUT)
    return process.returncode, err.decode()


def goes_on(process):
    process.send_signal(signal.SIGCONT)
    return ends(process)


def write(path, data=b'mine'):
    with open(path, 'wb') as file:
        file.write(data)


def read(path):
    with open(path, 'rb') as file:
        return file.read()


class Whole(JobTest):
    def test_like_one_process(self):
        """In any order, and again after it is done, as schedulers do."""
        run = self.split()
        self.assertEqual(run.out.decode().strip(), os.path.realpath(self.parts))
        self.assertEqual((self.count(), self.status()['done']), (4, 0))
        for number in (3, 1, 1, 0, 2, 3):
            self.segment(number)
        self.assertEqual(self.status()['done'], 4)
        self.join()
        self.assert_done()
        audit = self.audit()
        self.assertEqual(audit['input']['sha256'], sha256(self.input))
        self.assertEqual(audit['output']['frames'], 100)
        self.assertEqual(len(audit['segments']), 4)
        self.assertTrue(all(s['host'] and s['frames'] for s in audit['segments']))
        self.assertTrue(self.status()['complete'])
        self.join()
        self.segment(2)
        self.assert_done()

    def test_sound(self):
        """It is that of an unsplit run, copied and recoded."""
        self.encoded()
        self.join()
        unsplit = self.path('unsplit.mp4')
        self.halod('run', '-i', self.input, '-vf', 'gblur=sigma=2', *self.ENCODE, unsplit)
        def samples(path):
            return halotest.ffmpeg('-i', path, '-map', '0:a', '-f', 's16le', '-')
        self.assertGreater(len(samples(unsplit)), 100000)
        self.assertEqual(samples(self.output), samples(unsplit))
        self.assertEqual(halotest.packet_times(self.output, 'a:0'), halotest.packet_times(unsplit, 'a:0'))
        self.assertEqual(halotest.frame_times(self.output), halotest.frame_times(unsplit))
        os.unlink(self.output)
        self.input = source(2)
        self.split('-c:a', 'aac')
        self.encode_all()
        self.join()
        self.assert_done(self.whole('-c:a', 'aac'))

    def test_folder_that_moves(self):
        """Paths are relative to the folder of OUT, so each machine may see it elsewhere."""
        here, there = self.path('here'), self.path('there')
        os.makedirs(os.path.join(here, 'out'))
        shutil.copy(self.input, os.path.join(here, 'in.mp4'))
        self.halod('job', 'split', '-segment_time', '1', '-i', 'in.mp4', '-vf', 'gblur=sigma=2',
                   *self.ENCODE, 'out/out.mp4', cwd=here)
        os.rename(here, there)
        self.parts = os.path.join(there, 'out/out.mp4.parts')
        self.encode_all()
        self.join()
        self.assertEqual(sha256(os.path.join(there, 'out/out.mp4')), self.whole())

    def test_mask_image(self):
        mask = self.path('mask.png')
        halotest.ffmpeg('-f', 'lavfi', '-i', 'color=white:160x60,format=gray,pad=160:120', '-frames:v', '1',
                        mask)
        chain = f'gblur=sigma=2:region=mask {mask}'
        self.split(chain=chain)
        self.segment(0)
        halotest.ffmpeg('-f', 'lavfi', '-i', 'color=white:160x120,format=gray', '-frames:v', '1', mask)
        self.assertIn('mask image', self.segment(1, code=78).err)

    def test_other_encoders(self):
        self.input = source(2, '64x48')
        for codec, name in (('libx265', 'out.mkv'), ('ffv1', 'out.mkv'), ('libvpx-vp9', 'out.webm')):
            if halotest.is_sanitized() and codec != 'ffv1':
                continue
            with self.subTest(codec):
                self.output = self.path(codec + name)
                self.parts = self.output + '.parts'
                options = ['-c:v', codec, '-an']
                options += ['-crf', '40'] if codec != 'ffv1' else []
                self.ENCODE = ['-preset', 'ultrafast'] if codec == 'libx265' else []
                self.split(*options)
                self.assertEqual(self.manifest()['job']['any_flags'], codec == 'ffv1')
                self.encode_all()
                self.join()
                self.assertEqual(sha256(self.output), self.whole(*options))


class Processors(JobTest):
    """Why the flags of the processor do not matter for x264 (job_split.c)."""

    LIBM = {'GLIBC_TUNABLES': 'glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4,-AVX'}

    def test_mathematics_of_the_c_library(self):
        self.ENCODE = ['-preset', 'medium']
        self.split()
        self.segment(0, environment=self.LIBM)
        data = sha256(self.part(0))
        os.unlink(self.part(0))
        self.segment(0)
        self.assertEqual(sha256(self.part(0)), data)

    def test_instructions_of_x264(self):
        """With the parameters that halod gives it; the first bytes name all parameters."""
        clip = source(1, '320x240')

        def encode(more):
            data = halotest.ffmpeg('-i', clip, '-an', '-c:v', 'libx264', '-preset', 'medium', '-threads', '4',
                                   '-x264-params', 'sync-lookahead=0:cpu-independent=1' + more, '-f', 'h264', '-')
            return hashlib.sha256(data[data.index(b'x264 - core') + 900:]).hexdigest()
        self.assertEqual(len({encode(more) for more in ('', ':asm=0', ':asm=SSE2')}), 1)


class Tasks(JobTest):
    def test_variables(self):
        self.split()
        for variable, value, made in (
                ('SLURM_ARRAY_TASK_ID', 0, 0), ('JOB_COMPLETION_INDEX', 1, 1), ('PARALLEL_SEQ', 3, 2),
                ('PBS_ARRAY_INDEX', 3, 3)):
            self.segment(environment={variable: str(value)})
            self.assertTrue(os.path.exists(self.part(made)), variable)
        os.unlink(self.part(2))
        self.segment(environment={'AWS_BATCH_JOB_ARRAY_INDEX': '2'})
        self.join()
        self.assertIn('task', self.audit()['segments'][2])

    def test_fewer_tasks_than_segments(self):
        self.split()
        self.refused('job', 'segment', self.parts, says='number of the segment')
        self.refused('job', 'segment', self.parts, 4, says='only 4')
        self.refused('job', 'segment', self.parts, says=('PARALLEL_SEQ', 'SLURM_ARRAY_TASK_ID'),
                     environment={'PARALLEL_SEQ': '1', 'SLURM_ARRAY_TASK_ID': '1'})
        self.refused('job', 'segment', self.parts, says='PARALLEL_SEQ=0', environment={'PARALLEL_SEQ': '0'})
        self.refused('job', 'segment', self.parts, says='--array=0-3',
                     environment={'SLURM_ARRAY_TASK_ID': '1', 'SLURM_ARRAY_TASK_COUNT': '4',
                                  'SLURM_ARRAY_TASK_MIN': '1', 'SLURM_ARRAY_TASK_MAX': '4'})
        self.refused('job', 'segment', self.path('x'), 1, says='.parts')
        self.refused('job', 'segment', '--of', 2, self.parts, 2, says='only 2')
        self.refused('job', 'segment', '--mixed', self.parts, 2, says='--mixed')
        self.segment(environment={'SLURM_ARRAY_TASK_ID': '0', 'SLURM_ARRAY_TASK_COUNT': '3',
                                  'SLURM_ARRAY_TASK_MIN': '0', 'SLURM_ARRAY_TASK_MAX': '2'})
        self.assertTrue(os.path.exists(self.part(0)) and os.path.exists(self.part(3)))
        self.halod('job', 'segment', '--of=3', self.parts, 2)
        self.halod('job', 'segment', '--of', 30, self.parts, 29)  # there are not so many
        self.assertIn('1 of 4 segments are missing', self.join(code=75).err)
        self.halod('job', 'segment', '--of', 3, self.parts, 1)
        self.join()
        self.assert_done()

    def test_several_jobs(self):
        """Segments are counted through, also when a job has been joined before the last task."""
        other = self.path('other.mp4')
        self.split()
        self.split('-crf', '30', output=other)
        both = [self.parts, other + '.parts']
        for index in (0, 1, 2):
            self.halod('job', 'segment', '--of', 5, *both, index)
        self.segment(3)
        self.join()
        for index in (3, 4):
            self.halod('job', 'segment', '--of', 5, *both, index)
        self.halod('job', 'join', *both)
        self.assert_done()
        self.assertEqual(sha256(other), self.whole('-crf', '30'))


class Usage(JobTest):
    def test_split(self):
        self.refused('job', 'nothing', says='nothing')
        self.refused('job', says='command')
        text = self.halod('job', '--help').out.decode()
        for word in ('split', 'detect', 'merge', 'segment', 'join', 'status', 'submit', 'watch', '--engine', '75'):
            self.assertIn(word, text)
        self.refused('job', 'split', '-i', self.input, self.output, says='-vf')
        for options, says in (
                (['-resume'], '-resume'), (['-progress', 'x'], '-progress'), (['-b:v', '1M'], '-crf'),
                (['-preset', 'x'], 'preset'), (['-c:v', 'nothing'], 'nothing')):
            run = self.split(*options, code=64)
            self.assertIn(says, self.assert_one_line(run))
            self.assertFalse(os.path.exists(self.parts))
        self.assertIn('No such file', self.split(output=self.path('nowhere/out.mp4'), code=75).err)
        self.assertIn('nowhere.png', self.split(chain='gblur=region=mask nowhere.png', code=64).err)

    def test_split_again(self):
        """Nothing that the old job has left counts for the new one."""
        self.encoded()
        self.assertIn('-y', self.assert_one_line(self.split(code=64)))
        self.refused('run', '-resume', '-segment_time', '1', '-i', self.input, '-vf', 'gblur=sigma=2',
                     *self.ENCODE, self.output, says='halod job')
        write(os.path.join(self.parts, 'submitted.json'), b'{}')
        self.split('-y', '-crf', '40')
        self.assertEqual(os.listdir(self.parts), ['manifest.json'])
        self.assertEqual(self.status()['done'], 0)
        os.mkdir(self.part(1))
        before = self.manifest()
        self.assertIn('cannot be removed', self.split('-y', code=75).err)
        self.assertEqual(self.manifest(), before)
        os.rmdir(self.part(1))
        self.encode_all()
        self.join()
        self.assert_done(self.whole('-crf', '40'))
        self.assertIn('exists', self.split(code=64).err)

    def test_folder_without_a_manifest(self):
        """Without -y, the results in it stay, because their job is not known."""
        os.mkdir(self.parts)
        for name in ('000001.json', '000003.part', 'all.detections'):
            with self.subTest(name):
                write(os.path.join(self.parts, name))
                self.assertIn('-y', self.assert_one_line(self.split(code=64)))
                self.assertEqual(os.listdir(self.parts), [name])
                self.split('-y')
                self.assertEqual(os.listdir(self.parts), ['manifest.json'])
                os.unlink(os.path.join(self.parts, 'manifest.json'))
        self.split()

    @alone
    def test_folder_of_a_run(self):
        """-y does not take it from a run that is writing."""
        self.input = source(3, '320x240')
        run = self.stopped_run()
        before = sorted(os.listdir(self.parts))
        self.assertIn('another halod is writing', self.assert_one_line(self.split('-y', code=75)))
        self.assertEqual(sorted(os.listdir(self.parts)), before)
        code, err = goes_on(run)
        self.assertEqual(code, 0, err)
        self.assertFalse(os.path.exists(self.parts))

    def stopped_run(self):
        """A run that has written a part, and has not joined them."""
        run = self.stopped_at(60, 'run', '-resume', '-segment_time', '1', '-workers', '1', '-i', self.input, '-vf',
                              'gblur=sigma=2', *self.ENCODE, self.output)
        self.assertTrue(os.path.exists(self.part(0)))
        return run

    def test_watched_status(self):
        """Of a job that is split again, and of one that is removed."""
        self.split()
        watches = []
        for _ in range(2):
            watches.append(start_halod('job', 'status', '--watch', self.parts))
            self.addCleanup(watches[-1].kill)
            self.assertIn(b'0 of 4', watches[-1].stdout.readline())
            self.split('-y', '-crf', '40')
        shutil.rmtree(self.parts)
        for watch in watches:
            code, err = ends(watch)
            self.assertEqual(code, 75)
            self.assertIn('no manifest', err)


class BadInput(JobTest):
    def fails(self, *arguments, code, says):
        line = self.refused('job', *arguments, code=code, says=says)
        self.assert_nothing()
        return line

    def test_edited_manifest(self):
        self.split()
        manifest = self.manifest()
        manifest['job']['arguments'][-2:-1] = ['-crf', '1', 'ultrafast']
        self.write_manifest(manifest, seal=False)
        for command in (['segment', self.parts, 0], ['join', self.parts], ['status', self.parts]):
            self.fails(*command, code=78, says='changed')
        write(os.path.join(self.parts, 'manifest.json'), b'{"version": 1, "terms"')
        self.fails('segment', self.parts, 0, code=78, says=('no manifest', 'split again with -y'))
        os.unlink(os.path.join(self.parts, 'manifest.json'))
        self.fails('segment', self.parts, 0, code=75, says='no manifest')
        self.fails('join', self.parts, code=75, says='no manifest')

    def test_output_of_another_job(self):
        """A manifest may name any OUT: only the file to which its folder belongs is written."""
        self.split(output=self.path('film.mp4'))
        self.split()
        write(self.path('film.mp4'), b'finished')
        film = sorted(os.listdir(self.path('film.mp4.parts')))
        good = self.manifest()
        for name in ('./film.mp4', '../film.mp4', self.path('film.mp4'), 'out.mp4', './/out.mp4'):
            bad = json.loads(json.dumps(good))
            words = bad['job']['arguments']
            words[words.index('./out.mp4')] = name
            bad['job']['arguments'] = ['-y', *words]
            self.write_manifest(bad)
            for command in (['segment', self.parts, 0], ['join', self.parts]):
                self.fails(*command, code=78, says=('out.mp4', 'was made for'))
        good['job']['arguments'].insert(0, '-y')
        self.write_manifest(good)
        os.symlink('film.mp4', self.output)
        for command in (['segment', self.parts, 0], ['join', self.parts]):
            self.refused('job', *command, code=78, says='link')
        self.assertEqual(read(self.path('film.mp4')), b'finished')
        self.assertEqual(sorted(os.listdir(self.path('film.mp4.parts'))), film)

    def test_input_that_is_no_file(self):
        """Neither split nor a sealed manifest has a task open anything but a file."""
        self.split()
        good = self.manifest()
        words = good['job']['arguments']
        at = words.index('-i') + 1
        with socket.create_server(('127.0.0.1', 0)) as server:
            server.setblocking(False)
            port = server.getsockname()[1]
            for name in (f'http://127.0.0.1:{port}/a.mp4', f'tcp://127.0.0.1:{port}', '-', 'pipe:0', 'test:',
                         'concat:a|b', '/dev/null', 'subfile,,start,0,end,0,,:/etc/passwd', self.folder):
                code = 75 if name in ('test:', 'concat:a|b') or name.startswith('subfile') else 64
                self.refused('job', 'split', '-i', name, '-vf', 'null', self.path('other.mp4'), code=code,
                             says='no such file' if code == 75 else 'must be a file')
                words[at] = name
                self.write_manifest(good)
                run = halotest.run_halod('job', 'segment', self.parts, 0)
                self.assertIn(run.code, (1, 75), run.err)
                self.assert_one_line(run)
            with self.assertRaises(BlockingIOError):
                server.accept()
        self.assert_nothing()

    def test_input_that_names_others(self):
        """A playlist, whatever its name is and whatever demuxer the manifest names."""
        secret = self.path('secret.ts')
        halotest.ffmpeg('-i', self.input, '-c', 'copy', secret)
        for name, demuxer, text in (
                ('list.mp4', 'hls', f'#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXTINF:4,\n{secret}\n#EXT-X-ENDLIST\n'),
                ('list.mkv', 'concat', "ffconcat version 1.0\nfile 'secret.ts'\n")):
            write(self.path(name), text.encode())
            # FFmpeg 7.1 and later do not even take the first one for a playlist.
            self.refused('job', 'split', '-i', self.path(name), '-vf', 'null', self.output, code=1,
                         says=name)
            self.refused('job', 'split', '-f', demuxer, '-i', self.path(name), '-vf', 'null', self.output, code=1,
                         says='name other files')
            self.split()
            manifest = self.manifest()
            words = manifest['job']['arguments']
            words[words.index('-i') + 1] = './' + name
            manifest['job']['arguments'] = ['-f', demuxer, *words]
            self.write_manifest(manifest)
            run = halotest.run_halod('job', 'segment', self.parts, 0)
            self.assertIn(run.code, (1, 78), run.err)
            self.assertFalse(os.path.exists(self.part(0)))
            shutil.rmtree(self.parts)

    def test_what_does_not_matter(self):
        """The seal is of what the manifest says, not of its spaces; machines have other clocks."""
        self.encoded('--mixed')
        self.assertTrue(self.manifest()['job']['mixed'])
        self.write_manifest(self.manifest(), seal=False)
        for number, at in enumerate((0, 4e9, 1e9, 1e9)):
            os.utime(self.part(number), (at, at))
        self.assertEqual(self.status()['done'], 4)
        self.assertIn('4 of 4', self.halod('job', 'status', self.parts).out.decode())
        shutil.copytree(self.parts, self.path('copy.mp4.parts'))
        self.fails('join', self.path('copy.mp4.parts'), code=78, says=('copy.mp4', 'out.mp4'))
        self.assertFalse(os.path.exists(self.path('copy.mp4')))
        shutil.rmtree(self.path('copy.mp4.parts'))
        self.join()
        self.assert_done()
        self.assertTrue(self.audit()['mixed'])
        self.assertTrue(all('flags' in s['machine'] for s in self.audit()['segments']))
        self.assertTrue(all('ffmpeg' in s['versions'] for s in self.audit()['segments']))

    def test_sealed_nonsense(self):
        self.split()
        good = self.manifest()
        for change in (lambda m: m['segments'][1].pop('hash'), lambda m: m['segments'][1].update(packets='x'),
                       lambda m: m['job'].update(arguments=['-i']), lambda m: m['job'].update(arguments=[None, 7, {}]),
                       lambda m: m['job'].update(arguments=[]), lambda m: m['job'].pop('arguments'),
                       lambda m: m['terms'].update(settings={}), lambda m: m['job'].pop('machine'),
                       lambda m: m['job'].update(machine={'encoder': 7})):
            bad = json.loads(json.dumps(good))
            change(bad)
            self.write_manifest(bad)
            run = halotest.run_halod('job', 'segment', self.parts, 1)
            self.assertIn(run.code, (1, 64, 75, 78), run.err)
            self.assert_one_line(run)
            self.assert_nothing()
        good['segments'][1]['hash'] = good['segments'][0]['hash']  # of other packets
        self.write_manifest(good)
        self.fails('segment', self.parts, 1, code=78, says=('has changed', 'split again with -y'))

    def test_other_machines_and_versions(self):
        self.split()
        good = self.manifest()
        for name, folder in other_libraries(self.folder):  # a file of the same name and other contents
            self.refused('job', 'segment', self.parts, 0, code=78, says=name,
                         environment={'LD_LIBRARY_PATH': folder})
        for group, name, value in (('machine', 'machine', 'vax'), ('machine', 'libc', '1.0'),
                                   ('versions', 'libx264', 'libx264.so.1'), ('versions', 'halod', '0.0.1'),
                                   ('versions', 'libavcodec', '1.2.3'), ('versions', 'ffmpeg', 'n0.1')):
            bad = json.loads(json.dumps(good))
            (bad['job'] if group == 'machine' else bad['terms'])[group][name] = value
            self.write_manifest(bad)
            self.fails('segment', self.parts, 0, code=78, says=value)
            self.fails('join', self.parts, code=78, says=value)
        bad['job']['mixed'] = True
        self.write_manifest(bad)
        self.segment(0)
        os.unlink(self.part(0))
        good['job']['machine']['flags'] = '3'
        self.write_manifest(good)
        self.segment(0)  # x264 gives the same bytes
        os.unlink(self.part(0))
        good['job']['any_flags'] = False
        self.write_manifest(good)
        self.fails('segment', self.parts, 0, code=78, says='flags')

    def test_changed_input(self):
        kept = self.path('in.mp4')
        shutil.copy(self.input, kept)
        self.input = kept
        self.split()
        self.encode_all()
        data = bytearray(read(kept))
        at = data.rindex(b'mdat') + 2000
        data[at:at + 8] = bytes(x ^ 1 for x in data[at:at + 8])
        write(kept, data)
        self.fails('join', self.parts, code=78, says='not the file')
        for number in range(self.count()):
            os.unlink(self.part(number))
        codes = [halotest.run_halod('job', 'segment', self.parts, n).code for n in range(self.count())]
        self.assertTrue(set(codes) <= {0, 1, 78} and set(codes) != {0}, codes)
        os.unlink(kept)
        self.fails('segment', self.parts, 1 if codes[1] else codes.index(next(c for c in codes if c)),
                   code=75, says='in.mp4')
        self.fails('join', self.parts, code=75, says='in.mp4')

    def test_damaged_segment(self):
        self.encoded()
        for damage in (lambda d: d[:len(d) // 2], lambda d: d[:900] + bytes([d[900] ^ 4]) + d[901:],
                       lambda d: b'', lambda d: d + b'x'):
            write(self.part(2), damage(read(self.part(2))))
            self.fails('join', self.parts, code=1, says=('damaged', 'segment MANIFEST 2'))
            self.assertIn('damaged', self.segment(2).err)
        shutil.copy(self.part(1), self.part(3))  # whole, but another one
        self.fails('join', self.parts, code=1, says='does not match')
        for number in (0, 2, 3):
            os.unlink(self.part(number))
        self.fails('join', self.parts, code=75, says=('3 of 4', 'first one is 0'))
        self.encode_all()
        self.join()
        self.assert_done()

    def test_full_and_read_only_folder(self):
        if not can_unshare():
            self.skipTest('no mount namespaces')
        self.encoded()
        os.unlink(self.part(0))
        def inside(prepare, *arguments):
            words = ['unshare', '-rm', 'sh', '-c', f'{prepare} && exec "$@"', 'sh',
                     *halod_command('job', *arguments)]
            done = subprocess.run(words, env=halod_environment(), capture_output=True, check=False)
            self.assertEqual(done.returncode, 75, done.stderr)
            return self.assert_one_line(halotest.Run(75, done.stdout, done.stderr.decode(), str(words)))
        small = (f'cp {self.parts}/manifest.json /mnt && mount -t tmpfs -o size=8k none {self.parts} && '
                 f'cp /mnt/* {self.parts}')
        self.assertIn('No space', inside('mount -t tmpfs none /mnt && ' + small, 'segment', self.parts, '0'))
        self.assertIn('Read-only', inside(
            f'mount --bind {self.parts} {self.parts} && mount -o remount,bind,ro {self.parts}', 'segment',
            self.parts, '0'))
        self.segment(0)
        inside(f'mount --bind {self.folder} {self.folder} && mount -o remount,bind,ro {self.folder}', 'join',
               self.parts)
        self.assert_nothing()
        self.assertEqual(len([n for n in os.listdir(self.parts) if n.startswith('.halod')]), 0)
        # A disk that joins have filled that were killed.
        size = 3 * sum(os.stat(self.part(n)).st_size for n in range(self.count())) + 100000
        join = ' '.join(map(shlex.quote, halod_command('job', 'join', self.parts)))
        script = f'''mount -t tmpfs none /mnt
            cp -a {self.folder}/. /mnt
            mount -t tmpfs -o size={size} none {self.folder}
            cp -a /mnt/. {self.folder}
            cat /dev/zero >{self.parts}/.halod-abcdef
            {join}
            echo $?
            {join}
            echo $? $(ls -A {self.folder})'''
        done = subprocess.run(['unshare', '-rm', 'sh', '-c', script], env=halod_environment(), check=False,
                              capture_output=True)
        self.assertIn(b'out.mp4: cannot be written: No space', done.stderr)
        self.assertEqual(done.stdout.decode().split(), ['75', '0', 'out.mp4', 'out.mp4.job.json'], done.stderr)

    def test_like_nfs(self):
        """Answers to renames are lost, and there are no locks."""
        nfs = {'LD_PRELOAD': first_libraries() + os.environ['HALO_STANDIN_NFS']}
        self.input = source(2)
        self.refused('run', '-resume', '-i', self.input, '-vf', 'null', self.path('x.mp4'), code=1,
                     says='locked', environment=nfs)
        self.split(environment=nfs)
        for number in (1, 0):
            self.segment(number, environment=nfs)
        write(self.output)
        self.refused('job', 'join', self.parts, says='exists', environment=nfs)
        self.assertEqual(read(self.output), b'mine')
        os.unlink(self.output)
        self.join(environment=nfs)
        self.assert_done()


class Failures(JobTest):
    """What has failed is said by those who wait, and by status."""

    def failed(self):
        return [(f.get('segment', f.get('step')), f['code'], f['final']) for f in self.status()['failed']]

    def watch(self, code=1):
        return self.halod('job', 'status', '--watch', self.parts, code=code)

    def test_task_that_ended(self):
        """Its scheduler's script notes it."""
        self.encoded()
        for number in (1, 2, 3):
            os.unlink(self.part(number))
        self.segment('--ended', 137, 2)
        self.assertEqual(self.failed(), [(2, 137, True)])
        for run in (self.watch(75), self.join(code=75, wait=True)):
            self.assertRegex(run.err, 'out.mp4: segment 2 failed on .*: was killed by signal 9')
        self.assertIn('--again', self.watch(75).err)
        self.assertIn('killed by signal 9', self.join(code=75).err)
        self.segment('--ended', 1, '--of', 2, 0)
        self.assertIn('segment 2', self.watch().err)
        self.assertEqual(sorted(map(str, self.failed())), ["('join', 75, False)", '(2, 1, True)'])  # 0 is done
        # A pause of years, in which nobody worked, is no sign of a slow machine.
        self.segment(1)
        os.utime(self.part(0), (1e9, 1e9))
        self.assertLess(self.status().get('seconds_left', 0), 3600 * halotest.PATIENCE)
        self.encode_all()
        self.assertEqual(self.failed(), [('join', 75, False)])
        self.join()
        self.assert_done()
        self.assertEqual(self.failed(), [])

    def test_task_that_says_why(self):
        self.encoded()
        os.unlink(self.part(1))
        good = self.manifest()
        bad = json.loads(json.dumps(good))
        bad['job']['machine']['libc'] = '1.0'
        self.write_manifest(bad)
        self.segment(1, code=78)
        self.segment('--ended', 78, 1)  # which knows less
        self.assertEqual(self.failed(), [(1, 78, True)])
        self.assertIn('libc is 1.0', self.watch().err)
        self.join(code=78)
        self.assertEqual(sorted(map(str, self.failed())), ["('join', 78, True)", "(1, 78, True)"])
        self.write_manifest(good)
        self.segment(1)
        self.join()
        self.assert_done()

    def test_task_that_is_tried_again(self):
        here = self.path('in.mp4')
        shutil.copy(self.input, here)
        self.input = here
        self.split()
        os.rename(here, self.path('away'))
        self.segment(1, code=75)
        self.assertEqual(self.failed(), [(1, 75, False)])
        self.assertIn('is tried again', self.halod('job', 'status', self.parts).out.decode())
        self.segment('--ended', 75, 1)
        self.assertEqual(self.failed(), [(1, 75, True)])
        self.assertIn('in.mp4', self.watch(75).err)
        os.rename(self.path('away'), here)
        self.segment(1)
        self.assertEqual(self.failed(), [])


class Kills(JobTest):
    def setUp(self):
        super().setUp()
        self.input = source(3)

    def slow(self, number=0):
        """A task that has begun to encode."""
        process = self.stopped('segment', self.parts, number, NEW='.halod-')
        process.send_signal(signal.SIGCONT)
        return process

    def temporary(self):
        return [name for name in os.listdir(self.parts) if name.startswith('.halod')]

    def end_by_signals(self, check):
        halotest.need_faults()
        self.input = source(20, '320x240')
        self.ENCODE = ['-preset', 'veryslow']
        self.split(seconds='60')

        def end():
            """The signal is there before it goes on, at frame 100 of 500."""
            process = start_halod('job', 'segment', self.parts, 0, environment={'HALOD_FAULT': 'stop:100'})
            self.addCleanup(process.kill)
            self.assertTrue(wait_stopped(process))
            return self.seconds_to_end(process, number, code)
        for number, code in ((signal.SIGTERM, 143), (signal.SIGINT, 130)):
            check(end)
            self.assertFalse(os.path.exists(self.part(0)))
        self.assertEqual(self.status()['done'], 0)

    def test_signals(self):
        self.end_by_signals(lambda end: end())

    @alone
    def test_signals_end_it_within_a_second(self):
        self.end_by_signals(self.assert_ends_soon)

    def test_sigkill(self):
        self.ENCODE = ['-preset', 'slower']
        self.split()
        for number in range(self.count()):
            process = self.slow(number)
            time.sleep(0.02 * number)
            process.kill()
            ends(process)
        self.encode_all()
        self.join()
        self.assert_done()

    def test_several_at_once(self):
        self.split()
        waits = start_halod('job', 'join', '--wait', self.parts)
        watch = start_halod('job', 'status', '--watch', self.parts)
        results = [ends(p) for p in [start_halod('job', 'segment', self.parts, 0) for _ in range(3)]]
        self.assertEqual([code for code, _ in results], [0, 0, 0], results)
        self.assertEqual(self.temporary(), [])
        for number in range(1, self.count()):
            self.segment(number)
        self.assertEqual(ends(waits)[0], 0)
        self.assertIn(b'complete', watch.communicate(timeout=halotest.RUN_TIMEOUT)[0])
        self.assertEqual(watch.returncode, 0)
        self.assert_done()
        os.unlink(self.output)
        self.encoded()
        results = [ends(p) for p in [start_halod('job', 'join', self.parts) for _ in range(3)]]
        self.assertIn(0, [code for code, _ in results], results)
        self.assertTrue({code for code, _ in results} <= {0, 75}, results)
        self.join()
        self.assert_done()

    def test_late_task(self):
        """It was stopped while another one did its work, and goes on when all is over."""
        self.encoded()
        os.unlink(self.part(0))
        late = self.stopped('segment', self.parts, 0, NEW='.halod-')
        self.segment(0)
        self.join()
        code, err = goes_on(late)
        self.assertEqual(code, 0, err)
        self.assert_done()

    def stopped_join(self):
        """It has begun to write OUT, and not yet its audit trail."""
        self.encoded()
        join = self.stopped('join', self.parts, NEW='.halod-')
        names = os.listdir(self.parts)
        self.assertEqual((len(self.temporary()), 'manifest.json' in names, 'audit.json' in names),
                         (1, True, False), names)
        self.assertFalse(os.path.exists(self.output + '.job.json'))
        return join

    def test_output_that_appears_meanwhile(self):
        """It stays as it is, and no audit trail says what it contains."""
        late = self.stopped_join()
        write(self.output)
        self.refused('job', 'join', self.parts, says='exists')
        self.assertIs(self.status()['complete'], False)
        code, err = goes_on(late)
        self.assertEqual(code, 1, err)
        self.assertIn('exists', err)
        self.assertEqual(read(self.output), b'mine')
        self.assertFalse(os.path.exists(self.output + '.job.json'))
        os.unlink(self.output)
        self.join()
        self.assert_done()

    def test_late_join(self):
        """One is stopped while it writes, until another one has completed OUT."""
        late = self.stopped_join()
        self.join()
        audit = self.audit()
        code, err = goes_on(late)
        self.assertEqual(code, 0, err)
        self.assertIn('another join', err)
        self.assert_done()
        self.assertEqual(self.audit(), audit)

    def test_join_across_another_split(self):
        """The join of the old job was stopped while it wrote, or while it removed the folder."""
        late = self.stopped_join()
        self.split('-y', chain='solid=black')
        seal = self.manifest()['seal']
        self.segment(0)
        code, err = goes_on(late)
        self.assertIn(code, (75, 78), err)  # 75: it had not read all parts, and now they are gone
        self.assertEqual('was split again' in err, code == 78)
        self.assert_nothing()
        self.assertEqual(self.manifest()['seal'], seal)
        self.assertTrue(os.path.exists(self.part(0)))
        self.encode_all()
        self.join()
        self.assert_done(self.whole(chain='solid=black'))
        for name in ('000001.part', 'manifest.json'):
            with self.subTest(name):
                os.unlink(self.output)
                self.encoded()
                late = self.join_that_stops(name)
                self.split('-y', chain='solid=black')
                manifest = self.manifest()
                self.segment(0)
                code, err = goes_on(late)
                self.assertEqual(code, 0, err)
                self.assertEqual(self.manifest(), manifest)
                self.assertIn('was split again in the meantime', err)
                self.assertTrue(os.path.exists(self.part(0)))
                shutil.rmtree(self.parts)

    def test_killed_join(self):
        mask = self.path('mask.png')
        halotest.ffmpeg('-f', 'lavfi', '-i', 'color=white:160x60,format=gray,pad=160:120', '-frames:v', '1',
                        mask)
        self.encoded(chain=f'gblur=sigma=2:region=mask {mask}')
        want = self.whole(chain=f'gblur=sigma=2:region=mask {mask}')
        kept = self.path('kept')
        shutil.copytree(self.parts, kept)
        for delay in range(0, 200, 40):
            join = start_halod('job', 'join', self.parts)
            time.sleep(delay / 1000)
            join.kill()
            ends(join)
            if os.path.exists(self.output):
                self.assertEqual(sha256(self.output), want)
        self.join()
        self.assert_done(want)
        os.rename(kept, self.parts)  # killed before the folder was removed; and the job cannot be loaded any more
        os.unlink(mask)
        self.assertIn('already complete', self.join().err)
        self.assert_done(want)
        os.mkdir(self.parts)  # killed between its last file and the folder
        self.assertIn('already complete', self.join().err)
        self.assert_done(want)
        os.mkdir(self.parts)  # what a split leaves that was killed
        for name in ('.halod-abcdef', '000000.part', 'all.detections', 'mine'):
            write(os.path.join(self.parts, name))
        run = self.join()
        self.assertIn('already complete', run.err)
        self.assertIn('cannot be removed: Directory not empty', run.err)
        self.assertEqual(os.listdir(self.parts), ['mine'])
        os.unlink(os.path.join(self.parts, 'mine'))
        self.join()
        self.assert_done(want)

    def test_file_that_cannot_be_removed(self):
        """The manifest stays until everything else is gone, so that the next join tries again."""
        self.encoded()
        stays = os.path.join(self.parts, '.halod-abcdef')
        os.mkdir(stays)
        self.assertIn('out.mp4.parts/.halod-abcdef: cannot be removed', self.join().err)
        self.assertEqual(sorted(os.listdir(self.parts)), ['.halod-abcdef', 'manifest.json'])
        self.assertIn('cannot be removed', self.join().err)
        os.rmdir(stays)
        self.join()
        self.assert_done()


if __name__ == '__main__':
    halotest.main()
