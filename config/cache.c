/* SPDX-License-Identifier: BSD-2-Clause
 * The paths of cache files, and how they are written. */
#include "config/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/beside.h"

/* The folder in an environment variable, which must be an absolute path; others have to be
 * ignored. */
static const char *folder_of(const char *variable)
{
    const char *value = getenv(variable);
    return value && value[0] == '/' ? value : NULL;
}

int halo_cache_tuning_path(char *ret, size_t size, const char *backend, int device)
{
    const char *service = folder_of("CACHE_DIRECTORY"), *cache = folder_of("XDG_CACHE_HOME");
    const char *home = folder_of("HOME");
    char folder[PATH_MAX];
    int length;
    if (service) /* systemd: several, separated by colons */
        length = snprintf(folder, sizeof folder, "%.*s", (int)strcspn(service, ":"), service);
    else if (cache)
        length = snprintf(folder, sizeof folder, "%s/halod", cache);
    else if (home)
        length = snprintf(folder, sizeof folder, "%s/.cache/halod", home);
    else if (geteuid() == 0)
        length = snprintf(folder, sizeof folder, "/var/cache/halod");
    else
        return -ENOENT;
    if (length >= (int)sizeof folder)
        return -ENAMETOOLONG;
    length = snprintf(ret, size, "%s/tuning-%s-%d.txt", folder, backend, device);
    return length < 0 || (size_t)length >= size ? -ENAMETOOLONG : 0;
}

/* Creates the missing folders above path. Errors are not reported here, but when the file is
 * created. */
static void make_folders(const char *path)
{
    char folder[PATH_MAX];
    for (size_t i = 1; path[i] && i < sizeof folder; i++) {
        folder[i - 1] = path[i - 1];
        folder[i] = '\0';
        if (path[i] == '/')
            mkdir(folder, 0755);
    }
}

static int write_all(int fd, const char *text, size_t size)
{
    for (size_t done = 0; done < size;) {
        const ssize_t wrote = write(fd, text + done, size - done);
        if (wrote < 0 && errno != EINTR)
            return -errno;
        done += wrote > 0 ? (size_t)wrote : 0;
    }
    return fsync(fd) < 0 ? -errno : 0;
}

int halo_cache_write(const char *path, const char *text, size_t size, struct halo_error *err)
{
    char *beside;
    make_folders(path);
    const int fd = halo_beside_make(path, 0644, &beside);
    if (fd < 0)
        return halo_fail(err, fd, "cannot write %s: %s", path, strerror(-fd));
    int code = write_all(fd, text, size);
    if (close(fd) < 0 && code == 0)
        code = -errno;
    if (code == 0 && rename(beside, path) < 0)
        code = -errno;
    if (code < 0)
        unlink(beside);
    free(beside);
    return code < 0 ? halo_fail(err, code, "cannot write %s: %s", path, strerror(-code)) : 0;
}
