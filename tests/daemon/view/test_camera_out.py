# SPDX-License-Identifier: BSD-2-Clause
# Virtual cameras of the daemon, on a device that is played (tests/standin/loopback.c).
"""Programs that read the camera get pictures at its rate, whatever becomes of inputs and engines."""
import contextlib
import os
import re
import signal
import struct
import subprocess
import time
import unittest

from halotest.daemon import PATIENCE, DaemonTest, is_sanitized, main, wait_until
from halotest import FFMPEG, alone, call
from halotest.virtual import HEIGHT, WIDTH, Device, is_card, luma

STANDIN = os.environ.get('HALO_STANDIN_LOOPBACK_LIBRARY', '')
RATE = 25
NOTICED = {'HALOD_FAULT': ''}  # an engine that stands is killed
SILENCE_S = 0.35 * PATIENCE  # less than without the camera's own pictures: the first card's 0.4


def size_of(form):
    return WIDTH * HEIGHT * (4 if form == 'yuyv' else 3) // 2


@unittest.skipUnless(STANDIN, 'HALO_STANDIN_LOOPBACK_LIBRARY names no library')
class CameraTest(DaemonTest):
    def setUp(self):
        super().setUp()
        self.dev = self.path('dev')
        os.mkdir(self.dev)

    def play(self, output=None, http=None, faults=None, streams=None, **settings):
        environment = {'LD_PRELOAD': STANDIN, 'HALO_STANDIN_LOOPBACK': self.dev, **(faults or {})}
        if is_sanitized():
            environment['ASAN_OPTIONS'] = (os.environ.get('ASAN_OPTIONS', '') +
                                           ':verify_asan_link_order=0')
        more = {'http': http} if http else {}
        return self.start(streams or {'one': self.settings(output, **settings)},
                          environment=environment, **more)

    def settings(self, output=None, **settings):
        return {'input': f'test:size={WIDTH}x{HEIGHT}:rate={RATE}', 'filters': 'gblur=sigma=2',
                'backend': 'cpu', 'outputs': [
                    {'v4l2': '/dev/video10', **(output or {}),
                     'video': {'size': f'{WIDTH}x{HEIGHT}', 'fps': RATE}}], **settings}

    def more(self, device, daemon, count):
        """Waits until so many more are written."""
        count += len(device.pictures)
        self.assertTrue(wait_until(lambda: len(device.pictures) >= count), daemon.logged())

    def output(self, daemon):
        return daemon.status('one')['outputs'][0]


