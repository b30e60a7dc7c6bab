/* SPDX-License-Identifier: BSD-2-Clause
 * What an engine cannot do any more, and what it can: each in a child that has given it up. */
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/engine/confine.h"
#include "tests/cmocka_all.h"

enum { FINE = 0, CONFINE_FAILED = 200 };

extern char **environ;

/* What the child's end was: what `act` returned (an errno, 0), or 1000 + a signal. */
static int as_child(int (*act)(void))
{
    int status;
    const pid_t child = fork();
    if (child == 0)
        _exit(act());
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) ? 1000 + WTERMSIG(status) : WEXITSTATUS(status);
}

static int (*confined_act)(void);

static int confine(const struct halo_files *files, int count)
{
    struct halo_error err = {0};
    const struct halo_confinement all = {.files = files, .count = count};
    return halo_confine(&all, NULL, &err);
}

static int confine_and_act(void)
{
    return confine(NULL, 0) < 0 ? CONFINE_FAILED : confined_act();
}

static int in_child(int (*act)(void))
{
    confined_act = act;
    return as_child(confine_and_act);
}

static int error_of(long ret)
{
    return ret < 0 ? errno : 0;
}

/* ---- what only an attacker would call ---- */

static int do_ptrace(void)
{
    return error_of(ptrace(PTRACE_TRACEME, 0, NULL, NULL));
}

static int do_read_other(void)
{
    return error_of(syscall(SYS_process_vm_readv, getppid(), NULL, 0, NULL, 0, 0));
}

static int do_mount(void)
{
    return error_of(mount("none", "/nowhere", "tmpfs", 0, NULL));
}

static int do_madvise_other(void)
{
    return error_of(syscall(SYS_process_madvise, -1, NULL, 0, 0, 0));
}

static int do_unshare(void)
{
    return error_of(unshare(CLONE_NEWUSER));
}

static int do_setns(void)
{
    return error_of(setns(-1, 0));
}

static int do_bpf(void)
{
    return error_of(syscall(SYS_bpf, 0, NULL, 0));
}

static int do_setuid(void)
{
    return error_of(syscall(SYS_setuid, getuid()));
}

static int do_keyctl(void)
{
    return error_of(syscall(SYS_keyctl, 0, 0, 0, 0, 0));
}

static int do_chroot(void)
{
    return error_of(chroot("/"));
}

static int do_module(void)
{
    return error_of(syscall(SYS_init_module, NULL, 0, ""));
}

static void *trace_in_thread(void *arg)
{
    *(int *)arg = do_ptrace();
    return NULL;
}

static int do_in_thread(void)
{
    pthread_t thread;
    int ret = 0;
    if (pthread_create(&thread, NULL, trace_in_thread, &ret))
        return 1;
    pthread_join(thread, NULL);
    return ret;
}

/* ---- what fails ---- */

static int do_accept(void)
{
    return error_of(accept4(-1, NULL, NULL, 0));
}

static int do_packet(void)
{
    return error_of(socket(AF_PACKET, SOCK_RAW, 0));
}

static int do_vsock(void)
{
    return error_of(socket(AF_VSOCK, SOCK_STREAM, 0));
}

static int do_x25(void)
{
    return error_of(socket(AF_X25, SOCK_STREAM, 0));
}

static int do_kill_parent(void)
{
    return error_of(kill(getppid(), 0));
}

static int do_kill_group(void)
{
    return error_of(kill(0, 0));
}

static int do_fork(void)
{
    const pid_t child = fork();
    if (child == 0)
        _exit(0);
    return error_of(child);
}

static int do_exec(void)
{
    execl("/bin/true", "true", NULL);
    return errno;
}

static int do_spawn(void)
{
    pid_t child;
    char *const argv[] = {"true", NULL};
    const int code = posix_spawn(&child, "/bin/true", NULL, NULL, argv, environ);
    int status = 1;
    if (code == 0)
        waitpid(child, &status, 0);
    return code ? code : status;
}

static int do_uring(void)
{
    return error_of(syscall(SYS_io_uring_setup, 1, NULL));
}

static int do_type(void)
{
    return error_of(ioctl(STDIN_FILENO, TIOCSTI, "x"));
}

