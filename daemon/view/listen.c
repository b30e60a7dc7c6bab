/* SPDX-License-Identifier: BSD-2-Clause
 * Listening sockets in the file system. */
#include "daemon/view/listen.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "config/base/log.h"
#include "daemon/view/passed.h"

enum { BACKLOG = 128, MODE = 0660 };

_Static_assert(sizeof(((struct halo_listen *)0)->path) ==
                   sizeof(((struct sockaddr_un *)0)->sun_path),
               "halo_listen.path and sun_path must have the same size");

static struct sockaddr_un address_of(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path, path, strlen(path));
    return address;
}

/* 0: a process is listening there. */
static int try_connect(const char *path)
{
    const struct sockaddr_un address = address_of(path);
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    const int code =
        connect(fd, (const struct sockaddr *)&address, sizeof address) < 0 ? -errno : 0;
    close(fd);
    return code;
}

static int say_no_socket(struct halo_error *err, const char *path)
{
    return halo_fail(err, -EEXIST,
                     "%s exists, but is not a socket: remove it, or choose another path", path);
}

/* Frees the path if only a stale socket is there. */
static int make_room(const char *path, struct halo_error *err)
{
    struct stat st;
    if (lstat(path, &st) < 0)
        return errno == ENOENT ? 0 : halo_fail(err, -errno, "%s: %s", path, strerror(errno));
    if (!S_ISSOCK(st.st_mode))
        return say_no_socket(err, path);
    const int code = try_connect(path);
    if (code == -ENOENT)
        return 0;
    /* Refused: its process has ended. With any other result (busy, another socket type, no
     * permission) it is treated as in use. */
    if (code != -ECONNREFUSED)
        return halo_fail(err, -EADDRINUSE, "%s: another process is listening on this socket", path);
    if (unlink(path) < 0 && errno != ENOENT)
        return halo_fail(err, -errno, "%s is a stale socket that cannot be replaced: %s", path,
                         strerror(errno));
    return 0;
}

static int say_why(struct halo_error *err, const char *path, int error)
{
    if (error == ENOENT || error == ENOTDIR)
        return halo_fail(err, -error,
                         "%s: its folder does not exist: create it, or choose another path", path);
    return halo_fail(err, -error, "%s: cannot listen: %s", path, strerror(error));
}

/* The mode is set before the path exists, and again afterwards because of the umask. */
static int bind_to(struct halo_listen *ret, const char *path, struct halo_error *err)
{
    const struct sockaddr_un address = address_of(path);
    struct stat st;
    fchmod(ret->fd, MODE);
    if (bind(ret->fd, (const struct sockaddr *)&address, sizeof address) < 0)
        return say_why(err, path, errno);
    if (lstat(path, &st) < 0)
        return say_why(err, path, errno);
    memcpy(ret->path, path, strlen(path) + 1);
    ret->device = st.st_dev;
    ret->inode = st.st_ino;
    if (chmod(path, MODE) < 0 || listen(ret->fd, BACKLOG) < 0)
        return say_why(err, path, errno);
    return 0;
}

int halo_listen_check(const char *path, struct halo_error *err)
{
    struct stat st;
    const char *slash = strrchr(path, '/');
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) + 1 : 1,
             slash ? path : ".");
    if (stat(folder, &st) < 0)
        return say_why(err, path, errno);
    if (access(folder, W_OK | X_OK) < 0)
        return say_why(err, path, errno);
    return lstat(path, &st) == 0 && !S_ISSOCK(st.st_mode) ? say_no_socket(err, path) : 0;
}

int halo_listen_open(struct halo_listen *ret, const char *path, struct halo_error *err)
{
    struct halo_listen made = {.fd = -1};
    if (!*path)
        return halo_fail(err, -EINVAL, "a socket needs a path");
    if (strlen(path) >= sizeof made.path)
        return halo_fail(
            err, -ENAMETOOLONG,
            "%s: the path of a socket may have at most %zu bytes, but this path has %zu", path,
            sizeof made.path - 1, strlen(path));
    made.fd = halo_passed_take(path);
    if (made.fd >= 0) {
        made.passed = true;
        memcpy(made.path, path, strlen(path) + 1);
        *ret = made;
        return 0;
    }
    int code = make_room(path, err);
    if (code < 0)
        return code;
    made.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (made.fd < 0)
        return say_why(err, path, errno);
    code = bind_to(&made, path, err);
    if (code < 0) {
        halo_listen_close(&made);
        return code;
    }
    *ret = made;
    return 0;
}

/* The kernel assigns the lowest free number, so at least fd descriptors are in use. */
static bool leaves_too_few(int fd, int spare)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur > INT_MAX)
        return false;
    const int most = (int)limit.rlim_cur;
    return fd >= most - (spare < most / 4 ? spare : most / 4);
}

int halo_listen_accept(int fd, enum halo_listen_spare spare, struct sockaddr *from,
                       socklen_t *length)
{
    const int client = accept4(fd, from, length, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (client < 0)
        return errno == ECONNABORTED || errno == EINTR ? -EAGAIN : -errno;
    if (!leaves_too_few(client, (int)spare))
        return client;
    close(client);
    return -EUSERS;
}

static bool has_name(const struct halo_listen *listen)
{
    struct stat st;
    return lstat(listen->path, &st) == 0 && st.st_dev == listen->device &&
           st.st_ino == listen->inode;
}

static int listen_again(struct halo_listen *listen, struct halo_error *err)
{
    struct halo_listen made;
    const int code = halo_listen_open(&made, listen->path, err);
    if (code < 0)
        return code;
    if (made.passed || dup3(made.fd, listen->fd, O_CLOEXEC) < 0) {
        halo_listen_close(&made);
        return halo_fail(err, -EBUSY, "%s: cannot listen again", listen->path);
    }
    close(made.fd);
    made.fd = listen->fd;
    *listen = made;
    return 0;
}

void halo_listen_look(struct halo_listen *listen, uv_poll_t *poll)
{
    struct halo_error err = {0};
    if (listen->passed || !listen->path[0] || has_name(listen))
        return;
    uv_poll_stop(poll);
    if (listen_again(listen, &err) == 0)
        halo_log(HALO_LOG_WARNING, "%s: the socket had been removed, and was created again",
                 listen->path);
    else if (strcmp(listen->why, err.text) != 0)
        halo_log(HALO_LOG_ERROR, "a socket was removed: %s", err.text);
    snprintf(listen->why, sizeof listen->why, "%s", err.text);
}

void halo_listen_close(struct halo_listen *listen)
{
    if (!listen->passed && listen->path[0] && has_name(listen))
        unlink(listen->path);
    if (listen->passed)
        halo_passed_give_back(listen->fd);
    else if (listen->fd >= 0)
        close(listen->fd);
    listen->passed = false;
    listen->fd = -1;
    listen->path[0] = '\0';
}
