# SPDX-License-Identifier: BSD-2-Clause
"""Jobs with detectors: detect, merge, and segments that are like a run that was not cut."""
import json
import os
import shutil
import signal
import stat
import time

import halotest
from halotest import alone, clip, start_halod, wait_until
from halotest.detector import STANDIN
from halotest.jobs import GOP, DetectTest, frames, scenes, sha256, wait_stopped
from halotest.warm import first_libraries


class Whole(DetectTest):
    LENGTH = 100

    def test_like_one_process(self):
        self.split()
        self.assertTrue(self.manifest()['job']['detects'])
        self.assertEqual(self.status()['stage'], 'detect')
        self.detect_all()
        self.assertEqual(self.status()['done'], self.count())
        for name in self.in_parts('.detections'):
            self.assertEqual(stat.S_IMODE(os.stat(os.path.join(self.parts, name)).st_mode), 0o600)
        self.merge()
        self.assertEqual(self.in_parts('.detections'), ['all.detections'])
        self.assertEqual(stat.S_IMODE(os.stat(self.merged).st_mode), 0o600)
        self.assertEqual((self.status()['stage'], self.status()['done']), ('encode', 0))
        self.encode_all()
        self.assertEqual(self.status()['stage'], 'join')
        self.join()
        self.assertEqual(self.status()['stage'], 'complete')
        want = self.whole()
        self.assertNotEqual(want, self.whole(chain='null'))
        self.assert_done(want)
        found = self.audit()['detectors']['faces']
        self.assertEqual((found['name'], found['frames'], found['boxes']), ('stand-in', 100, 50))
        self.assertIn('standin-detector', found['settings'])

    def test_lengths_and_orders(self):
        """Two at once, one that is missed at seams, one that begins shortly after a seam, low scores."""
        self.say((n for n in range(35, 95) if n not in (40, 41, 50, 60, 61, 62)), 0.6, 0.5, score=0.7)
        self.say(range(31, 38), 0.05, 0.6, 0.15, 0.2)
        self.say(range(72, 79), 0.3, 0.1, 0.15, 0.2, score=0.3)
        self.split(seconds='0.4')
        self.complete((3, 7, 0, 1, 5, 2, 4, 6))
        self.assert_done()

    def test_cuts_at_seams(self):
        self.input = scenes(30, 30, 7, 33)
        self.say(range(40, 55), 0.5, 0.5)
        self.say(range(60, 95), 0.1, 0.4)
        want = self.whole('-faces', self.detector() + ':enter=4')
        self.assertNotEqual(want, self.whole('-faces', self.detector() + ':enter=1'))
        self.split('-faces', self.detector() + ':enter=4', seconds='1.2')
        self.complete()
        self.assert_done(want)

    def test_encoded_and_with_sound(self):
        """Other times, B-frames and sound. The bytes do not depend on the order."""
        self.input = clip('.mp4', *halotest.video_source(seconds=3), *halotest.audio_source(3), *GOP,
                          '-c:a', 'aac')
        self.ENCODE = ['-preset', 'ultrafast']
        detector = self.detector().replace('--within 1000', '--within 20000')
        seen = set()
        for order in (None, (2, 0, 1)):
            self.split('-y', '-faces', detector, '-c:a', 'copy')
            self.complete(order)
            seen.add(sha256(self.output))
        self.assertEqual(len(seen), 1)
        whole = self.path('whole.mkv')
        self.halod('run', '-i', self.input, '-vf', self.CHAIN, '-faces', detector, '-c:v', 'ffv1', whole)
        self.assertEqual(halotest.frame_times(self.output), halotest.frame_times(whole))
        self.assertEqual(halotest.packet_times(self.output, 'a:0'), halotest.packet_times(whole, 'a:0'))

    def test_detectors_that_die(self):
        """Others judge the rest; a frame at which three die ends the run."""
        want = self.whole()
        self.assertEqual(self.whole('-faces', self.detector('--do', 'crash@40')), want)
        self.split('-faces', self.detector('--do', 'exit@15'), seconds='0.8')
        self.complete()
        self.assertEqual(frames(self.output), want)
        said = self.halod('run', '-y', '-i', self.input, '-vf', self.CHAIN, '-faces', self.detector('--do', 'crash@1'),
                          self.path('none.mkv'), code=1).err
        self.assertIn('failed 3 times at frame 1 (00:00:00.000)', said)
        self.assertFalse(os.path.exists(self.path('none.mkv')))

    def test_runs(self):
        """In the statistics a detector has its row, and can be the bound. Inputs may have no rate."""
        self.halod('run', '-i', self.input, '-vf', self.CHAIN, '-faces', self.detector(), '-stats_json',
                   self.path('stats'), 'null:')
        with open(self.path('stats'), encoding='ascii') as file:
            rows = {(row['thread'], row['stage']): row for row in json.load(file)['stages']}
        self.assertEqual(rows['faces', 'detect']['count'], 100)
        self.assertEqual(rows['faces', 'detect']['kind'], 'work')
        self.assertIn(('filter', 'wait_detect'), rows)
        self.assertNotIn(('filter', 'wait_decode'), rows)
        raw = self.path('in.yuv')
        halotest.ffmpeg('-i', self.input, '-f', 'rawvideo', '-pix_fmt', 'yuv420p', raw)
        timeless = clip('.nut', *halotest.video_source(), '-c:v', 'libx264', '-frames:v', '1')
        for source in (('-f', 'rawvideo', '-pixel_format', 'yuv420p', '-video_size', '160x120', '-i', raw),
                       ('-i', timeless)):
            self.halod('run', *source, '-vf', self.CHAIN, '-faces', self.detector(), 'null:')

    def test_part_of_the_file(self):
        """And what detectors find is shown, not hidden."""
        chain, part = 'gblur=sigma=9:region=faces:invert=1', ('-ss', '1.3', '-t', '2')
        self.split(*part, chain=chain)
        self.complete()
        self.assert_done(self.whole(*part, chain=chain))

    def test_size_that_changes(self):
        """The detector is greeted again, and frames wait for it."""
        parts = [clip('.ts', *halotest.video_source(size, seconds=2), *GOP, '-bf', '0')
                 for size in ('160x120', '320x240')]
        self.input = self.path('sizes.ts')
        with open(self.input, 'wb') as file:
            for part in parts:
                with open(part, 'rb') as source:
                    file.write(source.read())
        detector = f'command={STANDIN} --look none --box 0.2,0.2,0.3,0.3'
        self.split('-faces', detector)
        self.complete()
        want = self.whole('-faces', detector)
        self.assert_done(want)
        self.assertGreater(len({frame[1] for frame in want}), 90)  # not all of it is hidden

    def test_rotated(self):
        """Detectors see frames as they are displayed."""
        plain = clip('.mp4', *halotest.video_source('320x240', seconds=2), *GOP)
        self.input = halotest.turned_clip(plain, 90)
        self.assertNotEqual(halotest.rotation(halotest.probe_video(self.input)), 0)
        self.rows.clear()
        self.say(range(5, 45), 0.1, 0.2, 0.3, 0.25)
        chain = 'hide=how=cells:region=faces,hide=how=cells:n=3:region=rect 0 0 90 60'
        self.split(chain=chain)
        self.complete()
        self.assert_done(self.whole(chain=chain))

    def test_one_task_for_several(self):
        other = self.path('other.mkv')
        self.input = scenes(50)
        self.split()
        self.split(chain='gblur=sigma=2', output=other)
        both = [self.parts, other + '.parts']
        for command in ('detect', 'merge', 'segment', 'join'):
            for index in range(3 if command in ('detect', 'segment') else 1):
                words = ['--of', 3, *both, index] if command in ('detect', 'segment') else both
                self.halod('job', command, *words)
        self.assert_done()
        self.assertTrue(os.path.exists(other))
        self.assertNotIn('detectors', self.audit(other))


