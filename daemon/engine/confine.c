/* SPDX-License-Identifier: BSD-2-Clause
 * Confinement by seccomp: everything is allowed except what these tables name. With a list of
 * allowed calls instead, any update of the C library, FFmpeg or the GPU driver could break the
 * engine. The service's unit has such a list (SystemCallFilter=), which can be maintained there. */
#include "daemon/engine/confine.h"

#include <asm/ioctls.h>
#include <asm/sockios.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/ioprio.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

struct call {
    int number;
    const char *name;
};

#define CALL(name)                                                                                 \
    {                                                                                              \
        SCMP_SYS(name), #name                                                                      \
    }

/* Calls that end the process. */
static const struct call forbidden[] = {
    /* other processes */
    CALL(ptrace), CALL(process_vm_readv), CALL(process_vm_writev), CALL(kcmp), CALL(pidfd_getfd),
    CALL(process_madvise), CALL(process_mrelease),
    /* the view of the file system */
    CALL(mount), CALL(umount2), CALL(pivot_root), CALL(chroot), CALL(move_mount), CALL(open_tree),
    CALL(fsopen), CALL(fsmount), CALL(fsconfig), CALL(fspick), CALL(mount_setattr),
    CALL(open_by_handle_at), CALL(fanotify_init), CALL(swapon), CALL(swapoff), CALL(quotactl),
    CALL(unshare), CALL(setns),
    /* the kernel */
    CALL(init_module), CALL(finit_module), CALL(delete_module), CALL(kexec_load),
    CALL(kexec_file_load), CALL(reboot), CALL(bpf), CALL(iopl), CALL(ioperm), CALL(modify_ldt),
    CALL(acct), CALL(syslog), CALL(vhangup),
    /* rights and keys */
    CALL(setuid), CALL(setgid), CALL(setreuid), CALL(setregid), CALL(setresuid), CALL(setresgid),
    CALL(setfsuid), CALL(setfsgid), CALL(setgroups), CALL(capset), CALL(add_key), CALL(request_key),
    CALL(keyctl),
    /* the machine's clock and name */
    CALL(settimeofday), CALL(clock_settime), CALL(sethostname), CALL(setdomainname)};

/* Calls that fail: libraries try them and work without. */
static const struct {
    int number, error;
} refused[] = {
    {SCMP_SYS(accept), EPERM}, /* listen is allowed: without it CUDA does not start */
    {SCMP_SYS(accept4), EPERM},
    {SCMP_SYS(mknod), EPERM},
    {SCMP_SYS(mknodat), EPERM},
    {SCMP_SYS(personality), EPERM},
    {SCMP_SYS(perf_event_open), EPERM},
    {SCMP_SYS(userfaultfd), EPERM},
    {SCMP_SYS(name_to_handle_at), EPERM},
    {SCMP_SYS(clock_adjtime), EPERM},
    {SCMP_SYS(adjtimex), EPERM},
    {SCMP_SYS(pidfd_open), EPERM},
    {SCMP_SYS(pidfd_send_signal), EPERM},
    {SCMP_SYS(tkill), EPERM}, /* can name a thread of any process; the C library uses tgkill */
    {SCMP_SYS(io_uring_setup), ENOSYS},
    {SCMP_SYS(io_uring_enter), ENOSYS},
    {SCMP_SYS(io_uring_register), ENOSYS},
};

/* Calls that start another program, or a second process of this one. A detector may use the first
 * one, by which it is started itself. */
static const int beginnings[] = {SCMP_SYS(execve), SCMP_SYS(execveat), SCMP_SYS(fork),
                                 SCMP_SYS(vfork)};

/* Calls that fail only in detectors: changes to files that Landlock does not know in every kernel,
 * and memory and queues that other processes find by a name. */
