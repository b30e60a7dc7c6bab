/* SPDX-License-Identifier: BSD-2-Clause
 * Addresses of machines, and of this one to listen at. No names are resolved. Any thread. */
#ifndef HALO_ADDRESS_H
#define HALO_ADDRESS_H

#include <stdbool.h>
#include <sys/socket.h>

/* Returns whether text is the IP address of one machine, without a port: not 0.0.0.0 or ::, and no
 * address of a group. */
bool halo_address_is_machine(const char *text);

/* Returns whether this process may open connections to networks: as a service, halod may not unless
 * the administrator allows it. */
bool halo_address_has_network(void);

/* Returns whether this IP address is in the list, whose addresses are separated by commas, however
 * they are written. NULL: it is not. */
bool halo_address_is_listed(const char *list, const char *address);

/* Parses "HOST:PORT", where HOST is an IPv4 address, an IPv6 address in brackets, or localhost.
 * Stores the socket address in *ret and returns its length, or returns 0 if text is malformed. */
socklen_t halo_address_parse(const char *text, struct sockaddr_storage *ret);

/* Returns whether the address can be reached only from this machine. */
bool halo_address_is_loopback(const struct sockaddr_storage *address);

#endif
