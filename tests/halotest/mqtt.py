# SPDX-License-Identifier: BSD-2-Clause
# An MQTT broker (Debian's mosquitto) on a free port, and its clients.
import json
import os
import shutil
import signal
import socket
import subprocess
import threading
import time

from halotest import PATIENCE, free_port, wait_until

PATH = os.environ.get('PATH', '') + ':/usr/sbin:/sbin'
BROKER = shutil.which('mosquitto', path=PATH)
PUBLISH = shutil.which('mosquitto_pub', path=PATH)
SUBSCRIBE = shutil.which('mosquitto_sub', path=PATH)
PASSWD = shutil.which('mosquitto_passwd', path=PATH)
MISSING = ' and '.join(name for name, path in (('mosquitto', BROKER), ('mosquitto_pub', PUBLISH),
                                               ('mosquitto_sub', SUBSCRIBE)) if not path)


class Broker:
    """Forgets retained messages when it is started again."""

    def __init__(self, folder, lines=(), port=None):
        self.port = port or free_port()
        self.server = f'127.0.0.1:{self.port}'
        self.config = os.path.join(folder, f'mosquitto-{self.port}.conf')
        self.log = self.config + '.log'
        with open(self.config, 'w') as file:
            file.write(f'listener {self.port} 127.0.0.1\nuser root\npersistence false\n')
            file.write('\n'.join(lines or ['allow_anonymous true']) + '\n')
        self.process = None
        self.start()

    def start(self):
        with open(self.log, 'ab') as log:
            self.process = subprocess.Popen([BROKER, '-c', self.config], stdin=subprocess.DEVNULL,
                                            stdout=log, stderr=log)
        if not wait_until(self.answers):
            raise AssertionError(f'mosquitto does not start: {open(self.log).read()}')

    def answers(self):
        with socket.socket() as client:
            return client.connect_ex(('127.0.0.1', self.port)) == 0

    def stop(self, number=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.send_signal(number)
        self.process.wait(20 * PATIENCE)


class Client(threading.Thread):
    """Keeps the last message of each topic ('' where it was removed), and all of them in order."""

    def __init__(self, broker, *options):
        super().__init__(daemon=True)
        self.broker, self.options = broker, options
        self.last, self.all = {}, []
        self.process = subprocess.Popen(
            [SUBSCRIBE, '-h', '127.0.0.1', '-p', str(broker.port), *options, '-t', '#', '-q', '1',
             '-F', '%j'], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        self.start()

    def run(self):
        for line in self.process.stdout:
            message = json.loads(line.decode(errors='replace'))
            self.all.append((time.monotonic(), message['topic'], message.get('payload') or ''))
            self.last[message['topic']] = message.get('payload') or ''

    def wait(self, topic, payload, timeout=60):
        """Until the last message is this one, or satisfies this function."""
        fits = payload if callable(payload) else lambda text: text == payload
        if not wait_until(lambda: topic in self.last and fits(self.last[topic]), timeout):
            raise AssertionError(f'{topic} is {self.last.get(topic)!r}, not {payload!r}; '
                                 f'there is {sorted(self.last.items())}')
        return self.last[topic]

    def publish(self, topic, payload, *options):
        subprocess.run([PUBLISH, '-h', '127.0.0.1', '-p', str(self.broker.port), *self.options,
                        '-q', '1', '-t', topic, *options, '-s' if payload else '-n'],
                       input=payload, check=True, timeout=20 * PATIENCE)

    def close(self):
        self.process.kill()
        self.process.wait()
        self.join()
        self.process.stdout.close()
