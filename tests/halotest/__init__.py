# SPDX-License-Identifier: BSD-2-Clause
# Helpers of the end-to-end tests: clips, runs of halod, witnesses by ffprobe and ffmpeg.
"""The program under test is $HALOD. Clips are made once, into a cache folder that parallel test
files share; each is probed for the property that its test needs (ClipError where it lacks it)."""
import array
import contextlib
import fcntl
import hashlib
import itertools
import json
import os
import random
import re
import resource
import select
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from collections import namedtuple
from fractions import Fraction

from halotest import warm
from halotest.warm import FFMPEG, FFPROBE, HALOD

# ALONE: "only" where nothing but this test runs, "no" where anything may run beside it: no assertion
# depends on time there, and a wait ends when what it waits for is there, or after so long that the
# test is stuck.
ALONE = os.environ.get('HALOTEST_ALONE')
PATIENCE = float(os.environ.get('HALOTEST_PATIENCE', 15 if ALONE == 'no' else 1))
RUN_TIMEOUT = 60 * PATIENCE  # seconds; generous because sanitizer builds are slow
WHOLE = os.environ.get('HALOTEST_LISTS') == 'whole'  # in the suite wide
EXIT_SKIPPED = 77

Run = namedtuple('Run', 'code out err command')


class ClipError(Exception):
    """A clip could not be made or does not have the property that its test is about."""


# ---- running things ----

def quoted(command):
    return ' '.join(f"'{word}'" if re.search(r"[^\w@%+=:,./-]", word) or not word else word
                    for word in map(str, command))


def call(command, data=None, timeout=RUN_TIMEOUT, cwd=None):
    """Runs an outside tool that must succeed; returns its stdout as bytes."""
    done = warm.run([str(word) for word in command], data, timeout, cwd=cwd)
    if done.returncode:
        raise ClipError(f'{quoted(command)}\nexit {done.returncode}\n'
                        + done.stderr.decode(errors='replace'))
    return done.stdout


def ffmpeg(*arguments, data=None, timeout=RUN_TIMEOUT):
    return call([FFMPEG, '-nostdin', '-v', 'error', '-y', *arguments], data, timeout)


# What runs a command as another user: tests of root become one without rights.
AS_ANOTHER = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups'] \
    if os.geteuid() == 0 else []


def halod_command(*arguments):
    return [HALOD, *map(str, arguments)]


def halod_environment(cache='/nonexistent'):
    environment = dict(os.environ, LC_ALL='C.UTF-8')
    environment['TERM'] = 'xterm'  # a dumb one gets no bar
    environment['XDG_CACHE_HOME'] = cache  # by default nothing was measured on this machine
    if os.geteuid():  # the tests count descriptors, as only root may otherwise
        environment.setdefault('HALOD_DEBUGGABLE', '1')
    return environment


def run_halod(*arguments, data=None, cwd=None, timeout=RUN_TIMEOUT, cache='/nonexistent',
              environment=None):
    command = halod_command(*arguments)
    done = warm.run(command, data, timeout, cwd=cwd,
                    env={**halod_environment(cache), **(environment or {})})
    return Run(done.returncode, done.stdout, done.stderr.decode(errors='replace'), quoted(command))


def filter_examples():
    """The example of every kind of filter, as halod tells it: {name: chain}."""
    found = {}
    for line in run_halod('filters').out.decode().splitlines():
        name = line.split()[0]
        text = run_halod('filter', name).out.decode()
        option, found[name] = shlex.split(re.search(r'(?m)^example: (.*)$', text)[1])
        assert option == '-vf'
    return found


def each(*lists):
    """All combinations in the suite wide; elsewhere so few that each value is in one."""
    if WHOLE:
        return list(itertools.product(*lists))
    return [tuple(values[at % len(values)] for values in lists)
            for at in range(max(map(len, lists)))]


def has_encoder(name):
    return f' {name} ' in call([FFMPEG, '-hide_banner', '-encoders']).decode()


def start_halod(*arguments, cwd=None, stdin=subprocess.DEVNULL, environment=None):
    return warm.Popen(halod_command(*arguments), cwd=cwd, stdin=stdin,
                      env={**halod_environment(), **(environment or {})},
                      stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def wait_until(condition, timeout=60):
    """The time is generous: a wait in vain is a failure anyway."""
    end = time.monotonic() + timeout * PATIENCE
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.05)
    return bool(condition())


