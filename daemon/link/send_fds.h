/* SPDX-License-Identifier: BSD-2-Clause
 * Bytes over a Unix socket, with descriptors beside the first of them (SCM_RIGHTS). */
#ifndef HALO_SEND_FDS_H
#define HALO_SEND_FDS_H

#include <sys/types.h>
#include <sys/uio.h>

enum { HALO_SEND_FDS_MAX = 8 };

/* Bytes that went out, as many as the socket takes now, or -errno (never -EINTR). The descriptors
 * stay the caller's. fd_count: 0 to HALO_SEND_FDS_MAX. Any thread. */
ssize_t halo_send_fds(int socket, struct iovec *parts, int part_count, const int *fds,
                      int fd_count);

#endif
