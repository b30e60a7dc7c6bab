# SPDX-License-Identifier: BSD-2-Clause
# HTTP as processes serve it: its description, addresses of this machine, TLS, what is kept over a
# restart, and live media. Roles, sessions, calls, what each role is told and settings that are kept
# are lists in tests/world/events (http-*.events, addresses.events, keep.events).
import base64
import http.client
import json
import os
import re
import shutil
import socket
import ssl
import struct
import subprocess
import unittest
import warnings

from halotest import alone, docs
from halotest.schema import Schema
from halotest.daemon import (FFMPEG, HALOCTL, HALOD, PATIENCE, DaemonTest, call, free_port, main,
                             wait_until)

BASE = 'gblur=sigma=9'
PASSWORD = 'correct horse'
CURL = 'curl', '-s', '-m', str(60 * PATIENCE)


class Browser:
    """A client with a cookie, as the page's scripts ask."""

    def __init__(self, host):
        self.host, self.token, self.cookie = host, '', ''

    def ask(self, path, body=None, headers=(), method=None):
        """(status, headers, body) of an answer; body: posted as JSON."""
        words = {'Cookie': self.cookie} if self.cookie else {}
        if body is not None:
            words['Content-Type'] = 'application/json'
            if self.token:
                words['X-Halod-Token'] = self.token
        connection = http.client.HTTPConnection(self.host, timeout=60 * PATIENCE)
        try:
            connection.request(method or ('GET' if body is None else 'POST'), path,
                               None if body is None else json.dumps(body), {**words, **dict(headers)})
            answer = connection.getresponse()
            found = {key.lower(): value for key, value in answer.getheaders()}
            data = answer.read()
        finally:
            connection.close()
        self.cookie = found.get('set-cookie', self.cookie).split(';')[0]
        return answer.status, found, data

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
    def begin(self, streams=None, code=0, environment=None, **settings):
        self.host = f'127.0.0.1:{free_port()}'
        os.makedirs(self.path('state'), exist_ok=True)
        door = {'input': 'test:size=160x120:rate=25', 'filters': BASE, 'backend': 'cpu',
                'outputs': [{'null': True}]}
        daemon = self.start({'door': door, **(streams or {})}, code=code, environment=environment,
                            http={'listen': self.host, **settings}, state=self.path('state'))
        daemon.wait_state('door', 'running')
        return daemon

    def browser(self, user=None):
        page = Browser(self.host)
        if user:
            self.assertEqual(page.login(user), 200)
        return page

    def add(self, daemon, name, role):
        daemon.control('SetUser', name=name, role=role, password=PASSWORD)


