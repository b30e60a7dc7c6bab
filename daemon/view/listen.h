/* SPDX-License-Identifier: BSD-2-Clause
 * A listening socket with a name in the file system. It is made, and removed, so that nothing else
 * is harmed; or it was passed to us (passed.h), and stays as it is. Blocks for no longer than the
 * file system does. */
#ifndef HALO_LISTEN_H
#define HALO_LISTEN_H

#include <stdbool.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "config/error.h"

struct halo_listen {
    int fd; /* non-blocking, SOCK_STREAM */
    char path[108];
    dev_t device; /* of the name that we made */
    ino_t inode;
    bool passed; /* lent: neither is its name removed nor it closed */
};

/* One that was passed and has this path, else one of our own, mode 0660 whatever the umask. A
 * socket that nobody serves is replaced. 0, or with err filled: -EADDRINUSE: somebody serves it;
 * -EEXIST: something else is there; -ENAMETOOLONG, -ENOENT, -EACCES ... */
int halo_listen_open(struct halo_listen *ret, const char *path, struct halo_error *err);

/* How many of the process's descriptors shall be left when a client has been let in. Viewers and
 * HTTP leave some to those who look after the daemon: control clients, engines, snapshots. */
enum halo_listen_spare {
    HALO_LISTEN_SPARE_VIEWERS = 32, /* or a quarter of all, where that is less */
    HALO_LISTEN_SPARE_CONTROL = 4,
};

/* One who waits at fd, non-blocking; *from and *length: its address, NULL: it is not wanted.
 * -EAGAIN: nobody waits. -EUSERS: one was sent away, for no more than `spare` descriptors are left.
 * Other -errno: there is no room for one now, and fd stays readable: rest, and try again by the
 * clock. */
int halo_listen_accept(int fd, enum halo_listen_spare spare, struct sockaddr *from,
                       socklen_t *length);

/* Removes the name, unless it is another's by now. A passed one is given back. */
void halo_listen_close(struct halo_listen *listen);

#endif
