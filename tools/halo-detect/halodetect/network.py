# SPDX-License-Identifier: BSD-2-Clause
"""Networks as layers over planes, and the file NAME.net that halod's engines read.

from_onnx.py, from_tflite.py and from_tensorflow.py build a Network; finish() brings its layers into
the form that kernels/net knows, and write() makes the file. The same source gives the same bytes on
every machine: numbers are doubles that are rounded to singles once, in write(), and sums are those
of math.fsum(), which is exact."""
import array
import dataclasses
import math
import struct
import sys
import zlib

from halodetect.failure import CONFIG, Failure

NO_PAD = (0, 0, 0, 0)
RELU, RELU6, SIGMOID = ('relu',), ('relu6',), ('sigmoid',)
HSWISH, SOFTMAX2 = ('hswish',), ('softmax2',)
WEIGHTED = 'conv', 'depthwise', 'transposed'
# An engine loads only what it can prove never to overflow. Where bounds of values exceed LARGE,
# values are limited to MOST, which is far beyond those of any trained network; with a layer of its
# own only beyond LARGEST.
LARGE, LARGEST, MOST = 1e24, 1e32, 1000000


@dataclasses.dataclass
class Layer:
    """What makes a tensor. Kinds that no file has: `norm` (scale and shift of each plane), `view`
    (the same values in another shape) and `rows` (views, one after the other)."""
    kind: str
    inputs: list
    node: str = ''  # its name in the source
    planes: int = 0
    wider: bool = False  # pad: adds planes
    kernel: tuple = ()  # width, height, and so is stride
    stride: tuple = (1, 1)
    pad: object = NO_PAD  # top, left, bottom, right; 'same': TensorFlow's padding of this name
    bias: array.array = None
    weights: array.array = None  # planes x planes of the input x rows x columns; norm: scales
    block: int = 0  # depth_to_space
    mode: str = ''  # resize, and its size: either factors for columns and rows, or a tensor's
    by: tuple = ()
    to: str = ''
    last: int = 0  # view: the length of the last axis, if it is known
    act: tuple = ()

    def refuse(self, why):
        raise Failure(CONFIG, f'{self.node}: {why}')


