#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""An engine for test_requested.py that answers changes of filters when it is told to.

In $STANDIN_FOLDER the file `holds` says what becomes of the changes it gets: [] answers them at
once, a list answers them once there is the file `now` or the stream is stopped. Its items belong to
the changes in their order: "ok", null for no answer, or the reason why not. While there is the file
`stuck`, the stream does not stop."""
import json
import os
import select
import socket
import sys
import time

FOLDER = os.environ['STANDIN_FOLDER']


def path(name):
    return os.path.join(FOLDER, name)


class Engine:
    def __init__(self):
        self.link = socket.socket(fileno=3)
        self.held = []  # (stream, id)

    def tell(self, tell, **more):
        self.link.send(json.dumps({'tell': tell, **more}).encode())

    def answers(self):
        with open(path('holds'), encoding='utf-8') as file:
            return json.load(file)

    def answer_held(self):
        for (stream, number), answer in zip(self.held, self.answers()):
            if answer == 'ok':
                self.tell('set', stream=stream, id=number)
            elif answer:
                self.tell('set', stream=stream, id=number, why=answer, ended='ended' in answer)
        self.held = []

    def obey(self, message):
        do, stream = message['do'], message.get('stream')
        if do == 'quit':
            sys.exit(0)
        elif do == 'start':
            self.tell('state', stream=stream, state='running', why='', device=False)
        elif do == 'set' and self.answers():
            self.held.append((stream, message['id']))
        elif do == 'set':
            self.tell('set', stream=stream, id=message['id'])
        elif do == 'stop':
            while os.path.exists(path('stuck')):
                self.tell('stats', streams={})
                time.sleep(.05)
            self.answer_held()
            self.tell('gone', stream=stream)

    def run(self):
        self.tell('hello', pid=os.getpid(), version=os.environ['STANDIN_VERSION'])
        while True:
            if select.select([self.link], [], [], .1)[0]:
                data = self.link.recv(1 << 18)
                if not data:
                    return
                self.obey(json.loads(data))
            else:
                self.tell('stats', streams={})
            if self.held and os.path.exists(path('now')):
                self.answer_held()


Engine().run()
