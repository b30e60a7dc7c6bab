# SPDX-License-Identifier: BSD-2-Clause
"""A session with PipeWire and no display, and programs that play its cameras."""
import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time

from halotest import PATIENCE, wait_until

CLIENT = os.environ.get('PIPEWIRE_CLIENT', '')
PROGRAMS = ('dbus-daemon', 'pipewire', 'wireplumber', 'pw-dump')


def missing():
    """What the tests cannot do without."""
    return [program for program in PROGRAMS if not shutil.which(program)] + (
        [] if CLIENT else ['PIPEWIRE_CLIENT'])


def arrays(text):
    """What pw-dump prints: a list of objects, and further lists of what changed meanwhile."""
    ret, decoder = [], json.JSONDecoder()
    while text := text.lstrip():
        try:
            some, end = decoder.raw_decode(text)
        except ValueError:  # the server has just ended
            break
        ret, text = ret + some, text[end:]
    return ret


class Session:
    """dbus-daemon, pipewire and wireplumber in a folder of their own, which no other session sees.
    Its path is short, because sockets have short names."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix='halo-pw-', dir='/tmp')
        os.chmod(self.folder, 0o700)
        kept = {k: v for k, v in os.environ.items() if not k.startswith('PIPEWIRE_')
                and k not in ('DISPLAY', 'WAYLAND_DISPLAY')}
        bus = f'unix:path={self.folder}/bus'
        self.variables = {'XDG_RUNTIME_DIR': self.folder, 'DBUS_SESSION_BUS_ADDRESS': bus,
                          'HOME': self.folder, 'XDG_CONFIG_HOME': self.folder + '/config',
                          'XDG_STATE_HOME': self.folder + '/state'}
        self.environment = {**kept, **self.variables}
        self.running = {}
        self.begin('dbus-daemon', '--session', '--nofork', '--address=' + bus)
        self.wait_for('bus')
        self.begin_pipewire()
        self.begin('wireplumber')

    def path(self, name):
        return os.path.join(self.folder, name)

    def wait_for(self, name):
        if not wait_until(lambda: os.path.exists(self.path(name))):
            raise AssertionError(f'no {name}: {self.logged()}')

    def begin(self, program, *arguments):
        with open(self.path(os.path.basename(program) + '.log'), 'ab') as log:
            self.running[program] = subprocess.Popen([program, *arguments], stdout=log, stderr=log,
                                                     stdin=subprocess.DEVNULL,
                                                     env=self.environment)

    def begin_pipewire(self):
        self.begin('pipewire')
        self.wait_for('pipewire-0')

    def stop(self, program, number=signal.SIGTERM):
        process = self.running.pop(program)
        process.send_signal(number)
        process.wait(20 * PATIENCE)

    def restart(self, *programs, number=signal.SIGTERM):
        for program in programs:
            self.stop(program, number)
        for program in reversed(programs):
            if program == 'pipewire':
                self.begin_pipewire()
            else:
                self.begin(program)

    def nodes(self):
        """{node.name: properties} of all nodes that are cameras."""
        done = subprocess.run(['pw-dump'], env=self.environment, capture_output=True, text=True,
                              timeout=20 * PATIENCE, check=False)
        listed = arrays(done.stdout)
        found = (one.get('info', {}).get('props', {}) for one in listed
                 if one.get('type') == 'PipeWire:Interface:Node')
        return {props['node.name']: props for props in found
                if props.get('media.class') == 'Video/Source'}

    def logged_by(self, program, words):
        """The lines of one program with these words."""
        with open(self.path(program + '.log'), errors='replace') as file:
            return ''.join(line for line in file if words in line)

    def logged(self):
        text = ''
        for program in PROGRAMS:
            if os.path.exists(self.path(program + '.log')):
                with open(self.path(program + '.log'), errors='replace') as file:
                    text += file.read()
        return text

    def end(self):
        for program in list(reversed(self.running)):
            self.stop(program, signal.SIGKILL)
        shutil.rmtree(self.folder, ignore_errors=True)


class Player(threading.Thread):
    """Plays a node with tests/daemon/view/pipewire-client.c: pictures as (arrival, capture, form,
    bytes), with times in seconds of the monotonic clock."""

    def __init__(self, session, node, form='any', frames=0, rounds=1):
        super().__init__(daemon=True)
        self.pictures, self.size = [], None
        self.process = subprocess.Popen([CLIENT, node, form, str(frames), str(rounds)],
                                        env=session.environment, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE)
        self.start()

    def run(self):
        while line := self.process.stdout.readline():
            _, form, width, height, taken, came, size = line.decode().split()
            self.size = (int(width), int(height))
            data = self.process.stdout.read(int(size))
            if len(data) < int(size):
                break  # closed meanwhile
            self.pictures.append((int(came) / 1e9, int(taken) / 1e9, form, data))

    def since(self, when):
        return [p for p in list(self.pictures) if p[0] >= when]

    def wait(self, wanted, since=0, timeout=20):
        """The first picture since then for which wanted(bytes) is true, or None."""
        def find():
            return next((p for p in self.since(since) if wanted(p[3])), None)
        wait_until(find, timeout)
        return find()

    def gaps(self, since=0):
        times = [p[0] for p in self.since(since)]
        return [b - a for a, b in zip(times, times[1:])]

    def finish(self, timeout=60):
        """The exit status of one that ends by itself."""
        status = self.process.wait(timeout * PATIENCE)
        self.join()
        return status

    def close(self):
        self.process.kill()
        self.process.wait()
        self.join()
        self.process.stdout.close()
        self.process.stderr.close()


def now():
    return time.monotonic()
