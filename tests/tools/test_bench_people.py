# SPDX-License-Identifier: BSD-2-Clause
# What tools/bench/people counts, where numpy is installed: planted faults must be found, and only these.
import os
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = os.path.join(HERE, '..', '..', 'tools', 'bench', 'people')
PYTHON = '/usr/bin/python3'  # the distribution's, which has the distribution's numpy
sys.path.insert(0, FOLDER)

try:
    import numpy
except ImportError:
    if os.path.exists(PYTHON) and os.path.realpath(sys.executable) != os.path.realpath(PYTHON):
        os.execv(PYTHON, [PYTHON, *sys.argv])
    print('skipped: no numpy')
    sys.exit(77)

import scoring  # noqa: E402

FILL = 126, 128, 128
WIDTH, HEIGHT = 64, 48


def planes(value=FILL):
    return [numpy.full((HEIGHT, WIDTH), value[0], numpy.uint8),
            numpy.full((HEIGHT // 2, WIDTH // 2), value[1], numpy.uint8),
            numpy.full((HEIGHT // 2, WIDTH // 2), value[2], numpy.uint8)]


def truth():
    """Two faces: 1 has a core of 10x10 pixels, 2 one of 4x4."""
    ret = numpy.zeros((HEIGHT, WIDTH), numpy.uint8)
    ret[5:25, 5:25] = ret[28:40, 38:50] = scoring.NEAR
    ret[10:20, 10:20] |= 1
    ret[32:36, 42:46] |= 2
    return ret


class Faces(unittest.TestCase):
    def test_nothing_is_open_where_all_has_the_fill(self):
        score = scoring.score_frame(3, planes(), truth(), FILL)
        self.assertEqual((score.faces, score.open, score.fraction, score.hidden), ([1, 2], [], 0, 1))
        self.assertAlmostEqual(score.needless, 1 - (20 * 20 + 12 * 12) / (WIDTH * HEIGHT))

    def test_one_pixel_of_luma_opens_a_core(self):
        for y, x, expected in ((10, 10, [1]), (19, 19, [1]), (9, 10, []), (20, 15, []), (35, 45, [2])):
            p = planes()
            p[0][y, x] = 200
            self.assertEqual(scoring.score_frame(0, p, truth(), FILL).open, expected, (y, x))

    def test_chroma_alone_opens_a_core(self):
        for plane in (1, 2):
            p = planes()
            p[plane][7, 7] = 140
            score = scoring.score_frame(0, p, truth(), FILL)
            self.assertEqual((score.open, score.fraction), ([1], 0.04))

    def test_the_fill_may_differ_by_one_level(self):
        self.assertEqual(scoring.score_frame(0, planes((127, 127, 129)), truth(), FILL).open, [])
        self.assertEqual(scoring.score_frame(0, planes((128, 128, 128)), truth(), FILL).open, [1, 2])

    def test_odd_sizes(self):
        p = [numpy.full((7, 5), 126, numpy.uint8)] + [numpy.full((4, 3), 128, numpy.uint8)] * 2
        labels = numpy.zeros((7, 5), numpy.uint8)
        labels[6, 4] = 1
        self.assertEqual(scoring.score_frame(0, p, labels, FILL).open, [])
        p[0][6, 4] = 3
        self.assertEqual(scoring.score_frame(0, p, labels, FILL).open, [1])

    def test_a_summary_names_the_frames_that_are_open(self):
        def frame(n, opened):
            p = planes()
            if opened:
                p[0][12, 12] = 9
            return scoring.score_frame(n, p, truth() if n != 5 else truth() * 0, FILL)
        s = scoring.summarize([frame(n, n in (2, 4)) for n in range(6)])
        self.assertEqual((s.frames, s.with_faces, s.open, s.first, s.opens, s.entirely),
                         (6, 5, 2, 2, [2, 4], 6))
        self.assertIsNone(scoring.summarize([frame(0, False)]).first)

    def test_frames_that_a_live_stream_let_out(self):
        """Frames are known by what they show; those that show a core, or nothing known, count."""
        raw = [numpy.full((HEIGHT, WIDTH), 10 * n, numpy.uint8) for n in range(6)]

        def out(number, hide):
            ret = planes()
            ret[0][~hide] = 10 * number
            return ret
        cores, nothing = truth() > 0, numpy.zeros((HEIGHT, WIDTH), bool)
        frames = [planes(), out(1, cores), out(3, nothing), out(9, cores), out(2, cores)]
        played = scoring.judge_played(frames, raw, [truth()] * 6, FILL)
        self.assertEqual([(s.number, s.open) for s in played.scores], [(1, []), (3, [1, 2])])
        self.assertEqual((played.entirely, played.unknown), (1, 2))

    def test_faces_that_a_judge_finds_again(self):
        before = [(0.1, 0.1, 0.2, 0.2, 0.9)]
        self.assertEqual(scoring.repeated(before, [(0.12, 0.1, 0.2, 0.2, 0.6), (0.6, 0.6, 0.2, 0.2, 1)]),
                         [(0.12, 0.1, 0.2, 0.2, 0.6)])
        self.assertEqual(scoring.overlap((0, 0, 2, 2), (1, 0, 2, 2)), 1 / 3)


def person(left, soft=False):
    ret = numpy.zeros((40, 60), numpy.uint8)
    ret[10:30, left:left + 20] = 255
    if soft:
        ret[10:30, left - 1] = ret[10:30, left + 20] = 128
    return ret


class Mattes(unittest.TestCase):
    def test_the_truth_is_perfect(self):
        masks = [person(10), person(10), person(12)]
        self.assertEqual(scoring.union_ratio(masks[0], masks[0]), 1)
        self.assertEqual(scoring.boundary_error(masks[0], masks[0]), 0)
        self.assertEqual(scoring.flicker(masks, masks), 0)

    def test_a_shifted_mask(self):
        self.assertAlmostEqual(scoring.union_ratio(person(12), person(10)), 18 / 22)
        near, far = (scoring.boundary_error(person(10 + d), person(10)) for d in (1, 2))
        self.assertTrue(0 < near < far)

    def test_flicker_is_change_where_the_truth_stands(self):
        truths = [person(10)] * 5
        noisy = [person(10 + n % 2) for n in range(5)]
        self.assertGreater(scoring.flicker(noisy, truths), 0.2)
        moving = [person(10 + n) for n in range(5)]
        self.assertEqual(scoring.flicker(moving, moving), 0)

    def test_widening(self):
        area = numpy.zeros((9, 9), bool)
        area[4, 4] = True
        self.assertEqual(scoring.widened(area, 2).sum(), 25)
        area[:] = False
        area[0, 0] = True
        self.assertEqual(scoring.widened(area, 2).sum(), 9)

    def test_percentiles(self):
        self.assertEqual([scoring.percentile(range(1, 101), p) for p in (0.5, 0.99, 1)], [50, 99, 100])
        self.assertIsNone(scoring.percentile([], 0.5))


class Program(unittest.TestCase):
    def run_it(self, *arguments, **environment):
        return subprocess.run([sys.executable, os.path.join(FOLDER, 'people'), *arguments],
                              env={**os.environ, **environment}, capture_output=True, text=True,
                              check=False)

    def test_what_is_missing_is_said(self):
        done = self.run_it('--halod', '/nowhere', HALOD_MEDIA=HERE)
        self.assertEqual((done.returncode, done.stderr.count('\n')), (77, 1), done.stderr)
        done = self.run_it('--only', 'clips', HALOD_MEDIA='/nowhere')
        self.assertEqual((done.returncode, done.stderr.count('\n')), (77, 1), done.stderr)

    def test_wrong_usage(self):
        for words in (['--only', 'all'], ['--least', 'x'], ['--more']):
            done = self.run_it(*words)
            self.assertEqual((done.returncode, done.stderr.count('\n')), (64, 1), done.stderr)


if __name__ == '__main__':
    unittest.main()
