# SPDX-License-Identifier: BSD-2-Clause
"""Metadata: what the container of the output can hold arrives, the rest is named in one line."""
import re
import struct
import subprocess

import halotest
from halotest import (BT2020_PQ, HaloTest, X264, audio_source, clip, ffprobe, need, probe_video,
                      video_source, with_colours)

PHONE = {'com.apple.quicktime.make': 'Maker', 'com.apple.quicktime.creationdate': '2020-02-03',
         'com.android.version': '11'}
ITUNES = {'title': 'Film', 'artist': 'Ann', 'album': 'Album', 'genre': 'Genre', 'track': '1/2',
          'comment': 'Words', 'date': '2020', 'copyright': 'Hers'}
SORTED = {'sort_name': 'film, the', 'sort_artist': 'ann b', 'rating': '4', 'custom': 'own'}
EVERYTHING = PHONE | ITUNES | SORTED
SOUND = {'title': 'English sound', 'trackkey': 'of the track', 'language': 'dan'}
CHAPTER = {'title': 'First part', 'chapterkey': 'of the chapter'}

ALL, TRACK = set(EVERYTHING), {'title', 'language'}
# Ending, options of halod, and the keys that it holds of the file, the sound and the chapter.
TABLE = (
    ('mp4', (), ALL, TRACK, {'title'}),
    ('mov', (), ALL, TRACK, {'title'}),
    ('m4v', ('-c:a', 'aac'), ALL, TRACK, {'title'}),
    ('mkv', (), ALL, set(SOUND), set(CHAPTER)),
    ('nut', (), ALL, set(SOUND), set(CHAPTER)),
    ('flv', (), ALL, set(), set()),
    ('asf', ('-c:v', 'mpeg4'), ALL, {'language'}, {'title'}),
    ('avi', ('-c:v', 'mpeg4'), set(ITUNES), {'title'}, set()),
    ('ts', (), {'title'}, {'language'}, set()),
    ('vob', ('-c:v', 'mpeg2video'), set(), set(), set()),
    ('ogv', ('-c:v', 'libtheora', '-c:a', 'libopus'), ALL, set(SOUND), {'title'}),
    ('ogg', ('-c:v', 'libtheora', '-c:a', 'libvorbis'), ALL, set(SOUND), set()),
)


def options_of(tags, where=''):
    return [word for key, value in tags.items() for word in (f'-metadata{where}',
                                                             f'{key}={value}')]


def source(tags, suffix='.nut', sound=(), chapter=(), more=()):
    chapters = ''
    if chapter:
        chapters = ';FFMETADATA1\n[CHAPTER]\nTIMEBASE=1/1000\nSTART=0\nEND=300\n' + ''.join(
            f'{key}={value}\n' for key, value in chapter.items())
    return clip(suffix, *video_source(seconds=0.4), *audio_source(0.4), *(
        ['-f', 'ffmetadata', '-i', '-', '-map', '0', '-map', '1', '-map_chapters', '2']
        if chapter else []), *X264, '-c:a', 'libmp3lame',
                *options_of(tags), *options_of(dict(sound), ':s:a'), *more,
                data=chapters.encode() or None)


def values(node):
    return {str(value).strip() for value in node.get('tags', {}).values()}


def found(path):
    """All values of tags: of the file, of the sound, of the chapters."""
    printed = ffprobe(path, '-show_format', '-show_streams', '-show_programs', '-show_chapters')
    whole = [printed['format'], *printed.get('programs', [])]
    sound = [s for s in printed['streams'] if s['codec_type'] == 'audio']
    if printed['format']['format_name'] == 'ogg':
        whole.append(printed['streams'][0])  # its files have none of their own
    return [set().union(*map(values, nodes)) for nodes in (whole, sound, printed['chapters'])]


def named(run):
    """What the line about lost metadata names, and how many more there are."""
    lines = [line for line in run.err.splitlines() if 'does not support this metadata' in line]
    if not lines:
        return [], 0
    assert len(lines) == 1 and len(lines[0]) < 700, run.err
    names, more = re.fullmatch(r'.* left out: (.*?)(?: and (\d+) more)? \(.mkv supports it\)',
                               lines[0]).groups()
    return names.split(', '), int(more or 0)


