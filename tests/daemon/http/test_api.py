# SPDX-License-Identifier: BSD-2-Clause
# HTTP with users: who may do what, sessions, calls, what is kept, and live media.
import base64
import itertools
import json
import os
import re
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import threading
import unittest
import warnings

from halotest import alone, docs
from halotest.schema import Schema
from halotest.daemon import (FFMPEG, HALOCTL, PATIENCE, Control, DaemonTest, Refused, call,
                             free_port, main, wait_until)

BASE = 'gblur=sigma=9'
PASSWORD = 'correct horse'
RUNS = 'running', 'overloaded'  # as the machine may be busy
CURL = 'curl', '-s', '-m', str(60 * PATIENCE)


class Browser:
    """curl with a cookie jar, as the page's scripts ask."""

    numbers = itertools.count()

    def __init__(self, test, host):
        self.jar, self.host, self.token = test.path(f'jar{next(Browser.numbers)}'), host, ''

    def ask(self, path, body=None, *options, token=None, method=None):
        """(status, headers, body) of an answer; body: posted as JSON."""
        words = [*CURL, '-i', '-b', self.jar, '-c', self.jar, *options]
        if body is not None:
            words += ['-H', 'Content-Type: application/json', '--data-binary', '@-']
            token = self.token if token is None else token
            if token:
                words += ['-H', f'X-Halod-Token: {token}']
        if method:
            words += ['-X', method]
        done = subprocess.run([*words, f'http://{self.host}{path}'], stdout=subprocess.PIPE,
                              input=json.dumps(body).encode(), check=False)
        head, _, rest = done.stdout.partition(b'\r\n\r\n')
        lines = head.decode().split('\r\n')
        headers = {key.lower(): value
                   for key, value in (line.split(': ', 1) for line in lines[1:])}
        return int(lines[0].split()[1]), headers, rest

    def json(self, path, body=None, **more):
        status, _, text = self.ask(path, body, **more)
        return status, json.loads(text)

    def call(self, method, **parameters):
        return self.json(f'/api/call/{method}', parameters)

    def login(self, user, password=PASSWORD):
        status, answer = self.json('/api/login', {'user': user, 'password': password})
        self.token = answer.get('token', '')
        return status


class ApiTest(DaemonTest):
    def begin(self, streams=None, code=0, state=True, environment=None, **http):
        self.host = f'127.0.0.1:{free_port()}'
        os.makedirs(self.path('state'), exist_ok=True)
        more = {'state': self.path('state')} if state else {}
        streams = streams or {
            'door': {'input': 'test:size=160x120:rate=25', 'filters': BASE, 'backend': 'cpu',
                     'outputs': [{'null': True}]}}
        daemon = self.start(streams, code=code, http={'listen': self.host, **http},
                            environment=environment, **more)
        daemon.wait_state('door', 'running')
        return daemon

    def browser(self):
        return Browser(self, self.host)

    def snapshot(self, page):
        """The answer to one who asks again while there is no picture within five seconds."""
        answers = []
        wait_until(lambda: answers.append(page.ask('/door/snapshot.jpg')) or answers[-1][0] != 503)
        return answers[-1]

    def add(self, daemon, name, role, password=PASSWORD):
        daemon.control('SetUser', name=name, role=role, password=password)

    def code(self):
        with open(self.path('state/setup-code')) as file:
            return file.read().strip()


