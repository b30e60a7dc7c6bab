/* SPDX-License-Identifier: BSD-2-Clause
 * For tests (the fault "probe"): actions that an attacker who has taken over an engine would try.
 * Each is logged with its result. $HALOD_PROBE contains the paths of files, separated by colons;
 * the last one is the control socket. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "config/log.h"
#include "daemon/engine/engine_private.h"

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
    const bool answered = connected && poll(&wait, 1, 5000) == 1 && recv(fd, answer, 16, 0) > 0;
    errno = errno ? errno : ECONNRESET;
    say("control", answered);
    if (fd >= 0)
        close(fd);
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
    free(list);
}
