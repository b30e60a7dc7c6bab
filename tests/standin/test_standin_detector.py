# SPDX-License-Identifier: BSD-2-Clause
# The stand-in detector (detector.h) finds what it must find, and misbehaves as it is told.
import fcntl
import tempfile
import unittest

from halotest import detector

WIDTH, HEIGHT = 64, 48


def picture(*marks, width=WIDTH, height=HEIGHT, channels=3):
    """Gray, with magenta rectangles (x, y, width, height)."""
    data = bytearray([90] * width * height * channels)
    for left, top, columns, rows in marks:
        for y in range(top, top + rows):
            for x in range(left, left + columns):
                data[(y * width + x) * 3:(y * width + x) * 3 + 3] = b'\xff\0\xff'
    return bytes(data)


class StandinDetector(unittest.TestCase):
    def start(self, *arguments):
        ret = detector.Detector(detector.STANDIN, *arguments)
        self.addCleanup(ret.kill)
        return ret

    def greet(self, *arguments, width=WIDTH, height=HEIGHT):
        self.detector = self.start(*arguments)
        connection = self.detector.connect()
        connection.hello(width, height)
        return connection

    def assert_boxes(self, boxes, *expected):
        self.assertEqual([[round(v, 3) for v in box] for box in boxes],
                         [[round(v, 3) for v in box] for box in expected])

    def test_finds_marks_in_pixels_and_ends_with_status_0(self):
        c = self.greet()
        self.assertEqual((c.ready['width'], c.ready['format'], c.ready['answers']),
                         (WIDTH, 'rgb24', 'boxes'))
        self.assert_boxes(c.boxes(picture()))
        self.assert_boxes(c.boxes(picture((16, 12, 8, 24), (40, 0, 24, 8))),
                          [40 / 64, 0, 24 / 64, 8 / 48, 0.9], [0.25, 0.25, 0.125, 0.5, 0.9])
        self.assertEqual(self.detector.close(), (0, []))

    def test_boxes_are_relative_to_the_frame_without_padding(self):
        c = self.greet('--size', '64x64', '--score', '0.5')
        data = picture((32, 8, 16, 24), height=64)
        self.assert_boxes(c.boxes(data, inside=[0, 8, 64, 48]), [0.5, 0, 0.25, 0.5, 0.5])

    def test_rows_are_found_by_the_time_of_the_frame(self):
        with tempfile.NamedTemporaryFile('w') as file:
            file.write('40000 0.1 0.2 0.3 0.4\n80000 0.5 0.5 0.1 0.1 0.3\n40000 0 0 1 1 1\n')
            file.flush()
            c = self.greet('--look', 'rows', '--rows', file.name, '--within', 10)
        self.assert_boxes(c.boxes(picture(), time_us=40010), [.1, .2, .3, .4, .9], [0, 0, 1, 1, 1])
        self.assert_boxes(c.boxes(picture(), time_us=60000))
        self.assert_boxes(c.boxes(picture(), time_us=80000), [.5, .5, .1, .1, .3])

    def test_a_frame_without_a_number_is_hidden_entirely(self):
        c = self.greet('--look', 'spot', '--format', 'gray8', width=96, height=64)
        self.assert_boxes(c.boxes(bytes(96 * 64)), [0, 0, 1, 1, 0.9])

    def test_masks_are_sealed(self):
        c = self.greet('--box', '0.5,0,0.5,0.5', '--mask', '32x16', '--look', 'none')
        self.assertEqual((c.ready['answers'], c.ready['mask']), ('mask', [32, 16]))
        n = c.frame(picture())
        self.assertEqual(c.receive(), {detector.TYPE: 'verdict', 'n': n})
        mask, seals = c.mask
        self.assertEqual(seals, detector.SEALS)
        self.assertEqual(mask, (bytes(16) + b'\xff' * 16) * 8 + bytes(32 * 8))

    def test_one_process_serves_several_streams(self):
        first = self.greet('--look', 'all')
        one = self.detector.connect()
        one.hello(100, 80)
        self.assertEqual((one.ready['width'], first.ready['width']), (100, WIDTH))
        self.assert_boxes(one.boxes(bytes(100 * 80 * 3)), [0, 0, 1, 1, 0.9])
        first.close()
        self.assert_boxes(one.boxes(bytes(100 * 80 * 3)), [0, 0, 1, 1, 0.9])

    def wrong(self, what, *arguments):
        """The packet that answers the second frame."""
        c = self.greet('--look', 'all', '--do', what + '@2', *arguments)
        self.assertEqual(len(c.boxes(picture())), 1)
        c.frame(picture())
        self.connection = c
        return c.packet()

    def test_wrong_verdicts(self):
        for what, expected in (
                ('blind', b'"n": 2, "boxes": []'), ('early', b'"n": 3'), ('old', b'"n": 1'),
                ('empty', b'{}'), ('unknown', b'opinion'), ('far=7', b'[[7.0'), ('nan', b'1e999'),
                ('score=2', b'2.0000]'), ('negative', b', -0.5'), ('elsewhere=0.5', b'[[0.5'),
                ('attached', b'boxes')):
            with self.subTest(what):
                self.assertIn(expected, self.wrong(what))
                self.assertEqual(self.connection.mask is not None, what == 'attached')

    def test_wrong_packets(self):
        self.assertEqual(len(self.wrong('garbage=77', '--seed', 5)), 77)
        self.assertEqual(len(self.wrong('huge')), 65537)
        self.assertEqual(self.wrong('many').count(b'0.9000]'), 65)
        self.assertEqual([self.wrong('twice'), self.connection.packet()].count(b''), 0)
        self.wrong('flood=20')
        self.assertEqual({self.connection.receive()['n'] for _ in range(19)}, {2})

    def test_wrong_masks(self):
        for what, size, seals in (('unsealed', 256 * 144, 0), ('short', 256 * 143, detector.SEALS)):
            self.wrong(what)
            self.assertEqual((len(self.connection.mask[0]), self.connection.mask[1]), (size, seals))
        self.wrong('no-mask')
        self.assertIsNone(self.connection.mask)

    def test_it_closes_exits_and_crashes(self):
        with self.assertRaises(detector.Ended):
            self.wrong('close')
        self.assertEqual(self.detector.close(), (0, []))
        for what, status in (('exit=9', 9), ('crash', -11), ('crash=6', -6)):
            with self.assertRaises(detector.Ended):
                self.wrong(what)
            self.assertEqual(self.detector.wait()[0], status)

    def test_silence_keeps_the_order(self):
        c = self.greet('--look', 'all', '--do', 'slow=0.3@1')
        c.frame(picture())
        c.frame(picture())
        self.assertEqual([c.receive()['n'], c.receive()['n']], [1, 2])
        c = self.greet('--do', 'silent@1')
        c.frame(picture())
        with self.assertRaises(TimeoutError):
            c.packet(0.2 / detector.PATIENCE)

    def test_chance_is_seeded(self):
        def blind(seed):
            c = self.greet('--look', 'all', '--do', 'blind@1/3', '--seed', seed)
            return [len(c.boxes(picture())) for _ in range(40)]
        first = blind(1)
        self.assertIn(0, first)
        self.assertIn(1, first)
        self.assertEqual(first, blind(1))
        self.assertNotEqual(first, blind(2))

    def breach(self, act):
        c = self.greet()
        c.boxes(picture())
        act(c)
        status, lines = self.detector.wait()
        self.assertEqual(status, 70)
        self.assertTrue(lines[-1].startswith('breach: '), lines)
        return lines[-1]

    def test_it_holds_halod_to_the_contract(self):
        self.assertIn('frame 1 after 1', self.breach(lambda c: c.frame(picture(), n=1)))
        self.assertIn('bytes', self.breach(lambda c: c.frame(b'short')))
        self.assertIn('not sealed', self.breach(
            lambda c: c.frame(picture(), seals=fcntl.F_SEAL_SHRINK)))
        self.assertIn('inside', self.breach(lambda c: c.frame(picture(), inside=[0, 0, 65, 48])))
        self.assertIn('type', self.breach(lambda c: c.send({'n': 1})))
        self.assertIn('no integer', self.breach(lambda c: c.send({detector.TYPE: 'hello'})))

    def test_three_unanswered_frames_are_a_breach(self):
        c = self.greet('--do', 'silent')
        for _ in range(3):
            c.frame(picture())
        self.assertIn('two are unanswered', self.detector.wait()[1][-1])

    def test_arguments_that_are_not_understood(self):
        for arguments in (['--do', 'nothing'], ['--do', 'slow@x'], ['--do', 'slow=1y'], ['--look', 'x'],
                          ['more'], ['--size', '3']):
            self.assertEqual(self.start(*arguments).wait()[0], 64, arguments)


if __name__ == '__main__':
    unittest.main()
