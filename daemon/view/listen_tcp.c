/* SPDX-License-Identifier: BSD-2-Clause
 * Listening TCP sockets. */
#include "daemon/view/listen_tcp.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "config/address.h"
#include "daemon/view/passed.h"

enum { BACKLOG = 128 };

int halo_listen_tcp(const char *address, struct halo_error *err)
{
    struct sockaddr_storage where = {0};
    const int on = 1;
    const socklen_t length = halo_address_parse(address, &where);
    if (length == 0)
        return halo_fail_usage(err, "%s: must be an address such as 127.0.0.1:8480 or [::1]:8480",
                               address);
    const int passed = halo_passed_take_address((const struct sockaddr *)&where);
    if (passed >= 0)
        return passed;
    const int fd = socket(where.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 && errno == EAFNOSUPPORT)
        return halo_fail(err, -errno,
                         "%s: this process has no network access, so the service manager must pass "
                         "the socket (halod-http.socket)",
                         address);
    if (fd < 0)
        return halo_fail(err, -errno, "%s: cannot create a socket: %s", address, strerror(errno));
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (where.ss_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    if (bind(fd, (const struct sockaddr *)&where, length) || listen(fd, BACKLOG)) {
        const int error = errno;
        close(fd);
        if (error == EADDRINUSE)
            return halo_fail(err, -error,
                             "%s is in use by another program: use another port, or stop that "
                             "program (ss -ltnp shows it)",
                             address);
        return halo_fail(err, -error, "%s: cannot listen: %s%s", address, strerror(error),
                         error == EACCES          ? " (use a port above 1023)"
                         : error == EADDRNOTAVAIL ? " (this machine does not have this address)"
                                                  : "");
    }
    return fd;
}
