/* SPDX-License-Identifier: BSD-2-Clause
 * What an engine cannot do any more, and what it can: each in a child that has given it up. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/confine.h"
#include "tests/unit/cmocka_all.h"

enum { FINE = 0, CONFINE_FAILED = 200 };

extern char **environ;

static char told[512]; /* by the last child */

/* What the child's end was: what `act` returned (an errno, 0), or 1000 + a signal. */
static int in_child(int (*act)(void), bool programs)
{
    int ends[2], status;
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
        struct halo_error err = {0};
        dup2(ends[1], STDERR_FILENO);
        unsetenv("JOURNAL_STREAM");
        _exit(halo_confine(programs, &err) < 0 ? CONFINE_FAILED : act());
    }
    close(ends[1]);
    const ssize_t size = read(ends[0], told, sizeof(told) - 1);
    told[size > 0 ? size : 0] = '\0';
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) ? 1000 + WTERMSIG(status) : WEXITSTATUS(status);
}

static int error_of(long ret)
{
    return ret < 0 ? errno : 0;
}

/* ---- what ends the process ---- */

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
    (void)arg;
    ptrace(PTRACE_TRACEME, 0, NULL, NULL);
    return NULL;
}

static int do_in_thread(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, trace_in_thread, NULL))
        return 1;
    pthread_join(thread, NULL);
    return 0;
}

static void ends_with_its_name(void **state)
{
    static const struct {
        int (*act)(void);
        const char *name;
    } calls[] = {{do_ptrace, "ptrace"},   {do_read_other, "process_vm_readv"},
                 {do_mount, "mount"},     {do_unshare, "unshare"},
                 {do_setns, "setns"},     {do_bpf, "bpf"},
                 {do_setuid, "setuid"},   {do_keyctl, "keyctl"},
                 {do_chroot, "chroot"},   {do_module, "init_module"},
                 {do_in_thread, "ptrace"}};
    (void)state;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        char words[64];
        snprintf(words, sizeof words, "forbidden system call %s (", calls[i].name);
        assert_int_equal(in_child(calls[i].act, i % 2), 1000 + SIGSYS);
        assert_non_null(strstr(told, words));
    }
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
    const int ret = posix_spawn(&child, "/bin/true", NULL, NULL, argv, environ);
    int status = 1;
    if (ret == 0)
        waitpid(child, &status, 0);
    return ret ? ret : status;
}

static int do_uring(void)
{
    return error_of(syscall(SYS_io_uring_setup, 1, NULL));
}

static int do_type(void)
{
    return error_of(ioctl(STDIN_FILENO, TIOCSTI, "x"));
}

static void fails(void **state)
{
    static const struct {
        int (*act)(void);
        int error;
    } calls[] = {{do_accept, EPERM},     {do_packet, EAFNOSUPPORT}, {do_vsock, EAFNOSUPPORT},
                 {do_x25, EAFNOSUPPORT}, {do_kill_parent, EPERM},   {do_kill_group, EPERM},
                 {do_fork, EPERM},       {do_exec, EPERM},          {do_spawn, EPERM},
                 {do_uring, ENOSYS},     {do_type, EPERM}};
    (void)state;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        print_message("refused %zu\n", i);
        assert_int_equal(in_child(calls[i].act, false), calls[i].error);
    }
}

static void may_start_programs(void **state)
{
    (void)state;
    assert_int_equal(in_child(do_spawn, true), 0);
    assert_int_equal(in_child(do_exec, true), 0);
    assert_int_equal(in_child(do_accept, true), EPERM);
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
    return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? 0 : 5;
}

static int work_without_usr2(void)
{
    signal(SIGUSR2, SIG_IGN);
    return do_daily_work();
}

static void goes_on(void **state)
{
    (void)state;
    assert_int_equal(in_child(work_without_usr2, false), 0);
    assert_int_equal(in_child(work_without_usr2, true), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ends_with_its_name),
        cmocka_unit_test(fails),
        cmocka_unit_test(may_start_programs),
        cmocka_unit_test(goes_on),
    };
    if (!halo_confine_is_built()) {
        print_message("a build with sanitizers, or without libseccomp\n");
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
