/* SPDX-License-Identifier: BSD-2-Clause */
#include "config/role.h"

#include <string.h>

static const char *const names[HALO_ROLES] = {"none", "view", "operate", "admin"};

const char *halo_role_name(enum halo_role role)
{
    return names[role];
}

enum halo_role halo_role_find(const char *name)
{
    for (int i = HALO_ROLE_VIEW; i < HALO_ROLES; i++)
        if (!strcmp(names[i], name))
            return (enum halo_role)i;
    return HALO_ROLE_NONE;
}
