# SPDX-License-Identifier: BSD-2-Clause
"""Programs that load their libraries once and run many times (tests/standin/warm.c)."""
import atexit
import collections
import functools
import os
import re
import socket
import struct
import subprocess
import threading

FFMPEG = os.environ.get('FFMPEG', 'ffmpeg')
FFPROBE = os.environ.get('FFPROBE', 'ffprobe')
HALOD = os.environ.get('HALOD', '')
PROGRAMS = (FFMPEG, FFPROBE, HALOD, os.environ.get('LIVE_PROBE'))
LIBRARY = os.path.join(os.path.dirname(HALOD), '../tests/standin/libstandin-warm.so')
MAX_REQUEST = 1 << 17  # bytes
lock = threading.Lock()


def read_early(environment):
    """What programs read before main."""
    return {name: value for name, value in environment.items()
            if re.match(r'LD_|GLIBC_|MALLOC_|HALOD_FAULT_LOG|.*_OPTIONS', name)}


@functools.cache
def first_libraries(program=HALOD):
    """Of sanitizers, which have to be loaded before any other."""
    needed = subprocess.run(['ldd', program], capture_output=True, text=True, check=False).stdout
    return ''.join(path + ' ' for path in re.findall(r'=> (\S*/lib[at]san\S*)', needed))


asked = collections.Counter()  # for programs, with what they read early


@functools.cache
def requests(program, early):
    """The socket of a process that forks itself; None where there can be none: ThreadSanitizer's has
    a thread from the start."""
    if not os.path.exists(LIBRARY) or 'tsan' in first_libraries(program):
        return None
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    environment = {name: value for name, value in os.environ.items() if name not in read_early(os.environ)}
    environment.update(early)
    libraries = first_libraries(program) + LIBRARY + ' ' + environment.get('LD_PRELOAD', '')
    process = subprocess.Popen([program], stdin=theirs, env={**environment, 'LD_PRELOAD': libraries})
    theirs.close()
    atexit.register(process.wait)
    atexit.register(ours.close)
    return ours


def waiting_for(program, env):
    """That socket. Where a program reads something of its own early, the first one is executed, for
    there may be no second."""
    early = tuple(sorted(read_early(env).items()))
    asked[program, early] += 1
    return requests(program, early) if asked[program, early] > 1 or read_early(env) == read_early(os.environ) \
        else None


class Popen(subprocess.Popen):
    """Forks one of PROGRAMS, and executes others; without options of the time between fork and main."""

    def _execute_child(self, args, executable, preexec_fn, close_fds, pass_fds, cwd, env, *rest):
        with open('/proc/self/status', encoding='ascii') as file:
            umask = int(re.search(r'Umask:\s*(\d+)', file.read())[1], 8)
        env = dict(os.environ if env is None else env)
        request = b''.join(os.fsencode(word) + b'\0' for word in (
            str(umask), str(len(args)), os.path.abspath(cwd or '.'), *args, *map('='.join, env.items())))
        streams = rest[3:9]
        with lock:
            if (args[0] in PROGRAMS and len(request) <= MAX_REQUEST
                    and (waiting := waiting_for(args[0], env))):
                socket.send_fds(waiting, [request], [at if at >= 0 else own for own, at in
                                                     enumerate((streams[0], streams[3], streams[5]))])
                self.pid, = struct.unpack('i', waiting.recv(4))
        if (self.pid or -1) < 0:
            super()._execute_child(args, executable, preexec_fn, close_fds, pass_fds, cwd, env, *rest)
            return
        self._child_created = True
        self._close_pipe_fds(*streams)


def run(command, input=None, timeout=None, **options):
    """As subprocess.run(), with what it writes."""
    with Popen(command, stdin=subprocess.DEVNULL if input is None else subprocess.PIPE,
               stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options) as process:
        try:
            out, err = process.communicate(input, timeout)
        except BaseException:
            process.kill()
            raise
    return subprocess.CompletedProcess(command, process.returncode, out, err)