def is_full(pipe):
    """Whether a writer has to wait. Another end of the pipe is asked: how much the pipe holds says
    nothing, since its writer may have been stopped."""
    end = os.open(f'/proc/self/fd/{pipe.fileno()}', os.O_WRONLY | os.O_NONBLOCK)
    try:
        return not select.select([], [end], [], 0)[1]
    finally:
        os.close(end)


def is_sanitized(marks=(b'__asan_init', b'__tsan_init'), program=None):
    """Sanitizers keep freed memory for a while: how much there is says nothing."""
    try:
        with open(program or HALOD, 'rb') as file:
            data = file.read()
    except OSError:
        return False
    return any(mark in data for mark in marks)


def memory_kib(pid):
    """Resident, of a process."""
    with open(f'/proc/{pid}/status', encoding='ascii') as file:
        return int(re.search(r'VmRSS:\s+(\d+)', file.read())[1])


def descriptors(pid):
    """How many a process has open."""
    return len(os.listdir(f'/proc/{pid}/fd'))


def processor_waits():
    """Of each thread of this process and of those that it has started: the nanoseconds for which it
    has had work and no processor."""
    parents, found = {}, {}
    for process in filter(str.isdigit, os.listdir('/proc')):
        with contextlib.suppress(OSError), open(f'/proc/{process}/stat', errors='replace') as file:
            parents[int(process)] = int(file.read().rsplit(')', 1)[1].split()[1])
    family = {os.getpid()}
    while more := {child for child, parent in parents.items() if parent in family} - family:
        family |= more
    for process in family:
        with contextlib.suppress(OSError):
            for thread in os.listdir(f'/proc/{process}/task'):
                with open(f'/proc/{process}/task/{thread}/schedstat') as file:
                    found[thread] = int(file.read().split()[1])
    return found


def measures_time():
    """For what only a test that is marked `@alone` may use."""
    assert ALONE != 'no', 'a test that is not marked @alone measures time'


class Waits:
    """Measures, from its creation on, for how long the threads of a test and of its programs have
    waited for a processor, all together: by so much anything of theirs may come later. On a machine
    that has nothing else to do these are milliseconds, and some tenths of a second where programs
    of the test start: they wait for each other, too."""

    def __init__(self):
        measures_time()
        self.begun = processor_waits()

    def seconds(self):
        return sum(max(0, waited - self.begun.get(thread, 0))
                   for thread, waited in processor_waits().items()) / 1e9


taken_ports = []


def free_port():
    """Below those that the kernel gives to connections of others until somebody listens at it, and
    no other test's until this process ends."""
    while True:
        port = random.SystemRandom().randrange(10000, 32000)
        mark = socket.socket(socket.AF_UNIX)
        with socket.socket() as probe, contextlib.suppress(OSError):
            mark.bind(f'\0halotest-port-{port}')
            probe.bind(('127.0.0.1', port))
            taken_ports.append(mark)
            return port
        mark.close()


class Feeder(threading.Thread):
    """Writes the first part of data into a process at once and trickles or holds the rest."""

    def __init__(self, process, data, first, trickle=True):
        super().__init__(daemon=True)
        self.process, self.data, self.first, self.trickle = process, data, first, trickle
        self.stop = threading.Event()
        self.start()

    def run(self):
        pipe = self.process.stdin
        try:
            pipe.write(self.data[:self.first])
            pipe.flush()
            position = self.first
            while not self.stop.wait(0.05):
                if self.trickle and position < len(self.data) - 4096:
                    pipe.write(self.data[position:position + 256])
                    pipe.flush()
                    position += 256
        except (BrokenPipeError, OSError, ValueError):
            pass

    def close(self):
        self.stop.set()
        self.join(5)
        try:
            self.process.stdin.close()
        except OSError:
            pass


# ---- clips ----

def cache_folder():
    path = os.path.join(tempfile.gettempdir(), f'halotest-clips-{os.getuid()}')
    os.makedirs(path, mode=0o700, exist_ok=True)
    if os.stat(path).st_uid != os.getuid():
        raise ClipError(f'{path} belongs to somebody else')
    return path


