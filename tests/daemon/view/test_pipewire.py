# SPDX-License-Identifier: BSD-2-Clause
# PipeWire cameras, in a session without a display (halotest/pipewire.py), filled from a camera
# that tests/standin/v4l2.c plays. HALOTEST_ROUNDS=200 is the long form of the rounds.
"""What programs of the session see: filtered pictures and cards alone, whatever restarts."""
import functools
import http.server
import os
import shutil
import signal
import subprocess
import threading
import time
import unittest
from unittest import mock

from halotest import (FFMPEG, HALOD, PATIENCE, alone, call, descriptors, halod_environment, main,
                      start_halod, wait_until)
from halotest import portal
from halotest.browser import Chromium
from halotest.daemon import DaemonTest
from halotest.pipewire import Player, Session, missing, now
from halotest.played import HEIGHT, WIDTH, Played, draw
from halotest.virtual import is_card

SIZE, RATE, CHAIN = (WIDTH, HEIGHT), 25, 'gblur=sigma=3'
NODE = 'halod_door'
SOURCES = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../..'))
HALOCTL = os.environ.get('HALOCTL', '')
# The camera is played by the process that reads it: it stalls where that stands still.
ALWAYS = {'open': 'always', 'size': f'{WIDTH}x{HEIGHT}', 'stall': 30}
ROUNDS = int(os.environ.get('HALOTEST_ROUNDS', '4'))
PIXELS = {'i420': 'yuv420p', 'nv12': 'nv12', 'yuy2': 'yuyv422', 'rgb': 'rgb24'}
BYTES = {'i420': 1.5, 'nv12': 1.5, 'yuy2': 2, 'rgb': 3}


def cut(raw, size):
    return [raw[at:at + size] for at in range(0, len(raw), size)]


def converted(raw, form):
    """Pictures in 4:2:0 in another format."""
    done = call([FFMPEG, '-v', 'error', '-f', 'rawvideo', '-pix_fmt', 'yuv420p', '-s',
                 f'{WIDTH}x{HEIGHT}', '-i', '-', '-f', 'rawvideo', '-pix_fmt', PIXELS[form], '-'],
                data=raw)
    return cut(done, int(WIDTH * HEIGHT * BYTES[form]))


@functools.cache
def pictures(form, chain=CHAIN):
    """What the camera's pictures become; with the chain null, the pictures themselves."""
    made = subprocess.run(
        [HALOD, 'run', '-f', 'rawvideo', '-video_size', f'{WIDTH}x{HEIGHT}', '-i', '-', '-vf', chain,
         '-c:v', 'rawvideo', '-f', 'nut', '-v', 'warning', '-'],
        input=b''.join(draw(n) for n in range(128)), stdout=subprocess.PIPE, check=True,
        env=halod_environment()).stdout
    raw = call([FFMPEG, '-v', 'error', '-f', 'nut', '-i', '-', '-f', 'rawvideo', '-'], data=made)
    return converted(raw, form)


def distance(a, b):
    return sum(abs(x - y) for x, y in zip(a[::7], b[::7])) / len(a[::7])


def edges(picture, form):
    """The luma, or one colour, of the first and last rows."""
    step = {'yuy2': 2, 'rgb': 3}.get(form, 1)
    plane = picture[:WIDTH * HEIGHT * step:step]
    return plane[:2 * WIDTH] + plane[-2 * WIDTH:]


def is_blank(picture, form):
    return max(edges(picture, form)) - min(edges(picture, form)) <= 4


