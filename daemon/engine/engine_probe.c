/* SPDX-License-Identifier: BSD-2-Clause
 * For tests (the fault "probe"): actions that an attacker who has taken over an engine would try.
 * Each is logged with its result. $HALOD_PROBE contains the paths of files, separated by colons;
 * the last one is the control socket. $HALOD_PROBE_CALLS is the number of system calls that are
 * made, all with arguments that let them fail; with "+i386" after it, also those of that kind. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "config/base/log.h"
#include "kernels/clock.h"
#include "config/base/thread.h"
#include "daemon/engine/engine_probe.h"

static void say(const char *what, bool done)
{
    halo_log(HALO_LOG_INFO, "probe: %s: %s", what, done ? "done" : strerror(errno));
}

static void try_file(const char *path)
{
    char what[300];
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    snprintf(what, sizeof what, "read %s", path);
    say(what, fd >= 0);
    if (fd >= 0)
        close(fd);
}

/* Succeeds with an answer; fails if the connection ends. */
static void try_control(const char *path)
{
    static const char call[] = "{\"method\": \"io.halod.Control.List\"}";
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    snprintf(to.sun_path, sizeof to.sun_path, "%s", path);
    char answer[16];
    errno = 0;
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const bool connected = fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof to) == 0 &&
                           send(fd, call, sizeof call, MSG_NOSIGNAL) > 0;
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    const bool answered = connected && halo_poll(&wait, 1, halo_now_ns() + 5000000000) == 1 &&
                          recv(fd, answer, 16, 0) > 0;
    errno = errno ? errno : ECONNRESET;
    say("control", answered);
    if (fd >= 0)
        close(fd);
}

/* Makes a system call of 32-bit programs, whose numbers are others. */
static long call_i386(long number)
{
#ifdef __x86_64__
    long ret;
    __asm__ volatile("int $0x80"
                     : "=a"(ret)
                     : "a"(number), "b"(-1L), "c"(-1L), "d"(-1L), "S"(-1L), "D"(-1L)
                     : "memory", "r8", "r9", "r10", "r11");
    if (ret < 0)
        errno = (int)-ret;
    return ret < 0 ? -1 : ret;
#else
    (void)number;
    errno = ENOSYS;
    return -1;
#endif
}

/* Those that would end or stop the process, or change it, if they are allowed. */
static bool is_harmful(long number)
{
    static const long numbers[] = {SYS_exit,
                                   SYS_exit_group,
                                   SYS_rt_sigreturn,
                                   SYS_umask,
#ifdef SYS_pause
                                   SYS_pause,
#endif
#ifdef __x86_64__
                                   335,
                                   336, /* of uprobes: no filter sees them, else SIGILL */
#endif
                                   SYS_set_tid_address};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (numbers[i] == number)
            return true;
    return false;
}

/* Writes the numbers of the calls that fail with this error, or, if it is 0, with another one. */
static void try_calls(const char *kind, long first, long count, int error)
{
    dprintf(STDERR_FILENO, "calls %s %s:", kind,
            error == EPERM    ? "refused"
            : error == ENOSYS ? "unknown"
                              : "allowed");
    for (long n = first; n < first + count; n++) {
        /* futex has an error for an unknown operation that says the call is unknown */
        const long operation = n == SYS_futex ? 1 : -1;
        if (is_harmful(n))
            continue;
        errno = 0;
        if (!strcmp(kind, "i386"))
            call_i386(n);
        else
            syscall(n, -1, operation, -1, -1, -1, -1);
        if (error ? errno == error : errno != EPERM && errno != ENOSYS)
            dprintf(STDERR_FILENO, " %ld", n - first);
    }
    dprintf(STDERR_FILENO, ".\n");
}

static void walk(void)
{
    const char *wish = getenv("HALOD_PROBE_CALLS");
    const long count = wish ? atol(wish) : 0;
    if (count <= 0)
        return;
    try_calls("native", 0, count, 0);
    try_calls("native", 0, count, EPERM);
    try_calls("x32", 0x40000000, count, 0);
    try_calls("x32", 0x40000000, count, EPERM);
    if (strstr(wish, "+i386")) {
        try_calls("i386", 0, count, 0);
        try_calls("i386", 0, count, EPERM);
    }
}

void engine_probe(void)
{
    char *list = strdup(getenv("HALOD_PROBE") ? getenv("HALOD_PROBE") : ""), *next = NULL;
    struct rlimit limit;
    const char *last = "";
    for (char *path = list ? strtok_r(list, ":", &next) : NULL; path;
         path = strtok_r(NULL, ":", &next)) {
        last = path;
        try_file(path);
    }
    try_control(last);
    say("kill", kill(getppid(), 0) == 0);
    say("tkill", syscall(SYS_tkill, getppid(), 0) == 0);
    say("prlimit", prlimit(getppid(), RLIMIT_NOFILE, NULL, &limit) == 0);
    say("exec", execl("/bin/true", "true", NULL) == 0);
    walk();
    free(list);
}