def cached(suffix, key, make):
    """The cached file for key; make(path) writes it the first time."""
    name = hashlib.sha256(repr(key).encode()).hexdigest()[:20] + suffix
    path = os.path.join(cache_folder(), name)
    if os.path.exists(path):
        return path
    # Another process may make it as well, and one that has it must not see it change.
    with open(path + '.lock', 'w', encoding='ascii') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(path):
            scratch = tempfile.mkdtemp(dir=cache_folder())
            try:
                made = os.path.join(scratch, 'clip' + suffix)
                make(made)
                os.rename(made, path)
            finally:
                shutil.rmtree(scratch, ignore_errors=True)
    return path


def clip(suffix, *arguments, data=None):
    """A clip made by `ffmpeg ARGUMENTS clip.SUFFIX`."""
    digest = hashlib.sha256(data).hexdigest() if data is not None else None
    key = (3, suffix, [str(word) for word in arguments], digest)
    return cached(suffix, key, lambda path: ffmpeg(*arguments, path, data=data))


def video_source(size='160x120', rate=25, seconds=1):
    return ['-f', 'lavfi', '-i', f'testsrc2=size={size}:rate={rate}:duration={seconds}']


def audio_source(seconds=1, frequency=440, rate=44100):
    return ['-f', 'lavfi', '-i',
            f'sine=frequency={frequency}:sample_rate={rate}:duration={seconds}']


X264 = ['-c:v', 'libx264', '-preset', 'ultrafast', '-threads', '1', '-pix_fmt', 'yuv420p']
X264_B = ['-c:v', 'libx264', '-preset', 'veryfast', '-threads', '1', '-bf', '3', '-g', '12',
          '-x264-params', 'b-adapt=0', '-pix_fmt', 'yuv420p']


def long_clip(suffix='.mkv'):
    """Of 20 seconds, with sound: long enough to do something to a run while it works."""
    return clip(suffix, *video_source(seconds=20), *audio_source(20), *X264, '-g', '25', '-c:a',
                'libmp3lame')


def plain_clip(suffix='.mp4', seconds=1, size='160x120', rate=25, extra=()):
    """H.264 with B-frames, and AAC: what most files are."""
    path = clip(suffix, *video_source(size, rate, seconds), *audio_source(seconds), *X264_B,
                '-c:a', 'aac', '-b:a', '64k', *extra)
    need(probe(path)['streams'][0].get('has_b_frames', 0) > 0, 'B-frames', path)
    return path


def silent_clip(suffix='.mkv', seconds=1, size='160x120', rate=25, codec=None, extra=()):
    return clip(suffix, *video_source(size, rate, seconds), *(codec or X264), *extra)


def interlaced_clip(order):
    """In Matroska; order: tff or bff. Containers mean different things by their field order."""
    path = clip('.mkv', *video_source('160x128', 50), '-vf', 'interlace=scan=' + order, *X264,
                '-flags', '+ildct', '-x264opts', order + '=1')
    need(probe_video(path)['field_order'] in ('tb', 'bt'), 'fields of two kinds', path)
    return path


def turned_clip(source, degrees):
    """A copy in MP4 that players turn by so many degrees against the clock."""
    try:
        path = clip('.mp4', '-display_rotation', str(degrees), '-i', source, '-c', 'copy')
    except ClipError:  # before FFmpeg 6.0
        path = clip('.mp4', '-i', source, '-c', 'copy', '-metadata:s:v', f'rotate={degrees}')
    need(rotation(probe_video(path)) % 360 == degrees, 'rotation', path)
    return path


def has_faults():
    """Whether $HALOD was built with -Dfaults=true. Not asked by a fault: one that does no harm where
    it should is what the tests are to find."""
    with open(HALOD, 'rb') as file:
        return b'HALOD_FAULT' in file.read()


def need_faults():
    if not has_faults():
        raise unittest.SkipTest('built without faults')


def with_colours(pixel_format, **tags):
    """Options for a clip that says which colours its samples mean, in the words of setparams. From
    FFmpeg 7.1 on, `-color_trc` and its like no longer prevail over what the frames say."""
    said = ':'.join(f'{name}={value}' for name, value in tags.items())
    return ['-vf', f'format={pixel_format},setparams={said}']


