# SPDX-License-Identifier: BSD-2-Clause
# Real footage: every clip in the folder that HALOD_MEDIA names comes out whole.
import os
import unittest

import halotest
from halotest import HaloTest, streams

MEDIA = os.environ.get('HALOD_MEDIA', '')
SUFFIXES = ('.mp4', '.mkv', '.mov', '.ts', '.avi', '.webm', '.nut')


def clips():
    if not os.path.isdir(MEDIA):
        return []
    return sorted(os.path.join(MEDIA, name) for name in os.listdir(MEDIA)
                  if name.lower().endswith(SUFFIXES))


class Footage(HaloTest):
    @unittest.skipUnless(clips(), 'HALOD_MEDIA names no folder with clips')
    def test_whole(self):
        for source in clips():
            name = os.path.basename(source)
            with self.subTest(name):
                output = self.filtered(source, name, '-preset', 'ultrafast', chain='gblur=sigma=3',
                                       timeout=300)
                self.assert_whole(source, output)
                for kind in ('video', 'audio'):
                    self.assertEqual(len(streams(output, kind)), len(streams(source, kind)), kind)

    @unittest.skipUnless(clips(), 'HALOD_MEDIA names no folder with clips')
    def test_other_container(self):
        for source in clips():
            name, suffix = os.path.splitext(os.path.basename(source))
            other = '.mp4' if suffix == '.mkv' else '.mkv'
            with self.subTest(name + other):
                output = self.filtered(source, name + other, '-preset', 'ultrafast', '-t', '3',
                                       chain='gblur=sigma=3', timeout=300)
                times = [t for t in halotest.frame_times(source)]
                begin = times[0]
                wanted = sum(1 for t in times if t - begin < 3)
                self.assertLessEqual(abs(halotest.frame_count(output) - wanted), 1)


if __name__ == '__main__':
    halotest.main()
