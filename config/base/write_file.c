/* SPDX-License-Identifier: BSD-2-Clause
 * Writes whole files (write_file.h). */
#include "config/base/write_file.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/base/atomic_file.h"

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

int halo_write_file(const char *path, mode_t mode, const char *text, size_t size,
                    struct halo_error *err)
{
    char *temporary;
    make_folders(path);
    const int fd = halo_atomic_file_open(path, mode, &temporary);
    if (fd < 0)
        return halo_fail(err, fd, "cannot write %s: %s", path, strerror(-fd));
    int code = write_all(fd, text, size);
    if (close(fd) < 0 && code == 0)
        code = -errno;
    if (code == 0 && rename(temporary, path) < 0)
        code = -errno;
    if (code == 0)
        halo_sync_folder(path);
    else
        unlink(temporary);
    free(temporary);
    return code < 0 ? halo_fail(err, code, "cannot write %s: %s", path, strerror(-code)) : 0;
}