class Hidden(DetectTest):
    """What is shown in place of an object is the same in all segments."""

    CHAIN = 'hide=how=cells:region=faces'

    def setUp(self):
        super().setUp()
        self.input = clip('.mkv', *halotest.video_source('320x240', seconds=2), *GOP)
        self.rows.clear()
        self.say((n for n in range(5, 47) if n not in (29, 30, 31)), 0.1, 0.1, speed=0.1)
        self.say(range(24, 45), 0.5, 0.5)
        self.say(range(8, 40), 0.7, 0.2, 0.05, 0.06, speed=0, grows=2)  # too small for cells at first
        self.say(range(14, 17), 0.4, 0.6, score=0.6)

    def test_cells(self):
        want = self.whole()
        self.assertNotEqual(want, self.whole(chain='hide=how=solid:region=faces'))
        self.split()
        self.complete((1, 0))
        self.assert_done(want)
        hidden = self.audit()['hidden']
        self.assertEqual(hidden['bits'], 324 * hidden['objects'])
        self.assertNotIn('epsilons', hidden)
        # Gates of one process that show kept values work one after the other.
        os.unlink(self.output)
        self.split('-workers', '4')
        self.detect_all()
        self.merge()
        self.halod('job', 'segment', '--of', '1', self.parts, '0')
        self.join()
        self.assert_done(want)

    def test_several_filters(self):
        """One is in the chain's text, one is too small, one follows people."""
        self.say(range(20, 45), 0.2, 0.4, 0.3, 0.5, rows='people')
        chain = ('hide=how=cells:n=3:region=rect 8 8 80 80+rect 100 10 12 60,hide=how=cells:region=faces,'
                 'hide=how=cells:n=4:levels=4:region=people')
        people = ('-people', self.detector(rows='people'))
        self.split(*people, chain=chain)
        self.complete()
        self.assert_done(self.whole(*people, chain=chain))
        self.assertEqual(sorted(self.audit()['detectors']), ['faces', 'people'])

    def test_without_detectors(self):
        chain = 'hide=how=cells:region=rect 10% 10% 50% 50%'
        self.split(chain=chain)
        self.assertFalse(self.manifest()['job']['detects'])
        self.assertEqual(self.status()['stage'], 'merge')
        self.assertIn('not merged', self.assert_one_line(self.segment(0, code=75)))
        self.merge()
        self.encode_all()
        self.join()
        self.assert_done(self.whole(chain=chain))

    def region(self, path, x, y, width, height):
        """The luma of this part of each frame."""
        data = halotest.ffmpeg('-i', path, '-vf', f'crop={width}:{height}:{x}:{y}', '-f', 'rawvideo',
                               '-pix_fmt', 'gray', '-')
        return [data[at:at + width * height] for at in range(0, len(data), width * height)]

    def test_first_segments_without_frames(self):
        """-ss leaves packets of MPEG-TS in segments that have no frame."""
        self.input = clip('.ts', *halotest.video_source('160x120', seconds=3), *GOP)
        chain = 'hide=how=cells:n=3:region=rect 8 8 80 80,solid=gray:region=faces'
        self.split('-ss', '1', chain=chain, seconds='0.8')
        self.complete()
        self.assert_done(self.whole('-ss', '1', chain=chain))

    def test_noise(self):
        chain = 'hide=how=noise:n=16:epsilon=1:region=rect 80 60 160 120'
        seen = []
        for _ in range(2):
            self.split('-y', chain=chain)
            self.merge()
            self.encode_all()
            self.join()
            parts = self.region(self.output, 80, 60, 160, 120)
            self.assertEqual((len(parts), len(set(parts))), (50, 1))
            seen.append(parts[0])
            self.assertEqual(self.audit()['hidden'], {'objects': 1, 'bits': 2.0, 'epsilons': 1.0})
        self.assertNotEqual(seen[0], seen[1])

    def test_noise_of_faces(self):
        """One that does not move looks the same in each frame; what was made with other noise does not fit."""
        self.rows.clear()
        self.say(range(0, 50), 0.3, 0.3, 0.3, 0.3, speed=0)
        self.split(chain='hide=how=noise:n=6:epsilon=1:region=faces')
        self.detect_all()
        self.merge()
        self.encode_all()
        os.unlink(self.merged)
        self.detect_all()
        self.merge()
        self.assertIn('does not match', self.assert_one_line(self.join(code=1)))
        self.encode_all()
        self.join()
        parts = self.region(self.output, 112, 84, 64, 48)
        self.assertEqual((len(parts), len(set(parts))), (50, 1))
        self.assertEqual(self.audit()['hidden']['objects'], 1)

    def test_merge_that_is_killed(self):
        self.split(chain='hide=how=noise:epsilon=1:region=faces')
        self.detect_all()
        for delay in (0.02, 0.05, 0.08, 0.12):
            merge = start_halod('job', 'merge', self.parts)
            time.sleep(delay)
            merge.kill()
            merge.communicate()
        self.merge()
        with open(self.merged, 'rb') as file:
            kept = file.read()
        self.merge()
        with open(self.merged, 'rb') as file:
            self.assertEqual(file.read(), kept)

    def test_nothing_of_it_is_seen(self):
        """A mark moves; the detector finds it by its colour."""
        self.input = clip('.mkv', '-f', 'lavfi', '-i', 'color=gray:size=320x240:rate=25:duration=2', '-f', 'lavfi',
                          '-i', 'color=magenta:size=60x60:rate=25:duration=2', '-filter_complex',
                          '[0][1]overlay=x=20+100*t:y=40+40*t:enable=between(t\\,0.3\\,1.6)', *GOP)
        detector = 'command=' + STANDIN + ' --look mark'
        def magenta(path):
            data = halotest.ffmpeg('-i', path, '-f', 'rawvideo', '-pix_fmt', 'rgb24', '-')
            return sum(data[i] > 160 and data[i + 2] > 160 and data[i + 1] < 110 for i in range(0, len(data), 3 * 7))
        self.assertGreater(magenta(self.input), 10000)
        self.split('-faces', detector, chain='solid=black:region=faces', seconds='0.4')
        self.complete()
        self.assertEqual(magenta(self.output), 0)


