# SPDX-License-Identifier: BSD-2-Clause
"""Reads networks from ONNX files."""
import array
import math
import struct
import sys

from halodetect.failure import CONFIG, Failure
from halodetect.network import HSWISH, NO_PAD, RELU, SIGMOID, SOFTMAX2, Network
from halodetect.onnx import (BYTES, GRAPH, INITIALIZER, INPUT, NAME, OUTPUT, VARINT, fields,
                             read_number, value_of)

# Numbers of fields: GraphProto.node; NodeProto.input, output, name, op_type and attribute;
# AttributeProto; TensorProto.
NODE, NODE_INPUT, NODE_OUTPUT, NODE_NAME, OP, ATTRIBUTE = 1, 1, 2, 3, 4, 5
FLOAT_VALUE, INT_VALUE, STRING_VALUE, TENSOR_VALUE, FLOATS_VALUE, INTS_VALUE = 2, 3, 4, 5, 7, 8
DIMS, DATA_TYPE, FLOAT_DATA, INT32_DATA, INT64_DATA, TENSOR_NAME, RAW_DATA = 1, 2, 4, 5, 7, 8, 9
FLOAT, INT32, INT64 = 1, 6, 7


class Constant:
    """dims, and the values in their order."""

    def __init__(self, dims, values):
        self.dims, self.values = dims, values


class Size:
    """A number of planes, rows or columns of a tensor, which is not known before it is computed."""

    def __init__(self, tensor, axis):
        self.tensor, self.axis = tensor, axis


def integers(message, wanted):
    """Those of a repeated field, which may be packed."""
    found = []
    for number, kind, value in fields(message):
        if number == wanted and kind == VARINT:
            found.append(value)
        elif number == wanted and kind == BYTES:
            at = 0
            while at < len(value):
                one, at = read_number(value, at)
                found.append(one)
    return [value - (1 << 64) if value >> 63 else value for value in found]


def floats(message, wanted):
    data = b''.join(value for number, _, value in fields(message) if number == wanted)
    return unpacked('f', data)


def unpacked(code, data):
    values = array.array(code, data)
    if sys.byteorder == 'big':
        values.byteswap()
    return values


def read_tensor(message):
    dims, kind = integers(message, DIMS), value_of(message, DATA_TYPE)
    raw = value_of(message, RAW_DATA)
    if kind == FLOAT:
        values = unpacked('f', raw) if raw is not None else floats(message, FLOAT_DATA)
    elif kind in (INT32, INT64) and raw is not None:
        values = unpacked('i' if kind == INT32 else 'q', raw)
    elif kind in (INT32, INT64):
        values = integers(message, INT32_DATA if kind == INT32 else INT64_DATA)
    else:
        return None
    return Constant(dims, list(values) if kind != FLOAT else values) \
        if len(values) == math.prod(dims) else None


class Node:
    def __init__(self, message):
        self.inputs = [value.decode() for number, _, value in fields(message)
                       if number == NODE_INPUT]
        self.outputs = [value.decode() for number, _, value in fields(message)
                        if number == NODE_OUTPUT]
        self.op = value_of(message, OP).decode()
        self.name = (value_of(message, NODE_NAME) or self.outputs[0].encode()).decode()
        self.name = ascii(self.name)[1:-1]
        self.attributes = {value_of(value, NAME).decode(): value for number, _, value in
                           fields(message) if number == ATTRIBUTE}

    def ints(self, name, default=()):
        return integers(self.attributes[name], INTS_VALUE) if name in self.attributes else \
            list(default)

    def int(self, name, default=0):
        return integers(self.attributes[name], INT_VALUE)[0] if name in self.attributes else default

    def float(self, name, default):
        if name not in self.attributes:
            return default
        return struct.unpack('<f', value_of(self.attributes[name], FLOAT_VALUE))[0]

    def string(self, name, default=''):
        return value_of(self.attributes[name], STRING_VALUE).decode() if name in self.attributes \
            else default

    def refuse(self, why):
        raise Failure(CONFIG, f'node {self.name}: {self.op}: {why}')


