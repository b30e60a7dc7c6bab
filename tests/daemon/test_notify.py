# SPDX-License-Identifier: BSD-2-Clause
# What a service manager is told, by a socket of the test's own.
import os
import signal
import socket
import time

from halotest import alone, need_faults, plain_clip
from halotest.daemon import process_state
from halotest.managed import PATIENCE, ServiceTest, call, main

LIGHT = 'test:size=64x48:rate=5'  # none of its pictures is late


class Begin(ServiceTest):
    def test_ready_is_true(self):
        """When READY comes all sockets take connections, and the status has been said."""
        manager = self.manager()
        seen = []

        def connect(message):
            if 'READY' not in message:
                return
            for name in ('control.sock', 'one.ts'):
                with socket.socket(socket.AF_UNIX) as client:
                    seen.append(client.connect_ex(self.path(name)))
        manager.heard = connect
        self.start(environment={'NOTIFY_SOCKET': manager.path})
        self.until(lambda: len(seen) == 2, manager.logged)
        self.assertEqual(seen, [0, 0])
        self.assertEqual(manager.order('STATUS', 'READY')[:2], ['STATUS', 'READY'])

    def test_not_ready_with_a_taken_control_socket(self):
        """Another daemon may run; a stream's socket that is taken fails alone."""
        manager = self.manager()
        with socket.socket(socket.AF_UNIX) as taken:
            taken.bind(self.path('control.sock'))
            taken.listen()
            with self.assertRaises(AssertionError):
                self.start(environment={'NOTIFY_SOCKET': manager.path})
        manager.hear_all()
        self.assertEqual(manager.values('READY'), [])

    def test_nobody_else_is_told(self):
        """Engines know neither the socket nor the watchdog."""
        daemon, _ = self.managed(watchdog=10)
        daemon.wait_state('one', 'running')
        self.assertTrue(daemon.pids())
        for pid in daemon.pids():
            with open(f'/proc/{pid}/environ', 'rb') as file:
                self.assertNotRegex(file.read(), b'NOTIFY_SOCKET|WATCHDOG_')


class Status(ServiceTest):
    def test_words(self):
        daemon, manager = self.managed({
            'one': self.stream(input=LIGHT), 'two': self.stream('two', input=LIGHT),
            'door': self.stream('door', input='v4l2:serial=none'),
            'off': self.stream('off', enabled=False)})
        wanted = '4 streams, 2 filtering on cpu, door: no camera, 1 disabled'
        self.until(lambda: manager.status() == wanted, manager.logged)
        reader = self.reader('door.ts')
        self.until(lambda: 'door: no camera, showing card' in manager.status(),
                   manager.logged)
        reader.close()
        self.until(lambda: manager.status() == wanted, manager.logged)
        daemon.control('Stop', name='two')
        self.until(lambda: manager.status() == '4 streams, 1 filtering on cpu, door: no camera, '
                   '1 stopped, 1 disabled', manager.logged)

    def many(self):
        """However many do not run, it is one line of bounded length."""
        streams = {f's{i}': self.stream(f's{i}', input=self.path(f'none{i}.mkv'), loop=True)
                   for i in range(12)}
        _, manager = self.managed({'one': self.stream(input=LIGHT), **streams})
        self.until(lambda: '9 more' in manager.status() and '1 filtering' in manager.status(),
                   manager.logged)
        self.assertLess(max(map(len, manager.values('STATUS'))), 400)
        return manager

    def test_many_are_counted(self):
        self.many()

    @alone
    def test_at_most_one_a_second(self):
        manager = self.many()
        time.sleep(3)  # of changes
        times = manager.times('STATUS')  # of two, the first may be late
        for first, fourth in zip(times[1:], times[4:]):
            self.assertGreater(fourth - first, 0.9)

    @alone
    def test_is_silent_where_nothing_changes(self):
        daemon, manager = self.managed()
        daemon.wait_state('one', 'running')
        self.until(lambda: ' on cpu' in manager.status(), manager.logged)  # which comes with numbers
        count = len(manager.messages)
        time.sleep(3)  # six tellings of numbers
        said = [message for _, message in manager.messages[count - 1:]]
        for before, after in zip(said, said[1:]):  # where this machine is late, that is a change
            self.assertRegex(before.get('STATUS', '') + after.get('STATUS', ''), 'overloaded', said)
            self.assertNotEqual(before, after, said)


