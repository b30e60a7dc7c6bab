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

/* ---- what fails ---- */

static void *trace_in_thread(void *arg)
{
    *(int *)arg = error_of(ptrace(PTRACE_TRACEME, 0, NULL, NULL));
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

static void fails(void **state)
{
    static int (*const acts[])(void) = {do_in_thread, do_fork, do_exec, do_spawn};
    (void)state;
    for (size_t i = 0; i < sizeof acts / sizeof *acts; i++)
        assert_int_equal(in_child(acts[i]), EPERM);
}

static struct call {
    const char *name;
    long number, argument[5];
    int error;
} call;

static int do_call(void)
{
    const long *a = call.argument;
    return error_of(syscall(call.number, a[0], a[1], a[2], a[3], a[4], 0L));
}

static void all_fail(const struct call *calls, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        print_message("refused: %s\n", calls[i].name);
        call = calls[i];
        assert_int_equal(in_child(do_call), calls[i].error);
    }
}

/* Signals to others, here to the parent, and what changes others. */
static void fails_upon_others(void **state)
{
    const long parent = getpid(), high = 1L << 32;
    long cpu = 1;
    int ends[2];
    struct rlimit limit;
    struct sched_param param = {0};
    struct f_owner_ex owner = {F_OWNER_PID, getpid()};
    siginfo_t info = {.si_signo = SIGURG, .si_code = SI_QUEUE};
    (void)state;
    assert_int_equal(pipe(ends), 0);
    const int end = ends[0], file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    const int unix_socket = socket(AF_UNIX, SOCK_STREAM, 0);
    const struct call calls[] = {
        {"kill", SYS_kill, {parent}, EPERM},
        {"kill of the group", SYS_kill, {0}, EPERM},
        {"tkill", SYS_tkill, {parent}, EPERM},
        {"tgkill", SYS_tgkill, {parent, parent}, EPERM},
        {"sigqueue", SYS_rt_sigqueueinfo, {parent, SIGURG, (long)&info}, EPERM},
        {"tgsigqueue", SYS_rt_tgsigqueueinfo, {parent, parent, SIGURG, (long)&info}, EPERM},
        {"F_SETOWN", SYS_fcntl, {end, F_SETOWN, parent}, EPERM},
        {"F_SETOWN_EX", SYS_fcntl, {end, F_SETOWN_EX, (long)&owner}, EPERM},
        {"F_SETSIG", SYS_fcntl, {end, F_SETSIG, SIGKILL}, EPERM},
        {"F_SETLEASE", SYS_fcntl, {file, F_SETLEASE, F_RDLCK}, EPERM},
        {"FIOSETOWN", SYS_ioctl, {unix_socket, FIOSETOWN, (long)&parent}, EPERM},
        {"SIOCSPGRP", SYS_ioctl, {unix_socket, SIOCSPGRP, (long)&parent}, EPERM},
        {"prlimit", SYS_prlimit64, {parent, RLIMIT_NOFILE, 0, (long)&limit}, EPERM},
        {"setpriority", SYS_setpriority, {PRIO_PROCESS, parent, 19}, EPERM},
        {"setpriority of all", SYS_setpriority, {PRIO_USER, 0, 19}, EPERM},
        {"ioprio_set", SYS_ioprio_set, {1, parent, 3 << 13}, EPERM},
        {"setaffinity", SYS_sched_setaffinity, {parent, sizeof cpu, (long)&cpu}, EPERM},
        {"setscheduler", SYS_sched_setscheduler, {parent, SCHED_IDLE, (long)&param}, EPERM},
        {"move_pages", SYS_move_pages, {parent}, EPERM},
        /* a filter sees 64 bits of what the kernel takes 32 of */
        {"F_SETOWN with more bits", SYS_fcntl, {unix_socket, F_SETOWN | high, parent}, EPERM},
        {"kill with more bits", SYS_kill, {parent | high}, EPERM},
        {"TIOCSTI with more bits", SYS_ioctl, {STDIN_FILENO, TIOCSTI | high, (long)"x"}, EPERM},
    };
    all_fail(calls, sizeof calls / sizeof *calls);
    close(ends[0]);
    close(ends[1]);
    close(file);
    close(unix_socket);
}

