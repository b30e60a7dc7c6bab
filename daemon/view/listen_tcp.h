/* SPDX-License-Identifier: BSD-2-Clause
 * A listening TCP socket: one that was passed to this process (passed.h), or a new one. Loop thread
 * only; resolves no names and does not block. */
#ifndef HALO_LISTEN_TCP_H
#define HALO_LISTEN_TCP_H

#include "config/error.h"

/* address: "ADDRESS:PORT", with an IPv4 address, an IPv6 address in brackets or localhost. Returns
 * a non-blocking descriptor that the caller owns, or with err filled -EINVAL: invalid address,
 * -EADDRINUSE, other -errno. */
int halo_listen_tcp(const char *address, struct halo_error *err);

#endif
