# SPDX-License-Identifier: BSD-2-Clause
"""Reads networks from TFLite files, which are flatbuffers (schema version 3), as far as the models
need it that install takes from packages."""
import array
import math
import struct

from halodetect.failure import CONFIG, Failure
from halodetect.network import HSWISH, NO_PAD, RELU, RELU6, SIGMOID, Network

# Numbers of fields: Model, SubGraph, Tensor, Buffer, SparsityParameters, DimensionMetadata,
# OperatorCode and Operator.
CODES, SUBGRAPHS, BUFFERS = 1, 2, 4
TENSORS, INPUTS, OUTPUTS, OPERATORS = 0, 1, 2, 3
SHAPE, TYPE, BUFFER, NAME, SPARSITY = 0, 1, 2, 3, 6
DATA = 0
TRAVERSAL, BLOCK_MAP, DIMENSIONS = 0, 1, 2
DIM_FORMAT, DIM_SIZE, SEGMENTS_TYPE, SEGMENTS, INDICES_TYPE, INDICES = 0, 1, 2, 3, 4, 5
OLD_CODE, CUSTOM_CODE, CODE = 0, 1, 3
OPCODE, OPERATOR_INPUTS, OPERATOR_OUTPUTS, OPTIONS, CUSTOM_OPTIONS = 0, 1, 2, 4, 5
FLOAT32, FLOAT16, INT32 = 0, 1, 2
TYPES = {FLOAT32: 'f', FLOAT16: 'e', INT32: 'i'}
SPARSE = 1
VECTORS = {1: 'i', 2: 'H', 3: 'B'}  # of indices
SAME, VALID = 0, 1
ACTS = {0: (), 1: RELU, 3: RELU6}


class Table:
    """A table of a flatbuffer; offset: where it is in the data."""

    def __init__(self, data, offset):
        self.data, self.at = data, offset
        self.fields = offset - struct.unpack_from('<i', data, offset)[0]
        self.size = struct.unpack_from('<H', data, self.fields)[0]

    def place(self, field):
        """Where the value of this field is, or 0."""
        entry = 4 + 2 * field
        offset = struct.unpack_from('<H', self.data, self.fields + entry)[0] \
            if entry + 2 <= self.size else 0
        return self.at + offset if offset else 0

    def number(self, field, code='i', default=0):
        place = self.place(field)
        return struct.unpack_from('<' + code, self.data, place)[0] if place else default

    def follow(self, place):
        return place + struct.unpack_from('<I', self.data, place)[0]

    def table(self, field):
        place = self.place(field)
        return Table(self.data, self.follow(place)) if place else None

    def vector(self, field):
        """(where the elements of a vector begin, their number)"""
        place = self.place(field)
        if not place:
            return 0, 0
        place = self.follow(place)
        return place + 4, struct.unpack_from('<I', self.data, place)[0]

    def numbers(self, field, code='i'):
        place, count = self.vector(field)
        return list(struct.unpack_from(f'<{count}{code}', self.data, place))

    def bytes(self, field):
        place, count = self.vector(field)
        return self.data[place:place + count]

    def tables(self, field):
        place, count = self.vector(field)
        return [Table(self.data, self.follow(place + 4 * i)) for i in range(count)]


def densified(sparsity, shape, values):
    """All numbers of a tensor that is sparse along its last axis."""
    dims = sparsity.tables(DIMENSIONS)
    formats = [dim.number(DIM_FORMAT, 'b') for dim in dims]
    if formats != [0] * (len(shape) - 1) + [SPARSE] or sparsity.numbers(BLOCK_MAP) or \
            sparsity.numbers(TRAVERSAL) != list(range(len(shape))):
        raise ValueError
    segments = dims[-1].table(SEGMENTS).numbers(0, VECTORS[dims[-1].number(SEGMENTS_TYPE, 'B')])
    indices = dims[-1].table(INDICES).numbers(0, VECTORS[dims[-1].number(INDICES_TYPE, 'B')])
    dense = array.array('d', bytes(8 * math.prod(shape)))
    for row, (start, end) in enumerate(zip(segments, segments[1:])):
        for i in range(start, end):
            dense[row * shape[-1] + indices[i]] = values[i]
    return dense


