# SPDX-License-Identifier: BSD-2-Clause
# The cameras that the other tests stand on do what those tests believe of them.
import os
import select
import struct
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))

import v4l2
from devices import (HDMI, Loopback, UsbCamera, Vivid, controls, detail, ffmpeg_pictures, luma_of,
                     node_name, nodes, set_control, v4l2_ctl)
from halotest import FFMPEG, main, wait_until

TYPE = struct.pack('=I', v4l2.CAPTURE)


class VividTest(unittest.TestCase):
    """All on one load of the driver: what it was told before must not matter."""

    @classmethod
    def setUpClass(cls):
        cls.vivid = Vivid()
        cls.addClassCleanup(cls.vivid.close)

    def open(self):
        device = v4l2.Device(self.vivid.node)
        self.addCleanup(device.close)
        return device

    def streaming(self):
        device = self.open()
        device.start()
        self.assertTrue(device.read().data)
        return device

    def next_fails(self, device):
        """The errno with which pictures end."""
        try:
            for _ in range(20):
                self.assertTrue(device.wait())
                device.read()
        except OSError as error:
            return error.errno
        return None

    def test_pictures(self):
        output = v4l2_ctl(self.vivid.node, '--stream-mmap', '--stream-count=10', '--verbose')
        self.assertEqual(output.count('bytesused: 614400'), 10, output)
        device = self.streaming()
        picture = device.read()
        self.assertEqual(len(picture.data), 640 * 480 * 2)
        self.assertGreater(detail(luma_of(picture.data), 640, 480), 150)

    def test_pictures_for_ffmpeg(self):
        pictures = ffmpeg_pictures(self.vivid.node, 5)
        self.assertEqual(len(pictures), 5)
        self.assertGreater(detail(pictures[0], 640, 480), 150)

    def test_disconnect(self):
        for _ in range(3):
            device = self.streaming()
            self.vivid.control('disconnect')
            wait_until(lambda: device.wait() & select.POLLERR)
            self.assertTrue(device.wait() & (select.POLLERR | select.POLLHUP))
            self.assertEqual(device.fails(v4l2.DQBUF, device.buffer(0)), 'ENODEV')
            self.assertEqual(device.fails(v4l2.QUERYCAP, bytes(104)), 'ENODEV')
            self.assertEqual(device.stop(), 'ENODEV')
            device.close()
            self.assertTrue(os.path.exists(self.vivid.node))

    def test_fatal_error(self):
        device = self.streaming()
        self.vivid.control('inject_fatal_streaming_error')
        wait_until(lambda: device.wait() & select.POLLERR)
        self.assertEqual(device.fails(v4l2.DQBUF, device.buffer(0)), 'EIO')
        self.assertIsNone(device.stop())
        device.start()
        self.assertTrue(device.read().data)

    def test_flagged_buffer(self):
        device = self.streaming()
        self.vivid.control('inject_v4l2_buf_flag_error')
        flagged = [p for p in device.pictures(15) if p.flags & v4l2.ERROR]
        self.assertEqual(len(flagged), 1)
        self.assertEqual(len(flagged[0].data), 640 * 480 * 2)

    def test_refused_calls(self):
        device = self.open()
        self.vivid.control('inject_vidioc_reqbufs_error')
        request = struct.pack('=5I', 4, v4l2.CAPTURE, v4l2.MMAP, 0, 0)
        self.assertEqual(device.fails(v4l2.REQBUFS, request), 'EINVAL')
        self.vivid.control('inject_vidioc_streamon_error')
        with self.assertRaises(OSError):
            device.start()
        self.assertIsNone(device.fails(v4l2.STREAMON, TYPE))
        self.assertTrue(device.read().data)
        self.vivid.control('inject_vidioc_qbuf_error')
        with self.assertRaises(OSError):
            device.pictures(3)

    def test_dropped_buffers(self):
        device = self.streaming()
        self.vivid.control('percentage_of_dropped_buffers', 100)
        wait_until(lambda: device.read(seconds=0.5) is None)
        last = device.read(seconds=0.3)
        self.vivid.control('percentage_of_dropped_buffers', 0)
        self.assertIsNone(last)
        first, second = device.pictures(2)
        self.assertGreater(first.sequence, 2)
        self.assertGreater(second.sequence, first.sequence)

    def test_second_opener(self):
        self.streaming()
        second = self.open()
        with self.assertRaises(OSError) as caught:
            second.set_format(320, 180, 'YUYV')
        self.assertEqual(caught.exception.errno, 16)
        request = struct.pack('=5I', 4, v4l2.CAPTURE, v4l2.MMAP, 0, 0)
        self.assertEqual(second.fails(v4l2.REQBUFS, request), 'EBUSY')


class VividHdmiTest(unittest.TestCase):
    def test_signal(self):
        vivid = Vivid(HDMI)
        self.addCleanup(vivid.close)
        with v4l2.Device(vivid.node) as device:
            device.subscribe(v4l2.SOURCE_CHANGE)
            device.start()
            self.assertTrue(device.read().data)
            vivid.control('dv_timings_signal_mode', 1)
            self.assertTrue(wait_until(lambda: device.wait() & select.POLLPRI))
            self.assertEqual(device.event(), v4l2.SOURCE_CHANGE)
            self.assertEqual(device.fails(v4l2.QUERY_TIMINGS, bytes(132)), 'ENOLINK')
            vivid.control('dv_timings_signal_mode', 0)
            self.assertTrue(wait_until(lambda: device.wait() & select.POLLPRI))
            self.assertIsNone(device.fails(v4l2.QUERY_TIMINGS, bytes(132)))


