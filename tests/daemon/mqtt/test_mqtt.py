# SPDX-License-Identifier: BSD-2-Clause
# MQTT: what is published, what commands do, and what happens without the broker.
import contextlib
import json
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import threading
import time
import unittest

import halotest
from halotest import PATIENCE, alone, mqtt
from halotest.daemon import Control, DaemonTest, main, wait_until
from halotest.mqtt import Broker, Client
from halotest.standin import StandinTest

BASE = 'gblur=sigma=6'
SIGN = 'solid=region=rect 0 0 50% 50%'
HIDE, SET, STATUS = 'halod/door/hide', 'halod/door/hide/set', 'halod/status'


def runs(text):
    """Whether a stream's state says so; it is late where the machine is busy."""
    return json.loads(text)['state'] in ('running', 'overloaded')


def most_lines(since):
    """How often a line that repeats is logged from then on, at most."""
    return 1 + int(time.monotonic() - since) // 30


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
        return {'input': 'test:size=64x48:rate=25', 'filters': BASE, 'backend': 'cpu',
                'outputs': [{'null': True}], **more}

    def begin(self, broker, streams=None, **keys):
        os.makedirs(self.path('state'), exist_ok=True)
        self.settings = {'mqtt': {'server': broker.server, **keys}, 'state': self.path('state')}
        return self.start(streams or {'door': self.door()}, **self.settings)

    def both(self, *lines, options=(), **more):
        broker = self.broker(*lines)
        return broker, self.client(broker, *options), self.begin(broker, **more)

    def is_black(self, daemon, name='door'):
        """The newest frame."""
        with Control(daemon.path) as control:
            control('Snapshot', name=name, format='png')
            image = os.pread(control.fds[0], 1 << 20, 0)
        luma = halotest.ffmpeg('-i', '-', '-pix_fmt', 'gray', '-f', 'rawvideo', '-', data=image)
        self.assertEqual(len(luma), 64 * 48)
        return max(luma) <= 16

    def kill_engine(self, daemon):
        pids = daemon.pids()
        daemon.kill_engine_of('door')
        self.assertTrue(wait_until(lambda: daemon.pids() and daemon.pids() != pids and
                                   daemon.state('door') == 'running'), daemon.logged())

    def wait_log(self, daemon, words):
        self.assertTrue(wait_until(lambda: words in daemon.logged()), daemon.logged())


