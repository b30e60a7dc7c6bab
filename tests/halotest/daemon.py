# SPDX-License-Identifier: BSD-2-Clause
# Helpers of the daemon's tests: the daemon itself, its control socket, and clients of its streams.
"""The program under test is $HALOD. HALOTEST_ROUNDS says how often what is repeated is repeated."""
import contextlib
import inspect
import json
import os
import re
import signal
import socket
import subprocess
import threading
import time

from halotest import (ALONE, FFMPEG, HALOD, PATIENCE, HaloTest, call, descriptors,  # noqa: F401
                      free_port, halod_environment, is_sanitized, main, memory_kib, wait_until, warm)
from halotest.control import Client

HALOCTL = os.environ.get('HALOCTL', '')
STANDIN_ENGINE_DAEMON = os.environ.get('STANDIN_ENGINE_DAEMON', '')
ROUNDS = int(os.environ.get('HALOTEST_ROUNDS', 3 if ALONE == 'no' else 30))
WIDTH, HEIGHT = 160, 120  # of what daemons filter while a test does something else
# For tests that stop an engine, and continue it: however long they take, it is not killed for its
# silence. (A build without faults does kill it, after three seconds.)
UNNOTICED = {'HALOD_FAULT': 'silence:1+'}
# Beside other tests engines of ours may be late with anything, of which no daemon takes notice unless
# its test says that it has no faults: ''.
HURRIED = 'silence:1+,answer:1+,exit:1+' if ALONE == 'no' else ''  # but for snapshots
PATIENT = HURRIED and HURRIED + ',snapshot:1+'


def costs_of(pid):
    """What a process has of its own, as the kernel counts it. Rings in shared memory are not: their
    pages come with the first packets that lie there."""
    with open(f'/proc/{pid}/status') as file:
        status = dict(line.split(':', 1) for line in file)
    return {'name': status['Name'].strip(), 'descriptors': len(os.listdir(f'/proc/{pid}/fd')),
            'threads': int(status['Threads']), 'KiB': int(status['RssAnon'].split()[0])}


def links(pid):
    """What its descriptors are, by number; those that are closed meanwhile are left out."""
    found = {}
    for number in os.listdir(f'/proc/{pid}/fd'):
        try:
            found[number] = os.readlink(f'/proc/{pid}/fd/{number}')
        except OSError:
            pass
    return found


def process_state(pid):
    """Of a process, as the kernel names it: T if it is stopped, Z or X if it has ended."""
    try:
        with open(f'/proc/{pid}/stat', errors='replace') as file:
            return file.read().rsplit(')', 1)[1].split()[0]
    except OSError:
        return 'X'


def is_alive(pid):
    return process_state(pid) not in 'ZX'


class Refused(Exception):
    """An error that the daemon answered; .error is its name."""

    def __init__(self, answer):
        super().__init__(answer['parameters'].get('what', answer['error']))
        self.error = answer['error'].rsplit('.', 1)[-1]
        self.parameters = answer['parameters']


class Control(Client):
    """One connection to the control socket, on which errors are exceptions."""

    def __init__(self, path, timeout=60):
        super().__init__(path, timeout)

    def receive(self):
        answer = super().receive()
        if answer is None:
            raise EOFError('the control socket was closed')
        if 'error' in answer:
            raise Refused(answer)
        return answer['parameters']

    def __call__(self, method, **parameters):
        return self.call(method, parameters)


