# SPDX-License-Identifier: BSD-2-Clause
# A program that a warm process has forked does as one that was executed, and is told of as exactly.
import os
import re
import signal
import subprocess
import unittest

from halotest import is_sanitized, main, warm

PROBE = os.environ['HALOD']
warm.LIBRARY = os.environ['HALO_STANDIN_WARM']


class Warm(unittest.TestCase):
    def both(self, *words, **options):
        """The exit code, what it writes, and what sanitizers sum up."""
        done = [subprocess.run([PROBE, *words], input=b'read', capture_output=True, **options),
                warm.run([PROBE, *words], b'read', **options)]
        ret = [(run.returncode, run.stdout, re.sub(rb'(?s)\n?=====*\n.*(SUMMARY.*?)( in |\n).*', rb'\1', run.stderr))
               for run in done]
        self.assertEqual(*ret)
        return ret[0]

    def test_what_it_is_given(self):
        for mask in (0o027, 0o022):
            before = os.umask(mask)
            try:
                code, out, err = self.both('a b', '', cwd='/usr', env={**os.environ, 'TOLD': '1', 'TOLD_2': ''})
            finally:
                os.umask(before)
            self.assertEqual((code, err), (7, b'read'))
            self.assertEqual(out.decode(), f'{PROBE}\na b\n\nTOLD=1\nTOLD_2=\n/usr {mask:o}\n')

    def test_how_it_ends(self):
        self.assertEqual(self.both('abort')[0], -signal.SIGABRT)
        for words in (['leak'], ['overflow']):
            _, _, said = self.both(*words)
            self.assertEqual(said.startswith(b'SUMMARY: AddressSanitizer: '), is_sanitized((b'__asan_init',)), said)

    def test_signals(self):
        process = warm.Popen([PROBE, 'wait'], stdout=subprocess.PIPE)
        for end in (process.stdout.close, process.wait, process.kill):
            self.addCleanup(end)
        self.assertEqual(process.stdout.readline(), b'waits\n')
        with open(f'/proc/{process.pid}/cmdline', encoding='utf-8') as file:
            self.assertEqual(file.read(), f'{PROBE}\0' + 'wait\0' * is_sanitized((b'__tsan_init',)))
        process.send_signal(signal.SIGSTOP)
        self.assertEqual(os.waitid(os.P_PID, process.pid, os.WSTOPPED).si_status, signal.SIGSTOP)
        process.send_signal(signal.SIGCONT)
        self.assertIsNone(process.poll())
        process.terminate()
        self.assertEqual(process.wait(), -signal.SIGTERM)
        with self.assertRaises(subprocess.TimeoutExpired):
            warm.run([PROBE, 'wait'], timeout=1)

    def test_executed(self):
        """Where the request is too long, and the first time that something of its own is read before main."""
        for more in ({'LD_BIND_NOW': '1'}, {'LD_BIND_NOW': '1'}, {'TOLD': 'x' * 100000, 'TOLD_2': 'y' * 100000}):
            self.both('a', env={**os.environ, **more})


if __name__ == '__main__':
    main()
