# SPDX-License-Identifier: BSD-2-Clause
# halod with a camera in front of it that fails in every way that a camera can.
import os
import signal
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import v4l2
from cameratest import (BACK_WITHIN, CARD_WITHIN, CHAIN, FPS, LEAK, NO_CAMERAS, ROUNDS, WARM_UP,
                        CameraTest, Recorder, Viewer, main, wait_until)
from devices import HDMI, UsbCamera, Vivid, detail, set_control, v4l2_ctl
from halotest import leave_out_last, raw_frames, run_halod

LOST = ('damaged', 'late', 'missed')  # in the status, what became of pictures that nobody saw


class WitnessTest(CameraTest):
    """Who looks for leaks finds them: the pattern of `test:` has as much detail as the canary."""

    def seen(self, chain):
        self.start({'one': self.stream(
            input='test:size=320x180:rate=25', filters=chain, privacy='changed',
            outputs=[{'unix': self.path('one.nut'), 'video': {'codec': 'raw'}}])})
        eye = Viewer(320, 180, '-i', 'unix:' + self.path('one.nut'))
        self.addCleanup(eye.close)
        self.assertTrue(wait_until(lambda: len(eye.seen) >= 20))
        return eye.seen

    def test_filtered(self):
        self.assertLess(max(seen.detail for seen in self.seen(CHAIN)), LEAK)

    def test_unblurred(self):
        self.assertGreater(min(seen.detail for seen in self.seen('unsharp')), 2 * LEAK)