class Reload(ServiceTest):
    def reload(self, daemon, manager):
        words = 'READY', 'RELOADING'
        self.until(lambda: manager.order(*words)[-1:] == ['READY'], manager.logged)  # that of before
        before, since = manager.order(*words), time.monotonic()
        daemon.process.send_signal(signal.SIGHUP)
        self.until(lambda: len(manager.order(*words)) == len(before) + 2, manager.logged)
        self.assertEqual(manager.order(*words), [*before, 'RELOADING', 'READY'])
        self.assertTrue(since * 1e6 <= int(manager.values('MONOTONIC_USEC')[-1]) <= time.monotonic() * 1e6)

    def test_good_and_bad(self):
        daemon, manager = self.managed()
        daemon.wait_state('one', 'running')
        daemon.write({'one': self.stream(filters='gblur=sigma=5')})
        self.reload(daemon, manager)
        self.assertEqual(daemon.status('one')['filters'], 'gblur=sigma=5')  # READY came after
        daemon.write({'one': self.stream(filters='gblur=sigma=5'), 'two': {'input': 'test:'}},
                     nonsense=1)
        self.reload(daemon, manager)
        self.assertIn('halod.yaml has errors, the previous settings remain in effect', manager.status())
        self.assertEqual([s['name'] for s in daemon.status()['streams']], ['one'])
        daemon.write({'one': self.stream(filters='gblur=sigma=5')})
        self.reload(daemon, manager)
        self.assertNotIn('wrong', manager.status())

    def test_several_at_once(self):
        """They are told, as far as signals do not become one, and READY is the last word."""
        daemon, manager = self.managed()
        daemon.wait_state('one', 'running')
        for sigma in range(2, 7):
            daemon.write({'one': self.stream(filters=f'gblur=sigma={sigma}')})
            daemon.process.send_signal(signal.SIGHUP)
            time.sleep(0.02)
        self.until(lambda: daemon.status('one')['filters'] == 'gblur=sigma=6', manager.logged)
        self.until(lambda: manager.order('RELOADING', 'READY')[1:][-1:] == ['READY'], manager.logged)
        order = manager.order('RELOADING', 'READY')[1:]
        self.assertIn(order.count('RELOADING'), range(1, 6))
        self.assertLessEqual(order.count('READY'), order.count('RELOADING'))


