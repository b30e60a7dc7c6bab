# SPDX-License-Identifier: BSD-2-Clause
# Every codec into every container: right, as ffprobe finds it, or refused with one line. Nothing is
# lost without a word. HALOTEST_MATRIX=whole takes all; otherwise a part of it, and all of MPEG-TS.
import os

import halotest
from halotest.flashbeep import at_once, is_whole
from halotest import ClipError, HaloTest, call, clip, run_halod, video_source

CONTAINERS = ('.mp4', '.mov', '.m4v', '.mkv', '.webm', '.ts', '.mpg', '.vob', '.avi', '.flv',
              '.nut', '.ogv', '.asf', '.3gp', '.mxf')
# Encoder: what it makes, and what it needs.
VIDEO = {
    'libx264': 'h264', 'libx265': 'hevc', 'mpeg1video': '', 'mpeg2video': '', 'mpeg4': '',
    'mjpeg': '', 'libvpx': 'vp8', 'libvpx-vp9': 'vp9', 'libaom-av1': 'av1',
    'ffv1': '', 'png': '', 'gif': '', 'rawvideo': '', 'libtheora': 'theora', 'huffyuv': '',
    'ffvhuff': '', 'prores_ks': 'prores', 'flv': 'flv1', 'wmv1': '', 'wmv2': '', 'msmpeg4': 'msmpeg4v3',
    'libxvid': 'mpeg4', 'utvideo': '', 'libopenjpeg': 'jpeg2000', 'jpeg2000': '', 'snow': '',
    'flashsv': '', 'qtrle': '', 'bmp': '', 'tiff': '', 'libwebp': 'webp', 'h261': '', 'h263': '',
}
SIZES = {'h261': '176x144', 'h263': '176x144'}
AUDIO = {
    'aac': (), 'libmp3lame': (), 'mp2': (), 'ac3': (), 'eac3': (), 'flac': (), 'alac': (),
    'libopus': (), 'libvorbis': (), 'pcm_s16le': (), 'pcm_s16be': (), 'pcm_s24le': (),
    'pcm_s24be': (), 'pcm_s32le': (), 'pcm_f32le': (), 'pcm_u8': (), 'pcm_alaw': (),
    'pcm_mulaw': (), 'wmav1': (), 'wmav2': (), 'libspeex': ('-ar', '16000'),
    'dca': ('-strict', '-2'), 'truehd': ('-strict', '-2'), 'adpcm_ms': (),
    'adpcm_ima_wav': (), 'wavpack': (), 'tta': (),
    'adpcm_swf': ('-ar', '44100'), 'g722': ('-ar', '16000'),
}


def sound_clip(encoder):
    """Pictures of MPEG-4 and this sound, in the first container that takes it."""
    made = None
    for suffix in ('.mkv', '.nut', '.mov', '.asf', '.wav.avi', '.ts'):
        try:
            made = clip(suffix, *video_source('64x48', 25, '0.4'), '-f', 'lavfi', '-i',
                        'sine=sample_rate=48000:duration=0.4', '-c:v', 'mpeg4', '-c:a', encoder,
                        *AUDIO[encoder])
        except ClipError:
            continue
        if played(made, 'audio')[1]:
            return made
    return None


def played(path, kind):
    """(codec, frames that decode), by ffprobe; (None, 0) where there is no such stream."""
    found = halotest.ffprobe(path, '-select_streams', kind[0], '-count_frames', '-show_entries',
                             'stream=codec_name,nb_read_frames')['streams']
    if not found:
        return None, 0
    return found[0].get('codec_name'), int(found[0].get('nb_read_frames', 0))


# Where ffprobe has another name for what is the same to decoders.
SAME = {('.mp4', 'mp2'): 'mp3', ('.m4v', 'mp2'): 'mp3', ('.nut', 'eac3'): 'ac3',
        ('.mpg', 'pcm_s16be'): 'pcm_dvd', ('.vob', 'pcm_s16be'): 'pcm_dvd'}
PICTURES = {'.webm': 'libvpx', '.ogv': 'libtheora', '.mxf': 'mpeg2video', '.flv': 'flv',
            '.mpg': 'mpeg2video', '.vob': 'mpeg2video'}
