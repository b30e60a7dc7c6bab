# SPDX-License-Identifier: BSD-2-Clause
# What a run says of its time: -stats, -stats_json, -trace. The parts on a GPU are skipped without.
import itertools
import json
import os
import re
import signal
import subprocess

import halotest
from halotest import HaloTest, clip, plain_clip, silent_clip, video_source

THREADS = {1: 'source: read, decode', 2: 'filter', 3: 'collect', 4: 'encode, write'}
RESOURCES = ('source', 'decode', 'convert', 'memory', 'submit', 'upload', 'kernels', 'download',
             'encode', 'audio', 'sink')


def has_gpu():
    said = halotest.run_halod('--version').out.decode(errors='replace')
    return not re.search(r'^cuda .*not usable here', said, re.M)


def read_json(path):
    with open(path, encoding='utf-8') as file:
        return json.load(file)


def merged(spans):
    """Spans as few as possible."""
    found = []
    for begin, end in sorted(spans):
        if found and begin <= found[-1][1]:
            found[-1][1] = max(found[-1][1], end)
        else:
            found.append([begin, end])
    return found


def shared(a, b):
    """Time in both."""
    return sum(max(0, min(x[1], y[1]) - max(x[0], y[0]))
               for x, y in itertools.product(merged(a), merged(b)))


class Trace:
    def __init__(self, path):
        events = read_json(path)['traceEvents']
        self.names = {(e['pid'], e['tid']): e['args']['name'] for e in events
                      if e['name'] == 'thread_name'}
        self.dropped = [e['args']['dropped'] for e in events if e['name'] == 'halod'][0]
        self.spans = [e for e in events if e['ph'] == 'X']

    def of(self, pid, name=None):
        return [e for e in self.spans if e['pid'] == pid and name in (None, e['name'])]

    def times(self, name, lane=None, other=False):
        return [(e['ts'], e['ts'] + e['dur']) for e in self.of(2, name)
                if lane is None or (e['tid'] == lane) != other]

    def overlap(self):
        """Microseconds in which one lane copied or computed and another did something else."""
        lanes = {e['tid'] for e in self.of(2)}
        return sum(shared(self.times(a, lane), self.times(b, lane, other=True)) for lane in lanes
                   for a, b in itertools.combinations(('upload', 'kernels', 'download'), 2))


