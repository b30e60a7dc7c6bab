# SPDX-License-Identifier: BSD-2-Clause
# Numbers and words of the daemon: the same in all places, and of the right stream.
import json
import os
import re
import select
import socket
import subprocess
import sys
import time
import unittest
import urllib.request

from halotest import prometheus
from halotest.daemon import (FFMPEG, HALOD, PATIENCE, DaemonTest, call, free_port, halod_environment,
                        main)
from halotest import docs, plain_clip

HALOCTL = os.environ.get('HALOCTL', '')
STAGES = ('decode', 'filter', 'encode')


class NumbersTest(DaemonTest):
    def serve(self, streams, **more):
        self.port = free_port()
        return self.start(streams, http={'listen': f'127.0.0.1:{self.port}'}, **more)

    def get(self, path):
        url = f'http://127.0.0.1:{self.port}{path}'
        with urllib.request.urlopen(url, timeout=20 * PATIENCE) as answer:
            return answer.read().decode()

    def page(self):
        page = prometheus.parse(self.get('/metrics'))
        self.assertEqual(list(prometheus.lint(page)), [])
        self.check_documented(page)
        return page

    def check_documented(self, page):
        """docs/metrics.md has each metric, its type and its labels, and no other."""
        rows = {docs.quoted(name)[0]: (kind, set(docs.quoted(labels))) for name, kind, labels, *_ in
                docs.table(docs.read('docs/metrics.md'), 'metric')}
        self.assertEqual({name: family.kind for name, family in page.items()},
                         {name: kind for name, (kind, _) in rows.items()})
        for name, family in page.items():
            for _, labels in family.samples:
                self.assertEqual({label for label, _ in labels} - {'le'}, rows[name][1], name)

    def haloctl(self, *words):
        return call([HALOCTL, '--socket', self.path('control.sock'), *words]).decode()

    def odd_clip(self):
        """Of a format that has to be converted, which is said."""
        clip = self.path('odd.nut')
        call([FFMPEG, '-nostdin', '-v', 'error', '-f', 'lavfi', '-i', 'testsrc=s=160x120:r=25:d=1',
              '-c:v', 'rawvideo', '-pix_fmt', 'yuyv422', clip])
        return clip


