# SPDX-License-Identifier: BSD-2-Clause
# Pictures and sound of what the daemon writes and serves stay together, in every segment and at
# every viewer. HALOTEST_MATRIX=whole takes every container as the input.
import glob
import os
import re
import socket
import threading

from halotest.daemon import PATIENCE, Daemon, HaloTest, main
from halotest.flashbeep import ONE_FRAME, SOURCES, at_once, is_whole, lead, source
from halotest import (alone, audio_source, clip, ffmpeg, frame_hashes, video_source, wait_until)

FILES = ('.mp4', '.mov', '.mkv', '.ts', '.nut')
SOCKETS = ('.ts', '.mkv', '.nut')
# Where copied sound fits all of these.
COPIED = ('.mp4', '.mpg', '.avi', '.flv', '.ts')


class Viewer(threading.Thread):
    """Keeps all that comes from an output socket."""

    def __init__(self, path):
        super().__init__(daemon=True)
        self.path = path
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.start()

    def run(self):
        with open(self.path + '.seen' + os.path.splitext(self.path)[1], 'wb') as file:
            while data := self.socket.recv(1 << 16):
                file.write(data)
        self.socket.close()


class Daemons(HaloTest):
    def streams(self, output, **more):
        """From clips with a flash in each second; output is a function of a name, an ending and a sound."""
        names = [name for name in SOURCES if name != '.flac.mkv'] if is_whole() else ['.mp4', '.ts']
        return {name[1:]: {
            'input': source(name, moment=0, period=1, seconds=4), 'filters': 'gblur=sigma=2', **more,
            'outputs': [{**output(f'{name[1:]}-{sound}', end), 'audio': sound, 'video': {'gop': 25}}
                        for sound in (['aac', 'copy'] if name in COPIED else ['aac'])
                        for end in (FILES if 'realtime' not in more else SOCKETS)]}
            for name in names}

    def play(self, streams):
        """Until all have ended; returns what viewers have kept."""
        daemon = Daemon(self.folder, streams)
        self.addCleanup(daemon.stop)
        viewers = [Viewer(out['unix']) for s in streams.values() for out in s['outputs']
                   if 'unix' in out]
        for name in streams:
            daemon.wait_state(name, 'ended')
        daemon.stop()
        for viewer in viewers:
            viewer.join(20 * PATIENCE)
        return glob.glob(self.path('*.seen.*'))

    def assert_together(self, made):
        for path, off in at_once(lead, made):
            with self.subTest(os.path.basename(path)):
                self.assertLessEqual(abs(off), ONE_FRAME)

    def test_every_file(self):
        """Nothing drops frames where it is not paced."""
        streams = self.streams(lambda name, end: {'file': self.path(f'{name}-%s{end}'), 'segment_time': 2})
        self.play(streams)
        made = []
        for stream in streams.values():
            for out in stream['outputs']:  # the last segment may be too short for a flash
                segments = sorted(glob.glob(out['file'].replace('%s', '*')))[:-1]
                self.assertGreater(len(segments), 0, out['file'])
                made += segments
        self.assert_together(made)

    @alone
    def test_every_socket(self):
        streams = self.streams(lambda name, end: {'unix': self.path(name + end)}, realtime=True)
        made = self.play(streams)
        self.assertEqual(len(made), sum(len(stream['outputs']) for stream in streams.values()))
        self.assert_together(made)

    def test_copied_sound_that_a_container_cannot_hold(self):
        """The line comes once, and the others go on."""
        clip = source('.flac.mkv', moment=0, period=1, seconds=4)
        outputs = [{'file': self.path('o.ts'), 'audio': 'copy'}, {'unix': self.path('u.ts'),
                   'audio': 'copy'}, {'file': self.path('o.mkv'), 'audio': 'copy'}]
        daemon = Daemon(self.folder, {'one': {'input': clip, 'filters': 'gblur=sigma=2', 'outputs': outputs}})
        self.addCleanup(daemon.stop)
        daemon.wait_state('one', 'ended')
        daemon.stop()  # until then, files may still be written
        self.assertEqual(daemon.logged().count('mpegts does not support flac audio'), 1, daemon.logged())
        self.assertLessEqual(abs(lead(self.path('o.mkv'))), ONE_FRAME)

    def test_copied_sound_that_no_output_can_hold(self):
        """It is encoded, and stays together with the pictures; the line comes once."""
        clip = source('.flac.mkv', moment=0, period=1, seconds=4)
        daemon = Daemon(self.folder, {'one': {'input': clip, 'filters': 'gblur=sigma=2', 'outputs': [
            {'file': self.path('o.ts'), 'audio': 'copy'}]}})
        self.addCleanup(daemon.stop)
        daemon.wait_state('one', 'ended')
        daemon.stop()  # until then, files may still be written
        self.assertEqual(daemon.logged().count('mpegts cannot hold flac audio, so it is encoded as aac'),
                         1, daemon.logged())
        self.assertLessEqual(abs(lead(self.path('o.ts'))), ONE_FRAME)

    def test_viewers_that_get_nothing_are_told_of(self):
        """Where another output holds the copied sound, the one that cannot says that it fails."""
        clip = source('.flac.mkv', moment=0, period=1, seconds=4)
        daemon = Daemon(self.folder, {'one': {
            'input': clip, 'filters': 'gblur=sigma=2', 'loop': True, 'realtime': True,
            'outputs': [{'unix': self.path('u.ts'), 'audio': 'copy'},
                        {'unix': self.path('u.mkv'), 'audio': 'copy'}]}})
        self.addCleanup(daemon.stop)
        daemon.wait_state('one', 'running')
        Viewer(self.path('u.ts'))
        self.assertTrue(wait_until(lambda: 'output' in daemon.status('one')['degraded']),
                        daemon.logged())
        status = daemon.status('one')
        for why in status['why'], status['outputs'][0]['why']:
            self.assertIn('mpegts does not support flac audio: use another codec (audio: aac)', why)
        self.assertEqual(status['outputs'][0]['state'], 'failed')
        self.assertNotIn('state', status['outputs'][1])

    def test_copied_sound_that_changes_its_parameters(self):
        """AAC of MPEG-TS says them in each packet, of MP4 and Matroska once: what does not fit is
        left out, and what is encoded goes on."""
        parts = [clip('.ts', *video_source(seconds=2), *audio_source(2, rate=rate), '-output_ts_offset',
                      at, *SOURCES['.ts']) for rate, at in ((48000, 0), (44100, 2))]
        joint = self.path('joint.ts')
        with open(joint, 'wb') as file:
            for part in parts:
                with open(part, 'rb') as one:
                    file.write(one.read())
        outputs = [{'file': self.path(name), 'audio': sound} for name, sound in
                   (('o.mp4', 'copy'), ('o.mkv', 'copy'), ('encoded.mkv', 'aac'))]
        daemon = Daemon(self.folder, {'one': {'input': joint, 'filters': 'gblur=sigma=2',
                                              'outputs': outputs}})
        self.addCleanup(daemon.stop)
        daemon.wait_state('one', 'ended')
        daemon.stop()  # until then, files may still be written
        frames = [len(frame_hashes(out['file'], '0:a')) for out in outputs]
        part = 2 * 48000 / 1024
        for count in frames[:2]:
            self.assertLess(abs(count - part), part / 4, frames)
        self.assertGreater(frames[2], part * 7 / 4, frames)
        output = re.findall('stream 1: .* of the AAC audio changes at 00:00:0(.*); packets', daemon.logged())
        self.assertEqual(len(output), 1, daemon.logged())
        self.assertAlmostEqual(float(output[0]), 2 + 1.4, delta=0.2)  # MPEG-TS begins at 1.4
        for out in outputs:
            ffmpeg('-xerror', '-i', out['file'], '-map', '0:a', '-f', 'null', '-')


if __name__ == '__main__':
    main()
