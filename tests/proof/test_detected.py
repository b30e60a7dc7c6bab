# SPDX-License-Identifier: BSD-2-Clause
# With detectors that misbehave and are killed, no frame shows what was found in it: the short form
# of that part of tools/prove-privacy.
"""$HALO_PROVE, $HALOD and $HALO_STANDIN_DETECTOR are programs of a build with -Dfaults=true."""
import os

from halotest import PATIENCE, HaloTest, main
from detected import Detected

PROGRAMS = {'halod': os.environ['HALOD'], 'halo-prove': os.environ['HALO_PROVE'],
            'standin-detector': os.environ['HALO_STANDIN_DETECTOR']}
SHOWN, ENOUGH = 300, 50  # frames that show something: wished for, and required


class DetectedTest(HaloTest):
    def test_no_frame_shows_its_own_spot(self):
        detected = Detected(PROGRAMS.get, self.folder, seed=os.getpid())
        for _ in range(int(6 * PATIENCE)):
            detected.round(10)
            if not detected.started or detected.total('shown') >= SHOWN:
                break
        detected.say()
        if not detected.started:
            self.skipTest('this daemon starts no detectors')
        self.assertEqual(detected.judge(), [])
        self.assertGreaterEqual(detected.total('shown'), ENOUGH)

    def test_a_frame_that_was_not_filtered_is_a_leak(self):
        """The checker finds open spots, and no others."""
        detected = Detected(PROGRAMS.get, self.folder, filters='null')
        detected.round(5 * PATIENCE)
        shown = detected.total('shown')
        self.assertGreater(shown, 0)
        self.assertEqual(detected.total('leaks'), shown)
        self.assertLess(detected.total('hidden'), shown / 4)  # cards
        self.assertTrue(detected.judge())
        detected = Detected(PROGRAMS.get, self.folder, filters='solid=black')
        detected.round(3)
        self.assertEqual((detected.total('leaks'), detected.total('shown')), (0, 0))
        self.assertEqual(detected.total('hidden'), detected.total('frames'))


if __name__ == '__main__':
    main()
