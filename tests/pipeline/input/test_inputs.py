# SPDX-License-Identifier: BSD-2-Clause
"""Healthy inputs that are not made like most: clocks that jump or begin below 0, edit lists, streams
that begin late, formats that count or mark their frames in their own way."""
import os
import re
import shutil
import socketserver
import struct
import threading
from fractions import Fraction

import halotest
from halotest import (HaloTest, X264, audio_source, clip, ffmpeg, frame_count, frame_hashes,
                      frame_times, need, packet_times, packets, probe, silent_clip, video_source)


def content(path):
    with open(path, 'rb') as file:
        return file.read()


def transport(*extra, seconds=4):
    return clip('.ts', *video_source(seconds=seconds), *audio_source(seconds), *X264, '-bf', '2',
                '-g', '25', '-c:a', 'mp2', '-shortest', *extra)


class Sizes(HaloTest):
    """A picture is not decoded where it has more pixels than -max_pixels."""

    def refused(self, source, size, *options):
        run = self.halod('run', *options, '-i', source, '-vf', 'gblur=sigma=2', self.path('o.mkv'),
                         code=1)
        self.says_once(run, f'frames of {size} are larger than max_pixels')
        self.assertFalse(os.path.exists(self.path('o.mkv')))

    def test_large(self):
        """Few bytes that want much memory."""
        source = clip('.mkv', '-f', 'lavfi', '-i', 'color=gray:s=8200x8200', '-frames:v', '1', '-c:v', 'mjpeg',
                      '-pix_fmt', 'yuvj420p')
        self.refused(source, '8200x8200')

    def test_limit(self):
        """With a header that tells the size, and with none."""
        for ending, codec in (('.mjpeg', ['-c:v', 'mjpeg', '-pix_fmt', 'yuvj420p']), ('.mkv', X264)):
            source = clip(ending, *video_source('320x240', seconds=0.2), *codec)
            self.refused(source, '320x240', '-max_pixels', 320 * 240 - 1)
            self.filtered(source, 'whole.mkv', '-max_pixels', 320 * 240)

    def test_later(self):
        """Small ones first; not even where damage is read past."""
        small = clip('.mjpeg', *video_source('320x240', seconds=0.2), '-c:v', 'mjpeg', '-pix_fmt',
                     'yuvj420p')
        large = clip('.mjpeg', *video_source('640x480', seconds=0.2), '-c:v', 'mjpeg', '-pix_fmt',
                     'yuvj420p')
        grows = self.path('grows.mjpeg')
        with open(grows, 'wb') as file:
            file.write(content(small) + content(large))
        for option in ([], ['-keep_going']):
            self.refused(grows, '640x480', '-max_pixels', 100000, *option)


class Playlists(HaloTest):
    """One that comes from the network does not lead to files of this machine; one in a file does."""

    def playlist(self):
        source = clip('.ts', *video_source('320x240', seconds=1), *X264)
        return f'#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nfile:{source}\n#EXT-X-ENDLIST\n'

    def test_of_the_network(self):
        playlist = self.playlist().encode()

        class Camera(socketserver.BaseRequestHandler):
            def handle(self):
                self.request.sendall(playlist)
        with socketserver.ThreadingTCPServer(('127.0.0.1', 0), Camera) as server:
            thread = threading.Thread(target=server.serve_forever)
            thread.start()
            self.addCleanup(thread.join)
            self.addCleanup(server.shutdown)
            where = f'127.0.0.1:{server.server_address[1]}'
            for url in (f'tcp://{where}', f'tcp:{where}', f'cache:tcp://{where}',
                        f'async:tcp:{where}'):
                with self.subTest(url):
                    run = self.halod('run', '-i', url, '-vf', 'gblur=sigma=2',
                                     self.path('o.mkv'), code=1)
                    self.says_once(run, 'cannot be read')
                    self.assertFalse(os.path.exists(self.path('o.mkv')))
            server.shutdown()

    def test_of_a_file(self):
        """It names a file in its own folder; of others it is told nothing."""
        source = re.search('file:(.*)', self.playlist())[1]
        shutil.copy(source, self.path('clip.ts'))
        with open(self.path('list.m3u8'), 'w') as file:
            file.write(self.playlist().replace(f'file:{source}', 'clip.ts'))
        self.filtered(self.path('list.m3u8'), 'o.mkv')