@unittest.skipIf(missing(), 'not installed: ' + ', '.join(missing()))
class PipewireTest(DaemonTest):
    def setUp(self):
        super().setUp()
        self.session = Session()
        self.addCleanup(self.session.end)
        self.played = Played(self.folder)
        self.played.plug()

    def environment(self):
        return {**self.played.environment(), **self.session.variables}

    def play(self, name='halod door', streams=None, **settings):
        return self.start(streams or {'one': self.settings(name, **settings)},
                          environment=self.environment())

    def settings(self, name='halod door', **settings):
        return {'input': '/dev/video0', 'filters': CHAIN, 'backend': 'cpu',
                'capture': {**ALWAYS, 'open': 'on-demand'},
                'outputs': [{'pipewire': {'name': name},
                             'video': {'size': f'{WIDTH}x{HEIGHT}', 'fps': RATE}}], **settings}

    def wait_node(self, name=NODE):
        nodes = {}

        def find():
            nodes.update(self.session.nodes())
            return name in nodes
        self.assertTrue(wait_until(find), self.session.logged())
        return nodes[name]

    def player(self, *words, **more):
        player = Player(self.session, *words, **more)
        self.addCleanup(player.close)
        return player

    def assert_filtered(self, shown, form='i420'):
        """Every picture is one that the chain has made, or blank; and some are not blank. I420 and
        NV12 are the samples of the filtered picture; other formats are compared with what FFmpeg
        makes of the filtered and of the unfiltered picture."""
        real = [p for p in shown if not is_blank(p, form)]
        self.assertTrue(real)
        known = pictures(form)
        if form in ('i420', 'nv12'):
            strange = [p for p in real if p not in known]
            if strange:
                raw = pictures(form, 'null')
                self.fail(f'{len(strange)} of {len(real)} pictures: the first is '
                          f'{min(distance(strange[0], k) for k in known):.2f} from the nearest '
                          f'filtered one, {min(distance(strange[0], r) for r in raw):.2f} from the '
                          'nearest unfiltered one')
            return
        raw = pictures(form, 'null')
        for picture in real[:20]:
            self.assertLess(3 * min(distance(picture, k) for k in known),
                            min(distance(picture, r) for r in raw))

    def real(self, name=NODE, form='i420'):
        """A player that has shown more than what stands for the camera until it is open."""
        player = self.player(name, form)
        self.assertIsNotNone(player.wait(lambda p: not is_blank(p, form)), self.session.logged())
        return player

    def shown(self, player):
        return [p[3] for p in list(player.pictures)]


class WithoutSession(DaemonTest):
    def test_service(self):
        """A service of the system has no session: it says so once, and the rest goes on."""
        daemon = self.start({'one': self.stream(outputs=[
            {'pipewire': {'name': 'halod door'}, 'video': {'size': '96x64', 'fps': RATE}},
            {'unix': self.path('one.ts')}])}, environment={
                'XDG_RUNTIME_DIR': '', 'PIPEWIRE_RUNTIME_DIR': ''})
        self.until(lambda: 'outside of one' in daemon.logged())
        self.reader('one.ts')
        self.assertEqual(daemon.logged().count('outside of one'), 1)
        self.assertEqual(daemon.status('one')['outputs'][0]['state'], 'unfit')

    def test_refused(self):
        for words, says in ((('-c:v', 'libx264', 'pipewire:'), '-c:v'),
                            (('-f', 'yuyv', 'pipewire:x'), '-f'),
                            (('pipewire:' + 'x' * 64,), 'at most')):
            self.refused('run', '-i', '/dev/video0', '-vf', CHAIN, *words, says=[says])


