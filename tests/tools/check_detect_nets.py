# SPDX-License-Identifier: BSD-2-Clause
# What halo-detect converts computes what the original does by the library that evaluates it. Run by
# test_halo_detect.py with a Python that has NumPy, as far as it has these libraries, too.
"""$HALO_DETECT_WHEELS: a folder with the wheels of requirements-models.txt; $HALOD_MEDIA: footage;
$HALO_DETECT_INSTALLED: modules. Frames, parts of them and noise are shown to both. Scores and masks
must be within SCORE, boxes within BOX pixels of the network's input."""
import glob
import hashlib
import importlib
import os
import subprocess
import sys
import unittest
import zipfile

INSTALLED = os.path.join(os.environ.get('HALO_DETECT_INSTALLED', '/opt/halo-detect'),
                         f'python{sys.version_info[0]}.{sys.version_info[1]}')
sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)), sys.argv.pop(1), INSTALLED]

import made_onnx  # noqa: E402
import numpy as np  # noqa: E402
from evaluate_net import Net  # noqa: E402

from halodetect import convert, decode, install, networks, picture  # noqa: E402

WHEELS, MEDIA = os.environ.get('HALO_DETECT_WHEELS', ''), os.environ.get('HALOD_MEDIA', '')
SCORE, BOX = 0.0005, 0.05
# Its values before the sigmoid reach 1800, so single precision leaves more: LiteRT's own two kinds
# of kernels, with and without XNNPACK, differ by up to 0.009.
STEEP = {'pose_mask': 0.01}
LEAST = 0.05  # boxes with lower scores are not compared
SHIPPED = {one.name: one for one in networks.SHIPPED}
# Multiples of 32, two of them by odd numbers.
SIZES = {'centerface': (384, 224), 'retinaface': (352, 288)}


