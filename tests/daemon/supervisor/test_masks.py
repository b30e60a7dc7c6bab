# SPDX-License-Identifier: BSD-2-Clause
# Masks of the daemon's filters: one that cannot be read is an error at start, at a change and at a
# reload, in words, and no stream goes on without it. Regions of feeds where there is no feed.
import json
import os
import subprocess

from halotest.daemon import HALOD, PATIENCE, DaemonTest, Refused, main

BLUR = 'gblur=sigma=12'


def pgm(path, value=255, width=8, height=8, cut=0):
    with open(path, 'wb') as file:
        file.write(b'P5\n%d %d\n255\n' % (width, height) + bytes([value]) * (width * height - cut))
    return path


class Masks(DaemonTest):
    def setUp(self):
        super().setUp()
        self.mask = self.path('mask.pgm')

    def masked(self, mask=None, **more):
        return self.stream('one', filters=f'{BLUR}:region=mask {mask or self.mask}', **more)

    def check(self, **streams):
        """What --check-config says of them."""
        path = self.path('checked.yaml')
        with open(path, 'w', encoding='utf-8') as file:
            json.dump({'control': {'path': self.path('c.sock')}, 'streams': {
                name: self.stream(name, **stream) for name, stream in streams.items()}}, file)
        done = subprocess.run([HALOD, '--check-config', path], timeout=30 * PATIENCE,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True)
        return done.returncode, done.stderr

    def test_start(self):
        """Also where the filters are a list of maps."""
        def filters(region):
            return {'filters': [{'gblur': {'sigma': '0.1*w', 'region': region, 'feather': 3, 'invert': 1}}]}
        feed = {'filters': f'{BLUR}:region=feed'}
        code, said = self.check(mask=filters(f'mask {self.mask}'), shape=filters('rec 0 0 10% 10%'), feed=feed,
                                rendition={'renditions': {'r': feed}})
        self.assertEqual(code, 78)
        self.assertIn(f'the mask image {self.mask} cannot be read: No such file', said)
        self.assertIn('unknown shape rec (nearest: rect)', said)
        self.assertEqual(said.count("region=feed requires a stream of the daemon whose settings contain "
                                    "'region_feed'"), 2, said)
        pgm(self.mask)
        self.assertEqual(self.check(
            mask=filters(f'mask {self.mask}'), rect=filters('rect 0 0 10% 10%'),
            two=filters(['rect 0 0 10% 10%', 'ellipse 5 5 9 9']), words=filters(['rect', 0, 0, '10%', 12]),
            feed={**feed, 'region_feed': {}}), (0, ''))

    def assert_refused(self, daemon, *says, filters=None):
        with self.assertRaises(Refused) as refused:
            daemon.control('Set', name='one', filters=filters or self.masked()['filters'])
        for word in says:
            self.assertIn(word, str(refused.exception))
        self.assertEqual(daemon.status('one')['filters'], BLUR)

    def test_while_it_runs(self):
        """What an engine finds out about an image: at the start, at a change and at a reload, and at a reload of
        the same filters where the image is another one."""
        pgm(self.path('bad.pgm'), cut=9)
        daemon = self.start({'one': self.stream(filters=BLUR), 'bad': self.masked(self.path('bad.pgm'), outputs=[
            {'null': True}])})
        daemon.wait_state('one', 'running')
        self.until(lambda: 'bad.pgm cannot be used' in (daemon.status('bad')['why'] or ''))
        self.assertEqual(daemon.status('bad')['filtered'], 0)
        pgm(self.path('bad.pgm'))
        daemon.control('Restart', name='bad')
        daemon.wait_state('bad', 'running')
        self.assert_refused(daemon, self.mask, 'No such file')
        pgm(self.mask, cut=9)
        self.assert_refused(daemon, 'cannot be used', 'damaged')
        pgm(self.mask, value=0)
        self.assert_refused(daemon, 'no pixel of the frame')
        self.assert_refused(daemon, 'region_feed', filters=f'{BLUR}:region=feed')
        pgm(self.mask, cut=9)
        daemon.write({'one': self.masked()})
        self.assertRegex(daemon.control('Reload')['refused'][0],
                         'stream one keeps its filters: .*cannot be used')
        self.assertEqual(daemon.status('one')['filters'], BLUR)
        os.unlink(self.mask)
        with self.assertRaises(Refused) as refused:
            daemon.control('Reload')
        self.assertIn(f'the mask image {self.mask} cannot be read: No such file',
                      ' '.join(refused.exception.parameters['errors']))
        pgm(self.mask)
        for answer in ['one'], []:
            self.assertEqual(daemon.control('Reload')['set'], answer)
        self.assertEqual(daemon.status('one')['filters'], self.masked()['filters'])
        for _ in range(2):  # still not what is wanted
            pgm(self.mask, value=0)
            answer = daemon.control('Reload')
            self.assertEqual(answer['set'], [])
            self.assertIn('no pixel of the frame', answer['refused'][0])
        pgm(self.path('other.pgm'), width=16)
        os.rename(self.path('other.pgm'), self.mask)
        for answer in ['one'], []:
            self.assertEqual(daemon.control('Reload')['set'], answer)
        self.assertEqual(daemon.status('one')['restarts'], 0)
        daemon.wait_pictures('one', 10)


if __name__ == '__main__':
    main()