BT2020_PQ = {'color_primaries': 'bt2020', 'color_trc': 'smpte2084', 'colorspace': 'bt2020nc'}


def raw_clip(frames, pixel_format, width, height, suffix='.nut', rate=25):
    """Given samples, wrapped so that the decoder gives them back unchanged."""
    path = clip(suffix, '-f', 'rawvideo', '-pixel_format', pixel_format, '-video_size',
                f'{width}x{height}', '-framerate', rate, '-i', '-', '-c:v', 'rawvideo', data=frames)
    need(probe_video(path)['pix_fmt'] == pixel_format, pixel_format, path)
    return path


def need(condition, what, path):
    if not condition:
        raise ClipError(f'clip {path} lacks what its test is about: {what}')


# ---- witnesses ----

probed = {}  # by the state of the file, and what was asked
KINDS = {'v': 'video', 'a': 'audio', 's': 'subtitle'}


def state_of(path):
    """What tells a file from what is there later, or None for a URL."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return path, found.st_ino, found.st_mtime_ns, found.st_size


def ffprobe(path, *arguments):
    """What ffprobe says, asked once for each state of a file."""
    key = state_of(path), arguments
    found = probed.get(key) or call([FFPROBE, '-v', 'error', '-of', 'json', *arguments, '-i', path])
    if key[0]:
        probed[key] = found
    return json.loads(found)


def probe(path):
    return ffprobe(path, '-show_format', '-show_streams', '-show_chapters')


def streams(path, kind=None):
    found = probe(path)['streams']
    return [s for s in found if kind is None or s['codec_type'] == kind]


def real_videos(path):
    return [s for s in streams(path, 'video') if not s['disposition']['attached_pic']]


def probe_video(path, index=0):
    return streams(path, 'video')[index]


def lower_tags(node):
    return {name.lower(): value for name, value in node.get('tags', {}).items()}


def rotation(stream):
    for side in stream.get('side_data_list', []):
        if 'rotation' in side:
            return int(side['rotation'])
    return 0


def seconds_of(ticks, stream):
    return int(ticks) * Fraction(stream['time_base'])


def tick(stream):
    return Fraction(stream['time_base'])


def packets(path, stream):
    """Packets of one stream as ffprobe sees them, each with a hash of its data."""
    return ffprobe(path, '-select_streams', str(stream), '-show_packets', '-show_data_hash',
                   'md5').get('packets', [])


def leave_out_last(path):
    """Ends a recording of a live stream where its last packet begins: its reader may have stopped in
    the midst of that one. Packets begin where the one before ends, but in MPEG-TS, which says so."""
    listed = sorted((int(p['pos']), int(p['size']))
                    for p in ffprobe(path, '-show_entries', 'packet=pos,size')['packets'])
    block_header = {'.mkv': 4, '.nut': 0}
    suffix = os.path.splitext(path)[1]
    os.truncate(path, listed[-1][0] if suffix == '.ts' else sum(listed[-2]) + block_header[suffix])


def kind_stream(path, select):
    kind, index = select.split(':')
    return streams(path, KINDS[kind])[int(index)]


def packet_times(path, select='v:0'):
    """Sorted presentation times of the packets, exact."""
    stream = kind_stream(path, select)
    return sorted(seconds_of(p['pts'], stream) for p in packets(path, select) if 'pts' in p)


def decoded(path, select):
    """Of one stream, the frames and their number."""
    return ffprobe(path, '-select_streams', select, '-count_frames', '-show_entries',
                   'frame=best_effort_timestamp:stream=nb_read_frames')


def frame_times(path, select='v:0'):
    """Presentation times of the decoded frames, exact."""
    stream = kind_stream(path, select)
    frames = decoded(path, select)['frames']
    return [seconds_of(f['best_effort_timestamp'], stream) for f in frames]


def frame_count(path, select='v:0'):
    """Frames that really decode."""
    return int(decoded(path, select)['streams'][0]['nb_read_frames'])


def frame_hashes(path, select='0:v:0', pixel_format=None):
    """One md5 for each decoded frame, in its own format or converted to pixel_format."""
    command = ['-noautorotate', '-i', path, '-map', select, '-fps_mode', 'passthrough']
    if pixel_format:
        command += ['-pix_fmt', pixel_format, '-sws_flags', 'accurate_rnd+bitexact']
    lines = ffmpeg(*command, '-c:v', 'rawvideo', '-f', 'framemd5', '-').decode().splitlines()
    return [line.split(',')[-1].strip() for line in lines if line and not line.startswith('#')]


def raw_frames(path, select='0:v:0', filters=None, pixel_format=None, options=()):
    """All decoded frames as one run of bytes."""
    command = [*options, '-noautorotate', '-i', path, '-map', select, '-fps_mode', 'passthrough']
    if filters:
        command += ['-vf', filters]
    if pixel_format:
        command += ['-pix_fmt', pixel_format]
    return ffmpeg(*command, '-c:v', 'rawvideo', '-f', 'rawvideo', '-')


def decodes_cleanly(path):
    """True where every stream of the file decodes without a word from ffmpeg."""
    done = warm.run([FFMPEG, '-nostdin', '-v', 'warning', '-i', path, '-map', '0:v', '-map', '0:a?',
                     '-f', 'null', '-'], timeout=RUN_TIMEOUT)
    return done.returncode == 0 and not done.stderr.strip()


def subtitle_text(path, select='0:s:0'):
    """Events as srt, without markup that a container adds."""
    text = ffmpeg('-i', path, '-map', select, '-f', 'srt', '-').decode()
    return re.sub(r'<[^>]*>', '', text).strip()


def audio_samples_md5(path, select='0:a:0'):
    return hashlib.md5(ffmpeg('-i', path, '-map', select, '-f', 's16le', '-')).hexdigest()


def duration(node):
    return float(node['duration'])


def length(path):
    """Seconds from the first to the last moment. Most containers declare the moment of the end,
    MPEG-TS and AVI the length."""
    found = probe(path)['format']
    if os.path.splitext(path)[1] in ('.ts', '.avi'):
        return duration(found)
    return duration(found) - float(found.get('start_time', 0))


# ---- pictures ----

# name: (log2 chroma shift x, y, number of planes, bytes of a sample)
LAYOUTS = {
    'gray': (0, 0, 1, 1), 'gray10le': (0, 0, 1, 2),
    'yuv420p': (1, 1, 3, 1), 'yuv422p': (1, 0, 3, 1), 'yuv444p': (0, 0, 3, 1),
    'yuv420p10le': (1, 1, 3, 2), 'yuv422p10le': (1, 0, 3, 2), 'yuv444p10le': (0, 0, 3, 2),
    'gbrp': (0, 0, 3, 1), 'gbrp10le': (0, 0, 3, 2), 'gbrp12le': (0, 0, 3, 2),
    'gray12le': (0, 0, 1, 2),
    'yuv420p12le': (1, 1, 3, 2), 'yuv422p12le': (1, 0, 3, 2), 'yuv444p12le': (0, 0, 3, 2),
}


def top_of(pixel_format):
    """The largest sample."""
    depth = re.search(r'(9|1\d)le$', pixel_format)
    return (1 << int(depth[1]) if depth else 256) - 1


Plane = namedtuple('Plane', 'width height samples')


def split_planes(data, pixel_format, width, height):
    """The first frame in data as planes of integers, and the bytes it took."""
    shift_x, shift_y, count, size = LAYOUTS[pixel_format]
    planes, position = [], 0
    for index in range(count):
        w = width if index == 0 else -(-width >> shift_x)
        h = height if index == 0 else -(-height >> shift_y)
        samples = array.array('B' if size == 1 else 'H')
        samples.frombytes(data[position:position + w * h * size])
        if size == 2 and sys.byteorder == 'big':
            samples.byteswap()
        planes.append(Plane(w, h, samples))
        position += w * h * size
    return planes, position


def all_frames(data, pixel_format, width, height):
    frames, position = [], 0
    while position < len(data):
        planes, used = split_planes(data[position:], pixel_format, width, height)
        frames.append(planes)
        position += used
    return frames


def y4m_frames(path, pixel_format, width, height):
    """All frames of a Y4M file, which says that they are of this format (there is no RGB in it)."""
    with open(path, 'rb') as file:
        head, _, data = file.read().partition(b'\n')
    kind, depth = re.match(r'(gray|yuv4..)p?(\d*)', pixel_format).groups()
    name = kind.replace('gray', 'mono').replace('yuv', '')
    name += (depth if kind == 'gray' else 'p' + depth) if depth else 'jpeg' * (kind == 'yuv420')
    assert f' C{name} ' in head.decode() + ' ', f'{head}: no {name}'
    frames = []
    while data:
        assert data.startswith(b'FRAME\n')
        planes, used = split_planes(data[6:], pixel_format, width, height)
        frames.append(planes)
        data = data[6 + used:]
    return frames


def largest_difference(a, b, margin=0):
    """Largest difference of two planes, without a margin of pixels at the edges."""
    worst = 0
    for y in range(margin, a.height - margin):
        row = slice(y * a.width + margin, (y + 1) * a.width - margin)
        worst = max(worst, max(abs(p - q) for p, q in zip(a.samples[row], b.samples[row])))
    return worst


def psnr(a, b, peak=255):
    import math
    error = sum((p - q) ** 2 for p, q in zip(a.samples, b.samples)) / len(a.samples)
    return math.inf if error == 0 else 10 * math.log10(peak * peak / error)


# ---- test cases ----

class HaloTest(unittest.TestCase):
    """Each test has a scratch folder, self.folder."""

    maxDiff = 2000

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix='halotest-')
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def logged(self, run):
        return f'\n{run.command}\nexit {run.code}\nstderr:\n{run.err[-3000:]}'

    def halod(self, *arguments, code=0, **options):
        """Runs halod and checks its exit code."""
        run = run_halod(*arguments, **options)
        self.assertEqual(run.code, code, self.logged(run))
        return run

    def filtered(self, source, name, *options, chain='null', **more):
        """halod run -i SOURCE -vf CHAIN OPTIONS NAME; returns the path of the result."""
        output = self.path(name)
        if os.path.exists(output) and '-y' not in options:
            os.remove(output)
        if name.endswith(('.mkv', '.mp4', '.mov', '.ts')) and not {'-c:v', '-preset'} & set(options):
            options += ('-preset', 'veryfast')  # of x264, with B-frames
        self.halod('run', '-i', source, '-vf', chain, *options, output, **more)
        self.assertTrue(os.path.exists(output), f'exit 0 but there is no {name}')
        return output

    def lossless(self, source, name='out.mkv', chain='null', *options):
        return self.filtered(source, name, '-c:v', 'ffv1', *options, chain=chain)

    def stopped_at(self, frame, *arguments):
        """A run that stands still, at this frame."""
        need_faults()
        aside = tempfile.mkdtemp(prefix='halotest-')
        self.addCleanup(shutil.rmtree, aside)
        run = start_halod(*arguments[:-1], '-progress', f'{aside}/progress', '-gpu_timeout', '3600', arguments[-1],
                          environment={'HALOD_FAULT': f'stop:{frame},hang:{aside}/hold'})
        self.addCleanup(run.kill)
        run.aside = aside
        done = os.waitid(os.P_PID, run.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        self.assertEqual(done.si_code, os.CLD_STOPPED)
        return run

    def ended_by(self, run, number):
        """What such a run says that gets a signal, and its status. No frame goes on before the thread that said
        so has written again, for only then has it told the others to stop."""
        hold, progress = f'{run.aside}/hold', f'{run.aside}/progress'
        with open(hold, 'wb'):
            run.send_signal(number)
        run.send_signal(signal.SIGCONT)
        said = b''
        if number != signal.SIGKILL:
            for line in iter(run.stderr.readline, b''):
                said += line
                if b'repeat the signal' in line:
                    break
            size = os.path.getsize(progress)
            self.assertTrue(wait_until(lambda: os.path.getsize(progress) > size), said)
        os.unlink(hold)
        said += run.stderr.read()
        return said.decode(), run.wait(RUN_TIMEOUT)

    def best_of(self, check, times=3):
        """Calls check() until it passes, so many times at most: a busy machine may spoil a
        measurement, a defect spoils all of them."""
        measures_time()
        for left in reversed(range(times)):
            try:
                return check()
            except AssertionError:
                if not left:
                    raise

    def assert_no_gap(self, gaps, seconds):
        """But one, which is not twice as long: where the machine was elsewhere, so was the test."""
        measures_time()
        second, longest = [0, *sorted(gaps)][-2:]
        self.assertLess(second, seconds)
        self.assertLess(longest, 2 * seconds)

    def assert_once(self, measure, seconds, tries=4):
        """measure() returns seconds: one of so many tries must take less than these. A defect takes
        too long each time, a busy machine now and then."""
        measures_time()
        took = []
        while not took or took[-1] >= seconds and len(took) < tries:
            took.append(measure())
        self.assertLess(took[-1], seconds, took)

    def assert_field_order(self, path, order):
        """Of H.264: its container, the SEI of all pictures and their order counts say the same."""
        kind, shown, sign = {'tff': ('tt', '3', '1'), 'bff': ('bb', '4', '-1')}[order]
        self.assertEqual(probe_video(path)['field_order'], kind)
        printed = warm.run([FFMPEG, '-nostdin', '-i', path, '-c', 'copy', '-bsf:v', 'trace_headers',
                            '-f', 'null', '-'])
        self.assertEqual(printed.returncode, 0)
        printed = printed.stderr.decode()
        for name, wanted in (('pic_struct', shown), ('delta_pic_order_cnt_bottom', sign)):
            self.assertEqual(set(re.findall(rf' {name} .*= (-?\d+)', printed)), {wanted}, name)

    def assert_one_line(self, run):
        lines = run.err.splitlines()
        self.assertEqual(len(lines), 1, 'not exactly one line on stderr' + self.logged(run))
        self.assertTrue(lines[0].startswith('halod: '), 'no "halod: " in front' + self.logged(run))
        self.assertGreater(len(lines[0]), 15, 'the line says nothing' + self.logged(run))
        return lines[0]

    def refused(self, *arguments, code=64, says=(), **options):
        """The run ends with code and one line that holds every word of says."""
        run = self.halod(*arguments, code=code, **options)
        line = self.assert_one_line(run)
        for word in [says] if isinstance(says, str) else says:
            self.assertIn(word.lower(), line.lower(), self.logged(run))
        return line

    def says_once(self, run, pattern):
        """Exactly one line on stderr matches."""
        lines = [line for line in run.err.splitlines() if re.search(pattern, line, re.IGNORECASE)]
        self.assertEqual(len(lines), 1, f'not exactly one line with /{pattern}/' + self.logged(run))
        self.assertTrue(lines[0].startswith('halod: '), self.logged(run))

    def common_shift(self, source, output):
        """How far all streams may have moved together: 0 where the container can say the input's
        times, and what a container without negative times needs where the input has them."""
        first_in = frame_times(source)[0]
        first_out = packet_times(output)[0]
        shift = first_out - first_in
        slack = tick(real_videos(output)[0])
        lowest = min((packet_times(source, f'{kind}:{index}') or [0])[0]
                     for kind, name in (('v', 'video'), ('a', 'audio'))
                     for index in range(len(streams(source, name))))
        suffix = os.path.splitext(output)[1]
        if abs(shift) <= slack:
            return Fraction(0)
        if suffix in ('.ts', '.nut'):
            self.assertTrue(0 < shift <= Fraction(1, 2), f'shifted by {float(shift)} s')
        else:
            lifted = suffix in ('.mkv', '.webm') and lowest < 0 and abs(shift + lowest) <= slack
            self.assertTrue(lifted,
                            f'start is {float(first_out)} s, input has {float(first_in)} s')
        return shift

    def assert_video_times(self, source, output, select='v:0', shift=None):
        """Frame by frame the input's times: none lost, none doubled, none moved."""
        if shift is None:
            shift = self.common_shift(source, output)
        wanted, got = frame_times(source, select), packet_times(output, select)
        self.assertEqual(len(got), len(wanted), f'{select}: packets of output, frames of input')
        slack = tick(kind_stream(output, select))
        for number, (w, g) in enumerate(zip(wanted, got)):
            self.assertLessEqual(abs(w + shift - g), slack,
                                 f'{select} frame {number}: {float(g)} s, input {float(w)} s')
        self.assertEqual(frame_count(output, select), len(wanted), f'{select}: decoded frames')

    def assert_audio_same(self, source, output, select='a:0', shift=None):
        """The same packets, bit for bit, at the same times."""
        if shift is None:
            shift = self.common_shift(source, output)
        wanted, got = packets(source, select), packets(output, select)
        self.assertEqual([p['data_hash'] for p in got], [p['data_hash'] for p in wanted],
                         f'{select}: packets differ ({len(got)} of {len(wanted)})')
        from_stream, to_stream = kind_stream(source, select), kind_stream(output, select)
        slack = Fraction(1, 1000) + tick(to_stream)
        for number, (w, g) in enumerate(zip(wanted, got)):
            moved = seconds_of(g['pts'], to_stream) - seconds_of(w['pts'], from_stream) - shift
            self.assertLessEqual(abs(moved), slack, f'{select} packet {number} moved')

    def assert_duration(self, source, output, slack):
        wanted, got = length(source), length(output)
        self.assertLessEqual(abs(wanted - got), slack, f'duration {got} s, input {wanted} s')

    def assert_whole(self, source, output):
        """Counts, times, durations and audio packets of every stream equal the input's."""
        shift = self.common_shift(source, output)
        self.assertEqual(len(real_videos(output)), len(real_videos(source)))
        for index in range(len(real_videos(source))):
            self.assert_video_times(source, output, f'v:{index}', shift)
        self.assertEqual(len(streams(output, 'audio')), len(streams(source, 'audio')))
        for index in range(len(streams(source, 'audio'))):
            self.assert_audio_same(source, output, f'a:{index}', shift)
        rate = Fraction(real_videos(source)[0]['avg_frame_rate'].replace('0/0', '25/1'))
        self.assert_duration(source, output, float(1 / rate) + 0.002)