class Reach(ApiTest):
    def test_who_connects_from_where(self):
        """Proxies that are not named may let in everybody; other machines get the metrics alone."""
        port = free_port()
        daemon = self.begin(listen=f'0.0.0.0:{port}', metrics='network')
        self.host = f'127.0.0.1:{port}'
        mine = self.browser()
        self.assertEqual(mine.ask('/api/streams')[0], 200)
        for header in ('X-Forwarded-For: 203.0.113.9', 'X-Forwarded-For: 127.0.0.1',
                       'Forwarded: for=127.0.0.1', 'X-Real-IP: 127.0.0.1', 'Via: 1.1 proxy'):
            for path in '/api/streams', '/door/snapshot.jpg':
                self.assertEqual(mine.ask(path, headers=[header.split(': ')])[0], 401, (path, header))
        self.add(daemon, 'anna', 'admin')
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            try:
                probe.connect(('192.0.2.1', 9))
            except OSError:
                self.skipTest('this machine has no address but its own')
            other = Browser(f'{probe.getsockname()[0]}:{port}')
        host = [('Host', 'localhost')]
        for page in mine, other:
            self.assertEqual(page.ask('/metrics', headers=host)[0], 200)
            self.assertEqual(page.ask('/healthz', headers=host)[0], 200)
        self.assertEqual(other.ask('/metrics')[0], 403, 'a host that is not listed')
        for path, body in (('/', None), ('/door/snapshot.jpg', None), ('/api/streams', None),
                           ('/api/session', None), ('/door/stream.mjpeg', None), ('/no', None),
                           ('/api/login', {'user': 'anna', 'password': PASSWORD})):
            status, _, said = other.ask(path, body, host)
            self.assertEqual((status, b'only /metrics and /healthz' in said), (403, True), path)
        self.assertEqual(mine.ask('/api/streams')[0], 401)
        self.assertEqual(mine.login('anna'), 200)

    def certificate(self):
        key, certificate = self.path('key.pem'), self.path('cert.pem')
        call(['openssl', 'req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', key, '-out',
              certificate, '-days', '2', '-subj', '/CN=localhost', '-addext',
              'subjectAltName=IP:127.0.0.1'])
        return {'certificate': certificate, 'key': key}

    def test_tls(self):
        files = self.certificate()
        daemon = self.begin(**files)
        self.add(daemon, 'anna', 'admin')
        done = subprocess.run(
            ['curl', '-s', '-i', '--cacert', files['certificate'], '-H',
             'Content-Type: application/json', '-d',
             json.dumps({'user': 'anna', 'password': PASSWORD}), f'https://{self.host}/api/login'],
            stdout=subprocess.PIPE, check=False)
        answer = done.stdout.decode()
        self.assertRegex(answer, r'(?i)set-cookie: __Host-halod-\d+=[0-9a-f]{64}; .*Secure')
        self.assertIn('Strict-Transport-Security', answer)
        done = subprocess.run(['curl', '-s', '-m', '5', f'http://{self.host}/healthz'],
                              stdout=subprocess.PIPE, check=False)
        self.assertNotIn(b'ok', done.stdout)
        for version, accepted in ((ssl.TLSVersion.TLSv1, False), (ssl.TLSVersion.TLSv1_1, False),
                                  (ssl.TLSVersion.TLSv1_2, True), (ssl.TLSVersion.TLSv1_3, True)):
            with self.subTest(version):
                self.assertEqual(self.shakes_hands(version), accepted)

    def shakes_hands(self, version):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        context.set_ciphers('ALL:@SECLEVEL=0')
        with warnings.catch_warnings():
            warnings.simplefilter('ignore', DeprecationWarning)
            context.minimum_version = context.maximum_version = version
        address, port = self.host.split(':')
        try:
            with socket.create_connection((address, int(port)), 60 * PATIENCE) as client, \
                    context.wrap_socket(client) as tls:
                return bool(tls.version())
        except (ssl.SSLError, ConnectionError):
            return False

    def test_what_does_not_start(self):
        os.makedirs(self.path('state'))
        for name in 'key.pem', 'cert.pem':
            with open(self.path(name), 'w') as file:
                file.write('this is not PEM\n')
        with self.assertRaisesRegex(AssertionError, 'certificate or its key cannot be used'):
            self.begin(certificate=self.path('cert.pem'), key=self.path('key.pem'), code=78)
        with self.assertRaisesRegex(AssertionError, 'there are no users yet'):
            self.begin(listen=f'0.0.0.0:{free_port()}', proxy='192.0.2.1', code=78)
        with open(self.path('state/users.json'), 'w') as file:
            file.write('{"users": {"anna": {"role": "king", "hash": "x"}}, "tokens": {}}')
        with self.assertRaisesRegex(AssertionError, 'users.json is damaged'):
            self.begin(code=78)


