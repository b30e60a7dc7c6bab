# SPDX-License-Identifier: BSD-2-Clause
# Tests that measure time run while nothing else runs: what is marked @alone is a Meson test of its
# own, and is left out of all others.
"""BUILD is the build folder."""
import glob
import json
import os
import re
import unittest
from unittest import mock

import halotest

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), '../..'))
BUILD = os.environ.get('BUILD', '')
MARK = re.compile(r'^ *@(?:halotest\.)?alone$', re.M)


def marked_files():
    """But for this one, whose marked tests are examples."""
    for path in glob.glob(os.path.join(ROOT, 'tests/**/*.py'), recursive=True):
        with open(path, encoding='utf-8') as file:
            if MARK.search(file.read()) and not os.path.samefile(path, __file__):
                yield path


def file_of(test):
    """The Python file that a Meson test runs."""
    return next((os.path.normpath(os.path.join(BUILD, word)) for word in test['cmd'][1:2]
                 if word.endswith('.py')), None)


class Chosen(unittest.TestCase):
    """What one file runs."""

    class Some(unittest.TestCase):
        def test_any_time(self):
            pass

        @halotest.alone
        def test_timed(self):
            pass

    @halotest.alone
    class All(unittest.TestCase):
        def test_timed(self):
            pass

    def names(self, wanted):
        words = {} if wanted is None else {'HALOTEST_ALONE': wanted}
        with mock.patch.dict(os.environ, words):
            if wanted is None:
                os.environ.pop('HALOTEST_ALONE', None)
            return [halotest.Loader().getTestCaseNames(case) for case in (self.Some, self.All)]

    def test_marks(self):
        self.assertEqual(self.names('only'), [['test_timed'], ['test_timed']])
        self.assertEqual(self.names('no'), [['test_any_time'], []])
        self.assertEqual(self.names(None), [['test_any_time', 'test_timed'], ['test_timed']])


@unittest.skipUnless(BUILD, 'BUILD names no build folder')
class Listed(unittest.TestCase):
    """What Meson runs, as the build folder has it."""

    def setUp(self):
        with open(os.path.join(BUILD, 'meson-info/intro-tests.json'), encoding='utf-8') as file:
            self.tests = json.load(file)
        self.assertGreater(len(self.tests), 100)

    def alone(self):
        return [test for test in self.tests if test['env'].get('HALOTEST_ALONE') == 'only']

    def test_each_marked_file_once(self):
        known = {file_of(test) for test in self.tests}  # some need what this build has not
        self.assertEqual(sorted(map(file_of, self.alone())), sorted(known.intersection(marked_files())))

    def test_nothing_beside_them(self):
        for test in self.alone():
            with self.subTest(test['name']):
                self.assertFalse(test['is_parallel'])
                self.assertEqual(test['name'][:6], 'alone-')
                self.assertEqual(test['priority'], min(t['priority'] for t in self.tests))
                self.assertEqual(len(test['cmd']), 2, 'some of its classes would be left out')

    def test_no_other_way(self):
        """Nothing else runs with nothing beside it, but the virtual machine, or sets the variable."""
        for test in self.tests:
            with self.subTest(test['name']):
                if test not in self.alone():
                    self.assertTrue(test['is_parallel'] or 'halod:vm' in test['suite'])
                    self.assertNotIn('HALOTEST_ALONE', test['env'])

    def test_left_out_elsewhere(self):
        """Meson's default setup, in which this test runs, too."""
        self.assertEqual(os.environ.get('HALOTEST_ALONE'), 'no')

    def test_their_files_run_without_them(self):
        others = {file_of(test) for test in self.tests if test not in self.alone()}
        self.assertEqual({file_of(test) for test in self.alone()} - others, set())


if __name__ == '__main__':
    unittest.main(verbosity=2)
