/* SPDX-License-Identifier: BSD-2-Clause
 * Sockets that clients connect to, made so that nobody's are taken over. Any thread; may resolve no
 * names and blocks for nothing. */
#ifndef HALO_DOORS_H
#define HALO_DOORS_H

#include "config/error.h"

/* A listening, non-blocking socket with mode 0660. One that nobody serves any more is replaced.
 * The descriptor, or -EADDRINUSE (it is served), -EEXIST (not a socket), -ENAMETOOLONG, other
 * -errno, with err filled. */
int halo_listen_unix(const char *path, struct halo_error *err);

/* "ADDRESS:PORT", with an IPv4 address, an IPv6 address in brackets or localhost. The same, or
 * -EINVAL: no such address. */
int halo_listen_tcp(const char *address, struct halo_error *err);

/* The next client, close-on-exec and non-blocking; -EAGAIN: none; other -errno. */
int halo_accept(int fd);

#endif
