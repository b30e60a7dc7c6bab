# SPDX-License-Identifier: BSD-2-Clause
# What halo-detect converts computes what the original does by the library that evaluates it. Run by
# test_halo_detect.py with a Python that has NumPy, as far as it has these libraries, too.
import importlib
import sys
import unittest

sys.path[:0] = [sys.argv.pop(1), __file__.rpartition('/')[0]]

import made_onnx  # noqa: E402
import numpy as np  # noqa: E402
from evaluate_net import Net  # noqa: E402

from halodetect import convert  # noqa: E402


def library(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        raise unittest.SkipTest(f'no Python module {name}') from None


def rows(planes, length):
    """The values of each anchor, as heads of models give them."""
    return planes.transpose(1, 2, 0).reshape(-1, length)


class Own(unittest.TestCase):
    def test_layers(self):
        """A network of all kinds of layers that an ONNX file may have."""
        runtime = library('onnxruntime')
        data = made_onnx.yunet()
        net = Net(convert.own(data, 'yunet').write('made', 'none', 'made'))
        image = np.random.default_rng(1).uniform(0, 255, (3, 96, 128)).astype(np.float32)
        found, _ = net.run(image)
        names = [f'{kind}_{stride}' for kind in ('scores', 'objects', 'boxes')
                 for stride in (8, 16, 32)]
        self.assertEqual(sorted(found), sorted(names))
        outputs = runtime.InferenceSession(data).run(None, {'image': image[None]})
        for name, want in zip(names, outputs):
            np.testing.assert_allclose(rows(found[name], want.shape[-1]), want[0], atol=1e-4)


if __name__ == '__main__':
    done = unittest.main(exit=False).result
    sys.exit(1 if not done.wasSuccessful() else 77 if len(done.skipped) == done.testsRun else 0)
