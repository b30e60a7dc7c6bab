# SPDX-License-Identifier: BSD-2-Clause
# The control socket: methods, errors, limits, and what hostile clients can do.
import contextlib
import os
import random
import re
import signal
import socket
import stat
import subprocess
import time
import unittest

from halotest import RUN_TIMEOUT
from halotest.standin import INTERFACE, StandinTest, descriptors, memory_kib

SERVICE = 'org.varlink.service.'
DEEP = b'[' * 100000
HOSTILE = {
    'empty': b'',
    'no JSON': b'hello',
    'an array': b'[]',
    'a number': b'7',
    'no method': b'{}',
    'a method of another type': b'{"method": 7}',
    'a method without an interface': b'{"method": "List"}',
    'dots': b'{"method": "..."}',
    'parameters of another type': b'{"method": "io.halod.Control.List", "parameters": []}',
    'a flag of another type': b'{"method": "io.halod.Control.List", "more": 1}',
    'an upgrade': b'{"method": "io.halod.Control.List", "upgrade": true}',
    'depth': DEEP,
    'depth inside': b'{"method": "io.halod.Control.List", "parameters": {"a": ' + DEEP,
    'keys twice': b'{"method": "io.halod.Control.List", "method": "io.halod.Control.List"}',
    'a huge integer': b'{"method": "io.halod.Control.Status", "parameters": {"interval": 1'
                      + b'0' * 400 + b'}}',
    'a huge real': b'{"method": "io.halod.Control.Status", "parameters": {"interval": 1e999}}',
    'NaN': b'{"method": "io.halod.Control.Status", "parameters": {"interval": NaN}}',
    'not UTF-8': b'{"method": "io.halod.Control.\xff\xfe"}',
    'a surrogate': b'{"method": "io.halod.Control.\\ud800"}',
    'an escaped NUL': b'{"method": "io.halod.Control.Li\\u0000st"}',
    'control characters': b'{"method": "io.halod.Control.\\u001b[31m\\n"}',
    'a long method': b'{"method": "io.halod.Control.' + b'x' * 100000 + b'"}',
    'a long interface': b'{"method": "' + b'y' * 100000 + b'.List"}',
    'a long parameter': b'{"method": "io.halod.Control.List", "parameters": {"' + b'z' * 100000
                        + b'": 1}}',
    'two objects': b'{"method": "io.halod.Control.List"} {}',
}