class VirtualCamera(CameraTest):
    def test_killed_engines(self):
        """A reader sees pictures, from the first moment on; an engine that stands is killed, too."""
        device = Device(self.dev)
        daemon = self.play(faults=NOTICED, http={'listen': 'unix:' + self.path('http.sock')})
        self.assertTrue(wait_until(lambda: device.pictures), daemon.logged())
        self.assertTrue(is_card(device.pictures[0][1]))
        self.assertIsNotNone(device.wait(card=False), daemon.logged())
        for _ in range(2):
            daemon.wait_pictures('one', RATE // 2)
            restarts = daemon.status('one')['restarts']
            daemon.kill_engine_of('one')
            self.assertTrue(wait_until(lambda: daemon.status('one')['restarts'] > restarts),
                            daemon.logged())
            daemon.wait_state('one', 'running')
            before = {p for _, p in list(device.pictures)}
            self.assertTrue(wait_until(
                lambda: any(p not in before and not is_card(p) for _, p in device.since(0))),
                daemon.logged())
        stopped = time.monotonic()
        daemon.kill_engine_of('one', signal.SIGSTOP)
        card = device.wait(card=True, since=stopped)
        self.assertIsNotNone(card, daemon.logged())
        back = device.wait(card=False, since=card)
        self.assertIsNotNone(back, daemon.logged())
        count = len(device.pictures)
        self.assertEqual(device.formats, ['YUYV 320x240'])
        self.assertEqual({len(p) for _, p in device.pictures}, {size_of('yuyv')})
        status = self.output(daemon)
        self.assertEqual((status['state'], status['why'], status['kind'], status['target']),
                         ('writing', '', 'v4l2', '/dev/video10'))
        self.assertEqual((status['opened'], status['failures'], status['readers']), (1, 0, None))
        self.assertGreaterEqual(status['pictures'], count - 3)
        self.assertGreater(status['repeated'], 0)
        self.until(lambda: re.search(
            'halod_output_pictures_total{stream="one",number="0",output="/dev/video10"} [1-9]',
            self.fetch('/metrics')))

    def test_formats(self):
        """Of every format, what FFmpeg makes of the same picture; JPEGs also without an engine."""
        clip = self.path('still.nut')
        call([FFMPEG, '-v', 'error', '-f', 'lavfi', '-i', f'testsrc2=size={WIDTH}x{HEIGHT}',
              '-vf', 'format=yuv420p,trim=end_frame=1,loop=24:1,setpts=N/25/TB', '-c:v', 'ffv1',
              clip])
        forms = {'yu12': 'yuv420p', 'nv12': 'nv12', 'yuyv': 'yuyv422', 'mjpeg': None}
        devices = [Device(self.dev, f'video{10 + i}') for i in range(len(forms))]
        one = self.settings(input=clip, loop=True, realtime=True, filters='null', privacy='off')
        one['outputs'] = [{**one['outputs'][0], 'v4l2': f'/dev/video{10 + i}', 'format': form}
                          for i, form in enumerate(forms)]
        daemon = self.play(streams={'one': one})
        for device in devices[:3]:
            self.assertIsNotNone(device.wait(card=False), daemon.logged())
            self.more(device, daemon, 5)
        self.more(devices[3], daemon, RATE)
        daemon.kill_engine_of('one', signal.SIGSTOP)
        self.more(devices[3], daemon, RATE)  # which no engine has made
        daemon.kill_engine_of('one', signal.SIGCONT)
        self.end(daemon)
        for device, (form, pixels) in zip(devices, forms.items()):
            device.unplug()
            with self.subTest(form):
                if pixels:
                    self.check_pixels(device, form, call(
                        [FFMPEG, '-v', 'error', '-i', clip, '-frames:v', '1', '-pix_fmt', pixels,
                         '-sws_flags', 'bicubic+accurate_rnd', '-f', 'rawvideo', '-']))
                else:
                    self.check_jpegs(device)

    def check_pixels(self, device, form, like):
        seen = {p for _, p in device.pictures if not is_card(p)}
        self.assertEqual(len(seen), 1)
        picture = seen.pop()
        self.assertEqual(len(picture), len(like))
        self.assertEqual(luma(picture), luma(like))
        self.assertLessEqual(max(abs(a - b) for a, b in zip(picture, like)), 0 if form != 'yuyv' else 12)

    def check_jpegs(self, device):
        for _, picture in device.pictures:
            self.assertEqual((picture[:2], picture[-2:]), (b'\xff\xd8', b'\xff\xd9'))
            at = picture.index(b'\xff\xc0') + 5  # its frame's height and width
            self.assertEqual(struct.unpack('>HH', picture[at:at + 4]), (HEIGHT, WIDTH))
        self.assertEqual(device.formats, ['MJPG 320x240'])

    def test_comes_and_goes(self):
        """Not there at first, then held by another, unplugged, and back again."""
        daemon = self.play()
        daemon.wait_state('one', 'running')
        self.assertEqual(self.output(daemon)['state'], 'absent')
        self.assertIn('haloctl doctor', self.output(daemon)['why'])
        self.assertEqual(daemon.status('one')['viewers'], 0)
        busy = os.path.join(self.dev, 'busy')
        with open(busy, 'w'):
            pass
        device = Device(self.dev)
        self.assertTrue(wait_until(lambda: self.output(daemon)['state'] == 'busy'), daemon.logged())
        os.unlink(busy)
        self.assertIsNotNone(device.wait(card=False), daemon.logged())
        for _ in range(2):
            device.unplug()
            self.assertTrue(wait_until(lambda: self.output(daemon)['state'] == 'absent'),
                            daemon.logged())
            device = Device(self.dev)
            self.assertIsNotNone(device.wait(card=False), daemon.logged())
        self.assertEqual(self.output(daemon)['failures'], 4)
        self.assertIn('virtual camera', daemon.logged())
        self.check_reload(device, daemon)

    def check_reload(self, device, daemon):
        """New settings of the stream leave the camera open; another size does not."""
        daemon.write({'one': self.settings(depth=2)})
        reloaded = time.monotonic()
        self.assertEqual(daemon.control('Reload')['changed'], ['one'])
        self.assertIsNotNone(device.wait(card=False, since=reloaded + 0.5), daemon.logged())
        self.assertEqual(len(device.formats), 1)
        daemon.write({'one': self.settings(output={'format': 'nv12'}, depth=2)})
        daemon.control('Reload')
        self.assertTrue(wait_until(lambda: len(device.formats) == 2), daemon.logged())
        self.assertEqual(device.formats[1], 'NV12 320x240')
        daemon.control('Stop', name='one')
        self.assertTrue(wait_until(lambda: 'state' not in self.output(daemon)))

    @alone
    def test_opens_but_takes_nothing(self):
        """One failure, said once, with pauses that grow: not one at every try."""
        refuses = os.path.join(self.dev, 'refuses')
        with open(refuses, 'w'):
            pass
        device = Device(self.dev)
        daemon = self.play()
        self.assertTrue(wait_until(lambda: self.output(daemon)['state'] == 'busy'), daemon.logged())
        begun = time.monotonic()
        before = len(device.formats)
        time.sleep(3)  # what is measured
        tries, took = len(device.formats) - before, time.monotonic() - begun
        self.assertEqual(self.output(daemon)['failures'], 1)
        self.assertLess(tries, 7 * took / 3)
        self.assertEqual(daemon.logged().count('virtual camera: '), 1, daemon.logged())
        os.unlink(refuses)
        self.assertIsNotNone(device.wait(card=False), daemon.logged())
        self.assertIn('virtual camera: writing', daemon.logged())

    def test_readers(self):
        """Where the module tells of readers, nothing is encoded for nobody."""
        readers = os.path.join(self.dev, 'readers')

        def have(count):
            with open(readers + '.new', 'w') as file:
                file.write(str(count))
            os.rename(readers + '.new', readers)

        have(0)
        device = Device(self.dev)
        daemon = self.play(input=f'test:size=640x362:rate={RATE}')  # the camera's is the output's
        daemon.wait_state('one', 'running')
        self.assertTrue(wait_until(lambda: len(device.pictures) > RATE))
        self.assertTrue(all(is_card(p) for _, p in device.pictures))
        self.assertEqual(daemon.status('one')['encoded'], 0)
        self.assertEqual((self.output(daemon)['readers'], daemon.status('one')['viewers']),
                         (False, 0))
        have(1)
        self.assertIsNotNone(device.wait(card=False), daemon.logged())
        self.assertTrue(self.output(daemon)['readers'])
        self.assertEqual({len(p) for _, p in device.pictures}, {size_of('yuyv')})
        have(0)
        self.assertTrue(wait_until(lambda: is_card(device.pictures[-1][1])), daemon.logged())

    def test_forgotten(self):
        """What filters made that were changed is not shown again, though no new picture comes and
        on_error says last."""
        fifo, device = self.path('input.nut'), Device(self.dev)
        os.mkfifo(fifo)
        source = subprocess.Popen(
            [FFMPEG, '-nostdin', '-v', 'quiet', '-y', '-re', '-f', 'lavfi', '-i',
             f'testsrc2=size={WIDTH}x{HEIGHT}:rate={RATE}', '-c:v', 'rawvideo', '-pix_fmt',
             'yuv420p', '-f', 'nut', fifo])
        self.addCleanup(source.wait)
        self.addCleanup(source.kill)
        daemon = self.play(input=fifo, realtime=True, input_timeout=3600, on_error='last',
                           last_for=3600)
        self.assertIsNotNone(device.wait(card=False), daemon.logged())
        source.send_signal(signal.SIGSTOP)
        self.more(device, daemon, 2 * RATE)  # a card would have come
        self.assertFalse(is_card(device.pictures[-1][1]))  # the last one, as asked for
        daemon.control('Set', name='one', filters='solid')
        written = self.output(daemon)['pictures']
        self.assertTrue(wait_until(lambda: len(device.pictures) > written + RATE))
        seen = [is_card(p) for _, p in device.pictures[written:]]
        self.assertTrue(all(seen[3:]), 'more than what was on its way')

    @alone
    def test_a_reader_that_is_slow(self):
        """Pictures that the device does not take are counted, and hold up nobody."""
        device = Device(self.dev, pause=0.5)
        daemon = self.play()
        self.assertTrue(wait_until(lambda: self.output(daemon)['dropped_packets'] > 20, 30),
                        daemon.logged())
        took = []
        for _ in range(5):
            began = time.monotonic()
            daemon.status()
            took.append(time.monotonic() - began)
        self.assertLess(sorted(took)[2], 0.5 * PATIENCE)
        os.kill(daemon.process.pid, signal.SIGTERM)
        self.assertEqual(daemon.process.wait(20 * PATIENCE), 0)
        self.assertTrue(device.pictures)


@alone
class Prompt(CameraTest):
    def test_steady(self):
        """Of a source of its rate nearly every picture is written, and at once; without an engine
        its own ones come in time."""
        def measure():
            devices, daemon = [Device(self.dev)], self.play(faults=NOTICED)
            try:
                self.measure(devices, daemon)
            finally:
                self.end(daemon)
                with contextlib.suppress(OSError):  # it may be unplugged
                    devices[-1].unplug()
        self.best_of(measure)

    def measure(self, devices, daemon):
        """devices: the one that is there; another one that comes is added."""
        [device] = devices
        self.assertIsNotNone(device.wait(card=False), daemon.logged())
        time.sleep(1)  # the rhythm of its beginning is not measured
        before, began = self.output(daemon), time.monotonic()
        time.sleep(3)  # what is measured
        after, took = self.output(daemon), time.monotonic() - began
        written = after['pictures'] - before['pictures']
        self.assertAlmostEqual(written / took, RATE, delta=RATE * 0.1 * PATIENCE)
        self.assertLess(after['repeated'] - before['repeated'], written * 0.1 * PATIENCE)
        self.assertLess(after['dropped_packets'] - before['dropped_packets'],
                        written * 0.1 * PATIENCE)
        killed = time.monotonic()
        daemon.kill_engine_of('one')
        self.assertTrue(wait_until(lambda: daemon.status('one')['restarts'] > 0), daemon.logged())
        daemon.wait_state('one', 'running')
        self.assertIsNotNone(device.wait(card=False, since=killed + 0.5), daemon.logged())
        daemon.write({'one': self.settings(depth=2)})
        daemon.control('Reload')
        self.assertIsNotNone(device.wait(card=False, since=time.monotonic() + 0.5), daemon.logged())
        self.assert_no_gap(device.gaps(killed), SILENCE_S / 2)
        stopped = time.monotonic()
        daemon.kill_engine_of('one', signal.SIGSTOP)
        self.assertLess(device.wait(card=True, since=stopped) - stopped, 1 * PATIENCE)
        device.unplug()
        self.assertTrue(wait_until(lambda: self.output(daemon)['state'] == 'absent'))
        time.sleep(0.6)  # longer than it looks for it every time
        again, plugged = Device(self.dev), time.monotonic()
        devices.append(again)
        self.assertTrue(wait_until(lambda: again.pictures), daemon.logged())
        self.assertLess(again.pictures[0][0] - plugged, 0.5 * PATIENCE)


main()
