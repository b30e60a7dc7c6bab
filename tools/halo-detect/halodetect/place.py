# SPDX-License-Identifier: BSD-2-Clause
"""Where `halo-detect install` puts modules and models, and where detectors look for them.

What is installed is executed by a program that sees unfiltered frames. It is therefore only used
if nobody but root or the user who runs the program could have written it."""
import hashlib
import os
import stat
import sys

from halodetect.failure import CONFIG, Failure

SYSTEM = '/opt/halo-detect'
STAMP = 'installed.json'
# Ids of accounts that belong to people. Services must not load programs from their home directory,
# which is often a folder that all processes of the service can write to.
PEOPLE = range(1000, 60000)


def own():
    """The user's folder; None for root and for accounts of services."""
    if os.geteuid() not in PEOPLE:
        return None
    data = os.environ.get('XDG_DATA_HOME') or os.path.expanduser('~/.local/share')
    return os.path.join(data, 'halo-detect') if os.path.isabs(data) else None


def default():
    """Where to install."""
    if os.geteuid() == 0:
        return SYSTEM
    folder = own()
    if not folder:
        raise Failure(CONFIG, f'user {os.geteuid()} is not the account of a person: run '
                              'halo-detect install as root')
    return folder


def distrusted(path):
    """Why others could change what is at this path, in words that follow the path; or None."""
    try:
        found = os.lstat(path)
    except OSError as error:
        return error.strerror
    if found.st_uid not in (0, os.geteuid()):
        return f'belongs to user {found.st_uid}'
    shared = found.st_mode & 0o022 and not stat.S_ISLNK(found.st_mode)
    if shared and not found.st_mode & stat.S_ISVTX:
        return 'can be written to by other users'
    return None


def distrusted_parent(path):
    """(folder, why) if others could replace what is at this path; or None."""
    parent = os.path.dirname(os.path.realpath(path))
    while True:
        why = distrusted(parent)
        if why:
            return parent, why
        if parent == '/':
            return None
        parent = os.path.dirname(parent)


class Installed:
    """The folder of an installation."""

    def __init__(self, folder=None):
        self.used = hashlib.sha256()
        self.searched = [folder] if folder else list(filter(None, (own(), SYSTEM)))
        self.folder = next((place for place in self.searched
                            if os.path.exists(os.path.join(place, STAMP))), None)
        if self.folder:
            why = distrusted(self.folder)
            if why:
                raise Failure(CONFIG, f'{self.folder} {why}: remove it and run halo-detect install')

    def has(self, name):
        return bool(self.folder) and os.path.exists(os.path.join(self.folder, 'models', name))

    def model(self, name):
        """The path of a model's file."""
        if not self.has(name):
            raise Failure(CONFIG, f'the model {name} is not installed in '
                                  f'{" or ".join(self.searched)}: run halo-detect install')
        return self.note(os.path.join(self.folder, 'models', name))

    def note(self, path):
        """Counts a file as used. Returns the path."""
        with open(path, 'rb') as file:
            self.used.update(file.read())
        return path

    def note_version(self, module):
        """Counts a module as used. Returns the module."""
        package = sys.modules[module.__name__.partition('.')[0]]
        self.used.update(str(getattr(package, '__version__', '')).encode())
        return module

    def version(self):
        """Short, and another if the models or modules that are used are others."""
        return self.used.hexdigest()[:12]

    def modules(self):
        """The folder of modules that this Python can load, or None."""
        if not self.folder:
            return None
        folder = os.path.join(self.folder, f'python{sys.version_info[0]}.{sys.version_info[1]}')
        return folder if os.path.isdir(folder) else None

    def load(self, name):
        """Imports a module, preferably an installed one."""
        folder = self.modules()
        if folder and folder not in sys.path:
            sys.path.insert(0, folder)
        return self.note_version(imported(name, self))


def imported(name, installed=None):
    try:
        __import__(name)
        return sys.modules[name]
    except ImportError as error:
        wanted = name.partition('.')[0]
        where = f' ({error})' if getattr(error, 'name', None) != wanted else ''
        if installed and installed.folder and not installed.modules():
            where = (f': {installed.folder} was installed for another version of Python than '
                     f'{sys.version_info[0]}.{sys.version_info[1]}')
        extra = ' --with onnxruntime' if wanted == 'onnxruntime' else ''
        raise Failure(CONFIG, f'the Python module {wanted} is missing{where}: run '
                              f'halo-detect install{extra}') from None