class Methods(StandinTest):
    def test_info(self):
        info = self.client().call('GetInfo', interface=SERVICE)['parameters']
        self.assertEqual(info['product'], 'halod')
        self.assertEqual(info['interfaces'], [SERVICE[:-1], INTERFACE[:-1]])

    def test_description_names_every_method(self):
        client = self.client()
        text = client.call('GetInterfaceDescription', {'interface': INTERFACE[:-1]},
                           interface=SERVICE)['parameters']['description']
        self.assertTrue(text.split('\n')[1].startswith('interface io.halod.Control'), text)
        for method in ('List', 'Status', 'Set', 'Start', 'Stop', 'Restart', 'Snapshot', 'Record',
                       'Reload', 'Events', 'Facts', 'SetControl', 'SetRegions'):
            self.assertIn(f'\nmethod {method}(', text)
            answer = client.call(method, {'no such': 1}, more=True)
            self.assertEqual(answer['error'], SERVICE + 'InvalidParameter', method)
        self.assertIn('method Snapshot(name: string, format: (png, jpg), filters: ?string) -> ', text)
        self.assert_error(client.call('GetInterfaceDescription', {'interface': 'a.b'},
                                      interface=SERVICE), 'InterfaceNotFound')

    def test_list_and_status(self):
        client = self.client()
        streams = client.call('List')['parameters']['streams']
        self.assertEqual([s['name'] for s in streams], ['door', 'road', 'bad'])
        self.assertEqual(streams[2]['state'], 'failed')
        whole = client.call('Status', {})['parameters']['status']
        self.assertEqual(len(whole['streams']), 3)
        one = client.call('Status', {'name': 'road'})['parameters']['stream']
        self.assertEqual(one['name'], 'road')
        self.assert_error(client.call('Status', {'name': 'raod'}), 'NoSuchStream', 'road')

    def test_set(self):
        client = self.client()
        before = time.monotonic()
        self.assertEqual(client.call('Set', {'name': 'door', 'filters': 'solid'}),
                         {'parameters': {}})
        self.assertGreater(time.monotonic() - before, 0.04)  # answered when it is in force
        self.assertEqual(client.call('Status', {'name': 'door'})['parameters']['stream']['filters'],
                         'solid')
        self.assert_error(client.call('Set', {'name': 'door', 'filters': 'bad'}), 'Refused',
                          'gblur')
        self.assert_error(client.call('Set', {'name': 'dor', 'filters': 'solid'}), 'NoSuchStream',
                          'door')
        self.assert_error(client.call('Set', {'name': 'door', 'filters': 'late'}), 'Failed')

    def test_regions(self):
        client = self.client()
        self.assertEqual(client.call('SetRegions', {'name': 'door', 'picture': 5, 'regions': []}),
                         {'parameters': {}})
        self.assert_error(client.call('SetRegions', {'name': 'dor', 'picture': 5, 'regions': []}),
                          'NoSuchStream', 'door')
        self.assert_error(client.call('SetRegions', {'name': 'door', 'picture': 1, 'regions': []}),
                          'Refused', 'region_feed')
        for wrong in ('1', 1.5, -1, None, True):
            self.assert_error(client.call('SetRegions', {'name': 'door', 'picture': wrong,
                                                         'regions': []}),
                              'InvalidParameter', 'whole number')
        self.assert_error(client.call('SetRegions', {'name': 'door', 'picture': 5,
                                                     'regions': {}}), 'InvalidParameter', 'list')
        text = client.call('GetInterfaceDescription', {'interface': INTERFACE[:-1]},
                           interface=SERVICE)['parameters']['description']
        self.assertIn('method SetRegions(name: string, picture: int, regions: [](id: ?string, ',
                      text)

    def test_parameters_are_checked(self):
        client = self.client()
        self.assert_error(client.call('Set', {'name': 'door'}), 'InvalidParameter', 'filters')
        self.assert_error(client.call('Set', {'name': 'door', 'filtres': 'x'}), 'InvalidParameter',
                          'nearest: filters')
        self.assert_error(client.call('Set', {'name': 1, 'filters': 'x'}), 'InvalidParameter',
                          'string')
        self.assert_error(client.call('Record', {'name': 'door', 'on': 'yes'}),
                          'InvalidParameter', 'true or false')
        self.assert_error(client.call('Snapshot', {'name': 'door', 'format': 'gif'}),
                          'InvalidParameter', 'png, jpg')
        self.assert_error(client.call('Status', {'interval': 0.01}), 'InvalidParameter', '0.1')
        self.assert_error(client.call('Stat'), 'MethodNotFound', 'Status')
        self.assert_error(client.call('List', interface='io.halod.Contrl.'), 'InterfaceNotFound')
        self.assertIn('parameters', client.call('Status', {'name': None}))

    def test_start_stop_record_reload(self):
        client = self.client()
        for method, state in (('Stop', 'stopped'), ('Start', 'running'), ('Restart', 'running')):
            self.assertEqual(client.call(method, {'name': 'door'}), {'parameters': {}})
            status = client.call('Status', {'name': 'door'})['parameters']['stream']
            self.assertEqual(status['state'], state)
        self.assertEqual(client.call('Record', {'name': 'door', 'on': True}), {'parameters': {}})
        self.assert_error(client.call('Record', {'name': 'road', 'on': True}), 'Refused', 'file')
        self.assertEqual(client.call('Reload')['parameters'],
                         {'added': [], 'removed': [], 'changed': [], 'set': [], 'refused': []})
        self.assertEqual(client.call('Reload', {'check': True})['parameters'], {})

    def test_snapshot_comes_as_a_descriptor(self):
        client = self.client()
        answer = client.call('Snapshot', {'name': 'door', 'format': 'jpg'})['parameters']
        self.assertEqual(answer, {'format': 'jpg', 'size': len(self.jpeg)})
        self.assertEqual(len(client.fds), 1)
        self.assertEqual(os.pread(client.fds[0], answer['size'] + 1, 0), self.jpeg)

    def test_a_snapshot_that_waits_is_no_engine_s(self):
        """An engine that is started meanwhile does not get the image's descriptor."""
        client = self.client()
        for _ in range(100):  # more than the socket takes
            client.send('GetInterfaceDescription', {'interface': INTERFACE[:-1]}, SERVICE)
        client.send('Snapshot', {'name': 'door', 'format': 'jpg'})
        self.until(lambda: len(self.memory_files()) == 1, self.memory_files)
        self.assertTrue(self.memory_files()[0] & os.O_CLOEXEC)

    def memory_files(self):
        """Flags of the daemon's descriptors of them."""
        found, folder = [], f'/proc/{self.daemon.pid}/fd'
        for fd in os.listdir(folder):
            try:
                if os.readlink(f'{folder}/{fd}').startswith('/memfd:'):
                    with open(f'{folder}info/{fd}') as file:
                        found.append(int(re.search(r'flags:\s*(\d+)', file.read())[1], 8))
            except FileNotFoundError:
                pass  # closed meanwhile
        return found

    def test_facts(self):
        facts = self.client().call('Facts')['parameters']['facts']
        self.assertEqual(facts['pid'], self.daemon.pid)
        self.assertEqual(facts['config'], '/etc/halod/halod.yaml')

    def test_oneway(self):
        client = self.client()
        client.send('Stop', {'name': 'door'}, oneway=True)
        client.send('Stop', {'name': 'nobody'}, oneway=True)
        client.send('Nothing', oneway=True)
        client.send('Set', {'name': 'road', 'filters': 'solid'}, oneway=True)
        streams = client.call('List')['parameters']['streams']
        self.assertEqual(streams[0]['state'], 'stopped')

    def test_answers_keep_the_order_of_calls(self):
        client = self.client()
        client.send('Set', {'name': 'door', 'filters': 'solid'})
        client.send('List')
        client.send('Snapshot', {'name': 'door', 'format': 'png'})
        client.send('Status', {'name': 'road'})
        self.assertEqual(client.receive(), {'parameters': {}})
        self.assertIn('streams', client.receive()['parameters'])
        self.assertEqual(client.receive()['parameters']['format'], 'png')
        self.assertEqual(client.receive()['parameters']['stream']['name'], 'road')

    def test_calls_in_pieces_and_a_closed_half(self):
        client = self.client()
        for byte in b'{"method": "io.halod.Control.Set", "parameters": ' \
                    b'{"name": "door", "filters": "solid"}}\0':
            client.send_bytes(bytes([byte]))
        client.socket.shutdown(socket.SHUT_WR)
        self.assertEqual(client.receive(), {'parameters': {}})
        self.assertIsNone(client.receive())