class Clocks(HaloTest):
    def test_start_below_zero(self):
        """A recording of MPEG-TS across the wrap of its 33 bits: MOV would hide what lies below 0."""
        source = transport('-output_ts_offset', '95438')
        need(frame_times(source)[0] < -2, 'a start below 0', source)
        for name in ('out.mp4', 'out.mkv'):
            with self.subTest(name):
                output = self.filtered(source, name)
                self.assertEqual(frame_count(output), len(frame_times(source)))
                shift = frame_times(output)[0] - frame_times(source)[0]
                self.assert_video_times(source, output, shift=shift)
                self.assert_audio_same(source, output, shift=shift)

    def joined(self, *extra):
        part = transport()
        if extra:
            part = clip('.ts', '-i', part, '-c', 'copy', *extra)
        source = self.path('joined.ts')
        with open(source, 'wb') as file:
            file.write(content(part) * 2)
        return part, source

    def assert_joined(self, part, source):
        """Twice the part: every picture and packet of sound, at the part's steps."""
        run = self.halod('run', '-i', source, '-vf', 'null', '-preset', 'veryfast', self.path('out.mkv'))
        self.says_once(run, 'clock jumps')
        output = self.path('out.mkv')
        once, times = frame_times(part), frame_times(output)
        self.assertEqual(len(times), 2 * len(once))
        for half in (times[:len(once)], times[len(once):]):
            for wanted, got in zip(once, half):
                self.assertLessEqual(abs((wanted - once[0]) - (got - half[0])), Fraction(2, 1000))
        gap = times[len(once)] - times[len(once) - 1]
        self.assertTrue(Fraction(39, 1000) <= gap < Fraction(1, 4), f'{float(gap)} s at the joint')
        self.assertEqual(len(packets(output, 'a:0')), 2 * len(packets(part, 'a:0')))
        before = packet_times(part, 'a:0')[0] - once[0]
        after = packet_times(output, 'a:0')[len(packets(part, 'a:0'))] - times[len(once)]
        self.assertLessEqual(abs(before - after), Fraction(2, 1000), 'sound of the second part')

    def test_joined_recordings(self):
        self.assert_joined(*self.joined('-mpegts_flags', '+initial_discontinuity'))

    def test_joined_recordings_whose_packet_count_breaks(self):
        self.assert_joined(*self.joined())


def boxes(data, start, end):
    """(type, position, size) of each box, those inside containers too."""
    position = start
    while position + 8 <= end:
        size, kind = struct.unpack_from('>I4s', data, position)
        yield kind, position, size
        if kind in (b'moov', b'trak', b'edts', b'mdia'):
            yield from boxes(data, position + 8, position + size)
        position += max(size, 8)


def trim(data, start, seconds, *, header=True):
    """An MP4 whose edit lists show seconds from start on, as a phone's trim makes them; others leave
    the lengths in the headers as they are."""
    data, scales, edits, scale = bytearray(data), [], [], 0
    for kind, at, _ in boxes(bytes(data), 0, len(data)):
        if kind == b'mvhd':
            scale, = struct.unpack_from('>I', data, at + 20)
        if kind == b'mvhd' and header:
            struct.pack_into('>I', data, at + 24, int(seconds * scale))
        if kind == b'tkhd' and header:
            struct.pack_into('>I', data, at + 28, int(seconds * scale))
        if kind == b'elst':
            edits.append(at)
        if kind == b'mdhd':
            scales.append(struct.unpack_from('>I', data, at + 20)[0])
    for at, own in zip(edits, scales):
        struct.pack_into('>Ii', data, at + 16, int(seconds * scale), int(start * own))
    return bytes(data)


