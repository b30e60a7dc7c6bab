# SPDX-License-Identifier: BSD-2-Clause
# HTTP: pictures, numbers, who may ask, and clients that do not read.
import contextlib
import glob
import json
import os
import random
import re
import resource
import signal
import socket
import subprocess
import threading
import time

import halotest
from halotest import alone, docs, prometheus
from halotest.standin import (JPEG, PATIENCE, STANDIN, StandinTest, descriptors, free_port,
                              memory_kib, wait_for)


class HttpTest(StandinTest):
    def setUp(self):
        self.port, self.begun = free_port(), time.time()
        self.http = f'127.0.0.1:{self.port}'
        super().setUp()

    def url(self, path):
        return f'http://{self.http}{path}'

    def curl(self, path, *options, timeout=60 * PATIENCE):
        """Status, headers and body of an answer."""
        done = subprocess.run(['curl', '-s', '-i', '-m', str(timeout), *options, self.url(path)],
                              stdout=subprocess.PIPE, check=False)
        head, _, body = done.stdout.partition(b'\r\n\r\n')
        lines = head.decode().split('\r\n')
        headers = {k.lower(): v for k, v in (line.split(': ', 1) for line in lines[1:])}
        return int(lines[0].split()[1]) if head else 0, headers, body

    def connect(self):
        client = socket.create_connection(('127.0.0.1', self.port), 60 * PATIENCE)
        self.addCleanup(client.close)
        return client

    def ask(self, path, client=None):
        client = client or self.connect()
        client.sendall(f'GET {path} HTTP/1.1\r\nHost: {self.http}\r\n\r\n'.encode())
        return client

    def look(self, path, size):
        """Head and body of a stream, of which it takes so many bytes."""
        with subprocess.Popen(['curl', '-s', '-i', '-N', '-m', str(20 * PATIENCE), self.url(path)],
                              stdout=subprocess.PIPE) as curl:
            head, _, body = curl.stdout.read(size).partition(b'\r\n\r\n')
            curl.kill()
        return head.decode(), body

    def metric(self, name):
        body = self.curl('/metrics')[2].decode()
        found = re.search(rf'^{re.escape(name)} (\S+)$', body, re.M)
        return float(found[1]) if found else None


