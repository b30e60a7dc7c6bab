# SPDX-License-Identifier: BSD-2-Clause
"""What becomes of each system call of a confined process (daemon/engine/confine.c), on x86-64.

This is the list to review when the filter changes. All calls are made with arguments that cannot be
right. A call after whose name stands

    *   is allowed, and fails for another reason
    +   is allowed so in engines and halod run, and refused in detectors
    -   is allowed so in detectors, and refused elsewhere
    !   is said not to exist
    ?   is refused with these arguments, and allowed with some: test_confine.c tries those
    nothing   is refused

Whatever is not here is said not to exist, either."""
import ctypes
import os
import platform
import re
import subprocess
import sys

# From 0 on, and from 424 on: there are none between them.
FIRST = """
read* write* open? close* stat* fstat* lstat* poll* lseek* mmap* mprotect* munmap* brk*
rt_sigaction* rt_sigprocmask* rt_sigreturn* ioctl? pread64* pwrite64* readv* writev* access* pipe*
select* sched_yield* mremap* msync* mincore* madvise* shmget shmat shmctl dup* dup2* pause*
nanosleep* getitimer* alarm* setitimer* getpid* sendfile* socket* connect+ accept? sendto* recvfrom*
sendmsg* recvmsg* shutdown* bind+ listen+ getsockname* getpeername* socketpair* setsockopt*
getsockopt* clone* fork vfork execve- exit* wait4* kill? uname* semget semop semctl shmdt msgget
msgsnd msgrcv msgctl fcntl? flock* fsync* fdatasync* truncate ftruncate* getdents* getcwd* chdir*
fchdir* rename+ mkdir+ rmdir+ creat+ link+ unlink+ symlink readlink* chmod fchmod? chown fchown
lchown umask* gettimeofday* getrlimit* getrusage* sysinfo* times* ptrace getuid* syslog getgid*
setuid setgid geteuid* getegid* setpgid getppid* getpgrp* setsid setreuid setregid getgroups*
setgroups setresuid getresuid* setresgid getresgid* getpgid* setfsuid setfsgid getsid* capget*
capset rt_sigpending* rt_sigtimedwait* rt_sigqueueinfo? rt_sigsuspend* sigaltstack* utime mknod
uselib personality ustat statfs* fstatfs* sysfs getpriority* setpriority? sched_setparam?
sched_getparam* sched_setscheduler? sched_getscheduler* sched_get_priority_max*
sched_get_priority_min* sched_rr_get_interval* mlock* munlock* mlockall* munlockall* vhangup
modify_ldt pivot_root _sysctl prctl? arch_prctl* adjtimex setrlimit* chroot sync acct settimeofday
mount umount2 swapon swapoff reboot sethostname setdomainname iopl ioperm create_module init_module
delete_module get_kernel_syms query_module quotactl nfsservctl getpmsg putpmsg afs_syscall tuxcall
security gettid* readahead* setxattr lsetxattr fsetxattr getxattr lgetxattr fgetxattr listxattr
llistxattr flistxattr removexattr lremovexattr fremovexattr tkill time* futex* sched_setaffinity?
sched_getaffinity* set_thread_area io_setup io_destroy io_getevents io_submit io_cancel
get_thread_area lookup_dcookie epoll_create* epoll_ctl_old epoll_wait_old remap_file_pages
getdents64* set_tid_address* restart_syscall* semtimedop fadvise64* timer_create* timer_settime*
timer_gettime* timer_getoverrun* timer_delete* clock_settime clock_gettime* clock_getres*
clock_nanosleep* exit_group* epoll_wait* epoll_ctl* tgkill? utimes vserver mbind* set_mempolicy*
get_mempolicy* mq_open mq_unlink mq_timedsend mq_timedreceive mq_notify mq_getsetattr kexec_load
waitid* add_key request_key keyctl ioprio_set? ioprio_get* inotify_init inotify_add_watch?
inotify_rm_watch? migrate_pages? openat? mkdirat+ mknodat fchownat futimesat newfstatat* unlinkat+
renameat+ linkat+ symlinkat readlinkat* fchmodat faccessat* pselect6* ppoll* unshare
set_robust_list* get_robust_list splice* tee* sync_file_range vmsplice move_pages? utimensat
epoll_pwait* signalfd* timerfd_create* eventfd* fallocate* timerfd_settime* timerfd_gettime*
accept4? signalfd4* eventfd2* epoll_create1* dup3* pipe2* inotify_init1? preadv* pwritev*
rt_tgsigqueueinfo? perf_event_open recvmmsg* fanotify_init fanotify_mark prlimit64?
name_to_handle_at open_by_handle_at clock_adjtime syncfs sendmmsg* setns getcpu* process_vm_readv
process_vm_writev kcmp finit_module sched_setattr? sched_getattr* renameat2+ seccomp getrandom*
memfd_create* kexec_file_load bpf execveat userfaultfd membarrier* mlock2* copy_file_range* preadv2*
pwritev2* pkey_mprotect pkey_alloc pkey_free statx* io_pgetevents rseq*
"""
SECOND = """
pidfd_send_signal io_uring_setup! io_uring_enter! io_uring_register! open_tree move_mount fsopen
fsconfig fsmount fspick pidfd_open clone3! close_range* openat2! pidfd_getfd faccessat2*
process_madvise epoll_pwait2* mount_setattr quotactl_fd landlock_create_ruleset- landlock_add_rule-
landlock_restrict_self- memfd_secret process_mrelease futex_waitv* set_mempolicy_home_node*
"""
# Allowed where the kernel has them: cachestat, map_shadow_stack, futex_wake, futex_wait,
# futex_requeue, mseal
NEW = {451, 453, 454, 455, 456, 462}
# They would end or stop the process, or change it.
NOT_TRIED = {'rt_sigreturn', 'pause', 'exit', 'exit_group', 'umask', 'set_tid_address'}
COUNT = 600  # of those that are tried
HERE = platform.machine() == 'x86_64'