class Described(ApiTest):
    """What the daemon answers is what /api/openapi.json and docs/control.md say."""

    ENDLESS = '/api/events', '/api/live', '/{stream}/live.mp4', '/{stream}/stream.mjpeg'
    SOME = {'string': 'door', 'integer': 1, 'number': 1, 'boolean': True, 'array': [], 'object': {}}
    WRONG = {'string': 1, 'integer': -1, 'number': 'x', 'boolean': 'x', 'array': {}, 'object': []}

    def begin_described(self):
        self.daemon = self.begin()
        for name, role in (('anna', 'admin'), ('otto', 'operate'), ('vera', 'view')):
            self.add(self.daemon, name, role)
        token = self.daemon.control('AddToken', name='test', role='admin')['token']
        self.bearer = [('Authorization', f'Bearer {token}')]
        self.basic = [('Authorization', 'Basic ' + base64.b64encode(f'x:{token}'.encode()).decode())]
        self.page = self.browser()
        self.api = self.page.json('/api/openapi.json')[1]
        self.schema = Schema(self.api)

    def operations(self):
        for path, item in self.api['paths'].items():
            for method, operation in item.items():
                yield path, method, operation

    def whole(self, operation):
        """The least body of a request; its fields; and which of them are needed."""
        body = operation['requestBody']['content']['application/json'].get('schema', {})
        fields, needed = body.get('properties', {}), body.get('required', [])
        return {name: fields[name].get('enum', [self.SOME[fields[name]['type']]])[0]
                for name in needed}, fields, needed

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

    def test_paths_and_methods(self):
        self.begin_described()
        self.check_document()
        self.check_filters()
        self.check_reading()
        for path, method, operation in self.operations():
            if method == 'post':
                with self.subTest(path):
                    self.check_call(path, operation)
        self.check_roles()

    def check_document(self):
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
        self.rows = docs.table(docs.section(docs.read('docs/control.md'), 'HTTP'), 'path')
        served = {path.replace('NAME', '{stream}') for paths, *_ in self.rows for path in
                  docs.quoted(paths) if '?' not in path}
        described = {path for path, *_ in self.operations()}
        self.assertEqual(served - described, {'/', '/page/FILE', '/api/call/METHOD'})
        self.assertNotIn('/api/call/Events', described)

    def check_filters(self):
        filters = self.page.json('/api/filters')[1]['$defs']
        self.assertIn('description', filters['gblur']['properties']['sigma'])
        self.assertIn('region', filters['solid']['properties'])

    def check_reading(self):
        for path, method, operation in self.operations():
            if method != 'get':
                continue
            one = 'HEAD' if path in self.ENDLESS else 'GET'
            for name, headers in (('door', self.bearer), ('nosuch', self.bearer), ('door', ()),
                                  ('door', self.basic), ('door', [('Host', 'evil.example')])):
                with self.subTest(path, name=name, headers=headers):
                    self.check(operation, self.page.ask(path.format(stream=name), None, headers, one))
            answer = self.page.ask(path.format(stream='door'), method='DELETE')
            self.assertEqual(self.check(operation, answer), 405, path)
        self.assertEqual(self.page.ask('/api/nothing')[1]['content-type'], 'application/json')
        self.assertEqual(self.page.ask('/api/streams', None, self.basic)[0], 200)

    def check_call(self, path, operation):
        whole, fields, needed = self.whole(operation)
        bad = [{**whole, 'unknown': 1}, *({k: v for k, v in whole.items() if k != name}
                                          for name in needed),
               *({**whole, name: self.WRONG[of['type']]} for name, of in fields.items()), [], 7]
        for other in 'OPTIONS', 'PUT', 'GET':
            answer = self.page.ask(path, whole, method=other)
            self.assertEqual((answer[0], answer[1]['allow']), (405, 'POST'))
        if path != '/api/call/SetPassword':  # is for those with a cookie
            for one in bad:
                answer = self.page.ask(path, one, self.bearer)
                self.assertEqual(self.check(operation, answer), 400, (one, answer[2]))
        self.check(operation, self.page.ask(path, whole))
        self.check(operation, self.page.ask(path, None, self.bearer, 'POST'))
        self.assertEqual(self.check(operation, self.page.ask(path, None, self.bearer)), 405)
        if 'Password' not in path and 'logout' not in path and 'User' not in path:
            self.check(operation, self.page.ask(path, whole, self.bearer))

    def check_roles(self):
        """What docs/control.md does not call free needs a login, and methods the role in the document."""
        nobody, asked = self.browser(), 0
        for paths, role, *_ in self.rows:
            for path in docs.quoted(paths) if role == 'view' else ():
                self.assertEqual(nobody.ask(path.replace('NAME', 'door'))[0], 401, path)
                asked += 1
        self.assertGreater(asked, 9)
        methods = [(path, operation) for path, _, operation in self.operations()
                   if path.startswith('/api/call/')]
        self.assertGreater(len(methods), 15)
        for user, roles in (('vera', ('operate', 'admin')), ('otto', ('admin',))):
            page = self.browser(user)
            for path, operation in methods:
                body = self.whole(operation)[0]
                if operation.get('x-role', 'view') in roles:
                    status, answer = page.json(path, body)
                    self.assertEqual((status, answer['error']),
                                     (403, 'org.varlink.service.PermissionDenied'), (user, path))
                self.assertEqual(nobody.json(path, body)[0], 401, path)

    @unittest.skipUnless(shutil.which('schemathesis'), 'there is no schemathesis')
    @alone
    def test_schemathesis(self):
        self.begin_described()
        with open(self.path('openapi.json'), 'w') as file:
            paths = {path: item for path, item in self.api['paths'].items()
                     if path not in self.ENDLESS}
            json.dump({**self.api, 'paths': paths}, file)
        done = subprocess.run(
            ['schemathesis', 'run', self.path('openapi.json'), '--url', f'http://{self.host}', '-H',
             ': '.join(self.bearer[0]), '--phases', 'coverage', '--checks',
             'content_type_conformance,response_schema_conformance,status_code_conformance,'
             'unsupported_method'], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
            cwd=self.folder)  # it writes a cache there
        self.assertEqual(done.returncode, 0, done.stdout.decode()[-4000:])


