/* SPDX-License-Identifier: BSD-2-Clause
 * Confinement by seccomp: the table lists the calls that are allowed, some of them only with
 * certain arguments. It begins with what systemd allows services (@system-service), without what
 * concerns privileges, mounts, clocks, keys, owners and modes of files, and other processes.
 *
 * A list of what is forbidden would be shorter, but every release of Linux adds calls that it
 * lacks: fchmodat2, setxattrat and file_setattr change files of which Landlock does not know. The
 * price of a list of what is allowed is that a library or a driver may one day want a call that is
 * not in it. Such a call fails with the error for which libraries have a second way, and nothing
 * ends; and the log names the call, so that it can be added here.
 *
 * The program is made here and not by libseccomp, whose filters have one action for all that their
 * rules leave over; this one has two, and tells them apart after the arguments. */
#include "daemon/engine/confine.h"

#include <asm/ioctls.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/ioprio.h>
#include <linux/seccomp.h>
#include <linux/sockios.h>
#include <sched.h>
#include <seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "pipeline/camera/watch.h"

/* What a process may do besides the ordinary; a call is allowed to whoever has one of its marks. */
enum {
    ENGINE = 1 << 0,
    DETECTOR = 1 << 1,
    GPU = 1 << 2,     /* has a GPU's driver in it */
    UNIX = 1 << 3,    /* has sockets to programs of this machine */
    NETWORK = 1 << 4, /* and to others */
    LISTENER = 1 << 5,
    CAMERA = 1 << 6, /* waits for a camera to appear */
    MODE = 1 << 7,   /* replaces a file and keeps its mode */
    BOTH = ENGINE | DETECTOR,
};

/* Values that are known only when the process is confined. */
enum { SELF = 0x7fff0001, ITS_MODE };

/* Numbers of calls that came after Linux 5.17. They are the same on all machines; libseccomp 2.5
 * does not know their names. */
enum {
    CACHESTAT = 451,
    MAP_SHADOW_STACK = 453,
    FUTEX_WAKE,
    FUTEX_WAIT,
    FUTEX_REQUEUE,
    MSEAL = 462,
    LAST_KNOWN = 450, /* set_mempolicy_home_node, the last that libseccomp 2.5 knows */
};

/* The kernel takes the lower half of each of these arguments, and so do we. */
struct condition {
    unsigned argument;
    uint32_t mask; /* 0: no condition */
    uint32_t value;
};

enum { CONDITIONS = 2 };

struct rule {
    int call; /* negative: there is no such call on this machine */
    unsigned marks;
    struct condition when[CONDITIONS];
};

