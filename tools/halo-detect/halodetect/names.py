# SPDX-License-Identifier: BSD-2-Clause
"""The models and the files that they need. None: the file is not installed by halo-detect."""

FACES = {'centerface': 'centerface.onnx',
         'blazeface': 'face_detection_full_range_sparse.tflite',
         'blazeface-short': 'face_detection_short_range.tflite',
         'haar': None}
PEOPLE = {'selfie': ('selfie_segmentation_landscape.tflite', 'selfie_segmentation.tflite')}
LAYOUTS = 'yunet', 'scrfd'
RUNTIMES = 'opencv', 'onnxruntime', 'onnxruntime:cuda', 'onnxruntime:tensorrt'


def files(model):
    """Those of a model, as far as halo-detect installs them."""
    found = PEOPLE.get(model) or (FACES.get(model),)
    return [file for file in found if file]


def best(installed):
    """The face model that is used if none is named."""
    return next((name for name in ('centerface', 'blazeface') if installed.has(FACES[name])),
                'haar')
