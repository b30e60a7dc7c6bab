# SPDX-License-Identifier: BSD-2-Clause
# The daemon's file: --check-config, --dump-config, --schema, conf.d, ${NAME}, the manual page.
import functools
import json
import os
import re
import subprocess
import textwrap
import unittest

import halotest
from halotest import FFMPEG, HaloTest, call
from halotest.schema import Schema

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..')
EXAMPLE = os.path.join(ROOT, 'config', 'halod.yaml')
YAML_JSON = os.environ.get('HALO_YAML_JSON')

STREAM = 'streams:\n  a:\n    input: a.mkv\n    filters: solid\n'
CAMERA = STREAM.replace('a.mkv', '/dev/video0') + '    capture: '
OUTPUT = STREAM + '    outputs:\n    - '

# The direction's own example, but for the virtual camera.
FULL = '''
control: {path: /run/halod/control.sock}
http: {listen: 127.0.0.1:8480}
detectors: {faces: {wait: 200ms, enter: 9, hold: 2s, margin: 30%, score: 0.6, low: 0.3}}
streams:
  desk:
    input: /dev/v4l/by-id/usb-046d_0825-video-index0
    capture: {size: 1280x720, fps: 30, format: mjpeg, open: on-demand, controls: {gain: 3}}
    filters: avgblur=sizeX=9
    region_feed: {margin: 15%, hold: 500ms, limit: 2}
    detectors: {people: {shared: true, command: /opt/find/people -q}}
  door:
    input: "rtsp://viewer:${PASSWORD}@door.example/1"
    filters: "gblur=sigma=12"
    on_error: card
    renditions:
      hard: {filters: [{gblur: {sigma: 40}}, {convolution: {0m: [[1, 2, 1], [2, 4, 2], [1, 2, 1]]}}, solid]}
    outputs:
      - unix: /run/halod/door.ts
        video: {codec: libx264, bitrate: 4M, gop: 1s, crf: 23, fps: 30000/1001, size: 640x360}
        audio: copy
      - file: /srv/video/door-%Y%m%d-%H%M%S.mkv
        rendition: hard
        segment_time: 60s
        keep_size: 20G
        hook: /usr/local/bin/kept
      - {hls: /srv/hls/door/index.m3u8, segment_time: 4, keep: 8}
      - {url: "srt://listener.example:9000?passphrase=${PASSWORD}", format: mpegts, audio: aac}
      - unix: /run/halod/door.fd
      - {unix: /run/halod/door.nut, video: {codec: raw}}
      - {v4l2: /dev/video10, format: nv12, rendition: hard, video: {size: 640x360, fps: 25}}
      - v4l2: /dev/video11
  road: {input: road.mp4, loop: true, realtime: true, filters: "avgblur=sizeX=9", gpu: 0,
         outputs: [{unix: /run/halod/road.nut}]}
  check: {input: "test:", filters: "gblur=sigma=3", gpu: auto, last_for: 1:30,
          outputs: [{null: true}]}
'''
PASSWORD = {'PASSWORD': 'hush#: {[,'}


class ConfigTest(HaloTest):
    def write(self, text, name='halod.yaml'):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'wb') as file:
            file.write(text if isinstance(text, bytes) else text.encode())
        return path

    def check(self, path, streams, **options):
        run = self.halod('--check-config', path, **options)
        word = 'stream' if streams == 1 else 'streams'
        first, *others = run.out.decode().splitlines()
        self.assertEqual(first, f'{path}: ok, {streams} {word}', self.logged(run))
        for line in others:
            self.assertRegex(line, r'^stream \w+(, rendition \w+)?: (hides|what is left of) ')
        lacking = r'halod: stream \w+: the detector of \w+ cannot be started: .*'  # on this machine
        self.assertEqual([line for line in run.err.splitlines() if not re.fullmatch(lacking, line)],
                         [], self.logged(run))

    def wrong(self, path, *lines, option='--check-config', **options):
        """The file is refused with exactly these lines, FILE standing for its name."""
        run = self.halod(option, path, code=78, **options)
        self.assertEqual(run.out, b'', self.logged(run))
        said = run.err.replace(path, 'FILE').replace(self.folder, 'FOLDER').splitlines()
        self.assertEqual(said, ['halod: ' + line for line in lines], self.logged(run))


@functools.cache
def has_encoder(name):
    """In the FFmpeg of this machine; its libraries are those of halod."""
    return b'Encoder ' in call([FFMPEG, '-v', 'quiet', '-h', 'encoder=' + name])


def can_encode(words):
    encoder = re.search(r'codec: (\w+[-\w]*)', words)
    return not encoder or has_encoder(encoder[1])


def encodings(rows):
    """A file with a stream for each."""
    return 'streams:\n' + ''.join(f'  s{at}: {{input: a.mkv, filters: solid, outputs: [{{unix: {at}.mkv, '
                                  f'video: {{{words}}}}}]}}\n' for at, words in enumerate(rows))