class Pictures(HttpTest):
    def test_snapshots(self):
        for path in ('/door/snapshot.jpg', '/road/?action=snapshot', '/?action=snapshot'):
            code, headers, body = self.curl(path)
            self.assertEqual((code, headers['content-type']), (200, 'image/jpeg'), path)
            self.assertEqual(body, self.jpeg, path)
            self.assertLess(self.begun, float(headers['x-timestamp']))
            self.assertLess(float(headers['x-timestamp']), time.time())
            self.assertEqual(headers['cache-control'], 'no-store')
            self.assertNotIn('access-control-allow-origin', headers)

    def test_streams(self):
        for path in ('/door/stream.mjpeg', '/road/?action=stream', '/?action=stream'):
            headers, body = self.look(path, 12 * (len(self.jpeg) + 150))
            boundary = re.search(r'multipart/x-mixed-replace; boundary=(\S+)', headers)[1].encode()
            parts = body.split(b'--' + boundary + b'\r\n')
            self.assertEqual(parts[0], b'')
            self.assertGreater(len(parts), 10, path)
            for part in parts[1:-2]:
                head, picture = part.split(b'\r\n\r\n', 1)
                self.assertIn(b'Content-Type: image/jpeg', head)
                self.assertIn(f'Content-Length: {len(self.jpeg)}'.encode(), head)
                self.assertRegex(head, rb'X-Timestamp: \d+\.\d{6}')
                self.assertEqual(picture, self.jpeg + b'\r\n')

    def test_a_stream_ends_with_its_stream(self):
        client = self.ask('/door/stream.mjpeg')
        client.recv(1000)
        self.daemon.send_signal(signal.SIGUSR2)
        while client.recv(65536):
            pass

    def test_no_such_stream(self):
        for path in ('/dor/stream.mjpeg', '/x/snapshot.jpg', '/x/?action=stream'):
            self.assertEqual(self.curl(path)[0], 404, path)

    def test_who_leaves_is_noticed(self):
        before = descriptors(self.daemon.pid)
        clients = [self.ask('/door/stream.mjpeg') for _ in range(10)]
        self.assertTrue(wait_for(lambda: self.metric('halod_http_viewers') == 10))
        for client in clients:
            client.close()
        self.assertTrue(wait_for(lambda: self.metric('halod_http_viewers') == 0))
        self.assertTrue(wait_for(lambda: descriptors(self.daemon.pid) <= before + 1))

    @alone
    def test_one_who_does_not_read_disturbs_nobody(self):
        stuck = []
        for _ in range(8):
            client = socket.socket()
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.connect(('127.0.0.1', self.port))
            self.addCleanup(client.close)
            stuck.append(self.ask('/door/stream.mjpeg', client))
        _, body = self.look('/door/stream.mjpeg', 30 * (len(self.jpeg) + 150))
        self.assertGreater(body.count(b'X-Timestamp'), 25)
        self.assertGreaterEqual(self.metric('halod_http_viewers'), len(stuck))  # none was cut for it
        self.assertTrue(wait_for(lambda: self.metric('halod_http_frames_dropped_total') > 0))
        self.assertLess(memory_kib(self.daemon.pid), 400000)
        self.assertTrue(wait_for(lambda: self.metric('halod_http_viewers') == 0, 60))

    def test_the_end_with_viewers(self):
        for path in ('/door/stream.mjpeg', '/road/stream.mjpeg', '/door/snapshot.jpg'):
            self.ask(path)
        self.assertTrue(wait_for(lambda: self.metric('halod_http_viewers') == 2 and
                                 self.metric('halod_http_frames_total') > 0))  # one has its picture
        self.stop()


    def test_what_is_counted(self):
        """Frames, and all their bytes, however they are sent."""
        self.assertEqual(self.metric('halod_http_sent_bytes_total'), 0)
        for _ in range(3):
            self.curl('/door/snapshot.jpg')
        self.curl('/door/snapshot.jpg', '-I')
        self.curl('/api/events', '-I')
        self.assertEqual((self.metric('halod_http_frames_total'),
                          self.metric('halod_http_sent_bytes_total')), (3, 3 * len(self.jpeg)))


class LargePictures(HttpTest):
    jpeg = JPEG * 128  # more than sockets hold

    @alone
    def test_a_snapshot_is_one_picture(self):
        """Its client takes no more of the stream while it reads, however slowly it does."""
        client, size = self.ask('/door/snapshot.jpg'), 0

        def take(most):
            data = client.recv(most)
            self.assertTrue(data, 'it ends too early')
            return len(data)
        self.assertTrue(wait_for(lambda: self.metric('halod_http_frames_total') == 1))
        size += take(1 << 18)  # now and then: one that takes nothing for ten seconds is cut
        self.assertTrue(wait_for(lambda: self.metric('halod_http_viewers') == 1))
        status = json.loads(self.curl('/api/streams')[2])
        self.assertEqual(status['streams'][0]['viewers'], 0)
        size += take(1 << 18)
        time.sleep(0.5)  # more pictures come meanwhile, and none is for this client
        self.assertEqual(self.metric('halod_http_frames_dropped_total'), 0)
        while size < len(self.jpeg):
            size += take(1 << 20)


class WithoutPictures(HttpTest):
    jpeg = None

    def test_a_snapshot_is_given_up(self):
        code, _, body = self.curl('/door/snapshot.jpg')
        self.assertEqual(code, 503)
        self.assertIn(b'haloctl status', body)

    def come_and_leave(self):
        """Whether it is noticed before the five seconds of a snapshot are over."""
        clients = [self.ask('/door/stream.mjpeg'), self.ask('/door/snapshot.jpg')]
        came = wait_for(lambda: self.metric('halod_http_viewers') == 2, 4)
        for client in clients:
            client.close()
        return wait_for(lambda: self.metric('halod_http_viewers') == 0, 4) and came

    @alone
    def test_who_waits_and_leaves_is_noticed(self):
        self.assertTrue(any(self.come_and_leave() for _ in range(5)))  # the machine may be busy

    def test_the_end_while_they_wait(self):
        self.ask('/door/stream.mjpeg')
        self.assertTrue(wait_for(lambda: self.ask('/door/snapshot.jpg') and
                                 self.metric('halod_http_viewers') > 1))
        self.stop()


