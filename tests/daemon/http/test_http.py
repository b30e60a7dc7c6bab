# SPDX-License-Identifier: BSD-2-Clause
# HTTP before a supervisor without engines: its metrics, large frames, and a lack of descriptors. Who may
# ask for what, and clients that are slow or many, are lists in tests/world/events (http-*.events).
import json
import re
import resource
import socket
import subprocess
import time
import unittest

import halotest
from halotest import alone, docs, prometheus
from halotest.standin import JPEG, PATIENCE, STANDIN, StandinTest, free_port, wait_for


class HttpTest(StandinTest):
    def setUp(self):
        self.port = free_port()
        self.http = f'127.0.0.1:{self.port}'
        super().setUp()

    def curl(self, path, *options, timeout=60 * PATIENCE):
        """Status, headers and body of an answer."""
        done = subprocess.run(['curl', '-s', '-i', '-m', str(timeout), *options,
                               f'http://{self.http}{path}'], stdout=subprocess.PIPE, check=False)
        head, _, body = done.stdout.partition(b'\r\n\r\n')
        lines = head.decode().split('\r\n')
        headers = {k.lower(): v for k, v in (line.split(': ', 1) for line in lines[1:])}
        return int(lines[0].split()[1]) if head else 0, headers, body

    def ask(self, path):
        client = socket.create_connection(('127.0.0.1', self.port), 60 * PATIENCE)
        self.addCleanup(client.close)
        client.sendall(f'GET {path} HTTP/1.1\r\nHost: {self.http}\r\n\r\n'.encode())
        return client

    def metric(self, name):
        body = self.curl('/metrics')[2].decode()
        found = re.search(rf'^{re.escape(name)} (\S+)$', body, re.M)
        return float(found[1]) if found else None


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


class Metrics(HttpTest):
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

    def test_without_descriptors(self):
        """A moment without them is over for HTTP, too, while somebody goes on looking."""
        self.ask('/door/stream.mjpeg').recv(1)
        before = resource.prlimit(self.daemon.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(self.daemon.pid, resource.RLIMIT_NOFILE, (3, before[1]))
        self.assertEqual(self.curl('/', timeout=1)[0], 0)
        resource.prlimit(self.daemon.pid, resource.RLIMIT_NOFILE, before)
        self.assertEqual(self.curl('/')[0], 200)


class Check(unittest.TestCase):
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


if __name__ == '__main__':
    halotest.HALOD = STANDIN  # the program that has to be there
    halotest.main()
