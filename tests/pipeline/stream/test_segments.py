# SPDX-License-Identifier: BSD-2-Clause
# halod run -segments and -resume: the output depends on neither the number of workers nor on
# interruptions.
import json
import os
import random
import re
import shutil
import signal
import subprocess

import halotest
from halotest import (BT2020_PQ, HaloTest, X264, audio_source, clip, packets, start_halod,
                      video_source, with_colours)
from halotest.played import other_libraries

WORKERS = (1, 7, 16) if halotest.WHOLE else (1,)  # besides two
SECONDS = 6
GOP = ['-c:v', 'libx264', '-preset', 'veryfast', '-threads', '1', '-bf', '3', '-g', '10', '-pix_fmt',
       'yuv420p']
FAST = ['-preset', 'ultrafast']
CODEC = 'libx264' if halotest.WHOLE else 'ffv1'
KILLS = int(os.environ.get('HALOTEST_KILLS', '6' if halotest.WHOLE else '1'))


def x265(*more):
    return ['-c:v', 'libx265', '-preset', 'ultrafast', '-pix_fmt', 'yuv420p', '-x265-params',
            ':'.join(['log-level=error', 'keyint=10', 'pools=1', 'no-open-gop=1', *more])]


def some(*cases):
    return cases if halotest.WHOLE else cases[:1]


def short(*codec, suffix='.mkv', seconds=3, source=()):
    return clip(suffix, *(source or video_source('80x60', seconds=seconds)), *codec)


def sounding(suffix='.mp4', seconds=3):
    return clip(suffix, *video_source('80x60', seconds=seconds), *audio_source(seconds), *GOP, '-c:a', 'aac')


class Segments(HaloTest):
    def cut(self, source, *options, name='out.mkv', workers=2, seconds='1', chain='gblur=sigma=1',
            code=0):
        """The output as bytes, or None, and what the run said."""
        output = self.path(name)
        run = self.halod('run', '-y', '-segments', '-segment_time', seconds, '-workers', workers,
                         '-i', source, '-vf', chain, *options, output, code=code)
        self.assertFalse(os.path.exists(output + '.parts'))
        if code:
            self.assertFalse(os.path.exists(output))
            return None, run.err
        with open(output, 'rb') as file:
            return file.read(), run.err

    def number(self, err):
        return int(re.search(r' in (\d+) segments?, ', err)[1])

    def same(self, source, *options, name='out.mkv', codec=CODEC, segments=2, **more):
        """With a lossless encoder, the same frames at the same times as without segments; with others,
        other numbers of workers give the same bytes. segments: the fewest."""
        encode = ['-c:v', codec, *(() if codec == 'ffv1' else FAST), *options]
        want, err = self.cut(source, *encode, name=name, **more)
        self.assertGreaterEqual(self.number(err), segments, err)
        for count in WORKERS if codec != 'ffv1' else ():
            got = self.cut(source, *encode, name=name, workers=count, **more)[0]
            self.assertEqual(got, want, f'{count} workers: other bytes')
        if codec != 'ffv1':
            self.assertTrue(halotest.decodes_cleanly(self.path(name)))
            name = 'cut.mkv'
            self.cut(source, '-c:v', 'ffv1', *options, name=name)
        whole = self.path('whole.mkv')
        self.halod('run', '-y', '-i', source, '-vf', 'gblur=sigma=1', '-c:v', 'ffv1', *options, whole)
        self.assertEqual(self.content(self.path(name)), self.content(whole))
        return err

    def content(self, path):
        """The time and a hash of each decoded frame; and of each packet of other streams."""
        return halotest.ffmpeg('-i', path, '-map', '0', '-fps_mode', 'passthrough', '-c', 'copy', '-c:v',
                               'rawvideo', '-f', 'framemd5', '-').splitlines()


