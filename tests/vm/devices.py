# SPDX-License-Identifier: BSD-2-Clause
# The cameras of the virtual machine: vivid, v4l2loopback, and our own of tests/vm/uvcsim.c.
import contextlib
import glob
import os
import subprocess

import v4l2
from halotest import FFMPEG, call, wait_until

HERE = os.path.dirname(os.path.abspath(__file__))
UVCSIM = os.environ.get('UVCSIM', '')
JPEGS = os.environ.get('UVCSIM_PICTURES', '')
CHECKERS = '1x1 Checkers'  # vivid's pattern whose neighbours differ as much as can be
HDMI, WEBCAM = 3, 0        # vivid's types of input


def load(module, **parameters):
    """Anew, with these parameters; it must be in use by nobody."""
    call(['modprobe', '-r', module])
    call(['modprobe', module, *(f'{name}={value}' for name, value in parameters.items())])
    settle()


def settle():
    call(['udevadm', 'settle', '--timeout=20'])


def nodes():
    return {path: node_name(path) for path in sorted(glob.glob('/dev/video*'))}


def node_name(path):
    with contextlib.suppress(OSError):
        with open(f'/sys/class/video4linux/{os.path.basename(path)}/name', encoding='utf-8') as file:
            return file.read().strip()
    return ''


def v4l2_ctl(node, *arguments, code=0):
    """What v4l2-ctl prints; code None: whichever way it ends."""
    done = subprocess.run(['v4l2-ctl', '-d', node, *arguments], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)
    if code is not None and done.returncode != code:
        raise AssertionError(f'v4l2-ctl {arguments}: exit {done.returncode}\n{done.stdout}')
    return done.stdout


def controls(node):
    """{name: value} of those that have one."""
    found = {}
    for line in v4l2_ctl(node, '--list-ctrls').splitlines():
        name, _, rest = line.strip().partition(' ')
        if 'value=' in rest:
            found[name] = int(rest.split('value=')[1].split()[0])
    return found


def set_control(node, name, value):
    """Without a process of its own, whose start takes longer than some of what is measured."""
    with v4l2.Device(node) as device:
        device.set_control(name, value)


def menu(node, name):
    """{words: value} of a control that is a list of words."""
    found, inside = {}, False
    for line in v4l2_ctl(node, '--list-ctrls-menus').splitlines():
        if ' 0x' in line:
            inside = line.split()[0] == name
        elif inside and ':' in line:
            value, words = line.strip().split(': ', 1)
            found[words] = int(value)
    return found


class Vivid:
    """One capture node of the kernel's camera for tests; in 640x480 at 25 pictures a second, with
    the canary as its picture."""

    WIDTH, HEIGHT = 640, 480

    def __init__(self, kind=WEBCAM):
        load('vivid', n_devs=1, node_types='0x1', num_inputs=1, input_types=kind)
        self.node = next(path for path, name in nodes().items() if name.startswith('vivid'))
        if kind == WEBCAM:
            v4l2_ctl(self.node, '--set-fmt-video=width=640,height=480,pixelformat=YUYV',
                     '--set-parm=25')
        self.control('test_pattern', menu(self.node, 'test_pattern')[CHECKERS])
        self.control('osd_text_mode', 2)  # no letters over it

    def control(self, name, value=1):
        set_control(self.node, name, value)

    def close(self):
        call(['modprobe', '-r', 'vivid'])


class Loopback:
    """A virtual camera."""

    def __init__(self, exclusive, number=40):
        load('v4l2loopback', video_nr=number, card_label='Virtual', exclusive_caps=int(exclusive))
        self.node = f'/dev/video{number}'

    def close(self):
        call(['modprobe', '-r', 'v4l2loopback'])


class UsbCamera:
    """A camera on the USB, which can be pulled out."""

    def __init__(self, serial='SIM0001', port=0):
        call(['modprobe', 'vhci_hcd'])
        call(['modprobe', 'uvcvideo', 'nodrop=1'])  # what is flagged comes, and is flagged
        self.serial = serial
        self.process = subprocess.Popen(
            [UVCSIM, '--serial', serial, '--port', str(port), '--pictures', JPEGS],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        self.expect('plug')
        self.wait_node()

    def expect(self, words):
        said = self.process.stdout.readline().rstrip('\n')
        if said != words:
            raise AssertionError(f'uvcsim said "{said}", not "{words}"')

    def tell(self, words):
        self.process.stdin.write(words + '\n')
        self.expect(words)

    def sent(self):
        """How many pictures the host has got of it."""
        self.process.stdin.write('sent\n')
        return int(self.process.stdout.readline().split()[1])

    def unplug(self):
        node = self.node
        self.tell('unplug')
        if not wait_until(lambda: not os.path.exists(node)):
            raise AssertionError(f'{node} stays')

    def plug(self):
        self.tell('plug')
        self.wait_node()

    @property
    def link(self):
        return f'/dev/v4l/by-id/usb-halod_Simulated_camera_{self.serial}-video-index0'

    @property
    def node(self):
        return os.path.realpath(self.link)

    def wait_node(self):
        if not wait_until(lambda: os.path.exists(self.link)):
            raise AssertionError(f'the camera {self.serial} does not appear')
        settle()

    def close(self):
        self.process.stdin.close()
        self.process.wait(10)
        self.process.stdout.close()


# ---- pictures ----

def luma_of(data):
    """Of YUYV."""
    return data[0::2]


def detail(luma, width, height):
    """By how much neighbours differ at the canary's frequency: about 200 in an unfiltered picture,
    nearly 0 in one that was blurred and in a card."""
    total = rows = 0
    for y in range(0, height, 8):
        row = luma[y * width:(y + 1) * width]
        total += abs(sum(row[0::2]) - sum(row[1::2])) / (width / 2)
        rows += 1
    return total / rows


def ffmpeg_pictures(node, count, *options, size='640x480'):
    """Of a camera as ffmpeg reads it: count pictures of luma."""
    width, height = map(int, size.split('x'))
    raw = call([FFMPEG, '-nostdin', '-v', 'error', '-f', 'v4l2', *options, '-i', node, '-frames:v',
                count, '-vf', 'format=yuv420p,extractplanes=y', '-f', 'rawvideo', '-'])
    return [raw[i:i + width * height] for i in range(0, len(raw), width * height)]
