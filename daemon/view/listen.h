/* SPDX-License-Identifier: BSD-2-Clause
 * A listening socket with a name in the file system. It is created and removed without harming
 * anything else at that path. A socket that was passed to this process (passed.h) is left
 * unchanged. These functions block no longer than the file system does. */
#ifndef HALO_LISTEN_H
#define HALO_LISTEN_H

#include <stdbool.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <uv.h>

#include "config/base/error.h"

struct halo_listen {
    int fd; /* non-blocking, SOCK_STREAM */
    char path[108];
    dev_t device; /* device and inode number of the socket file that this process created */
    ino_t inode;
    /* the service manager passed the socket: it is given back, not closed, and keeps its name */
    bool passed;
    char why[600]; /* why its name, which was removed, cannot be made again; or "" */
};

/* Uses the socket that the service manager passed for this path. If there is none, creates a socket
 * with mode 0660, regardless of the umask, and replaces a socket on which no process listens.
 * Returns 0. On failure, fills err and returns -EADDRINUSE if another process listens on the
 * socket, -EEXIST if the path exists and is not a socket, or another -errno such as -ENAMETOOLONG,
 * -ENOENT or -EACCES. */
int halo_listen_open(struct halo_listen *ret, const char *path, struct halo_error *err);

/* Checks whether this process could create a socket with this path now, without creating it.
 * Returns 0, or -errno with err filled as halo_listen_open() does. */
int halo_listen_check(const char *path, struct halo_error *err);

/* The number of descriptors that must still be free in this process after a client has been
 * accepted. Viewers and HTTP leave some descriptors for control clients, engines and snapshots. */
enum halo_listen_spare {
    HALO_LISTEN_SPARE_VIEWERS =
        32, /* this many, or a quarter of the descriptor limit, whichever is less */
    HALO_LISTEN_SPARE_CONTROL = 4,
};

/* Accepts a waiting client and returns its non-blocking descriptor. Sets *from and *length to its
 * address, unless they are NULL. Returns -EAGAIN if no client is waiting, or -EUSERS if a client
 * was rejected because no more than `spare` descriptors are left. After any other -errno, no client
 * can be accepted now, but fd stays readable, so stop polling it and try again after a while. */
int halo_listen_accept(int fd, enum halo_listen_spare spare, struct sockaddr *from,
                       socklen_t *length);

/* Looks whether the socket's name was removed, or belongs to another file now, so that nobody finds
 * the socket. Then stops polling it and gives it its name again; fd keeps its number. If that is
 * not possible, `why` says why, and the next call tries it again. Must be called now and then,
 * before uv_poll_start(), which does nothing if the socket is being polled. */
void halo_listen_look(struct halo_listen *listen, uv_poll_t *poll);

/* Closes the socket and removes its name, unless the name now belongs to another socket. A passed
 * socket is given back instead. */
void halo_listen_close(struct halo_listen *listen);

#endif