class Published(MqttTest):
    def test_state(self):
        broker = self.broker()
        client = self.client(broker)
        daemon = self.begin(broker, {'door': self.stream()})
        reader = self.reader('one.ts')
        client.wait(STATUS, 'online')
        client.wait('halod/door/state', runs)

        def has_numbers(text):
            state = json.loads(text)
            return runs(text) and state['latency_p99_ms'] > 0 and state['rate'] > 0 and \
                state['viewers'] == 1
        state = json.loads(client.wait('halod/door/state', has_numbers))
        self.assertEqual(set(state), {'state', 'why', 'rate', 'latency_p50_ms', 'latency_p99_ms',
                                      'viewers', 'coverage'})
        if state['state'] == 'running':
            self.assertEqual(state['why'], '')
        reader.close()
        client.wait(HIDE, 'OFF')
        daemon.control('Stop', name='door')
        client.wait('halod/door/state', lambda text: json.loads(text)['state'] == 'stopped')

    def test_addresses(self):
        """Brokers keep what they are told: no path, and of URLs no more than the host."""
        broker = self.broker()
        client = self.client(broker)
        self.begin(broker, {
            'door': self.stream(input=self.path('no file.mp4')),
            'yard': self.stream('two', input='http://127.0.0.1:9/geheim?loginpas=geheim')})
        for name, words in (('door', ' cannot be read'), ('yard', 'http://127.0.0.1/***: ')):
            text = client.wait(f'halod/{name}/state', lambda text: json.loads(text)['why'])
            self.assertIn(words, text)
        for _, _, payload in client.all:
            for word in self.folder, 'no file', 'geheim':
                self.assertNotIn(word, str(payload))

    @alone
    def test_numbers_every_ten_seconds(self):
        begun = time.monotonic()
        _, client, daemon = self.both()
        client.wait('halod/door/state', runs)
        daemon.wait_pictures('door', 12 * 25, timeout=60)
        states = [json.loads(payload)['state'] for _, topic, payload in client.all
                  if topic == 'halod/door/state']
        numbers = [pair for pair in zip(states, states[1:]) if pair == ('running', 'running')]
        # Also at events of the beginning.
        self.assertLessEqual(len(numbers), 2 + (time.monotonic() - begun) / 10)

    def test_discovery(self):
        _, client, daemon = self.both()
        sensor = json.loads(client.wait('homeassistant/sensor/halod_door/state/config', bool))
        self.assertEqual(sensor['state_topic'], 'halod/door/state')
        self.assertEqual(sensor['availability_topic'], STATUS)
        self.assertEqual(sensor['device']['identifiers'], ['halod/door'])
        switch = json.loads(client.wait('homeassistant/switch/halod_door/hide/config', bool))
        self.assertEqual((switch['state_topic'], switch['command_topic']), (HIDE, SET))
        self.assertEqual((switch['optimistic'], switch['retain']), (False, False))
        self.assertEqual(switch['device'], sensor['device'])
        self.assertNotEqual(switch['unique_id'], sensor['unique_id'])
        daemon.control('Hide', name='door', id='sign', filters=SIGN)
        region = json.loads(client.wait('homeassistant/switch/halod_door/hide_sign/config', bool))
        self.assertEqual((region['state_topic'], region['command_topic'], region['name']),
                         (f'{HIDE}/sign', f'{HIDE}/sign/set', 'Hide sign'))

    def test_prefix_and_no_discovery(self):
        broker = self.broker()
        client = self.client(broker)
        self.begin(broker, prefix='home/cams', discovery='off')
        client.wait('home/cams/status', 'online')
        client.wait('home/cams/door/hide', 'OFF')
        client.publish('home/cams/door/hide/set', b'ON')
        client.wait('home/cams/door/hide', 'ON')
        self.assertEqual([topic for topic in client.last if not topic.startswith('home/')], [])

    def test_many_streams(self):
        names = [f'n{i}' for i in range(40)]
        broker = self.broker()
        client = self.client(broker)
        self.begin(broker, {name: self.door(enabled=False) for name in names})
        for name in names:
            client.wait(f'halod/{name}/hide', 'OFF')
            client.wait(f'halod/{name}/state', bool)
            client.wait(f'homeassistant/switch/halod_{name}/hide/config', bool)
        for name in names:
            client.publish(f'halod/{name}/hide/set', b'ON')
        for name in names:
            client.wait(f'halod/{name}/hide', 'ON')

    def test_removed_while_it_was_off(self):
        broker = self.broker()
        client = self.client(broker)
        daemon = self.begin(broker, {'door': self.door(), 'road': self.door()})
        daemon.control('Hide', name='door', id='sign', filters=SIGN)
        client.wait('homeassistant/switch/halod_door/hide_sign/config', bool)
        client.wait('homeassistant/switch/halod_road/hide/config', bool)
        daemon.control('Hide', name='door', id='sign', filters='')
        client.wait('homeassistant/switch/halod_door/hide_sign/config', '')
        daemon.control('Hide', name='door', id='sign', filters=SIGN)
        client.wait('homeassistant/switch/halod_door/hide_sign/config', bool)
        client.wait('halod/announced', '{"door":["shutter","sign"],"road":["shutter"]}')
        daemon.stop()
        client.wait(STATUS, 'offline')
        since = len(client.all)
        self.begin(broker, {'door': self.door()})
        client.wait('homeassistant/switch/halod_road/hide/config', '')
        client.wait('halod/road/state', '')
        client.wait('halod/announced', '{"door":["shutter","sign"]}')
        self.assertNotIn('', [payload for _, topic, payload in client.all[since:]
                              if '/door' in topic or '_door' in topic])


