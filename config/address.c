/* SPDX-License-Identifier: BSD-2-Clause
 * Addresses on which the daemon listens, and of proxies (address.h). */
#include "config/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

#include "config/base/number.h"

socklen_t halo_address_parse(const char *text, struct sockaddr_storage *ret)
{
    char host[64];
    double port = 0;
    const char *colon = strrchr(text, ':');
    if (!colon || (size_t)(colon - text) >= sizeof host || halo_parse_integer(colon + 1, &port) ||
        port < 0 || port > 65535)
        return 0;
    size_t length = (size_t)(colon - text);
    const bool brackets = length > 2 && text[0] == '[' && text[length - 1] == ']';
    memcpy(host, text + brackets, length);
    host[length - 2 * (size_t)brackets] = '\0';
    if (brackets) {
        struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)ret;
        *in6 = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
        return inet_pton(AF_INET6, host, &in6->sin6_addr) == 1 ? sizeof *in6 : 0;
    }
    struct sockaddr_in *in = (struct sockaddr_in *)ret;
    *in = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    const char *name = strcmp(host, "localhost") ? host : "127.0.0.1";
    return inet_pton(AF_INET, name, &in->sin_addr) == 1 ? sizeof *in : 0;
}

/* An IPv4 address is stored as the IPv6 address that it is mapped to. */
static bool read_ip(const char *text, size_t length, struct in6_addr *ret)
{
    static const struct in6_addr mapped = {.s6_addr = {[10] = 0xff, [11] = 0xff}};
    char one[INET6_ADDRSTRLEN];
    if (length >= sizeof one)
        return false;
    memcpy(one, text, length);
    one[length] = '\0';
    *ret = mapped;
    return inet_pton(AF_INET, one, &ret->s6_addr[12]) == 1 || inet_pton(AF_INET6, one, ret) == 1;
}

bool halo_address_has_network(void)
{
    const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd >= 0)
        close(fd);
    return fd >= 0 || errno != EAFNOSUPPORT;
}

bool halo_address_is_machine(const char *text)
{
    struct in6_addr ip;
    if (!read_ip(text, strlen(text), &ip))
        return false;
    if (!IN6_IS_ADDR_V4MAPPED(&ip))
        return !IN6_IS_ADDR_UNSPECIFIED(&ip) && !IN6_IS_ADDR_MULTICAST(&ip);
    return ip.s6_addr[12] > 0 && ip.s6_addr[12] < 224; /* not 0.0.0.0/8, multicast or broadcast */
}

bool halo_address_is_listed(const char *list, const char *address)
{
    struct in6_addr wanted, one;
    if (!list || !read_ip(address, strlen(address), &wanted))
        return false;
    for (const char *at = list; *(at += strspn(at, ", "));) {
        const size_t length = strcspn(at, ", ");
        if (read_ip(at, length, &one) && IN6_ARE_ADDR_EQUAL(&one, &wanted))
            return true;
        at += length;
    }
    return false;
}

bool halo_address_is_loopback(const struct sockaddr_storage *address)
{
    if (address->ss_family == AF_INET)
        return ntohl(((const struct sockaddr_in *)address)->sin_addr.s_addr) >> 24 == 127;
    return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)address)->sin6_addr);
}
