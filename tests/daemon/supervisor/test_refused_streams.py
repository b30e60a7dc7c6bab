# SPDX-License-Identifier: BSD-2-Clause
# What cannot be as asked, and is known only where streams run: it hurts no other stream, and nothing
# passes unfiltered.
import os
import signal
import subprocess
import time

from halotest.daemon import FFMPEG, HALOCTL, PATIENCE, UNNOTICED, DaemonTest, Refused, is_alive, main
from halotest import Waits, alone, call, raw_frames

# It is written as masks are, but no number format of 8-bit pictures holds it.
TOO_LARGE = "convolution=0m='1 2 1 2 4 2 1 2 1':0rdiv=1e9"
BLUR = 'gblur=sigma=12'


class Beside(DaemonTest):
    """A stream that cannot be made, beside a good one."""

    def detail(self, daemon):
        """How much neighbours in a picture of now differ."""
        path = self.path('now.png')
        subprocess.run([HALOCTL, '--socket', daemon.path, 'snapshot', 'good', path], check=True,
                       stdin=subprocess.DEVNULL, timeout=30 * PATIENCE)
        picture = raw_frames(path, pixel_format='gray')
        return sum(abs(a - b) for a, b in zip(picture, picture[1:])) / len(picture)

    def streams(self, filters=BLUR):
        return {'good': self.stream('good', filters=filters, privacy='off'),
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
        reader = self.reader('good.ts')

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
        blurred = self.detail(daemon)
        self.asked_for_numbers_before_it_is_gone(daemon, pid)
        self.fail_twice(daemon)
        self.assertIn('half.png', daemon.logged())
        self.refuses_chains(daemon)
        self.assertEqual(daemon.status('good')['filters'], BLUR)
        self.assertLess(self.detail(daemon), 1.5 * blurred)
        daemon.control('Set', name='good', filters='null')
        self.assertGreater(self.detail(daemon), 2 * blurred)
        self.assertEqual(daemon.engines()['cpu']['pid'], pid, daemon.logged())
        self.assertEqual((daemon.runs('good'), daemon.status('good')['restarts']), (True, 0))


if __name__ == '__main__':
    main()