class Roles(ApiTest):
    def test_nobody_yet(self):
        self.begin()
        page = self.browser()
        self.assertEqual(page.json('/api/session')[1]['role'], 'view')
        self.assertEqual(page.ask('/api/streams')[0], 200)
        self.assertEqual(page.call('Status', name='door')[0], 200)
        for method, parameters in (('Stop', {}), ('Hide', {'id': 'a', 'filters': 'solid'}),
                                   ('Set', {'filters': 'solid'}), ('Keep', {})):
            status, answer = page.call(method, name='door', **parameters)
            self.assertEqual((status, answer['error']),
                             (403, 'org.varlink.service.PermissionDenied'), method)

    def test_setup(self):
        self.begin()
        path = self.path('state/setup-code')
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
        page, code = self.browser(), self.code()
        wanted = {'code': code, 'user': 'anna', 'password': PASSWORD}
        self.assertEqual(page.json('/api/setup', {**wanted, 'code': 'x'})[0], 403)
        self.assertEqual(page.json('/api/setup', {**wanted, 'password': 'short'})[0], 400)
        status, session = page.json('/api/setup', wanted)
        self.assertEqual((status, session['role'], session['user']), (200, 'admin', 'anna'))
        self.assertFalse(os.path.exists(path))
        self.assertEqual(os.stat(self.path('state/users.json')).st_mode & 0o777, 0o600)
        with open(self.path('state/users.json')) as file:
            self.assertNotIn(PASSWORD, file.read())
        page.token = session['token']
        self.assertEqual(page.call('Set', name='door', filters='avgblur=sizeX=9')[0], 200)
        other = self.browser()
        self.assertEqual(other.json('/api/session')[1]['role'], 'none')
        self.assertEqual(other.json('/api/setup', wanted)[0], 403, 'only once')

    def test_what_each_role_may(self):
        daemon = self.begin()
        self.add(daemon, 'anna', 'admin')
        self.add(daemon, 'otto', 'operate')
        self.add(daemon, 'vera', 'view')
        rows = (  # method, parameters, least role
            ('Status', {}, 'view'), ('History', {}, 'view'),
            ('Check', {'filters': 'solid'}, 'view'),
            ('Hide', {'id': 'a', 'filters': 'solid'}, 'operate'),
            ('Hide', {'id': 'a', 'filters': ''}, 'operate'), ('Restart', {}, 'operate'),
            ('Set', {'filters': BASE}, 'admin'), ('Keep', {}, 'admin'), ('Forget', {}, 'admin'))
        roles = {'vera': 'view', 'otto': 'operate', 'anna': 'admin'}
        order = list(roles.values())
        for user, role in roles.items():
            page = self.browser()
            self.assertEqual(page.login(user), 200)
            for method, parameters, least in rows:
                status, answer = page.call(method, name='door', **parameters)
                may = order.index(role) >= order.index(least)
                self.assertEqual(status, 200 if may else 403, (user, method, answer))

    def test_every_path(self):
        """Without a login, nothing is served that docs/control.md does not call free."""
        daemon = self.begin()
        self.add(daemon, 'anna', 'admin')
        page, asked = self.browser(), 0
        rows = docs.table(docs.section(docs.read('docs/control.md'), 'HTTP'), 'path')
        for paths, role, *_ in rows:
            for path in docs.quoted(paths) if role == 'view' else ():
                with self.subTest(path):
                    self.assertEqual(page.ask(path.replace('NAME', 'door'))[0], 401)
                    asked += 1
        self.assertGreater(asked, 9)

    def test_every_method(self):
        daemon = self.begin()
        self.add(daemon, 'anna', 'admin')
        self.add(daemon, 'vera', 'view')
        self.add(daemon, 'otto', 'operate')
        some = {'string': 'door', 'integer': 1, 'number': 1, 'boolean': True, 'array': [],
                'object': {}}

        def choose(schema):
            return schema.get('enum', [some[schema['type']]])[0]
        methods = {}  # path: least role, parameters
        for path, row in self.browser().json('/api/openapi.json')[1]['paths'].items():
            if path.startswith('/api/call/'):
                body = row['post'].get('requestBody', {'content': {'application/json': {}}})
                schema = body['content']['application/json'].get('schema', {})
                methods[path] = row['post'].get('x-role', 'view'), {
                    name: choose(schema['properties'][name]) for name in schema.get('required', [])}
        self.assertGreater(len(methods), 15)
        denied = {'vera': ('operate', 'admin'), 'otto': ('admin',)}
        for user, roles in denied.items():
            page = self.browser()
            page.login(user)
            for path, (role, parameters) in methods.items():
                if role in roles:
                    with self.subTest(path, user=user):
                        status, answer = page.json(path, parameters)
                        self.assertEqual((status, answer['error']),
                                         (403, 'org.varlink.service.PermissionDenied'))
        for path, (_, parameters) in methods.items():
            with self.subTest(path):
                status = self.browser().json(path, parameters)[0]
                self.assertIn(status, (401,) if path.startswith('/api/call/') else (200, 400, 403))

    def test_operators_only_hide_more(self):
        daemon = self.begin()
        self.add(daemon, 'anna', 'admin')
        self.add(daemon, 'otto', 'operate')
        page = self.browser()
        page.login('otto')
        status, answer = page.call('Hide', name='door', id='a', filters='unsharp')
        self.assertEqual(status, 409, answer)
        self.assertEqual(page.call('Hide', name='door', id='a', filters='solid')[0], 200)
        self.assertEqual(daemon.status('door')['filters'], BASE + ',solid')
        self.assertEqual(page.call('Hide', name='door', id='a', filters='')[0], 200)
        self.assertEqual(daemon.status('door')['filters'], BASE)

    def test_files_are_not_told(self):
        daemon = self.begin()
        self.add(daemon, 'anna', 'admin')
        self.add(daemon, 'otto', 'operate')
        page = self.browser()
        page.login('otto')
        for filters in ('solid=region=mask /etc/shadow', "solid=region='mask /etc/hosts'",
                        'solid=region=m\\ask /nonexistent.png', "solid=region=ma''sk /x.png"):
            for method, more in (('Check', {}), ('Hide', {'id': 'a'}),
                                 ('Snapshot', {'format': 'png'})):
                status, answer = page.call(method, name='door', filters=filters, **more)
                self.assertEqual((status, answer['what']), (
                    409, 'only an administrator can use another mask image'), filters)

    def test_view_socket(self):
        view = self.path('view.sock')
        daemon = self.start({'door': {'input': 'test:size=64x48', 'filters': BASE,
                                      'outputs': [{'null': True}]}},
                            control={'path': self.path('control.sock'), 'view': view})
        client = Control(view)
        self.addCleanup(client.close)
        self.assertEqual(client('List')['streams'][0]['name'], 'door')
        with self.assertRaises(Refused) as said:
            client('Stop', name='door')
        self.assertEqual(said.exception.error, 'PermissionDenied')
        with self.assertRaises(Refused):
            client('Facts')
        daemon.wait_state('door', 'running')
        self.assertIn(client('Status', name='door')['stream']['state'], RUNS)

    def test_without_users_others_are_not_let_in(self):
        for more in {}, {'page': True}:
            http = {'listen': f'0.0.0.0:{free_port()}', **more}
            for proxy, why in (({}, 'in the clear'), ({'proxy': '0.0.0.0'}, 'of the proxy'),
                               ({'proxy': '192.0.2.1'}, 'there are no users yet')):
                with self.subTest(more, proxy=proxy), self.assertRaisesRegex(AssertionError, why):
                    self.start(self.small(), http={**http, **proxy}, code=78)

    def test_what_others_get(self):
        """Through an address of this machine that others can reach, whatever host they name."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            try:
                probe.connect(('192.0.2.1', 9))
            except OSError:
                self.skipTest('this machine has no address but its own')
            address = probe.getsockname()[0]
        port = free_port()
        daemon = self.begin(listen=f'0.0.0.0:{port}', metrics='network')
        self.add(daemon, 'anna', 'admin')
        mine, other = Browser(self, f'127.0.0.1:{port}'), Browser(self, f'{address}:{port}')
        host = '-H', 'Host: localhost'
        for page in mine, other:
            self.assertEqual(page.ask('/metrics', None, *host)[0], 200)
            self.assertEqual(page.ask('/healthz', None, *host)[0], 200)
        self.assertEqual(other.ask('/metrics')[0], 403, 'a host that is not listed')
        for path, body in (('/', None), ('/door/snapshot.jpg', None), ('/api/streams', None),
                           ('/api/session', None), ('/door/stream.mjpeg', None), ('/no', None),
                           ('/api/login', {'user': 'anna', 'password': PASSWORD})):
            status, _, said = other.ask(path, body, *host)
            self.assertEqual((status, b'only /metrics and /healthz' in said), (403, True), path)
        self.assertEqual(mine.ask('/api/streams')[0], 401)
        self.assertEqual(mine.login('anna'), 200)

    def test_proxies_that_are_not_named(self):
        """One on this machine may let in everybody."""
        self.begin()
        page = self.browser()
        self.assertEqual(page.ask('/api/streams')[0], 200)
        for header in ('X-Forwarded-For: 203.0.113.9', 'X-Forwarded-For: 127.0.0.1',
                       'Forwarded: for=127.0.0.1', 'X-Real-IP: 127.0.0.1', 'Via: 1.1 proxy'):
            for path in '/api/streams', '/door/snapshot.jpg', '/metrics':
                self.assertEqual(page.ask(path, None, '-H', header)[0], 401, (path, header))

    def small(self):
        return {'door': {'input': 'test:size=64x48', 'filters': BASE, 'outputs': [{'null': True}]}}


class Addresses(ApiTest):
    """What of inputs and outputs each role sees."""

    SECRET = 'tlJwpbo6X'
    URLS = ('rtsp://{}/user=admin&password={}&channel=1', 'http://{}/a?%70assword={}',
            'http://{}/v.cgi?loginuse=admin&loginpas={}', 'srt://{}?passphrase={}0123',
            'rtsp://{}/user=admin_password={}_channel=1.sdp', 'http://{}/{}/video')

    def begin_with(self, **streams):
        with socket.socket() as probe:  # nobody listens there
            probe.bind(('127.0.0.1', 0))
            place = f'127.0.0.1:{probe.getsockname()[1]}'
        urls = [url.format(place, self.SECRET) for url in self.URLS]
        urls.append(f'rtsp://me:{self.SECRET}@{place}/x')
        cameras = {f'u{i}': {'input': url, 'filters': 'solid', 'outputs': [{'null': True}]}
                   for i, url in enumerate(urls)}
        door = {'input': 'test:size=160x120:rate=25', 'filters': BASE, 'backend': 'cpu',
                'outputs': [{'null': True}]}
        self.daemon = self.begin({'door': door, **cameras, **streams})
        self.daemon.wait_state('door', 'running')
        for name, role in (('anna', 'admin'), ('otto', 'operate'), ('vera', 'view')):
            self.add(self.daemon, name, role)
        return urls

    def seen_by(self, user, *methods):
        """Everything that this user can ask for, as text."""
        page = self.browser()
        page.login(user)
        answers = [page.ask(path)[2].decode() for path in
                   ('/', '/api/streams', '/metrics', '/healthz', '/api/openapi.json')]
        answers += [json.dumps(page.call(*method)[1]) for method in (
            ('Status',), ('List',), ('History',), *methods)]
        answers += [json.dumps(page.call(method, **{'name': 'no/such'})[1])
                    for method in ('Status', 'Start')]
        return '\n'.join(answers)

    def test_nobody_sees_passwords(self):
        self.begin_with()
        self.assertTrue(wait_until(lambda: all(
            self.daemon.status(f'u{i}')['why'] for i in range(len(self.URLS) + 1))))
        for user in 'vera', 'otto', 'anna':
            self.assertNotIn(self.SECRET, self.seen_by(user, ('Facts',)), user)
        self.assertNotIn(self.SECRET, self.daemon.logged())
        self.assertNotIn(self.SECRET, call([os.environ['HALOD'], '--dump-config',
                                            self.daemon.config]).decode())
        self.assertEqual({self.daemon.status(f'u{i}')['input'] for i in (1, 2, 5)},
                         {'http://127.0.0.1/***'})

    def test_reveal(self):
        urls = self.begin_with()
        for user, status in (('vera', 403), ('otto', 403), ('anna', 200)):
            page = self.browser()
            page.login(user)
            got, answer = page.call('Reveal', name='u0')
            self.assertEqual((got, answer.get('input')), (status, urls[0] if status == 200 else None))
        self.assertEqual(page.call('Reveal', name='u99')[0], 404)
        self.assertIn('anna at 127.0.0.1 calls Reveal u0', self.daemon.logged())

    def test_viewers_see_no_paths(self):
        mask = self.path('my mask.png')
        call([FFMPEG, '-v', 'error', '-f', 'lavfi', '-i', 'color=white:size=320x240', '-frames:v',
              '1', mask])
        hidden = f'solid=region=mask {mask}'
        self.begin_with(
            lost={'input': self.path('no file.mp4'), 'filters': 'solid',
                  'outputs': [{'unix': self.path('lost one.ts')}]},
            masked={'input': 'test:size=320x240:rate=5', 'filters': hidden, 'privacy': 'changed',
                    'outputs': [{'null': True}]})
        self.assertTrue(wait_until(lambda: self.daemon.status('lost')['why']))
        self.daemon.wait_state('masked', 'running')
        self.assertIn(self.folder, json.dumps(self.daemon.status()))
        words = self.folder, 'no file', 'file.mp4', 'lost one', 'my mask', 'mask.png'
        for word in words:
            self.assertNotIn(word, self.seen_by('vera'))
        operator = self.seen_by('otto')
        for word in words[1:4]:
            self.assertNotIn(word, operator)
        self.assertIn(hidden, operator, 'cannot be changed without it')
        self.assertIn(self.folder, self.seen_by('anna'))

    def test_masks_are_not_guessed(self):
        """Neither by trying how their names begin."""
        mask = self.path('mask.png')
        call([FFMPEG, '-v', 'error', '-f', 'lavfi', '-i', 'color=white:size=320x240', '-frames:v',
              '1', mask])
        self.begin_with(masked={
            'input': 'test:size=320x240:rate=5', 'filters': f'solid=region=mask {mask}',
            'privacy': 'changed', 'outputs': [{'null': True}]})
        page = self.browser()
        page.login('vera')
        for name, status in ((mask, 200), (mask[:-1], 409), ('/', 409), (self.folder, 409)):
            got, answer = page.call('Check', name='masked', filters=f'solid=region=mask {name}')
            self.assertEqual(got, status, answer)
            if status == 409:
                self.assertEqual(answer['what'],
                                 'only an administrator can use another mask image')


class Sessions(ApiTest):
    def test_login(self):
        daemon = self.begin()
        self.add(daemon, 'anna', 'admin')
        page = self.browser()
        for path in ('/api/streams', '/metrics', '/door/snapshot.jpg', '/door/live.mp4',
                     '/api/live', '/api/events', '/door/stream.mjpeg'):
            self.assertEqual(page.ask(path)[0], 401, path)
        self.assertEqual(page.call('Status')[0], 401)
        self.assertNotIn(b'door', page.ask('/healthz')[2])
        self.assertEqual(page.login('anna', 'wrong horse'), 403)
        self.assertEqual(page.login('nobody'), 403)
        status, headers, _ = page.ask('/api/login', {'user': 'anna', 'password': PASSWORD})
        self.assertEqual(status, 200)
        for word in ('HttpOnly', 'SameSite=Strict', 'Path=/'):
            self.assertIn(word, headers['set-cookie'])
        self.assertNotIn('Secure', headers['set-cookie'])
        session = page.json('/api/session')[1]
        self.assertEqual((session['role'], session['user']), ('admin', 'anna'))
        page.token = session['token']
        self.assertEqual(self.snapshot(page)[0], 200)
        self.assertEqual(page.json('/api/logout', {})[1]['role'], 'none')
        self.assertEqual(page.ask('/door/snapshot.jpg')[0], 401)

    def test_planted_cookie(self):
        """A login does not take over a cookie that somebody else may know."""
        daemon = self.begin()
        self.add(daemon, 'anna', 'admin')
        name = 'halod-' + self.host.split(':')[1]
        planted = f'{name}={"0" * 64}'
        status, headers, _ = self.browser().ask(
            '/api/login', {'user': 'anna', 'password': PASSWORD}, '-H', f'Cookie: {planted}')
        self.assertEqual(status, 200)
        self.assertRegex(headers['set-cookie'], f'^{name}=[0-9a-f]{{64}};')
        self.assertFalse(headers['set-cookie'].startswith(planted))
        self.assertEqual(
            self.browser().ask('/api/streams', None, '-H', f'Cookie: {planted}')[0], 401)

    def test_cookie_after_logout(self):
        daemon = self.begin()
        self.add(daemon, 'anna', 'admin')
        page = self.browser()
        _, headers, _ = page.ask('/api/login', {'user': 'anna', 'password': PASSWORD})
        kept = '-H', 'Cookie: ' + headers['set-cookie'].split(';')[0]
        stranger = self.browser()
        self.assertEqual(stranger.ask('/api/streams', None, *kept)[0], 200)
        page.json('/api/logout', {})
        self.assertEqual(stranger.ask('/api/streams', None, *kept)[0], 401)

    def test_unknown_users(self):
        """Nobody learns by guessing who has an account."""
        daemon = self.begin()
        self.add(daemon, 'anna', 'admin')
        answers = [self.browser().ask('/api/login', {'user': user, 'password': 'wrong horse'})
                   for user in ('anna', 'nobody')]
        self.assertEqual(*[(status, body) for status, _, body in answers])

    @alone
    def test_unknown_users_must_wait(self):
        self.add(self.begin(), 'anna', 'admin')
        for user in 'anna', 'nobody':
            for _ in range(5):
                answer = self.browser().login(user, 'wrong horse')
            self.assertEqual(answer, 429, user)

    def test_what_is_logged(self):
        daemon = self.begin()
        self.add(daemon, 'anna', 'admin')
        self.add(daemon, 'vera', 'view')
        page = self.browser()
        page.login('geheim\n', 'wrong horse')
        page.login('vera')
        page.call('Stop', name='door')
        other = self.browser()
        other.login('anna')
        other.call('Restart', name='door')
        said = daemon.logged()
        for line in ('wrong user name or password from 127.0.0.1',
                     'vera has logged in from 127.0.0.1',
                     "a call by vera at 127.0.0.1 was refused: Stop needs the role 'operate'",
                     'anna at 127.0.0.1 calls Restart door'):
            self.assertIn(line, said)
        # A password may have been typed into the wrong field.
        for secret in ('geheim', 'wrong horse', PASSWORD, page.token, other.token):
            self.assertNotIn(secret, said)

    def test_token_against_other_sites(self):
        """What a foreign page can send: the cookie, but not the token, and no JSON."""
        daemon = self.begin()
        self.add(daemon, 'anna', 'admin')
        page = self.browser()
        page.login('anna')
        body = {'name': 'door'}
        self.assertEqual(page.json('/api/call/Stop', body, token='0' * 64)[0], 403)
        self.assertEqual(page.ask('/api/call/Stop', body, '-H', 'Origin: http://evil.example')[0],
                         403)
        self.assertEqual(page.ask('/api/call/Stop', body, '-H', 'Sec-Fetch-Site: cross-site', '-H',
                                  'Sec-Fetch-Dest: document')[0], 403)
        self.assertEqual(page.ask('/api/call/Stop', body, '-H', 'Host: evil.example')[0], 403)
        self.assertEqual(page.ask('/api/call/Stop', None, '-H', f'X-Halod-Token: {page.token}', '-d',
                                  '{"name": "door"}')[0], 415, 'a form')
        self.assertEqual(page.ask('/api/call/Stop?name=door')[0], 405)
        self.assertIn(daemon.state('door'), RUNS)
        self.assertEqual(page.call('Stop', name='door')[0], 200)

    @alone
    def test_wrong_passwords_must_wait(self):
        daemon = self.begin()
        self.add(daemon, 'anna', 'admin')
        page = self.browser()
        for _ in range(4):
            self.assertEqual(page.login('anna', 'wrong horse'), 403)
        status, headers, _ = page.ask('/api/login', {'user': 'anna', 'password': PASSWORD})
        self.assertEqual(status, 429, 'also with the right one')
        self.assertIn(int(headers['retry-after']), range(1, 16))  # less what has passed
        self.assertIn('wrong user name or password from 127.0.0.1', daemon.logged())

    @alone
    def test_guesses_at_once(self):
        daemon = self.begin()
        self.add(daemon, 'anna', 'admin')
        results = []
        threads = [threading.Thread(target=lambda: results.append(
            self.browser().login('anna', 'wrong horse'))) for _ in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(results.count(403), 4, results)
        self.assertEqual(results.count(429), 16, results)
        self.assertIn(daemon.state('door'), RUNS)

    def test_users_that_change(self):
        daemon = self.begin()
        self.add(daemon, 'anna', 'admin')
        self.add(daemon, 'otto', 'operate')
        page = self.browser()
        page.login('otto')
        daemon.control('SetUser', name='otto', role='view')
        self.assertEqual(page.call('Status')[0], 401, 'sessions end')
        self.assertEqual(page.login('otto'), 200, 'the password is as before')
        self.assertEqual(page.call('Stop', name='door')[0], 403)
        status, session = page.json('/api/call/SetPassword',
                                    {'old': PASSWORD, 'new': 'another horse'})
        self.assertEqual(status, 200, session)
        page.token = session['token']
        self.assertEqual(page.call('Status')[0], 200)
        self.assertEqual(self.browser().login('otto'), 403)
        daemon.control('RemoveUser', name='otto')
        self.assertEqual(page.call('Status')[0], 401)
        with self.assertRaisesRegex(Refused, 'only administrator'):
            daemon.control('RemoveUser', name='anna')
        with self.assertRaisesRegex(Refused, 'needs a password'):
            daemon.control('SetUser', name='new', role='view')
        daemon.stop()
        daemon = self.start(streams={'door': {'input': 'test:size=64x48', 'filters': BASE,
                                              'outputs': [{'null': True}]}},
                            http={'listen': self.host}, state=self.path('state'))
        self.assertEqual(self.browser().login('anna'), 200, 'users are stored')

    def test_tokens(self):
        daemon = self.begin()
        self.add(daemon, 'anna', 'admin')
        token = daemon.control('AddToken', name='prometheus', role='view')['token']
        page = self.browser()
        bearer = ('-H', f'Authorization: Bearer {token}')
        basic = ('-H', 'Authorization: Basic ' + base64.b64encode(f'x:{token}'.encode()).decode())
        for options in (bearer, basic):
            self.assertEqual(page.ask('/metrics', None, *options)[0], 200)
            self.assertEqual(page.ask('/api/call/Stop', {'name': 'door'}, *options)[0], 403)
            self.assertEqual(page.ask('/api/call/Status', {'name': 'door'}, *options)[0], 200)
        self.assertEqual(page.ask('/metrics', None, '-H', 'Authorization: Bearer 1234')[0], 401)
        with open(self.path('state/users.json')) as file:
            self.assertNotIn(token, file.read())
        listed = daemon.control('Users')
        self.assertEqual(listed, {'users': [{'name': 'anna', 'role': 'admin'}],
                                  'tokens': [{'name': 'prometheus', 'role': 'view'}]})
        daemon.control('RemoveToken', name='prometheus')
        self.assertEqual(page.ask('/metrics', None, *bearer)[0], 401)

    def test_proxy(self):
        self.begin(proxy='127.0.0.1')
        page = self.browser()
        session = page.ask('/api/session', None, '-H', 'X-Forwarded-Proto: https')[2]
        self.assertTrue(json.loads(session)['tls'])
        self.assertEqual(json.loads(session)['role'], 'none', 'nobody behind a proxy may view')
        self.assertEqual(page.json('/api/session')[1]['role'], 'none')

    @alone
    def test_who_must_wait_behind_a_proxy(self):
        self.begin(proxy='127.0.0.1')
        page, body = self.browser(), {'code': 'x', 'user': 'a', 'password': PASSWORD}
        for _ in range(4):
            page.ask('/api/setup', body, '-H', 'X-Forwarded-For: 10.9.9.9, 192.0.2.7')
        self.assertEqual(page.ask('/api/setup', body, '-H', 'X-Forwarded-For: 192.0.2.7')[0], 429)
        self.assertEqual(page.ask('/api/setup', body, '-H', 'X-Forwarded-For: 192.0.2.8')[0], 403)

    def certificate(self):
        key, certificate = self.path('key.pem'), self.path('cert.pem')
        call(['openssl', 'req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', key, '-out',
              certificate, '-days', '2', '-subj', '/CN=localhost', '-addext',
              'subjectAltName=IP:127.0.0.1'])
        return {'certificate': certificate, 'key': key}

    def test_tls(self):
        files = self.certificate()
        certificate = files['certificate']
        daemon = self.begin(**files)
        self.add(daemon, 'anna', 'admin')
        done = subprocess.run(
            ['curl', '-s', '-i', '--cacert', certificate, '-H', 'Content-Type: application/json',
             '-d', json.dumps({'user': 'anna', 'password': PASSWORD}),
             f'https://{self.host}/api/login'], stdout=subprocess.PIPE, check=False)
        answer = done.stdout.decode()
        self.assertRegex(answer, r'(?i)set-cookie: __Host-halod-\d+=[0-9a-f]{64}; .*Secure')
        self.assertIn('Strict-Transport-Security', answer)
        done = subprocess.run(['curl', '-s', '-m', '5', f'http://{self.host}/healthz'],
                              stdout=subprocess.PIPE, check=False)
        self.assertNotIn(b'ok', done.stdout)

    def test_old_tls(self):
        self.begin(**self.certificate())
        for version, accepted in ((ssl.TLSVersion.TLSv1, False), (ssl.TLSVersion.TLSv1_1, False),
                                  (ssl.TLSVersion.TLSv1_2, True), (ssl.TLSVersion.TLSv1_3, True)):
            with self.subTest(version), warnings.catch_warnings():
                warnings.simplefilter('ignore', DeprecationWarning)
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
                context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
                context.set_ciphers('ALL:@SECLEVEL=0')
                context.minimum_version = context.maximum_version = version
                address, port = self.host.split(':')
                try:
                    with socket.create_connection((address, int(port)), 60 * PATIENCE) as client, \
                            context.wrap_socket(client) as tls:
                        shaken = tls.version()
                except (ssl.SSLError, ConnectionError):
                    shaken = None
                self.assertEqual(bool(shaken), accepted)

    def test_wrong_certificate(self):
        key, certificate = self.path('key.pem'), self.path('cert.pem')
        for name in (key, certificate):
            with open(name, 'w') as file:
                file.write('this is not PEM\n')
        with self.assertRaisesRegex(AssertionError, 'certificate or its key cannot be used'):
            self.begin(certificate=certificate, key=key, code=78)

    def test_damaged_users(self):
        os.makedirs(self.path('state'))
        with open(self.path('state/users.json'), 'w') as file:
            file.write('{"users": {"anna": {"role": "king", "hash": "x"}}, "tokens": {}}')
        with self.assertRaisesRegex(AssertionError, 'users.json is damaged'):
            self.begin(code=78)


class Calls(ApiTest):
    def test_errors(self):
        self.begin()
        page = self.browser()
        for path, body, status in (
                ('/api/call/Status', {'name': 'nosuch'}, 404), ('/api/call/Nosuch', {}, 404),
                ('/api/call/Status', {'nam': 'x'}, 400), ('/api/call/Events', {}, 400),
                ('/api/call/Check', {'name': 'door', 'filters': 'gblurr'}, 409),
                ('/api/call/Status', [], 400), ('/api/call/', {}, 404),
                ('/api/call/a/b', {}, 404)):
            with self.subTest(path, body=body):
                got, answer = page.json(path, body) if status != 404 or 'all/S' in path or \
                    'Nosuch' in path else (page.ask(path, body)[0], {'what': 'x'})
                self.assertEqual(got, status, answer)
                self.assertTrue(answer['what'])
        self.assertEqual(page.ask('/api/call/Status', {'name': 'x' * 300000})[0], 413)

    def test_preview(self):
        daemon = self.begin()
        self.add(daemon, 'otto', 'operate')
        page = self.browser()
        page.login('otto')
        for more, bright in (({'filters': 'solid=color=white'}, True), ({}, False)):
            status, headers, image = page.ask('/api/call/Snapshot',
                                              {'name': 'door', 'format': 'jpg', **more})
            self.assertEqual((status, headers['content-type']), (200, 'image/jpeg'))
            luma = call([FFMPEG, '-v', 'error', '-i', '-', '-f', 'rawvideo', '-pix_fmt', 'gray',
                         '-'], data=image)
            self.assertEqual(len(luma), 160 * 120)
            self.assertEqual(min(luma) > 250, bright)
        self.assertEqual(daemon.status('door')['filters'], BASE)
        for more, status, what in (({'format': 'gif'}, 400, 'format'),
                                   ({'filters': 'gblurr'}, 409, 'unknown filter'),
                                   ({'filters': 'solid=region=people'}, 503, 'detector'),
                                   ({'name': 'nosuch'}, 404, 'nosuch')):
            got = page.call('Snapshot', **{'name': 'door', 'format': 'jpg', **more})
            self.assertEqual(got[0], status, got)
            self.assertIn(what, got[1]['what'])

    def test_descriptions(self):
        self.begin()
        page = self.browser()
        filters = page.json('/api/filters')[1]['$defs']
        self.assertIn('gblur', filters)
        sigma = filters['gblur']['properties']['sigma']
        self.assertIn('description', sigma)
        self.assertIn('region', filters['solid']['properties'])
        api = page.json('/api/openapi.json')[1]
        hide = api['paths']['/api/call/Hide']['post']
        self.assertEqual(hide['x-role'], 'operate')
        schema = hide['requestBody']['content']['application/json']['schema']
        self.assertEqual(schema['required'], ['name', 'id', 'filters'])
        self.assertNotIn('/api/call/Events', api['paths'])

    def test_numbers(self):
        """3.0 is a whole number, as in JSON Schema."""
        daemon = self.begin()
        self.add(daemon, 'otto', 'operate')
        page = self.browser()
        page.login('otto')
        now = float(daemon.status('door')['revision'])
        for revision, status in ((now, 200), (now, 409), (0.5, 400), (-1.0, 400), (1e300, 400),
                                 ('1', 400)):
            got = page.call('Hide', name='door', id='a', filters='solid', revision=revision)
            self.assertEqual(got[0], status, (revision, got))

    def test_history(self):
        daemon = self.begin()
        history = daemon.control('History')
        self.assertEqual(history['interval'], 10)
        self.assertTrue(wait_until(lambda: daemon.control('History')['streams'].get('door')))
        history = daemon.control('History', name='door')
        self.assertEqual(set(history['streams']['door']), {'rate', 'p50_ms', 'p99_ms', 'dropped'})
        self.assertGreater(history['memory'][-1], 1 << 20)


class Described(ApiTest):
    """What the daemon answers is what /api/openapi.json says."""

    ENDLESS = '/api/events', '/api/live', '/{stream}/live.mp4', '/{stream}/stream.mjpeg'

    def begin(self, **more):
        self.daemon = super().begin(**more)
        self.add(self.daemon, 'anna', 'admin')
        self.token = self.daemon.control('AddToken', name='test', role='admin')['token']
        self.page = self.browser()
        self.api = self.page.json('/api/openapi.json')[1]
        self.schema = Schema(self.api)

    def operations(self):
        for path, item in self.api['paths'].items():
            for method, operation in item.items():
                yield path, method, operation

    def check(self, operation, answer):
        """(status, headers, body) of an answer are those of the document."""
        status, headers, body = answer
        responses = operation['responses']
        content = responses.get(str(status), responses['default'])['content']
        kind = headers['content-type'].split(';')[0]
        self.assertIn(kind, content, body[:200])
        if kind == 'application/json' and body:
            schema = content[kind].get('schema', True)
            self.assertEqual(list(self.schema.errors(json.loads(body), schema, '')), [])
        return status

    def references(self, node):
        if isinstance(node, dict):
            yield from [node['$ref']] if '$ref' in node else []
            node = list(node.values())
        for one in node if isinstance(node, list) else []:
            yield from self.references(one)

    def test_document(self):
        self.begin()
        self.assertRegex(self.api['openapi'], r'^3\.1\.')
        self.assertLessEqual({'title', 'version'}, set(self.api['info']))
        ids = [operation['operationId'] for *_, operation in self.operations()
               if 'operationId' in operation]
        self.assertEqual(len(ids), len(set(ids)))
        for reference in self.references(self.api):
            self.assertIsInstance(self.schema.find(reference), dict)
        for scheme in (name for one in self.api['security'] for name in one):
            self.assertIn(scheme, self.api['components']['securitySchemes'])
        for path, method, operation in self.operations():
            with self.subTest(path):
                self.assertIn(method, ('get', 'post'))
                parameters = operation.get('parameters', [])
                self.assertEqual(re.findall(r'{(\w+)}', path),
                                 [p['name'] for p in parameters if p['in'] == 'path'])
                for parameter in parameters:
                    self.assertTrue(parameter['required'] or parameter['in'] == 'query')
                    self.assertIn('schema', parameter)
                self.assertIn('200', operation['responses'])
                for response in operation['responses'].values():
                    self.assertTrue(response['description'])
                    self.assertTrue(response['content'])
        rows = docs.table(docs.section(docs.read('docs/control.md'), 'HTTP'), 'path')
        served = {path.replace('NAME', '{stream}') for paths, *_ in rows for path in
                  docs.quoted(paths) if '?' not in path}
        described = {path for path, *_ in self.operations()}
        self.assertEqual(served - described, {'/', '/page/FILE', '/api/call/METHOD'})

    def test_reading(self):
        self.begin()
        bearer = '-H', f'Authorization: Bearer {self.token}'
        for path, method, operation in self.operations():
            if method != 'get':
                continue
            more = ['-I'] if path in self.ENDLESS else []
            for name, options in (('door', bearer), ('nosuch', bearer), ('door', ()),
                                  ('door', ('-H', 'Host: evil.example'))):
                with self.subTest(path, name=name, options=options):
                    self.check(operation,
                               self.page.ask(path.format(stream=name), None, *options, *more))
            answer = self.page.ask(path.format(stream='door'), None, method='DELETE')
            self.assertEqual(self.check(operation, answer), 405, path)
        self.assertEqual(self.page.ask('/api/nothing')[1]['content-type'], 'application/json')

    def test_calls(self):
        self.begin()
        wrong = {'string': 1, 'integer': -1, 'number': 'x', 'boolean': 'x', 'array': {},
                 'object': []}
        some = {'string': 'door', 'integer': 1, 'number': 1, 'boolean': True, 'array': [],
                'object': {}}
        bearer = '-H', f'Authorization: Bearer {self.token}'
        for path, method, operation in self.operations():
            if method != 'post':
                continue
            body = operation['requestBody']['content']['application/json']['schema']
            fields, needed = body['properties'], body.get('required', [])
            whole = {name: fields[name].get('enum', [some[fields[name]['type']]])[0]
                     for name in needed}
            bad = [{**whole, 'unknown': 1}, *({k: v for k, v in whole.items() if k != name}
                                              for name in needed),
                   *({**whole, name: wrong[of['type']]} for name, of in fields.items()), [], 7]
            with self.subTest(path):
                for other in 'OPTIONS', 'PUT', 'GET':
                    answer = self.page.ask(path, whole, method=other)
                    self.assertEqual((answer[0], answer[1]['allow']), (405, 'POST'))
                if path != '/api/call/SetPassword':  # for those with a cookie: below
                    for one in bad:
                        answer = self.page.ask(path, one, *bearer)
                        self.assertEqual(self.check(operation, answer), 400, (one, answer[2]))
                self.check(operation, self.page.ask(path, whole))
                self.check(operation, self.page.ask(path, None, '-X', 'POST', *bearer))
                self.assertEqual(self.check(operation, self.page.ask(path, None, *bearer)), 405)
                if 'Password' not in path and 'logout' not in path:
                    self.check(operation, self.page.ask(path, whole, *bearer))

    def test_own_password(self):
        """What is not understood changes nothing."""
        self.begin()
        self.page.login('anna')
        for more in {'name': 'otto'}, {'user': 'otto'}, {'role': 'view'}:
            status, answer = self.page.call('SetPassword', old=PASSWORD, new='another horse', **more)
            self.assertEqual((status, answer['parameter']), (400, [*more][0]))
        self.assertEqual(self.browser().login('anna'), 200, 'it is the old one')
        for path in '/api/login', '/api/setup', '/api/logout':
            status, answer = self.page.json(path, {'user': 'anna', 'password': PASSWORD, 'x': 1,
                                                   'code': 'x'})
            self.assertEqual((status, 'parameter' in answer), (400, True), path)

    @unittest.skipUnless(shutil.which('schemathesis'), 'there is no schemathesis')
    @alone
    def test_schemathesis(self):
        self.begin()
        with open(self.path('openapi.json'), 'w') as file:
            paths = {path: item for path, item in self.api['paths'].items()
                     if path not in self.ENDLESS}
            json.dump({**self.api, 'paths': paths}, file)
        done = subprocess.run(
            ['schemathesis', 'run', self.path('openapi.json'), '--url', f'http://{self.host}', '-H',
             f'Authorization: Bearer {self.token}', '--phases', 'coverage', '--checks',
             'content_type_conformance,response_schema_conformance,status_code_conformance,'
             'unsupported_method'], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        self.assertEqual(done.returncode, 0, done.stdout.decode()[-4000:])


class Files(ApiTest):
    def test_only_those_of_the_page(self):
        folder = self.path('page')
        os.mkdir(folder)
        for path, text in (('page/index.html', 'start'), ('page/app.js', 'script'),
                           ('page/notes.txt', 'geheim'), ('page/.hidden.js', 'geheim'),
                           ('beside.js', 'geheim')):
            with open(self.path(path), 'w') as file:
                file.write(text)
        self.begin(environment={'HALOD_PAGE': folder}, page=True)
        page = self.browser()
        self.assertEqual(page.ask('/page/app.js')[2], b'script')
        self.assertEqual(page.ask('/page/app.js')[1]['cache-control'], 'no-cache')
        for path in ('/page/notes.txt', '/page/.hidden.js', '/page/../beside.js', '/page/..%2fbeside.js',
                     '/page/%2e%2e/beside.js', '/page/%2e%2e%2fbeside.js', '/page//../beside.js',
                     f'/page/{folder}/app.js', f'/page/%2f{folder[1:]}/../beside.js',
                     '/page/..%5cbeside.js', '/page/'):
            with self.subTest(path):
                status, _, body = page.ask(path, None, '--path-as-is')
                self.assertEqual((status, b'geheim' in body), (404, False))

    def test_errors_tell_nothing(self):
        """Neither where halod's files are, nor what it runs on."""
        daemon = self.begin()
        self.add(daemon, 'anna', 'admin')
        page = self.browser()
        for path, body in (('/nothing', None), ('/door/nothing', None), ('/api/streams', None),
                           ('/api/login', {}), ('/api/login', []), ('/api/setup', {'code': 'x'}),
                           ('/api/login', {'user': 'a' * 1000, 'password': 'b' * 1000}),
                           ('/api/call/Status', {}), ('/api/call/Nothing', {})):
            status, headers, text = page.ask(path, body)
            self.assertGreaterEqual(status, 400, path)
            self.assertNotIn('server', headers)
            self.assertNotRegex(text, rb'(?i)\.c:\d|microhttpd|jansson|/tmp/|/var/|' +
                                os.fsencode(self.folder), path)


