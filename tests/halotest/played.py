# SPDX-License-Identifier: BSD-2-Clause
"""Cameras that are not there (tests/standin/v4l2.h): a folder, and the environment that shows it."""
import functools
import os
import re
import shutil
import subprocess

from halotest import is_sanitized
from halotest.warm import HALOD, first_libraries

LIBRARY = os.environ.get('HALO_STANDIN_CAMERA', '')
WIDTH, HEIGHT = 96, 64


def other_libraries(folder):
    """For each library that makes bytes: its name, and a folder with another one of the same name and version."""
    text = subprocess.run(['ldd', HALOD], capture_output=True, text=True, check=True).stdout
    for path, name in re.findall(r'=> (/\S*/(lib(?:x264|avcodec|avutil)\.so\S*))', text):
        to = os.path.join(folder, name)
        os.mkdir(to)
        with open(path, 'rb') as file, open(os.path.join(to, name), 'wb') as copy:
            copy.write(file.read() + b'another one')
        yield name.split('.')[0], to


class Played:
    def __init__(self, folder):
        self.folder = os.path.join(folder, 'played')
        os.makedirs(os.path.join(self.folder, 'dev'))
        self.control()

    def environment(self):
        return {'LD_PRELOAD': first_libraries() + LIBRARY, 'HALO_STANDIN_V4L2': self.folder}

    def environment_with(self, loopback):
        """With virtual cameras in the same folder, played by that library."""
        ret = {**self.environment(), 'HALO_STANDIN_LOOPBACK': self.path('dev'),
               'LD_PRELOAD': first_libraries() + loopback + ' ' + LIBRARY}
        if is_sanitized():
            ret['ASAN_OPTIONS'] = os.environ.get('ASAN_OPTIONS', '') + ':verify_asan_link_order=0'
        return ret

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def write(self, name, text):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path + '~', 'w', encoding='utf-8') as file:
            file.write(text)
        os.rename(path + '~', path)

    def control(self, node=None, **keys):
        """What it does from now on."""
        keys = {'formats': f'yu12:{WIDTH}x{HEIGHT}@50', **keys}
        self.write('control' + (f'-{node}' if node else ''),
                   ''.join(f'{key}={value}\n' for key, value in keys.items()))

    def plug(self, number=0, name='Desk Camera', port='1-2.3', serial='AB12'):
        usb = f'sys/devices/usb/{port}'
        for file, text in (('idVendor', '046d'), ('idProduct', '0825'), ('serial', serial),
                           (f'{port}:1.0/x', '')):
            self.write(f'{usb}/{file}', text + '\n')
        node = f'sys/class/video4linux/video{number}'
        self.write(f'{node}/name', name + '\n')
        self.write(f'{node}/index', '0\n')
        os.symlink(f'../../../devices/usb/{port}/{port}:1.0', self.path(node, 'device'))
        self.write(f'dev/video{number}', '')

    def unplug(self, number=0):
        self.control(f'video{number}', gone=1)
        os.unlink(self.path('dev', f'video{number}'))
        shutil.rmtree(self.path('sys/class/video4linux', f'video{number}'))

    def forget(self, number=0):
        """The node can be a camera again."""
        os.unlink(self.path(f'control-video{number}'))

    def log(self, what=''):
        if not os.path.exists(self.path('log')):
            return []
        with open(self.path('log'), encoding='utf-8') as file:
            return [line for line in file.read().splitlines() if what in line]


@functools.cache
def luma_row(shift, odd):
    return bytes(16 + ((x * 3 + shift) & 127) + ((x ^ odd) & 1) * 80 for x in range(WIDTH))


@functools.cache
def chroma():
    return bytes([60 + (x + y * 2) % 64 for y in range(HEIGHT // 2) for x in range(WIDTH // 2)]
                 + [200 - (x * 2 + y) % 64 for y in range(HEIGHT // 2) for x in range(WIDTH // 2)])


def draw(n):
    """Picture n of a camera with yu12."""
    return b''.join(luma_row((y * 5 + n) & 127, y & 1) for y in range(HEIGHT)) + chroma()