class Commands(MqttTest):
    def test_shutter(self):
        _, client, daemon = self.both()
        client.wait(HIDE, 'OFF')
        daemon.wait_state('door', 'running')
        self.assertFalse(self.is_black(daemon))
        client.publish(SET, b'ON')
        client.wait(HIDE, 'ON')
        self.assertTrue(self.is_black(daemon))
        self.assertEqual(daemon.status('door')['hides'], {'shutter': 'solid'})
        self.kill_engine(daemon)
        self.assertTrue(self.is_black(daemon))
        self.assertEqual(client.last[HIDE], 'ON')
        client.publish(SET, b'OFF')
        client.wait(HIDE, 'OFF')
        self.assertFalse(self.is_black(daemon))
        self.assertEqual(daemon.status('door')['filters'], BASE)

    def test_shutter_of_others(self):
        _, client, daemon = self.both()
        client.wait(HIDE, 'OFF')
        daemon.control('Hide', name='door', id='shutter', filters='solid')
        client.wait(HIDE, 'ON')
        daemon.control('Hide', name='door', id='shutter', filters='pixelize=width=8:height=8')
        client.wait(HIDE, 'OFF')  # this does not hide everything
        client.publish(SET, b'ON')
        client.wait(HIDE, 'ON')
        self.assertEqual(daemon.status('door')['hides'], {'shutter': 'solid'})

    def test_region(self):
        _, client, daemon = self.both()
        config, state = 'homeassistant/switch/halod_door/hide_sign/config', f'{HIDE}/sign'
        daemon.control('Hide', name='door', id='sign', filters=SIGN)
        client.wait(state, 'ON')
        client.publish(f'{state}/set', b'OFF')
        client.wait(state, 'OFF')
        self.assertEqual(daemon.status('door')['hides'], {})
        self.assertTrue(client.last[config], 'what was switched off here is remembered')
        client.publish(f'{state}/set', b'ON')
        client.wait(state, 'ON')
        self.assertEqual(daemon.status('door')['hides'], {'sign': SIGN})
        daemon.control('Hide', name='door', id='sign', filters='')
        client.wait(config, '')
        client.wait(state, '')
        client.publish(f'{state}/set', b'ON')
        self.wait_log(daemon, 'there is no such switch')
        self.assertEqual(daemon.status('door')['hides'], {})

    def hold(self, daemon):
        """The engine, until the function that is returned is called."""
        pid = daemon.pids()[0]

        def go_on():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
        os.kill(pid, signal.SIGSTOP)
        self.addCleanup(go_on)
        return go_on

    def both_and_another(self):
        """With a stream that is off, where commands are obeyed at once. The engine of the other one
        may be held."""
        return self.both(streams={'door': self.door(), 'off': self.door(enabled=False)})

    def command(self, client, *commands):
        """Returns when the daemon has all of them: it has obeyed the last one, of the stream
        that is off."""
        client.wait('halod/off/hide', bool)
        last = 'OFF' if client.last['halod/off/hide'] == 'ON' else 'ON'
        for topic, payload in (*commands, ('halod/off/hide/set', last.encode())):
            client.publish(topic, payload)
        client.wait('halod/off/hide', last)

    def test_on_does_not_undo_what_somebody_else_does(self):
        """It is on already, and a larger region is requested and not in force yet."""
        _, client, daemon = self.both_and_another()
        state, large = f'{HIDE}/sign', SIGN.replace('50%', '90%')
        daemon.control('Hide', name='door', id='sign', filters=SIGN)
        client.wait(state, 'ON')
        go_on = self.hold(daemon)
        other = self.ask(daemon, 'Hide', name='door', id='sign', filters=large)
        self.command(client, (f'{state}/set', b'ON'))
        go_on()
        other.receive()
        self.assertEqual(daemon.status('door')['hides'], {'sign': large})

    def test_off_and_on_while_it_restarts(self):
        _, client, daemon = self.both_and_another()
        client.wait(HIDE, 'OFF')
        client.publish(SET, b'ON')
        client.wait(HIDE, 'ON')
        go_on = self.hold(daemon)
        daemon.control('Restart', name='door')
        self.command(client, (SET, b'OFF'), (SET, b'ON'))
        go_on()
        daemon.wait_state('door', 'running')
        self.assertEqual(daemon.status('door')['hides'], {'shutter': 'solid'})
        self.assertTrue(self.is_black(daemon))

    def test_an_id_that_is_a_topic(self):
        """An addition named "set" would have the topic of the shutter's commands."""
        _, client, daemon = self.both()
        client.wait(HIDE, 'OFF')
        daemon.control('Hide', name='door', id='set', filters=SIGN)
        daemon.control('Hide', name='door', id='sign', filters=SIGN)
        client.wait(f'{HIDE}/sign', 'ON')
        self.assertNotIn(SET, client.last)
        client.publish(f'{HIDE}/shutter/set', b'ON')
        client.publish(f'{HIDE}/sign/set', b'OFF')
        client.wait(f'{HIDE}/sign', 'OFF')
        self.assertEqual(daemon.status('door')['hides'], {'set': SIGN})

    def test_alternating(self):
        _, client, daemon = self.both()
        client.wait(HIDE, 'OFF')
        lines = b'ON\nOFF\n' * 500 + b'ON\n'
        subprocess.run([mqtt.PUBLISH, '-h', '127.0.0.1', '-p', str(client.broker.port), '-t', SET,
                        '-l'], input=lines, check=True, timeout=60 * PATIENCE)
        # The broker has read them all: none of them overtakes the next one, of another client.
        self.assertTrue(wait_until(lambda: [topic for _, topic, _ in client.all].count(SET) > 1000))
        self.assertTrue(wait_until(lambda: daemon.status('door')['hides'] != {}))
        client.publish(SET, b'OFF')
        self.assertTrue(wait_until(lambda: daemon.status('door')['hides'] == {}))
        client.wait(HIDE, 'OFF')

    def test_malformed(self):
        _, client, daemon = self.both()
        client.wait(HIDE, 'OFF')
        begun = time.monotonic()
        for payload in (b'', b'on', b'ON ', b'1', b'OF', b'\0', b'ON\0', b'\xff' * 3, b'x' * 70000,
                        b'{"state": "ON"}'):
            client.publish(SET, payload)
        for topic in ('halod/none/hide/set', 'halod/door/hide/none/set', 'halod/+x/hide/set',
                      f'halod/{"x" * 100}/hide/set', f'halod/door/hide/{"x" * 100}/set',
                      'halod//hide/set', 'halod/door/hide//set'):
            if '+' not in topic:
                client.publish(topic, b'ON')
        client.publish('halod/announced', b'{"door": 7', '-r')
        client.publish(SET, b'ON')
        client.wait(HIDE, 'ON')
        lines = [line for line in daemon.logged().split('\n') if 'was ignored' in line]
        self.assertTrue(1 <= len(lines) <= most_lines(begun), lines)

    def test_retained(self):
        broker = self.broker()
        client = self.client(broker)
        client.publish(SET, b'ON', '-r')
        client.publish('halod/announced', b'[1, {"a": ["b"]}]', '-r')
        daemon = self.begin(broker)
        client.wait(HIDE, 'OFF')
        self.wait_log(daemon, 'must not be retained')
        daemon.control('Hide', name='door', id='shutter', filters='solid')
        client.wait(HIDE, 'ON')
        client.publish(SET, b'OFF', '-r')  # while halod is connected, this is a command like others
        client.wait(HIDE, 'OFF')
        client.publish(SET, b'ON')
        client.wait(HIDE, 'ON')
        daemon.stop()
        client.wait(STATUS, 'offline')
        daemon = self.begin(broker)  # the retained OFF is sent again
        self.wait_log(daemon, 'must not be retained')
        client.wait(STATUS, 'online')
        daemon.control('Hide', name='door', id='sign', filters=SIGN)
        client.wait(f'{HIDE}/sign', 'ON')
        self.assertEqual(daemon.status('door')['hides'], {'shutter': 'solid', 'sign': SIGN})

    def test_file_is_not_weakened(self):
        broker = self.broker()
        client = self.client(broker)
        daemon = self.begin(broker, {'door': self.door(filters='solid')})
        client.wait(HIDE, 'OFF')
        client.publish(SET, b'ON')
        client.wait(HIDE, 'ON')
        client.publish(SET, b'OFF')
        client.wait(HIDE, 'OFF')
        daemon.wait_state('door', 'running')
        self.assertTrue(self.is_black(daemon))