static const int not_for_detectors[] = {
    SCMP_SYS(truncate),     SCMP_SYS(chmod),        SCMP_SYS(fchmod),    SCMP_SYS(fchmodat),
    SCMP_SYS(chown),        SCMP_SYS(lchown),       SCMP_SYS(fchown),    SCMP_SYS(fchownat),
    SCMP_SYS(utime),        SCMP_SYS(utimes),       SCMP_SYS(utimensat), SCMP_SYS(futimesat),
    SCMP_SYS(setxattr),     SCMP_SYS(lsetxattr),    SCMP_SYS(fsetxattr), SCMP_SYS(removexattr),
    SCMP_SYS(lremovexattr), SCMP_SYS(fremovexattr), SCMP_SYS(rename),    SCMP_SYS(renameat),
    SCMP_SYS(renameat2),    SCMP_SYS(link),         SCMP_SYS(linkat),    SCMP_SYS(symlink),
    SCMP_SYS(symlinkat),    SCMP_SYS(unlink),       SCMP_SYS(unlinkat),  SCMP_SYS(mkdir),
    SCMP_SYS(mkdirat),      SCMP_SYS(rmdir),        SCMP_SYS(creat),     SCMP_SYS(shmget),
    SCMP_SYS(shmat),        SCMP_SYS(semget),       SCMP_SYS(msgget),    SCMP_SYS(mq_open),
    SCMP_SYS(setsid),       SCMP_SYS(setpgid)};

static const char *priority = ""; /* prefix of a log line for the journal */

/* Runs on the stack of the thread that made the call, so it does only what a signal handler may
 * do. */
static void on_forbidden(int signal_number, siginfo_t *info, void *context)
{
    char line[96];
    const char *name = "";
    (void)context;
    for (size_t i = 0; i < sizeof forbidden / sizeof *forbidden; i++)
        if (forbidden[i].number == info->si_syscall)
            name = forbidden[i].name;
    const int length =
        snprintf(line, sizeof line, "%shalod: engine %d: forbidden system call %s (%d)\n", priority,
                 (int)getpid(), name, info->si_syscall);
    if (write(STDERR_FILENO, line, (size_t)length) < 0)
        name = "";
    signal(signal_number, SIG_DFL);
    raise(signal_number);
    _exit(128 + signal_number);
}

/* Whether a GPU exists: its driver needs sockets when CUDA starts. */
static bool has_gpu(void)
{
    static const char *const nodes[] = {"/dev/nvidiactl", "/dev/nvmap", "/dev/dxg"};
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++)
        if (access(nodes[i], F_OK) == 0)
            return true;
    return false;
}

/* The processes that an engine may reach by sockets. */
enum reach { REACH_NOBODY, REACH_SESSION, REACH_NETWORK };

static enum reach reach_of(const struct halo_files *files, int count)
{
    enum reach ret = !files || has_gpu() ? REACH_NETWORK : REACH_NOBODY;
    for (int i = 0; i < count; i++)
        if (files[i].how == HALO_FILES_NETWORK)
            ret = REACH_NETWORK;
        else if (files[i].how == HALO_FILES_SESSION && ret == REACH_NOBODY)
            ret = REACH_SESSION;
    return ret;
}

static int deny_families(scmp_filter_ctx filter, enum reach reach)
{
    static const int others[] = {AF_UNIX, AF_INET, AF_INET6};
    const size_t allowed = reach == REACH_NETWORK ? 3 : reach == REACH_SESSION ? 1 : 0;
    const uint32_t deny = SCMP_ACT_ERRNO(EAFNOSUPPORT);
    int code =
        seccomp_rule_add(filter, deny, SCMP_SYS(socket), 1, SCMP_A0_32(SCMP_CMP_GT, AF_NETLINK));
    for (uint32_t family = 0; family < AF_NETLINK && code == 0; family++) {
        bool wanted = false;
        for (size_t i = 0; i < allowed; i++)
            wanted |= family == (uint32_t)others[i];
        if (!wanted)
            code = seccomp_rule_add(filter, deny, SCMP_SYS(socket), 1,
                                    SCMP_A0_32(SCMP_CMP_EQ, family));
    }
    return code;
}

/* Socket pairs without a connection could send to other addresses, too. */
static int deny_pairs(scmp_filter_ctx filter)
{
    static const uint64_t types[] = {SOCK_DGRAM, SOCK_RAW};
    int code = 0;
    for (size_t i = 0; i < sizeof types / sizeof *types && code == 0; i++)
        code = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EAFNOSUPPORT), SCMP_SYS(socketpair), 1,
                                SCMP_A1(SCMP_CMP_MASKED_EQ, 0xf, types[i]));
    return code;
}

/* SELF: the ID of this process */
enum { SELF = -1 };
enum comparison { IS, IS_NOT };