/* ---- signals to others, each to the parent, and what changes others ---- */

static int do_tkill_parent(void)
{
    return error_of(syscall(SYS_tkill, getppid(), 0));
}

static int do_tgkill_parent(void)
{
    return error_of(syscall(SYS_tgkill, getppid(), getppid(), 0));
}

static int do_queue_to_parent(void)
{
    siginfo_t info = {.si_signo = SIGURG, .si_code = SI_QUEUE};
    return error_of(syscall(SYS_rt_sigqueueinfo, getppid(), SIGURG, &info));
}

static int do_queue_to_thread_of_parent(void)
{
    siginfo_t info = {.si_signo = SIGURG, .si_code = SI_QUEUE};
    return error_of(syscall(SYS_rt_tgsigqueueinfo, getppid(), getppid(), SIGURG, &info));
}

static int on_pipe(int command, long value)
{
    int ends[2];
    return pipe(ends) < 0 ? 1 : error_of(fcntl(ends[0], command, value));
}

static int do_own(void)
{
    return on_pipe(F_SETOWN, getppid());
}

static int do_own_ex(void)
{
    struct f_owner_ex owner = {F_OWNER_PID, getppid()};
    return on_pipe(F_SETOWN_EX, (long)&owner);
}

static int do_choose_signal(void)
{
    return on_pipe(F_SETSIG, SIGKILL);
}

static int do_lease(void)
{
    const int fd = open("/proc/self/exe", O_RDONLY);
    return fd < 0 ? 1 : error_of(fcntl(fd, F_SETLEASE, F_RDLCK));
}

static int on_socket(unsigned long request)
{
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0), parent = getppid();
    return fd < 0 ? 1 : error_of(ioctl(fd, request, &parent));
}

static int do_own_by_ioctl(void)
{
    return on_socket(FIOSETOWN);
}

static int do_group_by_ioctl(void)
{
    return on_socket(SIOCSPGRP);
}

/* A filter sees 64 bits of what the kernel takes 32 of. */
static int do_own_with_high_bits(void)
{
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    return fd < 0 ? 1 : error_of(syscall(SYS_fcntl, fd, F_SETOWN | 1L << 32, getppid()));
}

static int do_type_with_high_bits(void)
{
    return error_of(syscall(SYS_ioctl, STDIN_FILENO, TIOCSTI | 1L << 32, "x"));
}

static int do_kill_with_high_bits(void)
{
    return error_of(syscall(SYS_kill, getppid() | 1L << 32, 0));
}

static int do_limit_parent(void)
{
    struct rlimit limit;
    return error_of(prlimit(getppid(), RLIMIT_NOFILE, NULL, &limit));
}

static int do_nice_parent(void)
{
    return error_of(setpriority(PRIO_PROCESS, (id_t)getppid(), 19));
}

static int do_nice_all(void)
{
    return error_of(setpriority(PRIO_USER, 0, 19));
}

static int do_io_nice_parent(void)
{
    return error_of(syscall(SYS_ioprio_set, 1, getppid(), 3 << 13));
}

static int do_move_parent(void)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(0, &set);
    return error_of(sched_setaffinity(getppid(), sizeof set, &set));
}

static int do_idle_parent(void)
{
    const struct sched_param param = {0};
    return error_of(sched_setscheduler(getppid(), SCHED_IDLE, &param));
}

static int do_pages_of_parent(void)
{
    return error_of(syscall(SYS_move_pages, getppid(), 0, NULL, NULL, NULL, 0));
}

/* ---- what Landlock does not know ---- */

static int do_chmod(void)
{
    return error_of(chmod("/proc/self/exe", 0777));
}

/* Since Linux 6.6. */
static int do_chmod_new(void)
{
    return error_of(syscall(452, AT_FDCWD, "/proc/self/exe", 0777, 0));
}

/* setxattrat, since Linux 6.13. */
static int do_attribute_new(void)
{
    return error_of(syscall(463, AT_FDCWD, "/proc/self/exe", 0, "user.halod", NULL, 0));
}

/* file_setattr, since Linux 6.17. */
static int do_file_attribute(void)
{
    return error_of(syscall(469, AT_FDCWD, "/proc/self/exe", NULL, 0, 0));
}