class Places(NumbersTest):
    def test_the_same_everywhere(self):
        """While all runs the metrics are well-formed; once it rests, control, HTTP, haloctl and metrics
        say the same."""
        daemon = self.serve({'one': self.stream(input=plain_clip(), loop=True, realtime=True),
                             'off': self.stream('off', enabled=False),
                             'file': self.stream(outputs=[
                                 {'file': self.path('f.mkv')}, {'null': True}]),
                             'auto': self.stream('auto', 'nut', backend='auto')})
        readers = [self.reader('one.ts'), self.reader('auto.nut')]
        for name in ('one', 'auto'):
            for _ in range(3):
                daemon.filtered_anew(name)
                page = self.page()
            self.until(lambda: daemon.status(name)['stages']['total']['count'] > 30)
        for engine in daemon.status()['engines']:  # a CPU has no memory of its own to tell of
            if engine['name'] == 'cpu':
                self.assertEqual(engine['gpus'], [])
                self.assertIsNone(prometheus.value(page, 'halod_gpu_memory_used_bytes', engine='cpu',
                                                   gpu='0'))
        self.until(lambda: daemon.status('file')['outputs'][0].get('packets', 0) > 10)
        self.assertIn(daemon.status('auto')['backend'], ('cpu', 'cuda'))
        for name in ('one', 'file', 'auto'):
            daemon.control('Stop', name=name)
            daemon.wait_state(name, 'stopped')
        for reader in readers:
            reader.close()
        self.until(lambda: not daemon.pids())
        # What filtered once does not filter now: the word of the settings is all there is.
        self.until(lambda: daemon.status('auto')['backend'] == 'auto')
        status = daemon.status()
        self.assertGreater(status['streams'][0]['filtered'], 0)
        self.of_viewers(status)
        self.assertEqual(json.loads(self.haloctl('--json', 'status')), {'status': status})
        page = self.page()
        for stream in status['streams']:
            one = json.loads(self.haloctl('--json', 'status', stream['name']))
            self.assertEqual(one, {'stream': stream})
            self.assertEqual(daemon.status(stream['name']), stream)
            self.of_page(page, stream)
        for stream in status['streams'][0], status['streams'][3]:
            for stage in STAGES:
                self.compare(page, 'stage_duration_seconds', stream['stages'][stage],
                             stream=stream['name'], stage=stage)
            self.compare(page, 'latency_seconds', stream['stages']['total'], stream=stream['name'])
        self.of_table(status)

    def of_viewers(self, status):
        """They get no paths."""
        seen = json.loads(json.dumps(status))
        for output in (o for stream in seen['streams'] for o in stream['outputs']):
            output.update({key: '***' for key in ('target', 'path') if '/' in output.get(key, '')})
        for stream in seen['streams']:
            stream.update({'input': '***'} if '/' in stream['input'] else {})
        self.assertEqual(json.loads(self.get('/api/streams')), seen)

    def compare(self, page, name, times, **labels):
        found = prometheus.series(page['halod_' + name])[tuple(sorted(labels.items()))]
        buckets, total, count = found
        self.assertEqual(count, times['count'], labels)
        self.assertAlmostEqual(total * 1000, times['sum'], 4)
        self.assertEqual([n for _, n in buckets[:-1]], times['below'], labels)
        self.assertEqual([edge for edge, _ in buckets[:-1]],
                         [(2 ** bits - 1) / 1e9 for bits in range(14, 34)])
        if not count and labels['stage'] == 'decode':  # of test:
            return
        # The percentile lies in the bucket that holds it: within the histogram's 3.2 %.
        for share in (0.5, 0.95, 0.99):
            seconds = times[f'p{round(share * 100)}'] / 1000
            above = next(edge for edge, n in buckets if n >= share * count)
            below = max([edge for edge, n in buckets if n < share * count], default=0)
            self.assertLessEqual(seconds, above * 1.033, (labels, share))
            self.assertGreaterEqual(seconds, below * 0.967, (labels, share))

    def of_page(self, page, stream):
        def value(name, **labels):
            return prometheus.value(page, 'halod_' + name, stream=stream['name'], **labels)
        for stage in ('decoded', 'filtered', 'encoded'):
            self.assertEqual(value('frames_total', stage=stage), stream[stage])
        for reason, count in stream['dropped'].items():
            self.assertEqual(value('frames_dropped_total', reason=reason), count)
        for name, key in (('encoded_bytes_total', 'bytes'), ('source_opened_total', 'opened'),
                          ('damaged_total', 'damaged'), ('stream_restarts_total', 'restarts'),
                          ('viewers', 'viewers')):
            self.assertEqual(value(name), stream[key], name)

    def of_table(self, status):
        """What haloctl shows to people."""
        table = self.haloctl('status')
        for stream in status['streams']:
            line = next(line for line in table.splitlines() if line.startswith(stream['name']))
            shown = line.split()  # NAME STATE RATE SIZE FILTERED DROPPED ...
            size = f'{stream["width"]}x{stream["height"]}' if stream['width'] else '-'
            self.assertEqual(shown[1:6], [stream['state'], f'{stream["rate"]:.1f}', size,
                                          str(stream['filtered']),
                                          str(sum(stream['dropped'].values()))])
        page = self.haloctl('status', 'one')
        for key in ('decoded', 'filtered', 'encoded'):
            self.assertRegex(page, rf'\b{status["streams"][0][key]}\b')


