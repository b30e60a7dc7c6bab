# SPDX-License-Identifier: BSD-2-Clause
# Virtual cameras: what programs find in a device of v4l2loopback that halod feeds.
import os
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import v4l2
from cameratest import (CHAIN, FPS, LEAK, NO_VIRTUAL_CAMERAS, ROUNDS, CameraTest, Daemon,
                        descriptors, main, wait_until)
from devices import Loopback, UsbCamera, detail, ffmpeg_pictures, luma_of, node_name, v4l2_ctl
from halotest import start_halod


@unittest.skipIf(NO_VIRTUAL_CAMERAS, NO_VIRTUAL_CAMERAS)
class VirtualTest(CameraTest):
    WIDTH, HEIGHT = 320, 240

    def begin(self, exclusive):
        self.loopback = Loopback(exclusive)
        self.addCleanup(self.loopback.close)
        self.camera = UsbCamera()
        self.addCleanup(self.camera.close)
        self.level = self.level_of(self.camera.node)

    def output(self, **more):
        return {'v4l2': self.loopback.node, 'format': 'yuyv',
                'video': {'size': '320x240', 'fps': FPS}, **more}

    def serve(self, **more):
        self.daemon = self.start({'one': self.camera_stream(self.camera.node,
                                                            outputs=[self.output(**more)])})

    def reader_of_device(self):
        """As a browser: it opens the device, and must never lose it."""
        device = v4l2.Device(self.loopback.node)
        self.addCleanup(device.close)

        def form():  # of none before the first picture is written
            try:
                return device.format()
            except OSError as error:
                return error
        self.assertTrue(wait_until(lambda: form() == (320, 240, 'YUYV'), 2), form())
        device.start()
        return device

    def next_picture(self, device, filtered, timeout=20):
        def found():
            picture = device.read()
            self.assertIsNotNone(picture, 'the virtual camera is silent')
            luma = luma_of(picture.data)
            self.assertLess(detail(luma, 320, 240), LEAK, 'an unfiltered picture')
            return (abs(sum(luma) / len(luma) - self.level) < 5) == filtered
        self.assertTrue(wait_until(found, timeout))

    def check(self, exclusive):
        self.begin(exclusive)
        self.serve()
        self.assertTrue(wait_until(lambda: '320/240' in v4l2_ctl(
            self.loopback.node, '--get-fmt-video', code=None)))
        device = self.reader_of_device()
        self.next_picture(device, filtered=True)
        times = [device.read().seconds for _ in range(30)]
        self.assertAlmostEqual((times[-1] - times[0]) / 29, 1 / FPS, delta=0.02)
        device.close()
        pictures = ffmpeg_pictures(self.loopback.node, 5, size='320x240')
        self.assertEqual(len(pictures), 5)
        self.assertLess(max(detail(luma, 320, 240) for luma in pictures), LEAK)

    def test_not_exclusive(self):
        self.check(False)

    def test_exclusive(self):
        self.check(True)

    def test_card_at_once(self):
        """With exclusive_caps it is no camera before somebody writes: so there is a card."""
        self.begin(True)
        self.camera.unplug()
        self.serve()
        device = self.reader_of_device()
        self.next_picture(device, filtered=False)
        self.camera.plug()
        self.next_picture(device, filtered=True)

    def test_deaths(self):
        """The device outlives engines and cables."""
        self.begin(True)
        self.serve()
        device = self.reader_of_device()
        self.next_picture(device, filtered=True)
        mine, held = self.held_open(), None
        self.assertEqual(len(mine), 1)
        for _ in range(min(ROUNDS, 5) + 1):
            self.daemon.kill_engine_of('one')
            self.next_picture(device, filtered=False)
            self.next_picture(device, filtered=True)
            self.camera.unplug()
            self.next_picture(device, filtered=False)
            self.camera.plug()
            self.next_picture(device, filtered=True)
            self.assertEqual(self.held_open(), mine, 'it was reopened')
            held = held or descriptors(self.daemon.process.pid)  # first there are no old rings
        self.assertTrue(wait_until(lambda: descriptors(self.daemon.process.pid) == held))

    def held_open(self):
        """The supervisor's descriptors of the device."""
        folder = f'/proc/{self.daemon.process.pid}/fd/'
        return [name for name in os.listdir(folder)
                if os.readlink(folder + name) == self.loopback.node]

    def test_second_writer(self):
        """With exclusive_caps it is no output while somebody feeds it: another halod waits."""
        self.begin(True)
        self.serve()
        device = self.reader_of_device()
        self.next_picture(device, filtered=True)
        os.mkdir(self.path('second'))
        second = Daemon(self.path('second'), {'one': self.stream(
            input='test:size=320x240:rate=5', filters=CHAIN, outputs=[self.output()])})
        self.addCleanup(self.end, second)

        def state():
            return second.status('one')['outputs'][0]['state']
        self.assertTrue(wait_until(lambda: state() == 'busy'), state())
        for _ in range(FPS):
            self.next_picture(device, filtered=True, timeout=0)
        # That it comes in once the first has left is not to be had of 0.12.7, which is neither
        # camera nor output then: it is said what helps.
        device.close()
        self.daemon.stop()

        def helped():
            output = second.status('one')['outputs'][0]
            return output['state'] == 'writing' or 'modprobe -r' in output['why']
        self.assertTrue(wait_until(helped), second.status('one')['outputs'])

    def test_run(self):
        """The recipe of one line."""
        self.begin(False)
        process = start_halod('run', '-i', self.camera.node, '-video_size', '320x240', '-vf', CHAIN,
                              self.loopback.node)
        self.addCleanup(process.stderr.close)
        if wait_until(lambda: process.poll() is not None, 1):
            printed = process.stderr.read()
            self.assertIn('a device', printed)
            self.skipTest(printed.strip())
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.assertTrue(wait_until(lambda: '320/240' in v4l2_ctl(
            self.loopback.node, '--get-fmt-video', code=None)), node_name(self.loopback.node))
        device = self.reader_of_device()
        self.next_picture(device, filtered=True)
        begun = time.monotonic()
        process.terminate()
        process.wait(20)
        self.assertLess(time.monotonic() - begun, 10)


if __name__ == '__main__':
    main()