class Consumers(PipewireTest):
    def test_all(self):
        """With the example for WirePlumber, which hides no camera of halod: what a desktop and its portal
        need to show it, on demand, in each format, for two consumers, and for GStreamer."""
        old = os.path.exists('/usr/share/wireplumber/main.lua.d')  # 0.4
        folder, kind = ('main.lua.d', 'lua') if old else ('wireplumber.conf.d', 'conf')
        folder = self.session.path('config/wireplumber/' + folder)
        os.makedirs(folder)
        shutil.copy(os.path.join(SOURCES, f'systemd/51-halod-camera.{kind}'), folder)
        self.session.restart('wireplumber')
        daemon = self.play()
        node = self.wait_node()
        self.assertEqual(
            {k: node.get(k) for k in ('media.class', 'media.role', 'node.description',
                                      'device.serial')},
            {'media.class': 'Video/Source', 'media.role': 'Camera',
             'node.description': 'halod door', 'device.serial': 'halod-halod_door'})
        self.until(lambda: daemon.status('one')['outputs'][0]['state'] == 'writing')
        status = daemon.status('one')['outputs'][0]
        self.assertEqual((status['kind'], status['target'], status['readers']),
                         ('pipewire', 'halod door', False))
        self.check_on_demand(daemon)
        for form in PIXELS:  # each of the four, by negotiation
            with self.subTest(form):
                player = self.real(form=form)
                player.close()
                self.assertEqual(player.size, SIZE)
                self.assertEqual({p[2] for p in player.pictures}, {form})
                self.assertEqual({len(p[3]) for p in player.pictures},
                                 {int(WIDTH * HEIGHT * BYTES[form])})
                self.assert_filtered(self.shown(player), form)
        self.check_two()
        self.assertEqual(self.session.logged_by('wireplumber', 'halod-camera'), '')

    def check_on_demand(self, daemon):
        """Nobody listens: the camera is closed and nothing is filtered."""
        self.assertEqual(self.played.log('STREAMON'), [])
        self.real().close()
        self.assertTrue(self.played.log('STREAMON'))
        self.until(lambda: daemon.status('one')['camera'] == 'closed')

        def rests():
            filtered = daemon.status('one')['filtered']
            time.sleep(1)  # it is told twice a second
            return daemon.status('one')['filtered'] == filtered
        self.until(rests)
        self.real().close()
        self.assertEqual(len(self.played.log('STREAMON')), 2)

    def check_two(self):
        """The second one gets the format of the first, and each its own end."""
        first = self.real(form='nv12')
        second = self.player(NODE)
        self.assertIsNotNone(second.wait(lambda p: not is_blank(p, 'nv12')))
        self.assertEqual(second.pictures[0][2], 'nv12')
        first.close()
        closed = now()
        self.assertIsNotNone(second.wait(lambda p: True, since=closed + 0.5))
        second.close()
        self.assert_filtered(self.shown(first), 'nv12')
        self.assert_filtered(self.shown(second), 'nv12')

    @unittest.skipUnless(shutil.which('gst-launch-1.0'), 'no gst-launch-1.0')
    def test_gstreamer(self):
        version = subprocess.run(['pipewire', '--version'], capture_output=True, text=True,
                                 timeout=60 * PATIENCE, check=False).stdout
        if 'libpipewire 1.4.' in version:
            self.skipTest("the GStreamer elements of PipeWire 1.4 stop at times, each other's too")
        self.play()
        self.wait_node()
        self.real()
        out = self.path('gst.raw')
        done = subprocess.run(
            ['gst-launch-1.0', '-q', 'pipewiresrc', f'target-object={NODE}', 'num-buffers=30', '!',
             'video/x-raw,format=I420', '!', 'filesink', 'location=' + out],
            env=self.session.environment, capture_output=True, text=True, timeout=60 * PATIENCE,
            check=False)
        if 'no element "pipewiresrc"' in done.stderr:
            self.skipTest('no gstreamer1.0-pipewire')
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(out, 'rb') as file:
            shown = cut(file.read(), WIDTH * HEIGHT * 3 // 2)
        self.assertEqual(len(shown), 30)
        self.assert_filtered(shown)

    @alone
    def test_tools(self):
        """Which wait two seconds for PipeWire: what halod devices and haloctl doctor say of it."""
        daemon = self.play()
        self.wait_node()
        environment = {**halod_environment(), **self.environment()}

        def said(*words):
            return subprocess.run(words, env=environment, capture_output=True, text=True,
                                  timeout=60 * PATIENCE, check=False).stdout
        listed = said(HALOD, 'devices')
        self.assertIn(f'pipewire:{NODE}: halod door (halod, pipewire)', listed)
        self.assertIn('programs see it', listed)
        self.assertIn('programs see halod door (filtered)',
                      said(HALOCTL, '--socket', daemon.path, 'doctor'))
        self.session.stop('pipewire')
        self.assertIn('PipeWire cannot be reached', said(HALOCTL, '--socket', daemon.path, 'doctor'))
        self.session.begin_pipewire()

    @alone
    def test_times(self):
        """In the graph's clock, in order, not in the future and not long ago."""
        self.play()
        self.wait_node()
        player = self.player(NODE, frames=50)
        self.assertEqual(player.finish(), 0)
        times = [p[1] for p in player.pictures]
        self.assertEqual(times, sorted(times))
        late = sorted(came - taken for came, taken, _, _ in player.pictures)
        self.assertGreaterEqual(late[0], 0)
        self.assertLess(late[0], 2 * PATIENCE)  # the rest may have met a busy machine
        self.assertLess(late[-1], 20 * PATIENCE)


class Restarts(PipewireTest):
    def test_all(self):
        """The server comes after halod. Then the node and the consumer stay, when others restart."""
        self.session.stop('wireplumber')
        self.session.stop('pipewire')
        daemon = self.play(capture=ALWAYS)
        self.until(lambda: 'PipeWire cannot be reached' in daemon.logged())
        self.session.begin_pipewire()
        self.session.begin('wireplumber')
        identity = self.wait_node()['object.id']
        player = self.player(NODE, 'i420')
        self.assertIsNotNone(player.wait(lambda p: not is_card(p, SIZE)))
        self.check_engines(daemon, player)
        self.session.restart('wireplumber')
        restarted = now()
        self.assertIsNotNone(player.wait(lambda p: not is_card(p, SIZE), since=restarted + 1))
        self.assert_filtered(self.shown(player))
        self.check_reload(daemon, player)
        self.assertEqual(self.session.nodes()[NODE]['object.id'], identity)
        self.assertIsNone(player.process.poll())
        player.close()
        self.check_one_that_takes_nothing(daemon, identity)

    def check_engines(self, daemon, player):
        """A card stands in for the engine."""
        for _ in range(min(max(ROUNDS // 4, 1), 50)):
            killed = now()
            self.kill_engine(daemon)
            daemon.wait_state('one', 'running')
            self.assertIsNotNone(player.wait(lambda p: not is_card(p, SIZE), since=killed + 0.5))
        stopped = now()
        daemon.kill_engine_of('one', signal.SIGSTOP)
        self.assertIsNotNone(player.wait(lambda p: is_card(p, SIZE), since=stopped))
        daemon.kill_engine_of('one', signal.SIGCONT)
        self.assertIsNotNone(player.wait(lambda p: not is_card(p, SIZE), since=now()))

    def kill_engine(self, daemon):
        restarts = daemon.status('one')['restarts']
        daemon.kill_engine_of('one')
        self.assertTrue(wait_until(lambda: daemon.status('one')['restarts'] > restarts),
                        daemon.logged())

    def check_reload(self, daemon, player):
        """What older filters made is not shown any more."""
        daemon.write({'one': self.settings(filters='solid=gray', capture=ALWAYS)})
        daemon.control('Reload')
        reloaded = now()
        self.assertIsNotNone(player.wait(lambda p: True, since=reloaded + 0.5))
        older = [p for p in player.since(reloaded + 0.1) if not is_blank(p[3], 'i420')]
        self.assertFalse([p for p in older if p[1] > reloaded + 0.1])

    def check_one_that_takes_nothing(self, daemon, identity):
        """It keeps all buffers, as one does that is killed while WirePlumber restarts, so others would
        get nothing: it is reported, and the node is added again."""
        player = self.player(NODE, 'i420', rounds=0)
        self.until(lambda: 'has read no frame for 5 s' in daemon.logged())
        self.until(lambda: self.session.nodes().get(NODE, {}).get('object.id') not in (None, identity))
        player.close()
        self.assertEqual(self.player(NODE, 'i420', frames=10).finish(), 0)
        self.assertGreaterEqual(daemon.status('one')['outputs'][0]['failures'], 1)

    @alone
    def test_consumers_come_and_go(self):
        daemon = self.play(capture=ALWAYS)
        daemon.wait_state('one', 'running')
        self.wait_node()
        self.assertEqual(self.player(NODE, frames=2, rounds=2).finish(), 0)
        seen = [daemon.descriptors()]
        self.assertTrue(wait_until(lambda: seen.append(daemon.descriptors()) or
                                   len(seen) > 20 and len(set(seen[-20:])) == 1), seen)
        before = seen[-1]
        player = self.player(NODE, frames=3, rounds=ROUNDS)
        self.assertEqual(player.finish(ROUNDS), 0)
        self.assertEqual(len(player.pictures), 3 * ROUNDS)
        self.assertTrue(wait_until(lambda: daemon.descriptors() <= before),
                        (before, daemon.descriptors()))
        self.assert_filtered(self.shown(player))

    @alone
    def test_pipewire(self):
        """The node is back as soon as the server is, with descriptors flat."""
        daemon = self.play(capture=ALWAYS)
        self.wait_node()
        before, serials, waits = None, set(), []
        for number in range(min(max(ROUNDS // 10, 2), 20)):
            self.session.restart('wireplumber', 'pipewire',
                                 number=signal.SIGKILL if number % 2 else signal.SIGTERM)
            restarted = now()
            serials.add(self.wait_node()['device.serial'])
            waits.append(now() - restarted)
            player = self.player(NODE, 'i420')
            self.assertIsNotNone(player.wait(lambda p: not is_blank(p, 'i420')))
            self.assert_filtered(self.shown(player))
            player.close()
            before = before or daemon.descriptors()
        self.assertEqual(serials, {'halod-' + NODE})
        self.assertLess(min(waits), 4 * PATIENCE)
        self.assertTrue(wait_until(lambda: daemon.descriptors() <= before),
                        (before, daemon.descriptors()))


class Input(PipewireTest):
    """A node as the input: here one that shows the played camera as it is."""

    def settings_of_node(self, name):
        return {**self.settings(name, filters='null', capture=ALWAYS), 'privacy': 'off'}

    def both(self, source, capture=None):
        return {'camera': self.settings_of_node('other cam'),
                'one': self.settings(input=source, capture={**ALWAYS, **(capture or {})})}

    def load(self, daemon, streams):
        daemon.write(streams)
        daemon.control('Reload')
        daemon.wait_state('one', 'running')
        daemon.wait_pictures('one', 5)

    def test_all(self):
        """By its name, by what it shows, in the format that the settings ask for, and by its number; and
        while it is gone, with PipeWire as well."""
        daemon = self.play(streams=self.both('pipewire:other_cam'))
        number = self.wait_node('other_cam')['object.id']
        self.wait_node()
        player = self.real()
        player.close()
        self.assert_filtered(self.shown(player))
        for source, form in (('pipewire:other cam', 'nv12'), ('pipewire:other_cam', 'yuyv')):
            self.load(daemon, self.both(source, {'format': form}))
            self.assertEqual(daemon.status('one')['capture']['format'], form)
        self.load(daemon, self.both(f'pipewire:{number}'))
        self.check_gone_and_back(daemon, number)
        for _ in range(2):
            self.session.restart('wireplumber', 'pipewire')
            self.wait_node()
            daemon.wait_state('one', 'running')
            daemon.wait_pictures('one', 5)
        self.assert_filtered(self.shown(self.real()))

    def check_gone_and_back(self, daemon, number):
        """A card while it is gone, and no other camera, even with its number."""
        player = self.player(NODE, 'i420')
        self.assertIsNotNone(player.wait(lambda p: not is_card(p, SIZE)), daemon.logged())
        daemon.control('Stop', name='camera')
        self.until(lambda: 'other_cam' not in self.session.nodes())
        gone = now()
        self.assertIsNotNone(player.wait(lambda p: is_card(p, SIZE), since=gone))
        daemon.write({**self.both(f'pipewire:{number}'), 'usurper': self.settings_of_node('usurper')})
        daemon.control('Reload')
        daemon.control('Stop', name='camera')
        self.wait_node('usurper')
        time.sleep(1)
        self.assertEqual(daemon.state('one'), 'waiting')
        daemon.write(self.both('pipewire:other_cam'))
        daemon.control('Start', name='camera')
        started = now()
        self.assertIsNotNone(player.wait(lambda p: not is_card(p, SIZE), since=started),
                             daemon.logged())
        daemon.control('Reload')
        player.close()
        self.assert_filtered(self.shown(player))

    @alone
    def test_stall(self):
        """A node that sends nothing is reported, and opened again."""
        provider = start_halod('run', '-i', '/dev/video0', '-vf', 'null', 'pipewire:provider',
                               environment=self.environment())
        self.addCleanup(provider.stdout.close)
        self.addCleanup(provider.stderr.close)
        self.addCleanup(provider.wait)
        self.addCleanup(provider.kill)
        self.wait_node('provider')
        daemon = self.play(streams={'one': self.settings(input='pipewire:provider',
                                                         capture={**ALWAYS, 'stall': 1})})
        daemon.wait_state('one', 'running')
        daemon.wait_pictures('one', 5)
        provider.send_signal(signal.SIGSTOP)
        daemon.wait_state('one', 'waiting')
        self.assertIn('sends nothing', daemon.status('one')['why'])
        provider.send_signal(signal.SIGCONT)
        daemon.wait_state('one', 'running')
        daemon.wait_pictures('one', 5)


class Run(PipewireTest):
    """halod run, of which the recipes consist."""

    def begin(self, *words):
        process = start_halod('run', '-i', '/dev/video0', '-vf', CHAIN, *words,
                              environment=self.environment())
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    @alone
    def test_recipe(self):
        """It waits two seconds for PipeWire."""
        process = self.begin('pipewire:')
        self.assertEqual(self.wait_node('halod')['node.description'], 'halod')
        self.assertEqual(self.played.log('STREAMON'), [])
        for form in ('i420', 'nv12'):
            player = self.player('halod', form, frames=20)
            self.assertEqual(player.finish(), 0)
            self.assert_filtered(self.shown(player), form)
        self.session.restart('wireplumber', 'pipewire')
        self.wait_node('halod')
        before = descriptors(process.pid)
        player = self.player('halod', frames=20)
        self.assertEqual(player.finish(), 0)
        self.assert_filtered(self.shown(player))
        self.assertTrue(wait_until(lambda: descriptors(process.pid) <= before + 1))
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(20 * PATIENCE), 130)


class Page(http.server.BaseHTTPRequestHandler):
    """Asks for a camera, until there is one, and plays it."""
    TEXT = b'''<!doctype html><video id=video autoplay muted></video><canvas id=canvas></canvas><script>
        let state = 'begun';
        async function play() {
            try {
                video.srcObject = await navigator.mediaDevices.getUserMedia({video: true});
                await video.play();
                state = 'playing';
            } catch (error) {
                state = `${error.name}: ${error.message}`;
                setTimeout(play, 500);
            }
        }
        async function labels() {
            return (await navigator.mediaDevices.enumerateDevices()).map(device => device.label);
        }
        function picture() {
            [canvas.width, canvas.height] = [video.videoWidth, video.videoHeight];
            const context = canvas.getContext('2d');
            context.drawImage(video, 0, 0);
            return [...context.getImageData(0, 0, canvas.width, canvas.height).data];
        }
        play();
        </script>'''

    def do_GET(self):
        self.send_response(200)
        self.send_header('Content-Type', 'text/html')
        self.end_headers()
        self.wfile.write(self.TEXT)

    def log_message(self, *_):
        pass


@alone
class InBrowser(PipewireTest):
    @unittest.skipIf(portal.missing(), 'not installed: ' + ', '.join(portal.missing()))
    @unittest.skipIf(Chromium.missing(), Chromium.missing())
    def test_chromium(self):
        """Through the portal: it lists the camera and plays filtered pictures."""
        portal.begin(self.session)
        self.play()
        self.wait_node()
        server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Page)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with mock.patch.dict(os.environ, self.session.environment):
            browser = Chromium('--enable-features=WebRtcPipeWireCamera',
                               '--use-fake-ui-for-media-stream')
        self.addCleanup(browser.close)
        browser.go(f'http://127.0.0.1:{server.server_port}/')
        self.assertTrue(wait_until(lambda: browser.script('return state') == 'playing', 40),
                        browser.script('return state'))
        self.assertEqual(browser.script('return labels()'), ['halod door'])
        shown = []

        def find():
            rgba = bytes(browser.script('return picture()'))
            shown.append(b''.join(rgba[at:at + 3] for at in range(0, len(rgba), 4)))
            return len(shown) > 5 and not is_blank(shown[-1], 'rgb')
        self.assertTrue(wait_until(find))
        self.assertEqual(len(shown[-1]), WIDTH * HEIGHT * 3)
        self.assert_filtered(shown, 'rgb')


if __name__ == '__main__':
    main()