class WatchdogTest(ServiceTest):
    def gaps(self, manager, since):
        times = [since, *manager.times('WATCHDOG', since), time.monotonic()]
        return sorted(b - a for a, b in zip(times, times[1:]))

    def come_in_time(self, manager, since):
        """Of two seconds: twice within them, on a machine with other work mostly."""
        gaps = self.gaps(manager, since)
        self.assertLess(gaps[len(gaps) // 2], 1.6 * PATIENCE)
        self.assertLess(gaps[-1], 7 * PATIENCE)  # a wait for the stuck stage would be longer


class Watchdog(WatchdogTest):
    def test_nobody_asked(self):
        daemon, manager = self.managed()
        daemon.wait_state('one', 'running')
        time.sleep(1)  # in which one would have come
        self.assertEqual(manager.times('WATCHDOG'), [])

    def test_a_loop_that_stands(self):
        """No ping at all, and again once it goes on."""
        daemon, manager = self.managed(watchdog=1)
        self.until(lambda: manager.times('WATCHDOG'), manager.logged)
        daemon.process.send_signal(signal.SIGSTOP)
        self.until(lambda: process_state(daemon.process.pid) == 'T')
        since = time.monotonic()
        time.sleep(1.5)  # three would have come
        self.assertEqual(manager.times('WATCHDOG', since), [])
        daemon.process.send_signal(signal.SIGCONT)
        self.until(lambda: manager.times('WATCHDOG', since), manager.logged)

    @alone
    def test_an_engine_that_stands(self):
        """The supervisor sees to it: the pings go on, and there is a new engine."""
        began = time.monotonic()
        daemon, manager = self.managed(watchdog=2)
        daemon.wait_state('one', 'running')
        since = time.monotonic()
        start = since - began
        [old] = daemon.pids()
        os.kill(old, signal.SIGSTOP)
        self.until(lambda: daemon.pids() not in ([old], []) and daemon.state('one') == 'running')
        self.assertLess(time.monotonic() - since, 12 * PATIENCE + 3 * start)  # WatchdogSec= + 2 s
        self.come_in_time(manager, since)
        self.assertIn('silent for three seconds', daemon.logged())


@alone
class Stages(WatchdogTest):
    """Ten seconds and more, of waiting."""

    def test_a_stage_that_stands(self):
        """An encoder that never returns: a new engine within WatchdogSec= + 2 s; where that one
        stands again and again, and nothing else runs, the pings end."""
        need_faults()
        began = time.monotonic()
        daemon, manager = self.managed(watchdog=2, environment={'HALOD_FAULT': 'encoder:40'})
        reader = self.reader('one.ts')
        start = time.monotonic() - began
        self.until(lambda: daemon.status('one')['encoded'] == 39)
        stood = time.monotonic()
        words = 'an encoder has been stuck at one frame for 8 seconds'
        self.until(lambda: words in daemon.logged())
        self.until(lambda: daemon.status('one')['restarts'] and daemon.status('one')['encoded'])
        self.assertLess(time.monotonic() - stood, 12 * PATIENCE + 3 * start)  # as this machine is
        self.assertFalse(reader.ended)
        self.come_in_time(manager, stood)
        self.until(lambda: 'no more watchdog pings' in daemon.logged(), timeout=60)
        since = time.monotonic()
        time.sleep(4)  # four would have come
        self.assertEqual(manager.times('WATCHDOG', since), [])

    def test_a_stage_that_stands_among_others(self):
        """As long as some stream runs the manager's remedy, to end all, would be worse."""
        need_faults()
        clip = plain_clip('.mkv', seconds=2)
        daemon, manager = self.managed(
            {'one': self.stream(input=clip, loop=True, realtime=True, own_engine=True),
             'two': self.stream('two', own_engine=True)},
            watchdog=2, environment={'HALOD_FAULT': 'decoder:40'})
        since = time.monotonic()
        self.until(lambda: daemon.logged().count('the decoder has been stuck at one frame') >= 3, timeout=90)
        time.sleep(3)  # of pings, which are looked at
        self.assertTrue(daemon.runs('two'))
        self.assertNotIn('no more watchdog pings', daemon.logged())
        self.come_in_time(manager, since)


@alone
class Prompt(WatchdogTest):
    def test_comes_in_time(self):
        """Twice within the time, from the beginning, with viewers and reloads."""
        daemon, manager = self.managed(watchdog=2)
        daemon.wait_state('one', 'running')
        begun = [manager.times('READY')[0]]

        def longest():
            daemon.process.send_signal(signal.SIGHUP)
            reader = self.reader('one.ts')
            time.sleep(4)  # what is measured
            reader.close()
            since = begun.pop() if begun else time.monotonic() - 4
            self.come_in_time(manager, since)
            return self.gaps(manager, since)[-1]
        self.assert_once(longest, 2 * PATIENCE)


class End(ServiceTest):
    def test_stopping(self):
        """Told at once, with more time while files are finished; they are whole."""
        output = {'file': self.path('one.mkv')}
        daemon, manager = self.managed({'one': self.stream(outputs=[output])})
        daemon.wait_state('one', 'running')
        self.until(lambda: os.path.exists(self.path('one.mkv')))
        self.until(lambda: daemon.status('one')['encoded'] > 10)
        self.assertEqual(daemon.stop(), 0)
        manager.hear_all()
        self.assertEqual(manager.order('READY', 'STOPPING'), ['READY', 'STOPPING'])
        self.assertEqual(manager.values('EXTEND_TIMEOUT_USEC')[0], '5000000')
        self.assertGreater(len(call(['ffprobe', '-v', 'error', '-show_entries', 'packet=pts',
                                     '-of', 'csv', self.path('one.mkv')]).split()), 5)

    @alone
    def test_an_engine_that_does_not_end(self):
        """More time is asked for in time, and it ends by itself before the manager's twenty are over."""
        began = time.monotonic()
        daemon, manager = self.managed()
        daemon.wait_state('one', 'running')
        [engine] = daemon.pids()
        os.kill(engine, signal.SIGSTOP)
        since = time.monotonic()
        start = since - began
        daemon.process.send_signal(signal.SIGTERM)
        self.until(lambda: 'stopping: 1 engine is still finishing' in manager.status(), manager.logged)
        self.assertEqual(daemon.process.wait(60 * PATIENCE), 0)
        self.assertLess(time.monotonic() - since, 11 * PATIENCE + 3 * start)
        manager.hear_all()
        times = [since, *manager.times('EXTEND_TIMEOUT_USEC', since), time.monotonic()]
        self.assertLess(max(b - a for a, b in zip(times, times[1:])), 5)  # as was asked for


if __name__ == '__main__':
    main()
