/* SPDX-License-Identifier: BSD-2-Clause
 * Listening sockets: stale ones are replaced, live ones refused. */
#include "daemon/doors.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "config/number.h"

enum { BACKLOG = 128, MODE = 0660 };

/* Whether someone answers at the socket. One whose queue is full is served as well. */
static bool is_served(const struct sockaddr_un *address)
{
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return true;
    const int rc = connect(fd, (const struct sockaddr *)address, sizeof(*address));
    const int error = rc ? errno : 0;
    close(fd);
    return error != ECONNREFUSED && error != ENOENT;
}

static int clear_stale(const struct sockaddr_un *address, struct halo_error *err)
{
    struct stat info;
    const char *path = address->sun_path;
    if (lstat(path, &info))
        return errno == ENOENT ? 0 : halo_fail(err, -errno, "%s: %s", path, strerror(errno));
    if (!S_ISSOCK(info.st_mode))
        return halo_fail(err, -EEXIST, "%s is there and is no socket: remove it or name another",
                         path);
    if (is_served(address))
        return halo_fail(err, -EADDRINUSE,
                         "%s is served by another program: stop it, or name another socket", path);
    if (unlink(path) && errno != ENOENT)
        return halo_fail(err, -errno, "%s: a stale socket that cannot be removed: %s", path,
                         strerror(errno));
    return 0;
}

static int bind_unix(int fd, const struct sockaddr_un *address, struct halo_error *err)
{
    /* Before it has a name: nobody can connect while the mode is another. */
    if (fchmod(fd, MODE))
        return halo_fail(err, -errno, "%s: %s", address->sun_path, strerror(errno));
    if (bind(fd, (const struct sockaddr *)address, sizeof(*address))) {
        if (errno != EADDRINUSE)
            return halo_fail(err, -errno, "%s: no socket can be made: %s", address->sun_path,
                             strerror(errno));
        const int rc = clear_stale(address, err);
        if (rc)
            return rc;
        if (bind(fd, (const struct sockaddr *)address, sizeof(*address)))
            return halo_fail(err, -errno, "%s: no socket can be made: %s", address->sun_path,
                             strerror(errno));
    }
    if (chmod(address->sun_path, MODE) || listen(fd, BACKLOG))
        return halo_fail(err, -errno, "%s: %s", address->sun_path, strerror(errno));
    return 0;
}

int halo_listen_unix(const char *path, struct halo_error *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const size_t length = strlen(path);
    if (length == 0 || length >= sizeof(address.sun_path))
        return halo_fail(err, -ENAMETOOLONG, "%s: a socket's path has 1 to %zu bytes", path,
                         sizeof(address.sun_path) - 1);
    memcpy(address.sun_path, path, length + 1);
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return halo_fail(err, -errno, "%s: no socket: %s", path, strerror(errno));
    const int rc = bind_unix(fd, &address, err);
    if (rc)
        close(fd);
    return rc ? rc : fd;
}

/* HOST and PORT of "HOST:PORT" into an address; its length, 0: malformed. */
static socklen_t parse_address(const char *text, struct sockaddr_storage *ret)
{
    char host[64];
    double port = 0;
    const char *colon = strrchr(text, ':');
    if (!colon || (size_t)(colon - text) >= sizeof(host) || halo_parse_integer(colon + 1, &port) ||
        port < 0 || port > 65535)
        return 0;
    size_t length = (size_t)(colon - text);
    const bool brackets = length > 2 && text[0] == '[' && text[length - 1] == ']';
    memcpy(host, text + brackets, length);
    host[length - 2 * (size_t)brackets] = '\0';
    if (brackets) {
        struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)ret;
        *in6 = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
        return inet_pton(AF_INET6, host, &in6->sin6_addr) == 1 ? sizeof(*in6) : 0;
    }
    struct sockaddr_in *in = (struct sockaddr_in *)ret;
    *in = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    const char *name = strcmp(host, "localhost") ? host : "127.0.0.1";
    return inet_pton(AF_INET, name, &in->sin_addr) == 1 ? sizeof(*in) : 0;
}

int halo_listen_tcp(const char *address, struct halo_error *err)
{
    struct sockaddr_storage where = {0};
    const int on = 1;
    const socklen_t length = parse_address(address, &where);
    if (length == 0)
        return halo_fail_usage(err, "%s: no address such as 127.0.0.1:8480 or [::1]:8480", address);
    const int fd = socket(where.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return halo_fail(err, -errno, "%s: no socket: %s", address, strerror(errno));
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (where.ss_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
    if (bind(fd, (const struct sockaddr *)&where, length) || listen(fd, BACKLOG)) {
        const int error = errno;
        close(fd);
        return error == EADDRINUSE
                   ? halo_fail(err, -error,
                               "%s is in use by another program: name another port, or stop it "
                               "(ss -ltnp shows it)",
                               address)
                   : halo_fail(err, -error, "%s: %s", address, strerror(error));
    }
    return fd;
}

int halo_accept(int fd)
{
    const int client = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    return client >= 0 ? client : errno == ECONNABORTED || errno == EINTR ? -EAGAIN : -errno;
}