def alone(test):
    """Marks a test, or all tests of a class, that measure time: Meson runs them while nothing else
    runs. Their file is in the list `alone` of tests/meson.build."""
    test.is_alone = True
    return test


def is_alone(case, name):
    return getattr(case, 'is_alone', False) or getattr(getattr(case, name), 'is_alone', False)


class Loader(unittest.TestLoader):
    """HALOTEST_ALONE is "only" for tests marked `@alone`, "no" for all others, unset for both."""

    def getTestCaseNames(self, case):
        wanted = {'only': (True,), 'no': (False,)}.get(os.environ.get('HALOTEST_ALONE'), (True, False))
        return [name for name in super().getTestCaseNames(case) if is_alone(case, name) in wanted]


def processor_seconds():
    """Of this process and of those that it has waited for."""
    return sum(sum(resource.getrusage(who)[:2])
               for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


class Tally(unittest.TextTestResult):
    """Says of each test, beside its result, how many processor seconds it took."""
    passed = 0

    def startTest(self, test):
        super().startTest(test)
        self.begun = processor_seconds()

    def addSuccess(self, test):
        self.stream.write(f'{processor_seconds() - self.begun:.2f} s ')
        super().addSuccess(test)
        self.passed += 1


def chosen():
    """The command line: names of classes and tests, or --without and those of classes that others
    run."""
    if sys.argv[1:2] != ['--without']:
        return sys.argv
    found = vars(sys.modules['__main__']).items()
    return sys.argv[:1] + [name for name, what in found if isinstance(what, type)
                           and issubclass(what, unittest.TestCase) and name not in sys.argv[2:]]


def main():
    """Runs the calling file; ends with the counts and 0, 1 or 77."""
    if not HALOD or not os.access(HALOD, os.X_OK):
        print('HALOD does not name a program')
        print('0 passed, 1 failed, 0 skipped')
        sys.exit(1)
    program = unittest.main('__main__', exit=False, argv=chosen(), testLoader=Loader(),
                            testRunner=unittest.TextTestRunner(
                                resultclass=Tally, verbosity=2, stream=sys.stdout))
    result = program.result
    failed = len({test.id() for test, _ in result.failures + result.errors})
    skipped = len(result.skipped)
    print(f'{result.passed} passed, {failed} failed, {skipped} skipped')
    if failed:
        sys.exit(1)
    sys.exit(EXIT_SKIPPED if skipped and not result.passed else 0)


signal.signal(signal.SIGPIPE, signal.SIG_IGN)
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # under nohup programs inherit that it is ignored