# What has to be right and not refused.
HELD = {
    '.mp4': 'h264 hevc mpeg4 av1 vp9 aac mp3 ac3 eac3 opus alac',
    '.mov': 'h264 hevc prores mjpeg aac mp3 ac3 alac pcm_s16le pcm_s24le',
    '.mkv': 'h264 hevc vp8 vp9 av1 ffv1 mpeg4 aac mp3 ac3 flac opus vorbis pcm_s16le',
    '.webm': 'vp8 vp9 av1 opus vorbis',
    '.ts': 'h264 hevc mpeg2video mpeg4 aac mp2 mp3 ac3 eac3 opus dts',
    '.mpg': 'mpeg1video mpeg2video mp2 mp3 ac3',
    '.avi': 'mpeg4 h264 mjpeg ffv1 mp3 ac3 pcm_s16le',
    '.flv': 'h264 flv1 aac mp3',
    '.nut': 'h264 ffv1 rawvideo aac mp3 flac opus vorbis pcm_s16le',
    '.ogv': 'theora vp8 vorbis opus flac',
    '.asf': 'wmv2 wmav2 mp3',
    '.3gp': 'h264 mpeg4 aac',
    '.mxf': 'mpeg2video pcm_s16le',
}


class Matrix(HaloTest):
    def judge(self, run, output, kind, codec, least):
        """'right', 'refused', or what is wrong."""
        if run.code == 64 and len(run.err.strip().splitlines()) == 1:
            return 'refused'
        if run.code:
            return f'exit {run.code}: {run.err}'
        try:
            got, many = played(output, kind)
        except ClipError as error:
            return f'unreadable: {error}'
        wanted = SAME.get((os.path.splitext(output)[1], codec), codec)
        return 'right' if (got, many >= least) == (wanted, True) else f'{got}, {many} of {least}'

    def sound(self, encoder, suffix):
        source = sound_clip(encoder)
        codec, many = played(source, 'audio')
        output = self.path(f'a-{encoder}{suffix}')
        run = run_halod('run', '-v', 'warning', '-i', source, '-vf', 'null', '-c:v',
                        PICTURES.get(suffix, 'mpeg4'), output)
        return codec, self.judge(run, output, 'audio', codec, many * 2 // 5)  # MXF's are longer

    def pictures(self, encoder, suffix):
        codec = VIDEO[encoder] or encoder
        source = clip('.mkv', *video_source(SIZES.get(encoder, '64x48'), 25, 1), '-frames:v', '10',
                      '-c:v', 'ffv1', '-pix_fmt', 'yuv420p')
        output = self.path(f'v-{encoder}{suffix}')
        run = run_halod('run', '-v', 'warning', '-i', source, '-vf', 'null', '-c:v', encoder, output)
        return codec, self.judge(run, output, 'video', codec, 8)

    def test_every_codec(self):
        known = call([halotest.FFMPEG, '-hide_banner', '-encoders']).decode()
        for encoder in AUDIO:
            if f' {encoder} ' in known:
                sound_clip(encoder)
        jobs = [(self.sound, encoder, suffix) for suffix in CONTAINERS for encoder in AUDIO]
        jobs += [(self.pictures, encoder, suffix) for suffix in CONTAINERS for encoder in VIDEO]
        jobs = [job for number, job in enumerate(jobs) if f' {job[1]} ' in known and
                (is_whole() or job[2] == '.ts' or number % 23 == 0)]
        for job, (codec, verdict) in at_once(lambda job: job[0](*job[1:]), jobs):
            with self.subTest(' '.join(job[1:])):
                held = codec in HELD.get(job[2], '').split()
                self.assertIn(verdict, ['right'] if held else ['right', 'refused'])
        print(f'{len(jobs)} pairs')


class Daemon(HaloTest):
    def test_outputs_that_cannot_hold_what_is_named(self):
        for output, says in (('unix: o.ts, video: {codec: libvpx-vp9}', 'vp9 video'),
                             ('file: o.ts, audio: libvorbis', 'vorbis audio'),
                             ('url: "udp://127.0.0.1:9", format: mpegts, audio: flac', 'flac audio'),
                             ('file: o.webm', 'h264 video')):
            with self.subTest(output):
                with open(self.path('halod.yaml'), 'w', encoding='ascii') as file:
                    file.write('version: 1\ncontrol: {path: c.sock}\nstreams:\n'
                               '  x: {input: "test:", filters: gblur, outputs: [{%s}]}\n' % output)
                run = self.halod('--check-config', self.path('halod.yaml'), code=78)
                self.assertRegex(run.err, 'does not support ' + says)


if __name__ == '__main__':
    halotest.main()