class Detectors(ConfigTest):
    """--check-config says what detectors lack; the file is valid nevertheless."""

    def program(self, body, name='halo-detect'):
        """Found by its name, for its path may have blanks, which separate arguments."""
        os.chmod(self.write('#!/bin/sh\n' + body, 'bin/' + name), 0o755)
        return name

    def warned(self, command, filters='solid=gray:region=faces'):
        path = self.write(STREAM.replace('solid', f'"{filters}"')
                          + f'    detectors: {{faces: {{command: "{command}"}}}}\n')
        run = self.halod('--check-config', path,
                         environment={'PATH': self.path('bin') + ':' + os.environ['PATH']})
        self.assertIn(f'{path}: ok, 1 stream', run.out.decode())
        return run.err

    def test_no_program(self):
        self.assertEqual(self.warned('/nowhere/find -x'),
                         'halod: stream a: the detector of faces cannot be started: '
                         '/nowhere/find: there is no such program\n')

    def test_no_models(self):
        detect = self.program('echo noise >&2; echo "halo-detect: $*" >&2; exit 78\n')
        self.assertEqual(self.warned(detect + ' faces --size 352'),
                         'halod: stream a: the detector of faces cannot be started: '
                         'check faces --size 352\n')

    def test_in_order(self):
        self.assertEqual(self.warned(self.program('exit 0\n')), '')

    def test_not_needed(self):
        self.assertEqual(self.warned('/nowhere/find', filters='solid=gray'), '')

    def test_other_programs_are_not_run(self):
        other = self.program(f'touch "{self.path("ran")}"; exit 1\n', 'find')
        self.assertEqual(self.warned(other), '')
        self.assertFalse(os.path.exists(self.path('ran')))


class Memory(ConfigTest):
    def test_lack_of_it_is_no_error_of_the_settings(self):
        """After status 78, a service is not started again."""
        halotest.need_faults()
        path = self.write(STREAM)
        for option in ('--check-config', '-c'):
            done = subprocess.run(halotest.halod_command(option, path), capture_output=True, timeout=halotest.RUN_TIMEOUT,
                                  env={**halotest.halod_environment(), 'HALOD_FAULT': 'heap:1'},
                                  check=False)
            self.assertEqual((done.returncode, done.stderr.decode()),
                             (1, f'halod: {path}: Cannot allocate memory\n'))