class LoopbackTest(unittest.TestCase):
    def written(self, loopback):
        """A writer of red pictures."""
        process = subprocess.Popen(
            [FFMPEG, '-nostdin', '-v', 'error', '-re', '-f', 'lavfi', '-i',
             'color=red:size=320x240:rate=25', '-pix_fmt', 'yuyv422', '-f', 'v4l2', loopback.node],
            stdin=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def check(self, exclusive):
        loopback = Loopback(exclusive)
        self.addCleanup(loopback.close)
        with v4l2.Device(loopback.node) as device:
            before = device.capabilities()
        self.written(loopback)
        node = loopback.node
        self.assertTrue(wait_until(lambda: 'Streaming' in v4l2_ctl(
            node, '--get-fmt-video', '--all', code=None) and '320/240' in v4l2_ctl(
            node, '--get-fmt-video', code=None)))
        pictures = ffmpeg_pictures(node, 3, size='320x240')
        self.assertEqual(len(pictures), 3)
        self.assertTrue(70 < pictures[2][1000] < 90, pictures[2][1000])
        with v4l2.Device(node) as device:
            self.assertEqual(device.format(), (320, 240, 'YUYV'))
            device.start()
            self.assertEqual(device.read().data[:4], pictures_red())
        return before

    def test_not_exclusive(self):
        self.assertTrue(self.check(False) & v4l2.CAPTURE)

    def test_exclusive(self):
        self.assertFalse(self.check(True) & v4l2.CAPTURE, 'a camera before somebody writes')


def pictures_red():
    return bytes([81, 90, 81, 240])


class UsbCameraTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.camera = UsbCamera()
        cls.addClassCleanup(cls.camera.close)

    def streaming(self, code):
        device = v4l2.Device(self.camera.node)
        self.addCleanup(device.close)
        device.set_format(640, 480, code)
        device.start()
        return device

    def test_raw(self):
        device = self.streaming('YUYV')
        pictures = device.pictures(10)
        self.assertEqual({len(p.data) for p in pictures[1:]}, {640 * 480 * 2})
        self.assertGreater(detail(luma_of(pictures[9].data), 640, 480), 120)

    def test_jpegs(self):
        device = self.streaming('MJPG')
        for picture in device.pictures(10)[1:]:
            self.assertEqual(picture.data[:2], b'\xff\xd8')
            self.assertEqual(picture.data[-2:], b'\xff\xd9')
        device.close()
        pictures = ffmpeg_pictures(self.camera.node, 5, '-input_format', 'mjpeg', '-video_size',
                                   '320x240', size='320x240')
        self.assertEqual(len(pictures), 5)
        self.assertGreater(detail(pictures[4], 320, 240), 100)

    def test_spoilt_jpegs(self):
        device = self.streaming('MJPG')
        device.pictures(3)
        self.camera.tell('error 2')
        self.assertEqual(sum(bool(p.flags & v4l2.ERROR) for p in device.pictures(12)), 2)
        self.camera.tell('short 2')
        ends = [p.data[-2:] for p in device.pictures(12)]
        self.assertEqual(sum(end != b'\xff\xd9' for end in ends), 2)
        self.camera.tell('torn 2')
        self.assertEqual(sum(bytes(2000) in p.data for p in device.pictures(12)), 2)

    def test_short_raw(self):
        device = self.streaming('YUYV')
        device.pictures(3)
        self.camera.tell('short 2')
        sizes = [len(p.data) for p in device.pictures(12)]
        self.assertEqual(sum(size < 640 * 480 * 2 for size in sizes), 2, sizes)

    def test_stall(self):
        device = self.streaming('YUYV')
        pictures = device.pictures(3)
        self.camera.tell('stall 2')
        times = [p.seconds for p in pictures + device.pictures(6)]
        self.assertGreater(max(b - a for a, b in zip(times, times[1:])), 1.5, times)

    def test_control(self):
        set_control(self.camera.node, 'brightness', 60)
        self.assertEqual(controls(self.camera.node)['brightness'], 60)
        set_control(self.camera.node, 'brightness', 0)

    def test_unplug(self):
        device = self.streaming('YUYV')
        device.pictures(3)
        self.camera.unplug()
        with self.assertRaises(OSError):
            for _ in range(20):
                device.read()
        device.close()
        self.camera.plug()
        self.assertEqual(node_name(self.camera.node), 'Simulated camera')

    def test_renumbering(self):
        old = self.camera.node
        self.camera.unplug()
        other = UsbCamera('SIM0002', port=1)
        self.addCleanup(other.close)
        self.assertEqual(other.node, old)
        self.camera.plug()
        self.assertNotEqual(self.camera.node, old)
        self.assertEqual(len(nodes()), 4)


if __name__ == '__main__':
    main()
