# SPDX-License-Identifier: BSD-2-Clause
# How halo-detect reads the outputs of models. Run by test_halo_detect.py with a Python that has NumPy.
import sys
import unittest

sys.path.insert(0, sys.argv.pop(1))

import numpy as np  # noqa: E402

from halodetect import boxes, decode, faces, onnx, picture  # noqa: E402


def anchors_of(strides, width, height, each):
    return [(width // stride) * (height // stride) * each for stride in strides]


class Layouts(unittest.TestCase):
    def test_blazeface(self):
        anchors = decode.blazeface_anchors(192, ((48, 1),))
        self.assertEqual(anchors.shape, (2304, 2))
        self.assertEqual(len(decode.blazeface_anchors(128, ((16, 2), (8, 6)))), 896)
        self.assertEqual(anchors[49].tolist(), [6, 6])  # the second row's second cell
        raw, logits = np.zeros((2304, 16), np.float32), np.full((2304, 1), -9, np.float32)
        raw[49, :4], logits[49] = (1, 2, 20, 30), 0
        found = decode.blazeface(raw, logits, anchors, 0.2)
        np.testing.assert_allclose(found, [[-3, -7, 20, 30, 0.5]])

    def test_centerface(self):
        heat = np.zeros((56, 96), np.float32)
        size, offset = np.zeros((2, 56, 96), np.float32), np.zeros((2, 56, 96), np.float32)
        heat[10, 20], size[:, 10, 20], offset[:, 10, 20] = 0.9, np.log((10, 5)), (0.25, -0.5)
        found = decode.centerface(heat, size, offset, 0.2)
        np.testing.assert_allclose(found, [[70, 23, 20, 40, 0.9]], rtol=1e-5)

    def test_yunet(self):
        outputs = []
        for stride, count in zip((8, 16, 32), anchors_of((8, 16, 32), 320, 192, 1)):
            outputs += [np.zeros((1, count, width), np.float32) for width in (1, 1, 4, 10)]
        cell = 3 * 20 + 5  # of stride 16: the fourth row's sixth
        outputs[4][0, cell], outputs[5][0, cell] = 0.81, 1
        outputs[6][0, cell] = 0.5, 0.25, np.log(2), np.log(3)
        found = decode.yunet(outputs, 320, 192, 0.2)
        np.testing.assert_allclose(found, [[72, 28, 32, 48, 0.9]], rtol=1e-5)
        self.assertIsNone(decode.yunet(outputs[:4], 320, 192, 0.2))

    def test_scrfd(self):
        outputs = []
        for count in anchors_of((8, 16, 32), 320, 192, 2):
            outputs += [np.zeros((count, width), np.float32) for width in (1, 4, 10)]
        at = 2 * (3 * 20 + 5) + 1
        outputs[3][at], outputs[4][at] = 0.7, (1, 2, 3, 4)
        found = decode.scrfd(outputs, 320, 192, 0.2)
        np.testing.assert_allclose(found, [[64, 16, 64, 96, 0.7]], rtol=1e-5)
        self.assertIsNone(decode.scrfd(outputs[:3], 320, 192, 0.2))


class Boxes(unittest.TestCase):
    def test_suppressed(self):
        found = boxes.suppressed(np.array([[0, 0, 10, 10, .6], [1, 0, 10, 10, .9],
                                           [30, 0, 10, 10, .3]], np.float32))
        np.testing.assert_allclose(found[:, 4], [.9, .3])

    def test_united(self):
        """Two models' boxes of one face become one that contains both; a speck in it is dropped."""
        found = boxes.united([np.array([[0, 0, 10, 10, .6]], np.float32),
                              np.array([[2, 1, 10, 12, .9], [4, 4, 2, 2, .3]], np.float32)])
        np.testing.assert_allclose(found, [[0, 0, 12, 13, .9]])

    def test_limited(self):
        many = np.array([[i * 2, 0, 1, 1, 1 - i / 200] for i in range(100)], np.float32)
        found = boxes.limited(many)
        self.assertEqual(len(found), boxes.MAX_BOXES)
        for box in many:
            self.assertTrue(any(box[0] >= other[0] and box[0] + 1 <= other[0] + other[2]
                                for other in found), box)

    def test_not_finite(self):
        self.assertEqual(len(decode.check(np.array([[0, 0, np.nan, 1, 1]]))), 0)


class Pictures(unittest.TestCase):
    def test_scaled(self):
        image = np.zeros((64, 96, 3), np.uint8)
        image[:, 48:] = 200
        small = picture.scaled(image, 24, 16)
        self.assertEqual(small.shape, (16, 24, 3))
        self.assertLess(abs(small.mean() - 100), 1)
        np.testing.assert_allclose(small[:, :10], 0, atol=1e-3)
        np.testing.assert_allclose(small[:, 14:], 200, atol=1e-3)

    def test_sized(self):
        self.assertEqual(picture.sized(1280, 720, 224, 32), (384, 224))
        self.assertEqual(picture.sized(720, 1280, 192), (192, 341))
        for width, height in ((1, 1), (7680, 16), (16, 7680)):
            for side in picture.sized(width, height, 224, 32):
                self.assertTrue(16 <= side <= 2048)

    def test_squares_cover_the_frame(self):
        """A face that is smaller than the overlap is completely in one of them."""
        model = faces.BlazeFace.__new__(faces.BlazeFace)
        for shorter in (192, 300, 384):
            model.shorter = shorter
            for width, height in ((1280, 720), (720, 1280), (2560, 1080), (640, 480)):
                size = picture.sized(width, height, shorter)
                squares = model.squares(0, 0, *size)[1:]
                side = squares[0][2]
                face = int(side * 0.2)
                for axis in (0, 1):
                    starts = sorted({square[axis] for square in squares})
                    for at in range(size[axis] - face):
                        self.assertTrue(any(start <= at and at + face <= start + side
                                            for start in starts), (shorter, size, starts, at))


class Onnx(unittest.TestCase):
    def test_free_size(self):
        def dims(*sizes):
            shape = b''.join(onnx.write_field(1, 2, onnx.write_field(1, 0, size)) for size in sizes)
            tensor = onnx.write_field(1, 0, 1) + onnx.write_field(2, 2, shape)
            return onnx.write_field(2, 2, onnx.write_field(1, 2, tensor))
        weight = onnx.write_field(11, 2, onnx.write_field(1, 2, b'w') + dims(8, 8, 3, 3))
        image = onnx.write_field(11, 2, onnx.write_field(1, 2, b'x') + dims(10, 3, 32, 300))
        constant = onnx.write_field(5, 2, onnx.write_field(8, 2, b'w'))
        model = onnx.write_field(7, 2, constant + weight + image)
        freed = onnx.value_of(onnx.free_size(model), 7)
        inputs = [value for number, _, value in onnx.fields(freed) if number == 11]
        self.assertEqual(inputs[0], onnx.value_of(constant + weight, 11))

        def read(value):
            for field in (2, 1, 2):
                value = onnx.value_of(value, field)
            return [onnx.value_of(dim, 1) for _, _, dim in onnx.fields(value)]
        self.assertEqual(read(inputs[1]), [1, 3, None, None])


if __name__ == '__main__':
    unittest.main()
