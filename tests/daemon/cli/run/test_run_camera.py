# SPDX-License-Identifier: BSD-2-Clause
# halod run with a camera that tests/standin/v4l2.c plays and a virtual one that loopback.c plays.
"""Camera in, virtual camera, file or pipe out: nothing that no filter has seen, and no end at an
unplugged cable."""
import functools
import os
import re
import signal
import statistics
import threading
import time

from halotest import (FFMPEG, HALOD, PATIENCE, HaloTest, alone, call, frame_count, has_encoder,
                      is_full, main, need_faults, packets, raw_frames, start_halod,
                      wait_until)
from halotest.played import HEIGHT, WIDTH, Played, draw
from halotest.virtual import Device, is_card

LOOPBACK = os.environ.get('HALO_STANDIN_LOOPBACK_LIBRARY', '')
SIZE, CHAIN = (WIDTH, HEIGHT), 'gblur=sigma=3'


def pictures_of(raw):
    """Of samples in 4:2:0, one after the other."""
    size = WIDTH * HEIGHT * 3 // 2
    return [raw[at:at + size] for at in range(0, len(raw), size)]


@functools.cache
def reference(chain, pictures=128):
    """What the camera's pictures come to."""
    made = call([HALOD, 'run', '-f', 'rawvideo', '-video_size', f'{WIDTH}x{HEIGHT}', '-i', '-', '-vf', chain,
                 '-c:v', 'rawvideo', '-f', 'nut', '-v', 'warning', '-'], b''.join(map(draw, range(pictures))))
    raw = call([FFMPEG, '-v', 'error', '-f', 'nut', '-i', '-', '-f', 'rawvideo', '-'], data=made)
    return set(pictures_of(raw))


class CameraTest(HaloTest):
    def setUp(self):
        super().setUp()
        self.played = Played(self.folder)
        self.dev = self.played.path('dev')
        self.played.plug()

    def environment(self, **more):
        return {**self.played.environment_with(LOOPBACK), **more}

    def run_for(self, seconds, *words, chain=CHAIN, **options):
        return self.halod('run', '-i', '/dev/video0', '-vf', chain, '-t', seconds, *words,
                          environment=self.environment(), **options)

    def begin(self, *words, environment=None, source='/dev/video0'):
        process = start_halod('run', '-i', source, *words,
                              environment=self.environment(**(environment or {})))
        process.logged = []
        reader = threading.Thread(target=lambda: process.logged.extend(process.stderr), daemon=True)
        reader.start()

        def end():
            process.kill()
            process.wait()
            reader.join()
            process.stderr.close()
            process.stdout.close()
        self.addCleanup(end)
        return process

    def said(self, process):
        return b''.join(list(process.logged)).decode(errors='replace')

    def end(self, process, number=signal.SIGINT):
        process.send_signal(number)
        self.assertEqual(process.wait(60 * PATIENCE), 128 + number, self.said(process))