class Watching(StandinTest):
    def test_status_again_and_again(self):
        client = self.client()
        client.send('Status', {'name': 'door', 'interval': 0.1}, more=True)
        answers = [client.receive() for _ in range(4)]
        for answer in answers:
            self.assertTrue(answer['continues'])
        frames = [a['parameters']['stream']['filtered'] for a in answers]
        self.assertLess(frames[0], frames[3])

    def test_a_change_is_seen_at_once(self):
        client = self.client()
        client.send('Status', {'name': 'door', 'interval': 3600}, more=True)
        client.receive()
        self.client().call('Stop', {'name': 'door'})
        states = [client.receive()['parameters']['stream']['state'] for _ in range(2)]
        self.assertIn('stopped', states)

    def test_events(self):
        client = self.client()
        client.send('Events', more=True)
        self.assertEqual(client.receive(), {'continues': True, 'parameters': {}})
        other = self.client()
        other.call('Stop', {'name': 'road'})
        asked = client.receive()['parameters']['event']
        self.assertEqual((asked['event'], asked['method'], asked['stream']),
                         ('asked', 'Stop', 'road'))
        self.assertEqual((asked['uid'], asked['pid']), (os.getuid(), os.getpid()))
        event = client.receive()['parameters']['event']
        self.assertEqual((event['stream'], event['state']), ('road', 'stopped'))
        self.assert_error(other.call('Events'), 'ExpectedMore')

    def test_the_first_answer_comes_behind_others(self):
        """What is sent in one write with another call is answered like any other."""
        events = b'{"method": "io.halod.Control.Events", "more": true}'
        status = b'{"method": "io.halod.Control.Status", "more": true, ' \
                 b'"parameters": {"name": "door", "interval": 3600}}'
        for call, keys in ((events, []), (status, ['stream'])):
            client = self.client()
            client.send_bytes(b'{"method": "io.halod.Control.List"}\0' + call + b'\0')
            self.assertIn('streams', client.receive()['parameters'])
            answer = client.receive()
            self.assertTrue(answer['continues'])
            self.assertEqual(list(answer['parameters']), keys)

    def test_a_slow_subscriber_is_told_what_it_lost(self):
        slow, fast = self.client(), self.client()
        for client in (slow, fast):
            client.send('Events', more=True)
            client.receive()
        other = self.client()
        for _ in range(2):
            self.daemon.send_signal(signal.SIGUSR1)  # 20,000 events at once
            for _ in range(2):  # a signal is handled after the sockets that are ready with it
                other.call('List')
        other.call('Stop', {'name': 'road'})
        got = lost = 0
        while True:
            parameters = slow.receive()['parameters']
            lost += parameters.get('lost', 0)
            got += 'event' in parameters
            if parameters.get('event', {}).get('state') == 'stopped':
                break
            if lost and got + lost >= 40000:
                break
        self.assertGreater(lost, 0)
        self.assertGreaterEqual(got + lost, 40000)
        self.assertLess(memory_kib(self.daemon.pid), 400000)