class Usage(DetectTest):
    def test_masks(self):
        for chain in ('gblur=region=background', 'gblur=region=people'):
            self.assertIn('masks', self.split(chain=chain, code=64).err)
        self.split('-faces', self.detector('--mask', '32x32'))
        self.assertIn('answers with masks', self.assert_one(self.detect(0, code=64)))
        self.assertEqual(self.in_parts('.detections'), [])

    def assert_one(self, run):
        """One line, beside that of the detector's start."""
        lines = [line for line in run.err.splitlines() if 'the detector of' not in line]
        self.assertEqual(len(lines), 1, run.err)
        return lines[0]

    def test_order_of_steps(self):
        self.split()
        for number in (0, 1):
            self.assertIn('not merged yet', self.assert_one_line(self.segment(number, code=75)))
        self.assertIn('not merged yet', self.assert_one_line(self.join(code=75)))
        self.detect(0)
        self.assertIn('000001.detections', self.assert_one_line(self.merge(code=75)))
        self.detect_all()
        self.merge()
        self.assertIn('already merged', self.merge().err)
        self.assertIn('already merged', self.detect(1).err)
        self.assertEqual(self.in_parts('.detections'), ['all.detections'])
        self.encode_all()
        self.join()
        self.assert_done()
        for run in (self.detect(0), self.merge(), self.segment(0)):
            self.assertEqual(run.code, 0)

    def test_split_again(self):
        """What detectors answered for the old job does not count for the new one. One that is refused takes
        nothing from it."""
        self.split()
        self.detect_all()
        self.split('-y', chain='solid=white:region=faces')
        self.assertEqual(self.in_parts('.detections'), [])
        self.assertEqual((self.status()['stage'], self.status()['done']), ('detect', 0))
        self.detect_all()
        self.merge()
        before = self.in_parts('')
        self.split('-y', '-c:v', 'libx264', '-preset', 'x', code=64)
        self.assertEqual(self.in_parts(''), before)
        self.split('-y', chain='solid=black:region=faces')
        self.assertEqual(self.in_parts('.detections'), [])
        self.complete()
        self.assert_done(self.whole(chain='solid=black:region=faces'))

    def test_without_detectors(self):
        self.split(chain='gblur=sigma=2')
        self.assertIn('no detectors', self.detect(0).err)
        self.assertIn('nothing to merge', self.merge().err)
        self.encode_all()
        self.join()