class Daemon:
    """halod -c with settings (a dict that is written as YAML, which JSON is)."""

    def __init__(self, folder, streams, code=0, environment=None, wrapper=(), fds=(),
                 program=HALOD, patient=PATIENT, **more):
        self.folder, self.wanted_code = folder, code
        self.config = os.path.join(folder, 'halod.yaml')
        self.path = os.path.join(folder, 'control.sock')
        self.write(streams, **more)
        words = {**halod_environment(), **(environment or {})}
        if program == HALOD and words.get('HALOD_FAULT') != '':
            words['HALOD_FAULT'] = ','.join(filter(None, (words.get('HALOD_FAULT'), patient)))
        self.log = os.path.join(folder, 'log')
        with open(self.log, 'wb') as log:
            self.process = subprocess.Popen(
                [*wrapper, program, '-c', self.config], pass_fds=fds, stdin=subprocess.DEVNULL,
                stdout=log, stderr=log, cwd=folder, env=words)
        if not wait_until(lambda: 'ready' in self.logged() or self.process.poll() is not None) or \
                self.process.poll() is not None:
            raise AssertionError('the daemon does not start:\n' + self.logged())
        self.control = Control(self.path)
        self.control('List')  # those that never call are cut

    def write(self, streams, **more):
        with open(self.config + '.new', 'w') as file:
            json.dump({'version': 1, 'control': {'path': self.path}, **more,
                       'streams': streams}, file, indent=1)
        os.rename(self.config + '.new', self.config)

    def logged(self):
        with open(self.log, errors='replace') as file:
            return file.read()

    def stands(self):
        """How it stands, for who waited for something in vain."""
        try:
            with Control(self.path) as control:
                status = json.dumps(control('Status')['status'])
        except OSError:
            status = f'it does not answer, and its exit status is {self.process.poll()}'
        return f'{status}\n{self.logged()[-8000:]}'

    def status(self, name=None):
        if name:
            return self.control('Status', name=name)['stream']
        return self.control('Status')['status']

    def state(self, name):
        return self.status(name)['state']

    def engines(self):
        return {engine['name']: engine for engine in self.status()['engines']}

    def pids(self):
        return [engine['pid'] for engine in self.status()['engines'] if engine['pid']]

    def kill_engine_of(self, name, number=signal.SIGKILL):
        """Of an engine that is not there the process is 0, which for kill() is the caller's group."""
        status = self.status()
        engine = {stream['name']: stream['engine'] for stream in status['streams']}[name]
        pid = {one['name']: one['pid'] for one in status['engines']}.get(engine)
        if not pid:
            raise AssertionError(f'{name} has no engine: {status}\n{self.logged()}')
        os.kill(pid, number)

    def filtered_anew(self, name):
        """(pictures that were filtered, when that was told): numbers come every half second."""
        before, end = self.status(name)['filtered'], time.monotonic() + 30 * PATIENCE
        while (now := self.status(name)['filtered']) == before and time.monotonic() < end:
            time.sleep(0.01)
        return now, time.monotonic()

    def rate(self, name, seconds):
        """Pictures a second over at least these, from one telling to another."""
        first, begun = self.filtered_anew(name)
        time.sleep(seconds)
        last, ended = self.filtered_anew(name)
        return (last - first) / (ended - begun)

    def wait_pictures(self, name, count, timeout=60):
        """Until so many more are filtered: a while of the stream's time, which takes no less of the
        clock's, and on a busy machine more."""
        wanted = self.status(name)['filtered'] + count
        if not wait_until(lambda: self.status(name)['filtered'] >= wanted, timeout):
            raise AssertionError(f'{name} has not filtered {wanted} pictures: {self.stands()}')

    def runs(self, name):
        """Also where it is late now and then, because the machine is busy."""
        return self.state(name) in ('running', 'overloaded')

    def wait_state(self, name, state, timeout=60):
        """A stream of which the machine is late runs; whether it recovers is another question."""
        wanted = ('running', 'overloaded') if state == 'running' else (state,)
        if not wait_until(lambda: self.state(name) in wanted, timeout):
            raise AssertionError(f'{name} is not {state}: {self.stands()}')

    def descriptors(self):
        return descriptors(self.process.pid)

    def memory(self):
        """Resident KiB of the supervisor."""
        return memory_kib(self.process.pid)

    def stop(self, number=signal.SIGTERM):
        self.control.close()
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            return self.process.wait(60 * PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise


class Reader(threading.Thread):
    """A client of an output socket that notes when bytes came."""

    def __init__(self, path):
        super().__init__(daemon=True)
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.times, self.size, self.ended = [], 0, False
        self.start()

    def run(self):
        try:
            while True:
                data = self.socket.recv(1 << 16)
                if not data:
                    break
                self.times.append(time.monotonic())
                self.size += len(data)
        except OSError:
            pass
        self.ended = True

    def gaps(self, since=0):
        times = [t for t in list(self.times) if t >= since]
        times = [since] * bool(since) + times + [time.monotonic()]
        return [b - a for a, b in zip(times, times[1:])]

    def longest_gap(self, since=0):
        return max(self.gaps(since))

    def close(self):
        if self.socket.fileno() >= 0:
            self.socket.shutdown(socket.SHUT_RDWR)
            self.join(5)
            self.socket.close()


class Keeper(Reader):
    """A client that keeps what came."""

    def __init__(self, path):
        self.data, self.begun = bytearray(), time.monotonic()
        super().__init__(path)

    def run(self):
        while data := self.socket.recv(1 << 16):
            self.times.append(time.monotonic())
            self.size += len(data)
            self.data += data


class Watcher(threading.Thread):
    """ffmpeg on an output socket: notes when which pictures came. A picture is its 12x8 thumbnail;
    cards are of one colour above and below their words, test patterns are not."""

    SIZE = 12 * 8

    def __init__(self, path, *options):
        super().__init__(daemon=True)
        self.process = warm.Popen(
            [FFMPEG, '-nostdin', '-v', 'error', '-fflags', 'nobuffer', '-flags', 'low_delay',
             '-threads', '1', *options, '-i', 'unix:' + path, '-an', '-fps_mode', 'passthrough',
             '-vf', 'scale=12:8:flags=area', '-pix_fmt', 'gray', '-f', 'rawvideo',
             '-flush_packets', '1', '-'],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.pictures = []  # (time, thumbnail)
        self.start()

    def run(self):
        while True:
            data = self.process.stdout.read(self.SIZE)
            if len(data) < self.SIZE:
                return
            self.pictures.append((time.monotonic(), data))

    @staticmethod
    def is_card(picture):
        edges = picture[:12] + picture[-12:]
        return max(edges) - min(edges) <= 4

    def first(self, card, since=0):
        """When the first card (or other picture) came after since, or None."""
        for when, picture in list(self.pictures):
            if when >= since and self.is_card(picture) == card:
                return when
        return None

    def wait(self, card, since=0, timeout=60):
        """When it came."""
        if not wait_until(lambda: self.first(card, since), timeout):
            shown = ''.join('.c'[self.is_card(picture)] for _, picture in self.pictures[-200:])
            raise AssertionError(f'no {"card" if card else "picture"} since {since}, but {shown}; '
                                 f'ffmpeg: {self.process.poll()}')
        return self.first(card, since)

    def is_alive_process(self):
        return self.process.poll() is None

    def close(self):
        self.process.terminate()
        self.process.wait()
        self.join(5)
        self.process.stdout.close()
        self.process.stderr.close()


class DaemonTest(HaloTest):
    """Tests with a daemon of their own: start() it."""

    daemons = ()

    def until(self, condition, what=None, timeout=60):
        """Waits for it. If it does not come true, what, or its result, is told, and how daemons stand."""
        if wait_until(condition, timeout):
            return
        with contextlib.suppress(OSError, TypeError):
            condition = ' '.join(inspect.getsource(condition).split())
        self.fail('\n'.join(map(str, [f'in vain: {condition}', what() if callable(what) else what or '',
                                      *(daemon.stands() for daemon in self.daemons)])))

    def stream(self, name='one', suffix='ts', **more):
        """On the CPU, whose engine is named so: auto depends on the build."""
        return {'input': f'test:size={WIDTH}x{HEIGHT}:rate=25', 'filters': 'gblur=sigma=2',
                'backend': 'cpu',
                'outputs': [{'unix': self.path(f'{name}.{suffix}')}], **more}

    def start(self, streams=None, **more):
        daemon = Daemon(self.folder, streams or {'one': self.stream()}, **more)
        self.daemons += (daemon,)
        self.addCleanup(self.end, daemon)
        return daemon

    def start_with_engine(self, engine, streams=None, environment=None, **more):
        """A daemon whose engines are this program, which is told the version to name."""
        about = subprocess.run([HALOD, '--version'], capture_output=True, text=True, check=True)
        return self.start(streams, program=STANDIN_ENGINE_DAEMON, environment={
            'STANDIN_ENGINE': engine, 'STANDIN_FOLDER': self.folder,
            'STANDIN_VERSION': re.search(r'halod (\S+)', about.stdout)[1],
            **(environment or {})}, **more)

    def end(self, daemon):
        if daemon.process.poll() is None:
            self.assertEqual(daemon.stop(), daemon.wanted_code, daemon.logged())
        self.assertNotIn('Sanitizer', daemon.logged())

    def ask(self, daemon, method, **parameters):
        """The connection on which the answer will come, once the daemon has read the call."""
        other, events = Control(daemon.path), Control(daemon.path)
        self.addCleanup(other.close)
        self.addCleanup(events.close)
        events.send('Events', {}, more=True)
        events.receive()
        other.send(method, parameters)
        while events.receive().get('event', {}).get('event') != 'asked':
            pass
        return other

    def fetch(self, path, name='http.sock'):
        """The body of an answer over HTTP, from a Unix socket."""
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(60 * PATIENCE)
            client.connect(self.path(name))
            client.sendall(f'GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n'.encode())
            data = b''
            while chunk := client.recv(1 << 16):
                data += chunk
        return data.split(b'\r\n\r\n', 1)[1].decode()

    def reader(self, name):
        reader = Reader(self.path(name))
        self.addCleanup(reader.close)
        self.until(lambda: reader.size > 0, f'nothing comes from {name}')
        return reader

    def watcher(self, name, *options):
        watcher = Watcher(self.path(name), *options)
        self.addCleanup(watcher.close)
        return watcher