class Limits(StandinTest):
    def test_hostile_messages_are_answered(self):
        for name, message in HOSTILE.items():
            with self.subTest(name):
                client = self.client()
                client.send_bytes(message + b'\0')
                answer = client.receive()
                self.assertIsNotNone(answer)
                self.assertIn('error', answer)
                what = answer['parameters']['what']
                self.assertTrue(what.isprintable(), what)
                self.assertLess(len(what), 700)
                self.assertIn('parameters', client.call('List'))  # it may go on
                client.close()

    def test_random_bytes(self):
        generator = random.Random(7)
        for _ in range(200):
            client = self.client()
            try:
                client.send_bytes(generator.randbytes(generator.randrange(1, 3000)))
            except ConnectionError:  # too many: was turned away
                pass
            client.close()
        self.assertIn('parameters', self.client().call('List'))

    def test_too_long_a_message_is_cut(self):
        client = self.client()
        try:
            client.send_bytes(b'"' + b'a' * (3 << 20))
        except (BrokenPipeError, ConnectionResetError):
            pass
        self.assertIsNone(client.receive())
        self.assertIn('too long', self.said())

    def test_the_longest_message(self):
        client = self.client()
        head, tail = b'{"method": "io.halod.Control.', b'"}\0'
        client.send_bytes(head + b'x' * ((1 << 20) - len(head) - len(tail)) + tail)
        self.assert_error(client.receive(), 'MethodNotFound')

    def test_waiting_calls_are_limited(self):
        client = self.client()
        message = b'{"method": "io.halod.Control.Set", "parameters": ' \
                  b'{"name": "door", "filters": "solid"}}\0'
        client.send_bytes(message * 17)  # one is being answered
        for _ in range(17):
            self.assertEqual(client.receive(), {'parameters': {}})
        client.send_bytes(message * 40)
        self.assertIsNone(client.receive())
        self.assertIn('too many calls', self.said())

    def test_calls_that_are_answered_at_once_do_not_wait(self):
        client = self.client()
        client.send_bytes(b'{"method": "io.halod.Control.List"}\0' * 200)
        for _ in range(200):
            self.assertIn('streams', client.receive()['parameters'])

    def test_others_have_their_turn(self):
        """Between calls of one client that come at once and are answered at once."""
        many, other = self.client(), self.client()
        for client in (many, other):  # they are let in
            client.call('List')
        self.daemon.send_signal(signal.SIGSTOP)
        many.send_bytes(b'{"method": "io.halod.Control.List"}\0' * 100)
        many.socket.shutdown(socket.SHUT_WR)
        other.send('Stop', {'name': 'door'})
        self.daemon.send_signal(signal.SIGCONT)
        answers = [many.receive()['parameters']['streams'] for _ in range(100)]
        states = [streams[0]['state'] for streams in answers]
        self.assertEqual(states, sorted(states))
        self.assertEqual(states[-1], 'stopped')  # who of both is looked at first is not promised
        self.assertIsNone(many.receive())

    def test_clients_are_limited(self):
        """Those whose call is being answered keep their places."""
        clients = [self.client() for _ in range(64)]
        for client in clients:
            self.assertEqual(client.call('Events', more=True)['parameters'], {})
        extra = self.client()
        self.assert_error(extra.receive(), 'Failed', 'too many')
        self.assertIsNone(extra.receive())
        clients.pop().close()
        self.until(self.is_let_in)

    def is_let_in(self):
        try:
            return 'streams' in self.client().call('List')['parameters']
        except ConnectionError:  # was turned away before it asked
            return False

    def test_silent_ones_make_room(self):
        clients = [self.client()]
        for _ in range(63):
            clients.append(self.client())
            self.assertIn('parameters', clients[-1].call('List'))
        self.assertIn('parameters', self.client().call('List'))
        self.assertIsNone(clients[0].receive())  # it was silent longest
        self.assertIn('parameters', clients[-1].call('List'))

    def test_silent_ones_are_cut(self):
        """One that never says anything, and one that stops within a call; not who waits."""
        silent, half, waits = self.client(), self.client(), self.client()
        self.assertIn('parameters', half.call('List'))
        half.send_bytes(b'{"method": ')
        self.assertEqual(waits.call('Events', more=True)['parameters'], {})
        self.until(lambda: self.said().count('no complete call') == 2, timeout=50)
        self.assertIsNone(silent.receive())
        self.assertIsNone(half.receive())
        self.assertIn('parameters', self.client().call('Stop', {'name': 'door'}))
        self.assertIsNotNone(waits.receive())

    def test_one_who_does_not_read_is_cut(self):
        client, other = self.client(), self.client()
        client.socket.setblocking(False)

        def is_cut():
            """Asks and never reads, until its socket is full. Others are not kept out by all of these."""
            with contextlib.suppress(BlockingIOError, ConnectionError):
                while True:
                    client.socket.send(b'{"method": "io.halod.Control.Status"}\0' * 10)
            self.assertIn('parameters', other.call('List'))
            self.assertLess(memory_kib(self.daemon.pid), 400000)
            return 'does not read' in self.said()
        self.until(is_cut)

    def test_those_who_leave_early_leave_nothing(self):
        self.client().call('List')
        before = descriptors(self.daemon.pid)
        for _ in range(200):
            for method in ('Snapshot', 'Events'):
                client = self.client()
                try:
                    client.send(method, {'name': 'door', 'format': 'png'}, more=True)
                except ConnectionError:
                    pass
                client.close()
        self.until(lambda: descriptors(self.daemon.pid) <= before, lambda: descriptors(self.daemon.pid))

    def test_a_daemon_that_ends_with_all_kinds_of_clients(self):
        for method, parameters in (('Events', {}), ('Status', {}), ('Facts', {}),
                                   ('Set', {'name': 'door', 'filters': 'x'}),
                                   ('Snapshot', {'name': 'door', 'format': 'png'})):
            self.client().send(method, parameters, more=True)
        self.client().send_bytes(b'{"half')
        self.client().call('List')  # the last to come has been heard, and so were those before
        self.stop()


