/* SPDX-License-Identifier: BSD-2-Clause
 * What a client of the daemon may do. Any thread. */
#ifndef HALO_ROLE_H
#define HALO_ROLE_H

/* Each role includes those before it. */
enum halo_role {
    HALO_ROLE_NONE,
    HALO_ROLE_VIEW,    /* see what viewers may see, and the status */
    HALO_ROLE_OPERATE, /* start, stop, hide more and take that away; weaken nothing of the file's */
    HALO_ROLE_ADMIN,
    HALO_ROLES,
};

/* The role's name: "none", "view" ... */
const char *halo_role_name(enum halo_role role);
/* Returns the role with this name except "none", or HALO_ROLE_NONE. */
enum halo_role halo_role_find(const char *name);

#endif
