/* SPDX-License-Identifier: BSD-2-Clause */
#include "config/state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *halo_state_path(const char *state, const char *name)
{
    const char *folder = state ? state : getenv("STATE_DIRECTORY");
    char *path = NULL;
    if (!folder || folder[0] != '/')
        return NULL;
    const int length = (int)strcspn(folder, state ? "" : ":"); /* systemd: one or several */
    return asprintf(&path, "%.*s/%s", length, folder, name) < 0 ? NULL : path;
}
