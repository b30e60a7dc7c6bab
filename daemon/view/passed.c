/* SPDX-License-Identifier: BSD-2-Clause
 * The table of passed sockets (passed.h). */
#include "daemon/view/passed.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "config/base/log.h"

static struct passed {
    int fd;
    char name[256];
    char path[sizeof(((struct sockaddr_un *)0)->sun_path) + 1]; /* "": it has an IP address */
    struct sockaddr_storage address;
    socklen_t length;
    bool used;
} sockets[HALO_PASSED_MAX];
static int count;

static int ask(int fd, int what)
{
    int ret = 0;
    socklen_t size = sizeof ret;
    return getsockopt(fd, SOL_SOCKET, what, &ret, &size) < 0 ? -1 : ret;
}

static bool is_known(const struct passed *socket)
{
    return socket->path[0] || socket->address.ss_family == AF_INET ||
           socket->address.ss_family == AF_INET6;
}

int halo_passed_add(int fd, const char *name, struct halo_error *err)
{
    if (count == HALO_PASSED_MAX)
        return halo_fail(err, -ENOSPC, "the service manager passed more than %d sockets", count);
    struct passed *socket = &sockets[count];
    *socket = (struct passed){.fd = fd, .length = sizeof socket->address};
    snprintf(socket->name, sizeof socket->name, "%s", name);
    const bool listens = ask(fd, SO_TYPE) == SOCK_STREAM && ask(fd, SO_ACCEPTCONN) == 1 &&
                         getsockname(fd, (struct sockaddr *)&socket->address, &socket->length) == 0;
    if (listens && socket->address.ss_family == AF_UNIX) {
        const struct sockaddr_un *un = (const struct sockaddr_un *)&socket->address;
        memcpy(socket->path, un->sun_path, sizeof un->sun_path);
    }
    if (!listens || !is_known(socket))
        return halo_fail(err, -EINVAL,
                         "the socket passed as '%s' is not a stream socket that listens on a path "
                         "or an IP address",
                         name);
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    count++;
    return 0;
}

/* Whether two paths name the same file: /var/run is /run. */
static bool is_same_file(const char *one, const char *other)
{
    struct stat a, b;
    if (!strcmp(one, other))
        return true;
    return lstat(one, &a) == 0 && lstat(other, &b) == 0 && S_ISSOCK(a.st_mode) &&
           a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

int halo_passed_take(const char *path)
{
    for (struct passed *s = sockets; s < sockets + count; s++)
        if (!s->used && s->path[0] && is_same_file(s->path, path)) {
            s->used = true;
            return s->fd;
        }
    return -1;
}

void halo_passed_give_back(int fd)
{
    for (struct passed *s = sockets; s < sockets + count; s++)
        if (s->fd == fd)
            s->used = false;
}

static bool is_same_address(const struct sockaddr_storage *one, const struct sockaddr *other)
{
    if (one->ss_family != other->sa_family)
        return false;
    if (one->ss_family == AF_INET) {
        const struct sockaddr_in *a = (const struct sockaddr_in *)one,
                                 *b = (const struct sockaddr_in *)other;
        return a->sin_port == b->sin_port && a->sin_addr.s_addr == b->sin_addr.s_addr;
    }
    const struct sockaddr_in6 *a = (const struct sockaddr_in6 *)one,
                              *b = (const struct sockaddr_in6 *)other;
    return a->sin6_port == b->sin6_port && !memcmp(&a->sin6_addr, &b->sin6_addr, 16);
}

int halo_passed_take_address(const struct sockaddr *address)
{
    for (struct passed *s = sockets; s < sockets + count; s++) {
        if (s->path[0] || !is_same_address(&s->address, address))
            continue;
        s->used = true;
        return fcntl(s->fd, F_DUPFD_CLOEXEC, 0);
    }
    return -1;
}

const char *halo_passed_path(const char *name)
{
    for (const struct passed *s = sockets; s < sockets + count; s++)
        if (s->path[0] && !strcmp(s->name, name))
            return s->path;
    return NULL;
}

static void write_place(const struct passed *socket, char *ret, size_t size)
{
    char host[INET6_ADDRSTRLEN] = "";
    const struct sockaddr_in *in = (const struct sockaddr_in *)&socket->address;
    const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)&socket->address;
    if (socket->path[0]) {
        snprintf(ret, size, "%s", socket->path);
    } else if (in->sin_family == AF_INET) {
        inet_ntop(AF_INET, &in->sin_addr, host, sizeof host);
        snprintf(ret, size, "%s:%d", host, ntohs(in->sin_port));
    } else {
        inet_ntop(AF_INET6, &in6->sin6_addr, host, sizeof host);
        snprintf(ret, size, "[%s]:%d", host, ntohs(in6->sin6_port));
    }
}

void halo_passed_notify_idle(void)
{
    char place[160];
    for (const struct passed *s = sockets; s < sockets + count; s++) {
        if (s->used)
            continue;
        write_place(s, place, sizeof place);
        halo_log(HALO_LOG_WARNING,
                 "the service manager passed socket '%s' at %s, but nothing uses it: clients "
                 "that connect to it get no answer",
                 s->name, place);
    }
}
