/* SPDX-License-Identifier: BSD-2-Clause */
#include "config/pipewire.h"

#include <stdio.h>
#include <string.h>

const char *halo_pipewire_name_of(const char *name)
{
    static const char prefix[] = "pipewire:";
    const size_t length = sizeof prefix - 1;
    return !strncmp(name, prefix, length) ? name + length : NULL;
}

void halo_pipewire_node_name(const char *name, char ret[HALO_PIPEWIRE_NAME])
{
    snprintf(ret, HALO_PIPEWIRE_NAME, "%s", name);
    for (char *c = ret; *c; c++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-", *c))
            *c = '_';
}
