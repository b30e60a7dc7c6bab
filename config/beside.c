/* SPDX-License-Identifier: BSD-2-Clause
 * Temporary files that later replace another file (beside.h). */
#include "config/beside.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int halo_beside_check(const char *path, struct halo_error *err)
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

int halo_beside_make(const char *path, mode_t mode, char **ret_name)
{
    const char *slash = strrchr(path, '/');
    char *name;
    if (asprintf(&name, "%.*s.halod-XXXXXX", slash ? (int)(slash - path + 1) : 0, path) < 0)
        return -ENOMEM;
    const int fd = mkostemp(name, O_CLOEXEC);
    if (fd < 0) {
        const int code = -errno;
        free(name);
        return code;
    }
    if (!mode) {
        const mode_t mask = umask(0);
        umask(mask);
        mode = 0666 & ~mask;
    }
    fchmod(fd, mode);
    *ret_name = name;
    return fd;
}

void halo_beside_sync_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *dir = slash ? strndup(path, slash - path + 1) : strdup(".");
    const int fd = dir ? open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    free(dir);
    if (fd < 0)
        return;
    (void)!fsync(fd);
    close(fd);
}
