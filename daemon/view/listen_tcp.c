/* SPDX-License-Identifier: BSD-2-Clause
 * Addresses of this machine to listen at. */
#include "daemon/view/listen_tcp.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "config/number.h"
#include "daemon/view/passed.h"

enum { BACKLOG = 128 };

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
    const int passed = halo_passed_take_address((const struct sockaddr *)&where);
    if (passed >= 0)
        return passed;
    const int fd = socket(where.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 && errno == EAFNOSUPPORT)
        return halo_fail(err, -errno,
                         "%s: this process may not use the network: have the service manager pass "
                         "the socket (halod-http.socket)",
                         address);
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