class VirtualCamera(CameraTest):
    def device(self, **more):
        return Device(self.dev, size=SIZE, **more)

    def play_recipe(self):
        """Filtered pictures alone, at the camera's size, and a card while the cable is out. Twice:
        seconds to the card and to the next picture; pictures until then."""
        device = self.device()
        process = self.begin('-vf', CHAIN, '-f', 'yu12', '/dev/video10')
        self.assertIsNotNone(device.wait(card=False), self.said(process))
        self.assertTrue(is_card(device.pictures[0][1], SIZE))
        steps, stood_in = [], []
        for number in (1, 2):
            unplugged = time.monotonic()
            self.played.unplug(number - 1)
            card = device.wait(card=True, since=unplugged)
            self.assertIsNotNone(card, self.said(process))
            self.assertTrue(wait_until(lambda: 'no camera' in self.said(process)))
            plugged = time.monotonic()
            self.played.plug(number, port=f'1-{number}')
            back = device.wait(card=False, since=plugged)
            self.assertIsNotNone(back, self.said(process))
            steps.append((card - unplugged, back - plugged))
            stood_in.append(sum(t < back for t, _ in device.since(unplugged)))
        self.assertTrue(wait_until(lambda: device.pictures[-1][0] > back + 0.5))
        self.end(process)
        self.assertEqual(device.formats, [f'YU12 {WIDTH}x{HEIGHT}'])
        known = reference(CHAIN)
        shown = [p for _, p in device.pictures if not is_card(p, SIZE)]
        self.assertTrue(shown)
        self.assertFalse([p for p in shown if p not in known])
        return steps, stood_in

    def test_recipe(self):
        self.play_recipe()

    @alone
    def test_recipe_is_prompt(self):
        """Half a second to the card and three to the picture."""
        steps, stood_in = self.play_recipe()
        self.assertLess(min(card for card, _ in steps), 2, steps)
        self.assertLess(min(back for _, back in steps), 6, steps)
        self.assertGreater(max(stood_in), 5)  # at the camera's rate

    @alone
    def test_rate(self):
        """The camera's, which is halved where 25 are asked for. A busy machine leaves some out."""
        def measure():
            device = self.device()
            self.run_for(4, '-framerate', 25, '/dev/video10')
            device.unplug()
            times = [t for t, p in device.pictures if not is_card(p, SIZE)]
            gaps = [b - a for a, b in zip(times, times[1:])]
            self.assertAlmostEqual(1 / statistics.median(gaps), 25, delta=5 * PATIENCE)
        self.best_of(measure, 5)

    def test_formats(self):
        """Of a camera with 4:2:2 nothing is lost, neither is a column of colour."""
        self.played.control(formats=f'yuyv:{WIDTH}x{HEIGHT}@50')
        device = self.device()
        process = self.begin('-vf', 'null', '/dev/video10')
        self.assertIsNotNone(device.wait(card=False), self.said(process))
        self.end(process)
        self.assertEqual(device.formats, [f'YUYV {WIDTH}x{HEIGHT}'])
        shown = {p for _, p in list(device.pictures) if not is_card(p, SIZE)}
        for picture in shown:
            self.assertEqual(picture[1::4][:WIDTH // 2],
                             bytes(60 + x % 64 for x in range(WIDTH // 2)))
            self.assertNotEqual(picture[1:WIDTH * 2:4], picture[WIDTH * 2 + 1:WIDTH * 4:4])

    def test_jpeg_and_size(self):
        """What the camera has nearest to what is asked for, made even."""
        self.played.control(formats=f'grey:{WIDTH}x{HEIGHT}@50,161x121@50')
        device = Device(self.dev, size=(160, 120))
        done = self.run_for(0.5, '-f', 'mjpeg', '-video_size', '176x144', '/dev/video10')
        self.assertIn('161x121', done.err)
        self.assertEqual(device.formats, ['MJPG 160x120'])
        self.assertTrue(device.pictures)
        for _, picture in device.pictures:
            self.assertEqual((picture[:2], picture[-2:]), (b'\xff\xd8', b'\xff\xd9'))

    def test_nobody_reads(self):
        """Where the module says so no picture is written, and the camera stays open."""
        with open(os.path.join(self.dev, 'readers'), 'w', encoding='ascii') as file:
            file.write('0')
        device = self.device()
        self.run_for(0.5, '/dev/video10')
        self.assertTrue(device.pictures)
        self.assertTrue(all(is_card(p, SIZE) for _, p in device.pictures))

    def test_device_comes_and_goes(self):
        device = self.device()
        process = self.begin('-vf', CHAIN, '/dev/video10')
        self.assertIsNotNone(device.wait(card=False), self.said(process))
        device.unplug()
        self.assertTrue(wait_until(lambda: 'it will be used when' in self.said(process)))
        device, plugged = self.device(), time.monotonic()
        self.assertIsNotNone(device.wait(card=False, since=plugged), self.said(process))
        self.end(process, signal.SIGTERM)

    def test_a_filter_fails(self):
        """From then on no picture of the camera's, and before it filtered ones: cards alone."""
        need_faults()
        device = self.device()
        process = self.begin('-vf', CHAIN, '-f', 'yu12', '-backend', 'cpu', '/dev/video10',
                             environment={'HALOD_FAULT': 'launch:5+'})
        if not wait_until(lambda: len(device.pictures) > 60 or process.poll() is not None):
            self.fail(self.said(process))
        if process.poll() is None:
            self.end(process)
        known = reference(CHAIN)
        shown = [p for _, p in device.pictures if not is_card(p, SIZE)]
        self.assertFalse([p for p in shown if p not in known])
        self.assertLessEqual(len(set(shown)), 4, self.said(process))


class Files(CameraTest):
    def wait_written(self, process, more=20000):
        """Until some pictures are in the file that it writes, whatever its name is by now."""
        def size():
            return sum(entry.stat().st_size for entry in os.scandir(self.folder) if entry.is_file())
        wanted = size() + more
        self.assertTrue(wait_until(lambda: size() >= wanted), self.said(process))

    def test_whole(self):
        """After -t, and after a signal: with every picture, and none that no filter has seen."""
        for name, words in (('timed.mkv', ['-t', '2']), ('stopped.nut', [])):
            process = self.begin('-vf', CHAIN, '-c:v', 'ffv1', *words, self.path(name))
            if words:
                self.assertEqual(process.wait(20 * PATIENCE), 0, self.said(process))
            else:
                self.wait_written(process)
                self.end(process)
            self.assertEqual([n for n in os.listdir(self.folder) if n.startswith(name[:-4])], [name])
            pictures = pictures_of(raw_frames(self.path(name)))
            rate_line = re.compile(r': (\d+) frames at')
            self.assertTrue(wait_until(lambda p=process: rate_line.search(self.said(p))))
            count = int(rate_line.search(self.said(process))[1])
            self.assertTrue(pictures)
            if words:  # some more are encoded that come after the end
                self.assertLessEqual(len(pictures), count)
            else:
                self.assertEqual(len(pictures), count)
            known = reference(CHAIN)
            self.assertFalse([p for p in pictures if p not in known])
            os.unlink(os.path.join(self.played.folder, 'log'))

    @alone
    def test_length(self):
        def measure():
            out = self.path('out.mp4')
            self.run_for(2, '-y', out)
            times = [float(p['pts_time']) for p in packets(out, 0)]
            self.assertEqual(frame_count(out), len(times))
            self.assertTrue(all(a < b for a, b in zip(times, times[1:])))
            self.assertEqual(times[0], 0)
            self.assertLess(times[-1], 2)
            self.assertGreater(times[-1], 2 - 0.2 * PATIENCE)
        self.best_of(measure)

    @alone
    def test_length_with_a_late_encoder(self):
        """Its first packet comes a second after its frame: -t counts from the frame all the same."""
        if not has_encoder('libsvtav1'):
            self.skipTest('FFmpeg has no libsvtav1')

        def measure():
            out = self.path('out.mkv')
            self.run_for(2, '-c:v', 'libsvtav1', '-preset', '12', '-y', out)
            times = [float(p['pts_time']) for p in packets(out, 0)]
            self.assertLessEqual(times[-1], 2)  # in whole milliseconds
            self.assertGreater(times[-1], 2 - 0.2 * PATIENCE)
        self.best_of(measure)

    def test_no_detector(self):
        """Frames do not wait for a detector that never comes: they are hidden entirely."""
        out = self.path('out.mkv')
        self.run_for(0.5, '-faces', 'command=' + self.path('nothing'), '-c:v', 'ffv1', out,
                     chain='solid=gray:region=faces')
        pictures = pictures_of(raw_frames(out))
        self.assertTrue(pictures)
        self.assertEqual(set(pictures), reference('solid=gray', 1))

    def test_unplugged(self):
        """The file goes on when the camera is back; cards are not in it."""
        out = self.path('out.nut')
        process = self.begin('-vf', CHAIN, '-c:v', 'ffv1', out)
        self.wait_written(process)
        self.played.unplug()
        self.assertTrue(wait_until(lambda: 'no camera' in self.said(process)))
        time.sleep(1)  # how long it is away
        self.played.plug(1)
        self.assertTrue(wait_until(lambda: 'frames are arriving again' in self.said(process)),
                        self.said(process))
        self.wait_written(process)
        self.end(process)
        known = reference(CHAIN)
        self.assertFalse([p for p in pictures_of(raw_frames(out)) if p not in known])
        times = [float(p['pts_time']) for p in packets(out, 0)]
        self.assertGreater(max(b - a for a, b in zip(times, times[1:])), 0.9)

    def test_pipe(self):
        """And a reader that leaves."""
        process = self.begin('-vf', CHAIN, '-t', '0.5', '-f', 'nut', '-')
        with open(self.path('out.nut'), 'wb') as file:
            file.write(process.stdout.read())
        self.assertEqual(process.wait(60 * PATIENCE), 0, self.said(process))
        self.assertGreater(frame_count(self.path('out.nut')), 0)
        process = self.begin('-vf', CHAIN, '-f', 'nut', '-')
        process.stdout.read(1000)
        process.stdout.close()
        self.assertEqual(process.wait(20 * PATIENCE), 1, self.said(process))
        self.assertIn('Broken pipe', self.said(process))

    def test_reader_stands_still(self):
        """A signal ends it: the reader is given up."""
        process = self.begin('-vf', CHAIN, '-c:v', 'rawvideo', '-f', 'nut', '-')
        self.assertTrue(wait_until(lambda: self.played.log('STREAMON')))
        self.assertTrue(wait_until(lambda: is_full(process.stdout)))
        self.end(process)

    def test_no_picture(self):
        """A camera that others have is waited for; nothing is left that is no file."""
        self.played.control(fault='S_FMT:16:0')
        out = self.path('out.mkv')
        process = self.begin('-vf', CHAIN, out)
        self.assertTrue(wait_until(lambda: 'camera in use' in self.said(process)))
        self.end(process)
        self.assertFalse(os.path.exists(out))


class Refused(CameraTest):
    def refused(self, *words, code=64, says=(), source='/dev/video0'):
        return super().refused('run', '-i', source, '-vf', CHAIN, *words, code=code, says=says,
                               environment=self.environment())

    def test_no_device(self):
        self.refused('null:', source='/dev/video7', code=75, says=['/dev/video7', 'halod devices'])
        self.refused('null:', source='v4l2:name=Nobody', code=75, says='Nobody')
        self.refused('/dev/video10', code=75, says=['/dev/video10', 'haloctl doctor'])
        self.assertEqual(self.played.log('STREAMON'), [])

    def test_busy(self):
        Device(self.dev, size=SIZE)
        with open(os.path.join(self.dev, 'busy'), 'w', encoding='ascii'):
            pass
        self.refused('/dev/video10', code=75, says=['/dev/video10', 'another program'])

    def test_out_is_a_camera(self):
        self.played.plug(2, name='Other', port='1-5', serial='X')
        self.refused('/dev/video2', says=['/dev/video2', 'not a virtual camera'])
        self.refused('/dev/video0', says='OUT is the same camera as IN')
        self.refused('v4l2:name=Other', says='by its device')
        self.assertEqual(self.played.log('STREAMON'), [])

    def test_options(self):
        Device(self.dev, size=SIZE)
        for words, says in (
                (['-c:v', 'libx264', '/dev/video10'], '-c:v'), (['-crf', '20', '/dev/video10'], '-crf'),
                (['-f', 'mp4', '/dev/video10'], 'yuyv'), (['-ss', '1', 'null:'], '-ss'),
                (['-c:a', 'aac', 'null:'], '-c:a'), (['-trace', 'x', 'null:'], '-trace'),
                (['-pixel_format', 'gray', 'null:'], '-pixel_format'),
                (['-video_size', 'big', 'null:'], ['-video_size big', '1280x720']),
                (['-framerate', '0', 'null:'], '-framerate 0'),
                (['-input_format', 'h264', 'null:'], '-input_format h264'),
                (['-c:v', 'none_such', self.path('x.mkv')], 'none_such'), ([self.path('x.none')], 'format')):
            self.refused(*words, says=says)
        self.refused('null:', source='v4l2:nme=x', says='nme')
        super().refused('run', '-i', self.path('in.mp4'), '-vf', CHAIN, '/dev/video10',
                        says=['virtual camera', 'halod.yaml'])
        super().refused('run', '-i', self.path('in.mp4'), '-input_format', 'mjpeg', '-vf', CHAIN,
                        'null:', says='-input_format')
        super().refused('run', '-i', '/dev/video0', '-f', 'rawvideo', '-i', '/dev/video0', '-vf',
                        CHAIN, 'null:', says='-i')
        super().refused('run', '-i', '/dev/video0', '-vf', 'gblur=sigma=0', 'null:', says='-vf null',
                        environment=self.environment())
        with open(self.path('out.mkv'), 'w', encoding='ascii'):
            pass
        self.refused(self.path('out.mkv'), says='-y')
        self.assertEqual(self.played.log('STREAMON'), [])


class Asked(CameraTest):
    def test_camera(self):
        """Size, rate and format are the camera's, in FFmpeg's words; and it has a name."""
        self.played.plug(3, name='Desk Cam Two', port='1-7', serial='Z9')
        self.played.control(formats='yuyv:640x480@30,320x240@15;mjpeg:320x240@30;uyvy:320x240@30')
        done = self.halod(
            'run', '-f', 'v4l2', '-input_format', 'uyvy422', '-framerate', '30', '-video_size',
            '320x240', '-i', 'v4l2:serial=Z9', '-vf', CHAIN, '-t', '0.5', '-stats', 'null:',
            environment=self.environment())
        self.assertIn('uyvy 320x240, 30', done.err)
        self.assertIn('/dev/video3', done.err)
        self.assertRegex(done.err, 'null:: [1-9][0-9]* frames')


if __name__ == '__main__':
    main()