class Network:
    """layers: a dict from each tensor's name to its layer, in the order in which they are computed.
    size: width and height of the input, or None: any multiples of `multiple`."""

    def __init__(self, planes, size=None, multiple=32):
        self.planes, self.size, self.multiple = planes, size, multiple
        self.order, self.range = 'rgb', (0, 255)
        self.input, self.layers, self.outputs = '', {}, {}

    def add(self, name, kind, inputs, **more):
        """Adds a layer. Returns it."""
        layer = Layer(kind, inputs, **more)
        if kind == 'concat':
            layer.planes = sum(self.planes_of(tensor) for tensor in inputs)
        elif kind == 'depth_to_space':
            layer.planes = self.planes_of(inputs[0]) // layer.block ** 2
        layer.planes = layer.planes or self.planes_of(inputs[0])
        if layer.bias is None and kind in WEIGHTED:
            layer.bias = array.array('d', bytes(8 * layer.planes))
        self.layers[name] = layer
        return layer

    def planes_of(self, tensor):
        return self.planes if tensor == self.input else self.layers[tensor].planes

    def is_view(self, tensor):
        """Whether the tensor is not planes of rows and columns any more."""
        while tensor != self.input and self.layers[tensor].kind == 'act':
            tensor = self.layers[tensor].inputs[0]
        return tensor != self.input and self.layers[tensor].kind in ('view', 'rows')


    # ---- outputs: the layers before their values are put into another shape ----

    def tails(self, tensor):
        """The tensors of planes that a view consists of, in order."""
        layer = self.layers[tensor]
        if layer.kind == 'rows':
            return [tail for one in layer.inputs for tail in self.tails(one)]
        if layer.kind == 'view':
            return self.tails(layer.inputs[0])
        if layer.kind != 'act' or not self.is_view(layer.inputs[0]):
            return [tensor]
        return [self.activated(tail, layer.act) for tail in self.tails(layer.inputs[0])]

    def activated(self, tensor, act):
        """The tensor after a further activation."""
        if not act:
            return tensor
        name = f'{act[0]} of {tensor}'
        self.add(name, 'act', [tensor], act=act, node=name)
        return name

    def keep(self, tensor, planes):
        """Leaves only these planes of a tensor, which no layer reads, and of those before it."""
        layer = self.layers[tensor]
        if layer.kind == 'depth_to_space':
            self.keep(layer.inputs[0], [i * layer.planes + plane for i in range(layer.block ** 2)
                                        for plane in planes])
        elif layer.kind != 'conv':
            self.keep(layer.inputs[0], planes)
        if layer.kind in WEIGHTED:
            taps, weights = len(layer.weights) // layer.planes, array.array('d')
            for plane in planes:
                weights.extend(layer.weights[plane * taps:(plane + 1) * taps])
            layer.weights = weights
            layer.bias = array.array('d', [layer.bias[plane] for plane in planes])
        layer.planes = len(planes)

    # ---- passes ----

    def finish(self):
        self.drop()
        self.fold()
        self.drop()
        self.measure()
        self.limit()

    def fold(self):
        """Makes scales, shifts, activations and pads part of the layers before and after them."""
        users = {}
        for layer in self.layers.values():
            for tensor in [*layer.inputs, layer.to]:
                users[tensor] = users.get(tensor, 0) + 1
        for tensor in self.outputs.values():
            users[tensor] = users.get(tensor, 0) + 1
        now = {}  # tensors that are others now
        for name, layer in self.layers.items():
            layer.inputs = [now.get(tensor, tensor) for tensor in layer.inputs]
            layer.to = now.get(layer.to, layer.to)
            source = self.layers.get(layer.inputs[0])
            alone = source and not source.act and users[layer.inputs[0]] == 1
            if layer.kind == 'norm' and alone and source.kind in WEIGHTED:
                scale(source, layer)
            elif layer.kind == 'norm':
                layer.kind, layer.kernel = 'depthwise', (1, 1)
                continue
            elif layer.kind == 'act' and alone:
                source.act = layer.act
            else:
                take_pad(layer, source)
                continue
            now[name] = layer.inputs[0]
            users[layer.inputs[0]] = users[name]
        self.outputs = {name: now.get(tensor, tensor) for name, tensor in self.outputs.items()}

    def drop(self):
        """Only what outputs need remains."""
        wanted, left = set(), list(self.outputs.values())
        while left:
            tensor = left.pop()
            if tensor in wanted or tensor == self.input:
                continue
            wanted.add(tensor)
            layer = self.layers[tensor]
            left += layer.inputs + ([layer.to] if layer.to else [])
            if layer.kind in ('view', 'rows'):
                layer.refuse('a tensor in another shape than planes can only be an output')
        self.layers = {name: layer for name, layer in self.layers.items() if name in wanted}

    def measure(self):
        """Computes pads and sizes, for the smallest input. Sets self.sizes and self.work."""
        self.sizes, self.work = {self.input: self.size or (self.multiple, self.multiple)}, 0
        for name, layer in self.layers.items():
            inputs = [self.sizes[tensor] for tensor in layer.inputs]
            if layer.kind in ('add', 'mul') and inputs[0] == (1, 1) != inputs[1]:
                layer.inputs.reverse()
                inputs.reverse()
            if layer.kind in ('add', 'mul') and inputs[1] not in (inputs[0], (1, 1)) or \
                    layer.kind == 'concat' and len(set(inputs)) > 1:
                layer.refuse(f'tensors of different sizes: {inputs}')
            if layer.pad == 'same':
                self.resolve_pad(layer, inputs[0])
            check(layer)
            self.sizes[name] = size = self.result(layer, inputs[0])
            if layer.kind in WEIGHTED:  # each input meets each weight in a transposed one
                pixels = inputs[0] if layer.kind == 'transposed' else size
                self.work += pixels[0] * pixels[1] * len(layer.weights)

    def resolve_pad(self, layer, size):
        if not self.size and layer.stride != (1, 1):
            layer.refuse('this padding depends on the size of the input, which is not fixed')
        sums = [max(0, (-(-side // stride) - 1) * stride + kernel - side)
                for side, kernel, stride in zip(size, layer.kernel, layer.stride)]
        layer.pad = sums[1] // 2, sums[0] // 2, sums[1] - sums[1] // 2, sums[0] - sums[0] // 2

    def result(self, layer, size):
        """Width and height of what the layer makes of this size."""
        pads = layer.pad[1] + layer.pad[3], layer.pad[0] + layer.pad[2]
        if layer.kind == 'pad':
            return tuple(side + pad for side, pad in zip(size, pads))
        if layer.kind == 'mean':
            return 1, 1
        if layer.kind == 'depth_to_space':
            return tuple(side * layer.block for side in size)
        if layer.kind == 'resize':
            return self.sizes[layer.to] if layer.to else \
                tuple(side * factor for side, factor in zip(size, layer.by))
        if layer.kind == 'transposed':
            return tuple((side - 1) * stride + kernel - pad for side, stride, kernel, pad
                         in zip(size, layer.stride, layer.kernel, pads))
        if layer.kernel:
            return tuple((side + pad - kernel) // stride + 1 for side, stride, kernel, pad
                         in zip(size, layer.stride, layer.kernel, pads))
        return size

    def limit(self):
        """Inserts limits where magnitudes of values might become LARGE."""
        most, now, layers = {self.input: [max(map(abs, self.range))] * self.planes}, {}, {}
        for name, layer in self.layers.items():
            layer.inputs = [now.get(tensor, tensor) for tensor in layer.inputs]
            layers[name] = layer
            most[name] = magnitudes(layer, [most[tensor] for tensor in layer.inputs])
            free = layer.act in ((), RELU)  # a limit costs nothing
            if max(most[name]) < (LARGE if free else LARGEST):
                continue
            if free:
                layer.act = ('clamp', -MOST if not layer.act else 0, MOST)
            else:
                now[name] = f'{name} limited'
                layers[now[name]] = Layer('act', [name], planes=layer.planes,
                                          act=('clamp', -MOST, MOST))
            most[now.get(name, name)] = [MOST] * layer.planes
        self.layers = layers
        self.outputs = {name: now.get(tensor, tensor) for name, tensor in self.outputs.items()}

    # ---- the file ----

    def write(self, name, licence, source):
        """The bytes of NAME.net (kernels/net/README.md)."""
        numbers = {tensor: i for i, tensor in enumerate([self.input, *self.layers])}
        low, high = map(decimal, self.range)
        lines = ['halonet 1', f'name {name}', f'licence {licence}', f'source {source}',
                 f'input {self.planes} planes {self.order} range {low} {high} ' +
                 (f'size {by(self.size)}' if self.size else f'multiple {self.multiple}')]
        weights = []
        for layer in self.layers.values():
            lines.append(line_of(layer, numbers))
            if layer.kind in WEIGHTED:
                weights += [singles(layer, layer.bias), singles(layer, layer.weights)]
        lines += [f'output {output} {numbers[tensor]}' for output, tensor in self.outputs.items()]
        head, body = ''.join(line + '\n' for line in lines).encode('ascii'), b''.join(weights)
        if len(lines) > 4094 or max(map(len, lines)) > 256:
            raise Failure(CONFIG, f'{name}: too many layers, or too long names')
        check = zlib.crc32(head + b'\n' + body)
        return head + f'weights {len(body)} {check:08x}\n\n'.encode('ascii') + body


def check(layer):
    """Refuses what an engine would refuse."""
    if layer.kernel and (max(layer.kernel) > 7 or max(layer.stride) > 4 or
                         max(layer.pad[::2]) >= layer.kernel[1] or
                         max(layer.pad[1::2]) >= layer.kernel[0]):
        layer.refuse('only kernels up to 7x7, strides up to 4 and smaller pads than the kernel are '
                     'supported')
    if layer.kind == 'transposed' and any(map(int.__lt__, layer.kernel, layer.stride)):
        layer.refuse('the kernel must not be smaller than the stride')
    if layer.planes > 4096 or len(layer.inputs) > 16 or max(layer.by, default=1) > 16 or \
            max(layer.pad) > 64:
        layer.refuse('larger than what is supported')


def scale(layer, norm):
    """Makes scales and shifts of planes part of the convolution before them."""
    each = len(layer.weights) // layer.planes
    for plane, factor in enumerate(norm.weights):
        layer.bias[plane] = layer.bias[plane] * factor + norm.bias[plane]
        if factor != 1:
            for i in range(plane * each, (plane + 1) * each):
                layer.weights[i] *= factor


def take_pad(layer, source):
    """A pad before a convolution becomes that one's."""
    if (layer.kind not in ('conv', 'depthwise') or layer.pad == 'same' or not source
            or source.kind != 'pad' or source.act or source.wider):
        return
    pad = tuple(a + b for a, b in zip(layer.pad, source.pad))
    if max(pad[1], pad[3]) < layer.kernel[0] and max(pad[0], pad[2]) < layer.kernel[1]:
        layer.pad, layer.inputs = pad, list(source.inputs)

def magnitudes(layer, inputs):
    """At least the magnitudes of each plane of the result, from those of what the layer reads."""
    first = inputs[0]
    if layer.act in (SIGMOID, SOFTMAX2):
        return [1.0] * layer.planes
    if layer.kind in WEIGHTED:
        taps = len(layer.weights) // layer.planes
        size, found = layer.kernel[0] * layer.kernel[1], []
        for plane in range(layer.planes):
            values = [abs(weight) for weight in layer.weights[plane * taps:(plane + 1) * taps]]
            if layer.kind == 'depthwise':
                found.append(abs(layer.bias[plane]) + math.fsum(values) * first[plane])
            else:
                found.append(abs(layer.bias[plane]) + math.fsum(
                    math.fsum(values[i * size:(i + 1) * size]) * most
                    for i, most in enumerate(first)))
    elif layer.kind == 'add':
        found = [a + b for a, b in zip(*inputs)]
    elif layer.kind == 'mul':
        found = [a * b for a, b in zip(*inputs)]
    elif layer.kind == 'concat':
        found = [value for one in inputs for value in one]
    elif layer.kind == 'pad':
        found = first + [0.0] * (layer.planes - len(first))
    elif layer.kind == 'depth_to_space':
        found = [max(first[plane::layer.planes]) for plane in range(layer.planes)]
    else:
        found = first
    if layer.act[:1] == ('leaky',):
        return [value * max(1, abs(layer.act[1])) for value in found]
    if layer.act == RELU6:
        return [min(value, 6) for value in found]
    if layer.act[:1] == ('clamp',):
        return [min(value, max(map(abs, layer.act[1:]))) for value in found]
    return found


def by(size):
    return f'{size[0]}x{size[1]}'


def decimal(number):
    """The shortest decimal that rounds to the same single."""
    single = struct.unpack('<f', struct.pack('<f', number))[0]
    for digits in range(10):
        text = f'{number:.{digits}f}'
        if struct.unpack('<f', struct.pack('<f', float(text)))[0] == single:
            return text
    return f'{number:.9f}'


def line_of(layer, numbers):
    words = [layer.kind, *(str(numbers[tensor]) for tensor in layer.inputs)]
    act = [layer.act[0], *map(decimal, layer.act[1:])] if layer.act else []
    if layer.kind == 'act':
        return ' '.join(words + act)
    if layer.kind in ('conv', 'transposed') or layer.kind == 'pad' and layer.wider:
        words += ['planes', str(layer.planes)]
    if layer.kernel:
        words += ['kernel', by(layer.kernel)]
    if layer.stride != (1, 1):
        words += ['stride', by(layer.stride)]
    if layer.pad != NO_PAD:
        words += ['pad', ','.join(map(str, layer.pad))]
    if layer.kind == 'resize':
        words += ['mode', layer.mode, *(['to', str(numbers[layer.to])] if layer.to
                                        else ['by', by(layer.by)])]
    if layer.block:
        words += ['block', str(layer.block)]
    return ' '.join(words + (['act', *act] if act else []))


def singles(layer, values):
    try:
        rounded = array.array('f', values)
    except OverflowError:
        rounded = None
    if rounded is None or not all(map(math.isfinite, rounded)):
        layer.refuse('a weight is not finite')
    for i in [i for i, value in enumerate(rounded) if value == 0]:
        rounded[i] = 0.0  # without a sign
    if sys.byteorder == 'big':
        rounded.byteswap()
    return rounded.tobytes()