static int do_attribute_of_another(void)
{
    const int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    unsigned long flags = 0;
    return fd < 0 ? 1 : error_of(ioctl(fd, _IOW('f', 2, long) /* FS_IOC_SETFLAGS */, &flags));
}

static int do_times(void)
{
    return error_of(utimensat(AT_FDCWD, "/proc/self/exe", NULL, 0));
}

static int do_truncate(void)
{
    return error_of(truncate("/proc/self/exe", 0));
}

static int do_empty(void)
{
    return error_of(open("/proc/self/status", O_RDONLY | O_TRUNC | O_CLOEXEC));
}

static int do_watch(void)
{
    return error_of(inotify_add_watch(-1, "/", IN_ACCESS));
}

static int do_message(void)
{
    return error_of(msgsnd(-1, "", 0, IPC_NOWAIT));
}

static int do_remove_queue(void)
{
    return error_of(syscall(SYS_mq_unlink, "halo-none"));
}

static int do_open_by_other_flags(void)
{
    return error_of(syscall(SYS_openat2, -1, NULL, NULL, 0));
}

/* ---- what holds it ---- */

static int do_outlive_parent(void)
{
    return error_of(prctl(PR_SET_PDEATHSIG, 0));
}

static int do_be_traced(void)
{
    return error_of(prctl(PR_SET_DUMPABLE, 1));
}

/* It could take the answers to our filter. */
static int do_filter(void)
{
    return error_of(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, NULL));
}

static int do_none_of_any_kernel(void)
{
    return error_of(syscall(5000));
}

/* getpid of x32; where the kernel does not have it, it is unknown in any case */
static int do_x32(void)
{
    return error_of(syscall(0x40000000 | 39));
}

static void fails(void **state)
{
    static const struct {
        int (*act)(void);
        int error;
    } calls[] = {{do_ptrace, EPERM},
                 {do_in_thread, EPERM},
                 {do_read_other, EPERM},
                 {do_mount, EPERM},
                 {do_unshare, EPERM},
                 {do_setns, EPERM},
                 {do_bpf, EPERM},
                 {do_setuid, EPERM},
                 {do_keyctl, EPERM},
                 {do_chroot, EPERM},
                 {do_module, EPERM},
                 {do_madvise_other, EPERM},
                 {do_chmod, EPERM},
                 {do_chmod_new, ENOSYS},
                 {do_attribute_new, ENOSYS},
                 {do_file_attribute, ENOSYS},
                 {do_attribute_of_another, EPERM},
                 {do_times, EPERM},
                 {do_truncate, EPERM},
                 {do_empty, EPERM},
                 {do_watch, EPERM},
                 {do_message, EPERM},
                 {do_remove_queue, EPERM},
                 {do_open_by_other_flags, ENOSYS},
                 {do_outlive_parent, EPERM},
                 {do_be_traced, EPERM},
                 {do_filter, EPERM},
                 {do_none_of_any_kernel, ENOSYS},
                 {do_x32, ENOSYS},
                 {do_accept, EPERM},
                 {do_packet, EAFNOSUPPORT},
                 {do_vsock, EAFNOSUPPORT},
                 {do_x25, EAFNOSUPPORT},
                 {do_kill_parent, EPERM},
                 {do_kill_group, EPERM},
                 {do_fork, EPERM},
                 {do_exec, EPERM},
                 {do_spawn, EPERM},
                 {do_uring, ENOSYS},
                 {do_type, EPERM},
                 {do_tkill_parent, EPERM},
                 {do_tgkill_parent, EPERM},
                 {do_queue_to_parent, EPERM},
                 {do_queue_to_thread_of_parent, EPERM},
                 {do_own, EPERM},
                 {do_own_ex, EPERM},
                 {do_choose_signal, EPERM},
                 {do_lease, EPERM},
                 {do_own_by_ioctl, EPERM},
                 {do_group_by_ioctl, EPERM},
                 {do_own_with_high_bits, EPERM},
                 {do_kill_with_high_bits, EPERM},
                 {do_type_with_high_bits, EPERM},
                 {do_limit_parent, EPERM},
                 {do_nice_parent, EPERM},
                 {do_nice_all, EPERM},
                 {do_io_nice_parent, EPERM},
                 {do_move_parent, EPERM},
                 {do_idle_parent, EPERM},
                 {do_pages_of_parent, EPERM}};
    (void)state;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        print_message("refused %zu\n", i);
        assert_int_equal(in_child(calls[i].act), calls[i].error);
    }
}