class Kinds(Segments):
    def test_h264_with_sound(self):
        for name in some('out.mp4', 'out.mkv', 'out.ts'):
            with self.subTest(name):
                self.same(sounding(), name=name, codec='libx264', segments=3)

    def test_order_of_packets(self):
        """Decoding times increase, also where segments with B-frames meet. A part that is complete and
        whose stream has not ended yet is counted once in the progress."""
        self.cut(sounding(), '-preset', 'veryfast', '-progress', self.path('progress'), name='out.mp4')
        output = self.path('out.mp4')
        times = [int(p['dts']) for p in packets(output, 0)]
        self.assertEqual(len(times), 75)
        self.assertEqual(times, sorted(set(times)))
        keys = [p for p in packets(output, 0) if 'K' in p['flags']]
        self.assertGreaterEqual(len(keys), 3)
        with open(self.path('progress'), encoding='ascii') as file:
            frames = [int(line[6:]) for line in file if line.startswith('frame=')]
        self.assertEqual(frames, sorted(frames))
        self.assertEqual(frames[-1], 75)

    def test_uneven_times(self):
        drops = ['-vf', "select='not(between(n,13,17)+eq(n,31)+eq(n,60)+not(mod(n,7)))'",
                 '-fps_mode', 'vfr']
        self.same(short(*drops, *GOP, '-output_ts_offset', '3.3', suffix='.mp4'), name='out.mp4',
                  codec='libx264')

    def test_clock_that_jumps(self):
        """In a transport stream. How far it jumps follows from the packets of all streams."""
        with open(sounding('.ts'), 'rb') as file:
            data = file.read()
        source = self.path('twice.ts')
        with open(source, 'wb') as file:
            file.write(data + data)
        self.same(source)

    def test_last_segment_of_one_frame(self):
        """For one or two frames, x265 returns no valid decoding times."""
        for frames in some(1, 2):
            source = clip('.mp4', *video_source('80x60', seconds=3), '-frames:v', 50 + frames, *GOP, '-g', '25',
                          '-keyint_min', '25', '-sc_threshold', '0')
            for name in some('out.mp4', 'out.ts'):
                with self.subTest((frames, name)):
                    self.same(source, name=name, codec='libx265', segments=3)

    def test_one_x265(self):
        """Of several in one process, one run in twenty gave other bytes."""
        run = self.halod('run', '-y', '-segments', '-workers', '4', '-i', short(), '-vf', 'null',
                         '-c:v', 'hevc', '-preset', 'ultrafast', self.path('one.mkv'))
        self.assertIn('with libx265, one segment is encoded at a time', run.err)

    def test_hevc_of_ten_bits(self):
        hdr = with_colours('yuv420p10le', **BT2020_PQ)
        self.same(short(*x265('hdr10=1', 'max-cll=1000,400', 'master-display=G(13250,34500)'
                              'B(7500,3000)R(34000,16000)WP(15635,16450)L(10000000,1)'), *hdr),
                  codec='libx265')

    def test_vp9(self):
        self.same(short('-c:v', 'libvpx-vp9', '-deadline', 'realtime', '-cpu-used', '8', '-g', '10',
                        '-b:v', '300k', suffix='.webm'))

    def test_frames_without_references(self):
        for codec in (['ffv1', '-g', '5'], ['mjpeg', '-pix_fmt', 'yuvj420p']):
            with self.subTest(codec):
                self.same(short('-c:v', *codec), segments=3)

    def test_edit_list(self):
        self.same(clip('.mp4', '-ss', '0.9', '-i', sounding(seconds=4), '-c', 'copy'))

    def test_range(self):
        for options in some(['-ss', '0.4', '-t', '1.7'], ['-ss', '1.23'], ['-t', '2.1']):
            with self.subTest(options):
                self.same(sounding(), *options)

    def test_fragments_and_no_index(self):
        self.same(clip('.mp4', *video_source('80x60', seconds=2), *GOP, '-movflags',
                       'frag_keyframe+empty_moov'))
        self.same(clip('.mkv', *video_source('80x60', seconds=2), *GOP, '-live', '1'))

    def test_everything_else_once(self):
        chapters = (';FFMETADATA1\ntitle=seams\n'
                    '[CHAPTER]\nTIMEBASE=1/1000\nSTART=0\nEND=1000\ntitle=a\n'
                    '[CHAPTER]\nTIMEBASE=1/1000\nSTART=1000\nEND=3000\ntitle=b\n')
        words = '1\n00:00:00,900 --> 00:00:01,100\nat the seam\n\n2\n00:00:02,000 --> 00:00:03,000\nx\n'
        for name, text in (('meta', chapters), ('words.srt', words)):
            with open(self.path(name), 'w', encoding='ascii') as file:
                file.write(text)
        source = self.path('in.mkv')
        halotest.ffmpeg('-y', '-i', sounding(), '-i', self.path('words.srt'), '-i', self.path('meta'),
                        '-map_metadata', '2', '-map_chapters', '2', '-map', '0', '-map', '1', '-c',
                        'copy', '-c:s', 'srt', source)
        self.same(source)
        output = self.path('out.mkv')
        self.assert_audio_same(source, output)
        found = halotest.probe(output)
        self.assertEqual([c['start_time'] for c in found['chapters']], ['0.000000', '1.000000'])
        self.assertEqual(halotest.lower_tags(found['format'])['title'], 'seams')
        self.assertEqual(halotest.subtitle_text(output), halotest.subtitle_text(source))


