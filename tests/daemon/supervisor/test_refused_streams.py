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

    def blurred(self, filters=BLUR):
        return self.stream('good', filters=filters, privacy='off', on_error='solid', outputs=[
            {'unix': self.path('good.nut'), 'video': {'codec': 'raw'}}])

    def streams(self, filters=BLUR):
        return {'good': self.blurred(filters),
                'bad': self.stream('bad', enabled=False, privacy='changed',
                                   filters='solid=region=mask ' + self.path('half.png'))}

    def begin(self, **more):
        """The settings are checked with the beginning of a mask only; its end is missing."""
        with open(self.path('half.png'), 'wb') as file:
            file.write(call([FFMPEG, '-v', 'error', '-f', 'lavfi', '-i', 'testsrc2=size=320x240',
                             '-frames:v', '1', '-f', 'image2pipe', '-c:v', 'png', '-'])[:2000])
        daemon = self.start(self.streams(), **more)
        daemon.wait_state('good', 'running')
        return daemon, daemon.pids()[0]

    def fail_twice(self, daemon):
        before = daemon.status('bad')['restarts']
        daemon.control('Start', name='bad')
        self.until(lambda: 'half.png' in daemon.status('bad')['why'])
        self.until(lambda: daemon.status('bad')['restarts'] >= before + 2)
        self.assertIn(daemon.state('bad'), ('restarting', 'starting'))

    @alone
    def test_nobody_waits_for_it(self):
        daemon, _ = self.begin()
        reader = self.reader('good.nut')

        def outage():
            """The longest of the good one, beyond what the machine did not have to spare."""
            begun, waits = time.monotonic(), Waits()
            self.fail_twice(daemon)
            longest = reader.longest_gap(begun)
            daemon.control('Stop', name='bad')
            daemon.wait_state('bad', 'stopped')
            return longest - waits.seconds()
        self.assert_once(outage, 0.5 * PATIENCE)

    def asked_for_numbers_before_it_is_gone(self, daemon, pid):
        """The supervisor is slow to take back what could not be made: the engine lives on."""
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

    def refuses_chains(self, daemon):
        """Filters that are written well, and cannot be computed for the stream's pictures."""
        for _ in range(3):
            with self.assertRaises(Refused) as refused:
                daemon.control('Set', name='good', filters=TOO_LARGE)
            self.assertEqual(refused.exception.error, 'Failed')
            self.assertIn('0m cannot be computed', str(refused.exception))
        daemon.write(self.streams(TOO_LARGE))
        for words in (['reload'], ['--json', 'reload']):
            done = subprocess.run([HALOCTL, '--socket', daemon.path, *words], timeout=30 * PATIENCE,
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertRegex(done.stderr, 'haloctl: stream good keeps its filters: .*0m cannot be computed')

    def test_a_mask_that_is_damaged_and_chains_that_cannot_be(self):
        """The engine and the stream that runs live on, by the chain that they have."""
        daemon, pid = self.begin(environment=UNNOTICED)
        rows = Rows(self.path('good.nut'))
        self.addCleanup(rows.close)
        self.until(lambda: len(rows.details) > 10)
        self.asked_for_numbers_before_it_is_gone(daemon, pid)
        self.fail_twice(daemon)
        self.assertIn('half.png', daemon.logged())
        self.refuses_chains(daemon)
        self.assertEqual(daemon.status('good')['filters'], BLUR)
        before = len(rows.details)
        self.until(lambda: len(rows.details) > before + 25)
        blurred = list(rows.details)
        daemon.control('Set', name='good', filters='null')
        self.until(lambda: max(blurred) < min(rows.details[-25:]) / 2)
        self.assertEqual(daemon.engines()['cpu']['pid'], pid, daemon.logged())
        self.assertEqual((daemon.runs('good'), daemon.status('good')['restarts']), (True, 0))


if __name__ == '__main__':
    main()
