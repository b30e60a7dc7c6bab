# SPDX-License-Identifier: BSD-2-Clause
# Streams that the machine cannot carry: each says what it lacks, and the others do not notice.
"""Needs a build with -Dfaults=true; HALO_STANDIN_LIBRARIES names stand-ins for the driver's."""
import os
import re
import signal
import subprocess
import time
import unittest

from halotest.daemon import (HALOCTL, PATIENCE, UNNOTICED, DaemonTest, Refused, is_sanitized, main)
import halotest
from halotest import alone, silent_clip

FOLDER = os.environ.get('HALO_STANDIN_LIBRARIES', '')
X264 = ('-c:v', 'libx264')


SLOW_DETECTOR = '''#!/usr/bin/python3
import array, json, os, socket, time
d, a, f, _ = socket.socket(fileno=3).recvmsg(1, 64)
c = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET, fileno=array.array('i', a[0][2])[0])
while True:
    d, a, f, _ = c.recvmsg(65536, 256)
    for _, _, x in a:
        for fd in array.array('i', x[:len(x) // 4 * 4]):
            os.close(fd)
    if not d:
        os._exit(0)
    j = json.loads(d)
    if j['type'] == 'hello':
        c.send(json.dumps({'type': 'ready', 'name': 'slow', 'width': 64, 'height': 48,
                           'format': 'gray8', 'answers': 'boxes'}).encode())
    elif j['type'] == 'frame':
        time.sleep(0.25)
        c.send(json.dumps({'type': 'verdict', 'n': j['n'], 'boxes': []}).encode())
'''


class LoadTest(DaemonTest):
    def stream(self, name='one', suffix='ts', **more):
        """Light, so that it is not late beside other tests."""
        return super().stream(name, suffix, **{'input': 'test:size=160x120:rate=10', **more})

    def lacks(self, daemon, name, *words):
        """The stream lacks these and no others."""
        found = {}

        def is_so():
            found.clear()
            found.update(daemon.status(name)['degraded'])
            return set(found) == set(words)
        self.until(is_so, lambda: found)
        return found


@alone
@unittest.skipIf(is_sanitized((b'__tsan_init',)), 'ThreadSanitizer makes all streams late')
class Late(LoadTest):
    HEAVY = ','.join(['gblur=sigma=20'] * 32)  # more than half of the pictures are late anywhere

    def test_filters(self):
        """A stream that is always late is overloaded; a light one beside it keeps its rate; the
        heavy one recovers when it gets a chain that can be carried."""
        daemon = self.start({
            'light': self.stream('light', input='test:size=160x120:rate=25'),
            'heavy': self.stream('heavy', input='test:size=1280x720:rate=60', filters=self.HEAVY, threads=1,
                                 outputs=[{'null': True}])})
        daemon.wait_state('light', 'running')
        daemon.wait_state('heavy', 'overloaded')
        status = daemon.status('heavy')  # on a busy machine its source is late, too
        self.assertRegex(status['degraded']['late'],
                         r'^\d+ of \d+ frames were dropped: the filters are too slow$')
        self.assertGreater(daemon.status('heavy')['dropped']['late'], 100)
        # 17 of 25 a second, on a busy machine
        self.assert_once(lambda: 25 - daemon.rate('light', 4.5), 25 - 17 / PATIENCE)
        self.lacks(daemon, 'light')
        try:
            daemon.control('Set', name='heavy', filters='solid')
        except Refused as refused:  # it is that slow
            self.assertIn('the filters change with the next frame', str(refused))
        self.lacks(daemon, 'heavy')
        self.assertEqual(daemon.status('heavy')['restarts'], 0)

    def test_others(self):
        """Pictures that cannot be decoded as fast as they should be shown, as there are a million a second; an
        encoding beside another one; a detector whose verdicts come too late, so that nearly all is hidden."""
        clip, script = self.path('fast.nut'), self.path('slow.py')
        halotest.call([halotest.FFMPEG, '-nostdin', '-v', 'error', '-f', 'lavfi', '-i',
                       'color=s=16x16:r=1000000:d=0.05', '-c:v', 'rawvideo', '-pix_fmt', 'gray', clip])
        with open(script, 'w') as file:
            file.write(SLOW_DETECTOR)
        os.chmod(script, 0o755)
        slow = {'unix': self.path('slow.ts'), 'video': {'preset': 'placebo', 'size': '1920x1080', 'crf': 1}}
        daemon = self.start({
            'decoded': self.stream(input=clip, loop=True, realtime=True, privacy='off', filters='none',
                                   outputs=[{'null': True}]),
            'encoded': self.stream(input='test:size=640x360:rate=30', outputs=[slow, {'unix': self.path('one.ts')}]),
            'detected': self.stream('two', input='test:size=160x120:rate=30', filters='solid=gray:region=faces')},
            detectors={'faces': {'command': script, 'wait': '50ms'}})
        daemon.wait_state('encoded', 'running')
        self.reader('slow.ts')
        other = self.reader('one.ts')
        for name, word, why in (
                ('decoded', 'late-decoder', r'^the stream fell behind by \d+ s in the last \d+ s: '
                                            r'decoding is too slow$'),
                ('encoded', 'late-encoder', 'an encoding is too slow'),
                ('detected', 'late-detector', r'^\d+ of \d+ frames were hidden completely: the detector of faces '
                                              r'takes \d+ ms for a frame, but frames wait only 50 ms \(wait\)$')):
            self.until(lambda: re.search(why, daemon.status(name)['degraded'].get(word, '')))
            self.assertEqual(daemon.status(name)['restarts'], 0)
        size = other.size
        self.until(lambda: other.size > size)
        done = subprocess.run([HALOCTL, '--socket', daemon.path, 'doctor'], capture_output=True,
                              text=True, timeout=60 * PATIENCE)
        self.assertIn('hidden completely', done.stdout)

    def test_decoding_for_a_while(self):
        """An engine that does not get its time, again and again: said, and over ten seconds after.
        Once is nothing: machines sleep."""
        daemon = self.start({'one': self.stream('one', outputs=[{'null': True}])}, environment=UNNOTICED)
        daemon.wait_state('one', 'running')
        self.pause(daemon)
        daemon.wait_pictures('one', 106, 60)  # 10.6 s: a whole window
        self.lacks(daemon, 'one')
        for _ in range(8):
            self.pause(daemon)
            daemon.filtered_anew('one')
            if daemon.status('one')['degraded']:
                break
        self.lacks(daemon, 'one', 'late-decoder')
        self.lacks(daemon, 'one')
        self.assertEqual(daemon.status('one')['restarts'], 0)

    def pause(self, daemon):
        """Longer than a second, which is a slip."""
        daemon.kill_engine_of('one', signal.SIGSTOP)
        time.sleep(1.4)  # what happens to the engine, not a wait for something
        daemon.kill_engine_of('one', signal.SIGCONT)


