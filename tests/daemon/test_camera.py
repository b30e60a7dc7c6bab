# SPDX-License-Identifier: BSD-2-Clause
# The daemon with cameras that tests/standin/v4l2.h plays: viewers stay while the cable is out, engines
# die, controls are set and kept, and halod devices tells what there is.
import json
import os
import subprocess
import time

from daemontest import (HALOD, PATIENCE, DaemonTest, Refused, halod_environment, main, wait_until)
from played import HEIGHT, WIDTH, Played

HALOCTL = os.environ['HALOCTL']


class CameraTest(DaemonTest):
    def setUp(self):
        super().setUp()
        self.played = Played(self.folder)
        self.played.control(controls='gain:0:9:1:3,brightness:0:255:1:128')

    def camera(self, capture=None, **more):
        return self.stream(input='/dev/video0', **more,
                           capture={'size': f'{WIDTH}x{HEIGHT}', **(capture or {})})

    def begin(self, streams):
        return self.start(streams, environment=self.played.environment())


class Streams(CameraTest):
    def test_unplugged(self):
        """Ten times, under another number: the viewer sees the card, and pictures again."""
        self.played.plug()
        daemon = self.begin({'one': self.camera()})
        daemon.wait_state('one', 'running')
        watcher = self.watcher('one.ts')
        self.assertIsNotNone(watcher.wait(card=False))
        number, engines, before = 0, daemon.pids(), daemon.descriptors()
        for turn in range(10):
            begin = time.monotonic()
            self.played.unplug(number)
            self.assertIsNotNone(watcher.wait(card=True, since=begin))
            daemon.wait_state('one', 'waiting')
            self.assertIn('no camera', daemon.status('one')['why'])
            self.assertTrue(wait_until(lambda: daemon.status('one')['camera'] == 'absent'))
            number = (turn + 1) % 3
            if os.path.exists(self.played.path(f'control-video{number}')):
                self.played.forget(number)
            begin = time.monotonic()
            self.played.plug(number, port=f'1-{turn}')
            back = watcher.wait(card=False, since=begin)
            self.assertIsNotNone(back)
            self.assertLess(back - begin, 3 * PATIENCE)
            daemon.wait_state('one', 'running')
        self.assertTrue(watcher.is_alive_process())
        self.assertEqual(daemon.pids(), engines)
        self.assertTrue(wait_until(lambda: daemon.status('one')['opened'] == 11))
        self.assertLessEqual(daemon.descriptors(), before)

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
            self.played.forget(turn)
            self.played.plug(turn, port='1-7', serial='CD34')
            daemon.wait_state('one', 'waiting')
            time.sleep(1)
            self.assertIn('no camera', daemon.status('one')['why'])
            self.assertEqual(len(self.played.log(f'video{turn} open')), 1, self.played.log())
            begin = time.monotonic()
            self.played.plug(turn + 1)
            self.assertIsNotNone(watcher.wait(card=False, since=begin))
            daemon.wait_state('one', 'running')
            self.played.unplug(turn)
        self.assertEqual(daemon.status('one')['opened'], 4)

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
        self.assertTrue(wait_until(lambda: daemon.status('one')['restarts'] >= 1))
        daemon.wait_state('one', 'running')
        self.assertFalse(reader.ended)
        self.assertEqual(self.played.log('S_CTRL'),
                         ['video0 S_CTRL 4', 'video0 S_CTRL 6', 'video0 S_CTRL 6'])

    def test_on_demand(self):
        self.played.plug()
        daemon = self.begin({'one': self.camera({'open': 'on-demand'})})
        daemon.wait_state('one', 'waiting')
        self.assertIn('until somebody looks', daemon.status('one')['why'])
        self.assertTrue(wait_until(lambda: daemon.status('one')['camera'] == 'closed'))
        time.sleep(0.5)
        self.assertEqual(self.played.log(), [])
        watcher = self.watcher('one.ts')
        self.assertIsNotNone(watcher.wait(card=False))
        self.assertTrue(wait_until(lambda: daemon.status('one')['camera'] == 'open'))
        watcher.close()
        self.assertTrue(wait_until(lambda: self.played.log('close'), 15))
        daemon.wait_state('one', 'waiting')


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
        with self.assertRaisesRegex(Refused, 'no camera'):
            daemon.control('SetControl', name='two', control='gain', value=1)
        with self.assertRaises(Refused):
            daemon.control('SetControl', name='one', control='a b', value=1)


class Devices(CameraTest):
    def devices(self, *words):
        return subprocess.run([HALOD, 'devices', *words], capture_output=True, text=True, timeout=30,
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
        self.assertEqual((done.returncode, done.stdout), (0, 'no camera: there is no /dev/video*\n'))
        self.assertEqual(self.devices('--jsn').returncode, 64)


if __name__ == '__main__':
    main()