class OneSegment(Segments):
    """What cannot be cut is encoded as one segment, and the run says why."""

    def one(self, source, why, *options, **more):
        err = self.same(source, *options, segments=1, **more)
        self.assertEqual(self.number(err), 1)
        if why:
            self.assertIn(why, err)

    def test_open_groups(self):
        self.one(short('-c:v', 'libx264', '-preset', 'veryfast', '-threads', '1', '-pix_fmt', 'yuv420p',
                       '-x264-params', 'open-gop=1:keyint=10:scenecut=0:bframes=3'),
                 'groups of pictures are open')

    def test_one_group_and_one_frame(self):
        self.one(short(*X264, '-g', '250'), 'keyframes are far apart')
        self.one(short(*X264, '-frames:v', '1'), None)

    def test_other_codecs(self):
        self.one(short('-c:v', 'mpeg4', '-g', '10', suffix='.mp4'),
                 'streams with this codec cannot be divided')

    def test_from_a_change_on(self):
        data = b''
        for size in ('80x60', '96x64'):
            part = short(*GOP, suffix='.ts', source=video_source(size, seconds=2))
            with open(part, 'rb') as file:
                data += file.read()
        source = clip('.ts', '-f', 'mpegts', '-i', '-', '-map', '0', '-c', 'copy', data=data)
        err = self.same(source, segments=2)
        self.assertIn('is encoded as one segment from 00:00:0', err)
        self.assertIn('its parameter sets change', err)