/* ---- files ---- */

static char allowed[64], written[64], hidden[64];

static int error_of_open(const char *path, int flags)
{
    const int fd = open(path, flags | O_CLOEXEC, 0600);
    if (fd >= 0)
        close(fd);
    return fd < 0 ? errno : 0;
}

static int in_folder(const char *folder, const char *name, int flags)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return error_of_open(path, flags);
}

static int check_files(void)
{
    const struct halo_files files[] = {{allowed, HALO_FILES_READ}, {written, HALO_FILES_WRITE}};
    char path[128];
    if (confine(files, 2) < 0)
        return CONFINE_FAILED;
    if (in_folder(allowed, "a", O_RDONLY) || in_folder(written, "deep/new", O_RDWR | O_CREAT))
        return 1;
    if (in_folder(allowed, "a", O_WRONLY) != EACCES ||
        in_folder(allowed, "new", O_WRONLY | O_CREAT) != EACCES)
        return 2;
    if (in_folder(hidden, "a", O_RDONLY) != EACCES || in_folder(hidden, "", O_RDONLY) != EACCES ||
        in_folder(hidden, "new", O_WRONLY | O_CREAT) != EACCES)
        return 3;
    snprintf(path, sizeof path, "%s/deep/link", written);
    if (symlink(hidden, path) == 0 || in_folder(written, "deep/../../x", O_RDONLY) == 0)
        return 4;
    snprintf(path, sizeof path, "%s/a", hidden);
    if (unlink(path) == 0 || mkdir("/tmp/halo-confine-new", 0700) == 0)
        return 5;
    snprintf(path, sizeof path, "%s/deep/new", written);
    if (unlink(path) < 0 || error_of_open("/dev/null", O_RDWR) ||
        error_of_open("/proc/self/status", O_RDONLY) || error_of_open("/etc/shadow", O_RDONLY) == 0)
        return 6;
    snprintf(path, sizeof path, "/proc/%d/mem", getppid());
    return error_of_open(path, O_RDONLY) == 0 ? 7 : 0;
}

static void opens_what_it_was_given(void **state)
{
    char path[128];
    (void)state;
    for (int i = 0; i < 3; i++) {
        char *folder = i == 0 ? allowed : i == 1 ? written : hidden;
        snprintf(folder, sizeof allowed, "/tmp/halo-confine-XXXXXX");
        assert_non_null(mkdtemp(folder));
        snprintf(path, sizeof path, "%s/a", folder);
        assert_int_equal(error_of_open(path, O_WRONLY | O_CREAT), 0);
    }
    snprintf(path, sizeof path, "%s/deep", written);
    assert_int_equal(mkdir(path, 0700), 0);
    const int ret = as_child(check_files);
    for (int i = 0; i < 3; i++) {
        const char *folder = i == 0 ? allowed : i == 1 ? written : hidden;
        snprintf(path, sizeof path, "%s/a", folder);
        unlink(path);
        snprintf(path, sizeof path, "%s/deep", folder);
        rmdir(path);
        rmdir(folder);
    }
    assert_int_equal(ret, 0);
}

/* ---- sockets ---- */

static const struct halo_files network = {"", HALO_FILES_NETWORK};

/* The error of sockets to others; pairs that are connected can always be made. */
static int try_sockets(const struct halo_files *files, int count, int error)
{
    int pair[2];
    if (confine(files, count) < 0)
        return CONFINE_FAILED;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) || socket(AF_NETLINK, SOCK_RAW, 0) < 0)
        return 1;
    if (error_of(socket(AF_UNIX, SOCK_STREAM, 0)) != error ||
        error_of(socket(AF_INET, SOCK_DGRAM, 0)) != error)
        return 2;
    if (error_of(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair)) != error ||
        error_of(socketpair(AF_UNIX, SOCK_RAW, 0, pair)) != error)
        return 3;
    const int last = error_of(socket(AF_INET6, SOCK_STREAM, 0));
    return last == error || last == EAFNOSUPPORT ? 0 : 4;
}