#define RULE(name, marks, ...)                                                                     \
    {                                                                                              \
        SCMP_SYS(name), marks,                                                                     \
        {                                                                                          \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }
#define IS(argument, value)                                                                        \
    {                                                                                              \
        argument, UINT32_MAX, value                                                                \
    }
#define BITS(argument, mask, value)                                                                \
    {                                                                                              \
        argument, mask, value                                                                      \
    }
#define TO(marks, name)                             RULE(name, marks, BITS(0, 0, 0))
#define ANY(name)                                   TO(BOTH, name)
#define IF(marks, name, argument, value)            RULE(name, marks, IS(argument, value))
#define IF_BITS(marks, name, argument, mask, value) RULE(name, marks, BITS(argument, mask, value))
#define IF_BOTH(marks, name, first, second)         RULE(name, marks, IS(0, first), IS(1, second))
/* Requests to devices of one kind */
#define REQUESTS(marks, type) IF_BITS(marks, ioctl, 1, 0xff00, (type) << 8)

/* All rules of a call stand together. */
static const struct rule rules[] = {
    /* memory, threads, time and waiting */
    ANY(futex),
    ANY(madvise),
    ANY(mmap),
    ANY(mprotect),
    ANY(munmap),
    ANY(mremap),
    ANY(brk),
    ANY(clock_gettime),
    ANY(clock_getres),
    ANY(clock_nanosleep),
    ANY(nanosleep),
    ANY(gettimeofday),
    ANY(time),
    ANY(times),
    ANY(epoll_wait),
    ANY(epoll_pwait),
    ANY(epoll_pwait2),
    ANY(epoll_ctl),
    ANY(epoll_create),
    ANY(epoll_create1),
    ANY(poll),
    ANY(ppoll),
    ANY(select),
    ANY(pselect6),
    ANY(eventfd),
    ANY(eventfd2),
    ANY(sched_yield),
    ANY(pause),
    ANY(restart_syscall),
    ANY(exit),
    ANY(exit_group),
    ANY(futex_waitv),
    ANY(get_mempolicy),
    ANY(set_mempolicy),
    ANY(set_mempolicy_home_node),
    ANY(mbind),
    ANY(membarrier),
    ANY(mincore),
    ANY(mlock),
    ANY(mlock2),
    ANY(mlockall),
    ANY(munlock),
    ANY(munlockall),
    ANY(msync),
    ANY(memfd_create),
    ANY(rseq),
    ANY(set_robust_list),
    ANY(set_tid_address),
    ANY(arch_prctl),
    ANY(alarm),
    ANY(getitimer),
    ANY(setitimer),
    ANY(timer_create),
    ANY(timer_delete),
    ANY(timer_getoverrun),
    ANY(timer_gettime),
    ANY(timer_settime),
    ANY(timerfd_create),
    ANY(timerfd_gettime),
    ANY(timerfd_settime),
    {CACHESTAT, BOTH, {{0, 0, 0}}},
    {MAP_SHADOW_STACK, BOTH, {{0, 0, 0}}},
    {FUTEX_WAKE, BOTH, {{0, 0, 0}}},
    {FUTEX_WAIT, BOTH, {{0, 0, 0}}},
    {FUTEX_REQUEUE, BOTH, {{0, 0, 0}}},
    {MSEAL, BOTH, {{0, 0, 0}}},
    /* A new thread, and no process. clone3 has its flags in memory, where a filter cannot read
     * them: if it fails, the C library uses clone. */
    IF_BITS(BOTH, clone, 0, CLONE_THREAD, CLONE_THREAD),
    /* a detector is started by it, and interpreters are found by it (#!/usr/bin/env python3) */
    TO(DETECTOR, execve),
    /* signals to this process */
    ANY(rt_sigaction),
    ANY(rt_sigpending),
    ANY(rt_sigprocmask),
    ANY(rt_sigreturn),
    ANY(rt_sigsuspend),
    ANY(rt_sigtimedwait),
    ANY(sigaltstack),
    ANY(signalfd),
    ANY(signalfd4),
    IF(BOTH, kill, 0, SELF),
    IF(BOTH, tgkill, 0, SELF),
    IF(BOTH, rt_sigqueueinfo, 0, SELF),
    IF(BOTH, rt_tgsigqueueinfo, 0, SELF),
    ANY(wait4),
    ANY(waitid),
    /* what this process is */
    ANY(getpid),
    ANY(getppid),
    ANY(gettid),
    ANY(getpgid),
    ANY(getpgrp),
    ANY(getsid),
    ANY(getuid),
    ANY(geteuid),
    ANY(getgid),
    ANY(getegid),
    ANY(getresuid),
    ANY(getresgid),
    ANY(getgroups),
    ANY(capget),
    ANY(getrandom),
    ANY(getrlimit),
    ANY(getrusage),
    ANY(getpriority),
    ANY(getcpu),
    ANY(ioprio_get),
    ANY(sched_getaffinity),
    ANY(sched_getattr),
    ANY(sched_getparam),
    ANY(sched_getscheduler),
    ANY(sched_get_priority_max),
    ANY(sched_get_priority_min),
    ANY(sched_rr_get_interval),
    ANY(sysinfo),
    ANY(uname),
    ANY(umask),
    /* Limits, priority and processors. The IDs of other threads of this process cannot be told from
     * those of other processes, so these are allowed only for the calling thread (0). */
    ANY(setrlimit),
    IF(BOTH, prlimit64, 0, 0),
    IF_BOTH(BOTH, setpriority, PRIO_PROCESS, 0),
    IF_BOTH(BOTH, ioprio_set, IOPRIO_WHO_PROCESS, 0),
    IF(BOTH, sched_setaffinity, 0, 0),
    IF(BOTH, sched_setscheduler, 0, 0),
    IF(BOTH, sched_setparam, 0, 0),
    IF(BOTH, sched_setattr, 0, 0),
    IF(BOTH, migrate_pages, 0, 0),
    IF(BOTH, move_pages, 0, 0),
    IF(BOTH, prctl, 0, PR_SET_NAME),
    IF(BOTH, prctl, 0, PR_GET_NAME),
    IF(BOTH, prctl, 0, PR_SET_VMA),
    IF(BOTH, prctl, 0, PR_SET_NO_NEW_PRIVS),
    IF(BOTH, prctl, 0, PR_GET_NO_NEW_PRIVS),
    IF(BOTH, prctl, 0, PR_GET_DUMPABLE),
    IF_BOTH(BOTH, prctl, PR_SET_DUMPABLE, 0),
    IF(BOTH, prctl, 0, PR_GET_PDEATHSIG),
    IF(BOTH, prctl, 0, PR_GET_SECCOMP),
    IF(BOTH, prctl, 0, PR_CAPBSET_READ),
    IF(BOTH, prctl, 0, PR_SET_TIMERSLACK),
    IF(BOTH, prctl, 0, PR_GET_TIMERSLACK),
    IF(BOTH, prctl, 0, PR_SET_THP_DISABLE),
    IF(BOTH, prctl, 0, PR_GET_THP_DISABLE),
    IF(BOTH, prctl, 0, PR_GET_SPECULATION_CTRL),
    IF(BOTH, prctl, 0, PR_SET_TAGGED_ADDR_CTRL),
    IF(BOTH, prctl, 0, PR_GET_TAGGED_ADDR_CTRL),
    IF(BOTH, prctl, 0, PR_SVE_GET_VL),
    /* Only further restrictions. (seccomp itself could also take the answers to our filter.) */
    TO(DETECTOR, landlock_create_ruleset),
    TO(DETECTOR, landlock_add_rule),
    TO(DETECTOR, landlock_restrict_self),
    /* open files */
    ANY(read),
    ANY(write),
    ANY(readv),
    ANY(writev),
    ANY(pread64),
    ANY(pwrite64),
    ANY(preadv),
    ANY(pwritev),
    ANY(preadv2),
    ANY(pwritev2),
    ANY(lseek),
    ANY(close),
    ANY(close_range),
    ANY(dup),
    ANY(dup2),
    ANY(dup3),
    ANY(pipe),
    ANY(pipe2),
    ANY(fsync),
    ANY(fdatasync),
    ANY(ftruncate),
    ANY(fallocate),
    ANY(fadvise64),
    ANY(readahead),
    ANY(flock),
    ANY(copy_file_range),
    ANY(sendfile),
    ANY(splice),
    ANY(tee),
    IF(BOTH, fcntl, 1, F_DUPFD),
    IF(BOTH, fcntl, 1, F_DUPFD_CLOEXEC),
    IF(BOTH, fcntl, 1, F_GETFD),
    IF(BOTH, fcntl, 1, F_SETFD),
    IF(BOTH, fcntl, 1, F_GETFL),
    IF(BOTH, fcntl, 1, F_SETFL),
    IF(BOTH, fcntl, 1, F_GETLK),
    IF(BOTH, fcntl, 1, F_SETLK),
    IF(BOTH, fcntl, 1, F_SETLKW),
    IF(BOTH, fcntl, 1, F_OFD_GETLK),
    IF(BOTH, fcntl, 1, F_OFD_SETLK),
    IF(BOTH, fcntl, 1, F_OFD_SETLKW),
    IF(BOTH, fcntl, 1, F_SETPIPE_SZ),
    IF(BOTH, fcntl, 1, F_GETPIPE_SZ),
    IF(BOTH, fcntl, 1, F_ADD_SEALS),
    IF(BOTH, fcntl, 1, F_GET_SEALS),
    /* The names of files: Landlock limits which. Before Linux 6.2 it lets a file be emptied that
     * may only be read; hence the flags. openat2 has its flags in memory. */
    IF_BITS(BOTH, open, 1, O_TRUNC, 0),
    IF_BITS(BOTH, open, 1, O_ACCMODE, O_WRONLY),
    IF_BITS(BOTH, open, 1, O_ACCMODE, O_RDWR),
    IF_BITS(BOTH, openat, 2, O_TRUNC, 0),
    IF_BITS(BOTH, openat, 2, O_ACCMODE, O_WRONLY),
    IF_BITS(BOTH, openat, 2, O_ACCMODE, O_RDWR),
    ANY(access),
    ANY(faccessat),
    ANY(faccessat2),
    ANY(stat),
    ANY(lstat),
    ANY(fstat),
    ANY(newfstatat),
    ANY(statx),
    ANY(statfs),
    ANY(fstatfs),
    ANY(readlink),
    ANY(readlinkat),
    ANY(getcwd),
    ANY(chdir),
    ANY(fchdir),
    ANY(getdents),
    ANY(getdents64),
    TO(ENGINE, creat),
    TO(ENGINE, mkdir),
    TO(ENGINE, mkdirat),
    TO(ENGINE, rmdir),
    TO(ENGINE, unlink),
    TO(ENGINE, unlinkat),
    TO(ENGINE, rename),
    TO(ENGINE, renameat),
    TO(ENGINE, renameat2),
    TO(ENGINE, link),
    TO(ENGINE, linkat),
    IF(MODE, fchmod, 1, ITS_MODE),
    TO(CAMERA, inotify_init1),
    IF(CAMERA, inotify_add_watch, 2, HALO_WATCH_EVENTS),
    TO(CAMERA, inotify_rm_watch),
    /* sockets; netlink lists the machine's own addresses */
    IF(ENGINE | GPU, socket, 0, AF_NETLINK),
    IF(UNIX, socket, 0, AF_UNIX),
    IF(NETWORK, socket, 0, AF_INET),
    IF(NETWORK, socket, 0, AF_INET6),
    /* pairs without a connection could send to other addresses, too */
    IF_BITS(ENGINE | GPU, socketpair, 1, 0xf, SOCK_STREAM),
    IF_BITS(ENGINE | GPU, socketpair, 1, 0xf, SOCK_SEQPACKET),
    TO(UNIX, socketpair),
    TO(ENGINE | GPU, bind),
    TO(ENGINE | GPU, connect),
    TO(ENGINE | GPU, listen), /* without it CUDA does not start */
    TO(LISTENER, accept),
    TO(LISTENER, accept4),
    ANY(getpeername),
    ANY(getsockname),
    ANY(getsockopt),
    ANY(setsockopt),
    ANY(recvfrom),
    ANY(recvmsg),
    ANY(recvmmsg),
    ANY(sendto),
    ANY(sendmsg),
    ANY(sendmmsg),
    ANY(shutdown),
    /* requests to devices: of terminals only what asks */
    IF(BOTH, ioctl, 1, FIOCLEX),
    IF(BOTH, ioctl, 1, FIONCLEX),
    IF(BOTH, ioctl, 1, FIONBIO),
    IF(BOTH, ioctl, 1, FIONREAD),
    IF(BOTH, ioctl, 1, TCGETS),
    IF(BOTH, ioctl, 1, 0x802c542a /* TCGETS2 */),
    IF(BOTH, ioctl, 1, TIOCGWINSZ),
    IF(BOTH, ioctl, 1, TIOCOUTQ),
    IF(ENGINE, ioctl, 1, SIOCGIFNAME),
    IF(ENGINE, ioctl, 1, SIOCGIFCONF),
    IF(ENGINE, ioctl, 1, SIOCGIFFLAGS),
    IF(ENGINE, ioctl, 1, SIOCGIFADDR),
    IF(ENGINE, ioctl, 1, SIOCGIFNETMASK),
    IF(ENGINE, ioctl, 1, SIOCGIFMTU),
    IF(ENGINE, ioctl, 1, SIOCGIFINDEX),
    REQUESTS(ENGINE, 'V'),       /* cameras */
    REQUESTS(ENGINE | GPU, 'd'), /* DRM, and buffers that devices share */
    REQUESTS(ENGINE | GPU, 'b'),
    REQUESTS(ENGINE | GPU, '>'),
    /* NVIDIA's drivers, which number some of their requests from 0, and those of Jetson and WSL */
    REQUESTS(GPU, 0U),
    REQUESTS(GPU, 'F'),
    REQUESTS(GPU, 'm'),
    REQUESTS(GPU, 'A'),
    REQUESTS(GPU, 'C'),
    REQUESTS(GPU, 'D'),
    REQUESTS(GPU, 'G'),
    REQUESTS(GPU, 'H'),
    REQUESTS(GPU, 'N'),
    REQUESTS(GPU, 'P'),
};

/* Calls that we say this kernel does not have: libraries then use older ones. */
static const int unknown[] = {SCMP_SYS(clone3), SCMP_SYS(openat2), SCMP_SYS(io_uring_setup),
                              SCMP_SYS(io_uring_enter), SCMP_SYS(io_uring_register)};

/* Calls that are refused in ordinary work, and so without a line: encoders try to choose processors
 * and priorities of their threads, and CUDA to make links in /dev/char. */
static const int quiet[] = {SCMP_SYS(sched_setaffinity), SCMP_SYS(sched_setscheduler),
                            SCMP_SYS(sched_setparam),    SCMP_SYS(sched_setattr),
                            SCMP_SYS(setpriority),       SCMP_SYS(symlink)};

static bool is_one_of(const int *calls, size_t count, int call)
{
    for (size_t i = 0; i < count; i++)
        if (calls[i] == call)
            return true;
    return false;
}

/* ---- the program ---- */

enum {
    MAX_CODE = 2048,
    REFUSED = SECCOMP_RET_ERRNO | EPERM,
    UNKNOWN = SECCOMP_RET_ERRNO | ENOSYS,
    NO_FAMILY = SECCOMP_RET_ERRNO | EAFNOSUPPORT,
    OTHER_ABI = 0x40000000, /* x32: bit of the number */
};

struct program {
    struct sock_filter code[MAX_CODE];
    unsigned short length;
    uint32_t refused; /* what becomes of calls that are known and not allowed */
    unsigned marks;
    mode_t mode;
};

/* Adds an instruction and returns it. */
static struct sock_filter *add(struct program *p, int what, uint32_t value)
{
    struct sock_filter *ret = &p->code[p->length < MAX_CODE ? p->length++ : MAX_CODE - 1];
    *ret = (struct sock_filter){.code = (unsigned short)what, .k = value};
    return ret;
}

static void add_load(struct program *p, size_t at)
{
    add(p, BPF_LD | BPF_W | BPF_ABS, (uint32_t)at);
}

static void add_return(struct program *p, uint32_t action)
{
    add(p, BPF_RET | BPF_K, action);
}

/* Skips what is added from `from` on, up to here, if it compares unequal. */
static void skip_to_here(struct program *p, struct sock_filter *from)
{
    from->jf = (unsigned char)(&p->code[p->length] - from - 1);
}

static void add_rule(struct program *p, const struct rule *rule)
{
    enum { LOW = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? 4 : 0 };
    struct sock_filter *unequal[CONDITIONS] = {NULL};
    for (int i = 0; i < CONDITIONS && rule->when[i].mask; i++) {
        const struct condition *c = &rule->when[i];
        const uint32_t value = c->value == SELF       ? (uint32_t)getpid()
                               : c->value == ITS_MODE ? (uint32_t)p->mode
                                                      : c->value;
        add_load(p, offsetof(struct seccomp_data, args) + 8 * c->argument + LOW);
        if (c->mask != UINT32_MAX)
            add(p, BPF_ALU | BPF_AND | BPF_K, c->mask);
        unequal[i] = add(p, BPF_JMP | BPF_JEQ | BPF_K, value);
    }
    add_return(p, SECCOMP_RET_ALLOW);
    for (int i = 0; i < CONDITIONS; i++)
        if (unequal[i])
            skip_to_here(p, unequal[i]);
}

static uint32_t refusal(const struct program *p, int call)
{
    return is_one_of(quiet, sizeof quiet / sizeof *quiet, call) ? (uint32_t)REFUSED : p->refused;
}

/* Adds the rules of the call that the rule is the first of; returns their number. */
static size_t add_call(struct program *p, const struct rule *first)
{
    const struct rule *end = rules + sizeof rules / sizeof *rules, *rule = first;
    const bool family = first->call == SCMP_SYS(socket) || first->call == SCMP_SYS(socketpair);
    struct sock_filter *other = add(p, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)first->call);
    bool always = false;
    for (; rule < end && rule->call == first->call; rule++)
        if (!always && (rule->marks & p->marks)) {
            add_rule(p, rule);
            always = !rule->when[0].mask;
        }
    if (!always)
        add_return(p, family ? NO_FAMILY : refusal(p, first->call));
    skip_to_here(p, other);
    return (size_t)(rule - first);
}