class Lost(MqttTest):
    def test_restarted_broker(self):
        broker, client, daemon = self.both()
        client.wait(HIDE, 'OFF')
        client.publish(SET, b'ON')
        client.wait(HIDE, 'ON')
        broker.stop()
        self.wait_log(daemon, 'trying again')
        daemon.wait_pictures('door', 5)
        self.assertTrue(self.is_black(daemon))
        broker.start()
        client = self.client(broker)
        client.wait(STATUS, 'online')
        client.wait(HIDE, 'ON')
        client.wait('homeassistant/switch/halod_door/hide/config', bool)
        client.wait('halod/door/state', runs)
        client.publish(SET, b'OFF')
        client.wait(HIDE, 'OFF')

    def test_broker_that_comes_later(self):
        port, begun = halotest.free_port(), time.monotonic()
        settings = {'mqtt': {'server': f'127.0.0.1:{port}'}}
        daemon = self.start({'door': self.door()}, **settings)
        refused = re.compile('Connection refused|the broker cannot be reached')
        self.assertTrue(wait_until(lambda: refused.search(daemon.logged())), daemon.logged())
        client = self.client(self.broker(port=port))
        client.wait(STATUS, 'online')
        self.assertLessEqual(len(refused.findall(daemon.logged())), most_lines(begun))

    def test_ended_while_the_broker_hangs(self):
        broker, client, daemon = self.both()
        client.wait(HIDE, 'OFF')
        broker.process.send_signal(signal.SIGSTOP)
        self.assertEqual(daemon.stop(), 0)
        broker.process.send_signal(signal.SIGCONT)
        client.wait(STATUS, 'offline')

    def test_password(self):
        path = self.path('passwords')
        subprocess.run([mqtt.PASSWD, '-b', '-c', path, 'halod', 'right'], check=True)
        options = ('-u', 'halod', '-P', 'right')
        broker = self.broker('allow_anonymous false', f'password_file {path}')
        client, begun = self.client(broker, *options), time.monotonic()
        daemon = self.begin(broker, user='halod', password='wrong')
        self.wait_log(daemon, "the broker refuses the login")
        self.assertTrue(wait_until(
            lambda: open(broker.log).read().count('not authorised') >= 2), 'it tries again')
        self.assertLessEqual(daemon.logged().count('mqtt:'), most_lines(begun), daemon.logged())
        self.assertIn("Check 'user' and 'password'", daemon.logged())
        self.assertNotIn('wrong', daemon.logged())
        daemon.stop()
        daemon = self.begin(broker, user='halod', password='right')
        client.wait(STATUS, 'online')
        client.wait(HIDE, 'OFF')

    def test_name_that_is_unknown(self):
        daemon = self.start({'door': self.door()}, mqtt={'server': 'broker.invalid:1883'})
        self.wait_log(daemon, 'mqtt: broker.invalid:1883: ')
        daemon.wait_state('door', 'running')

    def test_nothing_is_inherited(self):
        """Neither engines nor anything else that halod starts may have the connection."""
        _, client, daemon = self.both()
        client.wait(HIDE, 'OFF')
        self.kill_engine(daemon)
        peer = f':{client.broker.port:04X}'
        with open('/proc/net/tcp') as file:
            inodes = {line.split()[9] for line in file if line.split()[2].endswith(peer)}
        held = {target for target in halotest.daemon.links(daemon.pids()[0]).values()}
        self.assertFalse(held & {f'socket:[{inode}]' for inode in inodes})
        for number in os.listdir(f'/proc/{daemon.process.pid}/fdinfo'):
            with contextlib.suppress(FileNotFoundError):  # closed meanwhile
                with open(f'/proc/{daemon.process.pid}/fdinfo/{number}') as file:
                    flags = int(file.read().split('flags:')[1].split()[0], 8)
                self.assertTrue(int(number) < 3 or flags & os.O_CLOEXEC, number)


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