class Lines(NumbersTest):
    def streams(self):
        """Each says something of its pictures, its filters, and of its output, which fails."""
        more = {'input': self.odd_clip(), 'loop': True, 'realtime': True,
                'filters': 'gblur=sigma=0', 'privacy': 'off'}
        places = {name: [{'file': self.path(f'{name}.mkv'), 'video': {'codec': 'mpeg4'}},
                         {'file': f'/proc/nowhere/{name}.mkv', 'video': {'codec': 'mpeg4'}}]
                  for name in ('door', 'r0-ad_2')}
        return {name: self.stream(outputs=place, **more) for name, place in places.items()}

    SAID = [rf'(?m)^(halod: )?stream {name}: .*{words}' for name in ('door', 'r0-ad_2')
            for words in ('changes nothing', 'for filtering', '/proc/nowhere')]

    def check(self, lines):
        """No line about a stream says its number, and each stream's name is in its own."""
        text = '\n'.join(lines)
        self.assertNotRegex(text, r'stream \d+:')
        for words in self.SAID:
            self.assertRegex(text, words)

    @classmethod
    def has_said(cls, text):
        return all(re.search(words, text) for words in cls.SAID)

    def clip_that_changes(self):
        parts = b''
        for number, size in enumerate(('160x120', '96x64')):
            part = self.path(f'part{number}.ts')
            call([FFMPEG, '-nostdin', '-v', 'error', '-f', 'lavfi', '-i',
                  f'testsrc=s={size}:r=25:d=1', '-c:v', 'mpeg2video', '-output_ts_offset',
                  str(number), part])
            with open(part, 'rb') as file:
                parts += file.read()
        with open(self.path('both.ts'), 'wb') as file:
            file.write(parts)
        return self.path('both.ts')

    def test_on_stderr(self):
        """Also by the filter thread. In the status, the reason stands by itself."""
        daemon = self.start({
            **self.streams(),
            'turns': self.stream('turns', input=self.clip_that_changes(), realtime=True, loop=True),
            'odd': self.stream(outputs=[{'file': self.path('x.mkv'), 'video': {'size': '161x121'}}])})
        self.until(lambda: self.has_said(daemon.logged()))
        self.check([re.sub('^halod: ', '', line) for line in daemon.logged().splitlines()])
        self.until(lambda: 'frames change' in daemon.logged())
        self.assertRegex(daemon.logged(), '(?m)^halod: stream turns: frames change')
        self.until(lambda: daemon.status('odd')['outputs'][0].get('encoding_failed'))
        why = daemon.status('odd')['outputs'][0]['encoding_failed']
        self.assertNotRegex(why, r'^stream \d')
        self.assertIn('161x121', why)
        if HALOCTL:
            self.assertIn('encoding failed: ' + why, self.haloctl('status', 'odd'))

    def test_in_the_journal(self):
        """The fields, on a socket of our own where the journal's would be: it takes a private mount
        namespace."""
        streams = self.streams()
        config = self.path('journal.yaml')
        with open(config, 'w') as file:
            json.dump({'version': 1, 'control': {'path': self.path('c.sock')},
                       'streams': streams}, file)
        inside = ['unshare', '-m', '--propagation', 'private', sys.executable,
                  os.path.abspath(__file__), '--journal', config]
        done = subprocess.run(inside, capture_output=True, text=True, timeout=60 * PATIENCE,
                              env={**os.environ, 'HALOD': HALOD})
        if done.returncode == 77:
            raise unittest.SkipTest(done.stdout.strip())
        if done.returncode and 'unshare' in done.stderr:
            raise unittest.SkipTest(f'no mount namespace of our own: {done.stderr.strip()}')
        self.assertEqual(done.returncode, 0, done.stderr)
        entries = json.loads(done.stdout)
        self.check([entry['MESSAGE'] for entry in entries])
        for entry in entries:
            self.assertEqual(entry['SYSLOG_IDENTIFIER'], 'halod')
            named = re.match('stream ([A-Za-z0-9_-]+):', entry['MESSAGE'])
            self.assertEqual(entry.get('HALOD_STREAM'), named and named[1], entry)
            wanted = '4' if re.search('changes nothing|nowhere', entry['MESSAGE']) else None
            self.assertIn(entry['PRIORITY'], wanted or '34567', entry)


class Check(unittest.TestCase):
    def test_pages_that_are_wrong(self):
        """What the check of metrics itself is worth."""
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


class Journal:
    """In a mount namespace of its own: halod with a journal that we play."""

    def __init__(self, config):
        if subprocess.run(['mount', '-t', 'tmpfs', 'halod', '/run']).returncode:
            self.skip('/run cannot be covered')
        os.makedirs('/run/systemd/journal')
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind('/run/systemd/journal/socket')
        self.ours, its = socket.socketpair()
        stat = os.fstat(its.fileno())
        self.process = subprocess.Popen(
            [HALOD, '-c', config], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=its,
            env={**halod_environment(), 'JOURNAL_STREAM': f'{stat.st_dev}:{stat.st_ino}'})
        its.close()

    @staticmethod
    def skip(why):
        print(why)
        sys.exit(77)

    def entry(self):
        fields = dict(line.split('=', 1) for line in
                      self.socket.recv(65536).decode().splitlines() if '=' in line)
        return {key: value for key, value in fields.items() if not key.startswith('_')}

    def take(self, enough):
        entries, end = [], time.monotonic() + 20 * PATIENCE
        while time.monotonic() < end and not enough('\n'.join(e['MESSAGE'] for e in entries)):
            ready = select.select([self.socket, self.ours], [], [], 1)[0]
            if self.ours in ready and self.ours.recv(65536).startswith(b'<'):
                self.process.terminate()
                self.skip('this build knows no journal')
            if self.socket in ready:
                entries.append(self.entry())
        self.process.terminate()
        self.process.wait(20 * PATIENCE)
        return entries


if __name__ == '__main__':
    if sys.argv[1:2] == ['--journal']:
        print(json.dumps(Journal(sys.argv[2]).take(Lines.has_said)))
    else:
        main()
