/* SPDX-License-Identifier: BSD-2-Clause
 * Listening sockets that a service manager passed to this process (sd_listen_fds(3)). They are used
 * instead of new sockets and never closed, because connections may be waiting in them. A socket
 * that is not in use (because its stream is stopped, or not in the settings yet) continues to
 * listen: clients that connect to it wait. The table belongs to the process, so there is no handle.
 * Loop thread only. */
#ifndef HALO_PASSED_H
#define HALO_PASSED_H

#include <sys/socket.h>

#include "config/base/error.h"

enum { HALO_PASSED_MAX = 512 };

/* Adds a socket, which may then be taken; name is copied. Returns 0. On failure, fills err, leaves
 * the descriptor unchanged, and returns -EINVAL if fd is not a listening stream socket with a path
 * or an IP address, or -ENOSPC. */
int halo_passed_add(int fd, const char *name, struct halo_error *err);

/* Returns the non-blocking socket that listens on this path, or -1 if there is no such socket or it
 * is in use. The socket is in use until halo_passed_give_back() is called. */
int halo_passed_take(const char *path);
void halo_passed_give_back(int fd);

/* Returns a duplicate of the socket that listens on this address, or -1 if there is no such socket.
 * The caller owns the duplicate and need not give it back. */
int halo_passed_take_address(const struct sockaddr *address);

/* Returns the path of the socket with this name, or NULL if there is no such socket. The path stays
 * valid until the process ends. */
const char *halo_passed_path(const char *name);

/* Logs each socket that is not in use. */
void halo_passed_notify_idle(void);

#endif
