# SPDX-License-Identifier: BSD-2-Clause
# Engines that lie, flood, hang, or lose their GPU: the supervisor outlives them all.
import json
import os
import re
import sys
import time

from halotest import alone
from halotest.daemon import (HALOD, STANDIN_ENGINE_DAEMON, Control, DaemonTest, Refused,
                             is_sanitized, main, wait_until)

HERE = os.path.dirname(os.path.abspath(__file__))


class Hostile(DaemonTest):
    def hostile(self, does, streams=None, **more):
        return self.start_with_engine(os.path.join(HERE, 'standin_engine.py'), streams,
                                      {'STANDIN_DOES': does, 'HALOD': HALOD,
                                       'HALOD_FAULT': 'silence:1+,answer:1+', **more})

    def pids_in(self, name):
        try:
            with open(self.path(name)) as file:
                return [int(line) for line in file]
        except FileNotFoundError:
            return []

    def starts(self):
        return self.pids_in('starts')

    def wait_heard(self, daemon, times=1):
        """All that the engine had to say has been read, and so was that it still lives."""
        before = len(self.pids_in('heard'))
        self.assertTrue(wait_until(lambda: len(self.pids_in('heard')) >= before + times),
                        daemon.logged())

    def be_honest(self, daemon):
        """From now on engines are real ones: all is well again."""
        with open(self.path('honest'), 'w'):
            pass
        for pid in daemon.pids():
            try:
                os.kill(pid, 9)
            except ProcessLookupError:
                pass
        self.assertTrue(wait_until(lambda: daemon.status('one')['filtered'] > 5),
                        daemon.logged())

    def outlived(self, does, restarts, **more):
        """After misdeeds it is killed and started again (or not), and the daemon is well."""
        daemon = self.hostile(does, **more)
        if restarts:
            self.assertTrue(wait_until(lambda: len(self.starts()) > 1), daemon.logged())
        else:
            self.wait_heard(daemon, 4)
            self.assertEqual(len(self.starts()), 1, daemon.logged())
        self.assertIsNone(daemon.process.poll(), daemon.logged())
        self.be_honest(daemon)
        return daemon

    def test_nonsense(self):
        daemon = self.outlived('hello,start,little_nonsense,bad_stats,alive', restarts=False)
        self.assertIn('sent an invalid message: ignored', daemon.logged())

    def detector(self, name='detector.py'):
        """The command of a detector that says its ID, and waits for its end."""
        path = self.path(name)
        with open(path, 'w') as file:
            file.write('import array, os, socket\n'
                       '_, parts, _, _ = socket.socket(fileno=3).recvmsg(1, 64)\n'
                       'link = socket.socket(fileno=array.array("i", parts[0][2])[0])\n'
                       'link.send(b"%d" % os.getpid())\n'
                       'link.recv(1)\n'
                       'socket.socket(fileno=3).recv(1)\n')
        return f'/usr/bin/python3 {path}'

    def detected(self, count):
        """What was noted, once there are so many lines."""
        lines = []

        def read():
            if os.path.exists(self.path('detected')):
                with open(self.path('detected')) as file:
                    lines[:] = file.read().splitlines()
            return len(lines) >= count
        self.assertTrue(wait_until(read), lines)
        return lines

    def with_detector(self, does, **settings):
        faces = {'command': self.detector(), **settings}
        return self.hostile('hello,start,running,' + does,
                            {'one': self.stream(detectors={'faces': faces})})

    def pid_detected(self, line):
        self.assertRegex(line, r'^7 faces \d+$')
        return int(line.split()[-1])

    def assert_ends(self, pid):
        def ended():
            try:
                with open(f'/proc/{pid}/stat') as file:
                    return file.read().split(') ')[1][0] == 'Z'
            except OSError:
                return True
        self.assertTrue(wait_until(ended), pid)

    def test_detectors(self):
        """One is started for an engine, killed if it broke the contract, and started again."""
        daemon = self.with_detector('bad_asks,want,broken,want,alive')
        first, second = [self.pid_detected(line) for line in self.detected(2)]
        self.assert_ends(first)
        [faces] = daemon.status('one')['detectors'].values()
        self.assertTrue(faces['up'])
        self.assertEqual((faces['pid'], faces['restarts']), (second, 1))
        self.assertIn('stream one: the detector of faces: killed, because it broke the contract: '
                      'it lies ?[2J', daemon.logged())
        self.assertNotIn('/bin/sh', daemon.logged())
        self.assertEqual(os.path.exists(self.path('starts')) and len(self.starts()), 1)
        daemon.control('Stop', name='one')
        daemon.stop()
        self.assert_ends(second)

    def test_a_detector_of_an_engine_that_dies(self):
        daemon = self.with_detector('want,alive')
        [line] = self.detected(1)
        os.kill(self.starts()[0], 9)
        self.assert_ends(self.pid_detected(line))
        self.assertNotEqual(self.detected(2)[1], line)
        self.assertIsNone(daemon.process.poll())

    def test_a_detector_of_a_daemon_that_is_killed(self):
        daemon = self.with_detector('want,alive')
        [line] = self.detected(1)
        daemon.process.kill()
        daemon.process.wait()
        daemon.wanted_code = -9
        self.assert_ends(self.pid_detected(line))

    def test_a_detector_that_is_not_wanted_any_more(self):
        self.with_detector('want,unwanted,alive')
        self.assert_ends(self.pid_detected(self.detected(1)[0]))

    def test_no_detector(self):
        daemon = self.with_detector('want,alive', command='/nonexistent/x')
        self.assertEqual(self.detected(1), ['7 faces /nonexistent/x: there is no such program'])
        [faces] = daemon.status('one')['detectors'].values()
        self.assertFalse(faces['up'])
        self.assertEqual(faces['why'], '/nonexistent/x: there is no such program')

    def test_hooks(self):
        """Are started for the files of their output, and for no others."""
        hook = self.path('hook')
        with open(hook, 'w') as file:
            file.write(f'#!/bin/sh\necho "$1" >> {self.path("hooked")}\n')
        os.chmod(hook, 0o755)
        daemon = self.hostile('hello,start,running,finishes,alive', {'one': self.stream(outputs=[
            {'unix': self.path('one.ts')},
            {'file': self.path('v-%H%M%S.mkv'), 'segment_time': 1, 'hook': hook},
            {'file': self.path('w-%H%M%S.mkv'), 'segment_time': 1}])})
        self.assertTrue(wait_until(lambda: self.lines('hooked')), daemon.logged())
        self.assertTrue(wait_until(lambda: daemon.engines()['cpu']['ignored_messages'] == 10),
                        daemon.logged())
        self.assertEqual(self.lines('hooked'), [self.path('v-120000.mkv')])

    def lines(self, name):
        """Those that are whole."""
        try:
            with open(self.path(name)) as file:
                return file.read().split('\n')[:-1]
        except FileNotFoundError:
            return []

    def controlled(self):
        return self.lines('controlled')

    def test_control(self):
        """An engine has halod's user, and is not let in, nor who it starts."""
        daemon = self.hostile('hello,start,running,controls,alive')
        self.assertTrue(wait_until(lambda: len(self.controlled()) == 3), daemon.logged())
        self.assertEqual(self.controlled(), ['engine 0', 'thread 0', 'grandchild 0'])
        self.assertEqual(daemon.logged().count('tried to control halod: ignored'), 1, daemon.logged())
        self.assertEqual(daemon.state('one'), 'running', daemon.logged())
        self.assertEqual(daemon.engines()['cpu']['ignored_messages'], 3)
        self.assertEqual(len(self.starts()), 1)
        self.be_honest(daemon)

    def test_control_for_ever(self):
        daemon = self.outlived('hello,start,running,controls_for_ever', restarts=True)
        self.assertIn('it tried to control halod more than 100 times', daemon.logged())

    def test_control_by_one_that_has_died(self):
        """Its call is read after its end was seen."""
        daemon = self.hostile('hello,start,running,controls_and_dies')
        self.assertTrue(wait_until(lambda: 'to an engine that has ended, tried' in daemon.logged()),
                        daemon.logged())
        self.assertNotIn(daemon.state('one'), ('stopped', 'disabled'), daemon.logged())
        self.be_honest(daemon)

    def test_rings(self):
        self.outlived('hello,start,ring_out_of_range,alive', restarts=False)

    def test_rings_that_may_shrink(self):
        self.outlived('hello,start,ring_unsealed,alive', restarts=True)

    def test_before_hello(self):
        self.outlived('wrong_version,snapshots,alive', restarts=False)

    def test_a_flood(self):
        """One that never stops talking does not keep the loop for itself."""
        daemon = self.hostile('hello,start,running,floods')
        daemon.wait_state('one', 'running')
        for _ in range(20):
            daemon.status()
        if not is_sanitized():
            memory = daemon.memory()
            time.sleep(2)  # of the flood, which has no end: what it leaves would be far more by then
            self.assertLess(daemon.memory() - memory, 2048)
        self.be_honest(daemon)

    def settings(self):
        return [json.loads(line) for line in self.lines('settings')]

    def chains(self, own, a, b):
        return self.stream(filters=own, renditions={'a': {'filters': a}, 'b': {'filters': b}})

    def test_a_reload_that_the_engine_refuses(self):
        """It says so, all is as before, and the next one asks again."""
        daemon = self.hostile('hello,serve_without_sets', {
            'one': self.chains('gblur=sigma=2', 'gblur=sigma=3', 'gblur=sigma=4')})
        daemon.wait_state('one', 'running')
        daemon.write({'one': self.chains('gblur=sigma=5', 'gblur=sigma=6', 'gblur=sigma=7')})
        for _ in range(2):
            answer = daemon.control('Reload')
            self.assertEqual(answer['set'], [])
            self.assertIn('not these', answer['refused'][0])
            status = daemon.status('one')
            self.assertEqual((status['filters'], status['renditions'], status['state']), (
                'gblur=sigma=2', {'a': 'gblur=sigma=3', 'b': 'gblur=sigma=4'}, 'running'))
        self.assertEqual(len(self.settings()), 1)

    def test_a_reload_that_ends_the_engine(self):
        """The file's filters hold at the stream's next start."""
        daemon = self.hostile('hello,serve_until_set', {
            'one': self.chains('gblur=sigma=2', 'gblur=sigma=3', 'gblur=sigma=4')})
        daemon.wait_state('one', 'running')
        daemon.write({'one': self.chains('gblur=sigma=5', 'gblur=sigma=6', 'gblur=sigma=7')})
        self.assertEqual(daemon.control('Reload')['set'], ['one'])
        self.assertTrue(wait_until(lambda: len(self.settings()) == 2), daemon.logged())
        text = json.dumps(self.settings()[1])
        for sigma in (5, 6, 7):
            self.assertIn(f'gblur=sigma={sigma}', text)
        daemon.wait_state('one', 'running')
        status = daemon.status('one')
        self.assertEqual((status['filters'], status['renditions']), (
            'gblur=sigma=5', {'a': 'gblur=sigma=6', 'b': 'gblur=sigma=7'}))

    def test_a_set_that_the_engine_refuses(self):
        """It is told, and all is as before."""
        daemon = self.hostile('hello,serve_without_sets', {
            'one': self.chains('gblur=sigma=2', 'gblur=sigma=3', 'gblur=sigma=4')})
        daemon.wait_state('one', 'running')
        with self.assertRaises(Refused) as refused:
            daemon.control('Set', name='one', filters='gblur=sigma=5')
        self.assertIn('not these', str(refused.exception))
        status = daemon.status('one')
        self.assertEqual((status['filters'], status['renditions'], status['state']), (
            'gblur=sigma=2', {'a': 'gblur=sigma=3', 'b': 'gblur=sigma=4'}, 'running'))
        self.assertEqual(len(self.settings()), 1)

    def test_a_reload_is_newer_than_a_set_that_waits(self):
        """What the file says holds, whether it says it for the first time or again."""
        daemon = self.hostile('hello,serve_held_ends')
        daemon.wait_state('one', 'running')
        daemon.control('Restart', name='one')
        daemon.write({'one': self.stream(filters='gblur=sigma=5', on_error='solid')})
        for _ in range(2):
            other = self.ask(daemon, 'Set', name='one', filters='gblur=sigma=7')
            self.assertEqual(daemon.control('Reload')['changed'], ['one'])
            with self.assertRaises(Refused) as refused:
                other.receive()
            self.assertIn('new settings were loaded', str(refused.exception))
        with open(self.path('end'), 'w'):
            pass
        self.assertTrue(wait_until(lambda: len(self.settings()) == 2), daemon.logged())
        text = json.dumps(self.settings()[1])
        self.assertIn('gblur=sigma=5', text)
        self.assertNotIn('gblur=sigma=7', text)

    def test_a_set_while_the_stream_ends(self):
        """Its files may still get what the old filters made: answered when that is over."""
        daemon = self.hostile('hello,serve_slow_ends', {
            'one': self.chains('gblur=sigma=2', 'gblur=sigma=3', 'gblur=sigma=4')})
        daemon.wait_state('one', 'running')
        begun = time.monotonic()
        daemon.control('Stop', name='one')
        other = self.ask(daemon, 'Set', name='one', filters='gblur=sigma=7')
        last = daemon.control('Set', name='one', filters='gblur=sigma=5')
        self.assertGreater(time.monotonic() - begun, 1.4)
        self.assertLess(other.receive()['revision'], last['revision'], 'one after the other')
        self.assertEqual(daemon.status('one')['filters'], 'gblur=sigma=5')
        daemon.control('Start', name='one')
        self.assertTrue(wait_until(lambda: len(self.settings()) == 2), daemon.logged())
        text = json.dumps(self.settings()[1])
        self.assertIn('gblur=sigma=5', text)
        self.assertNotIn('gblur=sigma=7', text)

    def test_streams_that_never_go(self):
        """Both are removed and the engine is alive, but tells of no end: it is killed, once."""
        daemon = self.hostile('hello,start,start,alive',
                              {name: self.stream(name) for name in ('one', 'two', 'three')},
                              MALLOC_PERTURB_='165')
        self.assertTrue(wait_until(lambda: self.starts()), daemon.logged())
        daemon.write({'one': self.stream()})
        self.wait_heard(daemon)
        daemon.control('Reload')
        self.assertTrue(wait_until(lambda: 'did not end in time' in daemon.logged()),
                        daemon.logged())
        self.assertTrue(wait_until(lambda: len(self.starts()) == 2), daemon.logged())
        self.assertIsNone(daemon.process.poll(), daemon.logged())
        self.be_honest(daemon)

    @alone
    def test_no_room(self):
        """Streams for which the GPU has no memory wait and say so, and come when there is some; the one
        that runs is left alone."""
        names, begun = 'abc', time.monotonic()
        daemon = self.hostile('hello,serve_one_at_a_time', {
            name: self.stream(name, outputs=[{'null': True}]) for name in names})

        def states():
            return sorted(daemon.state(name) for name in names)
        self.assertTrue(wait_until(lambda: states() == ['running', 'waiting', 'waiting']),
                        daemon.logged())
        first = next(name for name in names if daemon.state(name) == 'running')
        for name in names.replace(first, ''):
            self.assertTrue(wait_until(lambda name=name: daemon.status(name)['why'] ==
                                       "the GPU's memory is full"), daemon.status(name))
            self.assertIn('gpu-memory', daemon.status(name)['degraded'])
        time.sleep(0.5)  # in which each could be tried again
        tries = len(self.settings())  # one in five seconds, and not all the time
        self.assertLess(tries, 5 + (time.monotonic() - begun) / 5)
        daemon.control('Stop', name=first)
        self.assertTrue(wait_until(lambda: states() == ['running', 'stopped', 'waiting']),
                        daemon.logged())
        self.assertEqual(len(self.starts()), 1)
        self.assertIn("stream b: waiting: the GPU's memory is full", daemon.logged())

    def test_ends_in_words(self):
        """Who asked for the end of an engine and why, and how it ended: in status and log."""
        killed = 'killed: its link was closed (the connection is closed), but the process did not exit'
        for end, wanted in (
                ('stands', 'the engine ended with status 1; requested by stream one: a stage stands'),
                ('device', 'the GPU failed (the engine ended with status 75); requested by stream '
                           'one: the GPU is lost'),
                ('killed', 'the engine was ended by signal 9 (Killed)'), ('closes', killed)):
            daemon = self.hostile('hello,start,running,' + end)
            self.assertTrue(wait_until(
                lambda wanted=wanted: daemon.engines()['cpu']['last_failure'] == wanted),
                daemon.logged())
            self.assertIn('engine cpu: ' + wanted, daemon.logged())
            self.assertIn('stream one: restarting: ' + wanted, daemon.logged())
            self.end(daemon)
            os.unlink(self.path('starts'))
        self.be_honest(daemon := self.hostile('hello'))
        self.end(daemon)
        self.assertIn('told to finish: halod is stopping', daemon.logged())

    @alone
    def test_a_stream_that_stalls(self):
        """It leaves engines that go on, again and again: nobody else is disturbed, and few engines
        are started for it."""
        names = ['one', 'two', 'three']
        daemon = self.hostile('hello,stalls,serve_without_sets', {
            name: self.stream(name, outputs=[{'null': True}]) for name in names})
        counts = set()

        def look():
            counts.add(len(daemon.pids()))
            return daemon.status('one')['restarts'] > 3
        self.assertTrue(wait_until(look), daemon.logged())
        self.assertEqual(daemon.engines()['cpu']['pid'], self.starts()[0], daemon.logged())
        self.assertIn('stream one: restarting: a stage stands', daemon.logged())
        self.assertIn('stream one: isolated from the others, because it stalled', daemon.logged())
        self.assertEqual(sorted(daemon.engines()['cpu']['streams']), ['three', 'two'])
        self.assertEqual([daemon.status(name)['restarts'] for name in names[1:]], [0, 0])
        self.assertEqual({engine['restarts'] for engine in daemon.engines().values()}, {0})
        self.assertLess(max(counts), 4)

    @alone
    def test_a_gpu_that_fails(self):
        """After three ends with status 75 in a row: on the CPU, which is said."""
        for end in ('device', 'status_75', 'last_words'):
            daemon = self.hostile('hello,start,' + end, {'one': self.stream(backend='auto')})
            self.assertTrue(wait_until(lambda: daemon.status('one')['cpu_instead']),
                            daemon.logged())
            self.assertIn(len(self.starts()), (3, 4), daemon.logged())  # with the CPU's first
            self.assertIn('continuing on the CPU', daemon.logged())
            self.be_honest(daemon)
            status = daemon.status('one')
            self.assertEqual((status['engine'], status['backend']), ('cpu', 'cpu'))
            self.end(daemon)
            os.unlink(self.path('honest'))
            os.unlink(self.path('starts'))

    def on_gpus(self, streams, *surveys):
        """GPUs with so much free memory, as engines tell; names on each engine, by its name."""
        lists = [[{'memory_free_bytes': free << 20, 'busy': busy} for free, busy in survey]
                 for survey in surveys]
        daemon = self.hostile('hello,serve_without_sets', streams, STANDIN_GPUS=json.dumps(lists))
        for name in streams:
            daemon.wait_state(name, 'running')
        return daemon

    def places(self, daemon):
        return {engine['name']: sorted(engine['streams'])
                for engine in daemon.status()['engines'] if engine['streams']}

    def autos(self, *names, **more):
        return {name: self.stream(name, backend='auto', **more) for name in names}

    @alone
    def test_streams_that_start_together(self):
        """Two GPUs are as good as the same: as many on each, and each knows its number."""
        daemon = self.on_gpus(self.autos(*'abcd'), [(40000, 0), (40100, 9)])
        places = self.places(daemon)
        self.assertEqual(sorted(places), ['gpu0', 'gpu1'])
        self.assertEqual([len(names) for names in places.values()], [2, 2])
        numbers = [re.findall(r'"gpu": (\d)', json.dumps(text)) for text in self.settings()]
        self.assertEqual(sorted(numbers), [['0'], ['0'], ['1'], ['1']])
        self.assertTrue(wait_until(lambda: len(daemon.status()['engines']) == 2), 'idle ones stay')
        self.assertEqual(daemon.status('a')['gpu']['number'],
                         int(daemon.status('a')['engine'][-1]))

    @alone
    def test_one_engine_for_a_gpu(self):
        """Whether its number is asked for or chosen."""
        daemon = self.on_gpus({**self.autos('a', 'b'), 'c': self.stream('c', backend='cuda', gpu=1),
                               'd': self.stream('d')}, [(9000, 0), (70000, 50)])
        self.assertEqual(self.places(daemon), {'gpu1': ['a', 'b', 'c'], 'cpu': ['d']})
        self.assertIsNone(daemon.status('d')['gpu'])

    @alone
    def test_the_one_that_is_asked_for_counts(self):
        """And so do streams with an engine of their own, whose engine has the number, too."""
        daemon = self.on_gpus({'c': self.stream('c', backend='auto', gpu=0), **self.autos('a'),
                               **self.autos('own', own_engine=True)},
                              [(8000, 0), (8000, 0), (8000, 0)])
        places = self.places(daemon)
        self.assertEqual(places.pop('gpu0'), ['c'])
        self.assertIn(places, ({'gpu1': ['a'], 'gpu2:own': ['own']},
                               {'gpu2': ['a'], 'gpu1:own': ['own']}))

    @alone
    def test_one_that_comes_later(self):
        """Running engines are asked again, and none is started for that."""
        daemon = self.on_gpus(self.autos('a'), [(9000, 0), (8900, 0)])
        self.assertEqual(self.places(daemon), {'gpu0': ['a']})
        starts = len(self.starts())
        daemon.write(self.autos('a', 'b'))
        daemon.control('Reload')
        daemon.wait_state('b', 'running')
        self.assertEqual(self.places(daemon), {'gpu0': ['a'], 'gpu1': ['b']})
        self.assertEqual(len(self.starts()), starts + 1)

    @alone
    def test_no_gpus(self):
        """An engine is not named after what is not there, and who insists is one of another."""
        daemon = self.on_gpus({**self.autos('a', 'b'), 'c': self.stream('c', backend='cuda'),
                               'd': self.stream('d')}, [], [])
        self.assertEqual(self.places(daemon), {'cpu': ['a', 'b', 'd'], 'gpu': ['c']})
        self.end(daemon)
        daemon = self.on_gpus(self.autos('a', 'b'), [])
        self.assertEqual(self.places(daemon), {'cpu': ['a', 'b']})
        self.assertIn('engine cpu is running', daemon.logged())
        self.assertNotIn('engine gpu', daemon.logged())

    @alone
    def test_lies_about_gpus(self):
        """As if nothing had been said, for which there is a limit."""
        daemon = self.on_gpus(self.autos('a'), [(-5, 0)], [(5, 101)], [(1, 1)] * 17)
        self.assertEqual(self.places(daemon), {'gpu': ['a']})
        self.assertIn('did not list the GPUs', daemon.logged())
        self.assertIn('sent an invalid message: ignored', daemon.logged())

    def test_a_disk_that_hangs(self):
        """It is not waited for at the end; what else there is to do then is done."""
        daemon = self.hostile('hello,serve_until_set', STANDIN_HANGS=self.path('hangs'))
        daemon.wait_state('one', 'running')
        asks = Control(daemon.path)
        self.addCleanup(asks.close)
        asks.send('Facts')
        self.assertTrue(wait_until(lambda: os.path.exists(self.path('hangs'))), daemon.logged())
        self.assertEqual(daemon.stop(), 0, daemon.logged())
        self.assertFalse(os.path.exists(daemon.path))

    def test_memory_of_gpus(self):
        """What an engine tells of it is checked, and goes with the engine."""
        daemon = self.hostile('hello,start,running,gpus,waits,status_75')

        def logged():
            return [gpu for engine in daemon.status()['engines'] for gpu in engine['gpus']]
        self.assertTrue(wait_until(lambda: len(logged()) == 2), daemon.logged())
        self.assertEqual(logged(), [
            {'number': 1, 'memory_used_bytes': 5 << 30, 'memory_size_bytes': 80 << 30},
            {'number': 0, 'memory_used_bytes': 0, 'memory_size_bytes': 1}])
        with open(self.path('honest'), 'w'), open(self.path('end'), 'w'):
            pass
        self.assertTrue(wait_until(lambda: not logged()), 'told by an engine that is gone')
        self.be_honest(daemon)
        self.assertEqual(logged(), [])

    def test_a_gpu_that_must_be(self):
        """backend: cuda never continues on the CPU; it is tried again with pauses."""
        daemon = self.hostile('hello,start,device', {'one': self.stream(backend='cuda')})
        self.assertTrue(wait_until(lambda: len(self.starts()) >= 4), daemon.logged())
        self.assertFalse(daemon.status('one')['cpu_instead'])

        def pauses():
            status = daemon.status('one')
            return status['state'] == 'restarting' and 'GPU' in status['why']
        self.assertTrue(wait_until(pauses), daemon.logged())  # for seconds


if __name__ == '__main__':
    if not os.access(STANDIN_ENGINE_DAEMON, os.X_OK):
        print('STANDIN_ENGINE_DAEMON does not name a program\n0 passed, 0 failed, 1 skipped')
        sys.exit(77)
    main()