class Operator:
    def __init__(self, table, names):
        self.op, self.inputs = names[table.number(OPCODE)], table.numbers(OPERATOR_INPUTS)
        self.output = table.numbers(OPERATOR_OUTPUTS)[0]
        self.options, self.custom = table.table(OPTIONS), table.bytes(CUSTOM_OPTIONS)

    def option(self, field, code='i'):
        return self.options.number(field, code) if self.options else 0

    def act(self, field):
        return ACTS[self.option(field, 'b')]


class Reader:
    def __init__(self, data):
        if data[4:8] != b'TFL3':
            raise ValueError
        model = Table(data, struct.unpack_from('<I', data)[0])
        graph = model.tables(SUBGRAPHS)[0]
        names = [self.name_of(code) for code in model.tables(CODES)]
        self.buffers, self.tensors = model.tables(BUFFERS), graph.tables(TENSORS)
        self.operators = [Operator(table, names) for table in graph.tables(OPERATORS)]
        self.input, self.outputs = graph.numbers(INPUTS)[0], graph.numbers(OUTPUTS)
        _, rows, columns, planes = self.shape(self.input)
        self.net = Network(planes, (columns, rows))
        self.net.input = self.tensor(self.input)
        self.constants = {}

    @staticmethod
    def name_of(code):
        number = max(code.number(CODE), code.number(OLD_CODE, 'b'))
        if number == CUSTOM:
            return code.bytes(CUSTOM_CODE).decode()
        return NAMES.get(number, f'operator {number}')

    def shape(self, tensor):
        return self.tensors[tensor].numbers(SHAPE)

    def tensor(self, number):
        return f'{number} {self.tensors[number].bytes(NAME).decode()}'

    def is_constant(self, number):
        return number in self.constants or \
            bool(self.buffers[self.tensors[number].number(BUFFER, 'I')].vector(DATA)[1])

    def constant(self, number):
        """The numbers of a constant tensor."""
        if number not in self.constants:
            tensor = self.tensors[number]
            data = self.buffers[tensor.number(BUFFER, 'I')].bytes(DATA)
            code = TYPES[tensor.number(TYPE, 'b')]
            values = struct.unpack(f'<{len(data) // struct.calcsize(code)}{code}', data)
            sparsity = tensor.table(SPARSITY)
            self.constants[number] = densified(sparsity, self.shape(number), values) \
                if sparsity else values
        return self.constants[number]

    def read(self, outputs):
        for operator in self.operators:
            if operator.op in ('DEQUANTIZE', 'DENSIFY') and self.is_constant(operator.inputs[0]):
                self.constants[operator.output] = self.constant(operator.inputs[0])
                continue
            if operator.op not in OPS:
                raise Failure(CONFIG, f'{operator.op} is not supported')
            OPS[operator.op](self, operator)
        self.net.outputs = {self.tensor(number): self.tensor(number) for number in
                            outputs or self.outputs}
        return self.net

    def add(self, operator, kind, count=1, **more):
        """Adds a layer that reads the first `count` tensors that the operator reads."""
        self.net.add(self.tensor(operator.output), kind,
                     [self.tensor(number) for number in operator.inputs[:count]],
                     node=f'{operator.op} {operator.output}', **more)

    def bias(self, operator):
        if len(operator.inputs) < 3:
            return None
        return array.array('d', self.constant(operator.inputs[2]))


def conv(reader, operator):
    """Weights are planes x rows x columns x planes of the input, or for DEPTHWISE_CONV_2D rows x
    columns x planes."""
    each = operator.op == 'DEPTHWISE_CONV_2D'
    planes, rows, columns, inputs = reader.shape(operator.inputs[1])
    values = array.array('d', reader.constant(operator.inputs[1]))
    size, weights = rows * columns * inputs, array.array('d')
    for plane in range(planes):
        block = values[plane * size:(plane + 1) * size]
        for i in range(inputs):
            weights.extend(block[i::inputs])
    dilation = {operator.option(field) or 1 for field in ((5, 6) if each else (4, 5))}
    if dilation != {1} or each and operator.option(3) != 1:
        raise ValueError
    reader.add(operator, 'depthwise' if each else 'conv', planes=inputs if each else planes,
               kernel=(columns, rows), stride=(operator.option(1), operator.option(2)),
               pad='same' if operator.option(0, 'b') == SAME else NO_PAD, weights=weights,
               bias=reader.bias(operator), act=operator.act(4 if each else 3))


