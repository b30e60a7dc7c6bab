/* SPDX-License-Identifier: BSD-2-Clause
 * A listening socket with a name in the file system. It is created and removed without harming
 * anything else at that path. A socket that was passed to this process (passed.h) is left as it is.
 * Blocks no longer than the file system does. */
#ifndef HALO_LISTEN_H
#define HALO_LISTEN_H

#include <stdbool.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "config/error.h"

struct halo_listen {
    int fd; /* non-blocking, SOCK_STREAM */
    char path[108];
    dev_t device; /* of the name that this process created */
    ino_t inode;
    bool passed; /* only lent: its name is not removed, and it is not closed */
};

/* Uses the passed socket with this path, or else creates one, with mode 0660 regardless of the
 * umask. A socket on which no process listens is replaced. 0, or with err filled: -EADDRINUSE:
 * another process listens on it; -EEXIST: the path exists and is not a socket; -ENAMETOOLONG,
 * -ENOENT, -EACCES ... */
int halo_listen_open(struct halo_listen *ret, const char *path, struct halo_error *err);

/* How many of the process's descriptors must still be free after a client was accepted. Viewers and
 * HTTP leave some for control clients, engines and snapshots. */
enum halo_listen_spare {
    HALO_LISTEN_SPARE_VIEWERS = 32, /* or a quarter of the limit if that is less */
    HALO_LISTEN_SPARE_CONTROL = 4,
};

/* Accepts a waiting client and returns its descriptor, non-blocking. *from and *length: its
 * address; NULL: not needed. -EAGAIN: no client is waiting. -EUSERS: a client was rejected, because
 * no more than `spare` descriptors are left. Other -errno: no client can be accepted now, but fd
 * stays readable, so stop polling it and try again after a while. */
int halo_listen_accept(int fd, enum halo_listen_spare spare, struct sockaddr *from,
                       socklen_t *length);

/* Removes the name unless it now belongs to another socket. Gives a passed socket back. */
void halo_listen_close(struct halo_listen *listen);

#endif
