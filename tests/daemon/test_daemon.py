# SPDX-License-Identifier: BSD-2-Clause
# The daemon as a whole: its streams' states, live changes, reloads, and what it costs over time.
import json
import os
import signal
import socket
import subprocess
import time

from halotest.daemon import (FFMPEG, HALOCTL, HALOD, HEIGHT, PATIENCE, ROUNDS, UNNOTICED, WIDTH,
                        Control, DaemonTest, Refused, call, costs_of, free_port,
                        halod_environment, is_sanitized, links, main, wait_until)
from halotest import RUN_TIMEOUT, Waits, alone, docs, plain_clip

SMALL, LARGE = 'test:size=96x64:rate=25', 'test:size=320x240:rate=25'


class States(DaemonTest):
    def test_status(self):
        """The fields are those of docs/control.md, and the numbers move."""
        daemon = self.start()
        daemon.wait_state('one', 'running')
        self.until(lambda: daemon.status('one')['filtered'] > 20)
        status = daemon.status('one')
        page = docs.section(docs.read('docs/control.md'), 'Status')
        rows = docs.table(page, 'field')
        fields = {key for field, *_ in rows for key in docs.quoted(field)}
        self.assertEqual(fields - set(status), {'capture', 'region_feed'})  # cameras and feeds have it
        self.assertEqual(set(status) - set(docs.quoted(page)), set())
        engine = page.split('An engine has these fields:')[1]
        self.assertEqual(set(daemon.status()['engines'][0]) - set(docs.quoted(engine)), set())
        self.assertEqual(set(daemon.status()) - set(docs.quoted(page)), set())
        self.assertEqual((status['width'], status['height']), (WIDTH, HEIGHT))
        self.assertEqual((status['engine'], status['backend']), ('cpu', 'cpu'))
        self.assertGreater(status['uptime_s'], 0)
        self.assertGreater(status['stages']['filter']['count'], 0)
        self.assertGreater(status['stages']['filter']['p99'], 0)
        self.assertEqual(status['outputs'][0]['kind'], 'unix')
        whole = daemon.status()
        self.assertEqual([s['name'] for s in whole['streams']], ['one'])
        self.assertEqual(whole['engines'][0]['state'], 'running')

    def test_viewers_are_counted(self):
        daemon = self.start()
        reader = self.reader('one.ts')
        self.until(lambda: daemon.status('one')['viewers'] == 1)
        self.assertEqual(daemon.status('one')['outputs'][0]['viewers'], 1)
        reader.socket.shutdown(2)
        self.until(lambda: daemon.status('one')['viewers'] == 0)

    def test_a_file_ends(self):
        """A file without loop: ended, its viewers are closed, and start begins it again."""
        clip = self.path('clip.mp4')  # comes when its viewer is there
        daemon = self.start({'one': self.stream(input=clip, realtime=True)})
        reader = self.reader('one.ts')
        os.symlink(plain_clip(seconds=3), clip)
        daemon.wait_state('one', 'ended')
        self.until(lambda: reader.ended)
        self.until(lambda: not os.path.exists(self.path('one.ts')))
        os.unlink(clip)
        os.symlink(plain_clip(seconds=60), clip)
        daemon.control('Start', name='one')
        daemon.wait_state('one', 'running')
        self.reader('one.ts')

    def test_a_file_that_restarts(self):
        clip = plain_clip(seconds=1)
        daemon = self.start({'one': self.stream(input=clip, realtime=True, restart='always')})
        reader = self.reader('one.ts')
        self.until(lambda: daemon.status('one')['restarts'] >= 2)
        self.assertFalse(reader.ended)

    def test_an_input_that_is_not_there(self):
        """It waits, says for what, shows the card, and goes on when the file comes."""
        source = self.path('later.mkv')
        daemon = self.start({'one': self.stream(input=source, loop=True, realtime=True),
                             'two': self.stream('two')})
        self.until(lambda: daemon.state('one') in ('waiting', 'restarting'))
        self.until(lambda: 'later.mkv' in daemon.status('one')['why'])
        daemon.wait_state('two', 'running')
        with open(plain_clip('.mkv', seconds=2), 'rb') as clip, open(source + '.new', 'wb') as to:
            to.write(clip.read())
        os.rename(source + '.new', source)
        daemon.wait_state('one', 'running', 30)
        self.reader('one.ts')

    def test_stop_start_restart(self):
        daemon = self.start()
        daemon.wait_state('one', 'running')
        reader = self.reader('one.ts')
        daemon.control('Restart', name='one')
        self.until(lambda: daemon.status('one')['restarts'] == 1)
        daemon.wait_state('one', 'running')
        self.assertFalse(reader.ended)
        daemon.control('Stop', name='one')
        daemon.wait_state('one', 'stopped')
        self.until(lambda: reader.ended)
        self.until(lambda: not daemon.pids(), 'an engine without streams stays')
        daemon.control('Start', name='one')
        daemon.wait_state('one', 'running')
        self.reader('one.ts')
        with self.assertRaises(Refused) as refused:
            daemon.control('Stop', name='onw')
        self.assertEqual(refused.exception.error, 'NoSuchStream')
        self.assertIn('nearest: one', str(refused.exception))

    def test_disabled(self):
        daemon = self.start({'one': self.stream(enabled=False), 'two': self.stream('two')})
        daemon.wait_state('two', 'running')
        self.assertEqual(daemon.state('one'), 'disabled')
        self.assertFalse(os.path.exists(self.path('one.ts')))
        daemon.control('Start', name='one')
        daemon.wait_state('one', 'running')

    def test_secrets(self):
        """A password is in no status, no log, and on no command line."""
        secret = 'pa55word'
        daemon = self.start({'one': self.stream(
            input=f'rtsp://user:{secret}@127.0.0.1:{free_port()}/cam?token={secret}')})
        self.until(lambda: daemon.state('one') in ('waiting', 'restarting'))
        self.assertNotIn(secret, json.dumps(daemon.status()))
        self.assertIn('rtsp://', daemon.status('one')['input'])
        for pid in daemon.pids() + [daemon.process.pid]:
            with open(f'/proc/{pid}/cmdline', 'rb') as file:
                self.assertNotIn(secret.encode(), file.read())
        self.assertNotIn(secret, daemon.logged())

    def test_outputs_that_cannot_be_opened(self):
        """At the start as later, each of them fails alone and is named; all else runs. It is opened as
        soon as that is possible, and nobody else's socket is taken away."""
        def output(index):
            return {'state': '', **daemon.status('bad')['outputs'][index]}
        with socket.create_server(('127.0.0.1', 0)) as taken, socket.socket(socket.AF_UNIX) as other:
            address = '127.0.0.1:%d' % taken.getsockname()[1]
            other.bind(self.path('other.ts'))
            other.listen()
            places = [{'unix': self.path('missing/x.ts')}, {'unix': self.path('other.ts')},
                      {'tcp': address}, {'unix': self.path('bad.ts')}]
            with open(self.path('checked.yaml'), 'w') as file:
                json.dump({'version': 1, 'streams': {'bad': self.stream(outputs=places)}}, file)
            checked = subprocess.run([HALOD, '--check-config', file.name], capture_output=True,
                                     text=True, timeout=RUN_TIMEOUT, env=halod_environment())
            self.assertEqual(checked.returncode, 0, checked.stderr)
            self.assertIn(self.path('missing/x.ts') + ': its folder does not exist', checked.stderr)
            daemon = self.start({'good': self.stream('good'), 'bad': self.stream(outputs=places)})
            for name in ('good', 'bad'):
                daemon.wait_state(name, 'running')
            self.reader('good.ts')
            self.reader('bad.ts')
            for index, why in enumerate(('its folder does not exist', 'another process is listening',
                                         address + ' is in use')):
                self.assertEqual(output(index)['state'], 'failed')
                self.assertIn(why, output(index)['why'])
                self.assertIn(why, daemon.logged())
            self.assertEqual(output(3)['state'], '')
            self.assertIn('(and 2 more)', daemon.status('bad')['degraded']['output'])
            self.assertIn('(and 2 more)', daemon.status('bad')['why'])
            os.unlink(self.path('other.ts'))
        os.mkdir(self.path('missing'))
        self.until(lambda: 'output' not in daemon.status('bad')['degraded'])
        for name in ('missing/x.ts', 'other.ts'):
            self.reader(name)

    def test_an_overlay_that_was_lost(self):
        """What was kept may hide more than the file does, so an empty or damaged overlay is not taken
        for none, at the start or at a reload."""
        os.mkdir(self.path('state'))
        daemon = self.start(state=self.path('state'))
        daemon.wait_state('one', 'running')
        daemon.control('Set', name='one', filters='solid')
        daemon.control('Keep', name='one')
        overlay = self.path('state/overlay.yaml')
        for text in ('', ' \n', '{"streams": {"one": {"filt', 'null', '{}', '{"streams": 5}'):
            with open(overlay, 'w') as file:
                file.write(text)
            with self.subTest(text):
                with self.assertRaises(Refused):
                    daemon.control('Reload')
                done = subprocess.run([HALOD, '--check-config', daemon.config], capture_output=True,
                                      text=True, timeout=RUN_TIMEOUT, env=halod_environment())
                self.assertEqual(done.returncode, 78, done.stderr)
                self.assertRegex(done.stderr, overlay + ': is (empty or )?damaged.*haloctl keep.*'
                                                        'restore it from a backup, or remove it')
                self.assertEqual(daemon.status('one')['filters'], 'solid')

    def test_http_that_cannot_be_opened_yet(self):
        with socket.create_server(('127.0.0.1', 0)) as taken:
            address = taken.getsockname()
            daemon = self.start(http={'listen': '%s:%d' % address})
            daemon.wait_state('one', 'running')
            self.assertIn('halod runs without HTTP', daemon.logged())
        self.until(lambda: 'HTTP is available now' in daemon.logged())
        with socket.create_connection(address):
            pass