class Reader:
    """self.values: for each tensor that was computed its name in the network, a Constant, or a list
    of numbers and Sizes, which is a shape."""

    def __init__(self, data):
        graph = value_of(data, GRAPH)
        if not graph:
            raise ValueError
        self.values = {value_of(value, TENSOR_NAME).decode(): read_tensor(value)
                       for number, _, value in fields(graph) if number == INITIALIZER}
        inputs = [value_of(value, NAME).decode() for number, _, value in fields(graph)
                  if number == INPUT]
        self.outputs = [value_of(value, NAME).decode() for number, _, value in fields(graph)
                        if number == OUTPUT]
        self.nodes = [Node(value) for number, _, value in fields(graph) if number == NODE]
        self.input = next(name for name in inputs if name not in self.values)
        self.net = Network(3)
        self.net.input = self.values[self.input] = self.input

    def read(self, outputs):
        """The network, as far as these outputs need it. Its outputs have no names yet."""
        wanted, needed = set(outputs or self.outputs), []
        for node in reversed(self.nodes):
            if wanted.intersection(node.outputs):
                needed.append(node)
                wanted.update(node.inputs)
        for node in reversed(needed):
            if node.op not in OPS:
                node.refuse(f'not supported; supported are {", ".join(sorted(OPS))}')
            if any(value and value not in self.values for value in node.inputs):
                node.refuse('reads a tensor that nothing has computed')
            try:
                self.values[node.outputs[0]] = OPS[node.op](
                    self, node, [self.values[name] if name else None for name in node.inputs])
            except (ValueError, KeyError, IndexError, TypeError, AttributeError, struct.error):
                node.refuse('not supported in this form')
        self.net.outputs = {name: self.values.get(name) for name in outputs or self.outputs}
        return self.net

    def add(self, node, kind, inputs, **more):
        """Adds a layer, the node's result."""
        for tensor in inputs:
            if not isinstance(tensor, str):
                node.refuse('not supported for constants')
            if kind not in ('act', 'view', 'rows') and self.net.is_view(tensor):
                node.refuse('not supported for tensors that were reshaped or transposed')
        self.net.add(node.outputs[0], kind, inputs, node=f'node {node.name}: {node.op}', **more)
        return node.outputs[0]

    def planes_of(self, tensor):
        return self.net.planes_of(tensor)


def weights_of(node, values, at):
    if not isinstance(values[at], Constant):
        node.refuse('weights must be constant single-precision numbers')
    return values[at]


def pads_of(node):
    """top, left, bottom, right; or 'same'."""
    kind = node.string('auto_pad', 'NOTSET')
    if kind == 'SAME_UPPER':
        return 'same'
    if kind not in ('NOTSET', 'VALID'):
        node.refuse(f'auto_pad {kind} is not supported')
    return tuple(node.ints('pads', NO_PAD))


def window(node, kernel):
    if len(kernel) != 2 or set(node.ints('dilations', (1, 1))) != {1}:
        node.refuse('only two dimensions without dilation are supported')
    return {'kernel': tuple(reversed(kernel)), 'pad': pads_of(node),
            'stride': tuple(reversed(node.ints('strides', (1, 1))))}


def doubles(values):
    return array.array('d', values)


def conv(reader, node, values):
    weights, planes = weights_of(node, values, 1), reader.planes_of(values[0])
    group = node.int('group', 1)
    if group == 1:
        kind = 'conv'
    elif group == planes == weights.dims[0]:
        kind = 'depthwise'
    else:
        node.refuse(f'{group} groups of {planes} planes are not supported')
    bias = doubles(weights_of(node, values, 2).values) if len(values) > 2 else None
    return reader.add(node, kind, values[:1], planes=weights.dims[0], bias=bias,
                      weights=doubles(weights.values), **window(node, weights.dims[2:]))


def transposed(reader, node, values):
    weights = weights_of(node, values, 1)
    if node.int('group', 1) != 1 or any(node.ints('output_padding')) or 'output_shape' in \
            node.attributes or pads_of(node) == 'same':
        node.refuse('groups, output_padding, output_shape and auto_pad are not supported')
    inputs, planes, rows, columns = weights.dims
    size, turned = rows * columns, doubles([])
    for plane in range(planes):
        for i in range(inputs):
            at = (i * planes + plane) * size
            turned.extend(doubles(weights.values[at:at + size]))
    bias = doubles(weights_of(node, values, 2).values) if len(values) > 2 else None
    return reader.add(node, 'transposed', values[:1], planes=planes, bias=bias, weights=turned,
                      **window(node, [rows, columns]))


def norm(reader, node, values):
    gamma, beta, mean, variance = (weights_of(node, values, i).values for i in range(1, 5))
    epsilon = node.float('epsilon', 1e-5)
    scales = doubles(g / math.sqrt(v + epsilon) for g, v in zip(gamma, variance))
    return reader.add(node, 'norm', values[:1], weights=scales,
                      bias=doubles(b - m * s for b, m, s in zip(beta, mean, scales)))


