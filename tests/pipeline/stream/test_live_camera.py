# SPDX-License-Identifier: BSD-2-Clause
# Live streams of cameras, which tests/standin/v4l2.h plays: pictures and times, every trouble with
# its words and pauses, the way back, on-demand, and that nothing comes out which no filter has seen.
import errno
import functools
import hashlib
import itertools
import os
import time

import halotest
from halotest import HALOD, PATIENCE, ffmpeg, wait_until
from halotest.played import HEIGHT, WIDTH, Played, draw
from test_live import LiveTest, RAW, md5s

SIZE = WIDTH * HEIGHT * 3 // 2


@functools.cache
def pictures():
    return b''.join(draw(n) for n in range(128))


@functools.cache
def reference(chain):
    """md5 of each picture that the camera can give, filtered."""
    made = halotest.call([HALOD, 'run', '-f', 'rawvideo', '-video_size', f'{WIDTH}x{HEIGHT}', '-i', '-', '-vf', chain,
                          '-c:v', 'rawvideo', '-f', 'nut', '-v', 'warning', '-'], pictures())
    return set(md5s(ffmpeg('-i', '-', '-f', 'rawvideo', '-', data=made), SIZE))


class CameraTest(LiveTest):
    def setUp(self):
        super().setUp()
        self.played = Played(self.folder)

    def camera(self, *words, source='/dev/video0', out=RAW, stall=30):
        """stall: seconds, of which a busy machine may need some for no picture at all."""
        return self.live(f'input={source}', f'capture.stall={stall}', *words, *out,
                         environment=self.played.environment())

    def wait_words(self, live, words, count=1, timeout=30):
        return live.wait('state', lambda f, rest: words in rest, count, timeout)

    def assert_filtered(self, live, chain='gblur=sigma=3'):
        known = reference(chain)
        strange = [p for p in live.packets() if p['md5'] not in known]
        self.assertFalse(strange, live.logged())


