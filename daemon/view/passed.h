/* SPDX-License-Identifier: BSD-2-Clause
 * Listening sockets that a service manager passed to this process (sd_listen_fds(3)). They are used
 * instead of new ones and never closed, because connections may be waiting in them. A socket that
 * is not in use (its stream is stopped, or not in the settings yet) goes on listening: clients that
 * connect wait. The table belongs to the process, so there is no handle. Loop thread only. */
#ifndef HALO_PASSED_H
#define HALO_PASSED_H

#include <sys/socket.h>

#include "config/error.h"

enum { HALO_PASSED_MAX = 512 };

/* Adds a socket that may be taken from now on; name is copied. 0, or with err filled -EINVAL: not a
 * listening stream socket with a path or an IP address; -ENOSPC. On failure the descriptor is left
 * as it is. */
int halo_passed_add(int fd, const char *name, struct halo_error *err);

/* Lends the socket that listens on this path, non-blocking, until it is given back; -1: there is
 * none, or it is in use. */
int halo_passed_take(const char *path);
void halo_passed_give_back(int fd);

/* Returns a duplicate of the socket that listens on this address; the caller owns it and never
 * gives it back. -1: there is none. */
int halo_passed_take_address(const struct sockaddr *address);

/* The path of the socket with this name; NULL: no such socket. Stays valid. */
const char *halo_passed_path(const char *name);

/* Logs each socket that nothing uses. */
void halo_passed_notify_idle(void);

#endif
