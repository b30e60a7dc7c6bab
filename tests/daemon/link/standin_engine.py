#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# An engine that does what $STANDIN_DOES says: words with commas between, each a misdeed or an end.
# A file $STANDIN_FOLDER/honest makes it run the real engine, $HALOD, instead.
import fcntl
import json
import os
import random
import select
import signal
import socket
import struct
import sys
import termios
import threading
import time

FOLDER = os.environ['STANDIN_FOLDER']
VERSION = os.environ['STANDIN_VERSION']


def memfd(size, seal=True):
    fd = os.memfd_create('x', os.MFD_ALLOW_SEALING)
    os.ftruncate(fd, size)
    if seal:
        fcntl.fcntl(fd, 1033, 2 | 4 | 1)  # F_ADD_SEALS: SHRINK, GROW, SEAL
    return fd


class Engine:
    def __init__(self):
        self.link = socket.socket(fileno=3)
        self.link.setblocking(True)
        self.stream = None
        self.at_end = lambda: None
        self.detectors = []
        with open(os.path.join(FOLDER, 'starts')) as file:
            self.number = len(file.readlines())

    def tell(self, *fds, **words):
        self.raw(json.dumps(words).encode(), fds)

    def raw(self, data, fds=()):
        if fds:
            socket.send_fds(self.link, [data], list(fds))
        else:
            self.link.send(data)

    def wait_start(self):
        while True:
            data = self.link.recv(1 << 18)
            if not data:
                sys.exit(0)
            message = json.loads(data)
            if message['do'] == 'start':
                self.stream = message['stream']
                return
            if message['do'] == 'gpus':
                self.survey()
            if message['do'] == 'quit':
                sys.exit(0)

    def wait_for(self, *links):
        """Until one of them can be read; who waits says that it lives."""
        while not (ready := select.select(links, [], [], 0.3)[0]):
            self.tell(tell='stats', streams={})
        return ready

    def survey(self):
        """The GPUs of the machine."""
        for gpus in json.loads(os.environ.get('STANDIN_GPUS', '[[]]')):
            self.tell(tell='gpus', gpus=gpus)

    # ---- what engines do, but for one thing ----

    def serve(self, at_set):
        """Notes each start's settings; at_set(message) says whether it goes on."""
        while self.wait_for(self.link):
            message = json.loads(self.link.recv(1 << 18) or b'{"do": "quit"}')
            self.stream = message.get('stream', self.stream)
            if message['do'] == 'quit':
                sys.exit(0)
            if message['do'] == 'start':
                with open(os.path.join(FOLDER, 'settings'), 'a') as file:
                    print(message['settings'], file=file)
                self.running()
            elif message['do'] == 'stop':
                self.at_end()
                self.tell(tell='gone', stream=self.stream)
            elif message['do'] == 'set':
                at_set(message)
            elif message['do'] == 'gpus':
                self.survey()

    def serve_without_sets(self):
        self.serve(lambda message: self.tell(tell='set', stream=self.stream, id=message['id'],
                                             why='not these'))

    def serve_until_set(self):
        self.serve(lambda message: os._exit(1))

    def serve_one_at_a_time(self):
        """As on a GPU with memory for one stream. Notes each start."""
        inside = []
        while self.wait_for(self.link):
            message = json.loads(self.link.recv(1 << 18) or b'{"do": "quit"}')
            stream = message.get('stream')
            if message['do'] == 'start':
                with open(os.path.join(FOLDER, 'settings'), 'a') as file:
                    print(message['settings'], file=file)
            if message['do'] == 'quit':
                sys.exit(0)
            elif message['do'] == 'start' and inside:
                self.tell(tell='state', stream=stream, state='failed', device=False,
                          why="the GPU's memory is full", lack='gpu-memory')
            elif message['do'] == 'start':
                inside = [stream]
                self.tell(tell='state', stream=stream, state='running', why='', device=False)
            elif message['do'] == 'stop':
                inside = [name for name in inside if name != stream]
                self.tell(tell='gone', stream=stream)

    def serve_slow_ends(self):
        """As with a file on a slow disk."""
        self.at_end = self.sleep  # a slow disk
        self.serve(lambda message: os._exit(1))

    def serve_held_ends(self):
        """Until the test says so."""
        self.at_end = self.wait_for_end
        self.serve(lambda message: os._exit(1))

    def wait_for_end(self):
        while not os.path.exists(os.path.join(FOLDER, 'end')):
            self.tell(tell='stats', streams={})
            time.sleep(0.1)

    # ---- misdeeds ----

    def hello(self):
        self.tell(tell='hello', pid=os.getpid(), version=VERSION)

    def wrong_version(self):
        self.tell(tell='hello', pid=1, version='0.0')

    def running(self):
        self.tell(tell='state', stream=self.stream, state='running', why='', device=False)

    def device(self):
        self.tell(tell='state', stream=self.stream, state='failed', why='the GPU is lost',
                  device=True)
        os._exit(75)

    def killed(self):
        os.kill(os.getpid(), signal.SIGKILL)

    def stands(self):
        self.tell(tell='state', stream=self.stream, state='failed', why='a stage stands',
                  device=False, stands=True)
        os._exit(1)

    def stalls(self):
        """From now on, the stream `one` and no other, as soon as it runs."""
        runs = self.running

        def running():
            runs()
            if self.stream == 'one':
                self.tell(tell='state', stream='one', state='failed', why='a stage stands',
                          device=False, stalled=True)
        self.running = running

    def last_words(self):
        """So many that who reads them sees the end of the process before the last one."""
        parent = os.getppid()
        os.kill(parent, signal.SIGSTOP)
        for _ in range(150):
            self.tell(tell='stats', streams={})
        self.tell(tell='state', stream=self.stream, state='failed', why='the GPU is lost',
                  device=True)
        self.link.close()
        if os.fork() == 0:
            time.sleep(0.3)
            os.kill(parent, signal.SIGCONT)
        os._exit(1)

    def status_75(self):
        os._exit(75)

    def little_nonsense(self):
        self.nonsense(60)

    def nonsense(self, count=3000):
        bad = [None, True, -1, 1 << 62, -(1 << 62), 1.5, '', 'x' * 5000, [], {}, [[]], {'a': {}}]
        tells = ['hello', 'ring', 'state', 'set', 'snapshot', 'stats', 'gone', 'encoding', 'x', '']
        keys = ['stream', 'encoding', 'state', 'why', 'device', 'id', 'streams', 'pid', 'version']
        choose = random.Random(self.number)
        for _ in range(count):
            words = {'tell': choose.choice(tells + bad[:3])}
            for key in choose.sample(keys, choose.randrange(len(keys))):
                words[key] = choose.choice(bad + [self.stream, 0, 1, 'running', 'failed'])
            if words.get('state') == 'failed' or words.get('device') is True:
                words['stream'] = 'somebody'
            fds = [os.dup(2) for _ in range(choose.randrange(3))]
            self.raw(json.dumps(words).encode(), fds)
            for fd in fds:
                os.close(fd)

    def bad_stats(self):
        for value in (5, [], {'one': 7}, {'one': {'decoded': -1, 'stages': 'x', 'outputs': [1] * 99,
                                                  'backend': '\x1b[2J' * 99}},
                      {'other': {}}, {self.stream: {'rate': 1e308, 'filtered': (1 << 63) - 1}}):
            self.tell(tell='stats', streams=value)

    def gpus(self):
        """Two that are true, among lies."""
        good = [{'number': 1, 'memory_used_bytes': 5 << 30, 'memory_size_bytes': 80 << 30},
                {'number': 0, 'memory_used_bytes': 0, 'memory_size_bytes': 1}]
        bad = [None, 7, {}, {**good[0], 'number': -1}, {**good[0], 'number': 'x'},
               {**good[0], 'number': 2, 'memory_used_bytes': 81 << 30},
               {**good[0], 'number': 2.5}, good[0]]
        for value in (5, {}, 'x', None, bad * 99):
            self.tell(tell='stats', streams={}, gpus=value)
        self.tell(tell='stats', streams={}, gpus=[good[0], *bad, good[1]])

    def sleep(self):
        for _ in range(5):
            self.tell(tell='stats', streams={})
            time.sleep(0.3)

    def waits(self):
        """Until the test says so."""
        self.wait_for_end()

    def ring_unsealed(self):
        self.tell(memfd(1 << 20, False), memfd(4096), tell='ring', stream=self.stream, encoding=0)

    def ring_out_of_range(self):
        for encoding in (-1, 99, 1 << 40, 'a'):
            self.tell(memfd(1 << 20), memfd(4096), tell='ring', stream=self.stream,
                      encoding=encoding)

    def snapshots(self):
        for number in range(50):
            self.tell(memfd(4096, False), tell='snapshot', stream=self.stream, id=number)

    def closes(self):
        self.link.close()
        time.sleep(100)

    def unread(self):
        """Bytes of what was said."""
        return struct.unpack('i', fcntl.ioctl(self.link, termios.TIOCOUTQ, bytes(4)))[0]

    def alive(self):
        """Notes whenever all that was said has been read."""
        while True:
            self.tell(tell='stats', streams={})
            time.sleep(0.3)
            if not self.unread():
                with open(os.path.join(FOLDER, 'heard'), 'a') as file:
                    print(os.getpid(), file=file)

    def floods(self):
        while True:
            self.tell(tell='stats', streams={self.stream: {'decoded': -1, 'backend': 'x' * 999}})

    def finishes(self):
        """Files of the second output, but for the last of others, which is no reason for a hook."""
        good = os.path.join(FOLDER, 'v-120000.mkv')
        for output, path in ((0, good), (2, good), (-1, good), (None, good), (1, '/bin/sh'), (1, 7),
                             (1, os.path.join(FOLDER, 'v-../../x.mkv')), (1, good + '\n'), (1, '')):
            self.tell(tell='finished', stream=self.stream, output=output, path=path)
        self.tell(tell='finished', stream='other', output=1, path=good)
        self.tell(tell='finished', stream=self.stream, output=1, path=good)

    # ---- detectors ----

    def ask(self, ask, **words):
        self.tell(tell='detector', stream=self.stream, ask=ask,
                  **{'find': 'faces', 'id': 7, **words})

    def want(self):
        """Notes what the detector says first, or why there is none."""
        self.ask('want')
        while self.wait_for(self.link):
            data, fds, _, _ = socket.recv_fds(self.link, 1 << 18, 2)
            message = json.loads(data or b'{"do": "quit"}')
            if message['do'] == 'quit':
                sys.exit(0)
            if message['do'] == 'detector':
                break
        self.detectors.extend(socket.socket(fileno=fd) for fd in fds)
        for link in self.detectors:
            link.setblocking(True)
        if fds:
            self.wait_for(self.detectors[-1])
        words = self.detectors[-1].recv(100).decode() if fds else message['why']
        with open(os.path.join(FOLDER, 'detected'), 'a') as file:
            print(message['id'], message['find'], words, file=file)

    def broken(self):
        self.ask('broken', why='it lies \x1b[2J')

    def unwanted(self):
        self.ask('unwanted')

    def bad_asks(self):
        for words in ({'find': 'cats'}, {'find': 7}, {'id': -1}, {'id': 'x'}, {'find': None}):
            self.ask('want', **words)
        self.ask('execute', command='/bin/sh')
        self.tell(tell='detector', stream='other', ask='want', find='faces', id=1)

    # ---- to the control socket, and not over the link ----

    def control(self, method, **parameters):
        control = socket.socket(socket.AF_UNIX)
        control.connect(os.path.join(FOLDER, 'control.sock'))
        call = {'method': 'io.halod.Control.' + method, 'parameters': parameters}
        try:
            control.sendall(json.dumps(call).encode() + b'\0')
            return control, control.recv(1 << 16)
        except OSError:
            return control, b''

    def note_control(self, who):
        with open(os.path.join(FOLDER, 'controlled'), 'a') as file:
            print(who, len(self.control('Stop', name=self.stream)[1]), file=file)

    def controls(self):
        """By itself, by a thread, and by a child's child."""
        self.note_control('engine')
        thread = threading.Thread(target=self.note_control, args=['thread'])
        thread.start()
        thread.join()
        child = os.fork()
        if child == 0:
            grandchild = os.fork()
            if grandchild == 0:
                self.note_control('grandchild')
                os._exit(0)
            os.waitpid(grandchild, 0)
            os._exit(0)
        os.waitpid(child, 0)

    def controls_for_ever(self):
        while True:
            self.control('Status')

    def controls_and_dies(self):
        """So many connections that the supervisor learns of its end before it takes the last."""
        parent = os.getppid()
        if os.fork() == 0:
            self.link.close()
            time.sleep(0.5)
            os.kill(parent, signal.SIGCONT)
            os._exit(0)
        os.kill(parent, signal.SIGSTOP)
        controls = [socket.socket(socket.AF_UNIX) for _ in range(40)]
        for control in controls:
            control.connect(os.path.join(FOLDER, 'control.sock'))
            control.sendall(json.dumps({'method': 'io.halod.Control.Stop',
                                        'parameters': {'name': self.stream}}).encode() + b'\0')
        os._exit(1)


def main():
    if sys.argv[1:2] == ['detector']:
        os.execv(os.environ['HALOD'], ['halod', *sys.argv[1:]])
    if os.path.exists(os.path.join(FOLDER, 'honest')):
        halod = os.environ['HALOD']
        os.execv(halod, ['halod', 'engine', *sys.argv[2:]])
    with open(os.path.join(FOLDER, 'starts'), 'a') as file:
        print(os.getpid(), file=file)
    engine = Engine()
    for word in os.environ['STANDIN_DOES'].split(','):
        if word == 'start':
            engine.wait_start()
        else:
            getattr(engine, word)()


try:
    main()
except (BrokenPipeError, ConnectionResetError, KeyboardInterrupt):
    sys.exit(0)