class Checking(ConfigTest):
    def test_example(self):
        self.check(EXAMPLE, 1)

    def test_full(self):
        self.check(self.write(FULL), 4, environment=PASSWORD)

    def test_all_errors_at_once(self):
        path = self.write('strams: {}\n' + OUTPUT +
                          '{unix: a.ts, video: {codec: libx2644}, audio: libopuss}\n'
                          '    depth: 99\n'
                          '  b: {input: b.mkv, filters: gblurr, outputs: [{unix: ./a.ts}]}\n')
        self.wrong(path, 'FILE:1: strams: unknown key (nearest: streams)',
                   'FILE:7: streams.a.outputs[0].video.codec: encoder libx2644: this FFmpeg has '
                   'no such video encoder (nearest: libx264)',
                   'FILE:7: streams.a.outputs[0].audio: encoder libopuss: this FFmpeg has no such '
                   'audio encoder (nearest: libopus)',
                   'FILE:8: streams.a.depth: 99: must be between 1 and 16',
                   'FILE:9: streams.b.filters: column 1: unknown filter gblurr (nearest: gblur)',
                   'FILE:9: streams.b.outputs[0].unix: already used by streams.a.outputs[0].unix '
                   '(line 7)')

    def test_names_that_can_never_work(self):
        """Each kind of input and output checks its own names where the settings are read."""
        text, lines = 'streams:\n', []
        for given, says in (
                ('input: "test:size=abc"', 'input: test:size=abc: must be a size such as 640x480 or hd720'),
                ('input: "test:sizee=1x1"', 'input: test: has no option sizee (nearest: size)'),
                ('input: "tcp://127.0.0.1:5?timeout=1&listen=1"', 'input: a stream cannot listen for its '
                 "sender: let the sender listen, and remove 'listen', or let it send to a server such as "
                 'MediaMTX'),
                ('input: "foo://bar"', "input: this FFmpeg has no protocol 'foo' (see ffmpeg -protocols)"),
                ('input: "rtsp://"', 'input: the URL contains no host or name'),
                ('input: "file:"', 'input: the name of the file is missing'),
                ('input: ~/a.mkv', 'input: ~/a.mkv: ~ does not stand for a folder here: write the whole '
                 'path, such as /home/NAME/...'),
                ('input: a.mkv, outputs: [{file: a.xyz}]', 'outputs[0]: a.xyz: no container has this suffix: '
                 'use .mkv, .mp4, .ts or .nut'),
                ('input: a.mkv, outputs: [{file: a.avi}]', 'outputs[0]: a.avi: files in this format cannot be '
                 'read until they are finished: use the suffix .mkv, .mp4, .ts or .nut'),
                ('input: a.mkv, outputs: [{url: "foo://x"}]', "outputs[0]: foo://x: specify the output's "
                 'format (mpegts, flv, rtsp ...)'),
                ('input: a.mkv, outputs: [{unix: ~/a.ts}]', 'outputs[0].unix: ~/a.ts: ~ does not stand for a '
                 'folder here: write the whole path, such as /home/NAME/...')):
            text += f'  s{len(lines)}: {{filters: solid, {given}}}\n'
            lines.append(f'FILE:{len(lines) + 2}: streams.s{len(lines)}.{says}')
        self.wrong(self.write(text), *lines)

    def test_daemon_refuses_the_same(self):
        self.wrong(self.write('streams: {a: {input: x, privacy: off}}\n'),
                   'FILE:1: streams.a.filters: is missing: name the filters (to pass frames '
                   'unchanged, set filters: none and privacy: off)', option='-c')

    def test_encodings_that_cannot_be(self):
        """What an encoder's table of options says is told with the rest, and nothing is opened."""
        wrong = (
            ('crf: 52', 'crf: 52: the encoder libx264 accepts 0 to 51'),
            ('codec: libx265, crf: 60', 'crf: 60: the encoder libx265 accepts 0 to 51'),
            ('codec: h264, preset: faast', 'preset: faast: the encoder libx264 has no such preset '
                                           '(nearest: fast)'),
            ('preset: 11', 'preset: 11: the encoder libx264 has no such preset'),
            ('codec: mpeg4, crf: 5', 'crf: the encoder mpeg4 has no crf'),
            ('codec: ffv1, preset: fast', 'preset: the encoder ffv1 has no preset'),
            ('bitrate: 99999999999999G', 'bitrate: 99999999999999G: the encoder libx264 accepts 0 to '
                                         '9.22337e+18'),
            ('codec: libvpx-vp9, crf: 64', 'crf: 64: the encoder libvpx-vp9 accepts 0 to 63'),
            ('codec: libsvtav1, preset: 99', 'preset: 99: the encoder libsvtav1 accepts '),
            ('codec: libsvtav1, preset: fast', 'preset: fast: the encoder libsvtav1 has no such '
                                               'preset'),
            ('codec: h264_nvenc, preset: p9', 'preset: p9: the encoder h264_nvenc has no such '
                                              'preset (nearest: p1)'),
            ('codec: h264_nvenc, crf: 52', 'crf: 52: the encoder h264_nvenc accepts 0 to 51'),
            ('codec: h264_vaapi', 'codec: h264_vaapi: this encoder accepts only hardware '
                                  'frames of a device type that halod does not support'),
        )
        wrong = [row for row in wrong if can_encode(row[0])]
        run = self.halod('--check-config', self.write(encodings(words for words, _ in wrong)), code=78)
        said = run.err.splitlines()
        self.assertEqual(len(said), len(wrong), self.logged(run))
        for at, (line, (_, message)) in enumerate(zip(said, wrong)):
            where, _, text = line.partition(f' streams.s{at}.outputs[0].video.')
            self.assertTrue(where.endswith(f':{at + 2}:'), self.logged(run))
            self.assertTrue(text.startswith(message), self.logged(run))
        path = self.write(OUTPUT + '{unix: a.mkv, audio: vorbis}\n')
        if has_encoder('vorbis'):
            self.wrong(path, 'FILE:6: streams.a.outputs[0].audio: vorbis: this encoder is '
                             'experimental, and FFmpeg refuses to open it')

    def test_encodings_that_can(self):
        rows = ('crf: 51, preset: PLACEBO', 'crf: 0, bitrate: 4.5M, preset: 9',
                'codec: libx265, preset: ultrafast', 'codec: libvpx-vp9, crf: 63',
                'codec: mpeg4, bitrate: 1K', 'codec: libsvtav1, preset: 12, crf: 30.5',
                'codec: h264_nvenc, preset: p7', 'codec: h264_nvenc, preset: veryfast, crf: 20',
                'codec: hevc_nvenc, preset: slow', 'size: 161x121', 'codec: h264')
        rows = [words for words in rows if can_encode(words)]
        self.check(self.write(encodings(rows)), len(rows))

    def test_encoders_of_the_wrong_kind(self):
        rows = ('video: {codec: aac}', 'audio: libx264', 'video: {codec: h2645555555}')
        text = OUTPUT + '\n    - '.join(f'{{unix: {at}.ts, {words}}}' for at, words in enumerate(rows))
        run = self.halod('--check-config', self.write(text), code=78)
        self.assertEqual(run.err.count('no such'), 3, run.err)

    def test_unreadable(self):
        self.wrong(self.path('none'), 'FILE: cannot be read: No such file or directory')
        self.wrong(self.folder, 'FILE: cannot be read: Is a directory')

    def test_usage(self):
        for words in (('-c',), ('--check-config',), ('--dump-config',), ('-c', ''),
                      ('-c', 'a', 'b'), ('--schema', 'x'), ('--check-config', '-x'),
                      ('--dump-config', '--secrets'), ('--dump-config', '--secret', 'x')):
            with self.subTest(words):
                self.refused(*words, says=words[0])
        self.refused('--check-confg', says='nearest: --check-config')

    def test_help(self):
        text = self.halod('--help').out.decode()
        for word in ('-c ', '--check-config', '--dump-config', '--schema', '78 configuration'):
            self.assertIn(word, text)

    def test_full_disk(self):
        if not os.path.exists('/dev/full'):
            self.skipTest('no /dev/full')
        for words in (('--schema',), ('--dump-config', EXAMPLE), ('--check-config', EXAMPLE)):
            with open('/dev/full', 'wb') as full:
                done = subprocess.run(halotest.halod_command(*words), stdout=full,
                                      stderr=subprocess.PIPE)
            self.assertEqual(done.returncode, 1)
            self.assertIn(b'cannot write to standard output', done.stderr)


