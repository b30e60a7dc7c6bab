# SPDX-License-Identifier: BSD-2-Clause
"""The libraries that evaluate models: LiteRT, OpenCV and onnxruntime."""
import contextlib
import os
import sys

import numpy as np

from halodetect import onnx
from halodetect.failure import CONFIG, Failure

PROVIDERS = {'cpu': 'CPUExecutionProvider', 'cuda': 'CUDAExecutionProvider',
             'tensorrt': 'TensorrtExecutionProvider'}


@contextlib.contextmanager
def quiet():
    """Hides what a library writes to standard error, unless it fails."""
    sys.stderr.flush()
    shown, hidden = os.dup(2), os.memfd_create('log', os.MFD_CLOEXEC)
    os.dup2(hidden, 2)
    try:
        yield
    except BaseException:
        os.write(shown, os.pread(hidden, 4096, 0))
        raise
    finally:
        os.dup2(shown, 2)
        os.close(shown)
        os.close(hidden)


class Lite:
    """A model for LiteRT. It is called with height x width x 3 floating-point numbers."""

    def __init__(self, options, file):
        path = options.installed.model(file)
        litert = options.installed.load('ai_edge_litert.interpreter')
        with quiet():
            self.net = litert.Interpreter(path, num_threads=options.threads)
            self.net.allocate_tensors()
        self.input = self.net.get_input_details()[0]['index']
        self.outputs = [output['index'] for output in self.net.get_output_details()]

    def __call__(self, image):
        self.net.set_tensor(self.input, image[None])
        self.net.invoke()
        return [self.net.get_tensor(output)[0] for output in self.outputs]


class OpenCV:
    """A model for OpenCV. It is called with 1 x 3 x height x width floating-point numbers."""

    def __init__(self, options, path, names=None):
        self.cv2 = options.installed.load('cv2')
        self.cv2.setNumThreads(options.threads)
        try:
            self.net = self.cv2.dnn.readNetFromONNX(path)
        except self.cv2.error:
            raise Failure(CONFIG, f'{path}: not a model that OpenCV can read') from None
        self.names = names or list(self.net.getUnconnectedOutLayersNames())

    def __call__(self, tensor):
        self.net.setInput(tensor)
        return self.net.forward(self.names)


class Onnx:
    """The same for onnxruntime."""

    def __init__(self, options, path, names=None):
        runtime = options.installed.load('onnxruntime')
        kind = options.runtime.partition(':')[2] or 'cpu'
        if PROVIDERS[kind] not in runtime.get_available_providers():
            raise Failure(CONFIG, f'the installed onnxruntime has no {PROVIDERS[kind]}: '
                                  'run halo-detect install --with onnxruntime-gpu')
        settings = runtime.SessionOptions()
        settings.intra_op_num_threads = options.threads
        settings.inter_op_num_threads = 1
        settings.log_severity_level = 3
        settings.add_session_config_entry('session.intra_op.allow_spinning', '0')
        with open(path, 'rb') as file:
            model = onnx.free_size(file.read())
        try:
            self.session = runtime.InferenceSession(model, settings, providers=[PROVIDERS[kind]])
        except Exception as error:  # of many types
            reason = str(error).strip().split('\n')[0]
            raise Failure(CONFIG, f'{path}: onnxruntime cannot load it: {reason}') from None
        if PROVIDERS[kind] not in self.session.get_providers():
            raise Failure(CONFIG, f'onnxruntime cannot use {PROVIDERS[kind]} on this machine')
        self.input, self.names = self.session.get_inputs()[0].name, names

    def __call__(self, tensor):
        return self.session.run(self.names, {self.input: tensor})


def load_onnx(options, path, names=None):
    return (OpenCV if options.runtime == 'opencv' else Onnx)(options, path, names)


def planes(image, swap=False):
    """1 x 3 x height x width numbers, of which the first plane is red, or blue if swap is true."""
    return np.ascontiguousarray((image[..., ::-1] if swap else image).transpose(2, 0, 1)[None],
                                dtype=np.float32)