class Containers(HaloTest):
    def trimmed(self, **more):
        whole = clip('.mp4', *video_source(seconds=4), *audio_source(4), *X264, '-g', '25', '-bf',
                     '2', '-c:a', 'aac')
        source = self.path('trimmed.mp4')
        with open(source, 'wb') as file:
            file.write(trim(content(whole), 2.5, 1, **more))
        need(frame_count(source) == 25, 'an edit list', source)
        return source

    def test_trimmed_by_an_edit_list(self):
        """Which may be shorter than the header says."""
        for header in (True, False):
            source = self.trimmed(header=header)
            self.assertEqual(frame_hashes(self.lossless(source)), frame_hashes(source))

    def test_sound_hidden_by_an_edit_list(self):
        source = self.trimmed()
        hidden = [p for p in packets(source, 'a:0') if 'D' in p['flags']]
        need(len(hidden) > 20, 'hidden sound', source)
        heard = [p['data_hash'] for p in packets(source, 'a:0') if 'D' not in p['flags']]
        for name in ('out.mkv', 'out.nut'):
            with self.subTest(name):
                output = self.filtered(source, name, '-preset', 'ultrafast')
                self.assertEqual([p['data_hash'] for p in packets(output, 'a:0')],
                                 [hidden[-1]['data_hash'], *heard])
                first = packet_times(output, 'a:0')[1] - frame_times(output)[0]
                wanted = packet_times(source, 'a:0')[len(hidden)] - frame_times(source)[0]
                self.assertLessEqual(abs(first - wanted), Fraction(2, 1000))

    def test_long_last_frame(self):
        """The output declares the last frame's duration, which no packet in it has."""
        short = clip('.gif', *video_source('64x64', 10))
        data = bytearray(content(short))
        at = data.rfind(b'\x21\xf9\x04')
        data[at + 4:at + 6] = (300).to_bytes(2, 'little')
        source = self.path('long.gif')
        with open(source, 'wb') as file:
            file.write(data)
        output = self.filtered(source, 'once.mkv')
        need(halotest.duration(probe(output)['format']) > 3.5, 'a long last frame', output)
        self.assertEqual(frame_count(self.filtered(output, 'twice.mkv')), 10)

    def test_avi_with_dropped_frames(self):
        source = clip('.avi', *video_source(seconds=3), '-vf', "select='not(mod(n,7))'",
                      '-fps_mode', 'vfr', '-c:v', 'mpeg4')
        self.assert_video_times(source, self.filtered(source, 'out.mkv'))

    def test_gxf(self):
        """Its demuxer ends with an error that is none."""
        source = clip('.gxf', *video_source('720x576', 25, 2), *audio_source(2, 440, 48000), '-c:v',
                      'mpeg2video', '-c:a', 'pcm_s16le')
        self.assertEqual(frame_count(self.filtered(source, 'out.mkv')), frame_count(source))

    def test_swf_marks_no_key_frames(self):
        source = silent_clip('.swf', codec=['-c:v', 'flv1'])
        self.assertEqual(frame_count(self.filtered(source, 'out.mkv')), 25)

    def test_decoders_that_call_much_an_error(self):
        for codec, suffix in (('tiff', '.mkv'), ('h261', '.avi'), ('flv1', '.flv')):
            with self.subTest(codec):
                source = silent_clip(suffix, size='176x144', codec=['-c:v', codec])
                self.assertEqual(frame_count(self.filtered(source, 'out.mkv', '-y')), 25)

    def test_live_matroska_through_a_pipe(self):
        """Nobody could go back to fill its lengths in."""
        data = ffmpeg(*video_source(), *audio_source(), *X264, '-c:a', 'aac', '-f', 'matroska',
                      '-live', '1', '-')
        output = self.path('out.mkv')
        self.halod('run', '-i', '-', '-vf', 'null', output, data=data)
        self.assertEqual(frame_count(output), 25)


class Late(HaloTest):
    """Streams that begin long after the first packet."""

    def late(self, suffix, kind, seconds, codecs):
        late = ['-itsoffset', seconds]
        video = ['-f', 'lavfi', '-i', 'testsrc2=size=64x64:rate=25:duration='
                 + ('4' if kind == 'v' else '30')]
        sound = audio_source(4 if kind == 'a' else 30)
        inputs = late + video + sound if kind == 'v' else video + late + sound
        source = clip(suffix, *inputs, '-map', '0', '-map', '1', *codecs)
        first = [packet_times(source, 'v:0')[0]]
        if suffix == '.ts':
            first.append(packet_times(source, 'a:0')[0])
            need(abs(first[0] - first[1]) > 20, 'a late stream', source)
        return source

    CODECS = [*X264, '-g', '25', '-c:a', 'mp2']

    def test_sound_of_transport_streams(self):
        source = self.late('.ts', 'a', '25', self.CODECS)
        output = self.filtered(source, 'out.mkv')
        self.assert_video_times(source, output)
        wanted, got = packets(source, 'a:0'), packets(output, 'a:0')
        self.assertEqual([p['data_hash'] for p in got], [p['data_hash'] for p in wanted])
        late = packet_times(source, 'a:0')[0] - packet_times(output, 'a:0')[0]
        self.assertLessEqual(abs(late), Fraction(2, 1000))

    def test_pictures_of_transport_streams(self):
        source = self.late('.ts', 'v', '25', self.CODECS)
        output = self.filtered(source, 'out.mkv')
        self.assert_video_times(source, output)
        self.assert_audio_same(source, output)

    PROGRAM = ['-c:v', 'mpeg1video', '-c:a', 'mp2']

    def test_sound_of_program_streams(self):
        source = self.late('.mpg', 'a', '20', self.PROGRAM)
        output = self.filtered(source, 'out.mkv')
        self.assertEqual(frame_count(output), 750)
        self.assertEqual(len(packets(output, 'a:0')), len(packets(source, 'a:0')))

    def test_sound_that_nothing_announced(self):
        """In a pipe one cannot look ahead: the output has begun when the sound comes."""
        data = content(self.late('.mpg', 'a', '20', self.PROGRAM))
        for options in ((), ('-an',)):
            with self.subTest(options):
                output = self.path('out.mkv')
                run = self.halod('run', '-y', '-i', '-', '-vf', 'null', '-preset', 'ultrafast', *options, output,
                                 data=data)
                self.assertEqual(frame_count(output), 750)
                if options:
                    self.assertNotIn('dropped', run.err)
                else:
                    self.says_once(run, 'is dropped: it begins in the middle of the file')


if __name__ == '__main__':
    halotest.main()