class Refused(Segments):
    def refuse(self, *options, source=None, name='out.mkv', says=(), code=64, before=()):
        source = source or sounding()
        self.refused('run', *before, '-i', source, '-vf', 'null', *options,
                     self.path(name) if '/' not in name and ':' not in name else name, says=says,
                     code=code)
        self.assertFalse(os.path.exists(self.path(name) + '.parts'))

    def test_usage(self):
        self.refuse('-workers', '2', says='-segments')
        self.refuse('-segment_time', '3', says='-segments')
        self.refuse('-segments', '-workers', 'many', says='-workers many')
        self.refuse('-segments', '-segment_time', '0', says='segment_time')
        self.refuse('-segments', '-b:v', '1M', says='-crf')
        self.refuse('-segments', '-keep-going', says='-keep-going')
        self.refuse('-segments', '-stats', says='-stats')
        self.refuse('-segments', name='null:', says='null:')
        self.refuse('-segments', '-f', 'nut', name='unix:/nowhere', says='must be a file')

    def test_outputs(self):
        """Those that count frames, and pipes."""
        for name in ('out.avi', 'out.mxf'):
            with self.subTest(name):
                self.refuse('-segments', '-an', name=name, says='use .mkv or .mp4')
        os.mkfifo(self.path('pipe.mkv'))
        self.refuse('-segments', '-y', name='pipe.mkv', says='must be a file')

    def test_inputs(self):
        with open(short(*GOP, suffix='.ts'), 'rb') as file:
            data = file.read()
        run = self.halod('run', '-segments', '-i', '-', '-vf', 'null', self.path('out.mkv'), data=data,
                         code=64)
        self.assertIn('read several times', run.err)
        two = clip('.mkv', *video_source(), *video_source('96x64'), '-map', '0', '-map', '1', *GOP)
        self.refuse('-segments', source=two, says='2 video streams')
        self.refused('run', '-resume', '-i', '/dev/video0', '-vf', 'null', self.path('out.mkv'), says='camera')
        self.refused('run', '-segments', '-i', sounding(), '-vf', 'gblur=region=faces', self.path('out.mkv'),
                     says='detections')
        self.refuse('-segments', source='/nowhere.mkv', code=1, says='/nowhere.mkv')

    def test_damage(self):
        """The same error as without segments, and nothing is left."""
        with open(clip('.mkv', *video_source('320x240', seconds=4), *GOP), 'rb') as file:
            data = bytearray(file.read())
        for share in (0.4, 0.61):
            at = int(len(data) * share)
            data[at:at + 24] = bytes(x ^ 0x5a for x in data[at:at + 24])
        source = self.path('spoiled.mkv')
        with open(source, 'wb') as file:
            file.write(data)
        whole = self.halod('run', '-i', source, '-vf', 'null', self.path('whole.mkv'), code=1)
        self.assertIn('damaged at', whole.err)
        self.assertIn('damaged at', self.cut(source, chain='null', code=1)[1])
        with open(source, 'wb') as file:
            file.write(data[:len(data) // 3])
        self.cut(source, chain='null', code=1)


class Ends(Segments):
    ENCODE = ['-c:v', 'libx264', '-preset', 'veryfast']
    CHAIN = 'gblur=sigma=3'
    made = []

    def setUp(self):
        super().setUp()
        self.source = sounding(seconds=SECONDS)
        self.output = self.path('out.mp4')
        self.parts = self.output + '.parts'

    def command(self, *options, workers='2'):
        return ['run', '-segment_time', '1', '-workers', workers, '-i', self.source, '-vf',
                self.CHAIN, *self.ENCODE, *options, self.output]

    def whole(self):
        """Of a run that nothing interrupts; made once."""
        if not self.made:
            self.halod(*self.command('-segments', '-y'))
            self.made.append(self.take_output())
        return self.made[0]

    def take_output(self):
        self.assertFalse(os.path.exists(self.parts))
        with open(self.output, 'rb') as file:
            data = file.read()
        os.unlink(self.output)
        self.assertEqual(os.listdir(os.path.dirname(self.output)), [])
        return data

    def done(self):
        try:
            return sorted(name for name in os.listdir(self.parts) if name.endswith('.part'))
        except FileNotFoundError:
            return []

    def stopped(self, *options, after=3):
        """A run that stands still after so many segments more, in the midst of the next one."""
        return self.stopped_at(30 * after + 20, *self.command(*options, workers='1'))

    def begin(self, number, *options, after=3):
        """What a run that gets a signal in its midst says, and its status."""
        return self.ended_by(self.stopped(*options, after=after), number)

    def leave_folder(self):
        """As a run that is killed when the output has its name, and before the folder is removed."""
        self.begin(signal.SIGKILL, '-resume')
        shutil.copytree(self.parts, self.path('kept'))
        self.halod(*self.command('-resume'))
        os.rename(self.path('kept'), self.parts)
        path = os.path.join(self.parts, 'manifest.json')
        with open(path, encoding='utf-8') as file:
            manifest = json.load(file)
        manifest['output_inode'] = os.stat(self.output).st_ino
        with open(path, 'w', encoding='utf-8') as file:
            json.dump(manifest, file)

    def test_killed_at_any_time(self):
        want = self.whole()
        seconds = 1.5
        chance = random.Random(11)
        for round_number in range(KILLS):
            killed = 0
            while True:
                run = start_halod(*self.command('-resume', workers=str(chance.randint(1, 3))))
                try:
                    err = run.communicate(timeout=chance.random() * seconds)[1].decode()
                except subprocess.TimeoutExpired:
                    run.kill()
                    run.communicate()
                    killed += 1
                    if killed % 5 == 4:
                        seconds *= 1.5
                    continue
                break
            if 'exists' not in err:  # killed when all was done
                self.assertEqual(run.returncode, 0, err)
            self.assertEqual(self.take_output(), want, f'round {round_number}, killed {killed} times')

    def test_terminated_and_continued(self):
        want = self.whole()
        err, code = self.begin(signal.SIGTERM, '-resume')
        self.assertEqual(code, 143, err)
        self.assertIn('run the same command again to continue', err)
        self.assertFalse(os.path.exists(self.output))
        kept = self.done()
        self.assertGreaterEqual(len(kept), 3)
        times = {name: os.stat(os.path.join(self.parts, name)).st_mtime_ns for name in kept}
        with open(os.path.join(self.parts, 'manifest.json'), encoding='utf-8') as file:
            manifest = json.load(file)
        self.assertEqual(manifest['output_inode'], 0)  # there is none, whatever file gets its inode
        self.assertEqual(manifest['terms']['settings']['preset'], 'veryfast')
        self.assertEqual(manifest['input']['size'], os.path.getsize(self.source))
        err, code = self.begin(signal.SIGINT, '-resume', after=1)
        self.assertEqual(code, 130, err)
        self.assertGreater(len(self.done()), len(kept))
        for name, time_ns in times.items():  # finished segments were not encoded again
            self.assertEqual(os.stat(os.path.join(self.parts, name)).st_mtime_ns, time_ns)
        self.halod(*self.command('-resume'))
        self.assertEqual(self.take_output(), want)

    def test_interrupted_without_resume(self):
        err, code = self.begin(signal.SIGINT, '-segments')
        self.assertEqual(code, 130, err)
        self.assertEqual(os.listdir(os.path.dirname(self.output)), ['out.partial.mp4'])
        partial = self.path('out.partial.mp4')
        count = halotest.frame_count(partial)
        self.assertGreater(count, 0)
        self.assertLess(count, SECONDS * 25)
        self.assertEqual(count % 10, 0)  # whole segments, which are cut at keyframes
        self.assertIn(f'{count} frames', err)

    def test_damaged_part(self):
        want = self.whole()
        self.begin(signal.SIGKILL, '-resume')
        part = os.path.join(self.parts, self.done()[1])
        size = os.path.getsize(part)
        with open(part, 'r+b') as file:
            file.seek(size // 2)
            file.write(b'damaged')
        with open(os.path.join(self.parts, self.done()[0]), 'r+b') as file:
            file.truncate(40)
        run = self.halod(*self.command('-resume'))
        self.assertEqual(run.err.count('is encoded again'), 2, run.err)
        self.assertEqual(self.take_output(), want)

    def test_what_does_not_fit(self):
        want = self.whole()
        self.begin(signal.SIGTERM, '-resume', after=1)
        kept = self.done()
        self.refused(*self.command('-resume', '-crf', '20'), says='-crf (not given), not with 20')
        for name, folder in other_libraries(self.folder):
            self.refused(*self.command('-resume'), says=name, environment={'LD_LIBRARY_PATH': folder})
        self.refused(*self.command('-segments'), says='-resume')
        command = self.command('-resume')
        command[command.index('gblur=sigma=3')] = 'gblur=sigma=4'
        self.refused(*command, says='-vf gblur=sigma=3, not with gblur=sigma=4')
        other = clip('.mp4', *video_source(seconds=SECONDS), '-vf', 'negate', *GOP)
        command = self.command('-resume')
        command[command.index(self.source)] = other
        self.assertIn('was made from another file', self.halod(*command, code=64).err)
        self.assertEqual(self.done(), kept)  # nothing was lost by this
        self.halod(*self.command('-segments', '-y'))  # begins again
        with open(self.output, 'rb') as file:
            self.assertEqual(file.read(), want)

    def test_changed_mask(self):
        mask = self.path('mask.pgm')
        with open(mask, 'wb') as file:
            file.write(b'P5 2 2 255\n' + bytes((255, 0, 0, 255)))
        self.CHAIN = f'gblur=sigma=3:region=mask {mask}'
        self.begin(signal.SIGKILL, '-resume')
        with open(mask, 'wb') as file:
            file.write(b'P5 2 2 255\n' + bytes((0, 255, 255, 0)))
        self.refused(*self.command('-resume'), says='another mask image')

    def test_two_at_once(self):
        run = self.stopped('-resume')
        other = self.halod(*self.command('-resume', '-y'), code=1)
        self.assertIn('another halod', other.err)
        run.send_signal(signal.SIGCONT)
        err = run.communicate(timeout=halotest.RUN_TIMEOUT)[1]
        self.assertEqual(run.returncode, 0, err)
        self.take_output()

    def test_complete_output(self):
        """It has its name, and the folder is left, which only the same command removes."""
        self.leave_folder()
        self.refused(*self.command('-resume', '-y', '-crf', '30'), says='-crf')
        other = clip('.mp4', *video_source(seconds=SECONDS), '-vf', 'negate', *GOP)
        command = self.command('-resume')
        command[command.index(self.source)] = other
        kept = shutil.copytree(self.parts, self.path('kept'))
        self.refused(*command, says='exists')
        shutil.rmtree(self.parts, ignore_errors=True)
        os.rename(kept, self.parts)
        self.assertIn('already complete', self.halod(*self.command('-resume')).err)
        self.take_output()

    def test_names_that_are_not_utf8(self):
        """And an output that exists."""
        name = os.fsencode(self.path('')) + b'caf\xe9.mp4'
        shutil.copy(self.source, name)
        command = self.command('-resume')
        command[command.index(self.source)] = os.fsdecode(name)
        with open(self.output, 'wb') as file:
            file.write(b'before')
        self.refused(*command, says='exists')
        self.assertFalse(os.path.exists(self.parts))
        self.halod(*command, '-y')
        self.assertGreater(os.path.getsize(self.output), 1000)

    def test_modes_of_files(self):
        before = os.umask(0o027)
        try:
            self.begin(signal.SIGTERM, '-resume')
            for name in os.listdir(self.parts):
                mode = os.stat(os.path.join(self.parts, name)).st_mode
                self.assertEqual(mode & 0o777, 0o640, name)
            self.halod(*self.command('-resume'))
        finally:
            os.umask(before)
        self.assertEqual(os.stat(self.output).st_mode & 0o777, 0o640)

    def test_foreign_folder(self):
        os.mkdir(self.parts)
        with open(os.path.join(self.parts, 'notes.txt'), 'w', encoding='ascii') as file:
            file.write('mine')
        for options in (['-segments'], ['-resume'], ['-segments', '-y']):
            self.refused(*self.command(*options), says='no manifest')
        self.assertEqual(os.listdir(self.parts), ['notes.txt'])
        os.rename(os.path.join(self.parts, 'notes.txt'), os.path.join(self.parts, 'a.halod-notes'))
        self.refused(*self.command('-resume'), says='no manifest')
        self.assertEqual(os.listdir(self.parts), ['a.halod-notes'])


if __name__ == '__main__':
    halotest.main()