class Keeping(ApiTest):
    def test_filters(self):
        daemon = self.begin()
        daemon.control('Set', name='door', filters='avgblur=sizeX=9')
        daemon.control('Hide', name='door', id='a', filters='solid')
        self.assertFalse(daemon.status('door')['kept'])
        daemon.control('Keep', name='door')
        self.assertTrue(daemon.status('door')['kept'])
        self.assertEqual(daemon.control('Reload')['set'], [])
        dumped = call([os.environ['HALOD'], '--dump-config', daemon.config]).decode()
        self.assertIn('avgblur=sizeX=9', dumped)
        daemon.stop()
        daemon = self.start({'door': {'input': 'test:size=160x120:rate=25', 'filters': BASE,
                                      'outputs': [{'null': True}]}}, state=self.path('state'))
        daemon.wait_state('door', 'running')
        self.assertEqual(daemon.status('door')['filters'], 'avgblur=sizeX=9,solid')
        daemon.control('Forget', name='door')
        self.assertEqual(daemon.status('door')['filters'], BASE + ',solid')
        self.assertFalse(daemon.status('door')['kept'])
        with self.assertRaises(Refused):
            daemon.control('Forget', name='door')

    def test_other_streams_keep_what_was_set(self):
        """A reload takes it away."""
        streams = {name: {'input': 'test:size=64x48', 'filters': BASE, 'outputs': [{'null': True}]}
                   for name in ('door', 'yard')}
        daemon = self.begin(streams)
        daemon.control('Set', name='door', filters='solid')
        self.assertEqual(daemon.control('Keep', name='yard')['set'], [])
        daemon.control('Forget', name='yard')
        self.assertEqual(daemon.status('door')['filters'], 'solid')
        streams['door']['filters'] = 'avgblur=sizeX=9'  # not loaded yet
        daemon.write(streams, state=self.path('state'))
        self.assertEqual(daemon.control('Keep', name='yard')['set'], ['door'])
        self.assertEqual(daemon.status('door')['filters'], 'avgblur=sizeX=9')
        daemon.control('Set', name='door', filters='solid')
        self.assertEqual(daemon.control('Reload')['set'], ['door'])
        self.assertEqual(daemon.status('door')['filters'], 'avgblur=sizeX=9')

    def test_new_stream(self):
        daemon = self.begin()
        answer = daemon.control('Keep', name='yard', settings={
            'input': 'test:size=64x48', 'filters': 'pixelize=w=16:h=16'}, new=True)
        self.assertEqual(answer['added'], ['yard'])
        daemon.wait_state('yard', 'running')
        with self.assertRaises(Refused) as said:
            daemon.control('Keep', name='yard', new=True, settings={
                'input': 'test:size=32x32', 'filters': BASE})
        self.assertEqual((said.exception.error, daemon.status('yard')['input']),
                         ('Refused', 'test:size=64x48'))
        self.assertEqual(daemon.control('Forget', name='yard')['removed'], ['yard'])

    def test_what_cannot_be_kept(self):
        daemon = self.begin()
        for settings, error in (
                ({'privacy': 'off'}, 'Refused'), ({'outputs': []}, 'Refused'),
                ({'input': '/etc/passwd', 'filters': BASE}, 'Refused'),
                ({'input': 'file:/etc/passwd', 'filters': BASE}, 'Refused'),
                ({'input': 'concat:///etc/passwd', 'filters': BASE}, 'Refused'),
                ({'input': 'unix:/run/x', 'filters': BASE}, 'Refused'),
                ({'input': 'http://h/${HOME}', 'filters': BASE}, 'Refused'),
                ({'input': 'test:', 'filters': 'null'}, 'BadConfig'),
                ({'input': 'test:', 'filters': 'gblurr'}, 'BadConfig'),
                ({'filters': BASE}, 'Refused')):
            with self.subTest(settings), self.assertRaises(Refused) as said:
                daemon.control('Keep', name='new', settings=settings)
            self.assertEqual(said.exception.error, error, settings)
        self.assertFalse(os.path.exists(self.path('state/overlay.yaml')))
        self.assertEqual([s['name'] for s in daemon.control('List')['streams']], ['door'])

    def test_errors_name_the_field(self):
        """And neither a file that the client never wrote, nor where it is."""
        daemon = self.begin()
        self.add(daemon, 'anna', 'admin')
        page = self.browser()
        page.login('anna')
        for settings, field in (({'input': 'test:', 'filters': 'gblurr=sigma=20'}, 'filters'),
                                ({'input': 'test:', 'filters': 'null'}, 'filters'),
                                ({'input': 'test:', 'filters': BASE, 'enabled': 'x'}, 'enabled'),
                                ({'input': 'test:', 'filters': BASE, 'capture': {'size': 1}},
                                 'capture'),
                                ({'input': 'v4l2:nam=x', 'filters': BASE}, 'input'),
                                ({'input': '/etc/passwd', 'filters': BASE}, 'input')):
            with self.subTest(settings):
                status, answer = page.call('Keep', name='new', new=True, settings=settings)
                self.assertEqual((status, answer.get('field')), (409, field), answer)
                self.assertNotRegex(answer['what'], r'\.yaml|overlay|streams\.|:\d+: |^/')

    def test_stream_that_left_the_file(self):
        daemon = self.begin()
        daemon.control('Set', name='door', filters='avgblur=sizeX=9')
        daemon.control('Keep', name='door')
        daemon.write({'other': {'input': 'test:size=64x48', 'filters': BASE,
                                'outputs': [{'null': True}]}}, state=self.path('state'))
        self.assertEqual(daemon.control('Reload')['removed'], ['door'])
        self.assertIn('what was kept for it is ignored', daemon.logged())


