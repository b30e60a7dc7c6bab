# SPDX-License-Identifier: BSD-2-Clause
# MQTT with a true broker and true pictures; tests/world/events/mqtt*.events have what is published and
# commanded.
import contextlib
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import threading
import time
import unittest

import halotest
from halotest import PATIENCE, mqtt
from halotest.daemon import Control, DaemonTest, main
from halotest.mqtt import Broker, Client

HIDE, SET, STATUS = 'halod/door/hide', 'halod/door/hide/set', 'halod/status'


@unittest.skipIf(mqtt.MISSING, f'{mqtt.MISSING} is not installed')
class MqttTest(DaemonTest):
    def broker(self, *lines, **more):
        broker = Broker(self.folder, lines, **more)
        self.addCleanup(broker.stop)
        return broker

    def client(self, broker, *options):
        client = Client(broker, *options)
        self.addCleanup(client.close)
        return client

    def door(self, **more):
        return {'input': 'test:size=64x48:rate=25', 'filters': 'gblur=sigma=6', 'backend': 'cpu',
                'outputs': [{'null': True}], **more}

    def begin(self, broker, streams=None, **keys):
        return self.start(streams or {'door': self.door()}, mqtt={'server': broker.server, **keys})

    def is_black(self, daemon):
        """The newest frame."""
        with Control(daemon.path) as control:
            control('Snapshot', name='door', format='png')
            image = os.pread(control.fds[0], 1 << 20, 0)
        luma = halotest.ffmpeg('-i', '-', '-pix_fmt', 'gray', '-f', 'rawvideo', '-', data=image)
        self.assertEqual(len(luma), 64 * 48)
        return max(luma) <= 16

    def wait_log(self, daemon, words):
        self.until(lambda: words in daemon.logged())


class Whole(MqttTest):
    NAMES = [f'n{i}' for i in range(20)]

    def test_broker(self):
        """It refuses the login, takes many streams and many commands, is restarted, and hangs when halod
        ends."""
        path, lines = self.path('passwords'), ('allow_anonymous false', 'password_file ')
        subprocess.run([mqtt.PASSWD, '-b', '-c', path, 'halod', 'right'], check=True)
        options = ('-u', 'halod', '-P', 'right')
        broker = self.broker(lines[0], lines[1] + path)
        daemon = self.begin(broker, user='halod', password='wrong')
        self.wait_log(daemon, "the broker refuses the login")
        self.until(lambda: open(broker.log).read().count('not authorised') >= 2, 'it tries again')
        self.assertNotIn('wrong', daemon.logged())
        daemon.stop()
        client = self.client(broker, *options)
        daemon = self.begin(broker, {'door': self.door(), **{
            name: self.door(enabled=False) for name in self.NAMES}}, user='halod', password='right')
        client.wait(STATUS, 'online')
        for name in ('door', *self.NAMES):
            client.wait(f'halod/{name}/hide', 'OFF')
            client.wait(f'halod/{name}/state', bool)
            client.wait(f'homeassistant/switch/halod_{name}/hide/config', bool)
        for name in self.NAMES:
            client.publish(f'halod/{name}/hide/set', b'ON')
        for name in self.NAMES:
            client.wait(f'halod/{name}/hide', 'ON')
        self.check_shutter(daemon, client)
        self.check_alternating(daemon, client)
        client.publish(SET, b'ON')
        client.wait(HIDE, 'ON')
        broker.stop()
        self.wait_log(daemon, 'trying again')
        daemon.wait_pictures('door', 5)
        self.assertTrue(self.is_black(daemon))
        broker.start()
        client = self.client(broker, *options)
        client.wait(STATUS, 'online')
        client.wait(HIDE, 'ON')
        client.publish(SET, b'OFF')
        client.wait(HIDE, 'OFF')
        broker.process.send_signal(signal.SIGSTOP)
        self.assertEqual(daemon.stop(), 0)
        broker.process.send_signal(signal.SIGCONT)
        client.wait(STATUS, 'offline')

    def check_shutter(self, daemon, client):
        """It is in the pixels, also after an engine was killed."""
        daemon.wait_state('door', 'running')
        self.assertFalse(self.is_black(daemon))
        client.publish(SET, b'ON')
        client.wait(HIDE, 'ON')
        self.assertTrue(self.is_black(daemon))
        daemon.kill_engine_of('door')
        self.until(lambda: daemon.status('door')['restarts'] == 1 and daemon.runs('door'))
        self.assertTrue(self.is_black(daemon))
        client.publish(SET, b'OFF')
        client.wait(HIDE, 'OFF')
        self.assertFalse(self.is_black(daemon))

    def check_alternating(self, daemon, client):
        lines = b'ON\nOFF\n' * 500 + b'ON\n'
        subprocess.run([mqtt.PUBLISH, '-h', '127.0.0.1', '-p', str(client.broker.port),
                        *client.options, '-t', SET, '-l'], input=lines, check=True,
                       timeout=60 * PATIENCE)
        # The broker has read them all: none of them overtakes the next one, of another client.
        self.until(lambda: [topic for _, topic, _ in client.all].count(SET) > 1000)
        self.until(lambda: daemon.status('door')['hides'] != {})
        client.publish(SET, b'OFF')
        self.until(lambda: daemon.status('door')['hides'] == {})
        client.wait(HIDE, 'OFF')


