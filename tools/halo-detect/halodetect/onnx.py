# SPDX-License-Identifier: BSD-2-Clause
"""Changes the size of a model's input to any size. The shape in centerface.onnx is 10x3x32x32, and
onnxruntime refuses other sizes. An ONNX file is one Protocol Buffers message."""

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
# Numbers of fields: ModelProto.graph; GraphProto.input, output and initializer; ValueInfoProto.name
# and type; TypeProto.tensor_type; Tensor.shape; TensorShapeProto.dim; Dimension.dim_value.
GRAPH, INPUT, OUTPUT, INITIALIZER, NAME, TYPE, TENSOR, SHAPE, DIM, VALUE = (
    7, 11, 12, 5, 1, 2, 1, 2, 1, 1)
TENSOR_NAME = 8  # TensorProto.name


def read_number(data, at):
    number = shift = 0
    while True:
        byte = data[at]
        at += 1
        number |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return number, at


def write_number(number):
    out = b''
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def fields(message):
    """Yields (number of the field, type, value)."""
    at = 0
    while at < len(message):
        key, at = read_number(message, at)
        kind = key & 7
        if kind == VARINT:
            value, at = read_number(message, at)
        else:
            if kind == BYTES:
                size, at = read_number(message, at)
            else:
                size = {FIXED64: 8, FIXED32: 4}[kind]
            value, at = message[at:at + size], at + size
        yield key >> 3, kind, value


def write_field(number, kind, value):
    head = write_number(number << 3 | kind)
    if kind == VARINT:
        return head + write_number(value)
    return head + (write_number(len(value)) if kind == BYTES else b'') + value


def changed(message, path, change):
    """The message with the fields at this path replaced."""
    out = b''
    for number, kind, value in fields(message):
        if number == path[0]:
            value = changed(value, path[1:], change) if len(path) > 1 else change(value)
        out += write_field(number, kind, value)
    return out


def value_of(message, wanted):
    return next((value for number, _, value in fields(message) if number == wanted), None)


def free_size(model):
    """The model with an input of 1 x channels x any height x any width, and outputs of any shape;
    models whose first input has no four dimensions are returned as they are."""
    graph = value_of(model, GRAPH)
    constants = {value_of(value, TENSOR_NAME) for number, _, value in fields(graph)
                 if number == INITIALIZER}
    seen = []

    def free_input(value):
        if value_of(value, NAME) in constants or seen:
            return value
        seen.append(True)
        place = []

        def free_dim(dim):
            place.append(True)
            if len(place) == 2:
                return dim  # the channels
            return write_field(VALUE, VARINT, 1) if len(place) == 1 else b''
        freed = changed(value, [TYPE, TENSOR, SHAPE, DIM], free_dim)
        return freed if len(place) == 4 else value

    def free_output(tensor):
        return b''.join(write_field(*field) for field in fields(tensor) if field[0] != SHAPE)
    freed = changed(model, [GRAPH, INPUT], free_input)
    return changed(freed, [GRAPH, OUTPUT, TYPE, TENSOR], free_output)
