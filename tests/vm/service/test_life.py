# SPDX-License-Identifier: BSD-2-Clause
# The installed service through its life: start, reload, what stands still, what dies, the end.
import os
import re
import signal
import time

from servicetest import (CONTROL, NEVER, RUN, SETTINGS, SLACK, WATCHDOG, Held, ServiceTest, Watcher,
                         entered, is_active, main, main_pid, number, ran, show, stream, systemctl,
                         thread_of, until, write)
from halotest import call, decodes_cleanly, frame_count

STATE = '/var/lib/halod'


class Start(ServiceTest):
    def test_ready(self):
        """When systemctl start returns, all sockets listen and the status is there."""
        for path in (CONTROL, f'{RUN}/one.ts'):
            self.assertTrue(os.path.exists(path))
        self.assertIsNotNone(self.status())
        self.assertRegex(self.words(), '^1 stream')
        print('started in', entered(self.UNIT) -
              number(self.UNIT, 'ExecMainStartTimestampMonotonic') / 1e6, 's')

    def test_sockets_are_the_groups(self):
        """Of the group halod, for whoever is in it, and nobody else."""
        group = int(ran('getent', 'group', 'halod').split(':')[2])
        for path in (CONTROL, f'{RUN}/one.ts'):
            about = os.stat(path)
            self.assertEqual((about.st_gid, about.st_mode & 0o777), (group, 0o660), path)

    def test_rights(self):
        """Not root's, and without any capability."""
        with open(f'/proc/{main_pid(self.UNIT)}/status', encoding='utf-8') as file:
            status = dict(line.rstrip('\n').split(':\t', 1) for line in file if ':\t' in line)
        self.assertNotEqual(status['Uid'].split()[0], '0')
        self.assertEqual((int(status['CapEff'], 16), status['NoNewPrivs'], status['Seccomp']),
                         (0, '1', '2'))


class Status(ServiceTest):
    def begin(self):
        self.serve({'one': stream(), 'door': stream('door', input='v4l2:serial=none'),
                    'off': stream('off', enabled=False)})

    def test_words(self):
        wanted = '3 streams, 1 filtering on cpu, door: no camera, 1 disabled'
        self.wait_words(f'^{wanted}$')
        reader = self.reader(f'{RUN}/door.ts')
        self.wait_words('door: no camera, showing card')
        reader.close()
        self.wait_words(f'^{wanted}$')
        self.ask('Stop', name='one')
        self.wait_words('^3 streams, door: no camera, 1 stopped, 1 disabled$')


class Reload(ServiceTest):
    def test_good(self):
        self.wait_running()
        pid, reader = main_pid(self.UNIT), self.reader(f'{RUN}/one.ts')
        self.wait_data(reader)
        write({'one': stream(filters='gblur=sigma=3'), 'two': stream('two')})
        systemctl('reload', self.UNIT)
        self.wait_running('two')
        self.assertEqual(self.status('one')['filters'], 'gblur=sigma=3')
        self.wait_words('^2 streams, 2 filtering on cpu$')
        self.assertEqual(main_pid(self.UNIT), pid)
        self.assertFalse(reader.ended)

    def test_bad(self):
        """Nothing changes, the journal says which line is wrong, and the status that it is."""
        self.wait_running()
        pid, reader = main_pid(self.UNIT), self.reader(f'{RUN}/one.ts')
        write({'one': stream(filters='gblur=sgma=3')})
        systemctl('reload', self.UNIT)
        self.wait_words(f'; {SETTINGS} has errors, the previous settings remain in effect$')
        output = self.journal.text('--unit=' + self.UNIT)
        self.assertRegex(output, r'halod\.yaml:\d+:.*sgma')
        self.assertIn('nothing changed', output)
        self.assertEqual(self.status('one')['filters'], 'gblur=sigma=2')
        self.assertEqual((main_pid(self.UNIT), show(self.UNIT, 'ActiveState')), (pid, 'active'))
        self.assertFalse(reader.ended)
        write({'one': stream()})
        systemctl('reload', self.UNIT)
        self.wait_words('^1 stream, 1 filtering on cpu$')


class Bad(ServiceTest):
    def begin(self):
        self.addCleanup(systemctl, 'reset-failed', self.UNIT)

    def test_settings(self):
        """Wrong settings are wrong the next time, too: not started again."""
        write({'one': stream(filters='nosuch')})
        systemctl('start', self.UNIT, code=1)
        time.sleep(2)  # RestartSec=250ms
        self.assertEqual([show(self.UNIT, name) for name in
                          ('ActiveState', 'SubState', 'ExecMainStatus', 'NRestarts')],
                         ['failed', 'failed', '78', '0'])
        self.assertIn('nosuch', self.journal.text('--unit=' + self.UNIT))


class StuckTest(ServiceTest):
    LIMIT = WATCHDOG + SLACK

    def stands(self, since, before, words):
        """The supervisor sees to it: a new engine, the same supervisor, the viewer stays."""
        def runs():
            status = self.status()
            return any(engine['pid'] not in (0, before) for engine in status['engines']) and \
                self.status('one')['encoded'] > 0
        until(runs, lambda: f'no new engine: {self.status()}')
        self.assert_soon(time.monotonic() - since, self.LIMIT, words)
        self.assertIn(words, self.journal.text())
        self.assertEqual(show(self.UNIT, 'NRestarts'), '0')
        self.assertFalse(self.viewer.ended)


