# SPDX-License-Identifier: BSD-2-Clause
# The daemon with cameras that tests/standin/v4l2.h plays: viewers stay while the cable is out, engines
# die, controls are set and kept, and halod devices tells what there is.
import json
import os
import subprocess
import time

from halotest.daemon import (HALOD, PATIENCE, DaemonTest, Refused, halod_environment, main)
from halotest import RUN_TIMEOUT, alone, ffmpeg, probe_video, raw_clip, raw_frames, split_planes
from halotest.played import HEIGHT, WIDTH, Played, draw

HALOCTL = os.environ['HALOCTL']


class CameraTest(DaemonTest):
    def setUp(self):
        super().setUp()
        self.played = Played(self.folder)
        self.played.control(controls='gain:0:9:1:3,brightness:0:255:1:128')

    def camera(self, capture=None, **more):
        return self.stream(input='/dev/video0', **more,
                           capture={'size': f'{WIDTH}x{HEIGHT}', 'stall': 600, **(capture or {})})

    def begin(self, streams):
        return self.start(streams, environment=self.played.environment())


class Streams(CameraTest):
    def test_unplugged(self):
        """Under another number: the viewer sees the card, and pictures again."""
        self.unplug(3)

    @alone
    def test_back_soon(self):
        waits = self.unplug(10)
        self.assertLess(sorted(waits)[len(waits) // 2], 3 * PATIENCE)

    def unplug(self, turns):
        """So often; returns how long the viewer waited each time for a picture."""
        self.played.plug()
        daemon = self.begin({'one': self.camera()})
        daemon.wait_state('one', 'running')
        watcher = self.watcher('one.ts')
        self.assertIsNotNone(watcher.wait(card=False))
        number, engines, before, waits = 0, daemon.pids(), daemon.descriptors(), []
        for turn in range(turns):
            begin = time.monotonic()
            self.played.unplug(number)
            self.assertIsNotNone(watcher.wait(card=True, since=begin))
            daemon.wait_state('one', 'waiting')
            self.assertIn('no camera', daemon.status('one')['why'])
            self.until(lambda: daemon.status('one')['camera'] == 'absent')
            number = (turn + 1) % 3
            if os.path.exists(self.played.path(f'control-video{number}')):
                self.played.forget(number)
            begin = time.monotonic()
            self.played.plug(number, port=f'1-{turn}')
            back = watcher.wait(card=False, since=begin)
            waits.append(back - begin)
            daemon.wait_state('one', 'running')
        self.assertTrue(watcher.is_alive_process())
        self.assertEqual(daemon.pids(), engines)
        self.until(lambda: daemon.status('one')['opened'] == turns + 1)
        self.until(lambda: daemon.descriptors() <= before, daemon.descriptors)
        return waits

    def test_a_stranger_takes_the_number(self):
        """Another camera under the number of the one that is away shows another room: never opened."""
        self.played.plug()
        daemon = self.begin({'one': self.camera()})
        daemon.wait_state('one', 'running')
        watcher = self.watcher('one.ts')
        self.assertIsNotNone(watcher.wait(card=False))
        for turn in range(3):
            begin = time.monotonic()
            self.played.unplug(turn)
            self.assertIsNotNone(watcher.wait(card=True, since=begin))
            daemon.wait_state('one', 'waiting')
            self.played.forget(turn)
            self.played.plug(turn, port='1-7', serial='CD34')
            time.sleep(1)  # it would have been opened by then
            self.assertIn('no camera', daemon.status('one')['why'])
            self.assertEqual(len(self.played.log(f'video{turn} open')), 1, self.played.log())
            begin = time.monotonic()
            self.played.plug(turn + 1)
            self.assertIsNotNone(watcher.wait(card=False, since=begin))
            daemon.wait_state('one', 'running')
            self.played.unplug(turn)
        self.until(lambda: daemon.status('one')['opened'] == 4)

    def test_a_stranger_takes_the_number_of_two(self):
        """Nor is it when the engine has died meanwhile, or the stream got other filters; a restart that
        was asked for looks again."""
        self.played.plug()
        daemon = self.begin({'one': self.camera()})
        daemon.wait_state('one', 'running')
        self.played.unplug()
        daemon.wait_state('one', 'waiting')
        self.played.forget()
        self.played.plug(0, port='1-7', serial='CD34')
        daemon.kill_engine_of('one')
        self.until(lambda: daemon.status('one')['restarts'] == 1)
        daemon.wait_state('one', 'waiting')
        daemon.write({'one': self.camera(filters='gblur=sigma=3')})
        daemon.control('Reload')
        daemon.wait_state('one', 'waiting')
        time.sleep(1)  # it would have been opened by then
        self.assertIn('no camera', daemon.status('one')['why'])
        self.assertEqual(len(self.played.log('open')), 1, self.played.log())
        daemon.control('Restart', name='one')
        daemon.wait_state('one', 'running')

    def test_not_there_at_first(self):
        daemon = self.begin({'one': self.camera()})
        daemon.wait_state('one', 'waiting')
        reader = self.reader('one.ts')  # cards: something comes
        self.played.plug()
        daemon.wait_state('one', 'running')
        self.assertIsNotNone(self.watcher('one.ts').wait(card=False))
        self.assertFalse(reader.ended)

    def test_an_engine_dies(self):
        self.played.plug()
        daemon = self.begin({'one': self.camera({'controls': {'gain': 4}})})
        daemon.wait_state('one', 'running')
        reader = self.reader('one.ts')
        daemon.control('SetControl', name='one', control='gain', value=6)
        daemon.kill_engine_of('one')
        self.until(lambda: daemon.status('one')['restarts'] >= 1)
        daemon.wait_state('one', 'running')
        self.assertFalse(reader.ended)
        self.assertEqual(self.played.log('S_CTRL'),
                         ['video0 S_CTRL 4', 'video0 S_CTRL 6', 'video0 S_CTRL 6'])

    def test_on_demand(self):
        self.played.plug()
        daemon = self.begin({'one': self.camera({'open': 'on-demand'})})
        daemon.wait_state('one', 'waiting')
        self.assertIn('until someone watches', daemon.status('one')['why'])
        self.until(lambda: daemon.status('one')['camera'] == 'closed')
        time.sleep(0.5)  # in which it could have been opened
        self.assertEqual(self.played.log(), [])
        watcher = self.watcher('one.ts')
        self.assertIsNotNone(watcher.wait(card=False))
        self.until(lambda: daemon.status('one')['camera'] == 'open')
        watcher.close()
        self.until(lambda: self.played.log('close'))
        daemon.wait_state('one', 'waiting')


class Chroma(CameraTest):
    def record(self, form, **video):
        """Of a file of each encoding, by its name: what ffprobe says, and its pictures."""
        self.played.control(formats=f'{form}:{WIDTH}x{HEIGHT}@50', **video.pop('control', {}))
        self.played.plug()
        outputs = [{'file': self.path(name + '.mkv'), 'video': how} for name, how in video.items()]
        daemon = self.begin({'one': self.camera(filters='null', privacy='off', outputs=outputs)})
        self.until(lambda: all(
            output.get('packets', 0) > 20 for output in daemon.status('one')['outputs']))
        self.end(daemon)
        return {name: (probe_video(self.path(name + '.mkv')), raw_frames(self.path(name + '.mkv')))
                for name in video}

    def test_players(self):
        """What players get has 4:2:0; archives and who asks for it has what the camera gave."""
        made = self.record('yuyv', h264={'preset': 'ultrafast'}, archive={'codec': 'ffv1'},
                           half={'codec': 'ffv1', 'chroma': '420'},
                           whole={'preset': 'ultrafast', 'chroma': 'source'})
        self.assertEqual({name: video['pix_fmt'] for name, (video, _) in made.items()},
                         {'h264': 'yuv420p', 'archive': 'yuv422p', 'half': 'yuv420p',
                          'whole': 'yuv422p'})
        self.assertNotIn('4:2:2', made['h264'][0]['profile'])
        across, pixels = WIDTH // 2, WIDTH * HEIGHT
        of, to = made['archive'][1][pixels:], made['half'][1][pixels:]
        seen = 0
        for x in range(across):
            for y in range(4, HEIGHT // 2 - 4):
                rows = [of[x + across * r] for r in range(2 * y - 4, 2 * y + 6)]
                if rows == sorted(rows):  # a ramp: between two rows is half of both
                    self.assertEqual(2 * to[x + across * y], rows[4] + rows[5], (x, y))
                    seen += 1
        self.assertGreater(seen, 500)

    def test_gray(self):
        made = self.record('grey', h264={'preset': 'ultrafast'}, archive={'codec': 'ffv1'})
        self.assertEqual({name: video['pix_fmt'] for name, (video, _) in made.items()},
                         {'h264': 'yuv420p', 'archive': 'gray'})

    def test_jpeg(self):
        path = self.path('picture.jpg')
        ffmpeg('-f', 'lavfi', '-i', f'testsrc2=size={WIDTH}x{HEIGHT}', '-frames:v', '1', '-pix_fmt',
               'yuvj422p', '-y', path)
        made = self.record('mjpeg', control={'jpeg': path}, h264={'preset': 'ultrafast'},
                           archive={'codec': 'ffv1'})
        video = made['h264'][0]
        self.assertEqual((video['pix_fmt'], video['chroma_location']), ('yuvj420p', 'center'))
        self.assertEqual(made['archive'][0]['pix_fmt'], 'yuv422p')

    def test_more_colours(self):
        """4:4:4 of a file becomes what players take 4:2:0 for: left of two pixels, between rows."""
        size = WIDTH * HEIGHT
        u = bytes(20 + 2 * x for x in range(WIDTH)) * HEIGHT
        clip = raw_clip((bytes(range(64, 128)) * (size // 64) + u + u) * 25, 'yuv444p', WIDTH, HEIGHT)
        out = self.path('half.mkv')
        daemon = self.start({'one': {
            'input': clip, 'loop': True, 'realtime': True, 'filters': 'null', 'privacy': 'off',
            'backend': 'cpu', 'outputs': [{'file': out, 'video': {'codec': 'ffv1', 'chroma': 420}}]}})
        self.until(lambda: daemon.status('one')['outputs'][0].get('packets', 0) > 5)
        self.end(daemon)
        self.assertEqual(probe_video(out)['pix_fmt'], 'yuv420p')
        made = raw_frames(out)[size:size + WIDTH // 2]
        self.assertEqual(list(made[4:-4]), [20 + 4 * x for x in range(4, WIDTH // 2 - 4)])


class Turned(CameraTest):
    """Of an odd size: chroma samples that began with the first column end with the last."""
    SIZE, RECTS = (97, 61), ((4, 5, 6, 7), (17, 5, 5, 6), (30, 20, 6, 5), (45, 21, 5, 5))
    # Of a pixel of the camera's: where it is shown.
    WAYS = {
        'left to right': ({'mirror': 'horizontal'}, lambda x, y, w, h: (w - 1 - x, y)),
        'upside down': ({'mirror': 'vertical'}, lambda x, y, w, h: (x, h - 1 - y)),
        'half a turn': ({'rotate': 180}, lambda x, y, w, h: (w - 1 - x, h - 1 - y)),
        'to the right': ({'rotate': 90}, lambda x, y, w, h: (h - 1 - y, x)),
        'across': ({'mirror': 'horizontal', 'rotate': 90}, lambda x, y, w, h: (h - 1 - y, w - 1 - x)),
    }

    def check(self, raw, got, way, invert):
        """Every sample: hidden if one of the pixels that it belongs to is, and else at most beside such."""
        width, height = self.SIZE
        aside = way(1, 0, *self.SIZE)[1] != way(0, 0, *self.SIZE)[1]
        shown = (height, width) if aside else self.SIZE
        hidden = {(x, y) for x in range(shown[0]) for y in range(shown[1])
                  if invert != any(u <= x < u + w and v <= y < v + h for u, v, w, h in self.RECTS)}
        for p, (old, new) in enumerate(zip(raw, split_planes(got, 'yuv420p', *shown)[0])):
            self.assertEqual((new.width, new.height), (old.height, old.width) if aside else (old.width, old.height))
            step, colour = (2, 128) if p else (1, 255)
            for at, value in enumerate(old.samples):
                x, y = at % old.width * step, at // old.width * step
                mine = {way(u, v, *self.SIZE) for u in range(x, min(x + step, width))
                        for v in range(y, min(y + step, height))}
                to = way(at % old.width, at // old.width, old.width, old.height)
                sample = new.samples[to[1] * new.width + to[0]]
                near = {(u, v) for u in range((to[0] - 1) * step, (to[0] + 2) * step)
                        for v in range((to[1] - 1) * step, (to[1] + 2) * step)} if p else mine
                if mine & hidden:
                    self.assertEqual(sample, colour, f'plane {p}: {to} shows {mine & hidden}')
                elif not near & hidden:
                    self.assertEqual(sample, value, f'plane {p}: {to} is hidden without need')

    def test_odd_sizes(self):
        path = self.path('picture.jpg')
        ffmpeg('-f', 'lavfi', '-i', 'nullsrc=size={}x{},geq=lum=random(1)*200:cb=random(2)*99:cr=random(3)*99'
               .format(*self.SIZE), '-frames:v', '1', '-pix_fmt', 'yuvj420p', '-q:v', '2', path)
        raw = split_planes(raw_frames(path), 'yuv420p', *self.SIZE)[0]
        self.played.control(formats='mjpeg:{}x{}@50'.format(*self.SIZE), jpeg=path)
        regions = '+'.join('rect {} {} {} {}'.format(*rect) for rect in self.RECTS)
        streams = {}
        for n, (capture, _) in enumerate(self.WAYS.values()):
            self.played.plug(n, port=f'1-{n + 1}', serial=f'N{n}')
            streams[f's{n}'] = {
                'input': f'/dev/video{n}', 'filters': f'solid=white:region={regions}:invert={n % 2}',
                'backend': 'cpu', 'capture': {'size': '{}x{}'.format(*self.SIZE), 'stall': 600, **capture},
                'outputs': [{'file': self.path(f's{n}.mkv'), 'video': {'codec': 'ffv1'}}]}
        daemon = self.begin(streams)
        self.until(lambda: all(daemon.status(name)['outputs'][0].get('packets', 0) for name in streams))
        self.end(daemon)
        size = sum(plane.width * plane.height for plane in raw)
        for n, (name, (_, way)) in enumerate(self.WAYS.items()):
            with self.subTest(name):
                self.check(raw, raw_frames(self.path(f's{n}.mkv'))[-size:], way, bool(n % 2))


    def test_fields(self):
        """A capture card weaves two fields into a frame, and each has rows of chroma of its own."""
        interlaced = 4  # V4L2_FIELD_INTERLACED
        self.played.control(formats=f'yu12:{WIDTH}x{HEIGHT}@50', field=interlaced)
        self.played.plug()
        path, (x, y, w, h) = self.path('fields.mkv'), (10, 7, 20, 19)
        daemon = self.begin({'one': {
            'input': '/dev/video0', 'filters': f'solid=white:region=rect {x} {y} {w} {h}', 'backend': 'cpu',
            'capture': {'size': f'{WIDTH}x{HEIGHT}', 'stall': 600}, 'outputs': [{'file': path, 'video': {'codec': 'ffv1'}}]}})
        self.until(lambda: daemon.status('one')['outputs'][0].get('packets', 0))
        self.end(daemon)
        got = raw_frames(path)[-WIDTH * HEIGHT * 3 // 2:]
        raw, planes = (split_planes(data, 'yuv420p', WIDTH, HEIGHT)[0] for data in (draw(0), got))
        hidden = {v // 4 * 2 + v % 2 for v in range(y, y + h)}  # rows of chroma
        for p in (1, 2):
            for at, value in enumerate(planes[p].samples):
                column, row = at % (WIDTH // 2), at // (WIDTH // 2)
                if row in hidden and x // 2 <= column < (x + w) // 2:
                    self.assertEqual(value, 128, (p, column, row))
                elif not {row - 1, row, row + 1} & hidden or not x // 2 <= column < (x + w) // 2:
                    self.assertEqual(value, raw[p].samples[at], (p, column, row))


class Numbers(CameraTest):
    def test_told(self):
        """What was agreed on, and what the camera came into, in the status and to Prometheus."""
        self.played.control(formats=f'yuyv:{WIDTH}x{HEIGHT}@50')
        self.played.plug()
        daemon = self.start({'one': self.camera({'stall': 5}), 'two': self.stream('two')},
                            http={'listen': 'unix:' + self.path('http.sock')},
                            environment=self.played.environment())
        daemon.wait_state('one', 'running')
        self.until(lambda: daemon.status('one').get('capture', {}).get('format') == 'yuyv')
        capture = daemon.status('one')['capture']
        self.assertEqual((capture['width'], capture['height'], capture['rate'], capture['failures']),
                         (WIDTH, HEIGHT, 30, 0))
        self.assertNotIn('capture', daemon.status('two'))
        self.played.control(formats=f'yuyv:{WIDTH}x{HEIGHT}@50', error=1)
        self.until(lambda: daemon.status('one')['capture']['failures'] == 1)
        self.assertGreater(daemon.status('one')['capture']['damaged'], 1)
        self.until(lambda: 'halod_camera_state{stream="one",state="stalled"} 1' in
                   self.fetch('/metrics'))
        opened = len(self.played.log('open'))
        self.until(lambda: len(self.played.log('open')) > opened + 1)
        lines = ('halod_camera_state{stream="one",state="stalled"} 1',
                 'halod_camera_state{stream="one",state="busy"} 0',
                 'halod_camera_failures_total{stream="one"} 1',
                 f'halod_camera_format{{stream="one",format="yuyv",size="{WIDTH}x{HEIGHT}",'
                 'rate="30"} 1')
        printed = ''

        def is_told():
            nonlocal printed
            printed = self.fetch('/metrics')
            return all(line in printed for line in lines)
        self.until(is_told, lambda: printed)
        self.assertRegex(printed, r'halod_camera_missed_total\{stream="one"\} \d')  # of a slow machine
        self.assertNotIn('stream="two",state=', printed)
        self.played.unplug()
        self.until(lambda: daemon.status('one')['camera'] == 'absent')
        time.sleep(3)  # some tries, which are no failures of their own
        self.assertEqual(daemon.status('one')['capture']['failures'], 2)
        self.played.forget()
        self.played.control(formats=f'yuyv:{WIDTH}x{HEIGHT}@50')
        self.played.plug()
        self.until(lambda: 'halod_camera_state{stream="one",state="open"} 1' in self.fetch('/metrics'))
        found = subprocess.run([HALOCTL, '-s', self.path('control.sock'), 'status', 'one'],
                               capture_output=True, text=True, timeout=30 * PATIENCE, check=True)
        self.assertRegex(found.stdout, f'yuyv {WIDTH}x{HEIGHT}')


class Controls(CameraTest):
    def haloctl(self, *words):
        return subprocess.run([HALOCTL, '-s', self.path('control.sock'), *words],
                              capture_output=True, text=True, timeout=30 * PATIENCE)

    def test_set(self):
        self.played.plug()
        daemon = self.begin({'one': self.camera(), 'two': self.stream('two')})
        daemon.wait_state('one', 'running')
        done = self.haloctl('set', 'one', 'control.brightness=200')
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, '', ''))
        self.assertEqual(self.played.log('S_CTRL'), ['video0 S_CTRL 200'])
        for words, part in (('control.brightnes=1', 'nearest: brightness'),
                            ('control.gain=10', 'from 0 to 9')):
            done = self.haloctl('set', 'one', words)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn(part, done.stderr)
        with self.assertRaisesRegex(Refused, 'is not a camera'):
            daemon.control('SetControl', name='two', control='gain', value=1)
        with self.assertRaises(Refused):
            daemon.control('SetControl', name='one', control='a b', value=1)


class Devices(CameraTest):
    def devices(self, *words):
        return subprocess.run([HALOD, 'devices', *words], capture_output=True, text=True, timeout=RUN_TIMEOUT,
                              env={**halod_environment(), **self.played.environment()})

    def test_told(self):
        self.played.control(formats='yuyv:640x480@30,1280x720@10;mjpeg:1280x720@30',
                            controls='gain:0:9:1:3')
        self.played.plug()
        self.played.plug(2, name='Broken', port='1-9', serial='')
        self.played.control('video2', fault='OPEN:16:0')
        done = self.devices()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.splitlines(), [
            '/dev/video0: Desk Camera (camera, standin)', '  input: v4l2:serial=AB12',
            '  yuyv   640x480@30 1280x720@10', '  mjpeg  1280x720@30', '  controls: gain 0 (0..9)',
            '/dev/video2: Broken (?)', '  input: v4l2:path=1-9', '  camera in use'])
        first, second = json.loads(self.devices('--json').stdout)
        self.assertEqual(first['usb'], '046d:0825')
        self.assertEqual(first['modes'][2],
                         {'format': 'mjpeg', 'width': 1280, 'height': 720, 'fps': 30})
        self.assertEqual(first['controls'][0]['max'], 9)
        self.assertEqual(second['trouble'], 'busy')

    def test_none(self):
        done = self.devices()
        self.assertEqual((done.returncode, done.stdout), (0, 'no cameras: /dev/video* does not exist\n'))
        self.assertEqual(self.devices('--jsn').returncode, 64)


if __name__ == '__main__':
    main()
