# SPDX-License-Identifier: BSD-2-Clause
# The daemon with cameras that tests/standin/v4l2.h plays: viewers stay while the cable is out, engines
# die, controls are set and kept, and halod devices tells what there is.
import json
import os
import subprocess
import time

from halotest.daemon import (HALOCTL, HALOD, PATIENCE, DaemonTest, Refused, halod_environment, main)
from halotest import RUN_TIMEOUT, ffmpeg, probe_video, raw_clip, raw_frames, split_planes
from halotest.played import HEIGHT, WIDTH, Played, draw


class CameraTest(DaemonTest):
    def setUp(self):
        super().setUp()
        self.played = Played(self.folder)
        self.played.control(controls='gain:0:9:1:3,brightness:0:255:1:128')

    def camera(self, capture=None, **more):
        return self.stream(**{'input': '/dev/video0', **more},
                           capture={'size': f'{WIDTH}x{HEIGHT}', 'stall': 600, **(capture or {})})

    def begin(self, streams, **more):
        return self.start(streams, environment=self.played.environment(), **more)


class Streams(CameraTest):
    def haloctl(self, *words):
        return subprocess.run([HALOCTL, '-s', self.path('control.sock'), *words],
                              capture_output=True, text=True, timeout=30 * PATIENCE)

    def test_a_stranger_takes_the_number(self):
        """The viewer sees the card while the camera is away. Another camera under its number shows another
        room: it is not opened, neither by an engine that takes the place of one that has died nor for other
        filters, but by a restart that was asked for. Controls that were set stay so."""
        self.played.plug()
        self.played.plug(5, port='1-5', serial='EF56')
        daemon = self.begin({'one': self.camera({'controls': {'gain': 4}}), 'two': self.stream('two'),
                             'shy': self.camera({'open': 'on-demand'}, input='/dev/video5',
                                                outputs=[{'unix': self.path('shy.ts')}])},
                            http={'listen': 'unix:' + self.path('http.sock')})
        daemon.wait_state('one', 'running')
        watcher = self.watcher('one.ts')
        self.assertIsNotNone(watcher.wait(card=False))
        self.controls(daemon)
        self.told(daemon)
        self.on_demand(daemon)
        begin = time.monotonic()
        self.played.unplug()
        self.assertIsNotNone(watcher.wait(card=True, since=begin))
        daemon.wait_state('one', 'waiting')
        self.assertIn('no camera', daemon.status('one')['why'])
        self.until(lambda: 'halod_camera_state{stream="one",state="absent"} 1' in self.fetch('/metrics'))
        self.played.forget()
        self.played.plug(0, port='1-7', serial='CD34')
        opened = self.played.log('video0 open')
        restarts = daemon.status('one')['restarts']
        daemon.kill_engine_of('one')
        self.until(lambda: daemon.status('one')['restarts'] == restarts + 1)
        daemon.wait_state('one', 'waiting')
        daemon.control('Set', name='one', filters='gblur=sigma=3')
        time.sleep(1)  # it would have been opened by then
        self.assertIn('no camera', daemon.status('one')['why'])
        self.assertEqual(self.played.log('video0 open'), opened)
        self.assertLessEqual(daemon.status('one')['capture']['failures'], 1)  # tries are none
        begin = time.monotonic()
        self.played.plug(1)
        self.assertIsNotNone(watcher.wait(card=False, since=begin))
        self.assertTrue(watcher.is_alive_process())
        self.played.unplug(1)
        daemon.wait_state('one', 'waiting')
        daemon.control('Restart', name='one')
        daemon.wait_state('one', 'running')
        self.assertEqual(len(self.played.log('video0 open')), len(opened) + 1)

    def controls(self, daemon):
        done = self.haloctl('set', 'one', 'control.gain=6')
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, '', ''))
        for words, part in (('control.brightnes=1', 'nearest: brightness'), ('control.gain=10', 'from 0 to 9')):
            done = self.haloctl('set', 'one', words)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn(part, done.stderr)
        for words, more in {'is not a camera': {'name': 'two', 'control': 'gain'},
                            'control': {'name': 'one', 'control': 'a b'}}.items():
            with self.assertRaisesRegex(Refused, words):
                daemon.control('SetControl', value=1, **more)
        daemon.kill_engine_of('one')
        self.until(lambda: daemon.status('one')['restarts'] == 1)
        daemon.wait_state('one', 'running')
        self.assertEqual(self.played.log('S_CTRL'), [f'video0 S_CTRL {gain}' for gain in (4, 6, 6)])

    def told(self, daemon):
        """What was agreed on."""
        self.until(lambda: daemon.status('one').get('capture', {}).get('format') == 'yu12')
        capture = daemon.status('one')['capture']
        self.assertEqual((capture['width'], capture['height'], capture['rate'], capture['failures']),
                         (WIDTH, HEIGHT, 30, 0))
        self.assertNotIn('capture', daemon.status('two'))
        printed = self.fetch('/metrics')
        for line in ('state{stream="one",state="open"} 1', 'state{stream="one",state="busy"} 0',
                     'failures_total{stream="one"} 0', 'missed_total{stream="one"} ',
                     f'format{{stream="one",format="yu12",size="{WIDTH}x{HEIGHT}",rate="30"}} 1'):
            self.assertIn('\nhalod_camera_' + line, printed)
        self.assertNotIn('stream="two",state=', printed)
        self.assertRegex(self.haloctl('status', 'one').stdout, f'yu12 {WIDTH}x{HEIGHT}')

    def on_demand(self, daemon):
        self.assertIn('until someone watches', daemon.status('shy')['why'])
        self.assertEqual((daemon.status('shy')['camera'], self.played.log('video5')), ('closed', []))
        watcher = self.watcher('shy.ts')
        self.assertIsNotNone(watcher.wait(card=False))
        watcher.close()
        self.until(lambda: self.played.log('video5 close'))
        daemon.wait_state('shy', 'waiting')


