# SPDX-License-Identifier: BSD-2-Clause
"""A detector that tries what it may not do, and sends the results over its first connection: one
packet with a JSON object. Only for builds that confine detectors: elsewhere it succeeds.

    hostile.py look                 only tells what it inherited
    hostile.py walk COUNT           makes that many system calls, of this kind of program and of x32
    hostile.py PID FILE             attacks that process and that file, which is named without its
                                    first slash
"""

import array
import ctypes
import errno
import json
import os
import resource
import signal
import socket
import sys
import threading

WALK = int(sys.argv[2]) if sys.argv[1] == 'walk' else 0
OTHER = int(sys.argv[1]) if len(sys.argv) > 2 and not WALK else 0
SECRET = os.sep + sys.argv[2] if OTHER else ''
# exit, exit_group, rt_sigreturn, umask, pause, set_tid_address of x86-64; 335 and 336 are of uprobes:
# no filter sees them, and they end who is not probed
HARMFUL = {60, 231, 15, 95, 34, 218, 335, 336}
FUTEX = 202
libc = ctypes.CDLL(None, use_errno=True)


def c(name, *arguments):
    ctypes.set_errno(0)
    if getattr(libc, name)(*arguments) == -1:
        raise OSError(ctypes.get_errno(), '')


def own_program():
    with open(__file__, encoding='utf-8') as file:
        return file.read()


def spawn():
    os.posix_spawn('/bin/true', ['true'], {})


def fork():
    if os.fork() == 0:
        os._exit(0)  # pylint: disable=protected-access


def execute():
    os.execv(SECRET, [SECRET])


TRIES = {
    'network': lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM),
    'datagrams': lambda: socket.socket(socket.AF_INET6, socket.SOCK_DGRAM),
    'unix socket': lambda: socket.socket(socket.AF_UNIX, socket.SOCK_STREAM),
    'netlink': lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW),
    'pair': socket.socketpair,
    'read': lambda: open(SECRET, encoding='utf-8'),
    'list': lambda: os.listdir(os.path.dirname(SECRET)),
    'write': lambda: open(SECRET + '-new', 'w', encoding='utf-8'),
    'write to a library': lambda: open('/usr/lib/os-release', 'a', encoding='utf-8'),
    'empty its copy': lambda: os.open(__file__, os.O_RDONLY | os.O_TRUNC),
    'truncate': lambda: os.truncate(SECRET, 0),
    'chmod': lambda: os.chmod(SECRET, 0o777),
    'rename': lambda: os.rename(SECRET, SECRET + '.new'),
    'unlink': lambda: os.unlink(SECRET),
    'link': lambda: os.symlink(SECRET, SECRET + '-new'),
    'xattr': lambda: os.setxattr(SECRET, 'user.halo', b'1'),
    'fork': fork,
    'spawn': spawn,
    'execute': execute,
    'kill': lambda: os.kill(OTHER, 0),
    'kill parent': lambda: os.kill(os.getppid(), signal.SIGTERM),
    'kill all': lambda: os.kill(-1, 0),
    'memory of parent': lambda: open(f'/proc/{os.getppid()}/mem', 'rb'),
    'arguments of parent': lambda: open(f'/proc/{os.getppid()}/cmdline', 'rb'),
    'descriptors of parent': lambda: os.listdir(f'/proc/{os.getppid()}/fd'),
    'pidfd': lambda: os.pidfd_open(os.getppid()),
    'shared memory': lambda: c('shm_open', b'/halo-hostile', os.O_CREAT | os.O_RDWR, 0o600),
    'old shared memory': lambda: c('shmget', 1234, 4096, 0o1600),
    'processors of parent': lambda: os.sched_setaffinity(os.getppid(), {0}),
    'limits of parent': lambda: resource.prlimit(os.getppid(), resource.RLIMIT_NOFILE),
    'ptrace': lambda: c('ptrace', 16, os.getppid(), 0, 0),
    'memory': lambda: c('process_vm_readv', os.getppid(), 0, 0, 0, 0, 0),
    'unshare': lambda: c('unshare', 0x10000000),
    'message': lambda: c('msgsnd', 0, b'', 0, 0o4000),
    'queue': lambda: c('mq_unlink', b'/halo-none'),
    'watch': lambda: c('inotify_init1', 0),
}
ALLOWED = {
    'own program': own_program,
    'library': lambda: open('/usr/lib/os-release', encoding='utf-8'),
    'memory file': lambda: os.memfd_create('mask', os.MFD_ALLOW_SEALING),
    'threads': lambda: threading.Thread(target=int).start(),
    'null': lambda: open('/dev/null', 'w', encoding='utf-8'),
}


def attempt(act):
    try:
        act()
    except OSError as error:
        return error.errno
    return 0


def walk(first):
    """The numbers of the calls that fail with EPERM, and of those that fail with another error than
    that and ENOSYS, or succeed."""
    refused, allowed = [], []
    for number in range(WALK):
        if number in HARMFUL:
            continue
        ctypes.set_errno(0)
        # futex has an error for an unknown operation that says the call is unknown
        libc.syscall(ctypes.c_long(first + number), -1, 1 if number == FUTEX else -1, -1, -1, -1, -1)
        code = ctypes.get_errno()
        if code != errno.ENOSYS:
            (refused if code == errno.EPERM else allowed).append(number)
    return allowed, refused


def connection():
    _, parts, _, _ = socket.socket(fileno=3).recvmsg(1, socket.CMSG_SPACE(4))
    return socket.socket(fileno=array.array('i', parts[0][2])[0])


def main():
    link = connection()
    results = {'environment': sorted(os.environ),
               'descriptors': sorted(int(fd) for fd in os.listdir('/proc/self/fd'))}
    if WALK:
        results = {'native': walk(0), 'x32': walk(0x40000000)}
    if OTHER:
        results['tried'] = {name: attempt(act) for name, act in TRIES.items()}
        results['allowed'] = {name: attempt(act) for name, act in ALLOWED.items()}
    link.send(json.dumps(results).encode())
    print('the detector has reported', file=sys.stderr)
    link.recv(1)


main()