class Stats(HaloTest):
    def run_stats(self, source, *options, out=None, chain='gblur=sigma=3'):
        name = self.path('stats.json')
        run = self.halod('run', '-y', '-i', source, '-vf', chain, '-stats', '-stats_json', name,
                         *options, out or self.path('out.mkv'))
        self.check_text(run.err)
        return run, read_json(name)

    def stages(self, stats):
        return {(s['thread'], s['stage']): s for s in stats['stages']}

    def check_text(self, text):
        plan, begin, stats = text.partition('\nstats: ')
        self.assertRegex(plan, r'\n  stream 0: .*: filtered\n')
        lines = (begin + stats)[1:].splitlines()
        self.assertRegex(lines[0], r'^stats: \w+, \d+ lanes?: \d+ frames? in [\d.]+ s, [\d.]+ a ')
        head = [i for i, line in enumerate(lines) if line.split()[:2] == ['thread', 'stage']]
        self.assertEqual(len(head), 1, text)
        rows = [line for line in lines[head[0]:] if re.search(r'(share| %)$', line)]
        self.assertEqual(len({len(line) for line in rows}), 1, 'columns are not aligned:\n' + text)
        self.assertRegex(text, r'\n  copies per frame: .*on the host')
        self.assertRegex(text, r'\n  bound: (%s), busy ' % '|'.join(RESOURCES))

    def check_plausible(self, stats, frames):
        self.assertEqual(stats['frames'], frames)
        self.assertIn(stats['bound'], RESOURCES)
        self.assertGreater(stats['run_s'], 0)
        self.assertAlmostEqual(stats['fps'], frames / stats['run_s'], delta=stats['fps'] / 1000)
        for stage in stats['stages']:
            with self.subTest(**stage):
                self.assertLessEqual(stage['p50_ms'], stage['p99_ms'])
                self.assertLessEqual(stage['p99_ms'], stage['most_ms'] + 1e-6)
                self.assertLessEqual(stage['mean_ms'], stage['most_ms'] + 1e-6)
                self.assertLessEqual(stage['mean_ms'] * stage['count'],
                                     stage['busy_s'] * 1e3 + 0.01)
        for thread in ('source', 'filter', 'collect', 'encode'):
            share = sum(s['share'] for s in stats['stages'] if s['thread'] == thread
                        and s['kind'] != 'once')
            self.assertLessEqual(share, 1.01, f'{thread} worked longer than the run')
        # Counted, since a busy machine may take all of the time between two spans.
        waits = self.stages(stats)['encode', 'wait_collect']['count']
        self.assertGreaterEqual(waits, frames, 'the last thread to end is not accounted for')
        works = {s['stage']: s['share'] for s in stats['stages'] if s['kind'] == 'work'}
        self.assertAlmostEqual(stats['bound_share'], max(works.values()), places=4)

    def test_file(self):
        run, stats = self.run_stats(plain_clip('.mp4', 2), '-backend', 'cpu')
        self.check_plausible(stats, 50)
        stages = self.stages(stats)
        for key in (('source', 'decode'), ('encode', 'encode'), ('lanes', 'kernels'),
                    ('filter', 'memory'), ('collect', 'wait_device')):
            self.assertEqual(stages[key]['count'], 50, key)
        self.assertGreater(stages['encode', 'write']['count'], 50, 'sound is written too')
        self.assertNotIn(('lanes', 'upload'), stages)
        self.assertEqual(stats['bytes'], os.path.getsize(self.path('out.mkv')))
        self.assertEqual(stats['copies_per_frame']['host']['count'], 0)
        self.assertIn('out.mkv: 50 frames', run.err)

    def test_null_output(self):
        _, stats = self.run_stats(silent_clip(), '-backend', 'cpu', out='null:')
        self.check_plausible(stats, 25)
        self.assertNotIn(('encode', 'encode'), self.stages(stats))

    def test_coded_audio(self):
        _, stats = self.run_stats(plain_clip(), '-backend', 'cpu', '-c:a', 'libopus')
        self.assertGreater(self.stages(stats)['encode', 'audio']['count'], 25)

    def test_what_is_busy_is_the_bound(self):
        source = clip('.mkv', *video_source('320x240', 25, 2), '-c:v', 'ffv1')
        _, slow = self.run_stats(source, '-backend', 'cpu', '-threads', '1', out='null:',
                                 chain='gblur=sigma=10:strategy=reference')
        self.assertEqual(slow['bound'], 'kernels')
        _, slow = self.run_stats(source, '-backend', 'cpu', '-preset', 'placebo', chain='null')
        self.assertEqual(slow['bound'], 'encode')

    def test_conversions_are_counted(self):
        source = clip('.mkv', *video_source(), '-pix_fmt', 'yuv410p', '-c:v', 'ffv1')
        _, stats = self.run_stats(source, '-backend', 'cpu', out='null:')
        host = stats['copies_per_frame']['host']
        self.assertEqual(host, {'count': 1, 'bytes': 160 * 120 * 3 // 2})
        _, stats = self.run_stats(source, '-backend', 'cpu', '-c:v', 'gif', out=self.path('x.gif'))
        self.assertEqual(stats['copies_per_frame']['host']['count'], 2)

    def test_same_output(self):
        plain = self.filtered(plain_clip(), 'plain.mkv', '-c:v', 'ffv1', chain='gblur=sigma=3')
        self.run_stats(plain_clip(), '-c:v', 'ffv1', '-trace', self.path('trace.json'))
        self.assertEqual(halotest.frame_hashes(self.path('out.mkv')),
                         halotest.frame_hashes(plain))

    def test_text_alone(self):
        run = self.halod('run', '-i', silent_clip(), '-vf', 'null', '-v', 'error', '-stats',
                         'null:')
        self.check_text(run.err)
        self.assertEqual(run.out, b'')

    def run_raw(self, frames, code):
        source, stats = self.path('raw.y4m'), self.path('stats.json')
        with open(source, 'wb') as file:
            file.write(b'YUV4MPEG2 W16 H8 F25:1 Ip A1:1 C420jpeg\n')
            file.write((b'FRAME\n' + bytes(192)) * frames)
        run = self.halod('run', '-i', source, '-vf', 'null', '-backend', 'cpu', '-stats',
                         '-stats_json', stats, 'null:', code=code)
        return run.err, read_json(stats)

    def test_no_frame(self):
        text, stats = self.run_raw(0, 1)
        self.assertIn(': 0 frames in ', text)
        self.assertIn('\n  bound: none, because no frame was output\n', text)
        self.assertNotIn('%', text)
        self.assertEqual((stats['frames'], stats['bound'], stats['bound_share']), (0, '', 0))
        self.assertEqual({stage['share'] for stage in stats['stages']}, {0})

    def test_one_frame(self):
        text, stats = self.run_raw(1, 0)
        self.assertIn(': 1 frame in ', text)
        self.check_text(text)
        self.assertEqual(stats['frames'], 1)

    def test_failed_run(self):
        """What was measured is told; the error stays the one line of its own."""
        source = clip('.mkv', *video_source(seconds=2), '-c:v', 'mpeg4', '-g', '10')
        torn = self.path('torn.mkv')
        with open(source, 'rb') as file, open(torn, 'wb') as to:
            to.write(file.read()[:os.path.getsize(source) // 2])
        trace = self.path('trace.json')
        run = self.halod('run', '-i', torn, '-vf', 'null', '-stats', '-trace', trace,
                         self.path('out.mkv'), code=1)
        self.assertIn('stats: ', run.err)
        self.assertGreater(len(Trace(trace).spans), 10)
        self.assertEqual(len(re.findall('^halod: ', run.err, re.M)), 1, run.err)

    def test_input_that_does_not_open(self):
        trace = self.path('trace.json')
        run = self.halod('run', '-i', self.path('missing.mkv'), '-vf', 'null', '-stats', '-trace',
                         trace, 'null:', code=1)
        self.assert_one_line(run)
        self.assertEqual({e['name'] for e in Trace(trace).spans},
                         {'open_input', 'open_device'})


class Names(HaloTest):
    def test_refused(self):
        source = plain_clip()
        out = self.path('out.mkv')
        for option in ('-trace', '-stats_json'):
            for name, says in ((source, 'IN'), (out, f'the {option} file'), ('-', 'name a file'),
                               ('file:' + out, f'the {option} file'),
                               (self.path('out.partial.mkv'), 'interrupted')):
                with self.subTest(option, name=name):
                    self.refused('run', '-i', source, '-vf', 'null', option, name, out, says=[says])
            self.assertFalse(os.path.exists(out))

    def test_two_of_one_name(self):
        name = self.path('x.json')
        for a, b in itertools.combinations(('-progress', '-stats_json', '-trace'), 2):
            self.refused('run', '-i', silent_clip(), '-vf', 'null', a, name, b, name,
                         self.path('out.mkv'), says=[a, b])

    def test_file_that_cannot_be_made(self):
        for option in ('-trace', '-stats_json'):
            run = self.halod('run', '-i', silent_clip(), '-vf', 'null', option,
                             self.path('nowhere/x'), self.path('out.mkv'), code=1)
            self.assert_one_line(run)
            self.assertIn(option, run.err)
            self.assertFalse(os.path.exists(self.path('out.mkv')))

    def test_file_that_cannot_be_written(self):
        for option in ('-trace', '-stats_json'):
            run = self.halod('run', '-y', '-i', silent_clip(), '-vf', 'null', option, '/dev/full',
                             self.path('out.mkv'))
            self.says_once(run, f'{option} /dev/full: the file cannot be written')
            self.assertEqual(halotest.frame_count(self.path('out.mkv')), 25)


class Files(HaloTest):
    """Reports are whole, or what was there before stays."""
    def both(self):
        return ('-trace', self.path('trace.json'), '-stats_json', self.path('stats.json'))

    def existing(self):
        for name in ('trace.json', 'stats.json'):
            with open(self.path(name), 'w', encoding='utf-8') as file:
                file.write('"old"')

    def assert_old(self, *more):
        self.assertEqual(sorted(os.listdir(self.folder)), sorted(['stats.json', 'trace.json', *more]))
        for name in ('trace.json', 'stats.json'):
            self.assertEqual(read_json(self.path(name)), 'old')

    def assert_new(self):
        self.assertEqual(sorted(os.listdir(self.folder)), ['stats.json', 'trace.json'])
        self.assertGreater(len(Trace(self.path('trace.json')).spans), 0)
        self.assertIn('stages', read_json(self.path('stats.json')))

    def test_two_runs_into_one(self):
        runs = [halotest.start_halod('run', '-i', silent_clip(), '-vf', f'gblur=sigma={n}',
                                     *self.both(), 'null:') for n in range(1, 5)]
        for run in runs:
            error = run.communicate(timeout=halotest.RUN_TIMEOUT)[1]
            self.assertEqual(run.returncode, 0, error)
        self.assert_new()

    def test_failed_run_replaces(self):
        self.existing()
        self.halod('run', '-i', self.path('missing.mkv'), '-vf', 'null', *self.both(), 'null:',
                   code=1)
        self.assert_new()

    def test_run_that_does_not_begin(self):
        self.existing()
        self.halod('run', '-i', silent_clip(), '-vf', 'null', *self.both(), '-progress',
                   self.path('nowhere/x'), 'null:', code=1)
        self.assert_old()
        self.halod('run', '-i', silent_clip(), '-vf', 'null', *self.both(), '-c:v', 'nosuch',
                   'null:', code=64)
        self.assert_old()

    def test_killed(self):
        self.existing()
        fifo = self.path('in.nut')
        os.mkfifo(fifo)
        for number in (signal.SIGKILL, signal.SIGTERM):
            run = halotest.start_halod('run', '-i', fifo, '-vf', 'null', *self.both(), 'null:')
            with open(fifo, 'wb') as to:
                to.write(bytes(1000))
                to.flush()
                self.assert_old('in.nut')  # while it runs, too
                run.send_signal(number)
                run.communicate(timeout=halotest.RUN_TIMEOUT)
            if number == signal.SIGKILL:
                self.assert_old('in.nut')
        os.remove(fifo)
        self.assert_new()

    def test_links_and_modes(self):
        self.existing()
        os.chmod(self.path('trace.json'), 0o640)
        os.rename(self.path('stats.json'), self.path('real.json'))
        os.symlink('real.json', self.path('stats.json'))
        self.halod('run', '-i', silent_clip(), '-vf', 'null', *self.both(), 'null:')
        self.assertEqual(os.stat(self.path('trace.json')).st_mode & 0o777, 0o640)
        self.assertTrue(os.path.islink(self.path('stats.json')))
        self.assertIn('stages', read_json(self.path('real.json')))
        self.assertEqual(len(os.listdir(self.folder)), 3)

    def test_descriptors_and_pipes(self):
        """They are written directly, after what is there."""
        for name in ('/dev/stdout', '/dev/fd/1', '/proc/self/fd/1'):
            run = self.halod('run', '-i', silent_clip(), '-vf', 'null', '-stats_json', name,
                             'null:')
            self.assertIn('stages', json.loads(run.out))
            with open(self.path('log'), 'wb') as log:
                log.write(b'before\n')
                log.flush()
                code = subprocess.run(
                    halotest.halod_command('run', '-i', silent_clip(), '-vf', 'null',
                                           '-stats_json', name, 'null:'),
                    stdout=log, stderr=subprocess.DEVNULL).returncode
                os.write(log.fileno(), b'after\n')
            self.assertEqual(code, 0)
            with open(self.path('log'), encoding='utf-8') as log:
                text = log.read()
            self.assertTrue(text.startswith('before\n{') and text.endswith('}\nafter\n'), text)
        self.assertEqual(os.listdir(self.folder), ['log'])
        fifo = self.path('fifo')
        os.mkfifo(fifo)
        run = halotest.start_halod('run', '-i', silent_clip(), '-vf', 'null', '-trace', fifo,
                                   'null:')
        self.assertGreater(len(Trace(fifo).spans), 0)
        run.communicate(timeout=halotest.RUN_TIMEOUT)
        self.assertEqual(run.returncode, 0)

    def test_folder(self):
        for option in ('-trace', '-stats_json'):
            self.refused('run', '-i', silent_clip(), '-vf', 'null', option, self.folder, 'null:',
                         code=1, says=(option, 'directory'))


class Traces(HaloTest):
    def test_trace(self):
        path = self.path('trace.json')
        self.halod('run', '-i', plain_clip('.mp4', 2, '640x480'), '-vf', 'gblur=sigma=8',
                   '-backend', 'cpu', '-trace', path, self.path('out.mkv'))
        trace = Trace(path)
        self.assertEqual({tid: name for (pid, tid), name in trace.names.items() if pid == 1},
                         THREADS)
        self.assertEqual(trace.dropped, 0)
        for tid in THREADS:
            spans = sorted((e['ts'], e['ts'] + e['dur']) for e in trace.of(1) if e['tid'] == tid)
            self.assertTrue(spans, THREADS[tid])
            for (_, end), (begin, _) in zip(spans, spans[1:]):
                self.assertLessEqual(end, begin + 0.01, f'{THREADS[tid]} did two things at once')
        self.assertEqual({e['args']['frame'] for e in trace.of(1, 'kernels')}, set(range(50)))
        opened = max(e['ts'] + e['dur'] for e in trace.of(1) if e['name'].startswith('open_'))
        for name in ('decode', 'kernels', 'encode'):
            self.assertGreaterEqual(min(e['ts'] for e in trace.of(1, name)), opened)

    def test_picture(self):
        path, picture = self.path('trace.json'), self.path('trace.svg')
        self.halod('run', '-i', silent_clip(), '-vf', 'gblur=sigma=8', '-trace', path, 'null:')
        tool = os.path.join(os.path.dirname(__file__), '../../..', 'tools', 'dev', 'trace-picture')
        halotest.call([tool, path, picture])
        with open(picture, encoding='utf-8') as file:
            text = file.read()
        self.assertTrue(text.startswith('<svg ') and text.endswith('</svg>\n'))
        self.assertIn('decode', text)
        self.check_refusals(tool, path, picture)
        with open(picture, encoding='utf-8') as file:
            self.assertEqual(file.read(), text)
        self.assertIn(b'OUT.svg', halotest.call([tool, '--help']))
        halotest.call([tool, path, picture, '1', '0.5'])

    def check_refusals(self, tool, path, picture):
        for words, code, says in (
                ((), 64, 'usage: '), ((path,), 64, 'usage: '), ((path, picture, '1'), 64, 'usage: '),
                ((path, picture, 'a', 'b'), 64, 'FROM a: '), ((path, picture, '0', '0'), 64, 'MS 0: '),
                ((path, picture, '-5', '1'), 64, 'FROM -5: '), ((path, picture, '0', 'nan'), 64, 'MS'),
                ((path, picture, '0', 'inf'), 64, 'MS inf: '),
                ((self.path('none'), picture), 1, 'none: No such file'),
                ((self.written(''), picture), 1, 'is no trace'),
                ((self.written('{'), picture), 1, 'is no trace'),
                ((self.written('[]'), picture), 1, 'is no trace'),
                ((self.written('{"frames": 3}'), picture), 1, 'is no trace'),
                ((self.written('{"traceEvents": [{"name": "x", "ph": "X"}]}'), picture), 1, 'no trace'),
                ((self.written('{"traceEvents": []}'), picture), 1, 'nothing worked'),
                ((path, self.path('no/x.svg')), 1, 'x.svg: No such file'),
                ((path, '/dev/full'), 1, '/dev/full: No space')):
            with self.subTest(words):
                done = subprocess.run([tool, *words], stdin=subprocess.DEVNULL, text=True, timeout=60,
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                self.assertEqual((done.returncode, done.stdout), (code, ''), done.stderr)
                self.assertRegex(done.stderr, r'\Atrace-picture: [^\n]+\n\Z')
                self.assertIn(says, done.stderr)

    def written(self, text):
        name = self.path(f'{len(os.listdir(self.path("")))}.json')
        with open(name, 'w', encoding='utf-8') as file:
            file.write(text)
        return name


class Gpu(HaloTest):
    def setUp(self):
        super().setUp()
        if not has_gpu():
            self.skipTest('no GPU')
        # All pictures alike: the decoder is faster than the device.
        self.clip = clip('.mkv', *video_source('1920x1080', 25, 0.04), *halotest.X264,
                         '-vf', 'loop=99:1')

    def trace(self, depth):
        path, stats = self.path('trace.json'), self.path('stats.json')
        self.halod('run', '-i', self.clip, '-vf', 'gblur=sigma=5', '-backend', 'cuda', '-depth',
                   depth, '-trace', path, '-stats_json', stats, 'null:')
        return Trace(path), read_json(stats)

    def test_lanes_overlap(self):
        trace, stats = self.trace(3)
        lanes = {e['tid'] for e in trace.of(2)}
        self.assertEqual(len(lanes), 3)
        self.assertGreater(trace.overlap(), 0)
        for name in ('upload', 'kernels', 'download'):
            self.assertEqual(len(trace.of(2, name)), stats['frames'])

    def test_one_lane_does_not(self):
        trace, _ = self.trace(1)
        self.assertEqual(len({e['tid'] for e in trace.of(2)}), 1)
        self.assertEqual(trace.overlap(), 0)

    def test_copies(self):
        _, stats = self.trace(3)
        copies = stats['copies_per_frame']
        frame = 1920 * 1080 * 3 // 2
        for way in ('up', 'down'):
            self.assertEqual(copies[way]['count'], 3)
            self.assertEqual(copies[way]['by_driver'], 0)
            self.assertTrue(frame <= copies[way]['bytes'] <= frame * 1.1, copies)
        self.assertEqual(copies['host']['count'], 0)


if __name__ == '__main__':
    halotest.main()