class Bad(DetectTest):
    """Nothing is encoded unless it is known what each frame shows."""

    def setUp(self):
        super().setUp()
        self.split()
        self.detect_all()

    def refused_merge(self, code, says):
        self.assertIn(says, self.assert_one_line(self.merge(code=code)))
        self.assertFalse(os.path.exists(self.merged))

    def refused_segment(self, code, says, number=1):
        self.assertIn(says, self.assert_one_line(self.segment(number, code=code)))
        self.assertEqual(self.in_parts('.part'), [])

    DAMAGES = (lambda d: d[:-1], lambda d: d[:400], lambda d: b'', lambda d: d + b'x',
               lambda d: d[:300] + bytes([d[300] ^ 1]) + d[301:], lambda d: d[:24] + b'\xff' * 24 + d[48:])

    def damage(self, path, how):
        with open(path, 'rb') as file:
            data = file.read()
        with open(path, 'wb') as file:
            file.write(how(data))
        return data

    def test_damaged_segments(self):
        for how in self.DAMAGES:
            self.damage(self.detections(1), how)
            self.refused_merge(1, 'damaged')
            self.assertIn('damaged', self.detect(1).err)
        shutil.copyfile(self.detections(0), self.detections(1))
        self.refused_merge(78, 'made from another')
        os.unlink(self.detections(1))
        self.refused_merge(75, '000001.detections')

    def test_damaged_all(self):
        self.merge()
        for how in self.DAMAGES:
            data = self.damage(self.merged, how)
            self.refused_segment(1, 'damaged')
            self.assertIn('damaged', self.assert_one_line(self.join(code=1)))
            self.assertIn('damaged', self.assert_one_line(self.merge(code=1)))
            self.damage(self.merged, lambda _, data=data: data)
        os.unlink(self.merged)
        self.refused_segment(75, 'not merged')

    def test_of_another_job(self):
        self.merge()
        mine = self.path('mine')
        shutil.copy2(self.merged, mine)
        self.split('-y', seconds='0.4')
        shutil.copy2(mine, self.merged)
        self.refused_segment(78, 'made from another')
        self.assertIn('made from another', self.assert_one_line(self.detect(0, code=78)))

    def test_readable_by_others(self):
        os.chmod(self.detections(1), 0o640)
        self.refused_merge(78, 'other users can read')
        self.assertIn('other users can read', self.assert_one_line(self.detect(1, code=78)))
        os.chmod(self.detections(1), 0o600)
        self.merge()
        os.chmod(self.merged, 0o604)
        self.refused_segment(78, 'other users can read')
        os.chmod(self.merged, 0o600)
        self.segment(1)

    def test_parts_of_other_detections(self):
        """Parts depend on what was found."""
        self.merge()
        self.encode_all()
        os.unlink(self.merged)
        self.say(range(5, 15), 0.1, 0.1)
        self.detect_all()
        self.merge()
        self.assertIn('does not match', self.assert_one_line(self.join(code=1)))
        self.encode_all()
        self.join()
        self.assert_done()