/* Calls that fail depending on one argument: signals to other processes, sent directly or through a
 * descriptor; limits, priorities and processors of other processes; faked terminal input. IDs of
 * other threads of this process cannot be told from those of other processes, so these calls are
 * allowed only for the calling thread (0). */
static const struct {
    int number;
    unsigned argument;
    enum comparison compare;
    int64_t value;
} by_argument[] = {
    {SCMP_SYS(kill), 0, IS_NOT, SELF},
    {SCMP_SYS(tgkill), 0, IS_NOT, SELF},
    {SCMP_SYS(rt_sigqueueinfo), 0, IS_NOT, SELF},
    {SCMP_SYS(rt_tgsigqueueinfo), 0, IS_NOT, SELF},
    {SCMP_SYS(fcntl), 1, IS, F_SETOWN},
    {SCMP_SYS(fcntl), 1, IS, F_SETOWN_EX},
    {SCMP_SYS(fcntl), 1, IS, F_SETSIG},
    {SCMP_SYS(fcntl), 1, IS, F_SETLEASE}, /* makes other processes wait for a file */
    {SCMP_SYS(ioctl), 1, IS, FIOSETOWN},
    {SCMP_SYS(ioctl), 1, IS, SIOCSPGRP},
    {SCMP_SYS(ioctl), 1, IS, TIOCSPGRP},
    {SCMP_SYS(ioctl), 1, IS, TIOCSCTTY},
    {SCMP_SYS(ioctl), 1, IS, TIOCSIG},
    {SCMP_SYS(ioctl), 1, IS, TIOCSTI},
    {SCMP_SYS(ioctl), 1, IS, TIOCLINUX},
    {SCMP_SYS(prctl), 0, IS, PR_SCHED_CORE},
    {SCMP_SYS(prlimit64), 0, IS_NOT, 0},
    {SCMP_SYS(setpriority), 0, IS_NOT, PRIO_PROCESS},
    {SCMP_SYS(setpriority), 1, IS_NOT, 0},
    {SCMP_SYS(ioprio_set), 0, IS_NOT, IOPRIO_WHO_PROCESS},
    {SCMP_SYS(ioprio_set), 1, IS_NOT, 0},
    {SCMP_SYS(sched_setaffinity), 0, IS_NOT, 0},
    {SCMP_SYS(sched_setscheduler), 0, IS_NOT, 0},
    {SCMP_SYS(sched_setparam), 0, IS_NOT, 0},
    {SCMP_SYS(sched_setattr), 0, IS_NOT, 0},
    {SCMP_SYS(migrate_pages), 0, IS_NOT, 0},
    {SCMP_SYS(move_pages), 0, IS_NOT, 0},
};

/* The kernel uses the lower half of each of these arguments, but libseccomp compares both halves:
 * compare by a mask, or deny whatever differs from the value in either half. */
static struct scmp_arg_cmp compare(unsigned argument, enum comparison how, uint32_t value)
{
    return how == IS ? SCMP_CMP64(argument, SCMP_CMP_MASKED_EQ, UINT32_MAX, value)
                     : SCMP_CMP64(argument, SCMP_CMP_NE, value);
}

static int deny_by_argument(scmp_filter_ctx filter)
{
    int code = 0;
    for (size_t i = 0; i < sizeof by_argument / sizeof *by_argument && code == 0; i++) {
        const int64_t value = by_argument[i].value == SELF ? getpid() : by_argument[i].value;
        code = seccomp_rule_add(
            filter, SCMP_ACT_ERRNO(EPERM), by_argument[i].number, 1,
            compare(by_argument[i].argument, by_argument[i].compare, (uint32_t)value));
    }
    return code;
}

/* clone3 has its flags in memory, where a filter cannot read them; if it fails, the C library uses
 * clone. */
static int deny_beginnings(scmp_filter_ctx filter, size_t first)
{
    const uint32_t deny = SCMP_ACT_ERRNO(EPERM);
    int code = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
    if (code == 0)
        code = seccomp_rule_add(filter, deny, SCMP_SYS(clone), 1,
                                SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0));
    for (size_t i = first; i < sizeof beginnings / sizeof *beginnings && code == 0; i++)
        code = seccomp_rule_add(filter, deny, beginnings[i], 0);
    return code;
}

