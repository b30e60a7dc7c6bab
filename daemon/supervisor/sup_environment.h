/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_SUP_ENVIRONMENT_H
#define HALO_SUP_ENVIRONMENT_H

/* The environment of what the supervisor starts, for ever: less what is its own. NULL: no memory.
 * Loop thread only. */
char **sv_environment(void);

#endif
