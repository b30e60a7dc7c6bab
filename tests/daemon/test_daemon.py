# SPDX-License-Identifier: BSD-2-Clause
# The daemon with true engines: what they tell of true pictures, and what it costs over time.
import json
import os
import subprocess
import time

from halotest.daemon import (FFMPEG, HALOCTL, HALOD, HEIGHT, PATIENCE, ROUNDS, WIDTH, Control,
                             DaemonTest, Refused, call, costs_of, free_port, halod_environment,
                             is_sanitized, main, wait_until)
from halotest import RUN_TIMEOUT, docs

SMALL, LARGE = 'test:size=96x64:rate=25', 'test:size=320x240:rate=25'


class Whole(DaemonTest):
    def begin(self, streams):
        daemon = self.start(streams, http={'listen': 'unix:' + self.path('http.sock')})
        for name in streams:
            if name != 'secret':
                daemon.wait_state(name, 'running')
        return daemon

    def ctl(self, daemon, *words):
        return subprocess.run([HALOCTL, '--socket', daemon.path, *words], text=True,
                              capture_output=True, timeout=20 * PATIENCE)

    def refused(self, daemon, *says, **parameters):
        with self.assertRaises(Refused) as refused:
            daemon.control('Set', **parameters)
        for words in says:
            self.assertIn(words, str(refused.exception))
        return refused.exception.error

    def test_status(self):
        """The fields are those of docs/control.md, and the numbers move. A password is in no status,
        no log, and on no command line. What never reaches an engine is not said to be in force."""
        secret, blanks = 'pa55word', ' ' * 51000
        daemon = self.begin({'one': self.stream(), 'long': self.stream('long', input=SMALL, renditions={
            'a': {'filters': 'gblur=sigma=3' + blanks}, 'b': {'filters': 'gblur=sigma=4' + blanks}}),
            'secret': self.stream('secret', input=f'rtsp://user:{secret}@127.0.0.1:{free_port()}/'
                                                  f'cam?token={secret}')})
        reader = self.reader('one.ts')
        daemon.control('Set', name='one', filters='gblur=sigma=7')
        size = reader.size
        self.until(lambda: reader.size > size)
        self.until(lambda: daemon.status('one')['filtered'] > 20)
        status, whole = daemon.status('one'), daemon.status()
        page = docs.section(docs.read('docs/control.md'), 'Status')
        rows = docs.table(page, 'field')
        fields = {key for field, *_ in rows for key in docs.quoted(field)}
        self.assertEqual(fields - set(status), {'capture', 'region_feed'})  # cameras and feeds have it
        self.assertEqual(set(status) - set(docs.quoted(page)), set())
        engine = page.split('An engine has these fields:')[1]
        self.assertEqual(set(whole['engines'][0]) - set(docs.quoted(engine)), set())
        self.assertEqual(set(whole) - set(docs.quoted(page)), set())
        self.assertEqual((status['width'], status['height']), (WIDTH, HEIGHT))
        self.assertEqual((status['engine'], status['backend']), ('cpu', 'cpu'))
        self.assertEqual((status['restarts'], status['viewers']), (0, 1))
        self.assertGreater(status['uptime_s'], 0)
        self.assertGreater(status['stages']['filter']['count'], 0)
        self.assertGreater(status['stages']['filter']['p99'], 0)
        self.assertEqual(status['outputs'][0]['kind'], 'unix')
        self.assertEqual([s['name'] for s in whole['streams']], ['one', 'long', 'secret'])
        self.assertEqual(whole['engines'][0]['state'], 'running')
        self.check_snapshots(daemon)
        for count, error, words in ((200000, 'Refused', 'longer than 65536'),
                                    (65000, 'Failed', 'cannot be sent')):
            self.assertEqual(self.refused(daemon, words, name='long',
                                          filters='gblur=sigma=9' + ' ' * count), error)
        self.assertEqual(daemon.status('long')['filters'], 'gblur=sigma=2')
        self.assertNotIn('stream long: filters are now', daemon.logged())
        self.until(lambda: daemon.state('secret') in ('waiting', 'restarting'))
        self.assertNotIn(secret, json.dumps(daemon.status()))
        self.assertIn('rtsp://', daemon.status('secret')['input'])
        for pid in daemon.pids() + [daemon.process.pid]:
            with open(f'/proc/{pid}/cmdline', 'rb') as file:
                self.assertNotIn(secret.encode(), file.read())
        self.assertNotIn(secret, daemon.logged())
        self.assertNotIn(secret, call([HALOD, '--dump-config', daemon.config]).decode())

    def check_snapshots(self, daemon):
        for form, head in (('png', b'\x89PNG'), ('jpg', b'\xff\xd8')):
            with Control(daemon.path) as control:
                answer = control('Snapshot', name='one', format=form)
                image = os.pread(control.fds[0], 1 << 20, 0)
            self.assertEqual(len(image), answer['size'])
            self.assertTrue(image.startswith(head))
            found = call([FFMPEG, '-v', 'error', '-i', '-', '-f', 'rawvideo', '-pix_fmt', 'gray',
                          '-'], data=image)
            self.assertEqual(len(found), WIDTH * HEIGHT)

    def test_what_is_hidden(self):
        """It is said everywhere, and too little is refused as soon as it is known: the settings do not
        know how large frames are, the engine does."""
        corner, noise = 'solid=region=rect 0 0 10 10', 'region=rect 0 0 40% 40%+rect 60% 60% 40% 40%'
        wide = 'solid=region=rect 0 0 50% 100%'
        two = self.stream('two', input=LARGE, filters='gblur=sigma=9', min_coverage='50%')
        daemon = self.begin({
            'one': self.stream('one', input=LARGE, filters=corner, renditions={'half': {'filters': wide}}),
            'two': two, 'open': self.stream('open', input=SMALL, filters='none', privacy='off'),
            'noise': self.stream('noise', input=SMALL, filters='gblur=sigma=9')})
        part = 100 / (320 * 240)
        for name in ('one', 'two'):
            self.until(lambda name=name: 'coverage' in daemon.status(name))
        self.until(lambda: 'half' in daemon.status('one')['rendition_coverage'])
        status = daemon.status('one')
        self.assertEqual(status['coverage']['planes'], [part] * 3)
        self.assertFalse(status['coverage']['feed'])
        self.assertEqual(status['rendition_coverage']['half']['planes'], [0.5] * 3)
        metrics = self.fetch('/metrics')
        self.assertIn('halod_stream_coverage_ratio{stream="one",rendition="half",plane="2"} 0.5',
                      metrics)
        self.assertRegex(metrics, r'ratio{stream="one",rendition="",plane="0"} 0\.001302')
        self.check_words(daemon)
        for chain, says in (('solid=region=rect 0 0 50% 90%', 'hide 45 % of luma'),
                            (corner, 'hide 0.13 % of luma')):
            self.refused(daemon, says + ', but min_coverage requires 50 %', name='two', filters=chain)
        self.refused(daemon, 'chroma (plane 1)', 'privacy: changed', name='one',
                     filters='gblur=sigma=0.13*w:region=rect 0 0 4% 4%')
        self.assertEqual(daemon.status('two')['filters'], 'gblur=sigma=9')
        for chain, part in ((wide, 0.5), ('gblur=sigma=9', 1)) * 3:  # never one with the other's
            daemon.control('Set', name='two', filters=chain)
            status = daemon.status('two')
            self.assertEqual((status['filters'], status['coverage']['planes']), (chain, [part] * 3))
        self.check_what_is_left(daemon, noise)
        daemon.write({'one': self.stream('one', input=LARGE, filters=corner, min_coverage=0.01),
                      'two': two})
        self.assertEqual(daemon.control('Reload')['changed'], ['one'])
        self.until(lambda: 'min_coverage requires 1 %' in daemon.status('one')['why'])
        self.assertEqual(daemon.status('one')['filtered'], 0)

    def check_words(self, daemon):
        """Of haloctl, which opens no stream."""
        lines = {line.split()[0]: line for line in self.ctl(daemon, 'list').stdout.splitlines()}
        self.assertIn('hides 0.13 % of every plane', lines['one'])
        self.assertNotIn('hides', lines['two'])
        self.assertRegex(self.ctl(daemon, 'status', 'two').stdout, r'(?m)^hides +100 % of every plane$')
        self.assertEqual(self.ctl(daemon, 'reload', '--check').stdout.splitlines()[:2], [
            'stream one: hides a part that depends on the size of the frames or on a mask image',
            'stream one, rendition half: hides 50 % of every plane'])
        for words in (['list'], ['status']):
            lines = self.ctl(daemon, *words).stdout.splitlines()
            self.assertEqual([line.split()[0] for line in lines if 'privacy off' in line], ['open'])
        for name, said in (('one', 'strict'), ('open', 'off')):
            self.assertRegex(self.ctl(daemon, 'status', name).stdout, rf'(?m)^privacy +{said}$')
            text = self.ctl(daemon, 'status', name, '--json').stdout
            self.assertIn(f'"privacy":"{said}"', text.replace(' ', ''))
        for words in (['privacy=off'], ['filters=none'], ['filters=none', 'privacy=off']):
            self.assertNotEqual(self.ctl(daemon, 'set', 'one', *words).returncode, 0, words)
        self.assertEqual(daemon.status('one')['privacy'], 'strict')

    def check_what_is_left(self, daemon, where):
        """By the filters, in words, and of objects until now, in numbers that add up."""
        status = daemon.status('noise')
        self.assertEqual([(left['where'], left['bounded']) for left in status['leaves']],
                         [('the whole frame', False)])
        self.assertEqual(status['hidden'], {'objects': 0, 'bits': 0, 'epsilon': 0})
        chain = f'hide=noise:n=1:epsilon=0.5:least=4:{where}'
        left = daemon.control('Check', name='noise', filters=chain)['leaves'][0]
        self.assertTrue(left['bounded'])
        self.assertIn('at most 0.73 bits for each object', left['words'])

        def set_to(filters, **hidden):
            daemon.control('Set', name='noise', filters=filters)
            self.until(lambda: daemon.status('noise')['hidden'] == hidden)
        set_to(chain, objects=2, bits=1.444, epsilon=1)
        set_to(f'hide=cells:n=1:levels=4:least=4:{where}', objects=4, bits=13.444, epsilon=1)
        lines = self.fetch('/metrics').splitlines()
        for word, number in (('objects', 4), ('epsilon', 1)):
            self.assertIn(f'halod_hidden_{word}_total{{stream="noise"}} {number}', lines)
        said = self.ctl(daemon, 'status', 'noise').stdout
        self.assertRegex(said, r'(?m)^residual +region=rect .*: at most 6.00 bits for each object')
        self.assertIn('4 objects replaced by cells so far, which reveal at most 14 bits in all',
                      said)

    def test_check_config(self):
        """An output that cannot be opened yet is no error; an overlay that is damaged is one."""
        def check(streams, **more):
            with open(self.path('checked.yaml'), 'w') as file:
                json.dump({'version': 1, 'streams': streams, **more}, file)
            return subprocess.run([HALOD, '--check-config', file.name], capture_output=True,
                                  text=True, timeout=RUN_TIMEOUT, env=halod_environment())
        done = check({'one': self.stream(outputs=[{'unix': self.path('missing/x.ts')}])})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(self.path('missing/x.ts') + ': its folder does not exist', done.stderr)
        overlay = self.path('overlay.yaml')
        for text in ('', 'null'):
            with open(overlay, 'w') as file:
                file.write(text)
            done = check({'one': self.stream()}, state=self.folder)
            self.assertEqual(done.returncode, 78, done.stderr)
            self.assertRegex(done.stderr, overlay + ': is (empty or )?damaged.*haloctl keep.*'
                                                    'restore it from a backup or, if ')


