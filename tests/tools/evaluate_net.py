# SPDX-License-Identifier: BSD-2-Clause
# What a NAME.net computes, by NumPy, for tests of the converter. Sums are rounded once, where
# kernels/net rounds after each summand; otherwise the definition is the same.
import zlib

import numpy as np


def by(text):
    return tuple(int(side) for side in text.split('x'))


class Net:
    """head: the lines before the layers; layers: (words before the first key, {key: words}); names:
    {output: tensor}."""

    def __init__(self, data):
        head, _, body = data.partition(b'\n\n')
        lines = head.decode('ascii').split('\n')
        last = lines[-1].split()
        check = zlib.crc32(head[:head.rindex(b'\n') + 1] + b'\n' + body)
        assert last == ['weights', str(len(body)), f'{check:08x}']
        assert lines[0] == 'halonet 1' and max(map(len, lines)) <= 256
        self.head = {line.split()[0]: line.split()[1:] for line in lines[1:5]}
        self.layers, self.names = [], {}
        self.values, self.at = np.frombuffer(body, '<f4'), 0
        assert np.isfinite(self.values).all()
        for words in (line.split() for line in lines[5:-1]):
            if words[0] == 'output':
                self.names[words[1]] = int(words[2])
            else:
                self.layers.append(words)

    def take(self, *shape):
        count = int(np.prod(shape))
        self.at += count
        return self.values[self.at - count:self.at].reshape(shape).astype(np.float64)

    def run(self, image):
        """image: planes x rows x columns. Returns {output: planes x rows x columns}, and the
        largest magnitude of any value."""
        order, low, high = self.head['input'][2], *map(float, self.head['input'][4:6])
        assert order in ('rgb', 'bgr') and low <= image.min() and image.max() <= high
        tensors, self.at = [image.astype(np.float32)], 0
        for words in self.layers:
            tensors.append((self.layer(words, tensors) + np.float32(0)).astype(np.float32))
        assert self.at == len(self.values)
        most = max(float(abs(tensor).max()) for tensor in tensors)
        return {name: tensors[i] for name, i in self.names.items()}, most

    def layer(self, words, tensors):
        kind, inputs, keys = words[0], [], {}
        rest = words[1:]
        while rest and rest[0].isdigit():
            inputs.append(tensors[int(rest.pop(0))].astype(np.float64))
        if kind == 'act':
            return activate(inputs[0], rest)
        counts = {'act': len(rest), 'mode': 1}
        while rest:
            key = rest.pop(0)
            count = counts.get(key, 1)
            keys[key], rest = rest[:count], rest[count:]
        one = {key: value[0] for key, value in keys.items()}
        pads = [int(pad) for pad in one.get('pad', '0,0,0,0').split(',')]
        result = getattr(self, kind)(inputs, one, pads, tensors)
        return activate(result, keys.get('act', ['none']))

    def conv(self, inputs, keys, pads, _tensors):
        width, height = by(keys['kernel'])
        bias = self.take(int(keys['planes']))
        weights = self.take(int(keys['planes']), len(inputs[0]), height, width)
        patches = windows(padded(inputs[0], pads), (width, height), by(keys.get('stride', '1x1')))
        _, rows, columns = patches.shape[:3]
        flat = patches.transpose(0, 3, 4, 1, 2).reshape(-1, rows * columns)
        found = weights.reshape(len(bias), -1) @ flat + bias[:, None]
        return found.reshape(-1, rows, columns)

    def depthwise(self, inputs, keys, pads, _tensors):
        width, height = by(keys['kernel'])
        bias = self.take(len(inputs[0]))
        weights = self.take(len(inputs[0]), height, width)
        patches = windows(padded(inputs[0], pads), (width, height), by(keys.get('stride', '1x1')))
        return np.einsum('pyxij,pij->pyx', patches, weights) + bias[:, None, None]

    def transposed(self, inputs, keys, pads, _tensors):
        (width, height), (across, down) = by(keys['kernel']), by(keys['stride'])
        bias = self.take(int(keys['planes']))
        weights = self.take(int(keys['planes']), len(inputs[0]), height, width)
        _, rows, columns = inputs[0].shape
        y, x = (rows - 1) * down, (columns - 1) * across
        whole = np.zeros((len(bias), y + height, x + width)) + bias[:, None, None]
        for i in range(height):
            for j in range(width):
                whole[:, i:i + y + 1:down, j:j + x + 1:across] += np.einsum(
                    'nc,cyx->nyx', weights[:, :, i, j], inputs[0])
        top, left, bottom, right = pads
        return whole[:, top:whole.shape[1] - bottom, left:whole.shape[2] - right]

    def add(self, inputs, *_):
        return inputs[0] + inputs[1]

    def mul(self, inputs, *_):
        return inputs[0] * inputs[1]

    def concat(self, inputs, *_):
        return np.concatenate(inputs)

    def pad(self, inputs, keys, pads, _tensors):
        more = int(keys.get('planes', len(inputs[0]))) - len(inputs[0])
        return np.pad(padded(inputs[0], pads), ((0, more), (0, 0), (0, 0)))

    def maxpool(self, inputs, keys, pads, _tensors):
        whole = padded(inputs[0], pads, -np.inf)
        return windows(whole, by(keys['kernel']), by(keys.get('stride', '1x1'))).max(axis=(3, 4))

    def mean(self, inputs, *_):
        return inputs[0].mean(axis=(1, 2), keepdims=True)

    def depth_to_space(self, inputs, keys, *_):
        block = int(keys['block'])
        planes, rows, columns = inputs[0].shape
        found = inputs[0].reshape(block, block, planes // block ** 2, rows, columns)
        return found.transpose(2, 3, 0, 4, 1).reshape(-1, rows * block, columns * block)

    def resize(self, inputs, keys, _pads, tensors):
        _, rows, columns = inputs[0].shape
        if 'to' in keys:
            height, width = tensors[int(keys['to'])].shape[1:]
        else:
            width, height = columns * by(keys['by'])[0], rows * by(keys['by'])[1]
        found = inputs[0]
        for axis, size, length in ((1, height, rows), (2, width, columns)):
            if keys['mode'] == 'nearest':
                found = np.take(found, np.arange(size) * length // size, axis)
                continue
            at = np.clip((np.arange(size) + 0.5) * length / size - 0.5, 0, length - 1)
            first = np.minimum(at.astype(int), max(length - 2, 0))
            share = (at - first).reshape([-1 if i == axis else 1 for i in range(3)])
            found = np.take(found, first, axis) * (1 - share) + \
                np.take(found, np.minimum(first + 1, length - 1), axis) * share
        return found


def padded(tensor, pads, value=0.0):
    top, left, bottom, right = pads
    return np.pad(tensor, ((0, 0), (top, bottom), (left, right)), constant_values=value)


def windows(tensor, kernel, stride):
    """planes x rows x columns x kernel's height x kernel's width"""
    found = np.lib.stride_tricks.sliding_window_view(tensor, (kernel[1], kernel[0]), (1, 2))
    return found[:, ::stride[1], ::stride[0]]


def sigmoid(values):
    return 1 / (1 + np.exp(-np.clip(values, -80, 80)))


def activate(values, act):
    kind, numbers = act[0], [float(word) for word in act[1:]]
    if kind == 'softmax2':
        difference = values[0::2] - values[1::2]
        return np.stack([sigmoid(difference), sigmoid(-difference)], axis=1).reshape(values.shape)
    return {'none': lambda: values,
            'relu': lambda: np.maximum(values, 0),
            'relu6': lambda: np.clip(values, 0, 6),
            'clamp': lambda: np.clip(values, *numbers),
            'leaky': lambda: np.where(values > 0, values, np.float32(numbers[0]) * values),
            'hswish': lambda: values * np.clip(values + 3, 0, 6) / 6,
            'sigmoid': lambda: sigmoid(values)}[kind]()