class Detectors(DetectTest):
    def test_missing(self):
        self.split('-faces', 'command=/nonexistent/detector')
        run = self.detect(0, code=75)  # another machine may have it
        self.assertIn('detection of faces failed', run.err)
        self.assertEqual(self.in_parts('.detections'), [])
        self.assertEqual(self.in_parts('.part'), [])

    def test_that_a_manifest_names(self):
        """Whoever can write the folder can seal a manifest: its programs run only if the worker names them."""
        ran = self.path('ran')
        foreign = self.path('foreign')
        with open(foreign, 'w', encoding='ascii') as file:
            file.write(f'#!/bin/sh\n: >{ran}\n')
        os.chmod(foreign, 0o755)
        self.split()
        text = json.dumps(self.manifest()).replace(STANDIN, foreign)
        self.assertIn(foreign, text)
        self.write_manifest(json.loads(text))
        for words in (self.trusted, [], ['--faces', 'command=/bin/true'], ['--people', self.trusted[1]]):
            self.trusted = words
            self.assertIn('--faces', self.detect(0, code=64).err)
        self.assertIn('--faces', self.halod('job', 'submit', '--engine', 'local', self.parts, code=64).err)
        self.assertFalse(os.path.exists(ran))

    def test_that_fails(self):
        for fault in ('exit@1', 'garbage@1', 'close@1'):
            with self.subTest(fault):
                self.split('-y', '-faces', self.detector('--do', fault))
                run = self.detect(0, code=75)
                self.assertIn('detection of faces failed: detectors failed 3 times at frame 1', run.err)
                self.assertEqual(self.in_parts('.detections'), [])

    def test_other_version_on_one_node(self):
        """The command is the same, but not the program."""
        program = self.path('bin/detector')
        os.makedirs(os.path.dirname(program))
        with open(STANDIN, 'rb') as file:
            data = file.read()
        self.assertIn(b'stand-in', data)
        def install(name):
            if os.path.exists(program):
                os.unlink(program)
            with open(program, 'wb') as file:
                file.write(data.replace(b'stand-in', name))
            os.chmod(program, 0o755)
        install(b'stand-in')
        self.split('-faces', self.detector().replace(STANDIN, program))
        self.detect_all()
        install(b'stand-2n')
        os.unlink(self.detections(1))
        self.assertIn('differs from that of the machine', self.detect(1, code=78).err)
        self.split('-y', '-faces', self.detector().replace(STANDIN, f'/usr/bin/env -i {program}'))
        self.detect(1)
        install(b'stand-in')
        self.assertIn('differs from that of the machine', self.detect(0, code=78).err)
        self.split('-y', '--mixed', '-faces', self.detector().replace(STANDIN, program))
        install(b'stand-in')
        self.detect_all()
        install(b'stand-2n')
        os.unlink(self.detections(1))
        self.detect(1)
        line = self.assert_one_line(self.merge(code=78))
        self.assertIn('stand-2n', line)
        self.assertFalse(os.path.exists(self.merged))
        install(b'stand-in')
        os.unlink(self.detections(1))
        self.detect(1)
        self.merge()