class Pages(HttpTest):
    def test_index(self):
        code, headers, body = self.curl('/')
        self.assertEqual(code, 200)
        self.assertIn('text/html', headers['content-type'])
        self.assertIn(b'href="/road/stream.mjpeg"', body)

    def test_status(self):
        code, headers, body = self.curl('/api/streams')
        self.assertEqual((code, headers['content-type']), (200, 'application/json'))
        self.assertEqual(len(json.loads(body)['streams']), 3)

    def test_health(self):
        code, _, body = self.curl('/healthz')
        self.assertEqual(code, 503)
        self.assertEqual(json.loads(body)['not_running'], ['bad'])

    def check_documented(self, page):
        """docs/metrics.md has each metric, its type and its labels, and no other."""
        rows = {docs.quoted(name)[0]: (kind, set(docs.quoted(labels))) for name, kind, labels, *_ in
                docs.table(docs.read('docs/metrics.md'), 'metric')}
        self.assertEqual({name: family.kind for name, family in page.items()},
                         {name: kind for name, (kind, _) in rows.items()})
        for name, family in page.items():
            for _, labels in family.samples:
                self.assertEqual({label for label, _ in labels} - {'le'}, rows[name][1], name)

    def test_metrics(self):
        code, headers, body = self.curl('/metrics')
        self.assertEqual(code, 200)
        self.assertTrue(headers['content-type'].startswith('text/plain; version=0.0.4'))
        page = prometheus.parse(body.decode())
        self.assertEqual(list(prometheus.lint(page)), [])
        self.check_documented(page)

        def value(name, **labels):
            return prometheus.value(page, 'halod_' + name, **labels)
        self.assertEqual(value('frames_dropped_total', stream='road', reason='late'), 2)
        self.assertEqual(value('stream_up', stream='bad'), 0)
        self.assertEqual(value('latency_seconds_count', stream='door'), 1000)
        self.assertEqual(value('latency_seconds_sum', stream='door'), 11)
        # 11 ms lie between 2^23 and 2^24 ns.
        edges = {'below': '0.008388607', 'above': '0.016777215'}
        self.assertLess(value('latency_seconds_bucket', stream='door', le=edges['below']), 100)
        self.assertEqual(value('latency_seconds_bucket', stream='door', le=edges['above']), 990)
        self.assertEqual({dict(labels)['stage'] for _, labels in
                          page['halod_stage_duration_seconds'].samples},
                         {'decode', 'filter', 'encode'})
        self.assertEqual(value('output_viewers', stream='door', number='0', output='unix'), 3)
        for number, written in (('1', 6), ('2', 7)):  # their targets differ in what is hidden
            self.assertEqual(value('output_bytes_total', stream='door', number=number,
                                   output='rtmp://a/***'), written)
        self.assertEqual(value('gpu_memory_used_bytes', engine='gpu1', gpu='1'), 5000000001)
        self.assertEqual(value('gpu_memory_size_bytes', engine='gpu1', gpu='1'), 80000000000)
        self.assertIsNone(value('gpu_memory_used_bytes', engine='cpu', gpu='0'))

    def test_pages_that_are_wrong(self):
        """What the check itself is worth."""
        head = '# HELP halod_a_total x\n# TYPE halod_a_total counter\n'
        prometheus.parse(head + 'halod_a_total{b="c\\"d"} 1\n')
        for bad in (head + head, 'halod_a_total 1\n' + head, head + 'halod_b 1\n',
                    head + 'halod_a_total 1\n' * 2, head + 'halod_a_total{b="c"d"} 1\n',
                    head + 'halod_a_total x', head + 'halod_a_total{b="1",b="2"} 1\n'):
            with self.subTest(bad), self.assertRaises(ValueError):
                prometheus.parse(bad)
        for name, kind in (('halod_a', 'counter'), ('halod_a_total', 'gauge'), ('a_total', 'counter'),
                           ('halod_a_ms', 'gauge'), ('halod_a', 'untyped')):
            page = prometheus.parse(f'# HELP {name} x\n# TYPE {name} {kind}\n')
            self.assertTrue(list(prometheus.lint(page)), name)
        head = '# HELP halod_h x\n# TYPE halod_h histogram\n'
        for buckets, total, count in (((1, 2, 3), 9, 4), ((2, 1, 3), 9, 3), ((0, 3, 3), 0.5, 3)):
            text = ''.join(f'halod_h_bucket{{le="{le}"}} {n}\n'
                           for le, n in zip(('1', '2', '+Inf'), buckets))
            page = prometheus.parse(head + text + f'halod_h_sum {total}\nhalod_h_count {count}\n')
            self.assertTrue(list(prometheus.lint(page)), text)

    def test_other_paths(self):
        for path in ('/nothing', '/door', '/door/', '/door/x', '/../etc/passwd', '/%2e%2e/x',
                     '/door/snapshot.jpg/', '//', '/?action=command', '/door/?action=',
                     '/metrics/', '/door//snapshot.jpg', '/' + 'x' * 3000):
            self.assertIn(self.curl(path, '--path-as-is')[0], (400, 404), path)