class Folder(ConfigTest):
    def test_merging(self):
        path = self.write(STREAM + '    depth: 2\n    outputs: [{unix: a.ts}, {unix: b.ts}]\n')
        self.write('streams: {b: {input: b.mkv, filters: avgblur=sizeX=9}}\nlog: {level: error}\n',
                   'conf.d/20-b.yaml')
        self.write('streams:\n  a: {filters: avgblur=sizeX=9, outputs: [{null: true}]}\n'
                   'log: {level: debug}\n', 'conf.d/10-a.yaml')
        self.write('wrong: x\n', 'conf.d/30.yml')
        self.write('wrong: x\n', 'conf.d/.30.yaml')
        self.write('# nothing\n', 'conf.d/40.yaml')
        self.check(path, 2)
        text = self.halod('--dump-config', path).out.decode()
        self.assertIn('level: "error"', text)
        self.assertIn('filters: "avgblur=sizeX=9"', text)
        self.assertIn('depth: 2', text)
        self.assertIn('input: "a.mkv"', text)
        self.assertIn('- "null": true', text)
        self.assertNotIn('a.ts', text)

    def test_errors_name_their_file(self):
        path = self.write(STREAM + '    dept: 2\n    outputs: [{unix: a.ts}]\n')
        self.write('\nstreams: {b: {input: b, filters: solid, outputs: [{unix: a.ts}]}, a: {gpu: x}}',
                   'conf.d/b.yaml')
        self.wrong(path, 'FILE:5: streams.a.dept: unknown key (nearest: depth)',
                   'FOLDER/conf.d/b.yaml:2: streams.a.gpu: x: must be a whole number',
                   'FOLDER/conf.d/b.yaml:2: streams.b.outputs[0].unix: already used by '
                   'streams.a.outputs[0].unix (line 6 of FILE)')

    def test_broken_file_in_the_folder(self):
        path = self.write(STREAM)
        self.write('streams: [\n', 'conf.d/b.yaml')
        run = self.halod('--check-config', path, code=78)
        self.assertIn('conf.d/b.yaml:2: ', self.assert_one_line(run))

    def test_file_in_the_working_folder(self):
        self.write(STREAM)
        self.write('streams: {b: {input: b, filters: solid}}\n', 'conf.d/b.yaml')
        run = self.halod('--check-config', 'halod.yaml', cwd=self.folder)
        self.assertEqual(run.out.splitlines()[0], b'halod.yaml: ok, 2 streams')


class Outside(ConfigTest):
    def test_credential_before_environment(self):
        self.write('from a file\n', 'credentials/NAME')
        path = self.write(STREAM.replace('a.mkv', '"${NAME}: ${OTHER}, $${NAME}"'))
        environment = {'CREDENTIALS_DIRECTORY': self.path('credentials'), 'NAME': 'wrong',
                       'OTHER': 'x, loop: true # "\''}
        text = self.halod('--dump-config', path, environment=environment).out.decode()
        self.assertIn('input: "from a file: x, loop: true # \\"\', $${NAME}"', text)
        self.assertIn('loop: false', text)

    def test_missing(self):
        self.wrong(self.write(STREAM + '    depth: ${HALO_NO_SUCH}\n'),
                   'FILE:5: ${HALO_NO_SUCH}: there is no such credential or environment variable '
                   '(write $${ for ${)')