class Memory(LoadTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        halotest.need_faults()

    def test_once(self):
        """No memory for one picture: that picture is lost, and neither its stream nor its engine."""
        daemon = self.start({'a': self.stream('a'), 'b': self.stream('b')},
                            environment={'HALOD_FAULT': 'alloc:100'})
        for name in 'ab':
            daemon.wait_state(name, 'running')
        pids = daemon.pids()
        self.until(lambda: sum(daemon.status(name)['dropped']['filter'] for name in 'ab') == 1)
        for name in 'ab':
            daemon.wait_state(name, 'running')
            self.lacks(daemon, name)
            self.assertEqual(daemon.status(name)['restarts'], 0)
        self.assertEqual(daemon.pids(), pids)


@unittest.skipUnless(FOLDER and halotest.has_encoder('h264_nvenc'), 'no stand-in, or FFmpeg has no NVENC')
class Driver(LoadTest):
    def nvenc(self, name, **more):
        return self.stream(name, outputs=[{'unix': self.path(name + '.ts'),
                                           'video': {'codec': 'h264_nvenc'}}], **more)

    def with_standin(self, streams, **standin):
        environment = {'LD_LIBRARY_PATH': FOLDER}
        environment.update((f'HALO_STANDIN{key}', str(value)) for key, value in standin.items())
        return self.start(streams, environment=environment)

    def test_one_session_for_two(self):
        """The first one keeps it; the second is encoded by the CPU, until it is free again."""
        daemon = self.with_standin({'one': self.nvenc('one'), 'two': self.nvenc('two')},
                                   _NVENC_SESSIONS=1)
        for name in ('one', 'two'):
            daemon.wait_state(name, 'running')
        first = self.reader('one.ts')
        second = self.reader('two.ts')
        self.assertIn('libx264 is used instead of h264_nvenc: session limit reached',
                      self.lacks(daemon, 'two', 'encoder-sessions')['encoder-sessions'])
        self.lacks(daemon, 'one')
        second.close()
        first.close()
        self.lacks(daemon, 'two')
        self.until(lambda: daemon.status('one')['viewers'] == 0)
        for _ in range(2):  # numbers of before may have been on their way: now its encoder is closed
            daemon.filtered_anew('one')
        reader, encoded = self.reader('two.ts'), daemon.status('two')['encoded']
        self.until(lambda: daemon.status('two')['encoded'] > encoded + 25)
        self.assertFalse(reader.ended)
        self.lacks(daemon, 'two')

    def test_no_encoder_and_no_decoder(self):
        """Not for want of sessions: another word. The GPU's decoder has no room: the CPU decodes, which is said."""
        file = {'input': silent_clip('.mkv', codec=X264), 'loop': True, 'realtime': True, 'hwaccel': 'cuda'}
        daemon = self.with_standin({'one': self.nvenc('one'), 'two': self.stream('two', **file)},
                                   _NVENC_OPEN=2, **{'': 'surfaces'})
        daemon.wait_state('one', 'running')
        self.reader('one.ts')
        self.assertIn('no NVENC', self.lacks(daemon, 'one', 'encoder')['encoder'])
        self.assertIn('h264 is decoded by the CPU, not by NVDEC', self.lacks(daemon, 'two', 'decoder')['decoder'])

    def test_an_encoder_that_fails(self):
        """It fails alone: neither the engine nor a stream beside it restarts."""
        daemon = self.with_standin({'one': self.nvenc('one'), 'two': self.stream('two')},
                                   _NVENC_FAIL=20)
        daemon.wait_state('one', 'running')
        pids = daemon.pids()
        self.reader('one.ts')
        self.until(lambda: 'an encoding failed' in daemon.logged())
        for name in ('one', 'two'):
            daemon.wait_pictures(name, 25)
        self.assertEqual(daemon.pids(), pids)
        for name in ('one', 'two'):
            self.assertEqual(daemon.status(name)['restarts'], 0)


if __name__ == '__main__':
    main()