static bool is_known(int call)
{
    if (is_one_of(unknown, sizeof unknown / sizeof *unknown, call))
        return false;
    char *name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, call);
    free(name);
    return name != NULL;
}

static void fill(struct program *p)
{
    bool has_rule[LAST_KNOWN + 1] = {false};
    p->length = 0;
    add_load(p, offsetof(struct seccomp_data, arch));
    struct sock_filter *arch = add(p, BPF_JMP | BPF_JEQ | BPF_K, seccomp_arch_native());
    add_load(p, offsetof(struct seccomp_data, nr));
    struct sock_filter *abi = add(p, BPF_JMP | BPF_JGE | BPF_K, OTHER_ABI);
    add_return(p, UNKNOWN);
    abi->jf = 1;
    arch->jf = 2;
    for (size_t i = 0; i < sizeof rules / sizeof *rules;) {
        const int call = rules[i].call;
        if (call >= 0 && call <= LAST_KNOWN)
            has_rule[call] = true;
        i += call < 0 ? 1 : add_call(p, &rules[i]);
    }
    for (int call = 0; call <= LAST_KNOWN; call++)
        if (!has_rule[call] && is_known(call)) {
            add(p, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call)->jf = 1;
            add_return(p, refusal(p, call));
        }
    add_return(p, UNKNOWN);
}