class Privacy(ConfigTest):
    """A chain that passes frames unfiltered needs the stream's own privacy: off."""
    RAW = ('these filters pass frames unchanged: use a filter that changes them, or set '
           "'privacy: off' for this stream in the settings file")
    INSTEAD = (': blur it more, or use pixelize or solid, on every plane; or set '
               "'privacy: changed' or 'privacy: off' for this stream in the settings file "
               '(changed: any change is enough; off: no change is needed)')

    def test_strict(self):
        for chain, more, option in halotest.each(
                ('"null"', 'none', '["null"]', '"null,null"', '[none]', 'gblur=sigma=0',
                 '"gblur=sigma=3:planes=0"', '[{gblur: {sigma: 0}}, "null"]'),
                ('', '    privacy: strict\n'), ('-c', '--check-config', '--dump-config')):
            with self.subTest(chain + more, option=option):
                path = self.write(STREAM.replace('solid', chain) + more)
                self.wrong(path, 'FILE:4: streams.a.filters: ' + self.RAW, option=option)

    def test_weak(self):
        """What hides nothing is no filter either (test_privacy.c); privacy: changed lets it pass."""
        for chain, says in (('[{gblur: {sigma: 5, planes: 3}}]',
                             'chroma (plane 2) passes unchanged'),
                            ('\'gblur=sigma=5:region=feed,gblur=sigma=0.3:region=rect 0 0 9 9\'',
                             'in the region of filter 2, gblur, luma keeps all its detail'),
                            ('gblur=sigma=1',
                             'luma keeps 85 % of its fine detail, which an inverse filter can '
                             'restore, but at most 70 % is allowed')):
            stream = STREAM.replace('solid', chain) + '    region_feed: {}\n'
            with self.subTest(chain):
                self.wrong(self.write(stream), 'FILE:4: streams.a.filters: ' + says + self.INSTEAD)
                self.check(self.write(stream + '    privacy: changed\n'), 1)

    def test_min_coverage(self):
        """Regions in percent are judged at once, those in pixels where a camera's size is given."""
        cases = (('solid=region=rect 0 0 10% 10%', '', '1 % of luma', '2'),
                 ('solid=planes=1', '    privacy: changed\n', '0 % of plane 1', '2'),
                 ('solid=region=rect 0 0 20 20', '    capture: {size: 100x200, rotate: 90}\n',
                  '2 % of luma', '2.5'))
        for chain, more, part, least in cases:
            text = STREAM.replace('a.mkv', '/dev/video0' if 'capture' in more else 'a.mkv')
            text = text.replace('solid', chain) + more + f'    min_coverage: {least}%\n'
            with self.subTest(text):
                self.wrong(self.write(text), f'FILE:4: streams.a.filters: these filters hide {part}'
                           f', but min_coverage requires {least} %: use larger regions, or a '
                           'smaller min_coverage')
        for chain in ('solid=region=rect 0 0 10 10', 'solid', 'solid=region=feed'):
            text = STREAM.replace('solid', chain) + '    min_coverage: 100%\n    region_feed: {}\n'
            self.halod('--check-config', self.write(text))

    def test_coverage_is_said(self):
        path = self.write(
            STREAM.replace('solid', 'solid=region=feed') +
            "    region_feed: {}\n    renditions: {r: {filters: 'solid=region=rect 0 0 10% 10%'},\n"
            "                 s: {filters: gblur=sigma=9}}\n")
        run = self.halod('--check-config', path)
        said = run.out.decode()
        self.assertTrue(said.startswith(
            f'{path}: ok, 1 stream\nstream a: hides the regions that are detected in each frame\n'
            'stream a, rendition r: hides 1 % of every plane\n'
            'stream a: what is left of region=feed: nothing\n'), said)
        self.assertIn('stream a, rendition s: what is left of the whole frame: no bound: ', said)

    def test_anonymous(self):
        for chain, refusal in (('hide=cells:region=rect 0 0 50% 50%', None),
                               ('gblur=sigma=20', 'no bound'), ('"pixelize=w=16"', 'no bound')):
            text = STREAM.replace('solid', chain) + '    privacy: anonymous\n'
            run = self.halod('--check-config', self.write(text), code=78 if refusal else 0)
            self.assertIn(refusal or '', run.err)
        self.halod('--check-config',
                   self.write('defaults: {privacy: anonymous}\n' + STREAM))

    def test_off(self):
        for chain in ('"null"', 'none', 'gblur=sigma=0'):
            with self.subTest(chain):
                path = self.write(STREAM.replace('solid', chain) + '    privacy: changed\n')
                self.wrong(path, 'FILE:4: streams.a.filters: ' + self.RAW)
        for chain in ('"null"', '["null"]', 'solid'):
            with self.subTest(chain):
                self.check(self.write(STREAM.replace('solid', chain) + '    privacy: off\n'), 1)
        self.check(self.write(STREAM.replace('solid', '["null", solid]')), 1)  # part of a chain

    def test_renditions(self):
        path = self.write(STREAM + '    renditions:\n      r: {filters: "null"}\n')
        self.wrong(path, 'FILE:6: streams.a.renditions.r.filters: ' + self.RAW)
        self.check(self.write(STREAM + '    privacy: off\n    renditions: {r: {filters: none}}\n'),
                   1)

    def test_each_stream_for_itself(self):
        path = self.write('defaults: {filters: "null"}\nstreams:\n  a: {input: x, privacy: off}\n'
                          '  b: {input: y}\n')
        self.wrong(path, 'FILE:1: streams.b.filters: ' + self.RAW)

    def test_not_for_all(self):
        """Nor from outside of the file."""
        for word in ('off', 'changed'):
            path = self.write(f'defaults: {{privacy: {word}}}\n'
                              'streams:\n  a: {input: x, filters: solid}\n')
            self.wrong(path, f'FILE:1: defaults.privacy: {word} cannot be a default: set it in each stream')
            self.wrong(self.write(STREAM + '    privacy: ${P}\n'),
                       f'FILE:5: streams.a.privacy: {word} must be written in the file itself, not as ${{NAME}}',
                       environment={'P': word})

    def test_from_the_folder(self):
        """conf.d is the file, too."""
        path = self.write(STREAM.replace('solid', '"null"'))
        self.write('streams: {a: {privacy: off}}\n', 'conf.d/b.yaml')
        self.check(path, 1)

    def test_a_wrong_word_is_one_error(self):
        self.wrong(self.write(STREAM.replace('solid', '"null"') + '    privacy: of\n'),
                   'FILE:5: streams.a.privacy: of: must be one of strict, changed, off, anonymous (nearest: off)')

    def test_dump(self):
        text = self.halod('--dump-config', self.write(STREAM)).out.decode()
        self.assertIn('privacy: "strict"', text)
        path = self.write(STREAM.replace('solid', 'none') + '    privacy: off\n')
        text = self.halod('--dump-config', path).out.decode()
        self.assertIn('privacy: "off"', text)
        self.check(self.write(text, 'again.yaml'), 1)


