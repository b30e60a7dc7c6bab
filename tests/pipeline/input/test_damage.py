# SPDX-License-Identifier: BSD-2-Clause
# Truncated and damaged input is an error, with what was wrong and at what time.
import os
import random
import re

import halotest
from halotest import HaloTest, X264, audio_source, clip, each, need, video_source

TIME = re.compile(r'\d+:\d\d|\d+(\.\d+)? ?(s\b|ms\b|sec)')


def content(path):
    with open(path, 'rb') as file:
        return file.read()


def boxes(data):
    """Top-level boxes of an MP4: {type: (start, size)}."""
    found, position = {}, 0
    while position + 8 <= len(data):
        size = int.from_bytes(data[position:position + 4], 'big')
        if size == 1:
            size = int.from_bytes(data[position + 8:position + 16], 'big')
        found[data[position + 4:position + 8].decode('latin1')] = (position, size)
        position += max(size, 8)
    return found


class Damage(HaloTest):
    def damaged(self, name, data, timed=True):
        """The run fails with one line, and nothing is left of it."""
        source, output = self.path(name), self.path('out.mkv')
        with open(source, 'wb') as file:
            file.write(data)
        run = self.halod('run', '-i', source, '-vf', 'null', '-v', 'error', '-preset', 'ultrafast', output,
                         code=1)
        line = self.assert_one_line(run)
        if timed:
            self.assertRegex(line.replace(source, ''), TIME, 'no time in the line')
        self.assertEqual(os.listdir(self.folder), [name])

    def movie(self, *extra, seconds=3):
        return clip('.mp4', *video_source(seconds=seconds), *audio_source(seconds), *X264, '-g',
                    '12', '-c:a', 'aac', *extra)

    def test_mp4_cut_inside_its_data(self):
        data = content(self.movie('-movflags', 'faststart'))
        start, size = boxes(data)['mdat']
        need(boxes(data)['moov'][0] < start, 'its index in front', 'mp4')
        for share in (3, 9):
            with self.subTest(f'{share}0 %'):
                self.damaged('cut.mp4', data[:start + size * share // 10])
        data = content(clip('.mp4', *video_source(seconds=3), *X264, '-movflags', 'faststart'))  # no sound
        start, size = boxes(data)['mdat']
        self.damaged('cut.mp4', data[:start + size // 2])

    def test_mp4_without_its_last_packet(self):
        """Nothing is torn, and its index is in front."""
        for sound in ((), audio_source(3)):
            source = clip('.mp4', *video_source(seconds=3), *sound, '-c:v', 'mpeg4', '-c:a', 'aac',
                          '-movflags', 'faststart')
            last = max(halotest.ffprobe(source, '-show_entries', 'packet=pos,size')['packets'],
                       key=lambda packet: int(packet['pos']))
            need(int(last['pos']) + int(last['size']) == os.path.getsize(source), 'data at its end', source)
            with self.subTest(f'sound: {bool(sound)}'):
                self.damaged('cut.mp4', content(source)[:int(last['pos'])])

    def test_mp4_without_its_index(self):
        data = content(self.movie())
        start, _ = boxes(data)['moov']
        need(start > boxes(data)['mdat'][0], 'its index at the end', 'mp4')
        self.damaged('cut.mp4', data[:start], timed=False)
        self.damaged('cut.mp4', data[:start + 20], timed=False)

    def test_old_output_stays(self):
        data = content(self.movie('-movflags', 'faststart'))
        start, size = boxes(data)['mdat']
        source, output = self.path('cut.mp4'), self.path('out.mkv')
        with open(source, 'wb') as file:
            file.write(data[:start + size // 2])
        with open(output, 'wb') as file:
            file.write(b'old')
        self.halod('run', '-y', '-i', source, '-vf', 'null', output, code=1)
        self.assertEqual(content(output), b'old')
        self.assertEqual(sorted(os.listdir(self.folder)), ['cut.mp4', 'out.mkv'])

    def test_mkv_cut(self):
        data = content(clip('.mkv', *video_source(seconds=3), *audio_source(3), *X264, '-c:a',
                            'libmp3lame', '-cluster_time_limit', '200'))
        for share in (3, 5, 9):
            with self.subTest(f'{share}0 %'):
                self.damaged('cut.mkv', data[:len(data) * share // 10])

    def test_mkv_cut_between_clusters(self):
        """Nothing is torn: only the declared length tells."""
        data = content(clip('.mkv', *video_source(seconds=3), *X264, '-g', '12',
                            '-cluster_time_limit', '200'))
        marks = [m.start() for m in re.finditer(re.escape(b'\x1f\x43\xb6\x75'), data)]
        need(len(marks) > 4, 'several clusters', 'mkv')
        self.damaged('cut.mkv', data[:marks[len(marks) // 2]])

    def test_avi_cut(self):
        data = content(clip('.avi', *video_source(seconds=3), '-c:v', 'mpeg4'))
        self.damaged('cut.avi', data[:len(data) // 2])

    def test_avi_that_lost_a_frame(self):
        """Nothing is torn, but its header declares one frame, and some bytes, more."""
        data = content(clip('.avi', *video_source(seconds=4), '-c:v', 'mjpeg'))
        frames = [m.start() for m in re.finditer(b'00dc', data[:data.index(b'idx1')])
                  if m.start() > data.index(b'movi')]
        need(len(frames) == 100, 'a chunk for each frame', 'avi')
        for first, last in ((50, 51), (98, 99)):
            with self.subTest(f'{first} to {last}'):
                self.damaged('hole.avi', data[:frames[first]] + data[frames[last]:])

    def test_mkv_from_stdin_cut(self):
        data = content(clip('.mkv', *video_source(seconds=3), *X264))
        run = self.halod('run', '-i', '-', '-vf', 'null', '-v', 'error', self.path('out.mkv'),
                         code=1, data=data[:len(data) // 2])
        self.assert_one_line(run)
        self.assertEqual(os.listdir(self.folder), [])

    def test_corrupted_h264_in_mp4(self):
        data = bytearray(content(clip('.mp4', *video_source(seconds=3), *X264, '-g', '12')))
        start, size = boxes(bytes(data))['mdat']
        for at in (3, 7):
            with self.subTest(f'at {at}0 %'):
                broken, place = bytearray(data), start + size * at // 10
                broken[place:place + 6000] = random.Random(at).randbytes(6000)
                need(place + 6000 < start + size, 'room for damage', 'mp4')
                self.damaged('broken.mp4', bytes(broken))

    def test_corrupted_h264_in_mkv(self):
        data = bytearray(content(clip('.mkv', *video_source(seconds=3), *X264, '-g', '12')))
        place = len(data) // 2
        data[place:place + 6000] = random.Random(5).randbytes(6000)
        self.damaged('broken.mkv', bytes(data))

    def test_corrupted_slice_data_only(self):
        """The container is whole; only the pictures inside are wrong."""
        source = clip('.mp4', *video_source(seconds=3), *X264, '-g', '12')
        data = bytearray(content(source))
        packets = halotest.packets(source, 'v:0')
        for packet in packets[30:36]:
            begin, end = int(packet['pos']) + 40, int(packet['pos']) + int(packet['size'])
            need(end > begin, 'packets of more than 40 bytes', source)
            data[begin:end] = random.Random(begin).randbytes(end - begin)
        self.damaged('broken.mp4', bytes(data))

    def test_corrupted_ffv1(self):
        """FFV1 has checksums, so every flipped bit is seen."""
        source = clip('.mkv', *video_source(), '-pix_fmt', 'yuv420p', '-c:v', 'ffv1', '-level', '3',
                      '-slicecrc', '1')
        packet = halotest.packets(source, 'v:0')[12]
        data = bytearray(content(source))
        data[int(packet['pos']) + int(packet['size']) // 2] ^= 0xff
        self.damaged('broken.mkv', bytes(data))

    def test_cut_inside(self):
        """The demuxer goes on behind the hole: it says so in a line only."""
        for (suffix, codec), share in each(
                (('.mkv', [*X264, '-g', '25']), ('.webm', ['-c:v', 'libvpx']),
                 ('.flv', [*X264, '-g', '25']), ('.nut', ['-c:v', 'ffv1']),
                 ('.ogv', ['-c:v', 'libtheora'])), (3, 5, 7)):
            source = clip(suffix, *video_source(seconds=4), *audio_source(4), *codec)
            data = content(source)
            with self.subTest(f'{suffix} at {share}0 %'):
                hole = len(data) * share // 10
                self.damaged('cut' + suffix, data[:hole] + data[hole + len(data) // 8:])
                os.remove(self.path('cut' + suffix))

    def test_transport_stream_with_a_hole(self):
        data = content(clip('.ts', *video_source(seconds=3), *X264, '-g', '12'))
        packet = len(data) // 188 // 2 * 188
        self.damaged('hole.ts', data[:packet] + data[packet + 7 * 188:])

    def test_whole_files_are_not_called_damaged(self):
        """One frame short is not: rounding of a declared length is no damage."""
        for rate, suffix in each(('30000/1001', '12.5', '7/3'), ('.mp4', '.mkv', '.avi')):
            with self.subTest(rate + suffix):
                source = clip(suffix, *video_source(rate=rate, seconds=3), *audio_source(2),
                              '-c:v', 'mpeg4', '-c:a', 'libmp3lame')
                self.filtered(source, 'out.mkv', '-y')

    def test_mpegts_is_blind(self):
        """MPEG-TS declares nothing: cut between packets it is a shorter clip."""
        data = content(clip('.ts', *video_source(seconds=2), '-c:v', 'mpeg2video', '-bf', '0'))
        source = self.path('cut.ts')
        with open(source, 'wb') as file:
            file.write(data[:len(data) * 9 // 10 // 188 * 188])
        run = halotest.run_halod('run', '-i', source, '-vf', 'null', self.path('out.mkv'))
        self.assertIn(run.code, (0, 1), self.logged(run))
        self.assertEqual(run.code == 0, os.path.exists(self.path('out.mkv')))



class KeepGoing(HaloTest):
    """-keep-going reads past damage: what is there comes out, counted, exit 0."""

    def go_on(self, name, data, *options):
        source = self.path(name)
        with open(source, 'wb') as file:
            file.write(data)
        self.halod('run', '-i', source, '-vf', 'null', '-preset', 'ultrafast', self.path('strict.mkv'), code=1)
        run = self.halod('run', '-keep-going', '-y', '-i', source, '-vf', 'null', '-preset', 'ultrafast', *options,
                         self.path('out.mkv'))
        found = re.search(r'(\d+) damaged places? in the input skipped', run.err)
        self.assertTrue(found, self.logged(run))
        return run, int(found.group(1))

    def test_truncated_file(self):
        data = content(clip('.mp4', *video_source(seconds=3), *audio_source(3), *X264, '-c:a',
                            'aac', '-movflags', 'faststart'))
        start, size = boxes(data)['mdat']
        _, places = self.go_on('cut.mp4', data[:start + size // 2], '-progress', self.path('progress'))
        self.assertGreater(places, 0)
        self.assertGreater(halotest.frame_count(self.path('out.mkv')), 20)
        self.assertTrue(halotest.decodes_cleanly(self.path('out.mkv')))
        with open(self.path('progress')) as file:
            self.assertEqual(re.findall(r'damaged_places=(\d+)', file.read())[-1], str(places))

    def test_flipped_bytes(self):
        for suffix, codec in (('.ts', X264), ('.mkv', ['-c:v', 'mpeg4', '-q:v', '3']),
                              ('.mkv', X264), ('.h264', X264), ('.avi', ['-c:v', 'mjpeg'])):
            with self.subTest(f'{suffix} {codec[1]}'):
                data = bytearray(content(clip(suffix, *video_source(seconds=3), *codec)))
                draw = random.Random(3)
                for at in draw.sample(range(len(data) // 5, len(data) * 4 // 5), 40):
                    data[at] ^= 0x55
                run, places = self.go_on('torn' + suffix, bytes(data))
                said = re.findall(r'continuing$', run.err, re.M)
                self.assertEqual(len(said), min(places, 3))
                self.assertGreater(halotest.frame_count(self.path('out.mkv')), 30)
                self.assertTrue(halotest.decodes_cleanly(self.path('out.mkv')))

    def test_hole(self):
        data = content(clip('.ts', *video_source(seconds=3), *audio_source(3), *X264, '-c:a',
                            'aac'))
        third = len(data) // 3 // 188 * 188
        self.go_on('hole.ts', data[:third] + data[third + 188 * 40:])

    def test_whole_file_says_nothing(self):
        source = clip('.mp4', *video_source(seconds=1), *X264)
        run = self.halod('run', '-keep-going', '-i', source, '-vf', 'null', self.path('out.mkv'))
        self.assertNotIn('damaged', run.err)

    def test_nothing_to_decode_is_an_error(self):
        source = self.path('noise.h264')
        with open(source, 'wb') as file:
            file.write(random.Random(1).randbytes(50000))
        self.halod('run', '-keep-going', '-f', 'h264', '-i', source, '-vf', 'null',
                   self.path('out.mkv'), code=1)


if __name__ == '__main__':
    halotest.main()
