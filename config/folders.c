/* SPDX-License-Identifier: BSD-2-Clause */
#include "config/folders.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char *halo_state_path(const char *state, const char *name)
{
    const char *folder = state ? state : getenv("STATE_DIRECTORY");
    char *path = NULL;
    if (!folder || folder[0] != '/')
        return NULL;
    const int length = (int)strcspn(folder, state ? "" : ":"); /* systemd: one or several */
    return asprintf(&path, "%.*s/%s", length, folder, name) < 0 ? NULL : path;
}

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
