/* SPDX-License-Identifier: BSD-2-Clause
 * A listening socket with an address: one that was passed (passed.h), or our own. Loop thread;
 * resolves no names and blocks for nothing. */
#ifndef HALO_LISTEN_TCP_H
#define HALO_LISTEN_TCP_H

#include "config/error.h"

/* At "ADDRESS:PORT", with an IPv4 address, an IPv6 address in brackets or localhost. A non-blocking
 * descriptor, the caller's; or with err filled -EINVAL: no such address, -EADDRINUSE, other
 * -errno. */
int halo_listen_tcp(const char *address, struct halo_error *err);

#endif
