# SPDX-License-Identifier: BSD-2-Clause
# With detectors that misbehave and are killed, no frame shows what was found in it: the short form
# of that part of tools/prove-privacy.
"""$HALO_PROVE, $HALOD and $HALO_STANDIN_DETECTOR are programs of a build with -Dfaults=true."""
import os

from halotest import PATIENCE, HaloTest, alone, main
from detected import Detected

PROGRAMS = {'halod': os.environ['HALOD'], 'halo-prove': os.environ['HALO_PROVE'],
            'standin-detector': os.environ['HALO_STANDIN_DETECTOR']}
SHOWN, ENOUGH = 300, 50  # frames that show something: wished for, and required


class DetectedTest(HaloTest):
    def test_no_frame_shows_its_own_spot(self):
        """Frames wait for their verdicts so long that even a busy machine shows some."""
        detected = Detected(PROGRAMS.get, self.folder, seed=os.getpid())
        detected.wait, detected.rate, detected.patience = 10, 25, PATIENCE
        for seconds in (4, 16, 64, 256, 512):
            detected.pause = seconds / 3
            detected.round(seconds)
            if detected.total('shown') >= ENOUGH:
                break
        detected.say()
        self.assertEqual((detected.failures, detected.total('leaks')), ([], 0))
        self.assertGreaterEqual(detected.total('shown'), ENOUGH)

    @alone
    def test_in_time(self):
        detected = Detected(PROGRAMS.get, self.folder, seed=os.getpid())
        for number in range(18):
            detected.round(10)
            shown = detected.total('shown')
            if shown >= SHOWN or (number >= 5 and shown >= ENOUGH):
                break
            detected.slow_down()
        detected.say()
        self.assertEqual(detected.judge(), [])
        self.assertGreaterEqual(detected.total('shown'), ENOUGH)

    @alone
    def test_a_frame_that_was_not_filtered_is_a_leak(self):
        """The checker finds open spots, and no others."""
        for seconds in (5, 10, 20, 40, 40):
            detected = Detected(PROGRAMS.get, self.folder, filters='null')
            detected.round(seconds)
            shown, hidden = detected.total('shown'), detected.total('hidden')
            self.assertEqual(detected.total('leaks'), shown)
            if hidden < shown / 4:  # cards: more of them where engines are slow to start
                break
        self.assertLess(hidden, shown / 4)
        self.assertTrue(detected.judge())
        detected = Detected(PROGRAMS.get, self.folder, filters='solid=black')
        detected.round(3)
        self.assertEqual((detected.total('leaks'), detected.total('shown')), (0, 0))
        self.assertEqual(detected.total('hidden'), detected.total('frames'))


if __name__ == '__main__':
    main()