static int with_network(void)
{
    return try_sockets(&network, 1, 0);
}

static int without_network(void)
{
    const struct halo_files file = {"/etc/hostname", HALO_FILES_READ};
    return try_sockets(&file, 1, EAFNOSUPPORT);
}

/* With the session's sockets alone. */
static int with_session(void)
{
    const struct halo_files session = {"", HALO_FILES_SESSION};
    if (confine(&session, 1) < 0)
        return CONFINE_FAILED;
    if (error_of(socket(AF_UNIX, SOCK_STREAM, 0)))
        return 1;
    return error_of(socket(AF_INET, SOCK_STREAM, 0)) == EAFNOSUPPORT &&
                   error_of(socket(AF_INET6, SOCK_DGRAM, 0)) == EAFNOSUPPORT
               ? 0
               : 2;
}

static void reaches_whom_it_needs(void **state)
{
    (void)state;
    assert_int_equal(as_child(with_network), 0);
    if (access("/dev/nvidiactl", F_OK) == 0)
        skip(); /* its driver has sockets of its own */
    assert_int_equal(as_child(without_network), 0);
    assert_int_equal(as_child(with_session), 0);
}

/* ---- what goes on ---- */

static void *nothing(void *arg)
{
    return arg;
}

static int do_daily_work(void)
{
    pthread_t thread;
    int pair[2];
    if (pthread_create(&thread, NULL, nothing, NULL) || pthread_join(thread, NULL))
        return 1;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) || socket(AF_INET, SOCK_STREAM, 0) < 0 ||
        (socket(AF_INET6, SOCK_DGRAM, 0) < 0 && errno != EAFNOSUPPORT) ||
        socket(AF_NETLINK, SOCK_RAW, 0) < 0)
        return 2;
    if (kill(getpid(), 0) || raise(SIGUSR2) || memfd_create("x", MFD_ALLOW_SEALING) < 0)
        return 3;
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED || mlock(page, 4096) || sched_yield())
        return 4;
    siginfo_t info = {.si_signo = SIGUSR2, .si_code = SI_QUEUE};
    if (pthread_kill(pthread_self(), SIGUSR2) || sigqueue(getpid(), SIGUSR2, info.si_value) ||
        syscall(SYS_rt_tgsigqueueinfo, getpid(), gettid(), SIGUSR2, &info))
        return 5;
    struct rlimit limit;
    cpu_set_t set;
    if (getrlimit(RLIMIT_NOFILE, &limit) || setrlimit(RLIMIT_NOFILE, &limit) ||
        sched_getaffinity(0, sizeof set, &set) || sched_setaffinity(0, sizeof set, &set) ||
        setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0)))
        return 6;
    if (fcntl(pair[0], F_SETFL, O_NONBLOCK) || fcntl(pair[0], F_SETFD, FD_CLOEXEC))
        return 7;
    return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? 0 : 8;
}

static int do_abort(void)
{
    abort();
}

static void an_assertion_still_ends_it(void **state)
{
    (void)state;
    assert_int_equal(in_child(do_abort), 1000 + SIGABRT);
}

static int work_without_usr2(void)
{
    signal(SIGUSR2, SIG_IGN);
    return do_daily_work();
}

static void goes_on(void **state)
{
    (void)state;
    assert_int_equal(in_child(work_without_usr2), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fails),
        cmocka_unit_test(opens_what_it_was_given),
        cmocka_unit_test(reaches_whom_it_needs),
        cmocka_unit_test(goes_on),
        cmocka_unit_test(an_assertion_still_ends_it),
    };
    if (!halo_confine_is_built()) {
        print_message("a build with sanitizers, or without libseccomp\n");
        return 77;
    }
    const uint32_t kill_process = SECCOMP_RET_KILL_PROCESS;
    if (syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &kill_process) < 0) {
        print_message("this kernel has no filters of system calls\n");
        return 77;
    }
    if (halo_confine_files_missing(false)) {
        print_message("%s\n", halo_confine_files_missing(false));
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