class Stuck(StuckTest):
    def test_loop(self):
        """Right after it told that it was alive, which is the worst time."""
        self.wait_running()
        pid, pinged = main_pid(self.UNIT), number(self.UNIT, 'WatchdogTimestampMonotonic')
        until(lambda: number(self.UNIT, 'WatchdogTimestampMonotonic') > pinged, 'no watchdog')
        os.kill(pid, signal.SIGSTOP)
        since = time.monotonic()
        until(lambda: main_pid(self.UNIT) not in (0, pid) and is_active(self.UNIT), 'no restart')
        self.assert_soon(entered(self.UNIT) - since, self.LIMIT, 'a loop that stands: ready again')
        self.assertIn('Watchdog timeout', self.journal.text())
        self.wait_running()

    def test_engine(self):
        self.viewer = self.reader(f'{RUN}/one.ts')
        self.wait_data(self.viewer)
        since, engine = time.monotonic(), self.engine()
        os.kill(engine, signal.SIGSTOP)
        self.stands(since, engine, 'silent for three seconds')


class StuckStage(StuckTest):
    """An encoder that always has something to do, one thread of the engine held in it."""

    def begin(self):
        one = stream(input='test:size=640x360:rate=30')
        one['outputs'][0]['video'] = {'preset': 'medium'}
        self.serve({'one': one})

    def test_stage(self):
        self.viewer = self.reader(f'{RUN}/one.ts')
        self.wait_data(self.viewer)
        engine = self.engine()
        held = Held(thread_of(engine, 'encode'))
        self.addCleanup(held.close)
        self.stands(time.monotonic(), engine, 'an encoder has been stuck at one frame for 8 seconds')


class Killed(ServiceTest):
    def test_supervisor(self):
        """A new one, and no process of the old."""
        self.wait_running()
        pid, engine = main_pid(self.UNIT), self.engine()
        since = time.monotonic()
        os.kill(pid, signal.SIGKILL)
        until(lambda: main_pid(self.UNIT) not in (0, pid) and is_active(self.UNIT), 'no restart')
        self.assert_soon(entered(self.UNIT) - since, 5, 'kill -9 of the supervisor: ready again')
        self.assertEqual(show(self.UNIT, 'NRestarts'), '1')
        self.wait_running()
        group = show(self.UNIT, 'ControlGroup')
        with open(f'/sys/fs/cgroup{group}/cgroup.procs', encoding='ascii') as file:
            processes = {int(line) for line in file}
        self.assertEqual(processes, {main_pid(self.UNIT), self.engine()})
        self.assertNotIn(engine, processes)

    def test_engine(self):
        """The viewer stays and sees pictures again, of a new one; nothing else is restarted. A card
        comes where that takes half a second."""
        self.wait_running()
        viewer = Watcher(f'{RUN}/one.ts')
        self.addCleanup(viewer.close)
        self.assertTrue(viewer.wait(card=False, timeout=60), 'no picture')
        since, engine = time.monotonic(), self.engine()
        os.kill(engine, signal.SIGKILL)
        until(lambda: self.engine() != engine, 'no new engine')
        begun = time.monotonic()
        back = viewer.wait(card=False, since=begun, timeout=30)
        self.assertTrue(back, 'no picture of the new engine')
        card = viewer.first(card=True, since=since)
        self.assert_soon(back - since, 5, 'kill -9 of the engine: pictures again')
        print(f'a card after {card - since:.2f} s' if card else 'no card was needed')
        self.assertTrue(viewer.is_alive_process())
        self.assertEqual(show(self.UNIT, 'NRestarts'), '0')


class End(ServiceTest):
    def test_a_file_is_whole(self):
        """Stopped while it is written, by its own end, long before it would be killed."""
        paths = [f'{STATE}/one.mkv', f'{STATE}/one.mp4']
        self.ask_to_record(paths)
        since = time.monotonic()
        systemctl('stop', self.UNIT)
        self.assert_soon(time.monotonic() - since, NEVER / 2, 'stop with two files open')
        self.assertEqual((show(self.UNIT, 'Result'), show(self.UNIT, 'ExecMainStatus')),
                         ('success', '0'))
        for path in paths:
            self.assertTrue(decodes_cleanly(path), path)
            self.assertGreater(frame_count(path), 10)
            call(['halod', 'run', '-v', 'error', '-i', path, '-vf', 'gblur=sigma=1', 'null:'])
            os.unlink(path)

    def ask_to_record(self, paths):
        one = stream()
        one['outputs'] += [{'file': path, 'video': {'preset': 'ultrafast'}} for path in paths]
        write({'one': one})
        systemctl('restart', self.UNIT)
        self.wait_running()
        until(lambda: self.status('one')['encoded'] > 30, 'no pictures')

    def test_an_engine_that_does_not_end(self):
        """Killed by the supervisor, not by systemd."""
        self.wait_running()
        os.kill(self.engine(), signal.SIGSTOP)
        since = time.monotonic()
        systemctl('stop', self.UNIT)
        self.assert_soon(time.monotonic() - since, NEVER - 5, 'stop while an engine stands')
        self.assertEqual(show(self.UNIT, 'Result'), 'success')
        self.assertFalse(re.search('timed out|SIGKILL', self.journal.text('_PID=1')))


if __name__ == '__main__':
    main()