@unittest.skipIf(NO_CAMERAS, NO_CAMERAS)
class VividTest(CameraTest):
    @classmethod
    def setUpClass(cls):
        cls.vivid = Vivid()
        cls.vivid.control('brightness', 70)
        cls.addClassCleanup(cls.vivid.close)

    def test_witness(self):
        """The canary is seen where nothing is filtered, in raw pictures and in coded ones."""
        self.start({'one': {**self.camera_stream(self.vivid.node), 'filters': 'null',
                            'privacy': 'off'}})
        eye = Viewer(320, 180, '-i', 'unix:' + self.path('one.nut'))
        self.addCleanup(eye.close)
        packets = Recorder(self.path('one.ts'), self.path('seen.ts'))
        self.assertTrue(wait_until(lambda: len(eye.seen) >= 2 * FPS))
        packets.close()
        leave_out_last(self.path('seen.ts'))
        pictures = [seen.detail for seen in eye.seen if seen.detail > 2 * LEAK]
        self.assertGreater(len(pictures), FPS)
        self.assertGreater(max(self.details_of(self.path('seen.ts'))), 5 * LEAK)

    def test_devices(self):
        printed = self.halod('devices').out.decode()
        self.assertIn(self.vivid.node, printed)
        self.assertRegex(printed, r'(?i)yuyv')
        self.assertIn('640x480', printed)

    def test_to_a_file(self):
        output = self.path('out.mkv')
        begun = time.monotonic()
        run = run_halod('run', '-i', self.vivid.node, '-video_size', '320x180', '-framerate', '25',
                        '-vf', CHAIN, '-t', '3', '-c:v', 'ffv1', output)
        if 'is a device: halod run reads' in run.err:
            self.skipTest(run.err.strip())
        self.assertEqual(run.code, 0, self.logged(run))
        self.assertLess(time.monotonic() - begun, 20)
        luma = raw_frames(output, filters='format=yuv420p,extractplanes=y')
        size = 320 * 180
        self.assertGreater(len(luma) // size, 40)
        for start in range(0, len(luma), size):
            self.assertLess(detail(luma[start:start + size], 320, 180), LEAK)

    def lose(self, control, what):
        """Rounds of a fault that the camera comes back from at once."""
        self.watch(self.vivid)
        times, before = [], None
        for number in range(WARM_UP + ROUNDS):
            opened, since = self.opened(), time.monotonic()
            self.vivid.control(control)
            self.wait_opened(opened)
            again = time.monotonic()
            times.append(self.wait_first(again, True) + again - since)
            if number == WARM_UP - 1:
                before = self.costs()
        self.assert_soon(times, BACK_WITHIN, 'back after ' + what)
        self.assert_costs(before)

    def test_disconnects(self):
        """The driver says that the camera is gone until all of its descriptors are closed."""
        self.lose('disconnect', 'a disconnect')

    def test_fatal_errors(self):
        self.lose('inject_fatal_streaming_error', 'a fatal error')

    def test_flagged_buffers(self):
        self.watch(self.vivid)
        opened = self.opened()

        def damaged():
            return self.daemon.status('one')['dropped']['damaged']
        for number in range(damaged() + 1, damaged() + 1 + ROUNDS):
            self.vivid.control('inject_v4l2_buf_flag_error')
            wait_until(lambda number=number: damaged() >= number)  # or two controls are one
            self.assertEqual(damaged(), number)
            self.wait_pictures()
        self.assertEqual(self.opened(), opened, 'it was opened again for a flagged buffer')

    def test_stalls(self):
        self.watch(self.vivid)
        cards, times = [], []
        for _ in range(ROUNDS):
            since = time.monotonic()
            self.vivid.control('percentage_of_dropped_buffers', 100)
            cards.append(self.wait_card(since))
            self.wait_why('nothing')
            since = time.monotonic()
            self.vivid.control('percentage_of_dropped_buffers', 0)
            times.append(self.wait_first(since, True))
        self.assert_soon(cards, 1 + CARD_WITHIN, 'card in a stall')  # capture.stall is 1
        self.assert_soon(times, 5 + BACK_WITHIN, 'back after a stall')  # the longest pause, and open

    def test_refused_calls(self):
        self.watch(self.vivid)
        for name in ('reqbufs', 'qbuf', 'streamon'):
            opened = self.opened()
            self.vivid.control(f'inject_vidioc_{name}_error')
            self.vivid.control('disconnect')
            self.wait_opened(opened)
            self.wait_pictures()

    def test_second_opener(self):
        """Who comes second waits, and says why; who came first notices nothing."""
        self.watch(self.vivid)
        with v4l2.Device(self.vivid.node) as second:
            with self.assertRaises(OSError):
                second.set_format(640, 480, 'YUYV')
            opened = self.opened()
            self.wait_pictures()
            self.assertEqual(self.opened(), opened)

    def test_busy(self):
        self.level = self.level_of(self.vivid.node)
        with v4l2.Device(self.vivid.node) as first:
            first.set_format(640, 480, 'YUYV')
            first.start()
            self.daemon = self.start({'one': self.camera_stream(self.vivid.node)})
            self.wait_why('in use')
            self.eye = self.look('-i', 'unix:' + self.path('one.ts'))
            self.wait_card(0)
        self.wait_pictures()

    def test_on_demand(self):
        """While nobody looks the camera is free for others."""
        self.level = self.level_of(self.vivid.node)
        self.daemon = self.start({'one': self.camera_stream(
            self.vivid.node, capture={'open': 'on-demand'})})

        def is_free():
            try:
                with v4l2.Device(self.vivid.node) as other:
                    other.set_format(640, 480, 'YUYV')
                    other.request(2)
            except OSError:
                return False
            return True
        self.assertTrue(is_free())
        reader = self.reader('one.ts')
        self.assertTrue(wait_until(lambda: not is_free()))
        reader.close()
        self.assertTrue(wait_until(is_free))

    def test_suspend(self):
        """The kernel's rehearsal of a suspend, and everything of halod's standing still for seconds."""
        if 'freezer' not in read('/sys/power/pm_test'):
            self.skipTest('this kernel rehearses no suspend')
        self.watch(self.vivid)
        # Not the devices: what these tests run from is a virtio device that no driver resumes. And the
        # kernel waits by counting, which under emulation takes minutes.
        write('/sys/power/pm_test', 'freezer')
        self.addCleanup(write, '/sys/power/pm_test', 'none')
        write('/sys/module/suspend/parameters/pm_test_delay', '0')
        write('/sys/power/state', 'freeze')
        times = [self.wait_pictures()]
        group = '/sys/fs/cgroup/halod'
        os.makedirs(group, exist_ok=True)
        for pid in [self.daemon.process.pid, *self.daemon.pids()]:
            write(group + '/cgroup.procs', str(pid))
        for _ in range(min(ROUNDS, 5)):
            write(group + '/cgroup.freeze', '1')
            self.addCleanup(write, group + '/cgroup.freeze', '0')
            wait_until(lambda: 'frozen 1' in read(group + '/cgroup.events'))
            seen = len(self.eye.seen)
            time.sleep(3)
            self.assertLessEqual(len(self.eye.seen), seen + 2, 'nothing stood still')
            write(group + '/cgroup.freeze', '0')
            times.append(self.wait_pictures())
        self.assert_soon(times, 2, 'back after a suspend')


@unittest.skipIf(NO_CAMERAS, NO_CAMERAS)
class HdmiTest(CameraTest):
    WIDTH, HEIGHT = 640, 480

    def test_signal(self):
        """No signal, another timing, and back: viewers stay."""
        vivid = Vivid(HDMI)
        self.addCleanup(vivid.close)
        vivid.control('brightness', 70)
        v4l2_ctl(vivid.node, '--set-dv-bt-timings=index=0')
        self.watch(vivid)
        cards, times = [], []
        for _ in range(ROUNDS):
            since = time.monotonic()
            vivid.control('dv_timings_signal_mode', 1)
            cards.append(self.wait_card(since))
            self.wait_why('signal')
            since = time.monotonic()
            vivid.control('dv_timings_signal_mode', 0)
            times.append(self.wait_first(since, True))
        self.assert_soon(cards, CARD_WITHIN, 'card after the signal went')
        self.assert_soon(times, BACK_WITHIN, 'back after no signal')

    def test_timings(self):
        vivid = Vivid(HDMI)
        self.addCleanup(vivid.close)
        v4l2_ctl(vivid.node, '--set-dv-bt-timings=index=0')
        self.daemon = self.start({'one': self.camera_stream(vivid.node)})
        reader = self.reader('one.ts')
        for index in (2, 0):  # of vivid's list: 720x480, 640x480
            opened, size = self.opened(), reader.size
            vivid.control('dv_timings', index)
            vivid.control('dv_timings_signal_mode', 4)
            self.wait_opened(opened)
            self.assertTrue(wait_until(lambda: reader.size > size + 1000))
            self.assertFalse(reader.ended)

    def test_interlaced(self):
        """It is said that this is nothing for halod, and over with the next timing."""
        vivid = Vivid(HDMI)
        self.addCleanup(vivid.close)
        vivid.control('brightness', 70)
        v4l2_ctl(vivid.node, '--set-dv-bt-timings=index=0')
        self.watch(vivid)
        vivid.control('dv_timings', 1)  # 720x480i
        vivid.control('dv_timings_signal_mode', 4)
        self.wait_card(time.monotonic())
        self.wait_why('')
        print(self.daemon.status('one')['why'])
        vivid.control('dv_timings', 0)
        vivid.control('dv_timings_signal_mode', 4)
        self.wait_pictures()


@unittest.skipIf(NO_CAMERAS, NO_CAMERAS)
class UsbTest(CameraTest):
    WIDTH, HEIGHT = 320, 240

    def setUp(self):
        super().setUp()
        self.camera = UsbCamera()
        self.addCleanup(self.camera.close)

    def test_unplugs(self):
        self.watch(self.camera)
        before, cards, times = None, [], []
        for number in range(WARM_UP + ROUNDS):
            since = time.monotonic()
            self.camera.unplug()
            cards.append(self.wait_card(since))
            self.wait_why('camera')
            since = time.monotonic()
            self.camera.plug()
            times.append(self.wait_first(since, True))
            if number == WARM_UP - 1:
                before = self.costs()
        self.assert_soon(cards, CARD_WITHIN, 'card after an unplug')
        self.assert_soon(times, BACK_WITHIN, 'back after a replug')
        self.assert_costs(before)

    def test_renumbering(self):
        """Known again by what it is, while another camera has its number."""
        set_control(self.camera.node, 'brightness', -60)
        self.watch(self.camera)
        old = self.camera.node
        self.camera.unplug()
        self.wait_card(time.monotonic() - 0.2)
        other = UsbCamera('SIM0002', port=1)
        self.addCleanup(other.close)
        set_control(other.node, 'brightness', 64)
        self.wait_why('camera')
        self.camera.plug()
        self.assertNotEqual(self.camera.node, old)
        since = time.monotonic()
        self.wait_pictures()
        self.assertLess(self.daemon.status('one')['opened'], 10)
        strangers = [seen for seen in self.eye.seen if seen.time >= since
                     and not self.is_frame(seen) and abs(seen.mean - self.level) < 40]
        self.assertEqual(strangers, [], 'pictures of the other camera')

    def test_by_identity(self):
        for name in (self.camera.link, 'v4l2:serial=SIM0001', 'v4l2:name=Simulated camera'):
            self.level = self.level_of(self.camera.node)
            self.daemon = self.start({'one': self.camera_stream(name)})
            self.eye = self.look('-i', 'unix:' + self.path('one.nut'))
            self.wait_pictures()
            self.doCleanups()
            self.setUp()

    def account(self):
        """What became of the pictures that came, as the status has it."""
        status = self.daemon.status('one')
        return {'decoded': status['decoded'],
                **{why: status['capture'][why] for why in LOST}}

    def settled(self):
        """(pictures sent, what became of them), while no more come."""
        self.camera.tell('stall 2')
        time.sleep(1.5)  # the status is of half a second ago
        return self.camera.sent(), self.account()

    def spoil(self, form, words):
        """Rounds of pictures that are spoilt in each of these ways: they are dropped and counted, with
        the stream going on, and what was sent is accounted for to the last picture. At last the engine
        stands still meanwhile: what nobody looked at, for a newer one was there or the driver had no
        buffer, is accounted for as that."""
        self.watch(self.camera, capture={'format': form, 'stall': 5})
        opened, spoilt = self.opened(), 0
        count = min(ROUNDS, 10)
        sent, before = self.settled()
        begun, card = len(self.eye.seen), self.eye.seen[-1].mean
        for word in (*words, words[-1]):
            self.wait_pictures()
            first = self.account()

            def lost(first=first):
                now = self.account()
                return sum(now[why] - first[why] for why in LOST)
            if spoilt == count * len(words):
                engine, = self.daemon.pids()
                os.kill(engine, signal.SIGSTOP)
                self.camera.tell(f'{word} {count}')
                time.sleep((count + 1) / FPS)
                os.kill(engine, signal.SIGCONT)
            else:
                self.camera.tell(f'{word} {count}')
            spoilt += count
            self.assertTrue(wait_until(lambda lost=lost: lost() >= count), f'{word}: not counted')
        self.wait_pictures()
        all_sent, after = self.settled()
        fate = {why: after[why] - before[why] for why in after}
        print(f'{all_sent - sent} pictures sent, {spoilt} of them spoilt: {fate}')
        self.assertEqual(sum(fate.values()), all_sent - sent)
        self.assertLessEqual(fate['damaged'], spoilt)
        self.assertGreaterEqual(sum(fate[why] for why in LOST), spoilt)
        self.assertEqual(self.opened(), opened)
        self.assertEqual([seen for seen in self.eye.seen[begun:] if not self.is_frame(seen)
                          and abs(seen.mean - card) > 3], [], 'neither a picture nor a card')

    def test_spoilt_jpegs(self):
        self.spoil('mjpeg', ('error', 'short', 'torn'))

    def test_spoilt_raw(self):
        self.spoil('yuyv', ('error', 'short'))

    def test_stalls(self):
        self.watch(self.camera)
        times = []
        for _ in range(min(ROUNDS, 5)):
            since = time.monotonic()
            self.camera.tell('stall 3')
            self.wait_card(since)
            times.append(self.wait_pictures())
        self.assert_soon(times, 3 + BACK_WITHIN, 'back after a stall')

    def test_controls(self):
        """Those of the settings are the camera's when it streams."""
        set_control(self.camera.node, 'brightness', -60)
        level = self.level_of(self.camera.node)
        set_control(self.camera.node, 'brightness', 60)
        self.watch(self.camera, level, capture={'controls': {'brightness': -60}})
        self.assertIn('brightness: -60', v4l2_ctl(self.camera.node, '-C', 'brightness'))


def read(path):
    try:
        with open(path, encoding='ascii') as file:
            return file.read()
    except OSError:
        return ''


def write(path, words):
    with open(path, 'w', encoding='ascii') as file:
        file.write(words)


if __name__ == '__main__':
    main()
