/* SPDX-License-Identifier: BSD-2-Clause
 * Addresses of this machine to listen at. No names are resolved. Any thread. */
#ifndef HALO_ADDRESS_H
#define HALO_ADDRESS_H

#include <stdbool.h>
#include <sys/socket.h>

/* "HOST:PORT" with an IPv4 address, an IPv6 address in brackets or localhost: its length in *ret;
 * 0: malformed. */
socklen_t halo_address_parse(const char *text, struct sockaddr_storage *ret);

/* Whether only this machine itself reaches it. */
bool halo_address_is_loopback(const struct sockaddr_storage *address);

#endif