class Tags(HaloTest):
    def test_every_container(self):
        """Nothing is lost that is not named, and nothing is named that is not lost."""
        given = source(EVERYTHING, '.mkv', SOUND, CHAPTER)
        need([set(EVERYTHING.values()), set(SOUND.values()), set(CHAPTER.values())] ==
             [mine & theirs for mine, theirs in zip(
                 [set(x.values()) for x in (EVERYTHING, SOUND, CHAPTER)], found(given))],
             'tags', given)
        for suffix, options, *held in TABLE:
            with self.subTest(suffix):
                output = self.path('out.' + suffix)
                run = self.halod('run', '-i', given, '-vf', 'null', *options, output)
                lost = []
                for tags, keys, there, whose in zip((EVERYTHING, SOUND, CHAPTER), held,
                                                    found(output),
                                                    ('', ' (stream 1)', ' (chapter 0)')):
                    kept = {key for key, value in tags.items() if value in there}
                    self.assertEqual(kept, keys, self.logged(run))
                    lost += [key.upper().replace('.', '_') + whose for key in tags.keys() - keys]
                if not held[2]:
                    lost = [name for name in lost if 'chapter' not in name] + ['ALL CHAPTERS']
                names, more = named(run)
                names = {re.sub(r'^[^ ]*', lambda key: key[0].upper().replace('.', '_'), name)
                         if name != 'all chapters' else name.upper() for name in names}
                self.assertLessEqual(names, set(lost), self.logged(run))
                self.assertEqual(len(names) + more, len(lost), self.logged(run))

    def test_phone(self):
        """The names that phones give stay as they are; so do places with their language."""
        tags = PHONE | {'location': '+48.1370+011.5750/', 'title': 'Film'}
        for suffix in '.mov', '.mp4':
            given = source(tags, suffix, more=('-movflags', 'use_metadata_tags'))
            for output in 'out.mov', 'out.mp4':
                with self.subTest(f'{suffix} to {output}'):
                    held = ffprobe(self.filtered(given, output), '-show_format')['format']['tags']
                    self.assertEqual(tags, {key: held.get(key) for key in tags})

    def test_plain_tags_stay_where_all_readers_look(self):
        """QuickTime's keys are for what iTunes' tags cannot say."""
        with open(self.filtered(source(ITUNES), 'out.mp4'), 'rb') as file:
            content = file.read()
        self.assertIn(b'mdirappl', content)
        self.assertNotIn(b'mdta', content)

    def test_languages_in_mov(self):
        """It has numbers for some, each under one of two codes."""
        for given, held in (('deu', 'ger'), ('ger', 'ger'), ('fre', 'fra'), ('swe', None)):
            output = self.path(given + '.mov')
            run = self.halod('run', '-i', source({}, '.nut', {'language': given}), '-vf', 'null',
                             output)
            sound = ffprobe(output, '-show_streams', '-select_streams', 'a')['streams'][0]
            self.assertEqual(sound['tags'].get('language'), held)
            self.assertEqual(named(run), ([] if held else ['language (stream 1)'], 0),
                             self.logged(run))

    def test_nothing_to_say(self):
        """What muxers write about themselves is no loss."""
        for suffix, output in (('.mp4', 'out.ts'), ('.mkv', 'out.avi'), ('.mov', 'out.flv')):
            options = ('-c:v', 'mpeg4') if output == 'out.avi' else ()
            run = self.halod('run', '-i', source({}, suffix), '-vf', 'null', *options,
                             self.path(output))
            self.assertEqual(named(run), ([], 0), self.logged(run))

    def test_time_of_creation(self):
        """Streams have their file's."""
        given = source({'creation_time': '2020-02-03T04:05:06Z'}, '.mp4')
        for output, lost in (('out.mp4', []), ('out.mkv', []), ('out.ts', ['creation_time'])):
            run = self.halod('run', '-i', given, '-vf', 'null', self.path(output))
            self.assertEqual(named(run), (lost, 0), self.logged(run))

    def test_names_from_outside(self):
        """Long and hostile names neither fill the line nor reach the terminal."""
        tags = {'k' * 300: 'x', 'red\x1b[31m'.encode().decode('unicode_escape'): 'y'}
        run = self.halod('run', '-i', source(tags, '.mkv'), '-vf', 'null', self.path('out.ts'))
        names, more = named(run)
        self.assertEqual((len(names), more), (2, 0), self.logged(run))
        self.assertNotIn('\x1b', run.err)
        self.assertIn('K' * 40, names)