def library(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        raise unittest.SkipTest(f'no Python module {name}') from None


def original(name):
    """(its bytes, those of the converted network)"""
    one = SHIPPED[name]
    wheels = glob.glob(os.path.join(WHEELS, one.package + '-*.whl')) if WHEELS else []
    if not wheels:
        raise unittest.SkipTest(f'no wheel of {one.package} in $HALO_DETECT_WHEELS')
    with zipfile.ZipFile(wheels[0]) as wheel:
        data = wheel.read(one.member)
    return data, one.bytes('-'.join(os.path.basename(wheels[0]).split('-')[:2]), data)


def frames(width, height, seed=1):
    """Pictures of this size: of each file a frame scaled to it and two parts, and noise."""
    random = np.random.default_rng(seed)
    for path in sorted(glob.glob(os.path.join(MEDIA, '*.m[pk]*'))) if MEDIA else []:
        size = subprocess.run(
            ['ffprobe', '-v', 'error', '-select_streams', 'v:0', '-show_entries',
             'stream=width,height', '-of', 'csv=p=0', path], capture_output=True, check=True).stdout
        columns, rows = map(int, size.split(b',')[:2])
        data = subprocess.run(
            ['ffmpeg', '-v', 'error', '-ss', '1.5', '-i', path, '-frames:v', '1', '-pix_fmt',
             'rgb24', '-f', 'rawvideo', '-'], capture_output=True, check=True).stdout
        frame = np.frombuffer(data, np.uint8).reshape(rows, columns, 3)
        yield picture.scaled(frame, width, height)
        for _ in range(2):
            share = random.uniform(0.3, 0.8)
            w, h = int(columns * share), int(rows * share)
            x, y = random.integers(columns - w), random.integers(rows - h)
            yield picture.scaled(frame[y:y + h, x:x + w], width, height)
    yield random.uniform(0, 255, (height, width, 3)).astype(np.float32)


def rows(planes, length):
    """The values of each anchor, as heads of models give them."""
    return planes.transpose(1, 2, 0).reshape(-1, length)


def joined(found, kind, length):
    return np.concatenate([rows(planes, length) for name, planes in found.items()
                           if name.startswith(kind)])


class Same(unittest.TestCase):
    def compare(self, name, evaluate, rest):
        """evaluate(input of 1 x 3 x rows x columns): (scores, boxes or None) by the original.
        rest(outputs of the converted network): the same of these."""
        data = original(name)[1]
        self.assertEqual(hashlib.sha256(data).hexdigest(), install.NETWORKS[name])
        net = Net(data)
        head = net.head['input']
        low, high = map(float, head[4:6])
        size = tuple(map(int, head[7].split('x'))) if head[6] == 'size' else SIZES[name]
        score = box = most = count = 0
        for frame in frames(*size):
            tensor = (frame * np.float32((high - low) / 255) + np.float32(low)).clip(low, high)
            tensor = tensor.transpose(2, 0, 1)[::-1 if head[2] == 'bgr' else 1]
            tensor = np.ascontiguousarray(tensor)
            want_scores, want_boxes = evaluate(tensor[None])
            found, largest = net.run(tensor)
            scores, boxes = rest(found)
            self.assertEqual(scores.shape, want_scores.shape)
            score, most = max(score, abs(scores - want_scores).max()), max(most, largest)
            if boxes is not None:
                at = want_scores >= LEAST
                count += at.sum()
                box = max(box, abs(boxes - want_boxes)[at].max(initial=0))
        print(f'{name}: scores differ by up to {score:.2g}, {count} boxes by up to {box:.2g} '
              f'pixels; values up to {most:.4g}')
        self.assertLess(score, STEEP.get(name, SCORE))
        self.assertLess(box, BOX)
        self.assertLess(most, 100000)  # a tenth of the least limit

    def test_centerface(self):
        cv2 = library('cv2')
        net = cv2.dnn.readNetFromONNX(np.frombuffer(original('centerface')[0], np.uint8))

        def boxes(heat, size, offset):
            y, x = np.mgrid[0:heat.shape[-2], 0:heat.shape[-1]]
            size, offset = size.reshape(2, -1), offset.reshape(2, -1)
            height, width = np.exp(size) * 4
            down, right = offset * 4 + np.stack([y, x]).reshape(2, -1) * 4
            return heat.reshape(-1), np.stack([right - width / 2, down - height / 2,
                                               right + width / 2, down + height / 2], axis=1)

        def evaluate(tensor):
            net.setInput(tensor)
            return boxes(*net.forward(['537', '538', '539', '540'])[:3])
        self.compare('centerface', evaluate,
                     lambda found: boxes(found['heat'], found['size'], found['offset']))

    def test_retinaface(self):
        runtime = library('onnxruntime')
        data = original('retinaface')[0]
        session = runtime.InferenceSession(networks.literal(data))
        width, height = SIZES['retinaface']

        def boxes(scores, offsets):
            size = np.concatenate([
                np.tile(sizes, (width // stride) * (height // stride)) for stride, sizes
                in ((8, (16, 32)), (16, (64, 128)), (32, (256, 512)))])[:, None]
            at, sizes = offsets[:, :2] * 0.1 * size, np.exp(offsets[:, 2:] * 0.2) * size
            return scores[:, 1], np.concatenate([at - sizes / 2, at + sizes / 2], axis=1)

        def evaluate(tensor):
            mean = np.array([104, 117, 123], np.float32)[:, None, None]
            loc, conf = session.run(['loc', 'conf'], {'input': tensor - mean})
            return boxes(conf[0], loc[0])
        self.compare('retinaface', evaluate, lambda found: boxes(joined(found, 'scores', 2),
                                                                 joined(found, 'boxes', 4)))

    def lite(self, name):
        """A function of the input, whose results are the original's."""
        litert = library('ai_edge_litert.interpreter')
        net = litert.Interpreter(model_content=original(name)[0])
        net.allocate_tensors()

        def run(tensor):
            net.set_tensor(net.get_input_details()[0]['index'],
                           np.ascontiguousarray(tensor.transpose(0, 2, 3, 1)))
            net.invoke()
            return [net.get_tensor(one['index'])[0] for one in net.get_output_details()]
        return run

    def boxes_of(self, name, length):
        run = self.lite(name)

        def evaluate(tensor):
            boxes, logits = sorted(run(tensor), key=lambda one: -one.shape[-1])
            return decode.sigmoid(logits[:, 0]), boxes[:, :length]
        self.compare(name, evaluate, lambda found: (joined(found, 'scores', 1)[:, 0],
                                                    joined(found, 'boxes', length)))

    def test_blazeface(self):
        self.boxes_of('blazeface', 4)

    def test_blazeface_short(self):
        self.boxes_of('blazeface_short', 4)

    def test_pose(self):
        self.boxes_of('pose', 12)

    def mask_of(self, name, choose):
        run = self.lite(name)
        self.compare(name, lambda tensor: (choose(run(tensor)), None),
                     lambda found: (found['people'][0], None))

    def test_selfie(self):
        for name in ('selfie', 'selfie_landscape'):
            self.mask_of(name, lambda outputs: outputs[0][:, :, 0])

    def test_pose_mask(self):
        self.mask_of('pose_mask', lambda outputs: decode.sigmoid(next(
            one[:, :, 0] for one in outputs if one.shape == (256, 256, 1))))

    def test_ssdlite(self):
        os.environ['TF_CPP_MIN_LOG_LEVEL'] = '3'
        tf = library('tensorflow').compat.v1
        graph = tf.GraphDef.FromString(original('ssdlite')[0])
        tf.disable_eager_execution()
        tf.import_graph_def(graph, name='')
        session = tf.Session()

        def boxes(scores, offsets, anchors):
            height, width = (anchors[:, 2:] - anchors[:, :2]).T * 300
            down, right = offsets[:, 0] / 10 * height, offsets[:, 1] / 10 * width
            height, width = np.exp(offsets[:, 2] / 5) * height, np.exp(offsets[:, 3] / 5) * width
            return scores[:, 1], np.stack([right - width / 2, down - height / 2,
                                           right + width / 2, down + height / 2], axis=1)
        kept = []

        def evaluate(tensor):
            scores, offsets, anchors = session.run(
                ['Postprocessor/convert_scores:0', 'concat:0', 'Concatenate/concat:0'],
                {'Preprocessor/sub:0': tensor.transpose(0, 2, 3, 1),
                 'image_tensor:0': np.zeros((1, 300, 300, 3), np.uint8)})
            kept[:] = [anchors]
            return boxes(scores[0], offsets.reshape(-1, 4), anchors)
        self.compare('ssdlite', evaluate, lambda found: boxes(joined(found, 'scores', 2),
                                                              joined(found, 'boxes', 4), kept[0]))


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
