/* SPDX-License-Identifier: BSD-2-Clause
 * A listening TCP socket: a socket that was passed to this process (passed.h), or a new one. Loop
 * thread only. This does not resolve names and does not block. */
#ifndef HALO_LISTEN_TCP_H
#define HALO_LISTEN_TCP_H

#include "config/base/error.h"

/* Listens on address, which is "ADDRESS:PORT" with an IPv4 address, an IPv6 address in brackets, or
 * localhost. Returns a non-blocking descriptor that the caller owns. On failure, fills err and
 * returns -EINVAL if the address is invalid, -EADDRINUSE, or another -errno. */
int halo_listen_tcp(const char *address, struct halo_error *err);

#endif
