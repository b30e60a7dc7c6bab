# SPDX-License-Identifier: BSD-2-Clause
"""Reads networks from frozen graphs of TensorFlow 1, as far as the models need it that install
takes from packages."""
import array
import math
import struct

from halodetect.failure import CONFIG, Failure
from halodetect.from_onnx import integers, unpacked
from halodetect.network import NO_PAD, RELU6, Network
from halodetect.onnx import fields, value_of

# Numbers of fields: GraphDef.node; NodeDef.name, op, input and attr; the key and the value of attr;
# AttrValue; TensorProto; TensorShapeProto.dim.size.
NODE, NAME, OP, INPUT, ATTR, KEY, VALUE = 1, 1, 2, 3, 5, 1, 2
LIST, STRING, FLOAT_VALUE, TENSOR, LIST_INT = 1, 2, 4, 8, 3
SHAPE, CONTENT, DIM, SIZE = 2, 4, 2, 1


class Node:
    def __init__(self, message):
        self.name, self.op = (value_of(message, field).decode() for field in (NAME, OP))
        self.inputs = [value.decode() for number, _, value in fields(message) if number == INPUT]
        self.attributes = {value_of(value, KEY).decode(): value_of(value, VALUE)
                           for number, _, value in fields(message) if number == ATTR}

    def constant(self):
        """(shape, numbers)"""
        tensor = value_of(self.attributes['value'], TENSOR)
        shape = [value_of(value, SIZE) for number, _, value in fields(value_of(tensor, SHAPE))
                 if number == DIM]
        values = array.array('d', unpacked('f', value_of(tensor, CONTENT)))
        if len(values) != math.prod(shape):
            raise ValueError
        return shape, values

    def window(self):
        """The keys of a layer for this node's strides and padding."""
        strides = integers(value_of(self.attributes['strides'], LIST), LIST_INT)
        same = value_of(self.attributes['padding'], STRING) == b'SAME'
        if set(integers(value_of(self.attributes['dilations'], LIST), LIST_INT)) != {1}:
            raise ValueError
        return {'stride': (strides[2], strides[1]), 'pad': 'same' if same else NO_PAD}


class Reader:
    def __init__(self, data, source, size):
        self.nodes = {}
        for number, _, value in fields(data):
            if number == NODE:
                node = Node(value)
                self.nodes[node.name] = node
        self.net = Network(3, size)
        self.net.input = source

    def node(self, name):
        """Of this name, or what it is another name for."""
        while self.nodes[name].op == 'Identity' and name != self.net.input:
            name = self.nodes[name].inputs[0]
        return self.nodes[name]

    def constant(self, name):
        return self.node(name).constant()

    def ordered(self, outputs):
        """The nodes that outputs need, each after those that it needs itself."""
        found, left = {}, [self.node(name) for name in reversed(outputs)]
        while left:
            node = left[-1]
            needed = [] if node.name == self.net.input else \
                [one for one in map(self.node, node.inputs) if one.name not in found]
            if needed:
                left += needed
            else:
                found[left.pop().name] = node
        return [node for name, node in found.items()
                if node.op != 'Const' and name != self.net.input]

    def read(self, outputs):
        for node in self.ordered(outputs):
            if node.op not in OPS:
                raise Failure(CONFIG, f'{node.name}: {node.op} is not supported')
            OPS[node.op](self, node)
        self.net.outputs = {name: self.node(name).name for name in outputs}
        return self.net

    def add(self, node, kind, count=1, **more):
        inputs = [self.node(name).name for name in node.inputs[:count]]
        self.net.add(node.name, kind, inputs, node=node.name, **more)


def conv(reader, node):
    """Weights are rows x columns x planes of the input x planes; of a depthwise layer rows x
    columns x planes x 1."""
    (rows, columns, inputs, planes), values = reader.constant(node.inputs[1])
    each = node.op == 'DepthwiseConv2dNative'
    if each and planes != 1:
        raise ValueError
    weights, size = array.array('d'), inputs * planes
    for plane in range(planes):
        for i in range(inputs):
            weights.extend(values[i * planes + plane::size])
    reader.add(node, 'depthwise' if each else 'conv', planes=inputs if each else planes,
               kernel=(columns, rows), weights=weights, **node.window())


def norm(reader, node):
    gamma, beta, mean, variance = (reader.constant(name)[1] for name in node.inputs[1:5])
    epsilon = struct.unpack('<f', value_of(node.attributes['epsilon'], FLOAT_VALUE))[0]
    scales = array.array('d', (g / math.sqrt(v + epsilon) for g, v in zip(gamma, variance)))
    reader.add(node, 'norm', weights=scales,
               bias=array.array('d', (b - m * s for b, m, s in zip(beta, mean, scales))))


def bias(reader, node):
    values = reader.constant(node.inputs[1])[1]
    reader.add(node, 'norm', weights=array.array('d', [1.0]) * len(values), bias=values)


def add(reader, node):
    reader.add(node, 'add', 2)


def act(reader, node):
    reader.add(node, 'act', act=RELU6)


OPS = {'Conv2D': conv, 'DepthwiseConv2dNative': conv, 'FusedBatchNorm': norm, 'BiasAdd': bias,
       'Add': add, 'Relu6': act}


def read(data, source, size, outputs):
    """source: the tensor that becomes the network's input, of this size."""
    try:
        return Reader(data, source, size).read(outputs)
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, struct.error):
        raise Failure(CONFIG, 'not a frozen graph of known layers, or a damaged one') from None