class Dump(ConfigTest):
    def test_secrets(self):
        text = self.halod('--dump-config', self.write(FULL), environment=PASSWORD).out.decode()
        self.assertNotIn('hush', text)
        self.assertIn('"rtsp://***"', text)  # the password has a #
        self.check(self.write(text, 'again.yaml'), 4)


# What the schema must refuse, and halod too.
WRONG = (
    'strems: {}\n', 'streams: []\n', 'streams:\n', 'version: 2\nstreams: {}\n', 'a\n',
    'http: {embed: []}\nstreams: {}\n', 'http: {embed: [https://a/]}\nstreams: {}\n',
    'http: {embed: wall.example}\nstreams: {}\n', 'http: {embed: [[https://a]]}\nstreams: {}\n',
    'http: {metrics: all}\nstreams: {}\n', 'http: {proxy: me}\nstreams: {}\n',
    'http: {listen: 80}\nstreams: {}\n', 'http: {listen: "x:99999"}\nstreams: {}\n',
    'mqtt: {server: x}\nstreams: {}\n', 'mqtt: {server: "x:1", prefix: /a}\nstreams: {}\n',
    'mqtt: {server: "x:1", prefix: "a#"}\nstreams: {}\n', 'mqtt: [x]\nstreams: {}\n',
    'mqtt: {server: "x:1", discovery: +}\nstreams: {}\n',
    'log: {level: loud}\nstreams: {}\n', 'streams: {"a b": {input: x, filters: solid}}\n',
    'defaults: {dpth: 3}\nstreams: {}\n', 'control: x\nstreams: {}\n',
    STREAM + '    filterz: x\n', STREAM + '    depth: 99\n', STREAM + '    depth: 1.5\n',
    STREAM + '    depth: deep\n', STREAM + '    loop: yes\n', STREAM + '    loop: 1\n',
    STREAM + '    on_error: crad\n', STREAM + '    gpu: -1\n', STREAM + '    last_for: 1h\n',
    STREAM + '    last_for: -1\n', STREAM + '    input_format: ""\n',
    STREAM + '    privacy: of\n', STREAM + '    privacy: false\n',
    STREAM + '    outputs: {unix: a.ts}\n', STREAM + '    renditions: {b: {}}\n',
    STREAM + '    renditions: {b: {filters: solid, x: 1}}\n',
    STREAM.replace('solid', 'null'), STREAM.replace('solid', '[]'), STREAM.replace('solid', '{}'),
    STREAM.replace('solid', '[{gblur: 3}]'), STREAM.replace('solid', '[{a: {}, b: {}}]'),
    STREAM.replace('solid', '[[solid]]'),
    OUTPUT + '{}\n', OUTPUT + '{unix: a.ts, file: b.mkv}\n', OUTPUT + '{null: false}\n',
    OUTPUT + '{tcp: 9000}\n', OUTPUT + '{tcp: "127.0.0.1:9000", reach: all}\n',
    OUTPUT + '{v4l2: true}\n', OUTPUT + '{unix: a.ts, video: {codec: copy}}\n',
    OUTPUT + '{pipewire: true}\n', OUTPUT + '{pipewire: {}}\n', OUTPUT + '{pipewire: {name: ""}}\n',
    OUTPUT + '{pipewire: {name: a, x: 1}}\n',
    OUTPUT + '{unix: a.ts, video: {size: -1x-1}}\n', OUTPUT + '{unix: a.ts, video: {size: 0x-1}}\n',
    OUTPUT + '{unix: a.ts, video: {size: 1x}}\n', OUTPUT + '{unix: a.ts, video: {bitrat: 4M}}\n',
    OUTPUT + '{unix: a.ts, video: {bitrate: lots}}\n', OUTPUT + '{unix: a.ts, video: {fps: 1/}}\n',
    OUTPUT + '{unix: a.ts, video: {gop: 0}}\n',
    CAMERA + '{size: 720p}\n', CAMERA + '{fps: 0}\n', CAMERA + '{rotate: 45}\n',
    CAMERA + '{format: yuv}\n', CAMERA + '{controls: {gain: much}}\n', CAMERA + '[]\n',
    CAMERA + '{controls: {"A b": 1}}\n', CAMERA + '{open: sometimes}\n', CAMERA + '{x: 1}\n',
    OUTPUT + '{file: "%s.mkv", segment_time: 60, keep_size: 20Q}\n',
    OUTPUT + '{file: "%s.mkv", segment_time: 60, keep_size: 20}\n',
    OUTPUT + '{hls: true}\n', OUTPUT + '{hls: a.m3u8, keep: 2}\n', OUTPUT + '{hls: a.m3u8, keep: 101}\n',
    OUTPUT + '{hls: a.m3u8, segment_time: 0.5}\n', OUTPUT + '{hls: a.m3u8, file: a.mkv}\n',
)

