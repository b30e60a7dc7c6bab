/* SPDX-License-Identifier: BSD-2-Clause
 * Listening sockets that a service manager passed to this process (sd_listen_fds(3)): they are
 * taken in the place of ones of our own, and never closed, for it has connections waiting in them.
 * A socket that is not in use (its stream is stopped, or not in the settings yet) goes on
 * listening: who connects waits. They are the process's, hence no handle. Loop thread only. */
#ifndef HALO_PASSED_H
#define HALO_PASSED_H

#include <sys/socket.h>

#include "config/error.h"

enum { HALO_PASSED_MAX = 512 };

/* One that may be taken from now on; name is copied. -EINVAL with err filled: it is not a stream
 * socket that listens, of a path or an address; -ENOSPC. The descriptor stays as it is then. */
int halo_passed_add(int fd, const char *name, struct halo_error *err);

/* The one that listens at this path, non-blocking, until it is given back; -1: none, or in use. */
int halo_passed_take(const char *path);
void halo_passed_give_back(int fd);

/* A copy, for good, of the one that listens at this address: the caller's; -1: none. */
int halo_passed_take_address(const struct sockaddr *address);

/* The path of the socket with this name; NULL: none. Stays valid. */
const char *halo_passed_path(const char *name);

/* Says of each that nobody has taken that nobody has. */
void halo_passed_notify_idle(void);

#endif