class Socket(StandinTest):
    def test_mode(self):
        info = os.stat(self.socket)
        self.assertTrue(stat.S_ISSOCK(info.st_mode))
        self.assertEqual(stat.S_IMODE(info.st_mode), 0o660)

    def second(self):
        return subprocess.run(self.command(), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, timeout=RUN_TIMEOUT)

    def test_a_live_socket_is_refused(self):
        done = self.second()
        self.assertEqual(done.returncode, 1)
        self.assertIn('another process is listening on', done.stderr)
        self.assertIn('parameters', self.client().call('List'))

    def test_a_stale_socket_is_replaced(self):
        self.daemon.kill()
        self.daemon.wait()
        self.daemon.stdout.close()
        self.assertTrue(os.path.exists(self.socket))
        self.start()
        self.assertIn('parameters', self.client().call('List'))
        self.stop()
        self.assertFalse(os.path.exists(self.socket))

    def test_a_file_is_not_replaced(self):
        self.stop()
        with open(self.socket, 'w') as file:
            file.write('mine')
        done = self.second()
        self.assertEqual(done.returncode, 1)
        self.assertIn('not a socket', done.stderr)
        with open(self.socket) as file:
            self.assertEqual(file.read(), 'mine')

    def test_the_socket_of_another_is_left(self):
        os.unlink(self.socket)
        other = socket.socket(socket.AF_UNIX)
        other.bind(self.socket)
        self.stop()
        self.assertTrue(os.path.exists(self.socket))
        other.close()

    def test_too_long_a_path(self):
        self.stop()
        self.socket = '/tmp/' + 'x' * 200
        done = self.second()
        self.assertEqual(done.returncode, 1)
        self.assertIn('at most 107 bytes', done.stderr)


class BadConfig(StandinTest):
    environment = {'STANDIN_BAD_CONFIG': '1'}

    def test_all_errors_are_told(self):
        answer = self.client().call('Reload')
        self.assert_error(answer, 'BadConfig')
        self.assertEqual(len(answer['parameters']['errors']), 2)


if __name__ == '__main__':
    unittest.main()