RIGHT = (
    'streams: {}\n', FULL, STREAM, STREAM + '    gpu: 3\n', STREAM + '    gpu: auto\n',
    STREAM.replace('solid', '[solid, {gblur: {sigma: 1.5}}, {prewitt: }]'),
    STREAM.replace('solid', '"null"') + '    privacy: off\n',
    STREAM.replace('solid', 'none') + '    privacy: "off"\n', STREAM + '    privacy: strict\n',
    OUTPUT + '{file: "%s.mkv", segment_time: 1:30, keep_size: 2000000}\n',
    OUTPUT + '{file: "%s.mkv", segment_time: 90.5, keep_size: 1.5Gi, audio: off}\n',
    OUTPUT + '{hls: a.m3u8}\n',
    OUTPUT + '{hls: a/b_1.2-x.m3u8, segment_time: 4, keep: 3, audio: off, video: {gop: 1}}\n',
    OUTPUT + '{unix: a.ts, video: {gop: 500ms, bitrate: 1500000, crf: 18.5, preset: 5, fps: 12.5}}\n',
    OUTPUT + '{tcp: "127.0.0.1:9000"}\n', OUTPUT + '{tcp: "[::1]:9000", format: mkv, audio: off}\n',
    OUTPUT + '{tcp: "0.0.0.0:9000", format: nut, reach: network, video: {codec: raw}}\n',
    OUTPUT + '{unix: a.ts, video: {size: 640x-1}}\n', OUTPUT + '{unix: a.ts, video: {size: -1x9}}\n',
    CAMERA + '{}\n', CAMERA + '{size: 640x480, fps: 12.5, format: yuyv, open: on-demand}\n',
    CAMERA + '{rotate: 90, mirror: vertical, stall: 500ms, controls: {gain: 1, focus: -3}}\n',
    'http: {listen: "[::1]:80", hosts: "a, b.c:80"}\nstreams: {}\n',
    'http: {hosts: [a, "b.c:80"], embed: [https://a.example, "http://[::1]:80"]}\nstreams: {}\n',
    'http: {embed: "http://a:3000, https://b"}\nstreams: {}\n',
    'http: {listen: "0.0.0.0:80", metrics: network}\nstreams: {}\n',
    'http: {listen: "[::]:80", proxy: [192.0.2.1, "2001:db8::1"], page: true}\nstreams: {}\n',
    'http: {listen: "unix:/run/x"}\ndefaults: {filters: solid, depth: "${D}"}\nstreams: {}\n',
)


