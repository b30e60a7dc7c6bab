/* SPDX-License-Identifier: BSD-2-Clause
 * URLs and paths, by their names (path_name.h). */
#include "config/base/path_name.h"

#include <string.h>

static bool starts(const char *text, const char *with)
{
    return !strncmp(text, with, strlen(with));
}

bool halo_path_is_url(const char *name)
{
    const size_t n =
        strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+.-");
    if (starts(name, "file:"))
        return false;
    return (n > 1 && starts(name + n, "://")) || starts(name, "unix:") || starts(name, "pipe:");
}

const char *halo_path_of(const char *name)
{
    return starts(name, "file:") ? name + strlen("file:") : name;
}