@unittest.skipIf(mqtt.MISSING, f'{mqtt.MISSING} is not installed')
class Standin(StandinTest):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix='halod-')
        self.addCleanup(folder.cleanup)
        self.broker = Broker(folder.name)
        self.addCleanup(self.broker.stop)
        self.client = Client(self.broker)
        self.addCleanup(self.client.close)
        self.environment = {**self.environment, 'STANDIN_MQTT': self.broker.server}
        super().setUp()

    def test_state(self):
        self.client.wait('halod/bad/state', bool)
        self.assertEqual(self.client.state('bad'), {
            'state': 'failed', 'why': 'no "such" file', 'rate': 25, 'viewers': 0,
            'latency_p50_ms': 11, 'latency_p99_ms': 22})

    @alone
    def test_flood_of_events(self):
        self.client.wait('halod/door/state', bool)
        before = len(self.client.all)
        for _ in range(3):
            self.daemon.send_signal(signal.SIGUSR1)
        self.client.publish('halod/road/hide/set', b'ON')
        self.client.wait('halod/road/hide', 'ON')
        self.assertLess(len(self.client.all) - before, 20)

    def test_ended_before_the_answer(self):
        self.client.wait(HIDE, 'OFF')
        for _ in range(5):
            self.client.publish(SET, b'ON')
        self.stop()
        self.client.wait(STATUS, 'offline')


class Refusing(Standin):
    environment = {'STANDIN_HIDE': 'fails'}
    test_state = test_flood_of_events = None

    def test_is_not_reported(self):
        """Only what is in force is."""
        self.client.wait(HIDE, 'OFF')
        self.client.publish(SET, b'ON')
        self.assertTrue(wait_until(lambda: "ON of 'shutter' failed" in self.said()))
        self.client.publish('halod/none/hide/set', b'ON')
        self.assertTrue(wait_until(lambda: 'no such switch' in self.said()))
        self.assertNotIn('ON', [payload for _, topic, payload in self.client.all if topic == HIDE])


if __name__ == '__main__':
    main()