@unittest.skipUnless(YAML_JSON, 'HALO_YAML_JSON names no program')
class Schemas(ConfigTest):
    def setUp(self):
        super().setUp()
        self.schema = Schema(json.loads(self.halod('--schema').out))
        self.assertEqual(self.schema.root['$schema'], 'https://json-schema.org/draft/2020-12/schema')

    def errors_of(self, *texts):
        """Of each text, in a list: the program reads them all at once, one below each key."""
        text = ''.join(f't{at}:\n' + textwrap.indent(text, '  ') + '\n' for at, text in enumerate(texts))
        done = subprocess.run([YAML_JSON], input=text.encode(), stdout=subprocess.PIPE, check=True,
                              env={**os.environ, **PASSWORD, 'D': '${', 'RTSP_PASSWORD': 'x'})
        return [list(self.schema.errors(value, self.schema.root, ''))
                for value in json.loads(done.stdout).values()]

    def test_examples(self):
        with open(EXAMPLE, encoding='utf-8') as file:
            text = file.read()
        self.assertEqual(self.errors_of(text), [[]])
        # And with all that is a comment there.
        open_text = re.sub(r'(?m)^( *)#(?! )(.*)$', r'\1\2', text)
        open_text = re.sub(r'(?m)^  #  ', '    ', open_text)
        self.assertIn('\n  door:\n    input:', open_text)
        path = self.write(open_text)
        self.check(path, 6, environment={'RTSP_PASSWORD': 'x'})
        self.assertEqual(self.errors_of(open_text), [[]])

    def test_right_ones(self):
        for at, (text, errors) in enumerate(zip(RIGHT, self.errors_of(*RIGHT), strict=True)):
            with self.subTest(text):
                self.assertEqual(errors, [])
                if halotest.WHOLE or at % 2 == 0:
                    self.halod('--check-config', self.write(text), environment={**PASSWORD, 'D': '4'})

    def test_wrong_ones(self):
        for at, (text, errors) in enumerate(zip(WRONG, self.errors_of(*WRONG), strict=True)):
            with self.subTest(text):
                self.assertNotEqual(errors, [])
                if halotest.WHOLE or at % 4 == 0:
                    self.halod('--check-config', self.write(text), code=78)

    def test_dump_fits(self):
        text = self.halod('--dump-config', self.write(FULL), environment=PASSWORD).out.decode()
        self.assertEqual(self.errors_of(text), [[]])

    def test_libraries_agree(self):
        try:
            import jsonschema
        except ImportError:
            self.skipTest('python3-jsonschema is not there')
        jsonschema.Draft202012Validator.check_schema(self.schema.root)


class Manual(ConfigTest):
    """halod.yaml(5) has every key of the schema, with its default and its bounds."""

    def sections(self):
        with open(os.path.join(ROOT, 'docs', 'halod.yaml.5.scd'), encoding='utf-8') as file:
            return dict(re.findall(r'(?ms)^# ([^\n]+)\n(.*?)(?=^# |\Z)', file.read()))

    def entry(self, section, key):
        found = re.search(rf'(?ms)^\*{re.escape(key)}:\*.*?\n\t(.*?)(?=^\*|\Z)',
                          self.sections()[section])
        self.assertIsNotNone(found, f'{section} has no {key}')
        return ' '.join(found[1].split())

    @staticmethod
    def word_of(value):
        if isinstance(value, bool):
            return str(value).lower()
        return re.escape(value) if isinstance(value, str) else f'{value:.10g}'

    def check_keys(self, section, schema):
        documented = set(re.findall(r'(?m)^\*([a-z0-9_]+):\*', self.sections()[section]))
        self.assertEqual(documented, set(schema['properties']), section)
        for key, row in schema['properties'].items():
            with self.subTest(f'{section} {key}'):
                text = self.entry(section, key)
                types = [row, *row.get('anyOf', ())]
                types += [inner for outer in types for inner in outer.get('anyOf', ())]
                for kind in types:
                    for word in kind.get('enum', ()):
                        self.assertIn(f'*{word}*', text)
                    low, high = kind.get('minimum'), kind.get('maximum')
                    if high is not None and low < high < 1e12:
                        self.assertIn(f'{low:g} to {high:.15g}', text)
                if 'default' in row:
                    word = self.word_of(row['default'])
                    self.assertRegex(text, rf'Default: (?:\S+ for \*faces:\*, and )?\*?{word}\b|'
                                           rf'(?<![\w.]){word}\*?,? \(?(?:which is )?the default\b')

    def test_keys(self):
        root = json.loads(self.halod('--schema').out)
        defs, top = root['$defs'], root['properties']
        self.check_keys('THE FILE', root)
        self.check_keys('CONTROL', top['control'])
        self.check_keys('HTTP', top['http'])
        self.check_keys('MQTT', top['mqtt'])
        self.check_keys('LOG', top['log'])
        self.check_keys('STREAMS', defs['stream'])
        self.check_keys('OUTPUTS', defs['output'])
        self.check_keys('CAPTURE', defs['capture'])
        self.check_keys('REGION FEED', defs['stream']['properties']['region_feed'])
        for find in ('faces', 'people'):
            self.check_keys('DETECTORS', defs['detectors']['properties'][find])
        self.check_keys('VIDEO', defs['output']['properties']['video'])


if __name__ == '__main__':
    halotest.main()