def differences(mine, allowed, refused):
    """What differs from the table, as words. mine: the mark + or -; the numbers of calls."""
    table = dict(enumerate(FIRST.split()))
    table.update(enumerate(SECOND.split(), 424))
    ret = []
    for number in range(COUNT):
        name, mark = re.fullmatch(r'(\w*)(\W?)', table.get(number, '!')).groups()
        should = ('allowed' if mark in ('*', mine) and mark else
                  'unknown' if mark == '!' else 'refused')
        was = 'allowed' if number in allowed else 'refused' if number in refused else 'unknown'
        if was != should and name not in NOT_TRIED and (number not in NEW or was == 'refused'):
            ret.append(f'{name or "without a name"} ({number}) is {was}, not {should}')
    return ret


def kinds():
    """$HALOD_PROBE_CALLS: also with calls of i386, where the kernel has them."""
    code = ('import ctypes, mmap; m = mmap.mmap(-1, 4096, prot=7); '
            'm.write(bytes.fromhex("b814000000cd80c3")); '
            'p = ctypes.addressof(ctypes.c_char.from_buffer(m)); '
            'ctypes.CFUNCTYPE(ctypes.c_int)(p)()')  # getpid
    has = subprocess.run([sys.executable, '-c', code], check=False).returncode == 0
    return f'{COUNT}+i386' if has else str(COUNT)


def is_told(log, wish):
    """Whether the probe (daemon/engine/engine_probe.c) has written its last line."""
    return re.search(rf"calls {'i386' if 'i386' in wish else 'x32'} refused:[ \d]*\.", log)


def check(test, log, wish):
    """What a probe that has halod's rights has written is as in the table."""
    told = {(kind, what): {int(n) for n in numbers.split()} for kind, what, numbers in
            re.findall(r'calls (\w+) (\w+):([ \d]*)\.', log)}
    test.assertEqual(differences('+', told['native', 'allowed'], told['native', 'refused']), [])
    for kind in ['x32'] + ['i386'] * ('i386' in wish):
        test.assertEqual((told[kind, 'allowed'], told[kind, 'refused']), (set(), set()), kind)


def need_a_kernel_that_confines():
    """Ends a test file as skipped where the build confines itself and the kernel, or the container,
    cannot."""
    if os.environ.get('HALO_CONFINED') != '1':
        return
    call = ctypes.CDLL(None).syscall
    kill = ctypes.c_uint32(0x80000000)
    number = {'x86_64': 317}.get(platform.machine(), 277)
    if call(number, 2, 0, ctypes.byref(kill)):  # SECCOMP_GET_ACTION_AVAIL
        why = 'this kernel has no filters of system calls'
    elif call(444, None, ctypes.c_size_t(0), 1) < 1:  # landlock_create_ruleset: its version
        why = 'this kernel has no Landlock'
    else:
        return
    print(f'{why}\n0 passed, 0 failed, 1 skipped')
    sys.exit(77)
