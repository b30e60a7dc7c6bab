# SPDX-License-Identifier: BSD-2-Clause
# What is added to a stream's chain while it runs: it hides more, and survives everything.
import json
import os
import signal

from halotest.daemon import UNNOTICED, DaemonTest, Refused, main

BASE = 'gblur=sigma=12'
SIGN = 'solid=region=rect 0 0 50% 50%'


class Hides(DaemonTest):
    def begin(self, filters=BASE, environment=None, **stream):
        state = self.path('state')
        os.makedirs(state, exist_ok=True)
        daemon = self.start({'door': {'input': 'test:size=64x48', 'filters': filters,
                                      'outputs': [{'null': True}], **stream}}, state=state,
                            environment=environment)
        daemon.wait_state('door', 'running')
        return daemon

    def chain(self, daemon):
        status = daemon.status('door')
        return status['base'], status['hides'], status['filters']

    def stored(self):
        try:
            with open(self.path('state/hides.json')) as file:
                return json.load(file)
        except OSError:
            return None

    def test_added_and_taken_away(self):
        daemon = self.begin()
        first = daemon.status('door')['revision']
        answer = daemon.control('Hide', name='door', id='sign', filters=SIGN)
        self.assertGreater(answer['revision'], first)
        self.assertEqual(self.chain(daemon), (BASE, {'sign': SIGN}, f'{BASE},{SIGN}'))
        daemon.control('Hide', name='door', id='all', filters='solid')
        self.assertEqual(self.chain(daemon)[2], f'{BASE},solid,{SIGN}', 'in the order of the ids')
        daemon.control('Hide', name='door', id='sign', filters='')
        daemon.control('Hide', name='door', id='sign', filters='')
        self.assertEqual(self.chain(daemon), (BASE, {'all': 'solid'}, f'{BASE},solid'))
        self.until(lambda: self.stored() == {'door': {'all': 'solid'}})
        daemon.control('Hide', name='door', id='all', filters='')
        self.until(lambda: self.stored() == {})

    def test_only_what_hides(self):
        daemon = self.begin()
        for filters in ('null', 'unsharp', 'gblur=sigma=0.3', 'nosuch',
                        'solid=region=rect 0 0 9 9,unsharp=region=rect 9 9 9 9',
                        'unsharp=la=5,solid=region=rect 0 0 2 2', 'solid,unsharp=la=5'):
            with self.subTest(filters), self.assertRaises(Refused) as said:
                daemon.control('Hide', name='door', id='x', filters=filters)
            self.assertEqual(said.exception.error, 'Refused')
        for name in ('', 'a b', 'x' * 32, '../x'):
            with self.subTest(name), self.assertRaises(Refused):
                daemon.control('Hide', name='door', id=name, filters='solid')
        for i in range(16):
            daemon.control('Hide', name='door', id=f'n{i}', filters='solid')
        with self.assertRaisesRegex(Refused, '16 additions'):
            daemon.control('Hide', name='door', id='more', filters='solid')
        self.assertEqual(len(self.chain(daemon)[1]), 16)

    def test_survives_set_reload_and_restarts(self):
        daemon = self.begin()
        daemon.control('Hide', name='door', id='all', filters='solid')
        daemon.control('Set', name='door', filters='avgblur=sizeX=9')
        self.assertEqual(self.chain(daemon)[2], 'avgblur=sizeX=9,solid')
        result = daemon.control('Reload')
        self.assertEqual(result['set'], ['door'], 'the file still says gblur')
        self.assertEqual(self.chain(daemon)[2], f'{BASE},solid')
        self.assertEqual(daemon.control('Reload')['set'], [])
        daemon.kill_engine_of('door')
        daemon.wait_state('door', 'running')
        self.assertEqual(self.chain(daemon)[2], f'{BASE},solid')
        self.until(lambda: self.stored() == {'door': {'all': 'solid'}})
        daemon.stop(signal.SIGKILL)
        daemon = self.begin()
        self.assertEqual(self.chain(daemon), (BASE, {'all': 'solid'}, f'{BASE},solid'))

    def test_stopped_stream(self):
        daemon = self.begin()
        daemon.control('Stop', name='door')
        daemon.wait_state('door', 'stopped')
        daemon.control('Hide', name='door', id='all', filters='solid')
        daemon.control('Start', name='door')
        daemon.wait_state('door', 'running')
        self.assertEqual(self.chain(daemon)[2], f'{BASE},solid')

    def test_renditions(self):
        more = {'renditions': {'a': {'filters': 'avgblur=sizeX=9'}, 'b': {'filters': BASE}},
                'outputs': [{'null': True}, {'unix': self.path('a.ts'), 'rendition': 'a'}]}
        daemon = self.begin(**more)
        daemon.control('Hide', name='door', id='all', filters='solid')
        self.assertEqual(daemon.status('door')['renditions'],
                         {'a': 'avgblur=sizeX=9,solid', 'b': BASE + ',solid'})
        daemon.control('Set', name='door', filters='pixelize=w=9')
        self.assertEqual(daemon.status('door')['renditions'],
                         {'a': 'avgblur=sizeX=9,solid', 'b': BASE + ',solid'})
        # Renditions in another order, of which one differs.
        daemon.write({'door': {'input': 'test:size=64x48', 'filters': BASE, **more,
                               'renditions': {'b': {'filters': 'pixelize=w=5'},
                                              'a': {'filters': 'avgblur=sizeX=9'}}}},
                     state=self.path('state'))
        self.assertEqual(daemon.control('Reload')['set'], ['door'])
        status = daemon.status('door')
        self.assertEqual(status['renditions'],
                         {'a': 'avgblur=sizeX=9,solid', 'b': 'pixelize=w=5,solid'})
        self.assertEqual(status['filters'], BASE + ',solid')
        self.assertEqual(daemon.control('Reload')['set'], [])
        # Fewer renditions, which restarts the stream.
        daemon.write({'door': {'input': 'test:size=64x48', 'filters': BASE, **more,
                               'renditions': {'a': {'filters': 'avgblur=sizeX=7'}}}},
                     state=self.path('state'))
        self.assertEqual(daemon.control('Reload')['changed'], ['door'])
        daemon.control('Hide', name='door', id='b', filters='gblur=sigma=9')
        daemon.wait_state('door', 'running')
        self.assertEqual(daemon.status('door')['renditions'],
                         {'a': 'avgblur=sizeX=7,solid,gblur=sigma=9'})
        daemon.control('Hide', name='door', id='all', filters='')
        daemon.control('Hide', name='door', id='b', filters='')
        self.assertEqual(daemon.status('door')['renditions'], {'a': 'avgblur=sizeX=7'})

    def test_two_editors(self):
        daemon = self.begin()
        before = daemon.status('door')['revision']
        daemon.control('Hide', name='door', id='a', filters='solid', revision=before)
        with self.assertRaises(Refused) as said:
            daemon.control('Set', name='door', filters='avgblur=sizeX=5', revision=before)
        self.assertEqual(said.exception.error, 'Changed')
        now = said.exception.parameters
        self.assertEqual(now['hides'], {'a': 'solid'})
        daemon.control('Set', name='door', filters='avgblur=sizeX=5', revision=now['revision'])

    def refused(self, daemon, revision):
        """What a change of this revision is answered."""
        with self.assertRaises(Refused) as said:
            daemon.control('Hide', name='door', id='a', filters=SIGN, revision=revision)
        self.assertEqual(said.exception.error, 'Changed')
        return said.exception.parameters

    def test_two_editors_at_once(self):
        """A change is requested and not in force yet: nobody is shown its revision, and nobody
        else can change the same chain."""
        daemon = self.begin(environment=UNNOTICED)
        before = daemon.status('door')['revision']
        engine = daemon.engines()['cpu']['pid']
        os.kill(engine, signal.SIGSTOP)
        self.addCleanup(os.kill, engine, signal.SIGCONT)
        first = self.ask(daemon, 'Hide', name='door', id='a', filters='solid', revision=before)
        self.until(lambda: self.refused(daemon, before - 1)['hides'])
        status, now = daemon.status('door'), self.refused(daemon, before)
        self.assertEqual((status['revision'], status['hides']), (before, {}))
        self.assertEqual(now['hides'], {'a': 'solid'})
        os.kill(engine, signal.SIGCONT)
        self.assertEqual(first.receive()['revision'], now['revision'])
        status = daemon.status('door')
        self.assertEqual((status['revision'], status['hides']), (now['revision'], now['hides']))

    def test_what_no_longer_fits_hides_everything(self):
        daemon = self.begin()
        daemon.control('Hide', name='door', id='a', filters=SIGN)
        self.until(lambda: self.stored() == {'door': {'a': SIGN}})
        daemon.stop()
        daemon = self.begin(','.join([BASE] * 32))
        self.assertEqual(daemon.status('door')['filters'], 'solid')
        self.assertIn('everything is hidden', daemon.logged())

    def test_mask_that_is_missing(self):
        """Everything is hidden until it is there again, and the addition is not forgotten."""
        mask = self.path('mask.pgm')
        with open(mask, 'wb') as file:
            file.write(b'P5 2 1 255\n\x00\xff')
        chain = f'solid=region=mask {mask}'
        daemon = self.begin()
        daemon.control('Hide', name='door', id='m', filters=chain)
        self.until(lambda: self.stored() == {'door': {'m': chain}})
        daemon.stop()
        os.rename(mask, mask + '.away')
        daemon = self.begin()
        self.assertEqual(daemon.status('door')['filters'], 'solid')
        daemon.control('Reload')
        daemon.control('Hide', name='door', id='other', filters='')
        daemon.control('Set', name='door', filters='avgblur=sizeX=9')
        self.assertEqual(daemon.status('door')['filters'], 'solid')
        self.assertEqual(daemon.status('door')['hides'], {'m': chain})
        self.assertEqual(self.stored(), {'door': {'m': chain}})
        os.rename(mask + '.away', mask)
        daemon.control('Reload')
        self.assertEqual(daemon.status('door')['filters'], f'{BASE},{chain}')

    def test_disk_that_is_full(self):
        daemon = self.begin()
        os.rename(self.path('state'), self.path('gone'))
        with open(self.path('state'), 'w'):
            pass  # a file where the folder was
        daemon.control('Hide', name='door', id='a', filters='solid')
        self.until(lambda: 'is lost if halod restarts' in daemon.logged())
        os.unlink(self.path('state'))
        os.rename(self.path('gone'), self.path('state'))
        self.until(lambda: self.stored() == {'door': {'a': 'solid'}})

    def test_damaged_file(self):
        os.makedirs(self.path('state'))
        with open(self.path('state/hides.json'), 'w') as file:
            file.write('{"door": ')
        with self.assertRaisesRegex(AssertionError, 'hides.json is damaged'):
            self.begin()

    def test_no_folder(self):
        daemon = self.start({'door': {'input': 'test:size=64x48', 'filters': BASE,
                                      'outputs': [{'null': True}]}})
        daemon.control('Hide', name='door', id='a', filters='solid')
        self.until(lambda: "set 'state:' to a folder" in daemon.logged())


if __name__ == '__main__':
    main()