/* Loads it; with ret_calls, another process answers the calls that are refused, through that
 * descriptor, because only there a line can be logged: threads of drivers block all signals, and a
 * detector has none of our code. The kernel refuses that if something around us does the same. */
static int load(struct program *p, int *ret_calls)
{
    p->refused = ret_calls ? (uint32_t)SECCOMP_RET_USER_NOTIF : REFUSED;
    fill(p);
    const struct sock_fprog whole = {.len = p->length, .filter = p->code};
    const long code = p->length >= MAX_CODE
                          ? -E2BIG
                          : syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                                    ret_calls ? SECCOMP_FILTER_FLAG_NEW_LISTENER : 0, &whole);
    if (code >= 0 && ret_calls)
        *ret_calls = (int)code;
    return code == -1 ? -errno : code < 0 ? (int)code : 0;
}

/* ---- what a process is ---- */

/* Whether a GPU exists: its driver needs sockets when CUDA starts. */
static bool has_gpu(void)
{
    static const char *const nodes[] = {"/dev/nvidiactl", "/dev/nvmap", "/dev/dxg"};
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++)
        if (access(nodes[i], F_OK) == 0)
            return true;
    return false;
}

static unsigned marks_of(const struct halo_confinement *c)
{
    if (c->detector)
        return c->gpu ? DETECTOR | GPU | UNIX | NETWORK : DETECTOR;
    unsigned ret = ENGINE | (has_gpu() ? GPU | UNIX | NETWORK : 0);
    if (!c->files)
        ret |= UNIX | NETWORK | CAMERA;
    for (int i = 0; i < c->count; i++)
        if (c->files[i].how == HALO_FILES_LISTEN)
            ret |= LISTENER | UNIX | NETWORK;
        else if (c->files[i].how == HALO_FILES_NETWORK)
            ret |= UNIX | NETWORK;
        else if (c->files[i].how == HALO_FILES_SESSION)
            ret |= UNIX;
        else if (c->files[i].how == HALO_FILES_DEVICE && !strcmp(c->files[i].path, "/dev"))
            ret |= CAMERA;
    return c->mode ? ret | MODE : ret;
}

