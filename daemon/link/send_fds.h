/* SPDX-License-Identifier: BSD-2-Clause
 * Sends and receives bytes over a Unix socket, with descriptors attached to the first byte
 * (SCM_RIGHTS). */
#ifndef HALO_SEND_FDS_H
#define HALO_SEND_FDS_H

#include <sys/types.h>
#include <sys/uio.h>

enum { HALO_SEND_FDS_MAX = 8 };

/* Sends as much as the socket accepts now and returns the number of bytes, or -errno (never
 * -EINTR). The caller keeps the descriptors. fd_count is between 0 and HALO_SEND_FDS_MAX. Any
 * thread. */
ssize_t halo_send_fds(int socket, struct iovec *parts, int part_count, const int *fds,
                      int fd_count);

/* Receives what is there of one message, and the descriptor that is attached to it, which the
 * caller owns (-1: there is none). Returns the number of bytes, 0 at the end, or -errno. Does not
 * block. */
ssize_t halo_receive(int socket, void *data, size_t size, int *ret_fd);

#endif