class Kept(ApiTest):
    def ctl(self, *words, code=0, data=b''):
        done = subprocess.run([HALOCTL, '--socket', self.path('control.sock'), *words], input=data,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        self.assertEqual(done.returncode, code, done.stdout.decode())
        return done.stdout.decode()

    def test_over_a_restart(self):
        """Users, tokens and filters, as haloctl made them."""
        daemon = self.begin()
        with open(self.path('state/setup-code')) as file:
            self.assertIn(file.read().strip(), self.ctl('user', 'code'))
        self.ctl('user', 'add', 'anna', 'admin', data=f'{PASSWORD}\n'.encode())
        self.assertEqual(self.browser().login('anna'), 200)
        self.assertRegex(self.ctl('user', 'list'), r'anna +admin')
        tokens = [self.ctl('token', 'add', name, 'view').strip() for name in ('wall', 'gone')]
        self.assertTrue(re.fullmatch('[0-9a-f]{64}', tokens[0]))
        self.assertRegex(self.ctl('token', 'list'), r'wall +view')
        self.ctl('token', 'remove', 'gone')
        self.assertIn('only administrator', self.ctl('user', 'remove', 'anna', code=1))
        self.assertIn('role', self.ctl('user', 'add', 'x', 'king', code=64))
        daemon.control('Set', name='door', filters='avgblur=sizeX=9')
        daemon.control('Hide', name='door', id='a', filters='solid')
        self.ctl('keep', 'door')
        self.assertTrue(daemon.status('door')['kept'])
        self.assertIn('avgblur=sizeX=9', call([HALOD, '--dump-config', daemon.config]).decode())
        daemon.stop()
        daemon = self.begin()
        self.assertEqual(self.browser().login('anna'), 200)
        for token, status in zip(tokens, (200, 401)):
            self.assertEqual(self.browser().ask(
                '/metrics', headers=[('Authorization', f'Bearer {token}')])[0], status)
        self.assertEqual(daemon.status('door')['filters'], 'avgblur=sizeX=9,solid')
        self.ctl('forget', 'door')
        self.assertEqual(daemon.status('door')['filters'], BASE + ',solid')


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
        with subprocess.Popen([*CURL, '-N', *options, f'http://{self.host}{path}'],
                              stdout=subprocess.PIPE) as curl:
            data = b''
            while not enough(data) and (piece := curl.stdout.read1(1 << 16)):
                data += piece
            curl.kill()
        return data

    def test_what_is_shown(self):
        """Files of the page, a preview, and video over one connection and by itself."""
        os.mkdir(self.path('page'))
        for path, text in (('page/index.html', 'start'), ('page/app.js', 'script'),
                           ('page/notes.txt', 'geheim'), ('page/.hidden.js', 'geheim'),
                           ('beside.js', 'geheim')):
            with open(self.path(path), 'w') as file:
                file.write(text)
        self.port = free_port()
        late = {'input': f'tcp://127.0.0.1:{self.port}', 'filters': BASE, 'backend': 'cpu',
                'outputs': [{'null': True}]}
        self.daemon = self.begin({'late': late}, environment={'HALOD_PAGE': self.path('page')},
                                 page=True)
        self.check_files(self.path('page'))
        self.check_live()
        self.check_mp4()
        self.check_late()
        self.check_restart()
        self.add(self.daemon, 'otto', 'operate')
        self.check_preview()

    def check_files(self, folder):
        page = self.browser()
        _, headers, body = page.ask('/page/app.js')
        self.assertEqual((headers['cache-control'], body), ('no-cache', b'script'))
        for path in ('/page/notes.txt', '/page/.hidden.js', '/page/../beside.js', '/page/..%2fbeside.js',
                     '/page/%2e%2e/beside.js', '/page/%2e%2e%2fbeside.js', '/page//../beside.js',
                     f'/page/{folder}/app.js', f'/page/%2f{folder[1:]}/../beside.js',
                     '/page/..%5cbeside.js', '/page/'):
            status, _, body = page.ask(path)
            self.assertEqual((status, b'geheim' in body), (404, False), path)

    def check_preview(self):
        page = self.browser('otto')
        for more, bright in (({'filters': 'solid=color=white'}, True), ({}, False)):
            status, headers, image = page.ask('/api/call/Snapshot',
                                              {'name': 'door', 'format': 'jpg', **more})
            self.assertEqual((status, headers['content-type']), (200, 'image/jpeg'))
            luma = call([FFMPEG, '-v', 'error', '-i', '-', '-f', 'rawvideo', '-pix_fmt', 'gray',
                         '-'], data=image)
            self.assertEqual(len(luma), 160 * 120)
            self.assertEqual(min(luma) > 250, bright)
        for more, status, what in (({'format': 'gif'}, 400, 'format'),
                                   ({'filters': 'gblurr'}, 409, 'unknown filter'),
                                   ({'filters': 'solid=region=people'}, 503, 'detector'),
                                   ({'name': 'nosuch'}, 404, 'nosuch')):
            got = page.call('Snapshot', **{'name': 'door', 'format': 'jpg', **more})
            self.assertEqual(got[0], status, got)
            self.assertIn(what, got[1]['what'])

    def check_live(self):
        def kinds(data):
            return [(kind, slot) for kind, slot, _ in messages(data)]

        begun = []

        def enough(data):
            if data and not begun:
                begun.append(self.daemon.control('Hide', name='door', id='a', filters='solid'))
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

    def check_mp4(self):
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

    def check_restart(self):
        """The same connection shows a card and then the stream, with times that go on."""
        killed = []

        def enough(data):
            fragments = [payload for kind, _, payload in messages(data) if kind == 'F']
            if len(fragments) > 10 and not killed:
                killed.append(len(fragments))
                self.daemon.kill_engine_of('door')
            return killed and len(fragments) > killed[0] + 60
        data = self.read('/api/live?video=door', enough)
        self.assertTrue(enough(data))
        starts = [struct.unpack('>Q', payload[at + 8:at + 16])[0] for kind, _, payload
                  in messages(data) if kind == 'F' and (at := payload.index(b'tfdt')) > 0]
        self.assertEqual(starts, sorted(starts))

    def check_late(self):
        """Cards first, then a stream with sound, on the same connection."""
        self.daemon.wait_state('late', 'waiting')
        sender = []

        def begins(data):
            return [json.loads(payload) for kind, _, payload in messages(data) if kind == 'B']

        def enough(data):
            if begins(data) and not sender:
                sender.append(subprocess.Popen(
                    [FFMPEG, '-v', 'error', '-re', '-f', 'lavfi', '-i', 'testsrc2=size=320x240',
                     '-f', 'lavfi', '-i', 'sine', '-c:v', 'libx264', '-preset', 'ultrafast', '-g',
                     '10', '-pix_fmt', 'yuv420p', '-c:a', 'aac', '-f', 'mpegts',
                     f'tcp://127.0.0.1:{self.port}?listen=1'], stdin=subprocess.DEVNULL))
            return any(begin['audio'] for begin in begins(data)) and \
                data.rindex(b'tfdt') > data.rindex(b'mp4a') > 0
        try:
            data = self.read('/api/live?video=late', enough)
        finally:
            for process in sender:
                process.kill()
                process.wait()
        self.assertEqual([(begin['width'], begin['audio']) for begin in begins(data)],
                         [(1280, False), (320, True)])



if __name__ == '__main__':
    main()