def arithmetic(reader, node, values):
    """Add, Sub, Mul, Div: of two tensors, or of a tensor and a constant for each plane."""
    constants = [isinstance(value, Constant) for value in values]
    if constants == [False, False] and node.op in ('Add', 'Mul'):
        return reader.add(node, node.op.lower(), values)
    if constants == [True, False] and node.op in ('Add', 'Mul'):
        values = values[::-1]
    elif constants != [False, True]:
        node.refuse('not supported for these inputs')
    tensor, constant = values
    if not isinstance(tensor, str):
        node.refuse('not supported for shapes')
    planes, dims = reader.planes_of(tensor), constant.dims[-3:]
    if len(constant.values) not in (1, planes) or \
            len(constant.values) > 1 and dims != [planes, 1, 1]:
        node.refuse(f'a constant of shape {constant.dims} is not supported')
    each = doubles(constant.values) * (planes // len(constant.values))
    one, zero = doubles([1.0]) * planes, doubles([0.0]) * planes
    scales = {'Mul': each, 'Div': doubles(1 / value for value in each)}.get(node.op, one) \
        if node.op != 'Div' or all(each) else node.refuse('division by zero')
    shifts = {'Add': each, 'Sub': doubles(-value for value in each)}.get(node.op, zero)
    return reader.add(node, 'norm', [tensor], weights=scales, bias=shifts)


def act(reader, node, values):
    tensor = values[0]
    if node.op == 'Softmax':
        layer = isinstance(tensor, str) and reader.net.layers.get(tensor)
        if not layer or layer.kind not in ('view', 'rows') or layer.last != 2 or \
                node.int('axis', -1) not in (-1, 2):
            node.refuse('only supported for two values along the last axis')
    if node.op == 'Clip':
        limits = [values[i].values[0] if i < len(values) and values[i] else
                  node.float(('', 'min', 'max')[i], None) for i in (1, 2)]
        if None in limits:
            node.refuse('both limits must be given')
        return reader.add(node, 'act', [tensor], act=('clamp', *limits))
    if node.op == 'PRelu':
        slopes = set(weights_of(node, values, 1).values)
        if len(slopes) != 1:
            node.refuse('only one slope for all planes is supported')
        return reader.add(node, 'act', [tensor], act=('leaky', *slopes))
    if node.op == 'LeakyRelu':
        return reader.add(node, 'act', [tensor], act=('leaky', node.float('alpha', 0.01)))
    kinds = {'Relu': RELU, 'Sigmoid': SIGMOID, 'HardSwish': HSWISH, 'Softmax': SOFTMAX2}
    return reader.add(node, 'act', [tensor], act=kinds[node.op])


def maxpool(reader, node, values):
    if node.int('ceil_mode'):
        node.refuse('ceil_mode is not supported')
    return reader.add(node, 'maxpool', values, **window(node, node.ints('kernel_shape')))


def mean(reader, node, values):
    if node.op == 'ReduceMean' and (sorted(node.ints('axes')) != [2, 3] or
                                    not node.int('keepdims', 1)):
        node.refuse('only supported for planes')
    return reader.add(node, 'mean', values[:1])


def concat(reader, node, values):
    if all(isinstance(value, (list, Constant)) for value in values):
        return [one for value in values for one in
                (value if isinstance(value, list) else value.values)]
    layers = [reader.net.layers.get(value) if isinstance(value, str) else None for value in values]
    if all(layer and reader.net.is_view(value) for layer, value in zip(layers, values)):
        last = {layer.last for layer in layers}
        return reader.add(node, 'rows', values, last=last.pop() if len(last) == 1 else 0)
    if node.int('axis') not in (1, -3):
        node.refuse('only supported along the planes')
    return reader.add(node, 'concat', values)


def pad(reader, node, values):
    pads = values[1].values if len(values) > 1 else node.ints('pads')
    value = values[2].values[0] if len(values) > 2 and values[2] else node.float('value', 0)
    if node.string('mode', 'constant') != 'constant' or value or len(pads) != 8 or \
            pads[0] or pads[1] or pads[4] or min(pads) < 0:
        node.refuse('only zeros at the sides, and after the planes, are supported')
    return reader.add(node, 'pad', values[:1], pad=(pads[2], pads[3], pads[6], pads[7]),
                      wider=pads[5] > 0,
                      planes=reader.planes_of(values[0]) + pads[5] if pads[5] else 0)


def resize(reader, node, values):
    mode, rounding = node.string('mode', 'nearest'), node.string('nearest_mode')
    place = node.string('coordinate_transformation_mode', 'half_pixel')
    old = node.op == 'Upsample' or len(values) == 2  # whose last input are the factors
    floor = old or place == 'asymmetric' and rounding == 'floor'
    nearest = mode == 'nearest'
    if mode not in ('nearest', 'linear') or not nearest and place not in (
            'half_pixel', 'pytorch_half_pixel'):
        node.refuse(f'{mode} with {place} is not supported')
    sizes = values[3] if len(values) > 3 else None
    scales = values[-1 if old else 2] if not sizes else None
    more = {'mode': 'nearest' if nearest else 'bilinear'}
    if scales and scales.values:
        factors = [int(value) for value in scales.values]
        if factors != list(scales.values) or factors[:2] != [1, 1]:
            node.refuse('only whole factors are supported')
        if nearest and not floor and (place != 'half_pixel' or rounding[:5] == 'floor' or
                                      rounding == 'ceil'):
            node.refuse(f'nearest with {place} is not supported')
        return reader.add(node, 'resize', values[:1], by=(factors[3], factors[2]), **more)
    ends = sizes[2:] if isinstance(sizes, list) else []
    if len(ends) != 2 or not all(isinstance(end, Size) and end.tensor == ends[0].tensor and
                                 end.axis == axis for axis, end in enumerate(ends, 2)) or \
            nearest and not floor:
        node.refuse('only whole factors, and the size of another tensor, are supported')
    return reader.add(node, 'resize', values[:1], to=ends[0].tensor, **more)


def depth_to_space(reader, node, values):
    if node.string('mode', 'DCR') != 'DCR':
        node.refuse('only the mode DCR is supported')
    return reader.add(node, 'depth_to_space', values, block=node.int('blocksize'))


def view(reader, node, values):
    if not isinstance(values[0], str):  # of a shape
        return values[0]
    last = 0
    if node.op == 'Reshape' and isinstance(values[1], (list, Constant)):
        shape = values[1] if isinstance(values[1], list) else values[1].values
        last = shape[-1] if isinstance(shape[-1], int) else 0
    return reader.add(node, 'view', values[:1], last=last)


def same(_reader, _node, values):
    return values[0]


def constant(_reader, node, _values):
    found = read_tensor(value_of(node.attributes.get('value', b''), TENSOR_VALUE) or b'') \
        if 'value' in node.attributes else None
    return found or node.refuse('not a tensor of single-precision numbers or integers')


def shape(_reader, node, values):
    if not isinstance(values[0], str):
        node.refuse('not supported for constants')
    return [Size(values[0], axis) for axis in range(4)]


def part(_reader, node, values):
    """Gather and Slice, of a shape."""
    numbers = [value.values for value in values[1:] if isinstance(value, Constant)]
    if not isinstance(values[0], list) or len(numbers) != len(values) - 1:
        node.refuse('only supported for shapes')
    if node.op == 'Gather':
        return [values[0][i] for i in numbers[0]]
    start, end = (numbers[0][0], numbers[1][0]) if numbers else (node.ints('starts')[0],
                                                                  node.ints('ends')[0])
    return values[0][start:end]


OPS = {'Conv': conv, 'ConvTranspose': transposed, 'BatchNormalization': norm, 'Add': arithmetic,
       'Sub': arithmetic, 'Mul': arithmetic, 'Div': arithmetic, 'Relu': act, 'LeakyRelu': act,
       'PRelu': act, 'Clip': act, 'Sigmoid': act, 'HardSwish': act, 'Softmax': act,
       'MaxPool': maxpool, 'GlobalAveragePool': mean, 'ReduceMean': mean, 'Concat': concat,
       'Pad': pad, 'Resize': resize, 'Upsample': resize, 'DepthToSpace': depth_to_space,
       'Reshape': view, 'Transpose': view, 'Flatten': view, 'Squeeze': view, 'Unsqueeze': view,
       'Identity': same, 'Dropout': same, 'Cast': same, 'Constant': constant, 'Shape': shape,
       'Gather': part, 'Slice': part}


def read(data, outputs=None):
    try:
        return Reader(data).read(outputs)
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, StopIteration,
            struct.error):
        raise Failure(CONFIG, 'not an ONNX file, or a damaged one') from None