def box(kind, content):
    return struct.pack('>I', len(content) + 8) + kind + content


class Hdr(HaloTest):
    def test_h264_in_mpegts(self):
        """FFmpeg's decoder does not tell, so the bitstream is asked."""
        master = 'G(13250,34500)B(7500,3000)R(34000,16000)WP(15635,16450)L(10000000,50)'
        given = clip('.mkv', *video_source(), '-frames:v', '4',
                     *with_colours('yuv420p10le', **BT2020_PQ), '-c:v', 'libx265', '-x265-params',
                     f'log-level=none:master-display={master}:max-cll=1000,400')
        headers = subprocess.run([halotest.FFMPEG, '-nostdin', '-v', 'trace', '-i',
                                  self.filtered(given, 'out.ts'), '-c', 'copy', '-bsf:v',
                                  'trace_headers', '-f', 'null', '-'], capture_output=True,
                                 check=True).stderr.decode()
        for name, value in (('max_content_light_level', 1000),
                            ('max_display_mastering_luminance', 10000000)):
            self.assertRegex(headers, rf'{name} +[01]+ = {value}\n')
        for name, options, lost in (('out.ts', ('-c:v', 'mpeg2video'), True), ('out.ts', (), False),
                                    ('out.mkv', ('-c:v', 'ffv1'), False)):
            run = self.halod('run', '-y', '-i', given, '-vf', 'null', *options, self.path(name))
            self.assertEqual(run.err.count('mastering display'), lost, self.logged(run))

    def test_dolby_vision(self):
        """Of every profile; 5 has its own transfer, and colours that only its metadata says."""
        for profile, compatible, transfer, says in (
                (5, 0, 'unknown', 'wrong colours'), (5, 0, 'smpte2084', 'wrong colours'),
                (8, 1, 'smpte2084', 'plain HDR'), (8, 2, 'bt709', 'SDR'),
                (8, 4, 'arib-std-b67', 'plain HDR')):
            with self.subTest(f'profile {profile}.{compatible}, {transfer}'):
                given = self.path(f'{profile}.{compatible}.{transfer}.mp4')
                self.make_vision(given, profile, compatible, transfer)
                run = self.halod('run', '-y', '-i', given, '-vf', 'null', self.path('out.mp4'))
                self.says_once(run, f'Dolby Vision metadata is left out, because .*: .*{says}')

    @staticmethod
    def make_vision(path, profile, compatible, transfer):
        """A configuration record in the sample entry of an MP4 whose index is at its end."""
        plain = clip('.mp4', *video_source(), '-frames:v', '4', '-c:v', 'libx265', '-x265-params',
                     'log-level=none', *with_colours('yuv420p10le', color_trc=transfer), '-tag:v',
                     'hvc1')
        with open(plain, 'rb') as file:
            data = bytearray(file.read())
        level, present = 6, 0b101  # the base layer and its metadata
        record = box(b'dvcC' if profile < 8 else b'dvvC', struct.pack(
            '>BBHB', 1, 0, profile << 9 | level << 3 | present, compatible << 4).ljust(24, b'\0'))
        for kind in b'moov', b'trak', b'mdia', b'minf', b'stbl', b'stsd', b'hvc1':
            at = data.rindex(kind) - 4
            size = struct.unpack_from('>I', data, at)[0]
            struct.pack_into('>I', data, at, size + len(record))
        data[at + size:at + size] = record
        with open(path, 'wb') as file:
            file.write(data)
        need('DOVI configuration record' in str(probe_video(path)), 'Dolby Vision', path)


if __name__ == '__main__':
    halotest.main()
