# SPDX-License-Identifier: BSD-2-Clause
# The engine alone: this test is its supervisor, and does what a good one does seldom.
import json
import os
import resource
import signal
import socket
import subprocess
import time

from halotest.daemon import HALOD, PATIENCE, HaloTest, halod_environment, is_sanitized, main

LINK = 3
GOOD = json.dumps({'name': 'one', 'input': 'test:size=64x48:rate=25', 'filters': 'gblur=sigma=2',
                   'backend': 'cpu', 'outputs': [{'null': True}]})
STACK = 8 << 20


class EngineLink(HaloTest):
    def start(self):
        self.link, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.link.settimeout(60 * PATIENCE)
        environment = {**halod_environment(), 'GLIBC_TUNABLES': 'glibc.pthread.stack_cache_size=0'}
        with theirs, open(self.path('log'), 'wb') as log:
            self.engine = subprocess.Popen(
                [HALOD, 'engine', '3'], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env=environment, pass_fds=(LINK,),
                preexec_fn=lambda: os.dup2(theirs.fileno(), LINK))
        self.addCleanup(self.end)
        self.wait('hello')

    def end(self):
        self.link.close()
        try:
            self.assertEqual(self.engine.wait(60 * PATIENCE), 0, self.logged())
        finally:
            self.engine.kill()
            self.engine.wait()

    def logged(self):
        with open(self.path('log'), errors='replace') as file:
            return file.read()

    def do(self, what, **more):
        self.link.send(json.dumps({'do': what, **more}).encode())

    def wait(self, tell, **more):
        """The next message of that kind with these words in it; a dead engine sends none."""
        until = time.monotonic() + 60 * PATIENCE
        while time.monotonic() < until:
            data, descriptors, _, _ = socket.recv_fds(self.link, 1 << 18, 4)
            for descriptor in descriptors:
                os.close(descriptor)
            self.assertTrue(data, self.logged())
            message = json.loads(data)
            if message['tell'] == tell and more.items() <= message.items():
                return message
        self.fail(f'no {tell} with {more}\n' + self.logged())

    def fails_and_goes(self, name, settings):
        self.do('start', stream=name, settings=settings)
        why = self.wait('state', stream=name, state='failed')['why']
        self.do('stop', stream=name)
        self.wait('gone', stream=name)
        return why

    def test_a_stream(self):
        self.start()
        self.do('start', stream='one', settings=GOOD)
        self.wait('state', stream='one', state='running')
        self.do('stop', stream='one')
        self.wait('gone', stream='one')

    def test_regions(self):
        """The engine trusts nobody: what makes no sense changes nothing."""
        self.start()
        settings = json.loads(GOOD)
        self.do('start', stream='one', settings=json.dumps({**settings, 'region_feed': {}}))
        self.do('start', stream='two', settings=json.dumps(settings))
        self.wait('state', stream='one', state='running')
        rect = {'kind': 'rect', 'x': 1, 'y': 2, 'w': 3, 'h': 4}
        now = time.monotonic_ns() // 1000
        for wrong in ({}, {'picture': now}, {'picture': str(now), 'regions': []}, {'picture': now, 'regions': {}},
                      {'picture': now, 'regions': [rect] * 65}, {'picture': now, 'regions': [{**rect, 'w': -1}]},
                      {'picture': now, 'regions': [{**rect, 'x': 1e300}]}, {'picture': 1, 'regions': [rect]},
                      {'picture': now, 'regions': [{'kind': 'polygon', 'corners': [[1, 2]] * 65}]},
                      {'picture': -2**63, 'regions': []}, {'picture': now, 'regions': [None, 7]}):
            self.do('regions', stream='one', **wrong)
        self.do('regions', stream='two', picture=now, regions=[rect])
        self.do('regions', stream='none', picture=now, regions=[rect])
        self.fails_and_goes('bad', '{')  # the engine has read all that was before
        while (message := self.wait('stats')).get('streams', {}).keys() != {'one'}:
            pass
        self.assertEqual(message['streams']['one']['region_feed']['why'], 'none yet')
        feed = {}
        while feed.get('why') != '':  # what is told holds for a short time
            self.do('regions', stream='one', picture=time.monotonic_ns() // 1000, regions=[rect])
            while not (feed := self.wait('stats')['streams'].get('one', {}).get('region_feed')):
                pass
        self.assertGreaterEqual(feed['updates'], 1)
        self.assertEqual(feed['regions'], 1)
        for name in ('one', 'two'):
            self.do('stop', stream=name)
            self.wait('gone', stream=name)

    def test_settings_that_are_none(self):
        """A stream that could not begin goes when it is asked to."""
        self.start()
        self.fails_and_goes('one', '{')
        self.do('start', stream='one', settings=GOOD)
        self.wait('state', stream='one', state='running')

    def test_a_supervisor_that_leaves(self):
        """Its last question is refused while the stream is made, when nobody is there to hear."""
        self.start()
        self.engine.send_signal(signal.SIGSTOP)  # it finds all at once
        self.do('start', stream='one', settings=GOOD)
        self.do('set', stream='one', id=1, chains=[])
        self.link.shutdown(socket.SHUT_WR)  # the end comes after these words
        self.engine.send_signal(signal.SIGCONT)
        self.assertEqual(self.engine.wait(60 * PATIENCE), 0, self.logged())

    def test_questions_too_early(self):
        """Whatever cannot be had yet is refused, in words."""
        self.start()
        self.engine.send_signal(signal.SIGSTOP)
        self.do('start', stream='one', settings=GOOD)
        for number in (1, 2):  # the first one waits
            self.do('set', stream='one', id=number, chains=[])
        self.do('snapshot', stream='one', id=3, format='png')
        self.engine.send_signal(signal.SIGCONT)
        for tell, number in (('set', 2), ('snapshot', 3), ('set', 1)):
            self.assertEqual(self.wait(tell, id=number)['why'], 'the stream has just started')
        self.wait('state', stream='one', state='running')

    def test_without_a_thread(self):
        """A stream whose thread cannot be started goes when it is asked to."""
        if is_sanitized():
            self.skipTest('sanitizers need the room')
        self.start()
        self.fails_and_goes('one', GOOD.replace('gblur', 'nothing'))  # makes libuv's threads
        with open(f'/proc/{self.engine.pid}/statm') as file:
            size = int(file.read().split()[0]) * resource.getpagesize()
        limit = resource.prlimit(self.engine.pid, resource.RLIMIT_AS, (size + STACK // 2, -1))
        self.assertIn('cannot start a thread', self.fails_and_goes('one', GOOD))
        resource.prlimit(self.engine.pid, resource.RLIMIT_AS, limit)
        self.do('start', stream='one', settings=GOOD)
        self.wait('state', stream='one', state='running')


if __name__ == '__main__':
    main()
