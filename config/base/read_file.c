/* SPDX-License-Identifier: BSD-2-Clause
 * Reads whole files. */
#include "config/base/read_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

int halo_read_file(const char *path, int flags, size_t most, char **ret, size_t *ret_length)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC | flags);
    if (fd < 0)
        return -errno;
    char *text = malloc(most + 2);
    size_t used = 0;
    ssize_t n = 1;
    while (text && n && used <= most) {
        n = read(fd, text + used, most + 1 - used);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            break;
        used += (size_t)n;
    }
    const int code = !text ? -ENOMEM : n < 0 ? -errno : 0;
    close(fd);
    if (code) {
        free(text);
        return code;
    }
    text[used] = '\0';
    *ret = text;
    *ret_length = used;
    return 0;
}