class Pictures(CameraTest):
    def test_as_the_camera_gives_them(self):
        self.played.plug()
        live = self.camera('filters=null', 'privacy=off')
        packets = live.wait_packets(40)
        stats = live.stop()
        known = set(md5s(pictures(), SIZE))
        self.assertTrue(known.issuperset(p['md5'] for p in packets))
        self.assert_grow(packets)
        self.assertEqual(stats['opened'], 1)
        self.assertEqual((stats['size']), f'{WIDTH}x{HEIGHT}')
        self.assertEqual([line.split()[1] for line in self.played.log()],
                         ['open', 'STREAMON', 'close'])

    def turned(self, words, chain):
        self.played.plug()
        live = self.camera('filters=null', 'privacy=off', *words)
        packets = live.wait_packets(10)
        live.stop()
        known = ffmpeg('-f', 'rawvideo', '-video_size', f'{WIDTH}x{HEIGHT}', '-i', '-', '-vf', chain,
                       '-f', 'rawvideo', '-', data=pictures())
        self.assertTrue(set(md5s(known, SIZE)).issuperset(p['md5'] for p in packets), words)
        aside = 'transpose' in chain
        self.assertIn(f'size={HEIGHT}x{WIDTH}' if aside else f'size={WIDTH}x{HEIGHT}',
                      live.found('begin')[0][1])
        self.played.unplug()
        self.played.forget()

    def test_turned(self):
        for words, chain in ((['capture.rotate=180'], 'hflip,vflip'),
                             (['capture.rotate=270'], 'transpose=cclock'),
                             (['capture.mirror=vertical'], 'vflip'),
                             (['capture.mirror=horizontal', 'capture.rotate=90'],
                              'hflip,transpose=clock')):
            self.turned(words, chain)

    def test_formats(self):
        for form, turn in (('uyvy', 90), ('nv12', 90), ('grey', 0)):
            self.played.control(formats=f'{form}:{WIDTH}x{HEIGHT}@50')
            self.played.plug()
            live = self.camera('filters=gblur=sigma=3', f'capture.rotate={turn}')
            live.wait_packets(5)
            live.stop()
            self.played.unplug()
            self.played.forget()

    def jpeg(self, *words):
        path = self.path('picture.jpg')
        ffmpeg('-f', 'lavfi', '-i', f'testsrc2=size={WIDTH}x{HEIGHT}', '-frames:v', '1', *words,
               '-y', path)
        return path

    def test_mjpeg(self):
        for form in ('yuvj420p', 'yuvj422p', 'yuvj444p'):
            path = self.jpeg('-pix_fmt', form)
            self.played.control(formats=f'mjpeg:{WIDTH}x{HEIGHT}@50', jpeg=path)
            self.played.plug()
            live = self.camera('filters=null', 'privacy=off')
            packets = live.wait_packets(5)
            live.stop()
            raw = ffmpeg('-i', path, '-f', 'rawvideo', '-')
            self.assertEqual({p['md5'] for p in packets}, {hashlib.md5(raw).hexdigest()})
            self.played.unplug()
            self.played.forget()

    def test_jpegs_larger_than_agreed(self):
        """What their head says is no reason to make room for it."""
        path = self.path('large.jpg')
        ffmpeg('-f', 'lavfi', '-i', f'testsrc2=size={8 * WIDTH}x{8 * HEIGHT}', '-frames:v', '1', '-y',
               path)
        self.played.control(formats=f'mjpeg:{WIDTH}x{HEIGHT}@50', jpeg=path)
        self.played.plug()
        live = self.camera('filters=null', 'privacy=off')
        self.wait_words(live, 'camera failed')
        live.stop()
        self.assertEqual(live.packets(), [])

    def test_torn_jpegs_are_never_shown(self):
        """Ones alone, with the byte that JPEG puts behind each 0xff, are in no table of codes."""
        data = open(self.jpeg(), 'rb').read()
        for torn in (data[:-2], data[:len(data) // 2] + data[-2:],
                     data[:400] + b'\xff\0' * 100 + data[600:], b'x' * 900):
            with open(self.path('torn.jpg'), 'wb') as file:
                file.write(torn)
            self.played.control(formats=f'mjpeg:{WIDTH}x{HEIGHT}@50', jpeg=self.path('torn.jpg'))
            self.played.plug()
            live = self.camera('filters=null', 'privacy=off', stall=0.5)
            live.wait_state('waiting')

            def damaged(of=live):
                stats = of.stats()
                return stats['drop_damaged'] + stats['damaged']
            self.assertTrue(wait_until(damaged), live.logged())
            live.stop()
            self.assertEqual(live.packets(), [])
            self.played.unplug()
            self.played.forget()


    def test_every_other_jpeg_is_torn(self):
        """What lies between is shown, and each of those is counted once."""
        path = self.jpeg()
        self.played.control(formats=f'mjpeg:{WIDTH}x{HEIGHT}@50', jpeg=path, torn=2)
        self.played.plug()
        live = self.camera('filters=null', 'privacy=off')
        packets = live.wait_packets(20)
        stats = live.stop()
        raw = ffmpeg('-i', path, '-f', 'rawvideo', '-')
        self.assertEqual({p['md5'] for p in packets}, {hashlib.md5(raw).hexdigest()})
        self.assertGreater(stats['damaged'], 0)
        self.assertEqual(stats['drop_damaged'], stats['damaged'])


class Away(CameraTest):
    def test_unplugged_and_back_as_another_number(self):
        self.played.plug()
        live = self.camera('filters=gblur=sigma=3')
        number = 0
        for turn in range(1, 4):
            live.wait_packets(20 * turn)
            self.played.unplug(number)
            self.wait_words(live, 'no camera', turn)
            number = turn % 3 + 1
            if os.path.exists(self.played.path(f'control-video{number}')):
                self.played.forget(number)
            before = len(live.packets())
            self.played.plug(number, port=f'1-{turn}')
            live.wait_packets(before + 1)
        live.wait_state('running', 4)
        stats = live.stop()
        self.assertEqual(stats['opened'], 4)
        self.assert_grow(live.packets())
        self.assert_filtered(live)
        log = self.played.log()
        self.assertEqual(sum(' open 0' in line for line in log), 4)
        self.assertEqual(sum('close' in line for line in log), 4)

    def test_another_camera_is_not_taken(self):
        self.played.plug()
        live = self.camera('filters=gblur=sigma=3', source='v4l2:serial=AB12')
        live.wait_packets(5)
        self.played.unplug()
        self.wait_words(live, 'no camera')
        self.played.plug(1, serial='OTHER')
        time.sleep(0.5)  # it would have been opened by then
        self.assertEqual([line for line in self.played.log('open') if 'video1' in line], [])
        self.played.plug(2, serial='AB12', port='1-7')
        live.wait_state('running', 2)
        live.stop()

    def test_not_there_at_first(self):
        """A wish for the largest frames takes no memory while no camera says how large they are."""
        live = self.camera('filters=gblur=sigma=3', 'capture.size=9999x9999', out=['output=file', 'codec=mpeg4'])
        self.wait_words(live, 'no camera')
        begin = live.wait('begin')[1]
        self.assertIn('size=1280x720', begin)
        self.played.plug()
        live.wait_packets(5)
        live.stop()

    def test_stalled(self):
        """Whoever comes and goes meanwhile."""
        self.played.plug()
        live = self.camera('filters=gblur=sigma=3', stall=0.5)
        live.wait_packets(10)
        self.played.control(stall=1)
        turns = itertools.cycle(('off', 'on'))

        def noticed():
            live.tell('watch 0 ' + next(turns))
            return live.found('state', lambda f, rest: 'camera sends nothing' in rest)
        self.assertTrue(wait_until(noticed), live.logged())
        self.played.control()
        live.wait_state('running', 2)
        live.stop()
        self.assert_filtered(live)

    def test_flagged_and_short_pictures(self):
        self.played.plug()
        live = self.camera('filters=gblur=sigma=3')
        for key in ('error', 'short'):
            live.wait_packets(len(live.packets()) + 3)
            before = live.stats()['drop_damaged']
            self.played.control(**{key: 1})
            # They are counted while no others come.
            self.assertTrue(wait_until(lambda: live.stats()['drop_damaged'] > before + 5), live.logged())
            self.assertEqual(live.stats()['opened'], 1)
            self.played.control()
            live.wait_packets(len(live.packets()) + 5)
        live.stop()
        self.assert_filtered(live)
        times = [p['pts'] for p in live.packets()]
        gaps = sorted(b - a for a, b in zip(times, times[1:]))
        self.assertGreater(gaps[-2], 200000)

    def test_another_shape_is_brought_to_the_first(self):
        self.played.plug()
        live = self.camera('filters=gblur=sigma=3')
        live.wait_packets(10)
        self.played.control(formats='yuyv:64x48@50', change=1)
        time.sleep(0.1)
        self.played.control(formats='yuyv:64x48@50', fault=f'DQBUF:{errno.EPROTO}:1')
        self.wait_words(live, 'camera')
        before = len(live.packets())
        packets = live.wait_packets(before + 5)
        live.stop()
        self.assertEqual({p['size'] for p in packets}, {SIZE})


class Troubles(CameraTest):
    # Of each kind (test_camera.c has each error of each call) what it says, and how often it is tried in two
    # seconds, at most.
    CELLS = (
        ('OPEN', errno.EACCES, 'camera access denied', 4), ('QUERYCAP', errno.EINVAL, 'no usable camera', 4),
        ('S_FMT', errno.EBUSY, 'camera in use', 5), ('REQBUFS', errno.ENOMEM, 'out of memory', 4),
        ('STREAMON', errno.EIO, 'camera failed', 5), ('STREAMON', errno.ENOSPC, 'USB bus is full', 4),
        ('DQBUF', errno.EINVAL, 'no camera', 6), ('DQBUF', errno.ETIMEDOUT, 'camera sends nothing', 5),
    )

    def test_words_and_pauses(self):
        """Each camera in a trouble of its own, all at the same time."""
        cells, begun = [], time.monotonic()
        for call, code, words, most in self.CELLS:
            name = f'{call} {errno.errorcode[code]}'
            os.mkdir(self.path(name))
            cells.append((name, words, most, *self.in_trouble(self.path(name), call, code)))
        for name, words, most, played, live in cells:
            with self.subTest(name):
                self.check_trouble(played, live, words, most, begun)
        for *_, played, _ in cells:
            played.control()
        for name, *_, live in cells:
            with self.subTest(name):
                live.wait_packets(3)
                live.stop()
                self.assert_filtered(live)

    def in_trouble(self, folder, call, code):
        self.played = Played(folder)
        self.played.control(fault=f'{call}:{code}:0')
        self.played.plug()
        return self.played, self.camera('filters=gblur=sigma=3', f'capture.size={WIDTH}x{HEIGHT}')

    def check_trouble(self, played, live, words, most, begun):
        state = self.wait_words(live, words)[1]
        self.assertRegex(state, '^waiting')
        self.assertIn('/dev/video0: ', state)
        time.sleep(max(0, begun + 2 - time.monotonic()))  # of tries, which are counted
        tries, took = len(played.log(' open ')), time.monotonic() - begun
        self.assertLessEqual(tries, most * took / 2 + 1)
        self.assertTrue(wait_until(lambda: len(played.log(' open ')) >= 2))

    def test_what_costs_no_picture(self):
        for call in ('S_PARM', 'S_CTRL', 'STREAMOFF'):
            self.played.control(fault=f'{call}:{errno.EIO}:0', controls='gain:0:9:1:3')
            self.played.plug()
            live = self.camera('filters=gblur=sigma=3', 'capture.controls=gain=4')
            live.wait_packets(3)
            live.stop()
            self.assertEqual(live.found('state', lambda f, rest: rest.startswith('waiting')), [])
            self.played.unplug()
            self.played.forget()


class OnDemand(CameraTest):
    WORDS = ('capture.open=on-demand', f'capture.size={WIDTH}x{HEIGHT}')
    OUT = ['output=unix', 'target=a.nut', 'codec=raw']

    def test_open_while_somebody_looks(self):
        self.played.plug()
        live = self.camera('filters=gblur=sigma=3', *self.WORDS, out=self.OUT)
        self.wait_words(live, 'closed until someone watches')
        live.wait('begin')
        time.sleep(0.3)  # in which it could have been opened
        self.assertEqual(self.played.log(), [])
        for turn in (1, 2):
            live.tell('watch 0 on')
            live.wait_packets(len(live.packets()) + 3)
            off = time.monotonic()
            live.tell('watch 0 off')
            self.wait_words(live, 'closed until someone watches', turn + 1)
            self.assertTrue(wait_until(lambda t=turn: len(self.played.log('close')) == t))
            self.assertGreater(time.monotonic() - off, 4)  # five
        live.stop()
        self.assert_filtered(live)


@halotest.alone
class Prompt(CameraTest):
    """What has to come in time, by the best of several."""

    def test_times_are_the_drivers(self):
        self.played.plug()
        live = self.camera('filters=null', 'privacy=off', 'capture.fps=50')
        packets = live.wait_packets(60)
        stats = live.stop()
        late = sorted(p['now'] - p['pts'] for p in packets)
        self.assertGreater(late[0], 0)
        self.assertLess(late[len(late) // 2], 30000 * PATIENCE)
        self.assertGreater(stats['total_p50_us'], 0)
        self.assertAlmostEqual(stats['total_p50_us'], late[len(late) // 2],
                               delta=5000 * PATIENCE)

    def test_unplugged_and_back(self):
        self.played.plug()
        live = self.camera('filters=gblur=sigma=3')
        away, back = [], []
        for turn in range(4):
            live.wait_packets(len(live.packets()) + 10)
            begin = time.monotonic()
            self.played.unplug(turn)
            self.wait_words(live, 'no camera', turn + 1)
            away.append(time.monotonic() - begin)
            begin, before = time.monotonic(), len(live.packets())
            self.played.plug(turn + 1, port=f'1-{turn + 5}')
            live.wait_packets(before + 1)
            back.append(time.monotonic() - begin)
        live.stop()
        self.assertLess(sorted(away)[1], 0.5 * PATIENCE, away)
        self.assertLess(sorted(back)[1], 1 * PATIENCE, back)

    def test_stop_while_closed(self):
        live = self.camera('filters=gblur=sigma=3', *OnDemand.WORDS, out=OnDemand.OUT)
        self.wait_words(live, 'closed until')
        self.assertLess(live.time_to_stop(), 20)  # whatever it waits for takes longer

    def test_open_when_somebody_looks(self):
        self.played.plug()

        def show():
            live = self.camera('filters=gblur=sigma=3', *OnDemand.WORDS, out=OnDemand.OUT)
            self.wait_words(live, 'closed until someone watches')
            begin = time.monotonic()
            live.tell('watch 0 on')
            live.wait_packets(3)
            took = time.monotonic() - begin
            live.stop()
            return took
        self.assert_prompt(show, 1)


class Controls(CameraTest):
    def test_from_settings_and_live(self):
        self.played.control(controls='gain:0:9:1:3,brightness:0:255:1:128')
        self.played.plug()
        live = self.camera('filters=gblur=sigma=3', 'capture.controls=gain=7,none=1')
        live.wait_packets(3)
        self.assertEqual(self.played.log('S_CTRL'), ['video0 S_CTRL 7'])
        live.tell('control 5 brightness 200')
        self.assertIn('ok', live.wait('set')[1])
        live.tell('control 6 brightnes 1')
        self.assertIn('nearest: brightness', live.wait('set', count=2)[1])
        live.tell('control 7 gain 99')
        self.assertIn('from 0 to 9', live.wait('set', count=3)[1])
        self.played.unplug()
        self.wait_words(live, 'no camera')
        self.played.plug(1)
        self.played.control('video1', controls='gain:0:9:1:3,brightness:0:255:1:128')
        live.wait_state('running', 2)
        live.stop()
        self.assertIn('has no control none', live.logged())
        self.assertEqual(sorted(self.played.log('video1 S_CTRL')),
                         ['video1 S_CTRL 200', 'video1 S_CTRL 7'])

    def test_camera_that_is_always_ready(self):
        """Decoding is slower than it: its thread never waits."""
        path = self.path('picture.jpg')
        ffmpeg('-f', 'lavfi', '-i', 'testsrc2=size=1280x720', '-frames:v', '1', '-q:v', '2', '-y', path)
        self.played.control(formats='mjpeg:1280x720@1000', jpeg=path, controls='gain:0:9:1:3')
        self.played.plug()
        live = self.camera('filters=null', 'privacy=off', 'capture.fps=1000')
        live.wait_packets(3)
        live.tell('control 5 gain 7')
        self.assertIn('ok', live.wait('set')[1])
        live.stop()

    def test_no_camera(self):
        live = self.live('input=test:', *RAW)
        live.wait_packets(1)
        live.tell('control 5 gain 200')
        self.assertIn('not a camera', live.wait('refused')[1])
        live.stop()


if __name__ == '__main__':
    halotest.main()