def messages(data):
    """(kind, slot, payload) of /api/live."""
    at = 0
    while at + 8 <= len(data):
        kind, slot, zero, size = struct.unpack('>BBHI', data[at:at + 8])
        assert zero == 0
        if at + 8 + size > len(data):
            return
        yield chr(kind), slot, data[at + 8:at + 8 + size]
        at += 8 + size


class Live(ApiTest):
    def read(self, path, enough, *options):
        """What came until there was enough."""
        curl = subprocess.Popen([*CURL, '-N', *options, f'http://{self.host}{path}'],
                                stdout=subprocess.PIPE)
        data = b''
        while not enough(data):
            piece = curl.stdout.read1(1 << 16)
            if not piece:
                break
            data += piece
        curl.kill()
        curl.wait()
        curl.stdout.close()
        return data

    def test_all_over_one_connection(self):
        daemon = self.begin()

        def kinds(data):
            return [(kind, slot) for kind, slot, _ in messages(data)]

        begun = []

        def enough(data):
            if data and not begun:
                begun.append(daemon.control('Hide', name='door', id='a', filters='solid'))
            last = ''.join(kind for kind, _ in kinds(data)).rpartition('I')[2]
            return last.count('F') > 20 and ('J', 0) in kinds(data) and ('E', 0) in kinds(data)
        data = self.read('/api/live?tiles=door,nosuch&video=door', enough)
        found = list(messages(data))
        self.assertTrue(enough(data), kinds(data))
        of = {kind: [payload for k, _, payload in found if k == kind] for kind in 'JBIFESX'}
        self.assertEqual(of['J'][0][:2], b'\xff\xd8')
        begin = json.loads(of['B'][-1])  # on a busy machine a card may come before the stream
        self.assertRegex(begin['mime'], r'^video/mp4; codecs="avc1\.[0-9a-f]{6}"$')
        self.assertEqual((begin['width'], begin['height']), (160, 120))
        self.assertEqual(of['I'][0][4:8], b'ftyp')
        self.assertEqual({fragment[4:8] for fragment in of['F']}, {b'moof'})
        self.assertEqual(json.loads(of['S'][0])['status']['streams'][0]['name'], 'door')
        self.assertIn(('X', 1), kinds(data))
        last = max(at for at, (kind, *_) in enumerate(found) if kind == 'I')
        with open(self.path('live.mp4'), 'wb') as file:
            file.write(b''.join(payload for kind, _, payload in found[last:] if kind in 'IF'))
        gray = call([FFMPEG, '-v', 'error', '-i', self.path('live.mp4'), '-f', 'rawvideo',
                     '-pix_fmt', 'gray', '-'])
        self.assertGreater(len(gray) // (160 * 120), 15)

    def test_mp4_plays(self):
        self.begin()
        # On a busy machine frames are dropped, and a card may come before the stream, which has
        # other parameters.
        data = self.read('/door/live.mp4',
                         lambda data: data[data.rfind(b'ftyp'):].count(b'moof') > 30)
        is_first = data.count(b'ftyp') == 1
        data = data[data.rindex(b'ftyp') - 4:data.rindex(b'moof') - 4]
        with open(self.path('live.mp4'), 'wb') as file:
            file.write(data)
        packets = call(['ffprobe', '-v', 'error', '-show_entries', 'packet=pts', '-of', 'csv=p=0',
                        self.path('live.mp4')]).decode().split()
        fragments = []  # (begin, duration)
        for at in (found.end() for found in re.finditer(b'tfhd', data)):
            flags, _, lasts = struct.unpack('>III', data[at:at + 12])
            self.assertEqual(flags & 0xb, 8, 'the first that follows is the duration')
            tfdt = data.index(b'tfdt', at)
            fragments.append((struct.unpack('>Q', data[tfdt + 8:tfdt + 16])[0], lasts))
        self.assertGreater(len(fragments), 20)
        self.assertEqual(fragments[0][0] == 0, is_first)
        self.assertEqual([int(word.strip(',')) for word in packets], [at for at, _ in fragments])
        for (begin, lasts), (following, _) in zip(fragments, fragments[1:]):
            self.assertEqual(begin + lasts, following, 'no gaps')

    def test_engine_dies(self):
        """The same connection shows a card and then the stream, with times that go on."""
        daemon = self.begin()
        killed = []

        def enough(data):
            fragments = [payload for kind, _, payload in messages(data) if kind == 'F']
            if len(fragments) > 10 and not killed:
                killed.append(len(fragments))
                daemon.kill_engine_of('door')
            return killed and len(fragments) > killed[0] + 60
        data = self.read('/api/live?video=door', enough)
        self.assertTrue(enough(data))
        starts = [struct.unpack('>Q', payload[at + 8:at + 16])[0] for kind, _, payload
                  in messages(data) if kind == 'F' and (at := payload.index(b'tfdt')) > 0]
        self.assertEqual(starts, sorted(starts))

    def test_source_that_comes_late(self):
        """Cards first, then a stream with sound, on the same connection."""
        port = free_port()
        self.host = f'127.0.0.1:{free_port()}'
        daemon = self.start({'door': {'input': f'tcp://127.0.0.1:{port}', 'filters': BASE,
                                      'backend': 'cpu', 'outputs': [{'null': True}]}},
                            http={'listen': self.host})
        daemon.wait_state('door', 'waiting')
        sender = []

        def begins(data):
            return [json.loads(payload) for kind, _, payload in messages(data) if kind == 'B']

        def enough(data):
            if begins(data) and not sender:
                sender.append(subprocess.Popen(
                    [FFMPEG, '-v', 'error', '-re', '-f', 'lavfi', '-i', 'testsrc2=size=320x240',
                     '-f', 'lavfi', '-i', 'sine', '-c:v', 'libx264', '-preset', 'ultrafast', '-g',
                     '10', '-pix_fmt', 'yuv420p', '-c:a', 'aac', '-f', 'mpegts',
                     f'tcp://127.0.0.1:{port}?listen=1'], stdin=subprocess.DEVNULL))
            return any(begin['audio'] for begin in begins(data)) and \
                data.rindex(b'tfdt') > data.rindex(b'mp4a') > 0
        try:
            data = self.read('/api/live?video=door', enough)
        finally:
            for process in sender:
                process.kill()
                process.wait()
        self.assertEqual([(begin['width'], begin['audio']) for begin in begins(data)],
                         [(1280, False), (320, True)])

    def test_events(self):
        daemon = self.begin()
        begun = []

        def enough(data):
            if data and not begun:
                begun.append(daemon.control('Restart', name='door'))
            return b'"asked"' in data and data.count(b'\n\n') > 3
        data = self.read('/api/events', enough)
        lines = [line for line in data.decode().split('\n\n') if line.startswith('data: ')]
        events = [json.loads(line[6:]) for line in lines[:-1]]
        self.assertIn('asked', [event['event'] for event in events])

    def test_streams_that_outlive_users(self):
        daemon = self.begin()
        self.add(daemon, 'anna', 'admin')
        token = daemon.control('AddToken', name='wall', role='view')['token']
        curls = [subprocess.Popen(
            [*CURL, '-N', '--limit-rate', rate, '-H',
             f'Authorization: Bearer {token}', f'http://{self.host}{path}'],
            stdout=subprocess.DEVNULL) for path in ('/door/stream.mjpeg', '/door/live.mp4',
                                                    '/api/live?tiles=door&video=door')
            for rate in ('10M', '5k')]
        self.assertTrue(wait_until(lambda: daemon.status('door')['viewers'] >= 6))
        daemon.control('RemoveToken', name='wall')
        daemon.control('AddToken', name='wall', role='view')
        try:
            self.assertTrue(wait_until(lambda: all(curl.poll() is not None for curl in curls)))
        finally:
            for curl in curls:
                curl.kill()
                curl.wait()
        self.assertNotIn(28, [curl.returncode for curl in curls], 'its own time was over')

    def test_session_that_ends(self):
        daemon = self.begin()
        self.add(daemon, 'anna', 'admin')
        self.add(daemon, 'vera', 'view')
        page = self.browser()
        page.login('vera')
        with subprocess.Popen([*CURL, '-N', '-b', page.jar,
                               f'http://{self.host}/api/live?video=door'],
                              stdout=subprocess.PIPE) as curl:
            self.assertTrue(curl.stdout.read(1))
            daemon.control('RemoveUser', name='vera')
            while curl.stdout.read(1 << 16):
                pass
        self.assertNotEqual(curl.returncode, 28, 'it ends with the session, not with its time')

    @alone
    def test_stuck_pages(self):
        """Pages that do not read slow nobody, and their memory is bounded."""
        daemon = self.begin()
        stuck = [subprocess.Popen([*CURL, '-N', '--limit-rate', '1',
                                   f'http://{self.host}/api/live?tiles=door&video=door'],
                                  stdout=subprocess.DEVNULL) for _ in range(32)]
        try:
            daemon.wait_pictures('door', 100, 60)
            self.assertIn(daemon.status('door')['viewers'], range(1, 33), 'each page is one')
            data = self.read('/api/live?video=door', lambda data: data.count(b'moof') > 50)
            self.assertGreater(data.count(b'moof'), 50)
        finally:
            for curl in stuck:
                curl.send_signal(signal.SIGKILL)
                curl.wait()
        self.assertTrue(wait_until(lambda: daemon.status('door')['viewers'] == 0))


class Ctl(ApiTest):
    def ctl(self, *words, code=0, data=b''):
        done = subprocess.run([HALOCTL, '--socket', self.path('control.sock'), *words], input=data,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        self.assertEqual(done.returncode, code, done.stdout.decode())
        return done.stdout.decode()

    def test_users(self):
        self.begin()
        self.assertIn(self.code(), self.ctl('user', 'code'))
        self.ctl('user', 'add', 'anna', 'admin', data=f'{PASSWORD}\n'.encode())
        self.assertEqual(self.browser().login('anna'), 200)
        self.assertRegex(self.ctl('user', 'list'), r'anna +admin')
        token = self.ctl('token', 'add', 'wall', 'view').strip()
        self.assertTrue(re.fullmatch('[0-9a-f]{64}', token))
        self.assertRegex(self.ctl('token', 'list'), r'wall +view')
        self.ctl('token', 'remove', 'wall')
        self.assertIn('only administrator', self.ctl('user', 'remove', 'anna', code=1))
        self.assertIn('role', self.ctl('user', 'add', 'x', 'king', code=64))

    def test_keep(self):
        daemon = self.begin()
        daemon.control('Set', name='door', filters='avgblur=sizeX=9')
        self.ctl('keep', 'door')
        self.assertTrue(daemon.status('door')['kept'])
        self.ctl('forget', 'door')
        self.assertEqual(daemon.status('door')['filters'], BASE)


if __name__ == '__main__':
    main()