static int no_new_privileges(struct halo_error *err)
{
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0
               ? halo_fail(err, -errno, "cannot set no_new_privs: %s", strerror(errno))
               : 0;
}

int halo_confine(const struct halo_confinement *c, int *ret_calls, struct halo_error *err)
{
    struct program *p = calloc(1, sizeof *p);
    if (ret_calls)
        *ret_calls = -1;
    int code = p ? no_new_privileges(err) : halo_fail(err, -ENOMEM, "out of memory");
    if (code < 0)
        goto end;
    const int opened = c->detector ? halo_confine_detector_files(c->files, c->count, c->gpu, err)
                       : c->files  ? halo_confine_files(c->files, c->count, c->moves, err)
                                   : 0;
    p->marks = marks_of(c);
    p->mode = c->mode;
    code = ret_calls ? load(p, ret_calls) : -ENOTSUP;
    if (code < 0)
        code = load(p, NULL);
    code = code < 0 ? halo_fail(err, code, "cannot restrict system calls: %s", strerror(-code))
                    : opened;
end:
    free(p);
    return code;
}

const char *halo_confine_call_name(int number, char *text, size_t size)
{
    char *name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, number);
    snprintf(text, size, "%s (%d)", name ? name : "without a name", number);
    free(name);
    return text;
}

bool halo_confine_is_built(void)
{
    return true;
}