class Access(HttpTest):
    def status_for(self, *headers, method='GET'):
        options = [word for header in headers for word in ('-H', header)]
        return self.curl('/api/streams', '-X', method, *options)[0]

    def test_hosts(self):
        for host in ('localhost', f'localhost:{self.port}', '127.0.0.1', '[::1]', '[::1]:99',
                     'LOCALHOST', 'cam.example', 'tv.example:80'):
            self.assertEqual(self.status_for(f'Host: {host}'), 200, host)
        for host in ('evil.example', 'localhost.evil.example', '192.168.0.1', 'cam.example.evil',
                     'localhost:80:80', '[::1', '', 'localhost:x'):
            self.assertIn(self.status_for(f'Host: {host}' if host else 'Host;'), (400, 403), host)

    def test_origins(self):
        good = f'http://{self.http}'
        self.assertEqual(self.status_for(f'Origin: {good}'), 200)
        for origin in ('http://evil.example', 'null', f'{good}.evil.example', self.http,
                       'http://localhost:1'):
            self.assertEqual(self.status_for(f'Origin: {origin}'), 403, origin)

    def test_pages_of_other_origins(self):
        """Sec-Fetch-*: what a browser says of the page that asks, which it cannot change."""
        site, dest = 'Sec-Fetch-Site: {}'.format, 'Sec-Fetch-Dest: {}'.format
        wall = 'Referer: https://wall.example'
        for headers, status in (
                ((site('none'), dest('document')), 200),
                ((site('same-origin'), dest('image')), 200),
                ((site('cross-site'), dest('document')), 200),  # a link that was followed
                ((site('cross-site'), dest('image')), 403),
                ((site('same-site'), dest('image')), 403),  # another port of this machine
                ((site('cross-site'), dest('empty')), 403),
                ((site('cross-site'),), 403),
                ((site('whatever'), dest('image')), 403),
                ((site('cross-site'), dest('image'), 'Referer: https://evil.example/'), 403),
                ((site('cross-site'), dest('image'), f'{wall}.evil.example/'), 403),
                ((site('cross-site'), dest('image'), wall.replace('https', 'http')), 403),
                ((site('cross-site'), dest('image'), f'{wall}:444/'), 403),
                ((site('cross-site'), dest('image'), f'{wall}/tv?a=1'), 200),
                ((site('cross-site'), dest('image'), 'Referer: http://tv.example:3000'), 200),
                ((site('cross-site'), dest('iframe')), 200),  # frame-ancestors decides
                ((site('cross-site'), dest('object')), 403)):
            self.assertEqual(self.status_for(*headers), status, headers)

    def test_what_browsers_are_told(self):
        for path in ('/', '/door/snapshot.jpg', '/metrics', '/nothing'):
            _, headers, _ = self.curl(path)
            self.assertEqual(headers['cross-origin-resource-policy'], 'same-origin', path)
            policy = dict(rule.strip().split(' ', 1)
                          for rule in headers['content-security-policy'].split(';'))
            self.assertEqual(policy['frame-ancestors'].split(),
                             ["'self'", 'https://wall.example', 'http://tv.example:3000'])
            self.assertEqual((policy['default-src'], policy['script-src'], policy['style-src']),
                             ("'none'", "'self'", "'self'"))
            self.assertEqual(policy['form-action'], "'self'")
            self.assertEqual(policy['base-uri'], "'none'")
            self.assertEqual(headers['referrer-policy'], 'no-referrer')
            self.assertEqual(headers['x-content-type-options'], 'nosniff')
            self.assertEqual(headers['cache-control'], 'no-store')
        _, headers, _ = self.curl('/door/snapshot.jpg', '-H', 'Referer: https://wall.example/a')
        self.assertEqual(headers['cross-origin-resource-policy'], 'cross-origin')
        self.assertNotIn('access-control-allow-origin', headers)  # shown, and not read

    def raw(self, text):
        """All that comes back until the connection is closed."""
        client = self.connect()
        client.sendall(text.encode())
        data = b''
        with contextlib.suppress(ConnectionError):
            while piece := client.recv(1 << 16):
                data += piece
        return data

    def test_requests_that_can_be_read_in_two_ways(self):
        """Nothing is taken for a second request that a proxy may have taken for a body."""
        second = f'GET /api/streams HTTP/1.1\r\nHost: {self.http}\r\n\r\n'
        host, chunked = f'Host: {self.http}', 'Transfer-Encoding: chunked'
        whole, none = f'Content-Length: {len(second)}', 'Content-Length: 0'
        for fields, body in (
                ([host, none, chunked], '0\r\n\r\n'), ([host, chunked, whole], '0\r\n\r\n'),
                ([host, none, whole], ''), ([host, whole, none], ''), ([host, none, none], ''),
                ([host, f'Content-Length: 0, {len(second)}'], ''), ([host, 'Content-Length: +0'], ''),
                ([host, 'Content-Length: 0x0'], ''), ([host, chunked, chunked], '0\r\n\r\n'),
                ([host, 'Transfer-Encoding: x, chunked'], '0\r\n\r\n'),
                ([host, 'Transfer-Encoding: x', none], ''),
                ([host, 'Transfer-Encoding : chunked', none], ''),
                ([host, 'Transfer-Encoding:\tchunked\x0b', none], ''),
                ([host, 'Host: evil.example'], ''), (['Host: evil.example', host], '')):
            with self.subTest(fields):
                head = '\r\n'.join(['POST /api/call/List HTTP/1.1', 'Content-Type: application/json',
                                    *fields])
                data = self.raw(f'{head}\r\n\r\n{body}{second}')
                # libmicrohttpd 1.0 answers encodings that it does not know with 501.
                self.assertIn(set(re.findall(rb'HTTP/1\.1 (\d+)', data)), ({b'400'}, {b'501'}), data)

    def test_methods(self):
        for method in ('POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH'):
            self.assertEqual(self.status_for(method=method), 405, method)
        _, headers, _ = self.curl('/', '-X', 'POST')
        self.assertEqual(headers['allow'], 'GET, HEAD')
        for path, allowed in (('/', 'GET, HEAD'), ('/api/login', 'POST'),
                              ('/api/call/List', 'POST')):
            wrong = 'GET' if allowed == 'POST' else 'POST'
            status, headers, _ = self.curl(path, '-X', wrong)
            self.assertEqual((status, headers['allow']), (405, allowed), path)
        self.assertEqual(self.curl('/', '-d', 'x' * 100000)[0], 405)

    def test_head(self):
        for path in ('/', '/metrics', '/door/snapshot.jpg', '/door/stream.mjpeg'):
            code, _, body = self.curl(path, '-I')
            self.assertEqual((code, body), (200, b''), path)


