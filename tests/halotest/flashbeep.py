# SPDX-License-Identifier: BSD-2-Clause
"""Clips in which a flash and a beep come at the same moment, and what players make of files: ffmpeg
decodes them as it plays them, edit lists and priming included."""
import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor

from halotest import FFMPEG, RUN_TIMEOUT, X264, clip

# Off by at most one audio frame: MP3's, of 1152 samples, at 48 kHz.
ONE_FRAME = 1152 / 48000
X264_B = [*X264, '-bf', '2', '-g', '10']
MPEG4 = ['-c:v', 'mpeg4', '-g', '10']
MPEG2 = ['-c:v', 'mpeg2video', '-bf', '2']
WEBM = ['-c:v', 'libvpx', '-deadline', 'realtime']

# Container: the codecs of a clip in it.
SOURCES = {
    '.mp4': [*X264_B, '-c:a', 'aac'],
    '.mov': [*X264_B, '-c:a', 'pcm_s16le'],
    '.mkv': [*X264_B, '-c:a', 'ac3'],
    '.flac.mkv': [*X264_B, '-c:a', 'flac'],
    '.webm': [*WEBM, '-c:a', 'libopus'],
    '.ts': [*X264_B, '-c:a', 'aac'],
    '.mpg': [*MPEG2, '-c:a', 'mp2'],
    '.avi': [*MPEG4, '-c:a', 'libmp3lame'],
    '.flv': [*X264_B, '-c:a', 'libmp3lame'],
    '.nut': [*X264_B, '-c:a', 'libvorbis'],
    '.ogv': ['-c:v', 'libtheora', '-c:a', 'libvorbis'],
    '.asf': [*MPEG4, '-c:a', 'wmav2'],
    '.3gp': [*X264_B, '-c:a', 'aac'],
    '.mxf': [*MPEG2, '-c:a', 'pcm_s16le'],
}
# Seconds at which pictures and sound begin.
STARTS = {'together': (0, 0), 'late sound': (0, 0.32), 'late pictures': (0.32, 0)}
COUNTING = ('.avi', '.mpg', '.mxf')  # their muxers want every frame


def source(suffix, start='together', moment=1.2, period=100, seconds=2):
    """White and a tone for 0.2 seconds from moment on, and after each period."""
    picture, sound = STARTS[start]
    on = 'between(mod({}+{:g},{}),{:.3f},{:.3f})'
    flash = on.format('T', picture, period, moment - .001, moment + .199)
    beep = on.format('t', sound, period, moment, moment + .2)
    return clip(suffix, '-f', 'lavfi', '-itsoffset', picture, '-i',
                f'color=black:s=64x48:r=25:d={seconds - picture},format=yuv420p,'
                f"geq=lum='if({flash},235,16)':cb=128:cr=128",
                '-f', 'lavfi', '-itsoffset', sound, '-i',
                f"aevalsrc='if({beep},0.8*sin(5000*t),0)':s=48000:d={seconds - sound}",
                '-map', '0', '-map', '1', '-fps_mode',
                'cfr' if suffix in COUNTING else 'passthrough', *SOURCES[suffix])


def lead(path):
    """Seconds by which a flash comes before its beep, of the pair that is the nearest. Only frames
    tell of it: in the log, black and silence end with the file too."""
    output = subprocess.run(
        [FFMPEG, '-nostdin', '-hide_banner', '-copyts', '-i', path, '-map', '0:v:0', '-map',
         '0:a:0', '-vf', 'blackdetect=d=0.04:pix_th=0.5,metadata=print:key=lavfi.black_end',
         '-af', 'silencedetect=n=-16dB:d=0.1,ametadata=print:key=lavfi.silence_end', '-f', 'null', '-'],
        stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=RUN_TIMEOUT).stderr.decode()
    flashes = [float(at) for at in re.findall(r'black_end=([\d.]+)', output)]
    beeps = [float(at) for at in re.findall(r'silence_end=([\d.]+)', output)]
    if not flashes or not beeps:
        raise AssertionError(f'{path}: no flash or no beep:\n{output[-2000:]}')
    return min((beep - flash for beep in beeps for flash in flashes), key=abs)


def is_whole():
    """All of a matrix is asked for, and not only a part of it."""
    return os.environ.get('HALOTEST_MATRIX') == 'whole'


def at_once(function, jobs):
    """[(job, result)], some at the same time."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(zip(jobs, pool.map(function, jobs)))