@unittest.skipUnless(shutil.which('openssl'), 'openssl is not installed')
class Tls(MqttTest):
    def authority(self, name):
        """Paths of its certificate, and of one that it signed for localhost, with its key."""
        paths = {part: self.path(f'{name}-{part}')
                 for part in ('ca.pem', 'ca.key', 'pem', 'key', 'csr', 'ext')}
        with open(paths['ext'], 'w') as file:
            file.write('subjectAltName=DNS:localhost\n')
        for words in (
                ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj',
                 f'/CN={name}', '-keyout', paths['ca.key'], '-out', paths['ca.pem']],
                ['req', '-newkey', 'rsa:2048', '-nodes', '-subj', '/CN=localhost', '-keyout',
                 paths['key'], '-out', paths['csr']],
                ['x509', '-req', '-in', paths['csr'], '-CA', paths['ca.pem'], '-CAkey',
                 paths['ca.key'], '-CAcreateserial', '-days', '2', '-extfile', paths['ext'],
                 '-out', paths['pem']]):
            halotest.call(['openssl', *words])
        return paths['ca.pem'], paths['pem'], paths['key']

    def slow(self, certificate, key):
        """The port of a server that lets a client wait for its part of the handshake."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        server = socket.create_server(('127.0.0.1', 0))

        def serve():
            with contextlib.suppress(OSError):
                while True:
                    client = server.accept()[0]
                    client.recv(1, socket.MSG_PEEK)
                    time.sleep(0.3)
                    with contextlib.suppress(OSError), context.wrap_socket(client, True) as secured:
                        secured.recv(1)
        threading.Thread(target=serve, daemon=True).start()
        self.addCleanup(server.close)
        return server.getsockname()[1]

    def test_certificates(self):
        ours, certificate, key = self.authority('ours')
        others = self.authority('others')[0]
        port = halotest.free_port()
        broker = self.broker('allow_anonymous true', f'listener {port} 127.0.0.1',
                             f'certfile {certificate}', f'keyfile {key}')
        client = self.client(broker)
        for server, ca, words in ((f'localhost:{port}', others, 'verify'),
                                  (f'127.0.0.1:{port}', ours, 'verify'),
                                  (f'localhost:{port}', self.path('none.pem'), 'tls_ca'),
                                  (f'127.0.0.1:{broker.port}', ours, 'mqtt: ')):
            with self.subTest(server=server, ca=ca):
                daemon = self.begin(broker, server=server, tls_ca=ca)
                self.wait_log(daemon, 'trying again')
                line = re.search('mqtt: .*', daemon.logged())[0]
                self.assertIn(words, line)
                self.assertEqual(daemon.stop(), 0)
        with self.subTest('a slow handshake'):
            daemon = self.begin(broker, server=f'127.0.0.1:{self.slow(certificate, key)}',
                                tls_ca=ours)
            self.wait_log(daemon, 'trying again')
            self.assertIn('verify', re.search('mqtt: .*', daemon.logged())[0])
            self.assertEqual(daemon.stop(), 0)
        self.assertNotIn(STATUS, client.last)
        self.begin(broker, server=f'localhost:{port}', tls_ca=ours)
        client.wait(STATUS, 'online')
        client.publish(SET, b'ON')
        client.wait(HIDE, 'ON')


class Settings(DaemonTest):
    def halod(self, words, mqtt_text):
        with open(self.path('halod.yaml'), 'w') as file:
            file.write(f'mqtt: {mqtt_text}\nstreams: {{}}\n')
        return halotest.run_halod(*words, self.path('halod.yaml'), environment={'P': 'hush'})

    def test_refused(self):
        for text, words in (('{}', 'mqtt.server: is missing'),
                            ('{user: a}', 'mqtt.server: is missing'),
                            ('{server: "x:1", password: a}', 'mqtt.user: is missing'),
                            ('{server: "x:1", user: ""}', 'mqtt.user'),
                            ('{server: broker}', 'HOST:PORT'),
                            ('{server: "a:70000"}', 'HOST:PORT'),
                            ('{server: "mqtt://a:1"}', 'HOST:PORT'),
                            (f'{{server: "x:1", prefix: {"x" * 65}}}', 'at most 64'),
                            ('{server: "x:1", prefix: a/}', 'at most 64'),
                            ('{server: "x:1", passwd: a}', 'password')):
            with self.subTest(text):
                done = self.halod(['--check-config'], text)
                self.assertEqual(done.code, 78)
                self.assertIn(words, done.err)

    def test_dumped(self):
        full = '{server: "[::1]:1883", user: a, password: "${P}", tls_ca: /a, prefix: a/b, ' \
               'discovery: "off"}'
        self.assertEqual(self.halod(['--check-config'], full).code, 0)
        done = self.halod(['--dump-config'], full)
        self.assertNotIn(b'hush', done.out)
        self.assertIn(b'  password: "***"\n', done.out)
        done = self.halod(['--dump-config', '--secrets'], full)
        self.assertIn(b'  password: "hush"\n', done.out)
        self.assertNotIn(b'mqtt', self.halod(['--dump-config'], '{server: "a:1"}').out.replace(
            b'mqtt:\n  server: "a:1"\n', b''))


class Library(DaemonTest):
    def test_missing(self):
        open(self.path('libmosquitto.so.1'), 'w').close()
        daemon = self.start(mqtt={'server': '127.0.0.1:1'},
                            environment={'LD_LIBRARY_PATH': self.folder})
        self.assertRegex(daemon.logged(), 'mqtt is off: .*install the package libmosquitto1')
        daemon.wait_state('one', 'running')

    def test_name_that_is_unknown(self):
        daemon = self.start(mqtt={'server': 'broker.invalid:1883'})
        self.until(lambda: 'mqtt: broker.invalid:1883: ' in daemon.logged())
        daemon.wait_state('one', 'running')


if __name__ == '__main__':
    main()