class Limits(HttpTest):
    def test_many_connections(self):
        clients = [self.ask('/door/stream.mjpeg') for _ in range(100)]
        self.assertTrue(wait_for(lambda: self.metric('halod_http_viewers') == 64))
        self.assertLessEqual(descriptors(self.daemon.pid), 128 + 30)
        for client in clients:
            client.close()
        self.assertTrue(wait_for(lambda: self.curl('/')[0] == 200))

    @alone
    def test_many_that_leave_at_once(self):
        """No socket has anything to say after them, and the door has to be open again."""
        clients = [self.connect() for _ in range(64)]
        self.assertTrue(wait_for(lambda: descriptors(self.daemon.pid) > 64))
        self.assertTrue(wait_for(self.rests))
        self.daemon.send_signal(signal.SIGSTOP)
        for client in clients:
            client.close()
        self.daemon.send_signal(signal.SIGCONT)
        self.assertEqual(self.curl('/')[0], 200)

    def rests(self):
        """All threads of the daemon wait, ten looks in a row."""
        for _ in range(10):
            for path in glob.glob(f'/proc/{self.daemon.pid}/task/*/stat'):
                with open(path, encoding='ascii') as file:
                    if file.read().rsplit(')', 1)[1].split()[0] != 'S':
                        return False
            time.sleep(0.01)
        return True

    def trickle(self, clients, data):
        """Sends a byte on each of them now and then, until the test is over."""
        over = threading.Event()

        def run():
            for byte in data:
                for client in clients:
                    try:
                        client.send(bytes([byte]))
                    except OSError:
                        pass  # was cut
                if over.wait(0.3):
                    return
        thread = threading.Thread(target=run)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(over.set)

    @alone
    def test_slow_clients_leave_room_for_health(self):
        """193 were enough to keep all others out: more than there is room for, and in the kernel's
        queue before it."""
        clients = []
        for _ in range(260):
            client = socket.socket()
            client.setblocking(False)
            client.connect_ex(('127.0.0.1', self.port))
            self.addCleanup(client.close)
            clients.append(client)
        self.trickle(clients, b'GET /metrics HTTP/1.1\r\nX-Slow: ' + b'y' * 100)
        for _ in range(5):
            for path, status in (('/healthz', 503), ('/metrics', 200)):
                self.assertEqual(self.curl(path, timeout=8)[0], status)
            time.sleep(0.3)  # between looks: the slow ones go on all the while
        self.assertTrue(wait_for(lambda: self.metric('halod_http_connections_cut_total') > 100))
        self.assertLessEqual(self.metric('halod_http_connections'), 128)
        self.assertTrue(wait_for(lambda: 'were disconnected: too many clients' in self.said()))
        lines = self.said().count('disconnected: too many clients')
        self.assertLess(lines, self.metric('halod_http_connections_cut_total') / 2,
                        'counted, not listed one by one')

    @alone
    def test_viewers_leave_room_for_health(self):
        clients = [self.ask('/door/stream.mjpeg') for _ in range(64)]
        self.assertTrue(wait_for(lambda: self.metric('halod_http_viewers') == 64))
        code, _, body = self.curl('/door/snapshot.jpg')
        self.assertEqual((code, b'too many' in body), (503, True))
        idle = [self.connect() for _ in range(100)]
        self.assertEqual(self.curl('/healthz')[0], 503)
        self.assertEqual(self.metric('halod_http_viewers'), 64)  # none of them was cut for it
        for client in clients + idle:
            client.close()
        self.assertTrue(wait_for(lambda: self.curl('/door/snapshot.jpg')[0] == 200))

    def test_slow_requests_are_cut(self):
        client = self.connect()
        self.trickle([client], b'GET /metrics HTTP/1.1\r\nX-Slow: ' + b'y' * 1000)
        self.assertTrue(wait_for(lambda: '1 client was disconnected: no complete request' in self.said()))
        self.assertEqual(self.curl('/')[0], 200)

    def test_without_descriptors(self):
        """A moment without them is over for HTTP, too, while somebody goes on looking."""
        self.ask('/door/stream.mjpeg').recv(1)
        before = resource.prlimit(self.daemon.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(self.daemon.pid, resource.RLIMIT_NOFILE, (3, before[1]))
        self.assertEqual(self.curl('/', timeout=1)[0], 0)
        resource.prlimit(self.daemon.pid, resource.RLIMIT_NOFILE, before)
        self.assertEqual(self.curl('/')[0], 200)

    def test_many_calls_at_once(self):
        """However many wait, others are served between them. The log has their order."""
        body = '{"name": "door"}'
        request = (f'POST /api/call/Start HTTP/1.1\r\nHost: {self.http}\r\n'
                   'Content-Type: application/json\r\n'
                   f'Content-Length: {len(body)}\r\n\r\n{body}').encode()
        clients, control = [self.connect() for _ in range(100)], self.client()
        self.assertTrue(wait_for(lambda: self.metric('halod_http_connections') > 100))
        self.daemon.send_signal(signal.SIGSTOP)
        for client in clients:
            client.sendall(request * 20)
        for _ in range(12):
            control.send('Restart', {'name': 'door'})
        self.daemon.send_signal(signal.SIGCONT)
        self.assertTrue(wait_for(lambda: self.said().count(' was refused: Start') == 2000))
        lines = [line for line in self.said().splitlines()
                 if 'calls Restart' in line or 'was refused: Start' in line]
        last = max(at for at, line in enumerate(lines) if 'calls Restart' in line)
        self.assertLess(last, 200, 'they were all answered first')

    def test_one_who_asks_without_end_holds_up_nobody(self):
        """After each answer the next request is there already."""
        client, control = self.connect(), self.client()
        requests = f'GET / HTTP/1.1\r\nHost: {self.http}\r\n\r\n'.encode() * 1000

        def pump(way):
            try:
                while way():
                    pass
            except OSError:
                pass  # shut down below

        threads = [threading.Thread(target=pump, args=(way,))
                   for way in (lambda: client.send(requests), lambda: client.recv(1 << 20))]
        for thread in threads:
            thread.start()
        time.sleep(0.3)  # the requests of now are many
        end = time.monotonic() + 3
        try:
            while time.monotonic() < end:
                control.call('List')  # one that is held up has no answer
        finally:
            client.shutdown(socket.SHUT_RDWR)
            for thread in threads:
                thread.join()

    def test_large_headers(self):
        client = self.connect()
        try:
            client.sendall(b'GET / HTTP/1.1\r\n')
            for i in range(3000):
                client.sendall(b'X-%d: %s\r\n' % (i, b'y' * 100))
            answer = client.recv(1000)
        except ConnectionError:
            answer = b''
        self.assertTrue(not answer or b' 4' in answer.split(b'\r\n')[0], answer)
        self.assertEqual(self.curl('/')[0], 200)

    def test_a_request_that_never_ends_is_cut(self):
        client = self.connect()
        client.settimeout(30 * PATIENCE)
        client.sendall(b'GET / HTTP/1.1\r\nHost: localhost\r\n')
        try:
            while client.recv(1000):
                pass
        except ConnectionError:
            pass

    def test_random_bytes(self):
        generator = random.Random(3)
        for i in range(100):
            client = self.connect()
            try:
                client.sendall(generator.randbytes(generator.randrange(1, 2000))
                               + b'\r\n\r\n' * (i % 2))
            except ConnectionError:
                pass
            client.close()
        self.assertEqual(self.curl('/')[0], 200)


class Listening(StandinTest):
    def refused(self, http):
        self.http = http
        done = subprocess.run(self.command(), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, timeout=20 * PATIENCE)
        self.assertEqual(done.returncode, 1, done.stderr)
        return done.stderr

    def test_address_in_use(self):
        self.stop()
        with socket.socket() as other:
            other.bind(('127.0.0.1', 0))
            other.listen()
            port = other.getsockname()[1]
            self.assertIn(f'127.0.0.1:{port} is in use', self.refused(f'127.0.0.1:{port}'))

    def test_no_addresses(self):
        self.stop()
        for address in ('8480', 'example.org:80', '127.0.0.1:99999', '127.0.0.1:', ':80', '',
                        '1.2.3:80', '[::1:80', '127.0.0.1:8480x', 'unix:', '1' * 300 + ':1'):
            with self.subTest(address):
                self.refused(address)

    def test_unix(self):
        self.stop()
        self.http = 'unix:' + self.path('http.sock')
        self.start()
        self.assertEqual(os.stat(self.path('http.sock')).st_mode & 0o777, 0o660)
        body = subprocess.run(['curl', '-s', '--unix-socket', self.path('http.sock'),
                               'http://localhost/door/snapshot.jpg'], stdout=subprocess.PIPE,
                              timeout=20 * PATIENCE).stdout
        self.assertEqual(body, self.jpeg)
        self.stop()
        self.assertFalse(os.path.exists(self.path('http.sock')))


if __name__ == '__main__':
    halotest.HALOD = STANDIN  # the program that has to be there
    halotest.main()
