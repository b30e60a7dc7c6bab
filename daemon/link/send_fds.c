/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/link/send_fds.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

ssize_t halo_send_fds(int socket, struct iovec *parts, int part_count, const int *fds, int fd_count)
{
    const size_t bytes = sizeof(int) * (size_t)fd_count;
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(int) * HALO_SEND_FDS_MAX)];
    } control = {0};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = (size_t)part_count};
    if (fd_count > 0) {
        message.msg_control = control.room;
        message.msg_controllen = CMSG_SPACE(bytes);
        control.head.cmsg_level = SOL_SOCKET;
        control.head.cmsg_type = SCM_RIGHTS;
        control.head.cmsg_len = CMSG_LEN(bytes);
        memcpy(CMSG_DATA(&control.head), fds, bytes);
    }
    ssize_t n;
    do
        n = sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    return n < 0 ? -errno : n;
}

ssize_t halo_receive(int socket, void *data, size_t size, int *ret_fd)
{
    struct iovec part = {data, size};
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof *ret_fd)];
    } control;
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.room,
                             .msg_controllen = sizeof control.room};
    *ret_fd = -1;
    const ssize_t n = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (n < 0)
        return -errno;
    const struct cmsghdr *c = CMSG_FIRSTHDR(&message);
    if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
        c->cmsg_len == CMSG_LEN(sizeof *ret_fd))
        memcpy(ret_fd, CMSG_DATA(c), sizeof *ret_fd);
    return n;
}
