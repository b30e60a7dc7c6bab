# SPDX-License-Identifier: BSD-2-Clause
# Changes of filters that are requested and not in force yet: each ends as its client was told, and
# nothing that was promised to be hidden is lost.
import json
import os

from halotest.daemon import PATIENCE, STANDIN_ENGINE_DAEMON, DaemonTest, Refused, main

HERE = os.path.dirname(os.path.abspath(__file__))
BASE = 'gblur=sigma=12'
SIGN = 'solid=region=rect 0 0 50% 50%'
ENDED = 'the stream has ended'
PROMISE = 'the filters change with the next frame'


class Requested(DaemonTest):
    def begin(self, **stream):
        os.makedirs(self.path('state'), exist_ok=True)
        self.tell('holds', [])
        self.streams = {'door': {'input': 'test:size=64x48', 'filters': BASE, 'backend': 'cpu',
                                 'outputs': [{'null': True}], **stream}}
        self.tell('patient')
        faults = {'HALOD_FAULT': 'silence:1+,answer:' + self.path('patient')}
        daemon = self.start_with_engine(os.path.join(HERE, 'slow_engine.py'), self.streams,
                                        faults, state=self.path('state'))
        daemon.wait_state('door', 'running')
        return daemon

    def tell(self, name, what=''):
        """The engine."""
        with open(self.path(name + '.new'), 'w', encoding='utf-8') as file:
            json.dump(what, file)
        os.rename(self.path(name + '.new'), self.path(name))

    def hide(self, daemon, name, filters='solid'):
        return self.ask(daemon, 'Hide', name='door', id=name, filters=filters)

    def assert_refused(self, control, why):
        with self.assertRaises(Refused) as said:
            control.receive()
        self.assertIn(why, str(said.exception))

    def assert_promised(self, *controls):
        """What the engine does not answer in time."""
        os.unlink(self.path('patient'))
        for control in controls:
            self.assert_refused(control, PROMISE)
        self.tell('patient')

    def hides(self, daemon):
        return daemon.status('door')['hides']

    def stored(self):
        with open(self.path('state/hides.json'), encoding='utf-8') as file:
            return json.load(file)

    def test_promise_is_kept_when_halod_is_restarted(self):
        daemon = self.begin()
        self.tell('holds', [None])
        self.assert_promised(self.hide(daemon, 'a'))
        daemon.stop()
        self.assertEqual(self.stored(), {'door': {'a': 'solid'}})
        self.assertEqual(self.hides(self.begin()), {'a': 'solid'})

    def test_promises_and_new_settings(self):
        """One is confirmed while the stream restarts, the other one is not."""
        daemon = self.begin()
        self.tell('holds', ['ok', ENDED])
        both = self.hide(daemon, 'a'), self.hide(daemon, 'b')
        self.assert_promised(*both)
        self.assertEqual(self.load(daemon, on_error='solid').receive()['changed'], ['door'])
        daemon.wait_state('door', 'running')
        self.assertEqual(self.hides(daemon), {'a': 'solid', 'b': 'solid'})
        self.until(lambda: self.stored() == {'door': self.hides(daemon)})

    def restart(self, daemon):
        """The stream stays in its engine until self.release()."""
        self.tell('stuck')
        self.ask(daemon, 'Restart', name='door').receive()

    def release(self):
        os.unlink(self.path('stuck'))

    def test_removal_that_failed(self):
        """What is requested after it does not bring it with it."""
        daemon = self.begin()
        self.hide(daemon, 's', SIGN).receive()
        self.tell('holds', ['no memory'])
        removal = self.hide(daemon, 's', '')
        self.restart(daemon)
        later = self.hide(daemon, 'b')
        self.release()
        self.assert_refused(removal, 'no memory')
        later.receive()
        self.assertEqual(self.hides(daemon), {'b': 'solid', 's': SIGN})

    def test_several_while_it_restarts(self):
        """All are in force at the next start, and all clients are told so; also the first one,
        which the engine had and did not get to."""
        daemon = self.begin()
        self.hide(daemon, 's', SIGN).receive()
        before = daemon.status('door')['revision']
        self.tell('holds', [ENDED])
        asked = [self.hide(daemon, 's', '')]
        self.restart(daemon)
        asked += [self.hide(daemon, 'a', SIGN),
                  self.ask(daemon, 'Set', name='door', filters='avgblur=sizeX=9'),
                  self.hide(daemon, 'b')]
        self.assertEqual(daemon.status('door')['revision'], before)
        self.release()
        revisions = [before] + [one.receive()['revision'] for one in asked]
        self.assertEqual(sorted(set(revisions)), revisions, 'they grow')
        status = daemon.status('door')
        self.assertEqual((status['base'], status['hides'], status['revision']),
                         ('avgblur=sizeX=9', {'a': SIGN, 'b': 'solid'}, revisions[-1]))

    def load(self, daemon, **settings):
        self.streams['door'].update(settings)
        daemon.write(self.streams, state=self.path('state'))
        return self.ask(daemon, 'Reload')

    def test_settings_and_an_addition_while_it_restarts(self):
        daemon = self.begin()
        self.restart(daemon)
        reload, addition = self.load(daemon, filters='avgblur=sizeX=9'), self.hide(daemon, 'b')
        self.release()
        self.assertEqual(reload.receive()['set'], ['door'])
        addition.receive()
        self.assertEqual(daemon.status('door')['filters'], 'avgblur=sizeX=9,solid')

    def test_settings_when_the_stream_ends(self):
        """The engine has them and does not get to them."""
        daemon = self.begin()
        self.tell('holds', [ENDED])
        reload = self.load(daemon, filters='solid')
        self.restart(daemon)
        self.release()
        self.assertEqual(reload.receive()['set'], ['door'])
        self.assertEqual(daemon.status('door')['filters'], 'solid')

    def test_additions_that_wait_and_new_settings(self):
        """They are made to the new settings; a base that waits is replaced by them."""
        daemon = self.begin()
        self.hide(daemon, 's', SIGN).receive()
        self.restart(daemon)
        base = self.ask(daemon, 'Set', name='door', filters='pixelize=w=9')
        both = self.hide(daemon, 's', ''), self.hide(daemon, 'a')
        self.load(daemon, on_error='solid').receive()
        self.assert_refused(base, 'new settings were loaded')
        self.release()
        for one in both:
            one.receive()
        daemon.wait_state('door', 'running')
        status = daemon.status('door')
        self.assertEqual((status['filters'], status['hides']), (BASE + ',solid', {'a': 'solid'}))

    def test_while_halod_stops(self):
        daemon = self.begin()
        self.restart(daemon)
        addition = self.hide(daemon, 'a')
        base = self.ask(daemon, 'Set', name='door', filters='solid')
        daemon.process.terminate()
        self.assert_refused(addition, 'this addition is kept')
        self.assert_refused(base, 'halod is stopping')
        self.release()
        self.assertEqual(daemon.process.wait(60 * PATIENCE), 0)
        self.assertEqual(self.stored(), {'door': {'a': 'solid'}})

    def test_keep_while_a_base_is_requested(self):
        daemon = self.begin()
        self.tell('holds', ['ok', 'ok'])
        base = self.ask(daemon, 'Set', name='door', filters='solid')
        keep = self.ask(daemon, 'Keep', name='door')
        self.tell('now')
        base.receive()
        keep.receive()
        self.assertEqual(daemon.status('door')['base'], 'solid')
        with open(self.path('state/overlay.yaml'), encoding='utf-8') as file:
            self.assertIn('"solid"', file.read())


if __name__ == '__main__':
    if not STANDIN_ENGINE_DAEMON:
        print('STANDIN_ENGINE_DAEMON does not name a program\n0 passed, 0 failed, 1 skipped')
        raise SystemExit(77)
    main()
