# SPDX-License-Identifier: BSD-2-Clause
"""halo-detect convert: writes the network of an ONNX file as NAME.net."""
import hashlib
import os
import re

from halodetect import from_onnx
from halodetect.failure import CANNOT_CREATE, CONFIG, OK, USAGE, Failure

# The order of the planes, the range of values, and how many outputs a stride has, by the number of
# values for each anchor.
LAYOUTS = {'yunet': ('bgr', (0, 255), {1: ('scores', 'objects'), 4: ('boxes',)}),
           'scrfd': ('rgb', (-127.5 / 128, 127.5 / 128), {1: ('scores',), 4: ('boxes',)})}


def own(data, layout):
    """A network with outputs of this layout, for a stride of 8, 16 and 32 each."""
    net = from_onnx.read(data)
    net.order, net.range, kinds = LAYOUTS[layout]
    tails = [tail for tensor in net.outputs.values() for tail in net.tails(tensor)]
    net.outputs = {tail: tail for tail in tails}
    net.drop()
    net.measure()
    net.outputs, shapes, strides = {}, [], []
    for stride in (8, 16, 32):
        found = {}
        for tail in tails:
            if net.sizes[tail] == (net.multiple // stride,) * 2:
                found.setdefault(net.planes_of(tail), []).append(tail)
        shapes.append(f'{stride}: {", ".join(map(str, sorted(found))) or "no"} planes')
        for each in (1, 2):  # anchors in a cell
            lists = [(names, found.get(values * each, ())) for values, names in kinds.items()]
            if all(len(names) == len(some) for names, some in lists):
                strides.append(stride)
                for names, some in lists:
                    net.outputs |= {f'{name}_{stride}': tail for name, tail in zip(names, some)}
                break
    if len(strides) != 3:
        raise Failure(CONFIG, f'the outputs are not those of {layout}, but {"; ".join(shapes)}')
    net.finish()
    return net


def convert(options):
    name = re.fullmatch(r'([a-z0-9_]{1,31})\.net', os.path.basename(options.result))
    if not name:
        raise Failure(USAGE, f'{options.result}: must be at most 31 of a-z, 0-9 and _, and .net')
    try:
        with open(options.file, 'rb') as file:
            data = file.read()
        net = own(data, options.layout)
        source = re.sub('[^!-~]', '_', os.path.basename(options.file))[:128]
        result = net.write(name[1], 'unknown', f'{source} {hashlib.sha256(data).hexdigest()}')
    except OSError as error:
        raise Failure(CONFIG, f'{options.file}: {error.strerror}') from None
    except Failure as failure:
        raise Failure(failure.status, f'{options.file}: {failure}') from None
    try:
        with open(options.result, 'wb') as file:
            file.write(result)
    except OSError as error:
        raise Failure(CANNOT_CREATE, f'{options.result}: {error.strerror}') from None
    width, height = net.sizes[net.input]
    print(f'{options.result}: {len(net.layers)} layers, {len(result)} bytes, '
          f'{net.work / width / height:.0f} multiply-adds for each pixel')
    return OK
