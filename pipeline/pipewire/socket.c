/* SPDX-License-Identifier: BSD-2-Clause */
#include "pipeline/pipewire/socket.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *remote(void)
{
    const char *name = getenv("PIPEWIRE_REMOTE");
    return name && *name ? name : "pipewire-0";
}

char *halo_pipewire_socket(struct halo_error *err)
{
    const char *folder = getenv("PIPEWIRE_RUNTIME_DIR");
    char *path = NULL;
    if (!folder || !*folder)
        folder = getenv("XDG_RUNTIME_DIR");
    if (*remote() == '/')
        path = strdup(remote());
    else if (!folder || !*folder) {
        halo_fail(err, -ENXIO,
                  "PipeWire belongs to a user's session, and halod runs outside of one "
                  "(XDG_RUNTIME_DIR is not set): use the user's service instead of the system's");
        return NULL;
    } else if (asprintf(&path, "%s/%s", folder, remote()) < 0)
        path = NULL;
    if (!path)
        halo_fail(err, -ENOMEM, "out of memory");
    return path;
}