static void fails_of_the_kernel(void **state)
{
    const long parent = getpid(), here = AT_FDCWD;
    const long exe = (long)"/proc/self/exe", empty = (long)"";
    long flags = 0;
    (void)state;
    const int file = open((const char *)exe, O_RDONLY | O_CLOEXEC);
    const struct call calls[] = {
        /* what only an attacker would call */
        {"ptrace", SYS_ptrace, {PTRACE_TRACEME}, EPERM},
        {"process_vm_readv", SYS_process_vm_readv, {parent}, EPERM},
        {"mount", SYS_mount, {(long)"none", (long)"/nowhere", (long)"tmpfs"}, EPERM},
        {"process_madvise", SYS_process_madvise, {-1}, EPERM},
        {"unshare", SYS_unshare, {CLONE_NEWUSER}, EPERM},
        {"setns", SYS_setns, {-1}, EPERM},
        {"bpf", SYS_bpf, {0}, EPERM},
        {"setuid", SYS_setuid, {(long)getuid()}, EPERM},
        {"keyctl", SYS_keyctl, {0}, EPERM},
        {"chroot", SYS_chroot, {(long)"/"}, EPERM},
        {"init_module", SYS_init_module, {0, 0, empty}, EPERM},
        {"accept4", SYS_accept4, {-1}, EPERM},
        {"a packet socket", SYS_socket, {AF_PACKET, SOCK_RAW}, EAFNOSUPPORT},
        {"a vsock", SYS_socket, {AF_VSOCK, SOCK_STREAM}, EAFNOSUPPORT},
        {"an X.25 socket", SYS_socket, {AF_X25, SOCK_STREAM}, EAFNOSUPPORT},
        {"io_uring_setup", SYS_io_uring_setup, {1}, ENOSYS},
        {"TIOCSTI", SYS_ioctl, {STDIN_FILENO, TIOCSTI, (long)"x"}, EPERM},
        /* what Landlock does not know; the numbers are of Linux 6.6, 6.13 and 6.17 */
        {"chmod", SYS_fchmodat, {here, exe, 0777}, EPERM},
        {"fchmodat2", 452, {here, exe, 0777}, ENOSYS},
        {"setxattrat", 463, {here, exe, 0, (long)"user.halod"}, ENOSYS},
        {"file_setattr", 469, {here, exe}, ENOSYS},
        {"FS_IOC_SETFLAGS", SYS_ioctl, {file, _IOW('f', 2, long), (long)&flags}, EPERM},
        {"utimensat", SYS_utimensat, {here, exe}, EPERM},
        {"truncate", SYS_truncate, {exe}, EPERM},
        {"O_TRUNC", SYS_openat, {here, (long)"/proc/self/status", O_RDONLY | O_TRUNC}, EPERM},
        {"inotify", SYS_inotify_add_watch, {-1, (long)"/", IN_ACCESS}, EPERM},
        {"msgsnd", SYS_msgsnd, {-1, empty, 0, IPC_NOWAIT}, EPERM},
        {"mq_unlink", SYS_mq_unlink, {(long)"halo-none"}, EPERM},
        {"openat2", SYS_openat2, {-1}, ENOSYS},
        /* what holds it; another filter could take the answers to ours */
        {"PR_SET_PDEATHSIG", SYS_prctl, {PR_SET_PDEATHSIG}, EPERM},
        {"PR_SET_DUMPABLE", SYS_prctl, {PR_SET_DUMPABLE, 1}, EPERM},
        {"seccomp", SYS_seccomp, {SECCOMP_SET_MODE_FILTER}, EPERM},
        /* what no kernel has, and getpid of x32, which is as unknown where the kernel lacks x32 */
        {"5000", 5000, {0}, ENOSYS},
        {"x32", 0x40000000 | 39, {0}, ENOSYS},
    };
    all_fail(calls, sizeof calls / sizeof *calls);
    close(file);
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
        cmocka_unit_test(fails_of_the_kernel),
        cmocka_unit_test(fails_upon_others),
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
