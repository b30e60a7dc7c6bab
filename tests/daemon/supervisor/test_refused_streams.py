# SPDX-License-Identifier: BSD-2-Clause
# What cannot be as asked, and is known only where streams run: it hurts no other stream, and nothing
# passes unfiltered.
import os
import signal
import subprocess
import threading
import time

from halotest.daemon import (FFMPEG, HALOCTL, PATIENCE, UNNOTICED, WIDTH, DaemonTest, Refused, is_alive,
                        main)
from halotest import Waits, alone, call

# It is written as masks are, but no number format of 8-bit pictures holds it.
TOO_LARGE = "convolution=0m='1 2 1 2 4 2 1 2 1':0rdiv=1e9"
BLUR = 'gblur=sigma=12'


class Rows(threading.Thread):
    """A viewer of a raw stream: how much neighbours in the middle rows of each picture differ.
    What is black stands for pictures that come late."""

    SIZE = WIDTH * 8

    def __init__(self, path):
        super().__init__(daemon=True)
        self.process = subprocess.Popen(
            [FFMPEG, '-nostdin', '-v', 'error', '-i', 'unix:' + path, '-vf',
             f'crop={WIDTH}:8,format=gray', '-fps_mode', 'passthrough', '-f', 'rawvideo', '-'],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.details = []
        self.start()

    def run(self):
        while len(data := self.process.stdout.read(self.SIZE)) == self.SIZE:
            if max(data) > 20:
                self.details.append(sum(abs(a - b) for a, b in zip(data, data[1:])) / self.SIZE)

    def close(self):
        self.process.terminate()
        self.process.wait()
        self.join(5)
        self.process.stdout.close()


class Beside(DaemonTest):
    """A stream that cannot be made, beside a good one."""

    def begin(self, **more):
        """The settings are checked with the beginning of a mask only; its end is missing."""
        with open(self.path('half.png'), 'wb') as file:
            file.write(call([FFMPEG, '-v', 'error', '-f', 'lavfi', '-i', 'testsrc2=size=320x240',
                             '-frames:v', '1', '-f', 'image2pipe', '-c:v', 'png', '-'])[:2000])
        daemon = self.start({'good': self.stream('good'),
                             'bad': self.stream('bad', enabled=False, privacy='changed',
                                                filters='solid=region=mask ' + self.path('half.png'))},
                            **more)
        daemon.wait_state('good', 'running')
        return daemon, daemon.pids()[0], self.reader('good.ts')

    def end_well(self, daemon, pid, reader):
        self.assertEqual(daemon.engines()['cpu']['pid'], pid, daemon.logged())
        self.assertEqual(daemon.status('good')['restarts'], 0)
        before = daemon.status('good')['filtered']
        self.until(lambda: daemon.status('good')['filtered'] > before + 20)
        self.assertFalse(reader.ended)

    def fail_twice(self, daemon):
        before = daemon.status('bad')['restarts']
        daemon.control('Start', name='bad')
        self.until(lambda: 'half.png' in daemon.status('bad')['why'])
        self.until(lambda: daemon.status('bad')['restarts'] >= before + 2)
        self.assertIn(daemon.state('bad'), ('restarting', 'starting'))

    def test_a_mask_that_is_damaged(self):
        daemon, pid, reader = self.begin()
        self.fail_twice(daemon)
        self.assertIn('half.png', daemon.logged())
        self.end_well(daemon, pid, reader)

    @alone
    def test_nobody_waits_for_it(self):
        daemon, pid, reader = self.begin()

        def outage():
            """The longest of the good one, beyond what the machine did not have to spare."""
            begun, waits = time.monotonic(), Waits()
            self.fail_twice(daemon)
            longest = reader.longest_gap(begun)
            daemon.control('Stop', name='bad')
            daemon.wait_state('bad', 'stopped')
            return longest - waits.seconds()
        self.assert_once(outage, 0.5 * PATIENCE)
        self.end_well(daemon, pid, reader)

    def test_asked_for_numbers_before_it_is_gone(self):
        """The supervisor is slow to take back what could not be made: the engine lives on."""
        daemon, pid, reader = self.begin(environment=UNNOTICED)
        os.kill(pid, signal.SIGSTOP)  # so that the order is this one
        daemon.control('Start', name='bad')
        daemon.status()  # the engine has been told when this is answered
        daemon.process.send_signal(signal.SIGSTOP)
        self.addCleanup(daemon.process.send_signal, signal.SIGCONT)
        os.kill(pid, signal.SIGCONT)
        time.sleep(1.5)  # numbers are told twice a second, to nobody who could say so
        self.assertTrue(is_alive(pid))
        daemon.process.send_signal(signal.SIGCONT)
        self.until(lambda: 'half.png' in daemon.status('bad')['why'])
        self.end_well(daemon, pid, reader)


class Chains(DaemonTest):
    """Filters that are written well, and cannot be computed for the stream's pictures."""

    def begin(self, **more):
        daemon = self.start({'one': self.blurred(BLUR, **more)})
        daemon.wait_state('one', 'running')
        rows = Rows(self.path('one.nut'))
        self.addCleanup(rows.close)
        self.until(lambda: len(rows.details) > 10)
        return daemon, rows

    def blurred(self, filters, **more):
        return self.stream('one', filters=filters, outputs=[
            {'unix': self.path('one.nut'), 'video': {'codec': 'raw'}}], privacy='off',
            on_error='solid', **more)

    def assert_old_chain(self, daemon, rows):
        self.assertEqual(daemon.status('one')['filters'], BLUR)
        self.assertEqual((daemon.runs('one'), daemon.status('one')['restarts']), (True, 0))
        before = len(rows.details)
        self.until(lambda: len(rows.details) > before + 25)
        blurred = list(rows.details)
        daemon.control('Set', name='one', filters='null')
        self.until(lambda: max(blurred) < min(rows.details[-25:]) / 2)

    def test_set(self):
        daemon, rows = self.begin()
        for _ in range(3):
            with self.assertRaises(Refused) as refused:
                daemon.control('Set', name='one', filters=TOO_LARGE)
            self.assertEqual(refused.exception.error, 'Failed')
            self.assertIn('0m cannot be computed', str(refused.exception))
        self.assert_old_chain(daemon, rows)

    def reload(self, daemon, stream):
        daemon.write({'one': stream})
        return daemon.control('Reload')

    def test_reload(self):
        """The answer, haloctl and the log say why; the file's chain is tried again each time."""
        daemon, rows = self.begin()
        for _ in range(2):
            answer = self.reload(daemon, self.blurred(TOO_LARGE))
            self.assertEqual(answer['set'], [])
            self.assertRegex(answer['refused'][0], 'stream one keeps its filters: .*0m cannot be computed')
        for words in (['reload'], ['--json', 'reload']):
            done = subprocess.run([HALOCTL, '--socket', daemon.path, *words], timeout=30 * PATIENCE,
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertRegex(done.stderr, 'haloctl: stream one keeps its filters: .*0m cannot be computed')
        self.assertIn('stream one keeps its filters', daemon.logged())
        daemon.process.send_signal(signal.SIGHUP)
        self.until(lambda: 'settings reloaded' in daemon.logged())
        self.assert_old_chain(daemon, rows)

    def test_reload_of_renditions(self):
        """They go with the stream's own chain: all or none."""
        def renditions(chain):
            return {'renditions': {'r': {'filters': chain}}}
        daemon, rows = self.begin(**renditions(BLUR))
        for own in (BLUR, 'null'):
            answer = self.reload(daemon, self.blurred(own, **renditions(TOO_LARGE)))
            self.assertIn('0m cannot be computed', answer['refused'][0])
            self.assertEqual(daemon.status('one')['renditions'], {'r': BLUR})
        answer = self.reload(daemon, self.blurred(BLUR, **renditions('gblur=sigma=9')))
        self.assertEqual((answer['set'], answer['refused']), (['one'], []))
        self.assertEqual(daemon.status('one')['renditions'], {'r': 'gblur=sigma=9'})
        self.assert_old_chain(daemon, rows)

    def test_reload_while_the_engine_dies(self):
        """It comes again with what the file says."""
        daemon, _ = self.begin()
        pid = daemon.pids()[0]
        os.kill(pid, signal.SIGSTOP)
        daemon.write({'one': self.blurred('gblur=sigma=15')})
        reload = self.ask(daemon, 'Reload')
        os.kill(pid, signal.SIGKILL)
        self.assertEqual(reload.receive()['refused'], [])
        self.assertEqual(daemon.status('one')['filters'], 'gblur=sigma=15')
        self.until(lambda: daemon.status('one')['restarts'] == 1)
        daemon.wait_state('one', 'running')
        self.assertEqual(daemon.status('one')['filters'], 'gblur=sigma=15')


if __name__ == '__main__':
    main()