/* Landlock before Linux 6.2 lets a file be emptied that may only be read. openat2 has its flags in
 * memory, too. */
static int deny_changes(scmp_filter_ctx filter)
{
    const uint32_t deny = SCMP_ACT_ERRNO(EPERM);
    int code = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(openat2), 0);
    if (code == 0)
        code = seccomp_rule_add(filter, deny, SCMP_SYS(open), 1,
                                SCMP_A1(SCMP_CMP_MASKED_EQ, O_TRUNC | O_ACCMODE, O_TRUNC));
    if (code == 0)
        code = seccomp_rule_add(filter, deny, SCMP_SYS(openat), 1,
                                SCMP_A2(SCMP_CMP_MASKED_EQ, O_TRUNC | O_ACCMODE, O_TRUNC));
    for (size_t i = 0; i < sizeof not_for_detectors / sizeof *not_for_detectors && code == 0; i++)
        code = seccomp_rule_add(filter, deny, not_for_detectors[i], 0);
    return code;
}

/* Rules that apply to engines and detectors. */
static int deny_common(scmp_filter_ctx filter)
{
    int code = deny_by_argument(filter);
    for (size_t i = 0; i < sizeof forbidden / sizeof *forbidden && code == 0; i++)
        code = seccomp_rule_add(filter, SCMP_ACT_TRAP, forbidden[i].number, 0);
    for (size_t i = 0; i < sizeof refused / sizeof *refused && code == 0; i++)
        code = seccomp_rule_add(filter, SCMP_ACT_ERRNO((unsigned)refused[i].error),
                                refused[i].number, 0);
    return code;
}

static int fill(scmp_filter_ctx filter, enum reach reach)
{
    int code = deny_common(filter);
    if (code == 0)
        code = deny_families(filter, reach);
    if (code == 0 && reach == REACH_NOBODY)
        code = deny_pairs(filter);
    return code == 0 ? deny_beginnings(filter, 0) : code;
}

static int fill_for_detector(scmp_filter_ctx filter, bool gpu)
{
    const uint32_t deny = SCMP_ACT_ERRNO(EAFNOSUPPORT);
    int code = deny_common(filter);
    if (code == 0)
        code = gpu ? deny_families(filter, REACH_NETWORK)
                   : seccomp_rule_add(filter, deny, SCMP_SYS(socket), 0);
    if (code == 0 && !gpu)
        code = seccomp_rule_add(filter, deny, SCMP_SYS(socketpair), 0);
    if (code == 0)
        code = deny_changes(filter);
    return code == 0 ? deny_beginnings(filter, 1) : code;
}

static int no_new_privileges(struct halo_error *err)
{
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0
               ? halo_fail(err, -errno, "cannot set no_new_privs: %s", strerror(errno))
               : 0;
}

int halo_confine(const struct halo_files *files, int count, struct halo_error *err)
{
    struct sigaction action = {.sa_sigaction = on_forbidden, .sa_flags = SA_SIGINFO | SA_NODEFER};
    int code = no_new_privileges(err);
    if (code < 0)
        return code;
    const int opened = files ? halo_confine_files(files, count, err) : 0;
    priority = getenv("JOURNAL_STREAM") ? "<3>" : "";
    sigaction(SIGSYS, &action, NULL);
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    code = filter ? fill(filter, reach_of(files, count)) : -ENOMEM;
    if (code == 0)
        code = seccomp_load(filter);
    seccomp_release(filter);
    return code < 0 ? halo_fail(err, code, "cannot restrict system calls: %s", strerror(-code))
                    : opened;
}

int halo_confine_detector(const struct halo_files *files, int count, bool gpu,
                          struct halo_error *err)
{
    int code = no_new_privileges(err);
    const int opened = code < 0 ? code : halo_confine_detector_files(files, count, gpu, err);
    if (opened < 0)
        return opened;
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    code = filter ? fill_for_detector(filter, gpu) : -ENOMEM;
    if (code == 0)
        code = seccomp_load(filter);
    seccomp_release(filter);
    return code < 0 ? halo_fail(err, code, "cannot restrict system calls: %s", strerror(-code)) : 0;
}

bool halo_confine_is_built(void)
{
    return true;
}
