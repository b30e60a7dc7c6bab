# SPDX-License-Identifier: BSD-2-Clause
# Makes small ONNX files for tests of halo-detect convert, without other modules than halo-detect's
# own, which must be found first.
import random
import struct

from halodetect.onnx import BYTES, FIXED32, VARINT, write_field

FLOAT, INT64 = 1, 7
ATTRIBUTE_FLOAT, ATTRIBUTE_INT, ATTRIBUTE_STRING, ATTRIBUTE_INTS = 1, 2, 3, 7


def signed(number):
    return number & (1 << 64) - 1


def attribute(name, value):
    if isinstance(value, float):
        kind, field = ATTRIBUTE_FLOAT, write_field(2, FIXED32, struct.pack('<f', value))
    elif isinstance(value, int):
        kind, field = ATTRIBUTE_INT, write_field(3, VARINT, signed(value))
    elif isinstance(value, str):
        kind, field = ATTRIBUTE_STRING, write_field(4, BYTES, value.encode())
    else:
        kind = ATTRIBUTE_INTS
        field = b''.join(write_field(8, VARINT, signed(one)) for one in value)
    return write_field(1, BYTES, name.encode()) + field + write_field(20, VARINT, kind)


class Model:
    """Nodes and constants; numbers are drawn from a seed."""

    def __init__(self, seed=1):
        self.random, self.nodes, self.constants, self.outputs, self.count = \
            random.Random(seed), b'', b'', b'', 0

    def constant(self, dims, values):
        kind = INT64 if all(isinstance(value, int) for value in values) else FLOAT
        data = struct.pack(f'<{len(values)}{"q" if kind == INT64 else "f"}', *values)
        self.count += 1
        name = f'constant{self.count}'
        tensor = b''.join(write_field(1, VARINT, dim) for dim in dims) + \
            write_field(2, VARINT, kind) + write_field(8, BYTES, name.encode()) + \
            write_field(9, BYTES, data)
        self.constants += write_field(5, BYTES, tensor)
        return name

    def drawn(self, *dims, least=-1.0, most=1.0):
        count = 1
        for dim in dims:
            count *= dim
        return self.constant(dims, [self.random.uniform(least, most) for _ in range(count)])

    def node(self, op, *inputs, **attributes):
        """Returns the name of the result."""
        self.count += 1
        name = f'{op.lower()}{self.count}'
        node = b''.join(write_field(1, BYTES, one.encode()) for one in inputs) + \
            write_field(2, BYTES, name.encode()) + write_field(3, BYTES, name.encode()) + \
            write_field(4, BYTES, op.encode()) + \
            b''.join(write_field(5, BYTES, attribute(*one)) for one in attributes.items())
        self.nodes += write_field(1, BYTES, node)
        return name

    def conv(self, source, inputs, planes, kernel=3, stride=1, group=1):
        return self.node('Conv', source, self.drawn(planes, inputs // group, kernel, kernel),
                         self.drawn(planes), kernel_shape=[kernel, kernel],
                         strides=[stride, stride], pads=[kernel // 2] * 4, group=group)

    def head(self, source, inputs, planes, act=None):
        """An output with a row for each cell."""
        found = self.node('Transpose', self.conv(source, inputs, planes, 1), perm=[0, 2, 3, 1])
        found = self.node('Reshape', found, self.constant([3], [1, -1, planes]))
        self.output(self.node(act, found) if act else found)

    def output(self, name):
        shape = write_field(1, VARINT, FLOAT)
        self.outputs += write_field(12, BYTES, write_field(1, BYTES, name.encode()) +
                                    write_field(2, BYTES, write_field(1, BYTES, shape)))

    def bytes(self):
        def dim(size):
            return write_field(1, BYTES, write_field(1, VARINT, size) if size else b'')
        shape = write_field(1, VARINT, FLOAT) + \
            write_field(2, BYTES, b''.join(map(dim, (1, 3, 0, 0))))
        image = write_field(11, BYTES, write_field(1, BYTES, b'image') +
                            write_field(2, BYTES, write_field(1, BYTES, shape)))
        graph = self.nodes + write_field(2, BYTES, b'made') + self.constants + image + self.outputs
        return write_field(1, VARINT, 8) + write_field(7, BYTES, graph) + \
            write_field(8, BYTES, write_field(2, VARINT, 14))


def yunet(odd='', kernel='3'):
    """Outputs as those of YuNet, from layers of all kinds. odd: an operation that is added; kernel:
    the side of one of the kernels."""
    model = Model()
    one = model.node('Mul', 'image', model.constant([1], [1 / 128]))
    one = model.node('Sub', one, model.drawn(1, 3, 1, 1))
    one = model.conv(one, 3, 8, stride=2)
    one = model.node('BatchNormalization', one, *(model.drawn(8, least=0.5) for _ in range(4)))
    one = model.node('Relu', one)
    two = model.node('MaxPool', model.node('LeakyRelu', model.conv(one, 8, 8, 3, 1, 8), alpha=0.1),
                     kernel_shape=[2, 2], strides=[2, 2])
    two = model.node('Pad', model.conv(two, 8, 8, 1),
                     model.constant([8], [0, 0, 1, 1, 0, 0, 1, 1]))
    three = model.node('Conv', two, model.drawn(8, 8, 3, 3), kernel_shape=[3, 3], strides=[2, 2])
    three = model.node('Clip', three, model.constant([], [0.0]), model.constant([], [6.0]))
    four = model.node('Sigmoid', model.conv(three, 8, 8, int(kernel), 2))
    if odd:
        four = model.node(odd, four)
    five = model.node('HardSwish', model.conv(four, 8, 8, stride=2))
    gate = model.node('GlobalAveragePool', five)
    five = model.node('Mul', five, model.node('Sigmoid', model.conv(gate, 8, 8, 1)))
    size = model.node('Slice', model.node('Shape', four), model.constant([1], [2]),
                      model.constant([1], [4]))
    size = model.node('Concat', model.constant([2], [1, 8]), size, axis=0)
    grown = model.node('Resize', five, '', '', size, coordinate_transformation_mode='asymmetric',
                       mode='nearest', nearest_mode='floor')
    four = model.node('Add', four, grown)
    up = model.node('ConvTranspose', four, model.drawn(8, 4, 2, 2), model.drawn(4),
                    kernel_shape=[2, 2], strides=[2, 2])
    smooth = model.node('Resize', four, '', model.constant([4], [1.0, 1.0, 2.0, 2.0]),
                        coordinate_transformation_mode='half_pixel', mode='linear')
    three = model.node('Concat', three, up, smooth, axis=1)
    for planes, act in ((1, 'Sigmoid'), (1, 'Sigmoid'), (4, None), (10, None)):
        for source, inputs in ((three, 20), (four, 8), (five, 8)):
            model.head(source, inputs, planes, act)
    return model.bytes()