def transposed(reader, operator):
    """MediaPipe's, with a bias."""
    padding, *stride = struct.unpack('<3i', operator.custom)
    planes, rows, columns, inputs = reader.shape(operator.inputs[1])
    if padding != SAME + 1 or stride != [columns, rows]:  # otherwise there are pads
        raise ValueError
    values, weights = array.array('d', reader.constant(operator.inputs[1])), array.array('d')
    size = rows * columns * inputs
    for plane in range(planes):
        for i in range(inputs):
            weights.extend(values[plane * size:(plane + 1) * size][i::inputs])
    reader.add(operator, 'transposed', planes=planes, kernel=(columns, rows), stride=tuple(stride),
               weights=weights, bias=reader.bias(operator))


def pool(reader, operator):
    kernel = operator.option(3), operator.option(4)
    stride = operator.option(1), operator.option(2)
    if operator.op == 'MAX_POOL_2D':
        reader.add(operator, 'maxpool', kernel=kernel, stride=stride, act=operator.act(5),
                   pad='same' if operator.option(0, 'b') == SAME else NO_PAD)
        return
    if list(kernel) != reader.shape(operator.inputs[0])[2:0:-1]:
        raise ValueError
    reader.add(operator, 'mean', act=operator.act(5))


def mean(reader, operator):
    if list(reader.constant(operator.inputs[1])) != [1, 2]:
        raise ValueError
    reader.add(operator, 'mean')


def arithmetic(reader, operator):
    reader.add(operator, operator.op.lower(), 2, act=operator.act(0))


def concat(reader, operator):
    count, axis = len(operator.inputs), operator.option(0)
    rank = len(reader.shape(operator.output))
    reader.add(operator, 'concat' if axis == rank - 1 == 3 else 'rows', count, act=operator.act(1))


def pad(reader, operator):
    pads = reader.constant(operator.inputs[1])
    if len(pads) != 8 or any(pads[:2]) or pads[6]:
        raise ValueError
    reader.add(operator, 'pad', pad=(pads[2], pads[4], pads[3], pads[5]), wider=pads[7] > 0,
               planes=reader.shape(operator.output)[-1])


def resize(reader, operator):
    rows, columns = reader.shape(operator.inputs[0])[1:3]
    to = reader.constant(operator.inputs[1])
    if operator.option(2, 'b') or not operator.option(3, 'b') or to[0] % rows or to[1] % columns:
        raise ValueError
    reader.add(operator, 'resize', mode='bilinear', by=(to[1] // columns, to[0] // rows))


def depth_to_space(reader, operator):
    reader.add(operator, 'depth_to_space', block=operator.option(0))


def act(reader, operator):
    reader.add(operator, 'act', act={'RELU': RELU, 'RELU6': RELU6, 'LOGISTIC': SIGMOID,
                                     'HARD_SWISH': HSWISH}[operator.op])


def view(reader, operator):
    reader.add(operator, 'view')


CUSTOM = 32
NAMES = {0: 'ADD', 1: 'AVERAGE_POOL_2D', 2: 'CONCATENATION', 3: 'CONV_2D', 4: 'DEPTHWISE_CONV_2D',
         5: 'DEPTH_TO_SPACE', 6: 'DEQUANTIZE', 14: 'LOGISTIC', 17: 'MAX_POOL_2D', 18: 'MUL',
         19: 'RELU', 21: 'RELU6', 22: 'RESHAPE', 23: 'RESIZE_BILINEAR', 34: 'PAD', 40: 'MEAN',
         117: 'HARD_SWISH', 124: 'DENSIFY'}
OPS = {'ADD': arithmetic, 'AVERAGE_POOL_2D': pool, 'CONCATENATION': concat, 'CONV_2D': conv,
       'DEPTHWISE_CONV_2D': conv, 'DEPTH_TO_SPACE': depth_to_space, 'LOGISTIC': act,
       'MAX_POOL_2D': pool, 'MUL': arithmetic, 'RELU': act, 'RELU6': act, 'RESHAPE': view,
       'RESIZE_BILINEAR': resize, 'PAD': pad, 'MEAN': mean, 'HARD_SWISH': act,
       'Convolution2DTransposeBias': transposed}


def read(data, outputs=None):
    try:
        return Reader(data).read(outputs)
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, struct.error):
        raise Failure(CONFIG, 'not a TFLite file of known layers, or a damaged one') from None