class Kills(DetectTest):
    def slow(self, *command):
        process = start_halod('job', *command)
        time.sleep(0.05)
        return process

    def test_each_step(self):
        self.split()
        steps = [('detect', *self.trusted, self.parts, str(n)) for n in range(self.count())]
        steps += [('merge', self.parts)]
        steps += [('segment', self.parts, str(n)) for n in range(self.count())] + [('join', self.parts)]
        for step in steps:
            for delay in (0.01, 0.04, 0.08):
                process = start_halod('job', *step)
                time.sleep(delay)
                process.kill()
                process.communicate()
            self.halod('job', *step)
        self.assert_done()

    def end_detect(self):
        process = start_halod('job', 'detect', *self.trusted, self.parts, 0)
        self.assertTrue(wait_until(lambda: children(process.pid)))
        return self.seconds_to_end(process, signal.SIGTERM, 143)

    def test_terminated(self):
        self.split('-faces', self.detector('--do', 'slow=2'))
        self.end_detect()
        self.assertEqual(self.in_parts('.detections'), [])

    @alone
    def test_terminated_soon(self):
        self.split('-faces', self.detector('--do', 'slow=2'))
        self.assert_ends_soon(self.end_detect)

    def stopped_detect(self, number):
        """A process that has begun; None: it was too fast."""
        process = start_halod('job', 'detect', *self.trusted, self.parts, number)
        wait_until(lambda: children(process.pid) or process.poll() is not None)
        process.send_signal(signal.SIGSTOP)
        if wait_stopped(process) and not os.path.exists(self.detections(number)):
            return process
        process.kill()
        _, err = process.communicate()
        self.assertIn(process.returncode, (0, -signal.SIGKILL), err)
        os.unlink(self.detections(number))  # or the next one would have nothing to do
        return None

    def test_late_detect(self):
        """One is stopped until all.detections is there, and leaves nothing then."""
        self.split('-faces', self.detector('--do', 'slow=0.02'))
        self.detect_all()
        kept, late = self.path('kept'), None
        self.merge()
        os.rename(self.merged, kept)
        while not late:
            late = self.stopped_detect(0)
        os.rename(kept, self.merged)
        late.send_signal(signal.SIGCONT)
        _, err = late.communicate(timeout=halotest.RUN_TIMEOUT)
        self.assertEqual(late.returncode, 0, err)
        self.assertEqual(self.in_parts('.detections'), ['all.detections'])
        self.encode_all()
        self.join()
        self.assert_done()

    def test_at_once(self):
        self.split()
        for step in (['detect', *self.trusted, self.parts, 0], ['detect', *self.trusted, self.parts, 1]):
            several = [start_halod('job', *step) for _ in range(3)]
            self.assertEqual([(p.communicate(), p.returncode)[1] for p in several], [0, 0, 0])
        self.detect_all()
        several = [start_halod('job', 'merge', self.parts) for _ in range(3)]
        codes = [(p.communicate(), p.returncode)[1] for p in several]
        self.assertIn(0, codes)
        self.assertTrue(set(codes) <= {0, 75}, codes)
        self.merge()
        self.encode_all()
        self.join()
        self.assert_done()

    def test_like_nfs(self):
        nfs = {'LD_PRELOAD': first_libraries() + os.environ['HALO_STANDIN_NFS']}
        self.split(environment=nfs)
        for number in range(self.count()):
            self.detect(number, environment=nfs)
        self.merge(environment=nfs)
        for number in range(self.count()):
            self.segment(number, environment=nfs)
        self.join(environment=nfs)
        self.assert_done()


def children(pid):
    try:
        with open(f'/proc/{pid}/task/{pid}/children', encoding='ascii') as file:
            return file.read().split()
    except OSError:
        return []


if __name__ == '__main__':
    halotest.main()