class Changes(DaemonTest):
    def set_again(self):
        """Six times; returns how long the answers took, and what the viewer waited."""
        daemon = self.start()
        daemon.wait_state('one', 'running')
        reader = self.reader('one.ts')
        before = daemon.status('one')
        answers, gaps = [], []
        for sigma in range(2, 8):
            begun = time.monotonic()
            daemon.control('Set', name='one', filters=f'gblur=sigma={sigma}')
            answers.append(time.monotonic() - begun)
            size = reader.size
            self.until(lambda: reader.size > size)
            gaps.append(reader.longest_gap(begun))
        after = daemon.status('one')
        self.assertEqual(after['filters'], 'gblur=sigma=7')
        self.assertEqual(after['restarts'], 0)
        self.assertEqual(after['dropped'].get('filter', 0), before['dropped'].get('filter', 0))
        return answers, gaps

    def test_set(self):
        """New filters at a frame border: no picture is lost, none is unfiltered."""
        self.set_again()

    @alone
    def test_set_at_once(self):
        """Most of them: what is wrong is wrong each time."""
        waits = Waits()
        answers, gaps = self.set_again()
        late = waits.seconds()
        self.assertLess(sorted(answers)[len(answers) // 2], 1 * PATIENCE + late)
        self.assertLess(sorted(gaps)[len(gaps) // 2], 0.4 * PATIENCE + late)

    def test_a_wrong_set(self):
        daemon = self.start()
        daemon.wait_state('one', 'running')
        for chain, word in (('gblurr=sigma=2', 'gblur'), ('gblur=sigma=-1', 'sigma'), ('', '')):
            with self.assertRaises(Refused) as refused:
                daemon.control('Set', name='one', filters=chain)
            self.assertEqual(refused.exception.error, 'Refused')
            self.assertIn(word, str(refused.exception))
        self.assertEqual(daemon.status('one')['filters'], 'gblur=sigma=2')
        self.assertTrue(daemon.runs('one'))

    def test_privacy(self):
        """Only the file opens a stream, and what is open says so."""
        open_one = self.stream('two', filters='null', privacy='off')
        daemon = self.start({'one': self.stream('one'), 'two': open_one},
                            http={'listen': 'unix:' + self.path('http.sock')})
        for name in ('one', 'two'):
            daemon.wait_state(name, 'running')
        for chain in ('null', 'none', 'gblur=sigma=0', 'null,null'):
            with self.assertRaises(Refused) as refused:
                daemon.control('Set', name='one', filters=chain)
            self.assertEqual(refused.exception.error, 'Refused')
            self.assertIn('privacy: off', str(refused.exception))
        self.assertEqual(daemon.status('one')['filters'], 'gblur=sigma=2')
        for chain in ('gblur=sigma=3', 'none', 'null'):
            daemon.control('Set', name='two', filters=chain)
            self.assertEqual(daemon.status('two')['filters'], chain)
        daemon.kill_engine_of('two')
        self.until(lambda: daemon.status('two')['restarts'] == 1)
        daemon.wait_state('two', 'running')
        shown = {stream['name']: stream['privacy']
                 for stream in daemon.control('List')['streams']}
        self.assertEqual(shown, {'one': 'strict', 'two': 'off'})
        self.assertEqual([daemon.status(name)['privacy'] for name in ('one', 'two')],
                         ['strict', 'off'])
        metrics = self.fetch('/metrics')
        self.assertIn('halod_stream_privacy_off{stream="one"} 0', metrics)
        self.assertIn('halod_stream_privacy_off{stream="two"} 1', metrics)
        self.assertIn('"privacy": "off"', self.fetch('/api/streams').replace('":"', '": "'))
        self.assertIn('stream two: privacy off', daemon.logged())
        self.assertNotIn('stream one: privacy off', daemon.logged())

    def test_strict(self):
        """What hides nothing is refused, by whoever knows enough to see it first."""
        effect = self.stream('two', filters='sobel', privacy='changed', input=LARGE)
        daemon = self.start({'one': self.stream('one', input=LARGE), 'two': effect})
        for name in ('one', 'two'):
            daemon.wait_state(name, 'running')
        for chain, says in (('gblur=sigma=5:planes=4', 'luma passes unchanged'),
                            ('unsharp', 'luma is sharpened'),
                            ('gblur=sigma=0.3:region=rect 0 0 9 9', 'in the region of filter 1'),
                            # the settings do not know how small 4 % are: the engine does
                            ('gblur=sigma=0.13*w:region=rect 0 0 4% 4%', 'chroma (plane 1)')):
            with self.assertRaises(Refused) as refused:
                daemon.control('Set', name='one', filters=chain)
            self.assertIn(says, str(refused.exception))
            self.assertIn('privacy: changed', str(refused.exception))
            self.assertEqual(daemon.status('one')['filters'], 'gblur=sigma=2')
            daemon.control('Set', name='two', filters=chain)
            self.assertEqual(daemon.status('two')['filters'], chain)
        with self.assertRaises(Refused):
            daemon.control('Set', name='two', filters='null')
        self.assertEqual([daemon.status(name)['privacy'] for name in ('one', 'two')],
                         ['strict', 'changed'])
        self.assertTrue(daemon.runs('one') and daemon.runs('two'))
        self.assertNotIn('privacy off', daemon.logged())

    def test_coverage(self):
        """What is hidden is said everywhere, and too little is refused as soon as it is known."""
        corner = 'solid=region=rect 0 0 10 10'
        daemon = self.start({
            'one': self.stream('one', input=LARGE, filters=corner, renditions={
                'half': {'filters': 'solid=region=rect 0 0 50% 100%'}}),
            'two': self.stream('two', input=LARGE, filters='gblur=sigma=9', min_coverage='50%')},
            http={'listen': 'unix:' + self.path('http.sock')})
        for name in ('one', 'two'):
            daemon.wait_state(name, 'running')
        part = 100 / (320 * 240)
        for name in ('one', 'two'):
            self.until(lambda name=name: 'coverage' in daemon.status(name))
        self.until(lambda: 'half' in daemon.status('one')['rendition_coverage'])
        status = daemon.status('one')
        self.assertEqual(status['coverage']['planes'], [part] * 3)
        self.assertFalse(status['coverage']['feed'])
        self.assertEqual(status['rendition_coverage']['half']['planes'], [0.5] * 3)
        self.assertEqual([stream['coverage']['words'] for stream in
                          daemon.control('List')['streams'] if stream['name'] == 'one'],
                         ['0.13 % of every plane'])
        metrics = self.fetch('/metrics')
        self.assertIn('halod_stream_coverage_ratio{stream="one",rendition="half",plane="2"} 0.5',
                      metrics)
        self.assertRegex(metrics, r'ratio{stream="one",rendition="",plane="0"} 0\.001302')

        def ctl(*words):
            return subprocess.run([HALOCTL, '--socket', daemon.path, *words], text=True,
                                  capture_output=True, timeout=20 * PATIENCE)
        lines = {line.split()[0]: line for line in ctl('list').stdout.splitlines()}
        self.assertIn('hides 0.13 % of every plane', lines['one'])
        self.assertNotIn('hides', lines['two'])
        self.assertRegex(ctl('status', 'two').stdout, r'(?m)^hides +100 % of every plane$')
        self.assertEqual(ctl('reload', '--check').stdout.splitlines(), [
            'stream one: hides a part that depends on the size of the frames or on a mask image',
            'stream one, rendition half: hides 50 % of every plane', 'the settings are valid'])

        for chain, says in (('solid=region=rect 0 0 50% 90%', 'hide 45 % of luma'),
                            (corner, 'hide 0.13 % of luma')):  # the engine knows the size
            with self.assertRaises(Refused) as refused:
                daemon.control('Set', name='two', filters=chain)
            self.assertIn(says + ', but min_coverage requires 50 %', str(refused.exception))
            self.assertEqual(daemon.status('two')['filters'], 'gblur=sigma=9')
        wide = 'solid=region=rect 0 0 50% 100%'
        daemon.control('Set', name='two', filters=wide)
        for chain, part in ((wide, 0.5), ('gblur=sigma=9', 1)) * 5:  # never one with the other's
            daemon.control('Set', name='two', filters=chain)
            status = daemon.status('two')
            self.assertEqual((status['filters'], status['coverage']['planes']), (chain, [part] * 3))
        daemon.write({'one': self.stream('one', input=LARGE, filters=corner, min_coverage=0.01),
                      'two': self.stream('two', input=LARGE, filters='gblur=sigma=9', min_coverage='50%')})
        self.assertEqual(daemon.control('Reload')['changed'], ['one'])
        self.until(lambda: 'min_coverage requires 1 %' in daemon.status('one')['why'])
        self.assertEqual(daemon.status('one')['filtered'], 0)

    def test_what_is_left(self):
        """By the filters, in words, and of objects until now, in numbers that add up."""
        where = 'region=rect 0 0 40% 40%+rect 60% 60% 40% 40%'
        daemon = self.start({'one': self.stream('one', filters='gblur=sigma=9')},
                            http={'listen': 'unix:' + self.path('http.sock')})
        daemon.wait_state('one', 'running')
        status = daemon.status('one')
        self.assertEqual([(left['where'], left['bounded']) for left in status['leaves']],
                         [('the whole frame', False)])
        self.assertEqual(status['hidden'], {'objects': 0, 'bits': 0, 'epsilon': 0})
        chain = f'hide=noise:n=1:epsilon=0.5:least=4:{where}'
        left = daemon.control('Check', name='one', filters=chain)['leaves'][0]
        self.assertTrue(left['bounded'])
        self.assertIn('at most 0.73 bits for each object', left['words'])

        def set_to(filters, **hidden):
            daemon.control('Set', name='one', filters=filters)
            self.until(lambda: daemon.status('one')['hidden'] == hidden)
        set_to(chain, objects=2, bits=1.444, epsilon=1)
        set_to(f'hide=cells:n=1:levels=4:least=4:{where}', objects=4, bits=13.444, epsilon=1)
        lines = self.fetch('/metrics').splitlines()
        for word, number in (('objects', 4), ('epsilon', 1)):
            self.assertIn(f'halod_hidden_{word}_total{{stream="one"}} {number}', lines)
        said = subprocess.run([HALOCTL, '--socket', daemon.path, 'status', 'one'], text=True,
                              capture_output=True, timeout=20 * PATIENCE).stdout
        self.assertRegex(said, r'(?m)^leaves +region=rect .*: at most 6.00 bits for each object')
        self.assertIn('4 objects shown as cells until now: at most 14 bits in all', said)

    def test_privacy_and_haloctl(self):
        """It says which stream is open, in words and in JSON, and opens none."""
        daemon = self.start({'one': self.stream('one'),
                             'two': self.stream('two', filters='none', privacy='off')})
        for name in ('one', 'two'):
            daemon.wait_state(name, 'running')

        def ctl(*words):
            return subprocess.run([HALOCTL, '--socket', daemon.path, *words], text=True,
                                  capture_output=True, timeout=20 * PATIENCE)
        for words in (['list'], ['status']):
            lines = ctl(*words).stdout.splitlines()
            self.assertEqual([line.split()[0] for line in lines if 'privacy off' in line], ['two'])
        self.assertRegex(ctl('status', 'two').stdout, r'(?m)^privacy +off$')
        self.assertRegex(ctl('status', 'one').stdout, r'(?m)^privacy +strict$')
        for name, said in (('one', 'strict'), ('two', 'off')):
            self.assertIn(f'"privacy":"{said}"', ctl('status', name, '--json').stdout.replace(' ', ''))
        for words in (['privacy=off'], ['filters=none'], ['filters=none', 'privacy=off']):
            self.assertNotEqual(ctl('set', 'one', *words).returncode, 0, words)
        with self.assertRaises(Refused):
            daemon.control('Set', name='one', filters='none', privacy='off')
        self.assertEqual(daemon.status('one')['privacy'], 'strict')
        self.assertEqual(daemon.status('one')['filters'], 'gblur=sigma=2')

    def test_privacy_and_reload(self):
        """A file that would open a stream without saying so changes nothing; closing one does."""
        open_one = self.stream(filters='null', privacy='off')
        daemon = self.start({'one': open_one})
        daemon.wait_state('one', 'running')
        daemon.write({'one': self.stream(filters='null')})
        with self.assertRaises(Refused) as refused:
            daemon.control('Reload')
        self.assertIn('streams.one.filters: these filters pass frames unchanged',
                      ' '.join(refused.exception.parameters['errors']))
        self.assertEqual(daemon.status('one')['privacy'], 'off')
        daemon.write({'one': self.stream()})
        daemon.control('Reload')
        self.until(lambda: daemon.status('one')['privacy'] == 'strict')
        daemon.wait_state('one', 'running')
        with self.assertRaises(Refused):
            daemon.control('Set', name='one', filters='null')
        self.assertEqual(daemon.status('one')['filters'], 'gblur=sigma=2')

    def test_a_set_that_is_too_long(self):
        """What never reaches the engine is never said to be in force."""
        blanks = ' ' * 51000
        daemon = self.start({'one': self.stream(renditions={
            'a': {'filters': 'gblur=sigma=3' + blanks},
            'b': {'filters': 'gblur=sigma=4' + blanks}})})
        daemon.wait_state('one', 'running')
        for size, error, words in ((200000, 'Refused', 'longer than 65536'),
                                   (65000, 'Failed', 'cannot be sent')):
            with self.assertRaises(Refused) as refused:
                daemon.control('Set', name='one', filters='gblur=sigma=9' + ' ' * size)
            self.assertEqual(refused.exception.error, error)
            self.assertIn(words, str(refused.exception))
        self.assertEqual(daemon.status('one')['filters'], 'gblur=sigma=2')
        self.assertNotIn('filters are now', daemon.logged())

    def test_set_while_it_stops(self):
        """What the engine still writes under the old filters is read by nobody after the answer."""
        daemon = self.start(environment=UNNOTICED)
        daemon.wait_state('one', 'running')
        self.reader('one.ts')

        def rings():
            return sum('halod packets' in link for link in links(daemon.process.pid).values())
        engine = daemon.pids()[0]
        os.kill(engine, signal.SIGSTOP)
        daemon.control('Restart', name='one')
        self.assertGreater(rings(), 0)
        other = self.ask(daemon, 'Set', name='one', filters='avgblur=sizeX=6')
        self.assertEqual(daemon.status('one')['filters'], 'gblur=sigma=2', 'answered too early')
        os.kill(engine, signal.SIGCONT)
        other.receive()
        self.until(lambda: daemon.status('one')['restarts'] == 1)
        daemon.wait_state('one', 'running')
        self.assertEqual(daemon.status('one')['filters'], 'avgblur=sizeX=6')
        self.until(lambda: rings() > 0)

    def test_snapshot(self):
        daemon = self.start()
        daemon.wait_state('one', 'running')
        for form, head in (('png', b'\x89PNG'), ('jpg', b'\xff\xd8')):
            control = Control(daemon.path)
            self.addCleanup(control.close)
            answer = control('Snapshot', name='one', format=form)
            with os.fdopen(os.dup(control.fds[0]), 'rb') as file:
                file.seek(0)
                image = file.read()
            self.assertEqual(len(image), answer['size'])
            self.assertTrue(image.startswith(head))
            found = call([FFMPEG, '-v', 'error', '-i', '-', '-f', 'rawvideo', '-pix_fmt', 'gray',
                          '-'], data=image)
            self.assertEqual(len(found), WIDTH * HEIGHT)

    def test_events(self):
        daemon = self.start()
        daemon.wait_state('one', 'running')
        listener = Control(daemon.path)
        self.addCleanup(listener.close)
        listener.call('Events', {}, more=True)  # answered: it listens
        daemon.control('Set', name='one', filters='gblur=sigma=5')
        os.kill(daemon.pids()[0], signal.SIGKILL)
        for wanted in 'set', 'restarting', 'running':  # others may lie between
            event = {}
            while (event.get('stream'), event.get('state') or event.get('event')) != ('one', wanted):
                event = listener.receive()['event']
                self.assertIn('time', event)


class Reloads(DaemonTest):
    def both(self, **more):
        return {'one': self.stream('one'), 'two': self.stream('two', **more)}

    def reload(self, daemon):
        return daemon.control('Reload')

    def test_only_what_differs(self):
        """One stream gets other filters, one another input, one goes, one comes; the rest stays."""
        streams = {name: self.stream(name) for name in ('same', 'blur', 'input', 'gone')}
        daemon = self.start(streams)
        for name in streams:
            daemon.wait_state(name, 'running')
        readers = {name: self.reader(name + '.ts') for name in streams}
        del streams['gone']
        streams['blur'] = self.stream('blur', filters='gblur=sigma=6')
        streams['input'] = self.stream('input', input='test:size=96x72:rate=10')
        streams['new'] = self.stream('new')
        daemon.write(streams)
        answer = self.reload(daemon)
        text = json.dumps(answer)
        for name in ('blur', 'input', 'gone', 'new'):
            self.assertIn(name, text)
        self.assertNotIn('same', text)
        daemon.wait_state('new', 'running')
        daemon.wait_state('input', 'running')
        self.until(lambda: daemon.status('input')['width'] == 96)
        self.until(lambda: daemon.status('blur')['filters'] == 'gblur=sigma=6')
        self.assertEqual([s['name'] for s in daemon.status()['streams']],
                         ['same', 'blur', 'input', 'new'])
        self.assertEqual(daemon.status('blur')['restarts'], 0)
        self.assertEqual(daemon.status('same')['restarts'], 0)
        self.until(lambda: readers['gone'].ended and readers['input'].ended)
        self.assertFalse(readers['same'].ended or readers['blur'].ended)
        self.assertFalse(os.path.exists(self.path('gone.ts')))
        self.reader('new.ts')

    def test_a_wrong_file(self):
        """Nothing changes, and every error is told."""
        daemon = self.start(self.both())
        daemon.wait_state('two', 'running')
        daemon.write({'one': self.stream(filters='gblurr'), 'two': {'inputt': 'test:'},
                      'three': self.stream('three', outputs=[
                          {'unix': self.path('three.ts'), 'video': {'crf': 99}}])})
        with self.assertRaises(Refused) as refused:
            self.reload(daemon)
        self.assertEqual(refused.exception.error, 'BadConfig')
        self.assertGreaterEqual(len(refused.exception.parameters['errors']), 2)
        daemon.process.send_signal(signal.SIGHUP)
        self.until(lambda: 'nothing changed' in daemon.logged())
        self.assertIn('inputt', daemon.logged())
        self.assertIn('gblurr', daemon.logged())
        self.assertRegex(daemon.logged(), r'yaml:\d+: streams.three.outputs\[0\].video.crf: 99: ')
        self.assertEqual([s['name'] for s in daemon.status()['streams']], ['one', 'two'])
        self.assertEqual(daemon.status('one')['restarts'], 0)
        os.unlink(daemon.config)
        with self.assertRaises(Refused):
            self.reload(daemon)
        self.assertTrue(daemon.runs('one'))

    def test_by_signal(self):
        daemon = self.start(self.both())
        daemon.wait_state('two', 'running')
        daemon.write(self.both(filters='avgblur=sizeX=7'))
        daemon.process.send_signal(signal.SIGHUP)
        self.until(lambda: daemon.status('two')['filters'] == 'avgblur=sizeX=7')
        self.assertEqual(daemon.status('two')['restarts'], 0)

    def test_set_before_it_is_strict(self):
        """A stream that the file has closed takes no open chain while it leaves."""
        daemon = self.start(self.both(privacy='off'), environment=UNNOTICED)
        daemon.wait_state('two', 'running')
        os.kill(daemon.pids()[0], signal.SIGSTOP)
        daemon.write(self.both())
        self.assertEqual(self.reload(daemon)['changed'], ['two'])
        with self.assertRaises(Refused):
            daemon.control('Set', name='two', filters='null')
        os.kill(daemon.pids()[0], signal.SIGCONT)
        daemon.wait_state('two', 'running')
        self.assertEqual(daemon.status('two')['filters'], 'gblur=sigma=2')

    def test_renditions_in_another_order(self):
        """Chains are their renditions', whichever comes first in the file: no other's picture."""
        def stream(**chains):
            return {'one': self.stream(
                filters='null', privacy='off',
                renditions={name: {'filters': chain} for name, chain in chains.items()},
                outputs=[{'unix': self.path(name + '.nut'), 'rendition': name,
                          'video': {'codec': 'raw'}} for name in sorted(chains)])}

        daemon = self.start(stream(dark='sobel', plain='null'))
        daemon.wait_state('one', 'running')
        dark, plain = self.watcher('dark.nut'), self.watcher('plain.nut')
        self.assertIsNotNone(dark.wait(False))
        self.assertIsNotNone(plain.wait(False))
        count = len(dark.pictures)

        def sums(watcher):
            """Cards are gray, and neither dark nor light: they stand for what comes late."""
            return [sum(shown) for _, shown in list(watcher.pictures) if not watcher.is_card(shown)]
        daemon.write(stream(plain='null', dark='sobel=scale=0.5'))
        self.assertEqual(self.reload(daemon)['set'], ['one'])
        self.until(lambda: 'filters are now' in daemon.logged())
        self.assertEqual(daemon.status('one')['renditions'],
                         {'dark': 'sobel=scale=0.5', 'plain': 'null'})
        self.until(lambda: len(dark.pictures) > count + 25)
        self.assertLess(max(sums(dark)), min(sums(plain)) / 2)
        self.assertEqual(daemon.status('one')['restarts'], 0)

    def test_renditions_by_name(self):
        """Their order in the file says nothing, and one that is set is not changed by Set."""
        def chains(**sigmas):
            return {'one': self.stream(renditions={
                name: {'filters': f'gblur=sigma={sigma}'} for name, sigma in sigmas.items()})}

        daemon = self.start(chains(a=3, b=4))
        daemon.wait_state('one', 'running')
        daemon.write(chains(b=6, a=5))
        self.assertEqual(self.reload(daemon)['set'], ['one'])
        daemon.control('Set', name='one', filters='gblur=sigma=9')
        status = daemon.status('one')
        self.assertEqual((status['filters'], status['renditions']), (
            'gblur=sigma=9', {'a': 'gblur=sigma=5', 'b': 'gblur=sigma=6'}))
        self.assertEqual(status['restarts'], 0)

    def test_the_file_holds_against_what_waits(self):
        """Filters that an engine has not agreed to yet are not what the file says."""
        daemon = self.start(environment=UNNOTICED)
        daemon.wait_state('one', 'running')
        pid = daemon.pids()[0]
        os.kill(pid, signal.SIGSTOP)
        other = self.ask(daemon, 'Set', name='one', filters='gblur=sigma=9')
        reload = self.ask(daemon, 'Reload')
        os.kill(pid, signal.SIGCONT)
        self.assertEqual(reload.receive()['set'], ['one'])
        self.until(lambda: daemon.logged().count('filters are now gblur=sigma=2') == 1)
        other.receive()
        self.assertEqual(daemon.status('one')['filters'], 'gblur=sigma=2')

    def test_set_before_it_takes_effect(self):
        """Filters that are set while a stream leaves for its new settings hold in these."""
        daemon = self.start(self.both(), environment=UNNOTICED)
        daemon.wait_state('two', 'running')
        os.kill(daemon.pids()[0], signal.SIGSTOP)
        daemon.write(self.both(input='test:size=96x72:rate=10'))
        self.reload(daemon)
        other = self.ask(daemon, 'Set', name='two', filters='gblur=sigma=9')
        os.kill(daemon.pids()[0], signal.SIGCONT)
        other.receive()
        self.until(lambda: daemon.status('two')['width'] == 96)
        self.assertEqual(daemon.status('two')['filters'], 'gblur=sigma=9')

    def test_a_call_that_waits_behind_an_answer(self):
        """What ends one call in the midst of a reload does not begin the next one there."""
        idle = {name: self.stream(name, enabled=False) for name in ('first', 'second', 'kept')}
        daemon = self.start(idle)
        watcher = Control(daemon.path)
        self.addCleanup(watcher.close)
        watcher.send('Status', {'name': 'first', 'interval': 3600}, more=True)
        watcher.send('Reload', {})
        self.assertEqual(watcher.receive()['stream']['state'], 'disabled')
        daemon.write({'kept': idle['kept']})
        self.assertEqual(self.reload(daemon)['removed'], ['first', 'second'])
        with self.assertRaises(Refused) as refused:
            while watcher.receive():
                pass
        self.assertEqual(refused.exception.error, 'NoSuchStream')
        self.assertNotIn('nearest: first', str(refused.exception))
        self.assertEqual(watcher.receive()['removed'], [])
        self.assertEqual([s['name'] for s in daemon.status()['streams']], ['kept'])


class Rounds(DaemonTest):
    STUCK = 12  # rounds in which a viewer that does not read stays: longer than its time limit

    def setUp(self):
        super().setUp()
        self.stuck = []

    def streams(self):
        raw = {'outputs': [{'unix': self.path('b.nut'), 'video': {'codec': 'raw'}}]}
        return {'a': self.stream('a', input=SMALL), 'b': self.stream('b', **raw),
                'c': self.stream('c', 'mkv', input=SMALL), 'd': self.recorded()}

    def recorded(self, **more):
        segments = {'file': self.path('d-%Y%m%d-%H%M%S.mkv'), 'segment_time': 1, 'keep_size': '1M'}
        return self.stream('d', input=SMALL, outputs=[{'unix': self.path('d.ts')}, segments], **more)

    def stick(self):
        """Viewers that never read; the oldest have been cut, and go."""
        both = []
        for name in ('a.ts', 'b.nut'):
            client = socket.socket(socket.AF_UNIX)
            client.connect(self.path(name))
            both.append(client)
        self.stuck.append(both)
        self.unstick(self.STUCK)

    def unstick(self, keep=0):
        while len(self.stuck) > keep:
            for client in self.stuck.pop(0):
                client.close()

    def reload(self, daemon, number):
        """A stream comes, a wrong file changes nothing, other filters come, all is as it was."""
        daemon.write({**self.streams(), 'extra': self.stream('extra', input=SMALL)})
        daemon.control('Reload')
        daemon.write({'a': {'inptu': 'test:'}})
        with self.assertRaises(Refused):
            daemon.control('Reload')
        daemon.write({**self.streams(), 'd': self.recorded(filters=f'avgblur=sizeX={number}')})
        daemon.control('Reload')
        daemon.write(self.streams())
        daemon.control('Reload')

    def one_round(self, daemon, number):
        """What a day brings, in a second."""
        clients = [self.reader(name) for name in ('a.ts', 'b.nut')]
        self.stick()
        for name in 'ac':
            daemon.control('Set', name=name, filters=f'gblur=sigma={2 + number % 9}')
        with self.assertRaises(Refused):
            daemon.control('Set', name='c', filters='gblurr')
        for client in clients:
            client.close()
        if number % 3 == 0:
            before = daemon.status('a')['restarts']
            daemon.kill_engine_of('a')
            self.until(lambda: daemon.status('a')['restarts'] > before)
        if number % 3 == 1:
            self.reload(daemon, 5 + number % 9)
        if number % 3 == 2:
            daemon.control('Restart', name='c')
            for on in (False, True):
                daemon.control('Record', name='d', on=on)
        for name in 'abcd':
            daemon.wait_state(name, 'running')

    def costs(self, daemon):
        """Of the supervisor, and of the engines that no round kills, by process."""
        found = {daemon.process.pid: costs_of(daemon.process.pid)}
        killed = daemon.status('a')['engine']
        for name, engine in daemon.engines().items():
            if name != killed and engine['pid']:
                found[engine['pid']] = {**costs_of(engine['pid']), 'name': f'engine {name}'}
        return found

    def settled(self, daemon):
        """Costs when nobody watches and engines without streams are gone."""
        self.unstick()
        for name in 'abcd':
            self.until(lambda: daemon.status(name)['viewers'] == 0)
        self.until(lambda: all( engine['streams'] for engine in daemon.status()['engines']))
        time.sleep(4)  # what is freed late
        looks = [self.costs(daemon)]
        for _ in range(5):  # a file that is just written is open in one, and not in the next
            time.sleep(0.05)
            looks.append(self.costs(daemon))
        return {pid: {**found, 'descriptors': min(look[pid]['descriptors'] for look in looks)}
                for pid, found in looks[0].items()}

    def rounds(self, daemon, count):
        for number in range(count):
            self.one_round(daemon, number)
        cut = sum(output.get('cut', 0) for name in 'ab'
                  for output in daemon.status(name)['outputs'])
        return self.settled(daemon), cut

    def has_grown(self, daemon, first):
        """What has more than it had, and does not come down."""
        grown = {}

        def is_back():
            grown.clear()
            for pid, now in self.costs(daemon).items():
                grown.update({(now['name'], key): (first[pid][key], now[key])
                              for key in ('descriptors', 'threads')
                              if pid in first and now[key] > first[pid][key]})
            return not grown
        wait_until(is_back)
        return grown

    def test_nothing_grows(self):
        """Descriptors, threads and memory are the same after many rounds of all that happens."""
        # With one arena, what malloc keeps does not depend on which threads run at the same time.
        daemon = self.start(self.streams(), environment={'MALLOC_ARENA_MAX': '1'})
        for name in 'abcd':
            daemon.wait_state(name, 'running')
        self.rounds(daemon, 9)  # until caches are full and crashes have parted the streams
        first, _ = self.rounds(daemon, min(self.STUCK, ROUNDS))
        middle, _ = self.rounds(daemon, ROUNDS // 2)
        begun = time.monotonic()
        last, cut = self.rounds(daemon, ROUNDS - ROUNDS // 2)
        print(f'{ROUNDS} rounds, {time.monotonic() - begun:.0f} s for the second half; '
              f'{cut} stuck viewers were cut')
        self.assertGreaterEqual(len(first), 3, 'no engine is compared')
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