class Shown(CameraTest):
    """What is in the files of cameras, each case of which is a stream of one daemon."""
    # Of an odd size: chroma samples that began with the first column end with the last.
    SIZE, RECTS = (97, 61), ((4, 5, 6, 7), (17, 5, 5, 6), (30, 20, 6, 5), (45, 21, 5, 5))
    # Of a pixel of the camera's: where it is shown.
    WAYS = {
        'mirrored': ({'mirror': 'horizontal'}, lambda x, y, w, h: (w - 1 - x, y)),
        'flipped': ({'mirror': 'vertical'}, lambda x, y, w, h: (x, h - 1 - y)),
        'half-a-turn': ({'rotate': 180}, lambda x, y, w, h: (w - 1 - x, h - 1 - y)),
        'to-the-right': ({'rotate': 90}, lambda x, y, w, h: (h - 1 - y, x)),
        'across': ({'mirror': 'horizontal', 'rotate': 90}, lambda x, y, w, h: (h - 1 - y, w - 1 - x)),
    }
    FIELDS = 10, 7, 20, 19  # what is hidden of fields

    def setUp(self):
        super().setUp()
        self.streams = {}

    def add(self, name, form, capture=None, filters='null', video=None, **control):
        """A camera of its own, and a file of each encoding."""
        number = len(self.streams)
        self.played.control(f'video{number}', formats=form + '@50', **control)
        self.played.plug(number, port=f'1-{number}', serial=f'N{number}')
        self.streams[name] = self.camera(
            {'size': form.split(':')[1], **(capture or {})}, input=f'/dev/video{number}', filters=filters,
            privacy='off', outputs=[{'file': self.path(f'{name} {how}.mkv'), 'video': words}
                                    for how, words in (video or {'ffv1': {'codec': 'ffv1'}}).items()])

    def formats(self, name):
        return {os.path.basename(output['file'])[len(name) + 1:-4]: probe_video(output['file'])
                for output in self.streams[name]['outputs']}

    def got(self, name, how='ffv1'):
        return raw_frames(self.path(f'{name} {how}.mkv'))

    def test_all(self):
        size = f'{WIDTH}x{HEIGHT}'
        both = {'h264': {'preset': 'ultrafast'}, 'ffv1': {'codec': 'ffv1'}}
        pictures = self.path('picture.jpg'), self.path('odd.jpg')
        ffmpeg('-f', 'lavfi', '-i', f'testsrc2=size={size}', '-frames:v', '1', '-pix_fmt', 'yuvj422p',
               '-y', pictures[0])
        ffmpeg('-f', 'lavfi', '-i', 'nullsrc=size={}x{},geq=lum=random(1)*200:cb=random(2)*99:cr=random(3)*99'
               .format(*self.SIZE), '-frames:v', '1', '-pix_fmt', 'yuvj420p', '-q:v', '2', pictures[1])
        self.add('colours', f'yuyv:{size}', video={
            **both, 'half': {'codec': 'ffv1', 'chroma': '420'}, 'whole': {'preset': 'ultrafast', 'chroma': 'source'}})
        self.add('gray', f'grey:{size}', video=both)
        self.add('jpeg', f'mjpeg:{size}', video=both, jpeg=pictures[0])
        regions = '+'.join('rect {} {} {} {}'.format(*rect) for rect in self.RECTS)
        for n, (name, (capture, _)) in enumerate(self.WAYS.items()):
            self.add(name, 'mjpeg:{}x{}'.format(*self.SIZE), capture,
                     f'solid=white:region={regions}:invert={n % 2}', jpeg=pictures[1])
        interlaced = 4  # V4L2_FIELD_INTERLACED
        self.add('fields', f'yu12:{size}', field=interlaced,
                 filters='solid=white:region=rect {} {} {} {}'.format(*self.FIELDS))
        self.streams['more'] = self.more_colours()
        daemon = self.begin(self.streams)
        self.until(lambda: all(output.get('packets', 0) > 2 for stream in daemon.status()['streams']
                               for output in stream['outputs']))
        self.end(daemon)
        for check in self.players, self.gray, self.jpeg, self.fields, self.more:
            with self.subTest(check.__name__):
                check()
        raw = split_planes(raw_frames(pictures[1]), 'yuv420p', *self.SIZE)[0]
        size = sum(plane.width * plane.height for plane in raw)
        for n, (name, (_, way)) in enumerate(self.WAYS.items()):
            with self.subTest(name):
                self.turned(raw, self.got(name)[-size:], way, bool(n % 2))

    def players(self):
        """What players get has 4:2:0; archives and who asks for it has what the camera gave."""
        made = self.formats('colours')
        self.assertEqual({name: video['pix_fmt'] for name, video in made.items()},
                         {'h264': 'yuv420p', 'ffv1': 'yuv422p', 'half': 'yuv420p', 'whole': 'yuv422p'})
        self.assertNotIn('4:2:2', made['h264']['profile'])
        across, pixels = WIDTH // 2, WIDTH * HEIGHT
        of, to = self.got('colours')[pixels:], self.got('colours', 'half')[pixels:]
        seen = 0
        for x in range(across):
            for y in range(4, HEIGHT // 2 - 4):
                rows = [of[x + across * r] for r in range(2 * y - 4, 2 * y + 6)]
                if rows == sorted(rows):  # a ramp: between two rows is half of both
                    self.assertEqual(2 * to[x + across * y], rows[4] + rows[5], (x, y))
                    seen += 1
        self.assertGreater(seen, 500)

    def gray(self):
        self.assertEqual({name: video['pix_fmt'] for name, video in self.formats('gray').items()},
                         {'h264': 'yuv420p', 'ffv1': 'gray'})

    def jpeg(self):
        made = self.formats('jpeg')
        self.assertEqual((made['h264']['pix_fmt'], made['h264']['chroma_location']), ('yuvj420p', 'center'))
        self.assertEqual(made['ffv1']['pix_fmt'], 'yuv422p')

    def more_colours(self):
        """4:4:4 of a file becomes what players take 4:2:0 for: left of two pixels, between rows."""
        size = WIDTH * HEIGHT
        u = bytes(20 + 2 * x for x in range(WIDTH)) * HEIGHT
        clip = raw_clip((bytes(range(64, 128)) * (size // 64) + u + u) * 25, 'yuv444p', WIDTH, HEIGHT)
        return {'input': clip, 'loop': True, 'realtime': True, 'filters': 'null', 'privacy': 'off',
                'backend': 'cpu', 'outputs': [{'file': self.path('more ffv1.mkv'),
                                               'video': {'codec': 'ffv1', 'chroma': 420}}]}

    def more(self):
        self.assertEqual(self.formats('more')['ffv1']['pix_fmt'], 'yuv420p')
        made = self.got('more')[WIDTH * HEIGHT:][:WIDTH // 2]
        self.assertEqual(list(made[4:-4]), [20 + 4 * x for x in range(4, WIDTH // 2 - 4)])

    def turned(self, raw, got, way, invert):
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

    def fields(self):
        """A capture card weaves two fields into a frame, and each has rows of chroma of its own."""
        got, (x, y, w, h) = self.got('fields')[-WIDTH * HEIGHT * 3 // 2:], self.FIELDS
        raw, planes = (split_planes(data, 'yuv420p', WIDTH, HEIGHT)[0] for data in (draw(0), got))
        hidden = {v // 4 * 2 + v % 2 for v in range(y, y + h)}  # rows of chroma
        for p in (1, 2):
            for at, value in enumerate(planes[p].samples):
                column, row = at % (WIDTH // 2), at // (WIDTH // 2)
                if row in hidden and x // 2 <= column < (x + w) // 2:
                    self.assertEqual(value, 128, (p, column, row))
                elif not {row - 1, row, row + 1} & hidden or not x // 2 <= column < (x + w) // 2:
                    self.assertEqual(value, raw[p].samples[at], (p, column, row))


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
