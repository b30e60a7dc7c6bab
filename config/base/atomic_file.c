/* SPDX-License-Identifier: BSD-2-Clause
 * Temporary files that later replace another file (atomic_file.h). */
#include "config/base/atomic_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    ENDING = 6, /* characters of a name */
    TRIES = 100,
};

int halo_atomic_file_check(const char *path, struct halo_error *err)
{
    const char *slash = strrchr(path, '/');
    char *dir = slash ? strndup(path, slash - path + 1) : strdup(".");
    struct stat st;
    int code = 0;
    if (!dir)
        return halo_fail(err, -ENOMEM, "out of memory");
    const long most = pathconf(dir, _PC_NAME_MAX);
    const size_t length = strlen(slash ? slash + 1 : path);
    if (most > 0 && length > (size_t)most)
        code =
            halo_fail(err, -ENAMETOOLONG,
                      "%.80s...: the file name has %zu bytes, but names in %s can have at most %ld",
                      path, length, dir, most);
    else if (stat(dir, &st) < 0 ||
             access(dir, W_OK | X_OK) < 0) /* the final slash requires a directory */
        code = halo_fail(err, -errno, "%s: cannot write to directory %s: %s", path, dir,
                         strerror(errno));
    free(dir);
    return code;
}

/* Chooses the last characters of a name. */
static int choose_ending(char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    uint8_t random[ENDING];
    if (getrandom(random, sizeof random, 0) != sizeof random)
        return -EIO;
    for (int i = 0; i < ENDING; i++)
        name[strlen(name) - ENDING + i] = letters[random[i] % (sizeof letters - 1)];
    return 0;
}

/* Not with mkostemp(), because nobody else may read its files: their mode would have to be changed,
 * and to ask for the umask is to change it for other threads. */
static int make_new(char *name, mode_t mode)
{
    for (int i = 0; i < TRIES; i++) {
        const int code = choose_ending(name);
        if (code < 0)
            return code;
        const int fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode ? mode : 0666);
        if (fd >= 0 || errno != EEXIST)
            return fd >= 0 ? fd : -errno;
    }
    return -EEXIST;
}

int halo_atomic_file_open(const char *path, mode_t mode, char **ret_name)
{
    const char *slash = strrchr(path, '/');
    char *name;
    if (asprintf(&name, "%.*s.halod-XXXXXX", slash ? (int)(slash - path + 1) : 0, path) < 0)
        return -ENOMEM;
    const int fd = make_new(name, mode);
    if (fd < 0) {
        free(name);
        return fd;
    }
    struct stat st;
    if (mode && fstat(fd, &st) == 0 && (st.st_mode & 07777) != mode)
        fchmod(fd, mode); /* the umask has taken something off */
    *ret_name = name;
    return fd;
}

int halo_atomic_file_replace(const char *temporary, const char *path)
{
    struct stat before, now;
    const bool known = stat(temporary, &before) == 0;
    if (rename(temporary, path) == 0)
        return 0;
    const int code = -errno;
    return code == -ENOENT && known && stat(path, &now) == 0 && now.st_ino == before.st_ino &&
                   now.st_dev == before.st_dev
               ? 0
               : code;
}

static bool is_same_file(const char *a, const char *b)
{
    struct stat st, other;
    return stat(a, &st) == 0 && stat(b, &other) == 0 && st.st_ino == other.st_ino &&
           st.st_dev == other.st_dev;
}

int halo_atomic_file_link(const char *temporary, const char *path)
{
    const int code = link(temporary, path) < 0 ? -errno : 0;
    if (code == -EPERM || code == -EOPNOTSUPP || code == -ENOSYS)
        return access(path, F_OK) == 0 ? -EEXIST : halo_atomic_file_replace(temporary, path);
    if (code < 0 && !(code == -EEXIST && is_same_file(temporary, path))) /* a lost answer */
        return code;
    unlink(temporary);
    return 0;
}

/* Opens path's folder; -1: it cannot be opened. */
static int open_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *dir = slash ? strndup(path, slash - path + 1) : strdup(".");
    const int fd = dir ? open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    free(dir);
    return fd;
}

void halo_sync_folder(const char *path)
{
    const int fd = open_folder(path);
    if (fd < 0)
        return;
    (void)!fsync(fd);
    close(fd);
}

void halo_refresh_folder(const char *path)
{
    const int fd = open_folder(path);
    if (fd >= 0)
        close(fd);
}
