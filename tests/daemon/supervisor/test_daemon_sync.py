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
        """Until all have ended; returns the daemon, and what viewers have kept."""
        daemon = Daemon(self.folder, streams)
        self.addCleanup(daemon.stop)
        viewers = [Viewer(out['unix']) for s in streams.values() for out in s['outputs']
                   if 'unix' in out]
        for name, stream in streams.items():
            if 'loop' not in stream:
                daemon.wait_state(name, 'ended')
        return daemon, viewers

    def assert_together(self, made):
        for path, off in at_once(lead, made):
            with self.subTest(os.path.basename(path)):
                self.assertLessEqual(abs(off), ONE_FRAME)

    @alone
    def test_every_socket(self):
        streams = self.streams(lambda name, end: {'unix': self.path(name + end)}, realtime=True)
        daemon, viewers = self.play(streams)
        daemon.stop()
        for viewer in viewers:
            viewer.join(20 * PATIENCE)
        made = glob.glob(self.path('*.seen.*'))
        self.assertEqual(len(made), sum(len(stream['outputs']) for stream in streams.values()))
        self.assert_together(made)

    def test_every_file_and_copied_sound(self):
        """Nothing drops frames where it is not paced. Sound that is copied is where a container can hold it;
        where it cannot, it is encoded if no other output has it, or said to be missing, once."""
        files = self.streams(lambda name, end: {'file': self.path(f'{name}-%s{end}'), 'segment_time': 2})
        flac = {'input': source('.flac.mkv', moment=0, period=1, seconds=4), 'filters': 'gblur=sigma=2'}
        joint = self.joint()
        streams = {**files, 'some': {**flac, 'outputs': [
            {'file': self.path('some.ts'), 'audio': 'copy'}, {'file': self.path('some.mkv'), 'audio': 'copy'}]},
            'none': {**flac, 'outputs': [{'file': self.path('none.ts'), 'audio': 'copy'}]},
            'joint': {'input': joint, 'filters': 'gblur=sigma=2', 'outputs': [
                {'file': self.path(name), 'audio': sound} for name, sound in
                (('o.mp4', 'copy'), ('o.mkv', 'copy'), ('encoded.mkv', 'aac'))]},
            'watched': {**flac, 'loop': True, 'realtime': True, 'outputs': [
                {'unix': self.path('u.ts'), 'audio': 'copy'}, {'unix': self.path('u.mkv'), 'audio': 'copy'}]}}
        daemon, _ = self.play(streams)
        self.assert_told(daemon)
        daemon.stop()  # until then, files may still be written
        made = [self.path('some.mkv'), self.path('none.ts')]
        for stream in files.values():
            for out in stream['outputs']:  # the last segment may be too short for a flash
                segments = sorted(glob.glob(out['file'].replace('%s', '*')))[:-1]
                self.assertGreater(len(segments), 0, out['file'])
                made += segments
        self.assert_together(made)
        log = daemon.logged()
        self.assertEqual(log.count('mpegts does not support flac audio'), 2, log)  # of some, and of watched
        self.assertEqual(log.count('mpegts cannot hold flac audio, so it is encoded as aac'), 1, log)
        self.assert_changed(log)

    def assert_told(self, daemon):
        """Where another output holds the copied sound, the one that cannot says that it fails."""
        self.assertTrue(wait_until(lambda: 'output' in daemon.status('watched')['degraded']), daemon.logged())
        status = daemon.status('watched')
        for why in status['why'], status['outputs'][0]['why']:
            self.assertIn('mpegts does not support flac audio: use another codec (audio: aac)', why)
        self.assertEqual(status['outputs'][0]['state'], 'failed')
        self.assertNotIn('state', status['outputs'][1])

    def joint(self):
        """Sound that changes its parameters."""
        parts = [clip('.ts', *video_source(seconds=2), *audio_source(2, rate=rate), '-output_ts_offset',
                      at, *SOURCES['.ts']) for rate, at in ((48000, 0), (44100, 2))]
        joint = self.path('joint.ts')
        with open(joint, 'wb') as file:
            for part in parts:
                with open(part, 'rb') as one:
                    file.write(one.read())
        return joint

    def assert_changed(self, log):
        """AAC of MPEG-TS says its parameters in each packet, of MP4 and Matroska once: what does not fit is
        left out, and what is encoded goes on."""
        outputs = [self.path(name) for name in ('o.mp4', 'o.mkv', 'encoded.mkv')]
        frames = [len(frame_hashes(path, '0:a')) for path in outputs]
        part = 2 * 48000 / 1024
        for count in frames[:2]:
            self.assertLess(abs(count - part), part / 4, frames)
        self.assertGreater(frames[2], part * 7 / 4, frames)
        output = re.findall('stream 1: .* of the AAC audio changes at 00:00:0(.*); packets', log)
        self.assertEqual(len(output), 1, log)
        self.assertAlmostEqual(float(output[0]), 2 + 1.4, delta=0.2)  # MPEG-TS begins at 1.4
        for path in outputs:
            ffmpeg('-xerror', '-i', path, '-map', '0:a', '-f', 'null', '-')


if __name__ == '__main__':
    main()
