# SPDX-License-Identifier: BSD-2-Clause
# Live playlists of the daemon: players follow them across dead engines, cards, and another daemon.
import glob
import os
import re
import shutil

from halotest.daemon import DaemonTest, Watcher, free_port, main
from halotest import decodes_cleanly, has_encoder, packets, plain_clip, probe, raw_frames, silent_clip
from test_cards import Source

SIZE = 160, 120  # of plain_clip()


class Players(DaemonTest):
    LIST = 'hls/door.m3u8'

    def live(self, chain='solid', **more):
        """A stream with sound whose pictures are all black: cards, too."""
        return self.stream(input=plain_clip('.mkv', 4), loop=True, realtime=True, filters=chain,
                           on_error='solid',
                           outputs=[{'hls': self.path(self.LIST), 'segment_time': 1, **more}])

    def playlist(self):
        try:
            with open(self.path(self.LIST), encoding='ascii') as file:
                return file.read()
        except FileNotFoundError:
            return ''

    def listed(self):
        """[(segment, its header, its length, whether it begins a new timeline)]; each must exist."""
        found, header, length, broken = [], None, None, False
        for line in self.playlist().splitlines():
            if line == '#EXT-X-DISCONTINUITY':
                broken = True
            elif line.startswith('#EXT-X-MAP:'):
                header = re.fullmatch(r'#EXT-X-MAP:URI="([\w.-]+)"', line).group(1)
            elif line.startswith('#EXTINF:'):
                length = float(line[8:].rstrip(','))
            elif not line.startswith('#'):
                found.append((line, header, length, broken))
                broken = False
        return found

    def number(self):
        """Of the newest segment."""
        listed = self.listed()
        return int(re.search(r'(\d+)\.m4s$', listed[-1][0]).group(1)) if listed else -1

    def wait_segments(self, daemon, count):
        """So many new ones."""
        before = self.number()
        begun = before if before >= 0 else None

        def come():
            nonlocal begun
            newest = self.number()
            if begun is None and newest >= 0:
                begun = newest - len(self.listed())
            return begun is not None and newest >= begun + count
        self.until(come, self.playlist)

    def joined(self, name, header):
        """A segment with its header, as a file, which stays when halod removes them."""
        path = self.path(name + '.mp4')
        if os.path.exists(path):
            return path
        with open(path + '.new', 'wb') as to:
            for part in (header, name):
                with open(self.path('hls/' + part), 'rb') as file:
                    shutil.copyfileobj(file, to)
        os.rename(path + '.new', path)
        return path

    def assert_hidden(self, path):
        """Nothing of the input's picture is there."""
        frames = raw_frames(path, pixel_format='gray')
        size = SIZE[0] * SIZE[1]
        self.assertGreater(len(frames), 0)
        for at in range(0, len(frames), size):
            frame = frames[at:at + size]
            self.assertLess(max(frame) - min(frame), 8)

    def kept(self):
        """The segments that are listed, each as a file of ours: those of the next list if halod has
        removed one meanwhile."""
        found = []

        def are_there():
            found[:] = self.listed()
            try:
                for name, header, _, _ in found:
                    self.joined(name, header)
            except FileNotFoundError:
                return False
            return True
        self.until(are_there, lambda: found)
        return found

    def assert_playable(self, listed):
        for name, header, _, _ in listed:
            path = self.joined(name, header)
            self.assertTrue(decodes_cleanly(path), name)
            self.assert_hidden(path)
            first = packets(path, 'v:0')[0]
            self.assertIn('K', first['flags'], name)

    def test_engines_and_daemons_that_end(self):
        """H.264 in 4:2:0, AAC, a keyframe at the begin of each segment. The playlist goes on when an engine
        dies, and with the next daemon, which removes what the first has left; and when its folder is
        removed."""
        daemon = self.start({'one': self.live(keep=100), 'safari': self.safari()})
        self.wait_segments(daemon, 2)
        newest = self.number()
        daemon.kill_engine_of('one')
        self.until(lambda: self.number() > newest + 1)
        self.assertEqual(daemon.status('one')['restarts'], 1)
        listed = self.kept()
        self.assertEqual([broken for *_, broken in listed].count(True), 1, self.playlist())
        self.assertEqual(len({header for _, header, _, _ in listed}), 2)
        self.assertEqual({(kind['codec_name'], kind.get('pix_fmt')) for kind in
                          probe(self.joined(*listed[0][:2]))['streams']},
                         {('h264', 'yuv420p'), ('aac', None)})
        # Files come before the engine's next report of them.
        self.until(lambda: daemon.status('one')['outputs'][0].get('segments', 0) >= 1, daemon.stands)
        output = daemon.status('one')['outputs'][0]
        self.assertEqual((output['state'], output['target'], output['path']),
                         ('writing', self.path(self.LIST), self.path(self.LIST)))
        self.assertGreater(output['bytes'], 1000)
        self.assertEqual(daemon.stop(), 0)
        self.assert_playable(self.kept())
        self.assert_tag()
        newest, before = self.number(), os.listdir(self.path('hls'))
        daemon = self.start({'one': self.live(keep=3)})
        self.wait_segments(daemon, 6)
        self.assertGreaterEqual(self.number(), newest + 6)
        # What is no longer listed goes after the list is there.
        self.until(lambda: set(before) & set(os.listdir(self.path('hls'))) == {'door.m3u8'},
                   lambda: os.listdir(self.path('hls')))
        self.assertIn('#EXT-X-DISCONTINUITY-SEQUENCE:2\n', self.playlist())
        os.rename(self.path('hls'), self.path('gone'))  # at once: the engine writes there
        shutil.rmtree(self.path('gone'), ignore_errors=True)
        self.until(lambda: self.number() >= 0)

    def safari(self):
        """HEVC."""
        codec = {'codec': 'libx265', 'preset': 'ultrafast'} if has_encoder('libx265') else {}
        return {**self.live(), 'outputs': [
            {'hls': self.path('safari/door.m3u8'), 'segment_time': 1, 'video': codec}]}

    def assert_tag(self):
        """The one that Safari wants."""
        with open(glob.glob(self.path('safari/*-init-*.mp4'))[0], 'rb') as file:
            self.assertIn(b'hvc1' if has_encoder('libx265') else b'avc1', file.read())

    def test_cards(self):
        """While the source is away, the playlist goes on with cards."""
        port = free_port()
        with open(silent_clip('.ts', 2), 'rb') as file:
            source = Source(port, file.read())
        self.addCleanup(source.close)
        daemon = self.start({'one': self.stream(input=f'tcp://127.0.0.1:{port}', input_timeout=600, outputs=[
            {'hls': self.path(self.LIST), 'segment_time': 1}])})
        source.go.release()
        self.wait_segments(daemon, 1)
        daemon.wait_state('one', 'waiting')
        self.wait_segments(daemon, 3)
        name, header, length, _ = self.kept()[-1]
        path = self.joined(name, header)
        self.assertTrue(decodes_cleanly(path))
        self.assertGreater(length, 0.3)
        frames = raw_frames(path, filters='scale=12:8:flags=area', pixel_format='gray')
        self.assertTrue(Watcher.is_card(frames[:96]))


if __name__ == '__main__':
    main()
