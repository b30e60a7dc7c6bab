#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# An engine that does what $STANDIN_DOES says: words with commas between, each a misdeed or an end;
# after each |, what the next process does. A file $STANDIN_FOLDER/honest makes it run the real
# engine, $HALOD, instead.
import json
import os
import signal
import socket
import sys
import threading
import time

FOLDER = os.environ['STANDIN_FOLDER']


class Engine:
    def __init__(self):
        self.link = socket.socket(fileno=3)
        self.link.setblocking(True)
        self.stream = None

    def tell(self, **words):
        self.link.send(json.dumps(words).encode())

    def start(self):
        """Waits for it."""
        while not self.stream:
            message = json.loads(self.link.recv(1 << 18) or b'{"do": "quit"}')
            if message['do'] == 'start':
                self.stream = message['stream']
            if message['do'] == 'quit':
                sys.exit(0)

    def hello(self):
        self.tell(tell='hello', pid=os.getpid(), version=os.environ['STANDIN_VERSION'])

    def running(self):
        self.tell(tell='state', stream=self.stream, state='running', why='', device=False)

    def waits(self):
        """Until the test says so."""
        while not os.path.exists(os.path.join(FOLDER, 'end')):
            self.tell(tell='stats', streams={})
            time.sleep(0.1)

    def floods(self):
        while True:
            self.tell(tell='stats', streams={self.stream: {'decoded': -1, 'backend': 'x' * 999}})

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
    if os.path.exists(os.path.join(FOLDER, 'honest')):
        os.execv(os.environ['HALOD'], ['halod', 'engine', *sys.argv[2:]])
    with open(os.path.join(FOLDER, 'starts'), 'a+') as file:
        print(os.getpid(), file=file, flush=True)
        file.seek(0)
        number = len(file.readlines())
    does = os.environ['STANDIN_DOES'].split('|')
    engine = Engine()
    for word in does[min(number, len(does)) - 1].split(','):
        getattr(engine, word)()


try:
    main()
except (BrokenPipeError, ConnectionResetError, KeyboardInterrupt):
    sys.exit(0)