class Rounds(DaemonTest):
    def streams(self, **more):
        raw = {'outputs': [{'unix': self.path('b.nut'), 'video': {'codec': 'raw'}}]}
        segments = {'file': self.path('d-%Y%m%d-%H%M%S.mkv'), 'segment_time': 1, 'keep_size': '1M'}
        return {'a': self.stream('a', input=SMALL), 'b': self.stream('b', **raw),
                'd': self.stream('d', input=SMALL, outputs=[{'unix': self.path('d.ts')}, segments], **more)}

    def one_round(self, daemon, number):
        """What a day brings, in a second."""
        clients = [self.reader(name) for name in ('a.ts', 'b.nut')]
        daemon.control('Set', name='a', filters=f'gblur=sigma={2 + number % 9}')
        for client in clients:
            client.close()
        daemon.write({**self.streams(filters=f'avgblur=sizeX={5 + number % 9}'),
                      'extra': self.stream('extra', input=SMALL)})
        daemon.control('Reload')
        daemon.control('Restart', name='b')
        for on in (False, True):
            daemon.control('Record', name='d', on=on)
        daemon.write(self.streams())
        daemon.control('Reload')
        for name in 'abd':
            daemon.wait_state(name, 'running')

    def costs(self, daemon):
        """Of the supervisor and the engine."""
        return {pid: costs_of(pid) for pid in [daemon.process.pid, *daemon.pids()]}

    def rounds(self, daemon, count):
        """Their costs when nobody watches any more."""
        for number in range(count):
            self.one_round(daemon, number)
        for name in 'abd':
            self.until(lambda: daemon.status(name)['viewers'] == 0)
        time.sleep(4)  # what is freed late
        looks = [self.costs(daemon)]
        for _ in range(5):  # a file that is just written is open in one, and not in the next
            time.sleep(0.05)
            looks.append(self.costs(daemon))
        return {pid: {**found, 'descriptors': min(look[pid]['descriptors'] for look in looks)}
                for pid, found in looks[0].items()}

    def has_grown(self, daemon, first):
        """What has more than it had, and does not come down."""
        grown = {}

        def is_back():
            grown.clear()
            for pid, now in self.costs(daemon).items():
                grown.update({(now['name'], key): (first[pid][key], now[key])
                              for key in ('descriptors', 'threads') if now[key] > first[pid][key]})
            return not grown
        wait_until(is_back)
        return grown

    def test_nothing_grows(self):
        """Descriptors, threads and memory are the same after many rounds of all that happens."""
        # With one arena, what malloc keeps does not depend on which threads run at the same time.
        daemon = self.start(self.streams(), environment={'MALLOC_ARENA_MAX': '1'})
        for name in 'abd':
            daemon.wait_state(name, 'running')
        first = self.rounds(daemon, 4)  # until caches are full
        middle = self.rounds(daemon, ROUNDS // 2)
        last = self.rounds(daemon, ROUNDS - ROUNDS // 2)
        self.assertEqual(len(first), 2)
        self.assertEqual(sorted(first), sorted(last), 'another process')
        self.assertEqual(self.has_grown(daemon, first), {})
        for pid, a in first.items():
            b, c = middle[pid], last[pid]
            print(f'{a["name"]}: ' + ', '.join(
                f'{key} {a[key]}, {b[key]}, {c[key]}' for key in ('descriptors', 'threads', 'KiB')))
            if not is_sanitized():
                self.assertLess(c['KiB'] - b['KiB'], 12288)


if __name__ == '__main__':
    main()
